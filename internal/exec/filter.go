package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// filterOp keeps the rows for which a condition is true, and of them the
// columns that are read above.
type filterOp struct {
	in   operator
	set  *eval.Set
	keep []int // ordinals of the columns to keep; nil for all
}

func (p *planner) buildFilter(n *plan.Filter, want need) (input, error) {
	if callsPython(n.Cond) {
		return p.buildPythonFilter(n, want)
	}
	in, err := p.chain(n.Input, want.with(n.Cond))
	if err != nil {
		return input{}, err
	}
	if notOptimized(n.Cond) {
		in = in.spread()
	}
	set, err := p.compileSet([]plan.Expr{n.Cond}, in.attrs)
	if err != nil {
		return input{}, err
	}
	o := &filterOp{in: in.op, set: set}
	attrs := want.only(in.attrs)
	if len(attrs) < len(in.attrs) {
		o.keep = ordinalsOf(in.attrs, attrs)
	}
	return input{op: o, attrs: attrs, local: in.local}, nil
}

// ordinalsOf is where some attributes stand among others.
func ordinalsOf(in, attrs []*plan.Attribute) []int {
	out := make([]int, len(attrs))
	for i, a := range attrs {
		out[i] = position(in, a.ID)
	}
	return out
}

func (o *filterOp) parts(r *running) int { return o.in.parts(r) }

func (o *filterOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.set.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			ev.Begin(c)
			sel, err := ev.Filter(0, nil)
			if err != nil {
				yield(nil, err)
				return
			}
			if sel != nil && len(sel) == 0 {
				continue
			}
			if o.keep != nil {
				c = pick(c, o.keep)
			}
			if !yield(c.Take(sel), nil) {
				return
			}
		}
	}
}
