package analyze

import "github.com/weir-dev/weir/internal/plan"

// normalAggregates gives every Aggregate one shape: it groups by columns, and
// its result is those columns and named aggregate calls. What is computed from
// them is computed by a projection above, what they are computed of by one
// below.
func normalAggregates(a *Analyzer, n plan.Node) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		// Those with grouping sets have been made in that shape.
		if agg, ok := m.(*plan.Aggregate); ok && agg.Kind == plan.GroupBy {
			return normalAggregate(a, agg), nil
		}
		return m, nil
	})
}

func normalAggregate(a *Analyzer, n *plan.Aggregate) plan.Node {
	in, groups := groupColumns(a, n)
	keys := make([]plan.Expr, 0, len(groups))
	for _, g := range groups {
		if indexOf(keys, g) < 0 {
			keys = append(keys, g)
		}
	}
	result := keys[:len(keys):len(keys)]
	var known sameSet // result behind the keys
	above := make([]plan.Expr, len(n.Exprs))
	for i, e := range n.Exprs {
		if alias, ok := e.(*plan.Alias); ok {
			if _, ok := alias.Child.(*plan.AggregateCall); ok {
				result = append(result, alias)
				known.add(alias)
				above[i] = plan.ToAttribute(alias)
				continue
			}
		}
		above[i] = overGroups(e, n.Group, func(p plan.Expr) plan.Expr {
			if g := indexOf(n.Group, p); g >= 0 {
				return groups[g]
			}
			if r := known.find(p); r != nil {
				return plan.ToAttribute(r)
			}
			alias := &plan.Alias{Child: p, Names: []string{plan.SQLText(p)}, ID: a.IDs.Next(), Generated: true}
			result = append(result, alias)
			known.add(alias)
			return plan.ToAttribute(alias)
		})
	}
	m := plan.NewAggregate(in, keys, result)
	m.FromSQL, m.Origin = true, n.Origin
	above = carryNames(n.Exprs, above)
	streaming := plan.Streaming(in)
	nullable := nullableOf(m.Output())
	for i, e := range above {
		above[i] = asYielded(e, nullable)
		if alias, ok := above[i].(*plan.Alias); ok && streaming {
			kept := *alias
			kept.Kept = true
			above[i] = &kept
		}
	}
	return plan.NewProject(m, above...)
}

// nullableOf is the columns that may be NULL.
func nullableOf(attrs []*plan.Attribute) map[plan.ExprID]bool {
	out := map[plan.ExprID]bool{}
	for _, a := range attrs {
		if a.Null {
			out[a.ID] = true
		}
	}
	return out
}

// asYielded is an expression whose columns may be NULL where a relation says so.
func asYielded(e plan.Expr, nullable map[plan.ExprID]bool) plan.Expr {
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		a, ok := p.(*plan.Attribute)
		if !ok || a.Null || !nullable[a.ID] {
			return p, nil
		}
		c := *a
		c.Null = true
		return &c, nil
	})
	if err != nil {
		panic(err) // the function above has none
	}
	return out
}

// carryNames keeps names that users see on columns computed elsewhere.
func carryNames(named, computed []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(computed))
	for i, e := range computed {
		out[i] = e
		if a, ok := e.(*plan.Attribute); ok {
			out[i] = renamed(a, plan.ToAttribute(named[i]).Name)
		}
	}
	return out
}

// groupColumns computes grouping expressions that are not columns below an
// Aggregate.
func groupColumns(a *Analyzer, n *plan.Aggregate) (plan.Node, []plan.Expr) {
	groups := make([]plan.Expr, len(n.Group))
	var computed []plan.Expr
	for i, g := range n.Group {
		if attr, ok := g.(*plan.Attribute); ok {
			groups[i] = attr
			continue
		}
		if k := indexOf(computed, g); k >= 0 {
			groups[i] = plan.ToAttribute(computed[k])
			continue
		}
		alias := &plan.Alias{Child: g, Names: []string{plan.SQLText(g)}, ID: a.IDs.Next(), Generated: true}
		computed = append(computed, alias)
		groups[i] = plan.ToAttribute(alias)
	}
	if len(computed) == 0 {
		return n.Input, groups
	}
	return plan.NewProject(n.Input, append(attributeExprs(n.Input.Output()), computed...)...), groups
}
