package vfs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSyncs is how many syncs run at once. A journalling file system merges
// concurrent syncs into one commit; more than 16 gained nothing on ext4.
const maxSyncs = 16

// maxLinks is how many symbolic links one path may go through, as in Linux.
const maxLinks = 40

// Local is the disk of this machine. A server has one, so that the bound on
// concurrent syncs holds for all of its queries.
type Local struct {
	slots chan struct{} // one token per running sync
	syncs atomic.Int64
}

// NewLocal returns the local file system.
func NewLocal() *Local {
	return &Local{slots: make(chan struct{}, maxSyncs)}
}

// Syncs counts the syncs of files and directories so far.
func (l *Local) Syncs() int64 { return l.syncs.Load() }

func (l *Local) sync(f *os.File) error {
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	l.syncs.Add(1)
	return f.Sync()
}

// openRegular opens without blocking on a FIFO and refuses what is no file.
func openRegular(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = pathError("open", name, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (l *Local) Open(name string) (Reader, error) {
	f, err := openRegular(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return localReader{f}, nil
}

func (l *Local) openWriter(name string, flag int) (Writer, error) {
	f, err := openRegular(name, os.O_WRONLY|flag)
	if err != nil {
		return nil, err
	}
	return localWriter{f, l}, nil
}

func (l *Local) Create(name string) (Writer, error) {
	return l.openWriter(name, os.O_CREATE|os.O_TRUNC)
}

func (l *Local) CreateNew(name string) (Writer, error) {
	return l.openWriter(name, os.O_CREATE|os.O_EXCL)
}

func (l *Local) Append(name string) (Writer, error) {
	return l.openWriter(name, os.O_CREATE|os.O_APPEND)
}

func (l *Local) Stat(name string) (Info, error) {
	st, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(path.Base(name), st), nil
}

func (l *Local) Lstat(name string) (Info, error) {
	st, err := os.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(path.Base(name), st), nil
}

func infoOf(name string, st fs.FileInfo) Info {
	info := Info{Name: name, ModTime: st.ModTime()}
	switch mode := st.Mode(); {
	case mode.IsRegular():
		info.Size = st.Size()
	case mode.IsDir():
		info.Kind = Dir
	case mode&fs.ModeSymlink != 0:
		info.Kind = Symlink
	default:
		info.Kind = Other
	}
	return info
}

// RealPath is realpath -m: filepath.EvalSymlinks fails where the end of the
// path does not exist yet, which is the case for every file about to be made.
func (l *Local) RealPath(name string) (string, error) {
	rest := strings.Split(path.Clean(name), "/")
	slices.Reverse(rest) // the next element is the last
	real, links := "/", 0
	for len(rest) > 0 {
		elem := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if elem == "" || elem == "." {
			continue
		}
		if elem == ".." {
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, elem)
		target, isLink, err := readLink(next)
		if err != nil {
			return "", err
		}
		if !isLink {
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", pathError("realpath", name, syscall.ELOOP)
		}
		if path.IsAbs(target) {
			real = "/"
		}
		elems := strings.Split(target, "/")
		slices.Reverse(elems)
		rest = append(rest, elems...)
	}
	return real, nil
}

// readLink returns the target when name is a symbolic link; a name that does
// not exist is none.
func readLink(name string) (target string, isLink bool, err error) {
	target, err = os.Readlink(name)
	switch e, _ := err.(*fs.PathError); {
	case err == nil:
		return target, true, nil
	case e == nil:
		return "", false, err
	case e.Err == syscall.EINVAL && !strings.Contains(name, "\x00"):
		return "", false, nil
	case e.Err == syscall.ENOENT, e.Err == syscall.ENOTDIR:
		return "", false, nil
	}
	return "", false, err
}

func (l *Local) List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			continue // gone since the directory was read
		}
		infos = append(infos, infoOf(e.Name(), st))
	}
	return infos, nil
}

func (l *Local) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// MakePrivate makes a directory that only its owner may enter; one that is
// there already is closed to others.
func (l *Local) MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

func (l *Local) Rename(from, to string) error { return os.Rename(from, to) }

func (l *Local) RenameNew(from, to string) error { return renameNew(from, to) }

// linkNew renames a file by a second hard link, which never replaces. A crash
// between the two steps leaves both names on the same bytes.
func linkNew(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

func (l *Local) Remove(name string) error { return os.Remove(name) }

func (l *Local) RemoveAll(name string) error { return os.RemoveAll(name) }

func (l *Local) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return l.sync(d)
}

func (l *Local) SetModTime(name string, t time.Time) error { return os.Chtimes(name, t, t) }

// Lock uses flock: the kernel frees it when the process dies, however it dies.
func (l *Local) Lock(name string) (io.Closer, error) {
	f, err := openRegular(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		err = &LockedError{Path: name, PID: readPID(f)}
	} else if err == nil {
		err = writePID(f)
	} else {
		err = pathError("lock", name, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return err
}

func readPID(r io.ReaderAt) int {
	buf := make([]byte, 20)
	n, _ := r.ReadAt(buf, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}

type localReader struct{ *os.File }

func (r localReader) Stat() (Info, error) {
	st, err := r.File.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(filepath.Base(r.Name()), st), nil
}

type localWriter struct {
	file *os.File
	fs   *Local
}

func (w localWriter) Write(p []byte) (int, error) { return w.file.Write(p) }
func (w localWriter) Close() error                { return w.file.Close() }
func (w localWriter) Sync() error                 { return w.fs.sync(w.file) }
