package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// aggregateOp groups all rows and then yields one row for each group.
type aggregateOp struct {
	in  operator
	agg *grouping
}

func (p *planner) buildAggregate(n *plan.Aggregate) (input, error) {
	if calls := pythonCalls(n); len(calls) > 0 {
		return p.buildPythonAggregate(n, calls)
	}
	in, agg, err := p.buildGrouping(n)
	if err != nil {
		return input{}, err
	}
	if at := sessionKey(n.Group); at >= 0 {
		if len(agg.sets) > 0 || agg.distinct() {
			return input{}, plan.Unsupported("session windows with grouping sets or DISTINCT")
		}
		return input{op: &sessionOp{in.op, agg, at}, attrs: n.Output()}, nil
	}
	return input{op: &aggregateOp{in.op, agg}, attrs: n.Output()}, nil
}

// parts is one: what few groups are left fits one partition, which is what
// Spark makes of it.
func (o *aggregateOp) parts(*running) int { return 1 }

func (o *aggregateOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		g, err := o.agg.start(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer g.end()
		parts := g.global()
		for c, err := range o.in.rows(r) {
			if err == nil {
				parts.enter(c.Part)
				err = g.add(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		parts.end(o.in.parts(r))
		for c, err := range g.results(r) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// globalParts tells the calls of a global aggregation where a partition ends: as in
// Spark, what each comes to has to fit its type if there are several.
type globalParts struct {
	calls []function.WholeAccumulator
	part  int
	begun bool
}

// global prepares an aggregation without rows. Where there are groups no call is told,
// and where one is DISTINCT neither: Spark keeps such in rows, where values have to fit.
func (g *groups) global() *globalParts {
	p := &globalParts{}
	if g.index != nil || g.of.distinct() {
		return p
	}
	for _, acc := range g.accs {
		if whole, ok := acc.(function.WholeAccumulator); ok {
			whole.Whole()
			p.calls = append(p.calls, whole)
		}
	}
	return p
}

// enter comes before the rows of a chunk.
func (p *globalParts) enter(part int) {
	if p.begun && part != p.part {
		p.turn()
	}
	p.part, p.begun = part, true
}

func (p *globalParts) turn() {
	for _, call := range p.calls {
		call.EndPart()
	}
}

// end comes behind all rows, which were in so many partitions.
func (p *globalParts) end(parts int) {
	if parts > 1 {
		p.turn()
	}
}

// results yields the result columns of every group.
func (g *groups) results(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		all, err := g.finish()
		if err != nil {
			yield(nil, err)
			return
		}
		ev := g.of.results.Take(r.evaluation())
		defer ev.Release()
		for from := 0; from < all.Rows; from += chunk.MaxRows {
			c := all.Slice(from, min(from+chunk.MaxRows, all.Rows))
			if !present(r, ev, c, yield) {
				return
			}
		}
	}
}

// present yields the result columns of some groups; false ends it.
func present(r *running, ev *eval.Evaluator, groups *chunk.Chunk, yield receiver) bool {
	cols, err := ev.EvalAll(groups, nil)
	if err == nil {
		err = r.stopped()
	}
	return yield(&chunk.Chunk{Cols: cols, Rows: groups.Rows, Part: groups.Part}, err) && err == nil
}
