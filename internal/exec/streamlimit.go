package exec

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// streamLimit lets so many rows of the whole stream through and counts them.
type streamLimit struct {
	in    operator
	id    int
	count int64
}

func (p *planner) buildStreamLimit(n *plan.Limit, want need) (input, error) {
	id, op := p.operator(n, "globalLimit")
	op.Single = true
	op.Tables = []state.Shape{{Name: "default", Value: []state.Column{{Name: "value", Type: plan.Long}}}}
	count, err := p.rowCount(n.Count, math.MaxInt64)
	if err != nil {
		return input{}, err
	}
	below := n.Input
	for { // limits of limits are one
		inner, ok := below.(*plan.Limit)
		if !ok {
			break
		}
		fewer, err := p.rowCount(inner.Count, math.MaxInt64)
		if err != nil {
			return input{}, err
		}
		count, below = min(count, fewer), inner.Input
	}
	in, err := p.build(below, want)
	return input{op: &streamLimit{in.op, id, count}, attrs: in.attrs}, err
}

// aggregatesStream reports an aggregation of a stream, which a complete output
// tells as a whole: a limit above it is one of each batch.
func aggregatesStream(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		a, ok := m.(*plan.Aggregate)
		return !ok || !plan.Streaming(a)
	})
}

func (o *streamLimit) parts(*running) int { return 1 }

func (o *streamLimit) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		w := r.working(o.id)
		if err := o.run(r, &w, yield); err != nil {
			yield(nil, err)
		}
	}
}

// run reads its input to the end, for operators below that keep state.
func (o *streamLimit) run(r *running, w *working, yield receiver) error {
	at := []int32{-1}
	w.table(0).Find(nil, at)
	before := int64(0)
	if at[0] >= 0 {
		before = chunk.Values[int64](w.table(0).Values(at)[0])[0]
	}
	passed, wanted := before, true
	for c, err := range o.in.rows(r) {
		if err != nil {
			return err
		}
		n := min(int64(c.Rows), o.count-passed)
		if n <= 0 {
			continue
		}
		out := *c.Slice(0, int(n))
		out.Part = 0
		passed += n
		wanted = wanted && yield(&out, nil)
	}
	if passed > before {
		w.work().Updated++
		if err := w.table(0).Put(nil, []*chunk.Vector{chunk.Of(plan.Long, []int64{passed})}, at); err != nil {
			return err
		}
	}
	w.updated()
	w.removed()
	return nil
}
