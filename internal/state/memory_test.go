package state

import (
	"runtime"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
)

// MN-06: what a table says that it holds is what the process holds for it, within a fifth.
func TestBytesAreWhatTheProcessHolds(t *testing.T) {
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, keys := range []int{10 * chunk.MaxRows, 300 * chunk.MaxRows} {
		before := held()
		table := newTable(windowCount)
		fillTable(t, table, keys)
		table.settle()
		grown, said := float64(held()-before), float64(table.Bytes())
		if said < 0.8*grown || said > 1.2*grown {
			t.Errorf("%d keys: %.0f bytes are said, and %.0f held", keys, said, grown)
		}
		runtime.KeepAlive(table)
	}
}
