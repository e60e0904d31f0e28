package stream

import "github.com/weir-dev/weir/internal/exec"

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
func (w watermark) advance(seen []exec.EventTimes, delaysMs []int64) watermark {
	if len(w.nodes) == 0 {
		return w
	}
	next := watermark{newest: w.newest, ms: w.ms, nodes: make([]int64, len(w.nodes))}
	copy(next.nodes, w.nodes)
	for i, s := range seen {
		if s.Count > 0 {
			next.nodes[i] = max(next.nodes[i], s.Max-delaysMs[i])
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
