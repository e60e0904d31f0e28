package analyze

import "github.com/weir-dev/weir/internal/plan"

// mergeProjections computes a projection of a projection at once, when that
// does not compute anything twice.
func mergeProjections(_ *Analyzer, n plan.Node) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		top, ok := m.(*plan.Project)
		if !ok {
			return m, nil
		}
		below, ok := top.Input.(*plan.Project)
		if !ok || !cheap(top.Exprs, below.Exprs) {
			return m, nil
		}
		return merged(top, below), nil
	})
}

// cheap reports whether each computed column below is used once at most.
func cheap(top, below []plan.Expr) bool {
	computed := map[plan.ExprID]plan.Expr{}
	for _, e := range below {
		if a, ok := e.(*plan.Alias); ok {
			computed[a.ID] = a.Child
		}
	}
	if len(computed) == 0 {
		return true
	}
	uses := map[plan.ExprID]int{}
	ok := true
	for _, e := range top {
		plan.Walk(e, func(p plan.Expr) bool {
			a, isAttr := p.(*plan.Attribute)
			if !isAttr {
				return true
			}
			child := computed[a.ID]
			if child == nil || free(child) {
				return true
			}
			uses[a.ID]++
			ok = ok && uses[a.ID] == 1
			return ok
		})
	}
	for id, e := range computed {
		// A column that may fail, or that differs from row to row, stays where
		// it is; so does what Python computes.
		ok = ok && (uses[id] == 0 || mergeable(e))
	}
	return ok
}

// free expressions cost nothing to compute again.
func free(e plan.Expr) bool {
	switch n := e.(type) {
	case *plan.Attribute, *plan.Literal:
		return true
	case *plan.GetField:
		return free(n.Child)
	default:
		return false
	}
}

func mergeable(e plan.Expr) bool {
	return plan.Walk(e, func(p plan.Expr) bool {
		switch n := p.(type) {
		case *plan.PythonUDF, *plan.Subquery:
			return false
		case *plan.Call:
			return !volatile(n)
		default:
			return true
		}
	})
}

func merged(top, below *plan.Project) plan.Node {
	defs := map[plan.ExprID]plan.Expr{}
	for _, e := range below.Exprs {
		if a, ok := e.(*plan.Alias); ok {
			defs[a.ID] = a
		}
	}
	out := make([]plan.Expr, len(top.Exprs))
	for i, e := range top.Exprs {
		out[i] = substituted(e, defs)
	}
	m := *below
	m.Exprs = out
	return &m
}

// substituted puts the definitions of columns into an expression. A column that
// is passed on keeps its identity and the name it has on top.
func substituted(e plan.Expr, defs map[plan.ExprID]plan.Expr) plan.Expr {
	if a, ok := e.(*plan.Attribute); ok {
		def, ok := defs[a.ID].(*plan.Alias)
		if !ok {
			return a
		}
		named := *def
		named.Names = []string{a.Name}
		named.Metadata = a.Metadata
		named.EventTime = a.EventTime
		return &named
	}
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if a, ok := p.(*plan.Attribute); ok {
			if def, ok := defs[a.ID].(*plan.Alias); ok {
				return def.Child, nil
			}
		}
		return p, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}
