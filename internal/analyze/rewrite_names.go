package analyze

import "github.com/weir-dev/weir/internal/plan"

// cleanNames removes what only names needed: tags, qualifiers, hidden columns,
// and names inside of expressions. Subqueries in expressions are rewritten as a
// whole, since nothing outside of them changes them any more.
func cleanNames(a *Analyzer, n plan.Node) (plan.Node, error) {
	n, err := plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		switch m := m.(type) {
		case *tagged:
			return m.input, nil
		case *fileScan:
			return m.scan, nil
		case *aliased:
			return m.input, nil
		case *shadow:
			return plan.NewProject(m.Input, m.Exprs...), nil
		default:
			return m, nil
		}
	})
	if err != nil {
		return nil, err
	}
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		list := nodeExprs(m)
		var changed []plan.Expr
		for i, e := range list {
			f, err := cleanExpr(a, e)
			if err != nil {
				return nil, err
			}
			if f != e && changed == nil {
				changed = append([]plan.Expr(nil), list...)
			}
			if changed != nil {
				changed[i] = f
			}
		}
		if changed == nil {
			return m, nil
		}
		return withExprs(m, changed), nil
	})
}

// cleanExpr takes names off the parts of an expression; the outermost stays.
func cleanExpr(a *Analyzer, e plan.Expr) (plan.Expr, error) {
	top, _ := e.(*plan.Alias)
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		switch p := p.(type) {
		case *plan.Alias:
			return p.Child, nil
		case *plan.Subquery:
			sub, err := rewrite(a, p.Plan)
			if err != nil {
				return nil, err
			}
			q := *p
			q.Plan = sub
			return &q, nil
		default:
			return p, nil
		}
	})
	if err != nil || top == nil {
		return out, err
	}
	if out == top.Child {
		return e, nil
	}
	named := *top
	named.Child = out
	return &named, nil
}

// checkCorrelation refuses what is left of correlated subqueries.
func checkCorrelation(_ *Analyzer, n plan.Node) (plan.Node, error) {
	if correlatedNode(n) {
		return nil, errCorrelated()
	}
	return n, nil
}
