package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/session/dml"
	"github.com/weir-dev/weir/internal/vfs"
)

// A square of 64 by 64 points in four files: each has a quarter of the square.
func TestZOrderKeepsNeighboursTogether(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main", "CREATE TABLE t AS SELECT CAST(id DIV 64 AS INT) x, CAST(id % 64 AS INT) y FROM range(4096)")
	found, err := s.table([]string{"t"}, "SELECT")
	if err != nil {
		t.Fatal(err)
	}
	load := func() *delta.Snapshot {
		snapshot, err := delta.Table{FS: s.engine.fs, Dir: found.Location}.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	_, size := load().NumFiles()
	must(t, s, fmt.Sprintf("SET %s = %d", dml.BigFileKey, size/4+1), "OPTIMIZE t ZORDER BY (x, y)")
	var got []string
	for _, f := range load().Files() {
		var stats struct{ MinValues, MaxValues map[string]int }
		if err := json.Unmarshal([]byte(f.Stats), &stats); err != nil {
			t.Fatal(err)
		}
		low, high := stats.MinValues, stats.MaxValues
		got = append(got, fmt.Sprintf("x %d-%d y %d-%d", low["x"], high["x"], low["y"], high["y"]))
	}
	slices.Sort(got)
	want := []string{"x 0-31 y 0-31", "x 0-31 y 32-63", "x 32-63 y 0-31", "x 32-63 y 32-63"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
