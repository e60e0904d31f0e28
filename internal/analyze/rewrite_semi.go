package analyze

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// sinkSemi moves a join that only asks whether a table has a match (semi, anti) below
// what it stands on, as Spark's optimizer does: groups that it would drop are not kept
// in the state. The join's own conditions on the stream have been moved already.
func (s *sinking) sinkSemi(j *plan.Join) plan.Node {
	if s.err != nil || !plan.Streaming(j.Left) || plan.Streaming(j.Right) || j.Cond != nil && !movable(j.Cond) {
		return j
	}
	switch left := j.Left.(type) {
	case *plan.Project:
		return s.semiBelowProject(j, left)
	case *plan.Aggregate:
		return s.semiBelowAggregate(j, left)
	case *plan.SetOp:
		return s.semiBelowUnion(j, left)
	case *plan.Join:
		return s.semiBelowJoin(j, left)
	}
	return j
}

// semiOver is the join over another relation, with another condition, as deep as it goes.
func (s *sinking) semiOver(j *plan.Join, left plan.Node, cond plan.Expr) plan.Node {
	m := *j
	m.Left, m.Cond = left, cond
	return s.sinkSemi(&m)
}

func (s *sinking) semiBelowProject(j *plan.Join, p *plan.Project) plan.Node {
	defs, ok := definitions(p.Exprs)
	if !ok || j.Cond == nil {
		return j
	}
	return p.WithChildren([]plan.Node{s.semiOver(j, p.Input, substituted(j.Cond, defs))})
}

// definitions are the named expressions of a list; ok says that all may move.
func definitions(list []plan.Expr) (defs map[plan.ExprID]plan.Expr, ok bool) {
	defs = map[plan.ExprID]plan.Expr{}
	for _, e := range list {
		if !movable(e) {
			return nil, false
		}
		if a, ok := e.(*plan.Alias); ok {
			defs[a.ID] = a
		}
	}
	return defs, true
}

// semiBelowAggregate moves a join that is about the grouping columns alone.
func (s *sinking) semiBelowAggregate(j *plan.Join, a *plan.Aggregate) plan.Node {
	defs, ok := definitions(a.Exprs)
	if !ok || j.Cond == nil || a.Kind != plan.GroupBy || len(a.Group) == 0 {
		return j
	}
	cond := substituted(j.Cond, defs)
	aggregated := plan.Contains(cond, func(p plan.Expr) bool { _, ok := p.(*plan.AggregateCall); return ok })
	if aggregated || !from(cond, slices.Concat(a.Input.Output(), j.Right.Output())) {
		return j
	}
	return a.WithChildren([]plan.Node{s.semiOver(j, a.Input, cond)})
}

func (s *sinking) semiBelowUnion(j *plan.Join, u *plan.SetOp) plan.Node {
	if u.Kind != plan.Union || !u.All || j.Cond == nil {
		return j
	}
	inputs := make([]plan.Node, len(u.Inputs))
	for i, in := range u.Inputs {
		inputs[i] = s.semiOver(j, in, readdressed([]plan.Expr{j.Cond}, u.Attrs, in.Output())[0])
	}
	return u.WithChildren(inputs)
}

// semiBelowJoin moves a join to the side of another one that its condition is about,
// unless that one makes up NULLs there.
func (s *sinking) semiBelowJoin(j *plan.Join, of *plan.Join) plan.Node {
	if j.Cond == nil {
		return j
	}
	inner := of.Kind == plan.InnerJoin || of.Kind == plan.CrossJoin
	about := func(side plan.Node) bool { return from(j.Cond, slices.Concat(side.Output(), j.Right.Output())) }
	switch {
	case (inner || of.Kind == plan.LeftJoin) && about(of.Left):
		return of.WithChildren([]plan.Node{s.semiOver(j, of.Left, j.Cond), of.Right})
	case (inner || of.Kind == plan.RightJoin) && about(of.Right):
		return of.WithChildren([]plan.Node{of.Left, s.semiOver(j, of.Right, j.Cond)})
	}
	return j
}
