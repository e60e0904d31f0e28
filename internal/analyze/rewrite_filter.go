package analyze

import "github.com/weir-dev/weir/internal/plan"

// pushFilters moves the parts of predicates above and of joins to the side
// whose rows they are about, and into the join those about both, so that
// FROM a, b WHERE a.x = b.x is a join by x. What may differ from call to call
// stays where it is.
func pushFilters(a *Analyzer, n plan.Node) (plan.Node, error) {
	r := &resolver{Analyzer: a}
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		switch m := m.(type) {
		case *plan.Filter:
			if j, ok := m.Input.(*plan.Join); ok {
				return r.pushIntoJoin(m, j)
			}
		case *plan.Join:
			return r.pushIntoSides(m)
		}
		return m, nil
	})
}

// sides says which parts of a predicate may be evaluated below a join, above it
// (where) or in its condition (on): not on a side whose rows the join keeps
// although nothing matches them, respectively makes NULL.
type sides struct{ left, right bool }

func whereSides(kind plan.JoinType) sides {
	switch kind {
	case plan.InnerJoin, plan.CrossJoin:
		return sides{true, true}
	case plan.LeftJoin, plan.SemiJoin, plan.AntiJoin:
		return sides{left: true}
	case plan.RightJoin:
		return sides{right: true}
	default:
		return sides{}
	}
}

func onSides(kind plan.JoinType) sides {
	switch kind {
	case plan.InnerJoin, plan.CrossJoin, plan.SemiJoin:
		return sides{true, true}
	case plan.LeftJoin, plan.AntiJoin:
		return sides{right: true}
	case plan.RightJoin:
		return sides{left: true}
	default:
		return sides{}
	}
}

// split sorts the parts of a predicate by where they may go.
func split(cond plan.Expr, j *plan.Join, to sides) (left, right, rest []plan.Expr) {
	for _, p := range conjuncts(cond) {
		switch {
		case !mergeable(p):
			rest = append(rest, p)
		case to.left && from(p, j.Left.Output()):
			left = append(left, p)
		case to.right && from(p, j.Right.Output()):
			right = append(right, p)
		default:
			rest = append(rest, p)
		}
	}
	return left, right, rest
}

func (r *resolver) pushIntoJoin(f *plan.Filter, j *plan.Join) (plan.Node, error) {
	left, right, rest := split(f.Cond, j, whereSides(j.Kind))
	inner := j.Kind == plan.InnerJoin || j.Kind == plan.CrossJoin
	var on, above []plan.Expr
	for _, p := range rest {
		if inner && mergeable(p) && len(plan.References(p)) > 0 {
			on = append(on, p)
		} else {
			above = append(above, p)
		}
	}
	if len(left)+len(right)+len(on) == 0 {
		return f, nil
	}
	m := *j
	var err error
	if m.Left, err = r.filteredBy(j.Left, left); err != nil {
		return nil, err
	}
	if m.Right, err = r.filteredBy(j.Right, right); err != nil {
		return nil, err
	}
	if len(on) > 0 {
		if j.Cond != nil {
			on = append([]plan.Expr{j.Cond}, on...)
		}
		m.Kind = plan.InnerJoin
		if m.Cond, err = r.conjunction(on); err != nil {
			return nil, err
		}
	}
	return r.filteredBy(&m, above)
}

func (r *resolver) pushIntoSides(j *plan.Join) (plan.Node, error) {
	if j.Cond == nil {
		return j, nil
	}
	left, right, rest := split(j.Cond, j, onSides(j.Kind))
	if len(left)+len(right) == 0 {
		return j, nil
	}
	m := *j
	var err error
	if m.Left, err = r.filteredBy(j.Left, left); err != nil {
		return nil, err
	}
	if m.Right, err = r.filteredBy(j.Right, right); err != nil {
		return nil, err
	}
	m.Cond = nil
	if len(rest) > 0 {
		m.Cond, err = r.conjunction(rest)
	}
	return &m, err
}

// filteredBy is a relation with the parts of a predicate over it, pushed on
// when it is a join itself.
func (r *resolver) filteredBy(n plan.Node, parts []plan.Expr) (plan.Node, error) {
	if len(parts) == 0 {
		return n, nil
	}
	cond, err := r.conjunction(parts)
	if err != nil {
		return nil, err
	}
	f := plan.NewFilter(n, cond)
	if j, ok := n.(*plan.Join); ok {
		return r.pushIntoJoin(f, j)
	}
	return f, nil
}
