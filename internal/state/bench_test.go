package state

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

var windowCount = Shape{
	Name: "default", Key: []Column{{"window", window}, {"k", plan.Long}}, ExpiryKey: 1,
	Value: []Column{{"count", plan.Long}},
}

// distinct is a chunk of distinct keys, beginning at from.
func distinct(from, n int) (keys, values []*chunk.Vector) {
	start, end, k := chunk.Make(plan.Timestamp, n), chunk.Make(plan.Timestamp, n), chunk.Make(plan.Long, n)
	for i := range n {
		chunk.Values[int64](start)[i] = 1e15
		chunk.Values[int64](end)[i] = 1e15 + 1e7
		chunk.Values[int64](k)[i] = int64(from+i) * 2654435761
	}
	w := &chunk.Vector{Type: window, Len: n, Kids: []*chunk.Vector{start, end}}
	return []*chunk.Vector{w, k}, []*chunk.Vector{chunk.Make(plan.Long, n)}
}

func fillTable(b testing.TB, table *Table, n int) {
	at := make([]int32, chunk.MaxRows)
	for from := 0; from < n; from += chunk.MaxRows {
		keys, values := distinct(from, chunk.MaxRows)
		table.Find(keys, at)
		if err := table.Put(keys, values, at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpsert finds and writes keys that are there; ns/op is per key, B/key the
// memory of the whole table.
func BenchmarkUpsert(b *testing.B) {
	for _, n := range []int{1e4, 1e6, 1e7} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			table := newTable(windowCount)
			fillTable(b, table, n)
			table.settle()
			table.Scratch() // as an aggregation has it
			bytes := float64(table.Bytes()) / float64(table.Len())
			at := make([]int32, chunk.MaxRows)
			from := 0
			for done := 0; b.Loop(); done++ {
				if done%chunk.MaxRows != 0 {
					continue
				}
				// Spread over the table, as keys of a stream are.
				from = (from + 7919*chunk.MaxRows) % n
				keys, values := distinct(from/chunk.MaxRows*chunk.MaxRows, chunk.MaxRows)
				table.Find(keys, at)
				if err := table.Put(keys, values, at); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(bytes, "B/key")
		})
	}
}

// BenchmarkScattered is what a state has to do for a batch of 10,000 rows, each of a
// key of its own that is there, spread over all keys: the p50, for each row.
func BenchmarkScattered(b *testing.B) {
	const rows = 10_000
	shape := Shape{Name: "default", Key: []Column{{"k", plan.Long}}, Value: []Column{{"count", plan.Long}}}
	for _, n := range []int{1e4, 1e7} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			s, err := Open(Options{FS: vfs.NewMemory(), Dir: "/0", Shapes: []Shape{shape}, Retain: 10}, 0)
			if err != nil {
				b.Fatal(err)
			}
			countKeys(b, s, n, func(i int) int { return i })
			s.reap(true)
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				countKeys(b, s, rows, func(i int) int { return (i*(n/rows) + 7*len(took)) % n })
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/rows, "ns/row-p50")
			_ = s.Close()
		})
	}
}

// countKeys is a batch of n rows, whose keys are given.
func countKeys(b *testing.B, s *Store, n int, key func(i int) int) {
	table, at := s.Table(0), make([]int32, n)
	for from := 0; from < n; from += chunk.MaxRows {
		some := at[from:min(from+chunk.MaxRows, n)]
		k := chunk.Make(plan.Long, len(some))
		for i := range some {
			chunk.Values[int64](k)[i] = int64(key(from + i))
		}
		if _, err := table.Claim([]*chunk.Vector{k}, some, nil); err != nil {
			b.Fatal(err)
		}
	}
	for from := 0; from < n; from += chunk.MaxRows {
		some := at[from:min(from+chunk.MaxRows, n)]
		table.Update(some, table.Values(some))
	}
	if err := s.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClaim adds keys and gives them a value; ns/op is per key.
func BenchmarkClaim(b *testing.B) {
	const n = 1 << 20
	for name, shape := range map[string]Shape{"keys": windowCount, "time": withoutExpiry(windowCount)} {
		b.Run(name, func(b *testing.B) {
			rows := make([]int32, chunk.MaxRows)
			table := newTable(shape)
			for done := 0; b.Loop(); done++ {
				if done%chunk.MaxRows != 0 {
					continue
				}
				if done%n == 0 {
					table = newTable(shape)
				}
				keys, values := distinct(done%n, chunk.MaxRows)
				if _, err := table.Claim(keys, rows, nil); err != nil {
					b.Fatal(err)
				}
				table.Update(rows, values)
			}
		})
	}
}

func withoutExpiry(s Shape) Shape {
	s.ExpiryKey = 0
	return s
}

// BenchmarkRecover opens a store of a million keys from its snapshot.
func BenchmarkRecover(b *testing.B) {
	fsys, root := vfs.NewLocal(), b.TempDir()
	o := Options{FS: fsys, Dir: root + "/0", Shapes: []Shape{windowCount}, Retain: 100}
	s, err := Open(o, 0)
	if err != nil {
		b.Fatal(err)
	}
	fillTable(b, s.Table(0), 1e6)
	if err := s.Commit(); err != nil {
		b.Fatal(err)
	}
	_ = s.Close()
	for b.Loop() {
		s, err := Open(o, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Table(0).Len()), "keys")
		_ = s.Close()
	}
}

// BenchmarkCommit makes a batch of changed keys durable.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("changed=%d", n), func(b *testing.B) {
			o := Options{FS: vfs.NewLocal(), Dir: b.TempDir() + "/0", Shapes: []Shape{windowCount}, Retain: 100}
			s, err := Open(o, 0)
			if err != nil {
				b.Fatal(err)
			}
			fillTable(b, s.Table(0), 1e5)
			for b.Loop() {
				fillTable(b, s.Table(0), n)
				if err := s.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			_ = s.Close()
		})
	}
}
