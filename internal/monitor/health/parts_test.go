package health

import (
	"math"
	"testing"
	"time"
)

// partBatch is a batch with rows of partitions, so long before its end each.
func partBatch(end time.Time, mark, state float64, ago map[string]time.Duration) Batch {
	b := Batch{Start: end.Add(-time.Second), End: end, Rows: 10, StateBytes: state}
	if mark > 0 {
		b.Watermark = end.Add(-time.Duration(mark) * time.Second)
	}
	for name, d := range ago {
		b.Parts = append(b.Parts, PartTime{"kafka", name, end.Add(-d)})
	}
	return b
}

// A partition is late when its newest row is older than the watermark while rows of it
// come and a stateful query drops them: not one that is idle, nor one of a query that
// drops nothing.
func TestAPartitionBehindTheWatermark(t *testing.T) {
	zero, nan := time.Unix(1_700_000_000, 0), math.NaN()
	fresh, old := time.Duration(0), 2*time.Hour
	stopped := []Batch{partBatch(zero, 600, 1, map[string]time.Duration{"t-1": old})}
	for i := range 10 {
		at := zero.Add(time.Duration(i+1) * time.Minute)
		stopped = append(stopped, partBatch(at, 600, 1, map[string]time.Duration{"t-0": fresh}))
	}
	for _, c := range []struct {
		name    string
		batches []Batch
		after   time.Duration
		late    string
		seconds float64
	}{
		{"nothing is known", nil, 0, "", nan},
		{"before the first watermark", []Batch{partBatch(zero, 0, 1, map[string]time.Duration{"t-0": fresh,
			"t-1": old})},
			0, "", nan},
		{"one is two hours late", []Batch{
			partBatch(zero, 0, 1, map[string]time.Duration{"t-0": fresh, "t-1": old}),
			partBatch(zero.Add(time.Minute), 600, 1, map[string]time.Duration{"t-0": fresh, "t-1": old}),
		}, 0, "t-1", 7200 - 600},
		{"the worst of two", []Batch{partBatch(zero, 600, 1, map[string]time.Duration{"t-0": old,
			"t-1": 3 * old})}, 0, "t-1",
			6*3600 - 600},
		{"its rows stopped long ago", stopped, 0, "", nan},
		{"it came up again", []Batch{
			partBatch(zero, 600, 1, map[string]time.Duration{"t-1": old}),
			partBatch(zero.Add(time.Minute), 600, 1, map[string]time.Duration{"t-1": fresh}),
		}, 0, "", nan},
		{"nothing is dropped without state", []Batch{partBatch(zero, 600, nan,
			map[string]time.Duration{"t-1": old})},
			0, "", nan},
	} {
		w := New(Config{}, zero.Add(-time.Minute))
		now := zero
		for _, b := range c.batches {
			w.Begin(0, b.Start)
			w.Commit(b)
			now = b.End
		}
		s := w.Signals(now.Add(c.after))
		if s.LateName != c.late || s.LatePartition != c.seconds && (Known(c.seconds) || Known(s.LatePartition)) {
			t.Errorf("%s: got %q by %v s, want %q by %v", c.name, s.LateName, s.LatePartition, c.late, c.seconds)
		}
	}
}

func TestPartitionsThatAreRememberedAreBounded(t *testing.T) {
	w := New(Config{}, time.Unix(0, 0))
	b := Batch{End: time.Unix(1, 0), Rows: 1}
	for i := range 2 * mostParts {
		b.Parts = append(b.Parts, PartTime{"s", time.Duration(i).String(), time.Unix(1, 0)})
	}
	w.Commit(b)
	if len(w.parts) != mostParts {
		t.Errorf("%d partitions are remembered", len(w.parts))
	}
}
