package state

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// entries is a table of a group's entries: rows are found by the group too.
func entries(name string, value plan.Type) Shape {
	return Shape{
		Name: name, Key: []Column{{"group", plan.Long}, {"key", plan.Long}}, Prefix: 1,
		Value: []Column{{"value", value}},
	}
}

func groupsOf(t *Table, group int64) []int64 {
	found := []int32{0}
	t.FindPrefix([]*chunk.Vector{chunk.Of(plan.Long, []int64{group})}, found)
	var keys []int64
	for row := found[0]; row >= 0; row = t.Next(row) {
		keys = append(keys, chunk.Values[int64](t.Keys([]int32{row})[1])[0])
	}
	slices.Sort(keys)
	return keys
}

// TestRowsAreFoundByPrefix puts and removes entries of few groups, with restarts.
func TestRowsAreFoundByPrefix(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fsys := vfs.NewMemory()
		s := store(t, fsys, 0, entries("m", plan.String))
		model := map[int64]map[int64]bool{}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			table := s.Table(0)
			group, key := int64(rapid.IntRange(0, 3).Draw(r, "group")), int64(rapid.IntRange(0, 5).Draw(r, "key"))
			at := []int32{-1}
			keys := []*chunk.Vector{chunk.Of(plan.Long, []int64{group}), chunk.Of(plan.Long, []int64{key})}
			table.Find(keys, at)
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0, 1:
				value := []*chunk.Vector{chunk.Repeat("v", plan.String, 1)}
				if err := table.Put(keys, value, at); err != nil {
					r.Fatal(err)
				}
				if model[group] == nil {
					model[group] = map[int64]bool{}
				}
				model[group][key] = true
			case 2:
				if at[0] >= 0 {
					table.Remove(at)
				}
				if delete(model[group], key); len(model[group]) == 0 {
					delete(model, group)
				}
			case 3:
				if err := s.Commit(); err != nil {
					r.Fatal(err)
				}
				_ = s.Close()
				s = store(t, fsys, s.Version(), entries("m", plan.String))
			}
			for g := range int64(4) {
				var want []int64
				for k := range model[g] {
					want = append(want, k)
				}
				slices.Sort(want)
				if got := groupsOf(s.Table(0), g); !slices.Equal(got, want) {
					r.Fatalf("group %d has %v, want %v", g, got, want)
				}
			}
			if got := s.Table(0).Prefixes(); got != len(model) {
				r.Fatalf("%d groups, want %d", got, len(model))
			}
		}
		_ = s.Close()
	})
}

func evolving(t *testing.T, fsys vfs.FS, version int64, deleted []string, shapes ...Shape) (*Store, error) {
	t.Helper()
	s, err := Open(Options{
		FS: fsys, Dir: dir, Shapes: shapes, Retain: 100, Evolves: true, Deleted: deleted,
	}, version)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func putEntry(t *testing.T, table *Table, value *chunk.Vector) {
	t.Helper()
	one := chunk.Of(plan.Long, []int64{1})
	at := []int32{-1}
	table.Find([]*chunk.Vector{one, one}, at)
	if err := table.Put([]*chunk.Vector{one, one}, []*chunk.Vector{value}, at); err != nil {
		t.Fatal(err)
	}
}

func sizes(s *Store) map[string]int {
	out := map[string]int{}
	for _, table := range s.Tables() {
		out[table.Shape().Name] = table.Len()
	}
	return out
}

func TestTablesComeAndGo(t *testing.T) {
	fsys := vfs.NewMemory()
	n, l := entries("n", plan.Long), entries("l", plan.String)
	text := chunk.Repeat("x", plan.String, 1)
	open := func(version int64, deleted []string, shapes ...Shape) *Store {
		t.Helper()
		s, err := evolving(t, fsys, version, deleted, shapes...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	commit := func(s *Store, want map[string]int) {
		t.Helper()
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sizes(s)); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", s.Version(), diff)
		}
		_ = s.Close()
	}
	s := open(0, nil, n)
	putEntry(t, s.Table(0), chunk.Of(plan.Long, []int64{7}))
	commit(s, map[string]int{"n": 1})

	s = open(1, nil, l, n) // in another order
	putEntry(t, s.Table(0), text)
	commit(s, map[string]int{"n": 1, "l": 1})

	s = open(2, nil, l) // what is not mentioned stays
	commit(s, map[string]int{"n": 1, "l": 1})

	if _, err := evolving(t, fsys, 3, nil, entries("n", plan.String)); !errors.As(err, new(*SchemaError)) {
		t.Errorf("another type: %v, want a SchemaError", err)
	}
	s = open(3, []string{"n"}, l)
	_ = s.Close() // cut off before its commit
	s = open(3, []string{"n"}, l)
	commit(s, map[string]int{"n": 0, "l": 1})

	s = open(4, nil, n, l)
	if diff := cmp.Diff([]int64{1}, groupsOf(s.Table(1), 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	commit(s, map[string]int{"n": 0, "l": 1})

	// Before the deletion it is there again.
	tables, err := Read(fsys, dir, 3)
	if err != nil || tables[0].Len() != 1 {
		t.Errorf("version 3 has %v, %v", tables, err)
	}
}
