package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/weir-dev/weir/internal/vfs"
)

// evolve joins the tables that a store has with those that are wanted, and writes
// the result down. It gives all of them and the places of the wanted ones.
func evolve(o Options, version int64) (all []Shape, places []int, err error) {
	name := path.Join(o.Dir, schemaName)
	data, err := vfs.ReadFile(o.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && version > 0:
		return nil, nil, &MissingError{Dir: o.Dir, Version: version, Found: -1}
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	case version > 0:
		if all, err = parseShapes(data); err != nil {
			return nil, nil, &CorruptError{File: name, Version: -1, Reason: err.Error()}
		}
	}
	stored := slices.Clone(all)
	for _, wanted := range o.Shapes {
		at := slices.IndexFunc(all, func(s Shape) bool { return s.Name == wanted.Name })
		if at < 0 {
			at = len(all)
			all = append(all, wanted)
		} else if err := compatible(o.Dir, all[at], wanted); err != nil {
			return nil, nil, err
		}
		// Another name of a column is none of the store's business.
		all[at] = wanted
		places = append(places, at)
	}
	if version > 0 && sameShapes(stored, all) {
		return all, places, nil
	}
	return all, places, vfs.WriteReplace(o.FS, name, encodeShapes(all))
}

// compatible compares a table with what is wanted of it.
func compatible(dir string, stored, wanted Shape) error {
	if err := compare(dir, []Shape{stored}, []Shape{wanted}); err != nil {
		return err
	}
	if stored.Expiry != wanted.Expiry || stored.ExpiryKey != wanted.ExpiryKey || stored.Prefix != wanted.Prefix {
		return &SchemaError{Dir: dir, Stored: []Shape{stored}, Wanted: []Shape{wanted}}
	}
	return nil
}

// empty removes the rows of tables that are to be given up.
func (s *Store) empty() {
	for _, t := range s.tables {
		if !slices.Contains(s.o.Deleted, t.shape.Name) {
			continue
		}
		all := make([]int32, 0, t.Len())
		for row := range t.rows.next {
			if t.rows.live.has(row) {
				all = append(all, row)
			}
		}
		t.Remove(all)
	}
}
