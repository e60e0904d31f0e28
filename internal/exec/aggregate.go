package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
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
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = g.add(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		for c, err := range g.results(r) {
			if !yield(c, err) || err != nil {
				return
			}
		}
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
