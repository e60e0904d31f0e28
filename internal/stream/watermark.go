package stream

import "math"

// eventTimes sums up the event times that passed one watermark node in one
// batch, in Unix milliseconds. A NULL counts as 0, as in Spark.
type eventTimes struct {
	count    int64
	min, max int64
	mean     float64
}

// add folds n times whose mean is known. n is positive.
func (e *eventTimes) add(n, lo, hi int64, mean float64) {
	if e.count == 0 {
		e.min, e.max = math.MaxInt64, math.MinInt64
	}
	e.min, e.max = min(e.min, lo), max(e.max, hi)
	e.count += n
	e.mean += (mean - e.mean) * float64(n) / float64(e.count)
}

// watermark tracks how far event time has safely advanced.
//
//	W1  It never moves back, not even after a restart.
//	W2  It moves only between batches: all rows of a batch meet one value.
//
// A node that has seen nothing counts as 0, so with the policy min the
// watermark stands until every input has produced a row. What nodes saw is not
// kept over a restart; Spark's checkpoint has no place for it.
type watermark struct {
	newest bool    // policy max: the furthest node decides, not the last one
	nodes  []int64 // of each node: its newest event time less its delay
	ms     int64
}

// newWatermark starts at ms with n nodes that have seen nothing.
func newWatermark(policy string, n int, ms int64) watermark {
	return watermark{newest: policy == "max", nodes: make([]int64, n), ms: max(0, ms)}
}

// advance moves over a batch: what each node saw, and the nodes' delays.
func (w watermark) advance(seen []eventTimes, delaysMs []int64) watermark {
	if len(w.nodes) == 0 {
		return w
	}
	next := watermark{newest: w.newest, ms: w.ms, nodes: make([]int64, len(w.nodes))}
	copy(next.nodes, w.nodes)
	for i, s := range seen {
		if s.count > 0 {
			next.nodes[i] = max(next.nodes[i], s.max-delaysMs[i])
		}
	}
	chosen := next.nodes[0]
	for _, at := range next.nodes[1:] {
		if w.newest == (at > chosen) {
			chosen = at
		}
	}
	next.ms = max(next.ms, chosen)
	return next
}
