package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// ConfinedError refuses a path that leads out of its root. It matches
// fs.ErrPermission.
type ConfinedError struct {
	Path string
	Root string // as users know it: a directory or /Volumes/c/s/v
}

func (e *ConfinedError) Error() string {
	return fmt.Sprintf("path %q leads out of %s", e.Path, e.Root)
}

func (e *ConfinedError) Is(target error) bool { return target == fs.ErrPermission }

// confined refuses every operation that would end outside root (V6).
type confined struct {
	FS
	root  string // without symbolic links
	shown string // how errors call it
}

// Confine limits a file system to the tree below root. Paths stay as they are.
// Symbolic links are followed as long as they end below root.
func Confine(fsys FS, root string) (FS, error) { return confine(fsys, root, root) }

func confine(fsys FS, root, shown string) (*confined, error) {
	real, err := fsys.RealPath(root)
	if err != nil {
		return nil, err
	}
	return &confined{FS: fsys, root: real, shown: shown}, nil
}

// inside checks where a path leads, its last element followed.
func (c *confined) inside(name string) error {
	real, err := c.FS.RealPath(name)
	if err != nil {
		return err
	}
	if !below(real, c.root) {
		return &ConfinedError{Path: name, Root: c.shown}
	}
	return nil
}

// insideName checks where a name lies, without following it when it is a link.
func (c *confined) insideName(name string) error {
	dir, err := c.FS.RealPath(path.Dir(name))
	if err != nil {
		return err
	}
	if !below(path.Join(dir, path.Base(name)), c.root) {
		return &ConfinedError{Path: name, Root: c.shown}
	}
	return nil
}

// below reports whether the clean path p is root or in it.
func below(p, root string) bool {
	rest, ok := strings.CutPrefix(p, root)
	return ok && (rest == "" || rest[0] == '/' || root == "/")
}

func (c *confined) Open(name string) (Reader, error) {
	if err := c.inside(name); err != nil {
		return nil, err
	}
	return c.FS.Open(name)
}

func (c *confined) Stat(name string) (Info, error) {
	if err := c.inside(name); err != nil {
		return Info{}, err
	}
	return c.FS.Stat(name)
}

func (c *confined) Lstat(name string) (Info, error) {
	if err := c.insideName(name); err != nil {
		return Info{}, err
	}
	return c.FS.Lstat(name)
}

func (c *confined) RealPath(name string) (string, error) {
	if err := c.inside(name); err != nil {
		return "", err
	}
	return c.FS.RealPath(name)
}

func (c *confined) Create(name string) (Writer, error) {
	if err := c.inside(name); err != nil {
		return nil, err
	}
	return c.FS.Create(name)
}

func (c *confined) CreateNew(name string) (Writer, error) {
	if err := c.inside(name); err != nil {
		return nil, err
	}
	return c.FS.CreateNew(name)
}

func (c *confined) Append(name string) (Writer, error) {
	if err := c.inside(name); err != nil {
		return nil, err
	}
	return c.FS.Append(name)
}

func (c *confined) List(dir string) ([]Info, error) {
	if err := c.inside(dir); err != nil {
		return nil, err
	}
	return c.FS.List(dir)
}

func (c *confined) MkdirAll(dir string) error {
	if err := c.inside(dir); err != nil {
		return err
	}
	return c.FS.MkdirAll(dir)
}

func (c *confined) Rename(from, to string) error {
	if err := c.insideBoth(from, to); err != nil {
		return err
	}
	return c.FS.Rename(from, to)
}

func (c *confined) RenameNew(from, to string) error {
	if err := c.insideBoth(from, to); err != nil {
		return err
	}
	return c.FS.RenameNew(from, to)
}

func (c *confined) insideBoth(from, to string) error {
	if err := c.insideName(from); err != nil {
		return err
	}
	return c.insideName(to)
}

func (c *confined) Remove(name string) error {
	if err := c.insideName(name); err != nil {
		return err
	}
	return c.FS.Remove(name)
}

func (c *confined) RemoveAll(name string) error {
	if err := c.insideName(name); err != nil {
		return err
	}
	return c.FS.RemoveAll(name)
}

func (c *confined) SyncDir(dir string) error {
	if err := c.inside(dir); err != nil {
		return err
	}
	return c.FS.SyncDir(dir)
}

func (c *confined) Lock(name string) (io.Closer, error) {
	if err := c.inside(name); err != nil {
		return nil, err
	}
	return c.FS.Lock(name)
}

func (c *confined) SetModTime(name string, t time.Time) error {
	if err := c.inside(name); err != nil {
		return err
	}
	return c.FS.SetModTime(name, t)
}
