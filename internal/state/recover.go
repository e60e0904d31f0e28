package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/vfs"
)

// files is the versions that the files of a store are named by, ascending.
type files struct{ snapshots, changes []int64 }

func fileName(dir string, version int64, suffix string) string {
	return path.Join(dir, strconv.FormatInt(version, 10)+suffix)
}

func list(fsys vfs.FS, dir string) (files, error) {
	infos, err := fsys.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return files{}, fmt.Errorf("list %s: %w", dir, err)
	}
	var f files
	for _, info := range infos {
		if v, ok := versionOf(info.Name, snapshotSuffix); ok {
			f.snapshots = append(f.snapshots, v)
		}
		if v, ok := versionOf(info.Name, changesSuffix); ok {
			f.changes = append(f.changes, v)
		}
	}
	slices.Sort(f.snapshots)
	slices.Sort(f.changes)
	return f, nil
}

func versionOf(name, suffix string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	return v, err == nil && v >= 0 && strconv.FormatInt(v, 10) == digits
}

// recovery builds the tables of a version out of files.
type recovery struct {
	o      Options
	tables []*Table
	at     int64
}

// assemble builds the tables as they were at a version.
func assemble(o Options, f files, version int64) ([]*Table, error) {
	for k := len(f.snapshots) - 1; k >= -1; k-- {
		r := &recovery{o: o}
		for _, s := range o.Shapes {
			r.tables = append(r.tables, newTable(s))
		}
		if k >= 0 {
			if f.snapshots[k] > version {
				continue
			}
			err := r.snapshot(f.snapshots[k])
			if damaged := (*CorruptError)(nil); errors.As(err, &damaged) {
				o.Warn("a state snapshot is damaged, an older one is used", err)
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		if err := r.replay(f.changes, version); err != nil {
			return nil, err
		}
		for _, t := range r.tables {
			t.rebuild()
		}
		return r.tables, nil
	}
	panic("unreachable: the loop ends without a snapshot")
}

// snapshot reads the rows of a snapshot.
func (r *recovery) snapshot(version int64) error {
	name := fileName(r.o.Dir, version, snapshotSuffix)
	done := false
	err := r.read(name, func(h header, body []byte) error {
		switch {
		case h.version != version || done:
			return errors.New("it holds another version than its name says")
		case h.kind == kindEnd:
			done = true
			return nil
		default:
			return r.apply(h, body)
		}
	})
	if err == nil && !done {
		err = &CorruptError{File: name, Version: version, Reason: "it is cut off"}
	}
	r.at = version
	return err
}

// read hands over the frames of a file. What the file says wrong is a
// CorruptError.
func (r *recovery) read(name string, take func(h header, body []byte) error) error {
	f, err := r.o.FS.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	in := newFrameReader(f)
	for {
		h, body, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = take(h, body)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return &CorruptError{File: name, Version: r.at + 1, Reason: err.Error()}
		}
	}
}

// errEnough ends read early.
var errEnough = errors.New("enough")

func (r *recovery) apply(h header, body []byte) error {
	if h.table >= len(r.tables) {
		return fmt.Errorf("it changes table %d of %d", h.table, len(r.tables))
	}
	return r.tables[h.table].rows.apply(h, body)
}

// replay applies changes from where the tables are up to a version. A file's
// changes count up to where the next file begins: that one was begun when the
// store was opened there, and what followed had become void.
func (r *recovery) replay(changes []int64, version int64) error {
	for k, from := range changes {
		until := version
		if k+1 < len(changes) {
			until = min(until, changes[k+1])
		}
		if until <= r.at || from > r.at {
			continue
		}
		if err := r.file(from, until); err != nil {
			return err
		}
	}
	if r.at < version {
		found := r.at
		if len(changes) == 0 && found == 0 {
			found = -1
		}
		return &MissingError{Dir: r.o.Dir, Version: version, Found: found}
	}
	return nil
}

// file applies the changes of a file up to a version.
func (r *recovery) file(from, until int64) error {
	frames := 0
	return r.read(fileName(r.o.Dir, from, changesSuffix), func(h header, body []byte) error {
		switch {
		case h.version <= r.at:
			return nil
		case h.version != r.at+1:
			return fmt.Errorf("version %d follows %d", h.version, r.at)
		case h.kind == kindRows:
			frames++
			return r.apply(h, body)
		case h.puts != frames:
			return fmt.Errorf("version %d has %d parts of %d", h.version, frames, h.puts)
		case h.version == until:
			r.at = until
			return errEnough // somebody may be writing what follows
		default:
			r.at, frames = h.version, 0
			return nil
		}
	})
}

// rebuild makes the indexes of rows that were read.
func (t *Table) rebuild() {
	t.rows.collect()
	if t.shape.Many || t.groups != nil {
		t.index.reserve(t.rows.count)
		t.eachRow(func(row int32) {
			t.expire(row)
			t.enter(row, hashOf(t.rows.keyOf(row)))
		})
		return
	}
	entries := make([]uint64, 0, t.rows.count)
	t.eachRow(func(row int32) {
		t.expire(row)
		entries = append(entries, entryOf(hashOf(t.rows.keyOf(row)), row))
	})
	t.index.build(entries)
}

func (t *Table) eachRow(visit func(row int32)) {
	for row := range t.rows.next {
		if t.rows.live.has(row) {
			visit(row)
		}
	}
}

// Shapes is what the tables of a store hold.
func Shapes(fsys vfs.FS, dir string) ([]Shape, error) {
	name := path.Join(dir, schemaName)
	data, err := vfs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	shapes, err := parseShapes(data)
	if err != nil {
		return nil, &CorruptError{File: name, Version: -1, Reason: err.Error()}
	}
	return shapes, nil
}

// Read builds the tables of a version for somebody who only looks (ST6).
func Read(fsys vfs.FS, dir string, version int64) ([]*Table, error) {
	shapes, err := Shapes(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{Dir: dir, Version: version, Found: -1}
	}
	if err != nil {
		return nil, err
	}
	f, err := list(fsys, dir)
	if err != nil {
		return nil, err
	}
	o := Options{FS: fsys, Dir: dir, Shapes: shapes, Warn: func(string, error) {}}
	return assemble(o, f, version)
}
