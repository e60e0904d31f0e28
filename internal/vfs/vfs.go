package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// FS is a file system. Errors match fs.ErrNotExist, fs.ErrExist and
// fs.ErrPermission by errors.Is and name the path.
type FS interface {
	Opener
	Creator
	Lister
	Namer
	Durable
}

// Opener opens files for reading and says what is at a path.
type Opener interface {
	// Open opens a regular file. Anything else fails with ErrNotRegular.
	Open(path string) (Reader, error)
	// Stat follows symbolic links; Info.Name is the last element of path.
	Stat(path string) (Info, error)
	// Lstat does not follow a symbolic link at the end of path.
	Lstat(path string) (Info, error)
	// RealPath resolves every symbolic link of path. Elements that do not
	// exist stay as they are; a loop of links is an error.
	RealPath(path string) (string, error)
}

// Creator opens files for writing. Parent directories must exist.
type Creator interface {
	// Create makes an empty file or empties the one that is there.
	Create(path string) (Writer, error)
	// CreateNew fails with fs.ErrExist when anything has the name.
	CreateNew(path string) (Writer, error)
	// Append continues a file, making it when it is missing.
	Append(path string) (Writer, error)
}

// Lister reads and makes directories.
type Lister interface {
	// List returns the entries of a directory sorted by name, bytewise, links
	// not followed. Entries that vanish meanwhile are left out.
	List(dir string) ([]Info, error)
	// MkdirAll makes a directory and its parents; an existing one is fine.
	MkdirAll(dir string) error
}

// Namer changes names.
type Namer interface {
	// Rename gives a file or directory a new name, replacing a file there.
	Rename(from, to string) error
	// RenameNew fails with fs.ErrExist when anything has the new name.
	RenameNew(from, to string) error
	// Remove deletes a file, a link or an empty directory.
	Remove(path string) error
	// RemoveAll deletes a tree; a missing one is fine. Links in it are deleted,
	// not followed.
	RemoveAll(path string) error
}

// Durable holds what concerns disks rather than names.
type Durable interface {
	// SyncDir makes the names in a directory survive a crash.
	SyncDir(dir string) error
	// Lock takes an exclusive lock on a file, made when missing, and writes the
	// process id into it. A held lock fails with *LockedError at once. The lock
	// ends with Close or with the process.
	Lock(path string) (io.Closer, error)
	// SetModTime changes a file's modification time.
	SetModTime(path string, t time.Time) error
}

// Reader is an open file to read from.
type Reader interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Stat() (Info, error)
}

// Writer is an open file to write to; every Write appends.
type Writer interface {
	io.Writer
	io.Closer
	// Sync makes the bytes written so far survive a crash, the name excluded.
	Sync() error
}

// Kind tells what a name stands for.
type Kind uint8

const (
	Regular Kind = iota
	Dir
	Symlink
	Other // a FIFO, socket or device
)

// Info describes a file or directory.
type Info struct {
	Name    string // last element of the path
	Size    int64  // bytes; 0 for a directory
	ModTime time.Time
	Kind    Kind
}

// IsDir reports whether the name is a directory.
func (i Info) IsDir() bool { return i.Kind == Dir }

// IsRegular reports whether the name is a file that can be read.
func (i Info) IsRegular() bool { return i.Kind == Regular }

// ErrNotRegular means that a path to read or write is a directory, a FIFO, a
// socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// LockedError says who holds a lock.
type LockedError struct {
	Path string
	PID  int // 0 when the holder has not written it yet
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Path)
	}
	return fmt.Sprintf("lock %s: held by process %d", e.Path, e.PID)
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
