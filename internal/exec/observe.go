package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// observeOp lets rows through and computes metrics over them, which it reports
// when they have passed.
type observeOp struct {
	in     operator
	name   string
	agg    *grouping
	schema plan.Type
	keep   []int
}

func (p *planner) buildObserve(n *plan.Observe, want need) (input, error) {
	metrics := plan.NewAggregate(n.Input, nil, n.Metrics)
	b, results, err := collectGroups(metrics)
	if err != nil {
		return input{}, err
	}
	in, err := p.build(n.Input, want.with(b.exprs...))
	if err != nil {
		return input{}, err
	}
	if err := b.compile(p, in.attrs, results); err != nil {
		return input{}, err
	}
	attrs, columns := want.only(in.attrs), make([]*plan.Attribute, len(n.Metrics))
	for i, e := range n.Metrics {
		columns[i] = plan.ToAttribute(e)
	}
	o := &observeOp{in.op, n.Name, b.g, plan.SchemaOf(columns), ordinalsOf(in.attrs, attrs)}
	return input{op: o, attrs: attrs}, nil
}

func (o *observeOp) parts(r *running) int { return o.in.parts(r) }

func (o *observeOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		g, err := o.agg.start(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer g.end()
		wanted := true
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = g.add(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if wanted = yield(pick(c, o.keep), nil); !wanted {
				break
			}
		}
		if err := o.report(r, g); err != nil && wanted {
			yield(nil, err)
		}
	}
}

func (o *observeOp) report(r *running, g *groups) error {
	for c, err := range g.results(r) {
		if err != nil {
			return err
		}
		if r.run.Observe != nil {
			r.run.Observe(o.name, o.schema, c.Row(0))
		}
	}
	return nil
}
