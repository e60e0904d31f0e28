package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// EventTimes is what passed a watermark, in milliseconds since 1970. A NULL
// counts as 0, as in Spark.
type EventTimes struct {
	Count    int64
	Min, Max int64
	// Mean is kept row by row, as Spark does: it rounds as Spark's, and that of equal
	// times is that time, however many there are.
	Mean float64
}

// Merge adds what passed elsewhere.
func (t EventTimes) Merge(o EventTimes) EventTimes {
	switch {
	case t.Count == 0:
		return o
	case o.Count == 0:
		return t
	}
	count := t.Count + o.Count
	mean := t.Mean + (o.Mean-t.Mean)*float64(o.Count)/float64(count)
	return EventTimes{count, min(t.Min, o.Min), max(t.Max, o.Max), mean}
}

// watermarkOp lets rows through and tells what event times they hold.
type watermarkOp struct {
	in   operator
	node *plan.Watermark
	at   int
	keep []int
}

func (p *planner) buildWatermark(n *plan.Watermark, want need) (input, error) {
	in, err := p.build(n.Input, want.with(n.Column))
	if err != nil {
		return input{}, err
	}
	attrs := want.only(in.attrs)
	at := position(in.attrs, n.Column.(*plan.Attribute).ID)
	return input{op: &watermarkOp{in.op, n, at, ordinalsOf(in.attrs, attrs)}, attrs: attrs}, nil
}

func (o *watermarkOp) parts(r *running) int { return o.in.parts(r) }

func (o *watermarkOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		var seen []EventTimes // of each partition
		if r.run.EventTimes != nil {
			defer func() {
				for part, of := range seen {
					r.run.EventTimes(o.node, part, of)
				}
			}()
		}
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			for len(seen) <= c.Part {
				seen = append(seen, EventTimes{})
			}
			seen[c.Part].add(c.Cols[o.at])
			if !yield(pick(c, o.keep), nil) {
				return
			}
		}
	}
}

// add takes in a column of timestamps, or the ends of a column of windows.
func (t *EventTimes) add(v *chunk.Vector) {
	if v.Type.Kind == plan.KindStruct {
		v = v.Field(len(v.Kids) - 1)
	}
	for i, us := range chunk.Values[int64](v) {
		ms := int64(0)
		if v.Valid.Get(i) {
			ms = us / 1000
			if us%1000 < 0 {
				ms--
			}
		}
		if t.Count == 0 {
			t.Min, t.Max = ms, ms
		}
		t.Count++
		t.Min, t.Max = min(t.Min, ms), max(t.Max, ms)
		t.Mean += (float64(ms) - t.Mean) / float64(t.Count)
	}
}
