package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/weir-dev/weir/internal/vfs"
)

const (
	changesSuffix  = ".changes"
	snapshotSuffix = ".snapshot"

	// A snapshot is due when the changes since the last one weigh more than the
	// rows, but not for less than snapshotBytes, or after snapshotVersions.
	snapshotBytes    = 1 << 20
	snapshotVersions = 1000
)

// Options say where a store lies and what it holds.
type Options struct {
	FS  vfs.FS
	Dir string // state/OPERATOR
	// Shapes of the tables.
	Shapes []Shape
	// Evolves says that the shapes are found by name: tables of the store that are
	// not among them stay as they are, new ones are added. Those in Deleted lose
	// their rows.
	Evolves bool
	Deleted []string
	// Retain is how many versions before the newest can be read again.
	Retain int64
	// Warn is told what went wrong without harm: a damaged snapshot that an older
	// one stands in for, a snapshot that could not be written. May be nil.
	Warn func(message string, err error)
}

// Store is the state of one operator.
type Store struct {
	o       Options
	tables  []*Table
	places  []int // of the shapes among the tables, when they evolve
	version int64

	file    vfs.Writer // the changes, nil until the first Commit
	since   int64      // version of the newest snapshot, or of the file
	grown   int64      // bytes of changes since then
	broken  error
	writing *snapshot // nil when none is under way
	frames  frames    // its memory serves all versions
}

// Open reads the store at a version; 0 is a new one. What the store held
// beyond the version is void.
func Open(o Options, version int64) (*Store, error) {
	if o.Warn == nil {
		o.Warn = func(string, error) {}
	}
	if err := vfs.MkdirDurable(o.FS, o.Dir); err != nil {
		return nil, err
	}
	if _, err := vfs.CleanTemps(o.FS, o.Dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", o.Dir, err)
	}
	var places []int
	var err error
	if o.Evolves {
		o.Shapes, places, err = evolve(o, version)
	} else {
		err = agree(o, version)
	}
	if err != nil {
		return nil, err
	}
	files, err := list(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, version: version, since: version, places: places}
	if s.tables, err = assemble(o, files, version); err != nil {
		return nil, err
	}
	s.empty()
	return s, s.void(files)
}

// void removes what lies beyond the version that was opened.
func (s *Store) void(files files) error {
	removed := false
	remove := func(version int64, suffix string) error {
		removed = true
		return vfs.RemoveFile(s.o.FS, fileName(s.o.Dir, version, suffix))
	}
	for _, v := range files.snapshots {
		if v > s.version {
			if err := remove(v, snapshotSuffix); err != nil {
				return err
			}
		}
	}
	for _, v := range files.changes {
		if v >= s.version {
			if err := remove(v, changesSuffix); err != nil {
				return err
			}
		}
	}
	if !removed {
		return nil
	}
	return s.o.FS.SyncDir(s.o.Dir)
}

// Table is one of the tables, in the order of the shapes.
func (s *Store) Table(i int) *Table {
	if s.places != nil {
		i = s.places[i]
	}
	return s.tables[i]
}

// Tables is all tables, those that are not wanted any more too.
func (s *Store) Tables() []*Table { return s.tables }

// Version is the one that was committed last, or opened.
func (s *Store) Version() int64 { return s.version }

// Bytes is the memory of all tables, and of writing them.
func (s *Store) Bytes() int64 {
	n := s.frames.bytes()
	for _, t := range s.tables {
		n += t.Bytes()
	}
	return n
}

// Payload is the bytes of all keys and values, about what a snapshot weighs.
func (s *Store) Payload() int64 {
	n := int64(0)
	for _, t := range s.tables {
		n += int64(t.rows.count * (t.rows.width + 4))
		if t.rows.arena != nil {
			n += t.rows.arena.used
		}
	}
	return n
}

// Rows is the number of rows of all tables.
func (s *Store) Rows() int64 {
	n := int64(0)
	for _, t := range s.tables {
		n += int64(t.Len())
	}
	return n
}

// Commit makes what was changed since the last version durable as the next one
// (ST1). After an error the store can only be closed.
func (s *Store) Commit() error {
	if s.broken != nil {
		return s.broken
	}
	s.reap(false)
	if err := s.commit(s.version + 1); err != nil {
		s.broken = fmt.Errorf("write version %d of the state in %s: %w", s.version+1, s.o.Dir, err)
		return s.broken
	}
	s.version++
	for _, t := range s.tables {
		t.settle()
	}
	return s.snapshotIfDue()
}

func (s *Store) commit(version int64) error {
	fresh := s.file == nil
	if fresh {
		var err error
		if s.file, err = s.o.FS.CreateNew(fileName(s.o.Dir, s.version, changesSuffix)); err != nil {
			return err
		}
	}
	w := &s.frames
	w.begin(s.file, version)
	for k, t := range s.tables {
		puts, drops := t.outcome()
		if err := w.rows(k, t.rows, puts, drops); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	s.grown += w.written
	if err := s.file.Sync(); err != nil {
		return err
	}
	if fresh {
		return s.o.FS.SyncDir(s.o.Dir)
	}
	return nil
}

// outcome divides the changed rows into those that are there and those that are
// gone.
func (t *Table) outcome() (puts, drops []int32) {
	puts = make([]int32, 0, len(t.changed))
	for _, row := range t.changed {
		if t.rows.live.has(row) {
			puts = append(puts, row)
		} else {
			drops = append(drops, row)
		}
	}
	return puts, drops
}

// Close ends the store; a snapshot under way is finished first.
func (s *Store) Close() error {
	s.reap(true)
	for _, t := range s.tables {
		t.release()
	}
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// agree compares the tables with those the store was made for, or writes them
// down.
func agree(o Options, version int64) error {
	name := path.Join(o.Dir, schemaName)
	data, err := vfs.ReadFile(o.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		if version > 0 {
			return &MissingError{Dir: o.Dir, Version: version, Found: -1}
		}
		return vfs.WriteNew(o.FS, name, encodeShapes(o.Shapes))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	stored, err := parseShapes(data)
	if err != nil {
		return &CorruptError{File: name, Version: -1, Reason: err.Error()}
	}
	if version == 0 && !sameShapes(stored, o.Shapes) {
		// Nothing was ever committed under the old ones.
		return vfs.WriteReplace(o.FS, name, encodeShapes(o.Shapes))
	}
	return compare(o.Dir, stored, o.Shapes)
}
