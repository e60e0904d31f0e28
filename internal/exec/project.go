package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// projectOp computes columns.
type projectOp struct {
	in  operator
	set *eval.Set
}

func (p *planner) buildProject(n *plan.Project, want need) (input, error) {
	var exprs []plan.Expr
	var attrs []*plan.Attribute
	for _, e := range n.Exprs {
		if a := plan.ToAttribute(e); want.has(a) {
			exprs, attrs = append(exprs, e), append(attrs, a)
		}
	}
	below, exprs, err := p.liftPython(n.Input, exprs...)
	if err != nil {
		return input{}, err
	}
	in, err := p.chain(below, needs(exprs...))
	if err != nil {
		return input{}, err
	}
	if notOptimized(exprs...) {
		in = in.spread()
	}
	set, err := p.compileSet(exprs, in.attrs)
	if err != nil {
		return input{}, err
	}
	return input{op: &projectOp{in.op, set}, attrs: attrs, local: in.local}, nil
}

// notOptimized reports whether expressions hold what Spark does not evaluate while it
// optimizes: a subquery, or what a sample draws.
func notOptimized(exprs ...plan.Expr) bool {
	for _, e := range exprs {
		if plan.Contains(e, func(p plan.Expr) bool {
			_, sub := p.(*plan.Subquery)
			c, ok := p.(*plan.Call)
			return sub || ok && (c.Name == "draw" || c.Name == "draws")
		}) {
			return true
		}
	}
	return false
}

func (o *projectOp) parts(r *running) int { return o.in.parts(r) }

func (o *projectOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.set.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			cols, err := ev.EvalAll(c, nil)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&chunk.Chunk{Cols: cols, Rows: c.Rows, Part: c.Part}, nil) {
				return
			}
		}
	}
}
