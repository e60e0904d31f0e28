package state

import (
	"slices"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// ST2, ST6: rows of many pages, some in slabs, that change from both ends while a
// snapshot is being written: each version is read back as it was.
func TestASnapshotHasTheRowsOfItsVersionWhileTheyChange(t *testing.T) {
	const n = 640 * pageRows
	value := slices.Repeat([]Column{{"v", plan.Long}}, 2)
	o := Options{FS: vfs.NewMemory(), Dir: "/0", Retain: 100, Shapes: []Shape{
		{Name: "default", Key: []Column{{"k", plan.Long}}, Value: value}}}
	s, err := Open(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int32, n)
	putFrom(t, s.Table(0), all, 0, 1)
	if len(s.Table(0).rows.slabs) == 0 {
		t.Fatal("no page is cut from a slab")
	}
	commit := func() {
		t.Helper()
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	if err := s.snapshot(); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < n/2; from += 8 * pageRows {
		putFrom(t, s.Table(0), all[:pageRows], from, 2)
		putFrom(t, s.Table(0), all[:pageRows], n-from-pageRows, 2)
	}
	putFrom(t, s.Table(0), all[:pageRows], n, 2)
	commit()
	_ = s.Close()

	for version, want := range map[int64]int64{1: 1, 2: 2} {
		tables, err := Read(o.FS, o.Dir, version)
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		err = tables[0].Each(func(rows []int32) error {
			keys, values := chunk.Values[int64](tables[0].Keys(rows)[0]), tables[0].Values(rows)
			for i := range rows {
				first, second := chunk.Values[int64](values[0])[i], chunk.Values[int64](values[1])[i]
				if first != keys[i] || second != 1 && second != want {
					t.Fatalf("version %d: key %d has %d and %d", version, keys[i], first, second)
				}
				changed += int(second - 1)
			}
			return nil
		})
		if wantChanged := []int{0, (640/8 + 1) * pageRows}[version-1]; err != nil || changed != wantChanged {
			t.Errorf("version %d: %d rows differ, want %d (error: %v)", version, changed, wantChanged, err)
		}
	}
}

// putFrom gives the keys from one on the values of the key and of mark.
func putFrom(t *testing.T, table *Table, at []int32, from int, mark int64) {
	t.Helper()
	for done := 0; done < len(at); done += chunk.MaxRows {
		some := at[done:min(done+chunk.MaxRows, len(at))]
		k, v := chunk.Make(plan.Long, len(some)), chunk.Make(plan.Long, len(some))
		for i := range some {
			chunk.Values[int64](k)[i], chunk.Values[int64](v)[i] = int64(from+done+i), mark
		}
		keys := []*chunk.Vector{k}
		table.Find(keys, some)
		if err := table.Put(keys, []*chunk.Vector{k, v}, some); err != nil {
			t.Fatal(err)
		}
	}
}
