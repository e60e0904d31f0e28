package session

import (
	"io"
	"path"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// HistoryName is the directory of the tables of system.streaming.
const HistoryName = "history"

// HistoryDir is where the tables of system.streaming are.
func (e *Engine) HistoryDir() string { return path.Join(e.dir, HistoryName) }

// ShowHistory makes the tables of a history readable as system.streaming.
func (e *Engine) ShowHistory(h *history.Store) error {
	var list []catalog.Table
	for _, t := range h.Tables() {
		list = append(list, catalog.Table{
			Name: t.Name, Format: deltaFormat, SchemaJSON: t.Schema.JSON(), Location: t.Dir, External: true,
			Comment: t.Comment, CreatedMs: time.Now().UnixMilli(),
		})
	}
	e.history.Store(h)
	return e.catalog.Provide("streaming", list)
}

// awaitHistory waits for the tables of the history before the first look at one.
func (e *Engine) awaitHistory(id plan.TableID) {
	if h := e.history.Load(); h != nil && id.Catalog == catalog.SystemCatalog {
		h.Ready()
	}
}

// guardedFS refuses to change what is below a directory: users' statements and queries
// reach files through it, the server does not.
type guardedFS struct {
	vfs.FS
	dir string
}

func (g guardedFS) check(name string) error {
	if name != g.dir && !strings.HasPrefix(name, g.dir+"/") {
		return nil
	}
	return plan.Unsupported("Changing the tables of " +
		plan.QuoteParts([]string{catalog.SystemCatalog, "streaming"}) + ", which the server writes,")
}

func (g guardedFS) Create(name string) (vfs.Writer, error) {
	if err := g.check(name); err != nil {
		return nil, err
	}
	return g.FS.Create(name)
}

func (g guardedFS) CreateNew(name string) (vfs.Writer, error) {
	if err := g.check(name); err != nil {
		return nil, err
	}
	return g.FS.CreateNew(name)
}

func (g guardedFS) Append(name string) (vfs.Writer, error) {
	if err := g.check(name); err != nil {
		return nil, err
	}
	return g.FS.Append(name)
}

func (g guardedFS) MkdirAll(dir string) error {
	if err := g.check(dir); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir)
}

func (g guardedFS) Rename(from, to string) error {
	for _, name := range []string{from, to} {
		if err := g.check(name); err != nil {
			return err
		}
	}
	return g.FS.Rename(from, to)
}

func (g guardedFS) RenameNew(from, to string) error {
	for _, name := range []string{from, to} {
		if err := g.check(name); err != nil {
			return err
		}
	}
	return g.FS.RenameNew(from, to)
}

func (g guardedFS) Remove(name string) error {
	if err := g.check(name); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g guardedFS) RemoveAll(name string) error {
	if err := g.check(name); err != nil {
		return err
	}
	return g.FS.RemoveAll(name)
}

func (g guardedFS) SetModTime(name string, at time.Time) error {
	if err := g.check(name); err != nil {
		return err
	}
	return g.FS.SetModTime(name, at)
}

func (g guardedFS) Lock(name string) (io.Closer, error) {
	if err := g.check(name); err != nil {
		return nil, err
	}
	return g.FS.Lock(name)
}
