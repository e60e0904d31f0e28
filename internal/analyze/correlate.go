package analyze

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// correlation makes a join of a relation that uses columns of another, by Neumann's
// way: the values of these columns, each once, go down to where they are used and
// come up beside the rows that were computed from them. So the inner relation is
// computed once, and not for every row of the outer one.
type correlation struct {
	*resolver
	left plan.Node         // the outer relation
	outs []*plan.Attribute // its columns that are used
}

// correlating is the correlation of a relation with the one around it.
func (r *resolver) correlating(left, inner plan.Node, values ...plan.Expr) (*correlation, error) {
	if plan.Streaming(left) {
		return nil, plan.Unsupported("a correlated subquery of this shape over a stream")
	}
	c := &correlation{resolver: r, left: left}
	used := map[plan.ExprID]bool{}
	note := func(e plan.Expr) bool {
		if isOuterRef(e) {
			for id := range plan.References(e.Children()...) {
				used[id] = true
			}
		}
		return true
	}
	plan.WalkNodes(inner, func(n plan.Node) bool {
		for _, e := range nodeExprs(n) {
			plan.Walk(e, note)
		}
		return true
	})
	for _, v := range values {
		plan.Walk(v, note)
	}
	for _, a := range left.Output() {
		if used[a.ID] {
			c.outs = append(c.outs, a)
		}
	}
	if len(c.outs) != len(used) {
		return nil, errCorrelated() // columns that the outer relation hides
	}
	return c, nil
}

// domain are the values of the outer columns, each once, under new ids.
func (c *correlation) domain() (plan.Node, []*plan.Attribute) {
	named, out := make([]plan.Expr, len(c.outs)), make([]*plan.Attribute, len(c.outs))
	for i, a := range c.outs {
		alias := &plan.Alias{Child: a, Names: []string{a.Name}, ID: c.IDs.Next()}
		named[i], out[i] = alias, plan.ToAttribute(alias)
	}
	return plan.NewAggregate(c.left, attributeExprs(c.outs), named), out
}

// bound is an expression in which outer columns are those of a domain.
func (c *correlation) bound(e plan.Expr, d []*plan.Attribute) plan.Expr {
	at := map[plan.ExprID]*plan.Attribute{}
	for i, a := range c.outs {
		at[a.ID] = d[i]
	}
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if !isOuterRef(p) {
			return p, nil
		}
		return plan.Transform(p.Children()[0], func(p plan.Expr) (plan.Expr, error) {
			if a, ok := p.(*plan.Attribute); ok && at[a.ID] != nil {
				return at[a.ID], nil
			}
			return p, nil
		})
	})
	if err != nil {
		panic(err)
	}
	return out
}

func (c *correlation) boundAll(list []plan.Expr, d []*plan.Attribute) []plan.Expr {
	out := make([]plan.Expr, len(list), len(list)+len(d))
	for i, e := range list {
		out[i] = c.bound(e, d)
	}
	return out
}

// equal compares columns of two relations, NULL being equal to NULL.
func (c *correlation) equal(a, b []*plan.Attribute) ([]plan.Expr, error) {
	var parts []plan.Expr
	for i := range a {
		e, err := c.bind("<=>", a[i], b[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return parts, nil
}

// push is a relation that is computed for every value of the domain, which its
// output has beside the columns of n.
func (c *correlation) push(n plan.Node) (plan.Node, []*plan.Attribute, error) {
	if _, ok := n.(*plan.OneRow); ok {
		in, d := c.domain()
		return in, d, nil
	}
	if !correlatedNode(n) {
		in, d := c.domain()
		return &plan.Join{Left: n, Right: in, Kind: plan.CrossJoin}, d, nil
	}
	switch m := n.(type) {
	case *plan.Join:
		return c.join(m)
	case *plan.SetOp:
		return c.setOp(m)
	case *shadow:
		return c.push(m.Project)
	case *plan.Limit:
		return c.limit(m)
	}
	if len(n.Children()) != 1 {
		return nil, nil, errCorrelated()
	}
	in, d, err := c.push(n.Children()[0])
	if err != nil {
		return nil, nil, err
	}
	switch m := n.(type) {
	case *aliased, *tagged, *plan.Repartition:
		return in, d, nil
	case *plan.Project:
		return plan.NewProject(in, append(apart(c.boundAll(m.Exprs, d), d), attributeExprs(d)...)...), d, nil
	case *plan.Filter:
		return plan.NewFilter(in, c.bound(m.Cond, d)), d, nil
	case *plan.Sort:
		return withExprs(m.WithChildren([]plan.Node{in}), c.boundAll(nodeExprs(m), d)), d, nil
	case *plan.Generate, *plan.TablePython:
		return c.generated(n, in, d)
	case *plan.Aggregate:
		return c.aggregate(m, in, d)
	default:
		return nil, nil, errCorrelated()
	}
}

// apart are expressions whose window functions see the rows of one value of the domain.
func apart(list []plan.Expr, d []*plan.Attribute) []plan.Expr {
	for i, e := range list {
		var err error
		list[i], err = plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
			w, ok := p.(*plan.Windowed)
			if !ok {
				return p, nil
			}
			own := *w
			own.Partition = append(slices.Clone(w.Partition), attributeExprs(d)...)
			return &own, nil
		})
		if err != nil {
			panic(err) // the function above has none
		}
	}
	return list
}

func (c *correlation) generated(n, in plan.Node, d []*plan.Attribute) (plan.Node, []*plan.Attribute, error) {
	out := withExprs(n.WithChildren([]plan.Node{in}), c.boundAll(nodeExprs(n), d))
	if t, ok := out.(*plan.TablePython); ok {
		if t.Table >= 0 {
			return nil, nil, errCorrelated()
		}
		t.Beside = true
	}
	return out, d, nil
}

// aggregate groups by the domain too. Without groups of its own there is a row for
// every value of the domain, even where nothing is aggregated.
func (c *correlation) aggregate(m *plan.Aggregate, in plan.Node, d []*plan.Attribute,
) (plan.Node, []*plan.Attribute, error) {
	if m.Kind != plan.GroupBy || len(m.Sets) > 0 {
		return nil, nil, errCorrelated()
	}
	if err := c.unmixed(m.Exprs); err != nil {
		return nil, nil, err
	}
	out := *m
	out = *out.WithChildren([]plan.Node{in}).(*plan.Aggregate)
	out.Group = append(c.boundAll(m.Group, d), attributeExprs(d)...)
	out.Exprs = append(c.boundAll(m.Exprs, d), attributeExprs(d)...)
	if len(m.Group) > 0 {
		return &out, d, nil
	}
	all, each := c.domain()
	cond, err := c.equal(each, d)
	if err != nil {
		return nil, nil, err
	}
	there := &plan.Alias{Child: plan.Lit(true, plan.Boolean), Names: []string{"there"}, ID: c.IDs.Next()}
	values := make([]plan.Expr, len(m.Exprs))
	for i, e := range m.Exprs {
		a, ok := e.(*plan.Alias)
		if !ok {
			return nil, nil, errCorrelated()
		}
		inner := &plan.Alias{Child: out.Exprs[i].(*plan.Alias).Child, Names: a.Names, ID: c.IDs.Next()}
		out.Exprs[i] = inner
		value, err := c.orEmpty(plan.ToAttribute(inner), plan.ToAttribute(there), c.bound(a.Child, each))
		if err != nil {
			return nil, nil, err
		}
		named := *a
		named.Child, values[i] = value, &named
	}
	out.Exprs = append(out.Exprs, there)
	j := &plan.Join{Left: all, Right: &out, Kind: plan.LeftJoin}
	if j.Cond, err = c.conjunction(cond); err != nil {
		return nil, nil, err
	}
	return plan.NewProject(j, append(values, attributeExprs(each)...)...), each, nil
}

// unmixed refuses aggregate functions over columns of both queries, as Spark does.
func (c *correlation) unmixed(list []plan.Expr) error {
	for _, e := range list {
		var mixed *plan.AggregateCall
		plan.Walk(e, func(p plan.Expr) bool {
			a, ok := p.(*plan.AggregateCall)
			if ok && anyOuter(a.Children()) && hasLocal(a) {
				mixed = a
			}
			return mixed == nil
		})
		if mixed != nil {
			return plan.AnalysisError(
				"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES",
				"an aggregate function has columns of its own query and of the one around.",
				"function", plan.QualifiedText(mixed, c.Eval.Zone))
		}
	}
	return nil
}

// hasLocal reports whether an expression uses columns of its own query.
func hasLocal(e plan.Expr) bool {
	if isOuterRef(e) {
		return false
	}
	return isColumn(e) || slices.ContainsFunc(e.Children(), hasLocal)
}

// orEmpty is an aggregate's column, or what it is over no rows where there were none.
func (c *correlation) orEmpty(column, there *plan.Attribute, of plan.Expr) (plan.Expr, error) {
	empty, err := plan.Transform(of, func(p plan.Expr) (plan.Expr, error) {
		a, ok := p.(*plan.AggregateCall)
		if !ok {
			return p, nil
		}
		switch {
		case a.Nullable():
			return plan.Lit(nil, a.Type()), nil
		case a.Type().Kind == plan.KindArray:
			none, err := c.bind("array")
			if err != nil {
				return nil, err
			}
			return c.implicitly(none, a.Type()), nil
		default:
			return c.implicitly(plan.Lit(int64(0), plan.Int), a.Type()), nil
		}
	})
	if err != nil {
		return nil, err
	}
	if l, ok := empty.(*plan.Literal); ok && l.Value == nil {
		return nullable(column), nil
	}
	missing, err := c.bind("isnull", nullable(there))
	if err != nil {
		return nil, err
	}
	return c.bind("if", missing, empty, nullable(column))
}

// join computes both sides for every value of the domain.
func (c *correlation) join(m *plan.Join) (plan.Node, []*plan.Attribute, error) {
	if m.Kind == plan.RightJoin || m.Kind == plan.FullJoin {
		return nil, nil, errCorrelated()
	}
	left, d, err := c.push(m.Left)
	if err != nil {
		return nil, nil, err
	}
	right, e, err := c.push(m.Right)
	if err != nil {
		return nil, nil, err
	}
	parts, err := c.equal(d, e)
	if err != nil {
		return nil, nil, err
	}
	if m.Cond != nil {
		parts = append(parts, c.bound(m.Cond, d))
	}
	out := &plan.Join{Left: left, Right: right, Kind: m.Kind, Origin: m.Origin}
	if out.Kind == plan.CrossJoin {
		out.Kind = plan.InnerJoin
	}
	out.Cond, err = c.conjunction(parts)
	return out, d, err
}

func (c *correlation) setOp(m *plan.SetOp) (plan.Node, []*plan.Attribute, error) {
	out := *m
	out.Inputs = make([]plan.Node, len(m.Inputs))
	for i, n := range m.Inputs {
		in, d, err := c.push(n)
		if err != nil {
			return nil, nil, err
		}
		out.Inputs[i] = plan.NewProject(in, append(attributeExprs(n.Output()), attributeExprs(d)...)...)
	}
	var d []*plan.Attribute
	for _, a := range c.outs {
		d = append(d, c.attribute(a.Name, a.Of, a.Null))
	}
	out.Attrs = append(slices.Clone(m.Attrs), d...)
	return &out, d, nil
}

// limit keeps the first rows for every value of the domain.
func (c *correlation) limit(m *plan.Limit) (plan.Node, []*plan.Attribute, error) {
	if m.Tail {
		return nil, nil, errCorrelated()
	}
	below := m.Input
	switch in := below.(type) {
	case *aliased, *tagged:
		return c.limit(plan.NewLimit(in.Children()[0], m.Count, m.Skip))
	case *plan.Project: // which gives a row for a row
		inner := plan.NewLimit(in.Input, m.Count, m.Skip)
		return c.push(in.WithChildren([]plan.Node{inner}))
	}
	in, d, err := c.push(below)
	if err != nil {
		return nil, nil, err
	}
	var orders []*plan.SortOrder
	if s, ok := below.(*plan.Sort); ok {
		orders = each[*plan.SortOrder](c.boundAll(nodeExprs(s), d))
	}
	return c.first(m, in, d, orders)
}

// first numbers the rows of each value of the domain and keeps those that a LIMIT
// and an OFFSET leave.
func (c *correlation) first(m *plan.Limit, in plan.Node, d []*plan.Attribute, orders []*plan.SortOrder,
) (plan.Node, []*plan.Attribute, error) {
	if len(orders) == 0 {
		orders = []*plan.SortOrder{{Child: d[0], NullsFirst: true}}
	}
	number, err := c.bind("row_number")
	if err != nil {
		return nil, nil, err
	}
	f := lookup("row_number").Window(number.(*plan.Call))
	w := &plan.Windowed{Function: number, Partition: attributeExprs(d), Order: orders, Frame: *f}
	alias := &plan.Alias{Child: w, Names: []string{"row"}, ID: c.IDs.Next()}
	row := plan.ToAttribute(alias)
	var parts []plan.Expr
	from := plan.Expr(plan.Lit(int64(0), plan.Int))
	if m.Skip != nil {
		from = m.Skip
		late, err := c.bind(">", row, from)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, late)
	}
	if m.Count != nil {
		to, err := c.bind("+", m.Count, from)
		if err != nil {
			return nil, nil, err
		}
		early, err := c.bind("<=", row, to)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, early)
	}
	cond, err := c.conjunction(parts)
	return plan.NewFilter(plan.NewWindow(in, alias), cond), d, err
}
