package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// correlatedExprs replaces the correlated subqueries of expressions over in by columns
// of joins with it: it is in with these columns, and the expressions over them.
func (r *resolver) correlatedExprs(in plan.Node, list []plan.Expr) (plan.Node, []plan.Expr, error) {
	outer, out := in, make([]plan.Expr, len(list))
	known := map[*plan.Subquery]plan.Expr{}
	for i, e := range list {
		var err error
		out[i], err = plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
			s, ok := p.(*plan.Subquery)
			if !ok || !correlatedNode(s.Plan) {
				return p, nil
			}
			if e := known[s]; e != nil {
				return e, nil
			}
			value, err := r.subqueryColumn(outer, &in, s)
			known[s] = value
			return value, err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return in, out, nil
}

func anyCorrelated(list ...plan.Expr) bool {
	for _, e := range list {
		if plan.Contains(e, func(p plan.Expr) bool {
			s, ok := p.(*plan.Subquery)
			return ok && correlatedNode(s.Plan)
		}) {
			return true
		}
	}
	return false
}

// subqueryColumn joins the answers of a subquery to a relation and is the expression
// that stands for it there.
func (r *resolver) subqueryColumn(outer plan.Node, in *plan.Node, s *plan.Subquery) (plan.Expr, error) {
	if s.Kind != plan.ScalarSubquery {
		return r.existence(outer, in, s)
	}
	c, err := r.correlating(outer, s.Plan)
	if err != nil {
		return nil, err
	}
	right, d, err := c.push(s.Plan)
	if err != nil {
		return nil, err
	}
	column := s.Plan.Output()[0]
	if atMostOne(s.Plan) {
		return nullable(column), c.attach(in, right, d)
	}
	one := plan.Lit(int64(1), plan.Int)
	rows := &plan.AggregateCall{Name: "count", Args: []plan.Expr{one}, Of: plan.Long}
	first := &plan.AggregateCall{Name: "first", Args: []plan.Expr{column}, Of: column.Of, Null: true}
	count := &plan.Alias{Child: rows, Names: []string{"rows"}, ID: r.IDs.Next()}
	value := &plan.Alias{Child: first, Names: []string{"value"}, ID: r.IDs.Next()}
	keys := attributeExprs(d)
	grouped := plan.NewAggregate(right, keys, append(keys[:len(keys):len(keys)], count, value))
	if err := c.attach(in, grouped, d); err != nil {
		return nil, err
	}
	return r.bind("only row", nullable(plan.ToAttribute(count)), nullable(plan.ToAttribute(value)))
}

// existence is an EXISTS, or an IN, which asks whether a row equals its values. One
// that a NULL leaves open holds under NOT and not without.
func (r *resolver) existence(outer plan.Node, in *plan.Node, s *plan.Subquery) (plan.Expr, error) {
	inner := s.Plan
	columns := inner.Output()
	for i, v := range s.Values {
		mine := r.asOuter(v)
		equal, err := r.bind("=", mine, columns[i])
		if err != nil {
			return nil, err
		}
		if s.Negated && equal.Nullable() {
			if equal, err = r.orUnknown(equal); err != nil {
				return nil, err
			}
		}
		inner = plan.NewFilter(inner, equal)
	}
	c, err := r.correlating(outer, inner)
	if err != nil {
		return nil, err
	}
	right, d, err := c.push(inner)
	if err != nil {
		return nil, err
	}
	there := &plan.Alias{Child: plan.Lit(true, plan.Boolean), Names: []string{"there"}, ID: r.IDs.Next()}
	keys := attributeExprs(d)
	right = plan.NewAggregate(right, keys, append(keys[:len(keys):len(keys)], there))
	if err := c.attach(in, right, d); err != nil {
		return nil, err
	}
	found, err := r.bind("isnotnull", nullable(plan.ToAttribute(there)))
	if call, ok := found.(*plan.Call); ok && s.Nullable() {
		call.Null = true // that it may be NULL is what Spark says of an IN, although it never is
	}
	return found, err
}

// asOuter marks the columns of an expression as those of the query around.
func (r *resolver) asOuter(e plan.Expr) plan.Expr {
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if !isColumn(p) {
			return p, nil
		}
		return r.outerOf(p), nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// attach joins the answers for the values of the domain to a relation that has them.
func (c *correlation) attach(in *plan.Node, right plan.Node, d []*plan.Attribute) error {
	parts, err := c.equal(c.outs, d)
	if err != nil {
		return err
	}
	j := &plan.Join{Left: *in, Right: right, Kind: plan.LeftJoin}
	j.Cond, err = c.conjunction(parts)
	*in = j
	return err
}

// atMostOne reports whether a query gives at most one row, whatever it reads.
func atMostOne(n plan.Node) bool {
	switch m := n.(type) {
	case *plan.OneRow:
		return true
	case *plan.Aggregate:
		return m.Kind == plan.GroupBy && len(m.Group) == 0 && len(m.Sets) == 0
	case *plan.Limit:
		l, ok := m.Count.(*plan.Literal)
		return ok && l.Value == int64(1) || atMostOne(m.Input)
	case *plan.Project, *plan.Filter, *aliased, *tagged, *plan.Sort:
		return atMostOne(n.Children()[0])
	default:
		return false
	}
}

// nullable is a column behind an outer join.
func nullable(a *plan.Attribute) *plan.Attribute {
	b := *a
	b.Null = true
	return &b
}

// correlatedAggregate replaces the correlated subqueries of an aggregation's list. What
// EXISTS and IN answer outside of aggregate functions is the same for all rows of a
// group, and a key; values are refused there, as in Spark.
func (r *resolver) correlatedAggregate(g *grouping, groups []plan.Expr) ([]plan.Expr, error) {
	outside := false
	for _, e := range g.list {
		if s := scalarOutside(e); s != nil {
			return nil, plan.AnalysisError("SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
				"a correlated subquery beside aggregates has to be a key of GROUP BY, or stand in an aggregate function.",
				"sqlExpr", r.sqlExpr(s)).At(s.Origin)
		}
		outside = outside || !hasAggregate(e) && anyCorrelated(e)
	}
	before := len(g.in.Output())
	var err error
	if g.in, g.list, err = r.correlatedExprs(g.in, g.list); err != nil {
		return nil, err
	}
	if !outside {
		return groups, nil
	}
	if len(groups) == 0 || g.kind != plan.GroupBy {
		return nil, errCorrelated()
	}
	return append(groups, attributeExprs(g.in.Output()[before:])...), nil
}

// scalarOutside is a correlated subquery that stands for a value outside of aggregate
// functions.
func scalarOutside(e plan.Expr) *plan.Subquery {
	switch n := e.(type) {
	case *plan.AggregateCall:
		return nil
	case *plan.Subquery:
		if n.Kind == plan.ScalarSubquery && correlatedNode(n.Plan) {
			return n
		}
	}
	for _, c := range e.Children() {
		if s := scalarOutside(c); s != nil {
			return s
		}
	}
	return nil
}
