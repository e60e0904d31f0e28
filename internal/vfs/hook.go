package vfs

import (
	"io"
	"time"
)

// Op names an operation of an FS or of one of its open files.
type Op string

const (
	OpOpen       Op = "open"
	OpRead       Op = "read"
	OpStat       Op = "stat" // Stat, Lstat, RealPath
	OpList       Op = "list"
	OpCreate     Op = "create"
	OpCreateNew  Op = "create new"
	OpAppend     Op = "append"
	OpWrite      Op = "write"
	OpSync       Op = "sync"
	OpClose      Op = "close"
	OpMkdir      Op = "mkdir"
	OpRename     Op = "rename"
	OpRenameNew  Op = "rename new"
	OpRemove     Op = "remove"
	OpRemoveAll  Op = "remove all"
	OpSyncDir    Op = "sync dir"
	OpLock       Op = "lock"
	OpSetModTime Op = "set time"
)

// Mutates reports whether the operation can change what a later one, or one
// after a crash, sees.
func (o Op) Mutates() bool {
	switch o {
	case OpOpen, OpRead, OpStat, OpList, OpClose:
		return false
	}
	return true
}

// Fault is what a hook does to an operation. The zero Fault lets it pass.
type Fault struct {
	Err error
	// Short is how many bytes a failing write still writes. It is ignored for
	// other operations.
	Short int
}

// Call is one operation that a hook is asked about.
type Call struct {
	Op   Op
	Path string // for renames, the new name
	Size int    // bytes of a write
	N    int    // how many calls of this Op there were, this one included
}

// Inject decides the fate of a call. It may block to delay the call, and is
// called by many goroutines at once when the file system is used so.
type Inject func(Call) Fault

// hooked asks before every operation of an FS and of the files opened on it.
type hooked struct {
	inner  FS
	before Inject // Call.N is not set
}

// check wraps the hook's error with the operation and the path.
func (h *hooked) check(op Op, name string) error {
	return pathError(string(op), name, h.before(Call{Op: op, Path: name}).Err)
}

func (h *hooked) Open(name string) (Reader, error) {
	if err := h.check(OpOpen, name); err != nil {
		return nil, err
	}
	r, err := h.inner.Open(name)
	if err != nil {
		return nil, err
	}
	return &hookedReader{Reader: r, hook: h, name: name}, nil
}

func (h *hooked) Stat(name string) (Info, error) {
	if err := h.check(OpStat, name); err != nil {
		return Info{}, err
	}
	return h.inner.Stat(name)
}

func (h *hooked) Lstat(name string) (Info, error) {
	if err := h.check(OpStat, name); err != nil {
		return Info{}, err
	}
	return h.inner.Lstat(name)
}

func (h *hooked) RealPath(name string) (string, error) {
	if err := h.check(OpStat, name); err != nil {
		return "", err
	}
	return h.inner.RealPath(name)
}

func (h *hooked) Create(name string) (Writer, error) {
	return h.writer(OpCreate, name, h.inner.Create)
}

func (h *hooked) CreateNew(name string) (Writer, error) {
	return h.writer(OpCreateNew, name, h.inner.CreateNew)
}

func (h *hooked) Append(name string) (Writer, error) {
	return h.writer(OpAppend, name, h.inner.Append)
}

func (h *hooked) writer(op Op, name string, open func(string) (Writer, error)) (Writer, error) {
	if err := h.check(op, name); err != nil {
		return nil, err
	}
	w, err := open(name)
	if err != nil {
		return nil, err
	}
	return &hookedWriter{inner: w, hook: h, name: name}, nil
}

func (h *hooked) List(dir string) ([]Info, error) {
	if err := h.check(OpList, dir); err != nil {
		return nil, err
	}
	return h.inner.List(dir)
}

func (h *hooked) MkdirAll(dir string) error {
	if err := h.check(OpMkdir, dir); err != nil {
		return err
	}
	return h.inner.MkdirAll(dir)
}

func (h *hooked) Rename(from, to string) error {
	if err := h.check(OpRename, to); err != nil {
		return err
	}
	return h.inner.Rename(from, to)
}

func (h *hooked) RenameNew(from, to string) error {
	if err := h.check(OpRenameNew, to); err != nil {
		return err
	}
	return h.inner.RenameNew(from, to)
}

func (h *hooked) Remove(name string) error {
	if err := h.check(OpRemove, name); err != nil {
		return err
	}
	return h.inner.Remove(name)
}

func (h *hooked) RemoveAll(name string) error {
	if err := h.check(OpRemoveAll, name); err != nil {
		return err
	}
	return h.inner.RemoveAll(name)
}

func (h *hooked) SyncDir(dir string) error {
	if err := h.check(OpSyncDir, dir); err != nil {
		return err
	}
	return h.inner.SyncDir(dir)
}

func (h *hooked) Lock(name string) (io.Closer, error) {
	if err := h.check(OpLock, name); err != nil {
		return nil, err
	}
	return h.inner.Lock(name)
}

func (h *hooked) SetModTime(name string, t time.Time) error {
	if err := h.check(OpSetModTime, name); err != nil {
		return err
	}
	return h.inner.SetModTime(name, t)
}

type hookedReader struct {
	Reader // Close is never refused: a failing test still frees its files
	hook   *hooked
	name   string
}

func (r *hookedReader) Read(p []byte) (int, error) {
	if err := r.hook.check(OpRead, r.name); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func (r *hookedReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.hook.check(OpRead, r.name); err != nil {
		return 0, err
	}
	return r.Reader.ReadAt(p, off)
}

func (r *hookedReader) Stat() (Info, error) {
	if err := r.hook.check(OpStat, r.name); err != nil {
		return Info{}, err
	}
	return r.Reader.Stat()
}

type hookedWriter struct {
	inner Writer
	hook  *hooked
	name  string
}

func (w *hookedWriter) Write(p []byte) (int, error) {
	fault := w.hook.before(Call{Op: OpWrite, Path: w.name, Size: len(p)})
	if fault.Err == nil {
		return w.inner.Write(p)
	}
	err := pathError(string(OpWrite), w.name, fault.Err)
	short := min(max(fault.Short, 0), len(p))
	if short == 0 {
		return 0, err
	}
	n, innerErr := w.inner.Write(p[:short])
	if innerErr != nil {
		err = innerErr
	}
	return n, err
}

func (w *hookedWriter) Sync() error {
	if err := w.hook.check(OpSync, w.name); err != nil {
		return err
	}
	return w.inner.Sync()
}

// Close closes the file below in any case and then reports the fault.
func (w *hookedWriter) Close() error {
	fault := w.hook.check(OpClose, w.name)
	if err := w.inner.Close(); err != nil {
		return err
	}
	return fault
}
