package vfs

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxName is the longest name of one directory entry in bytes, as on ext4, xfs
// and APFS; maxPath the longest path.
const (
	maxName = 255
	maxPath = 4096
)

// Memory is a file system in memory. It has no symbolic links.
type Memory struct {
	mu    sync.RWMutex // guards the whole tree
	root  *node
	locks map[*node]bool
	// pending are the changes of names that a crash may lose, oldest first.
	// Only a Crashable keeps them.
	pending  []change
	volatile bool
}

// node is a file or directory. Bytes are only ever appended to data, so synced
// and open readers may share its array.
type node struct {
	dir     bool
	modTime time.Time
	data    []byte
	synced  []byte           // data at the last Sync
	names   map[string]*node // what is seen
	durable map[string]*node // what survives a crash
}

// NewMemory returns an empty file system that holds only "/".
func NewMemory() *Memory {
	return &Memory{root: newDir(), locks: map[*node]bool{}}
}

func newDir() *node {
	return &node{dir: true, modTime: time.Now(), names: map[string]*node{}, durable: map[string]*node{}}
}

// entry is the place of a name: the directory that holds it and the node there,
// nil when there is none. The root has no parent.
type entry struct {
	parent *node
	name   string
	node   *node
}

// find walks to name. The parent must exist, the last element need not.
func (m *Memory) find(name string) (entry, error) {
	if err := checkPath(name); err != nil {
		return entry{}, err
	}
	at := entry{node: m.root}
	for elem := range strings.SplitSeq(strings.Trim(path.Clean(name), "/"), "/") {
		if elem == "" {
			continue
		}
		if len(elem) > maxName {
			return entry{}, syscall.ENAMETOOLONG
		}
		if at.node == nil {
			return entry{}, syscall.ENOENT
		}
		if !at.node.dir {
			return entry{}, syscall.ENOTDIR
		}
		at = entry{parent: at.node, name: elem, node: at.node.names[elem]}
	}
	return at, nil
}

func checkPath(name string) error {
	switch {
	case !path.IsAbs(name), strings.ContainsRune(name, 0):
		return syscall.EINVAL
	case len(name) >= maxPath:
		return syscall.ENAMETOOLONG
	}
	return nil
}

// must walks to a name that has to exist.
func (m *Memory) must(name string) (entry, error) {
	e, err := m.find(name)
	if err == nil && e.node == nil {
		err = syscall.ENOENT
	}
	return e, err
}

func (m *Memory) Open(name string) (Reader, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, err := m.must(name)
	if err == nil && e.node.dir {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memReader{fs: m, node: e.node, name: path.Base(name)}, nil
}

func (m *Memory) Stat(name string) (Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, err := m.must(name)
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return e.node.info(path.Base(name)), nil
}

func (m *Memory) Lstat(name string) (Info, error) { return m.Stat(name) }

func (n *node) info(name string) Info {
	if n.dir {
		return Info{Name: name, ModTime: n.modTime, Kind: Dir}
	}
	return Info{Name: name, ModTime: n.modTime, Size: int64(len(n.data))}
}

func (m *Memory) RealPath(name string) (string, error) {
	if err := checkPath(name); err != nil {
		return "", pathError("realpath", name, err)
	}
	return path.Clean(name), nil
}

func (m *Memory) Create(name string) (Writer, error) {
	return m.openWriter(name, func(n *node) error {
		n.data = nil
		return nil
	})
}

func (m *Memory) CreateNew(name string) (Writer, error) {
	return m.openWriter(name, func(*node) error { return syscall.EEXIST })
}

func (m *Memory) Append(name string) (Writer, error) {
	return m.openWriter(name, func(*node) error { return nil })
}

// openWriter makes a file or lets have prepare the one that is there.
func (m *Memory) openWriter(name string, have func(*node) error) (Writer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.fileFor(name, have)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memWriter{fs: m, node: n, name: name}, nil
}

func (m *Memory) fileFor(name string, have func(*node) error) (*node, error) {
	e, err := m.find(name)
	if err != nil {
		return nil, err
	}
	if e.node == nil {
		n := &node{modTime: time.Now()}
		m.apply(change{links: []link{{e.parent, e.name, nil, n}}})
		return n, nil
	}
	if err := have(e.node); err != nil {
		return nil, err
	}
	if e.node.dir {
		return nil, syscall.EISDIR
	}
	return e.node, nil
}

func (m *Memory) List(dir string) ([]Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, err := m.must(dir)
	if err == nil && !e.node.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("list", dir, err)
	}
	infos := make([]Info, 0, len(e.node.names))
	for name, n := range e.node.names {
		infos = append(infos, n.info(name))
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		e, err := m.find(dir[:i])
		if err == nil && e.node != nil && !e.node.dir {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return pathError("mkdir", dir, err)
		}
		if e.node == nil {
			m.apply(change{links: []link{{e.parent, e.name, nil, newDir()}}})
		}
	}
	return nil
}

func (m *Memory) Rename(from, to string) error { return m.rename(from, to, true) }

func (m *Memory) RenameNew(from, to string) error { return m.rename(from, to, false) }

func (m *Memory) rename(from, to string, replace bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	src, err := m.must(from)
	if err != nil {
		return pathError("rename", from, err)
	}
	dst, err := m.find(to)
	switch {
	case err != nil:
	case dst.node != nil && !replace:
		err = syscall.EEXIST
	case src.parent == nil || dst.parent == nil:
		err = syscall.EBUSY
	case src.node == dst.node:
		return nil
	case src.node.dir && holds(src.node, dst.parent):
		err = syscall.EINVAL
	case dst.node == nil:
	case dst.node.dir && !src.node.dir:
		err = syscall.EEXIST // what os.Rename says
	case !dst.node.dir && src.node.dir:
		err = syscall.ENOTDIR
	case len(dst.node.names) > 0:
		err = syscall.ENOTEMPTY
	case dst.node.dir:
		err = syscall.EEXIST
	}
	if err != nil {
		return pathError("rename", to, err)
	}
	m.apply(change{links: []link{
		{src.parent, src.name, src.node, nil},
		{dst.parent, dst.name, dst.node, src.node},
	}})
	return nil
}

// holds reports whether the tree below top contains n.
func holds(top, n *node) bool {
	if top == n {
		return true
	}
	for _, child := range top.names {
		if child.dir && holds(child, n) {
			return true
		}
	}
	return false
}

func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.must(name)
	switch {
	case err != nil:
	case e.parent == nil:
		err = syscall.EBUSY
	case len(e.node.names) > 0:
		err = syscall.ENOTEMPTY
	default:
		m.apply(change{links: []link{{e.parent, e.name, e.node, nil}}})
	}
	return pathError("remove", name, err)
}

func (m *Memory) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(name)
	switch {
	case err == syscall.ENOENT || err == syscall.ENOTDIR || err == nil && e.node == nil:
		return nil
	case err != nil:
		return pathError("remove", name, err)
	case e.parent == nil:
		return pathError("remove", name, syscall.EBUSY)
	}
	m.removeTree(e)
	return nil
}

// removeTree unlinks children before parents, each as a change of its own: a
// crash may leave any part of the tree.
func (m *Memory) removeTree(e entry) {
	names := make([]string, 0, len(e.node.names))
	for name := range e.node.names {
		names = append(names, name)
	}
	slices.Sort(names) // a seeded crash must meet one order
	for _, name := range names {
		m.removeTree(entry{e.node, name, e.node.names[name]})
	}
	m.apply(change{links: []link{{e.parent, e.name, e.node, nil}}})
}

func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.must(dir)
	if err == nil && !e.node.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathError("sync", dir, err)
	}
	m.settle(e.node)
	return nil
}

func (m *Memory) SetModTime(name string, t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.must(name)
	if err != nil {
		return pathError("chtimes", name, err)
	}
	e.node.modTime = t
	return nil
}

func (m *Memory) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.fileFor(name, func(*node) error { return nil })
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	if m.locks[n] {
		return nil, &LockedError{Path: name, PID: os.Getpid()}
	}
	m.locks[n] = true
	return &memLock{fs: m, node: n}, nil
}

type memLock struct {
	fs   *Memory
	node *node
}

func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.node == nil {
		return os.ErrClosed
	}
	delete(l.fs.locks, l.node)
	l.node = nil
	return nil
}

type memReader struct {
	fs     *Memory
	node   *node
	name   string
	at     int64
	closed bool
}

func (r *memReader) bytes() []byte {
	r.fs.mu.RLock()
	defer r.fs.mu.RUnlock()
	return r.node.data
}

func (r *memReader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 || len(p) == 0 {
		err = nil
	}
	return n, err
}

func (r *memReader) ReadAt(p []byte, off int64) (int, error) {
	data := r.bytes()
	switch {
	case r.closed:
		return 0, pathError("read", r.name, os.ErrClosed)
	case off < 0:
		return 0, pathError("read", r.name, syscall.EINVAL)
	case off >= int64(len(data)):
		return 0, io.EOF
	}
	n := copy(p, data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *memReader) Stat() (Info, error) {
	if r.closed {
		return Info{}, pathError("stat", r.name, os.ErrClosed)
	}
	r.fs.mu.RLock()
	defer r.fs.mu.RUnlock()
	return r.node.info(r.name), nil
}

func (r *memReader) Close() error {
	if r.closed {
		return pathError("close", r.name, os.ErrClosed)
	}
	r.closed = true
	return nil
}

type memWriter struct {
	fs     *Memory
	node   *node
	name   string
	closed bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return 0, pathError("write", w.name, os.ErrClosed)
	}
	w.node.data = append(w.node.data, p...)
	w.node.modTime = time.Now()
	return len(p), nil
}

func (w *memWriter) Sync() error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return pathError("sync", w.name, os.ErrClosed)
	}
	w.node.synced = w.node.data
	return nil
}

func (w *memWriter) Close() error {
	if w.closed {
		return pathError("close", w.name, os.ErrClosed)
	}
	w.closed = true
	return nil
}
