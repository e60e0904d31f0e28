package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// subquery resolves a query inside an expression.
func (x *exprs) subquery(n *plan.Subquery) (plan.Expr, error) {
	if n.Plan == nil {
		return nil, plan.Unsupported("a DataFrame subquery sent without its plan").At(n.Origin)
	}
	if x.lambda != nil {
		return nil, plan.AnalysisError("UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION",
			"a subquery stands in a lambda.")
	}
	if n.Kind == plan.TableSubquery {
		return nil, plan.Unsupported("A table as an argument of a function that is not Python's").At(n.Origin)
	}
	values, err := x.all(n.Values)
	if err != nil {
		return nil, err
	}
	x.resolver.outer = append(x.resolver.outer, x)
	sub, err := x.node(n.Plan)
	x.resolver.outer = x.resolver.outer[:len(x.resolver.outer)-1]
	if err != nil {
		return nil, err
	}
	m := &plan.Subquery{Kind: n.Kind, Plan: sub, Values: values, Outer: outerColumns(sub), Origin: n.Origin}
	switch columns := len(sub.Output()); n.Kind {
	case plan.ScalarSubquery:
		if columns != 1 {
			return nil, plan.AnalysisError(
				"INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
				fmt.Sprintf("a subquery used as a value must have one column, not %d.", columns),
				"number", fmt.Sprint(columns)).At(n.Origin)
		}
	case plan.InSubquery:
		if err := x.agree(m); err != nil {
			return nil, err
		}
		return x.nullIn(m)
	}
	return m, nil
}

// nullIn is NULL for NULL IN (…) where ANSI is off, even of no rows.
func (x *exprs) nullIn(m *plan.Subquery) (plan.Expr, error) {
	if x.Eval.ANSI || len(m.Values) != 1 || !isNull(m.Values[0]) {
		return m, nil
	}
	e, err := x.bind("if", plan.Lit(true, plan.Boolean), plan.Lit(nil, plan.Boolean), m)
	if call, ok := e.(*plan.Call); ok {
		call.Text = strings.ReplaceAll(x.sqlText(m), "$", "$$")
	}
	return e, err
}

// isNull reports whether an expression is the constant NULL, whatever its type.
func isNull(e plan.Expr) bool {
	if c, ok := e.(*plan.Cast); ok {
		return isNull(c.Child)
	}
	l, ok := e.(*plan.Literal)
	return ok && l.Value == nil
}

// agree casts both sides of an IN to common types.
func (x *exprs) agree(m *plan.Subquery) error {
	attrs := m.Plan.Output()
	values := make([]string, len(m.Values))
	for i, v := range m.Values {
		values[i] = x.sqlText(v)
	}
	if len(attrs) != len(m.Values) {
		return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH",
			fmt.Sprintf("IN compares %d values with %d columns.", len(m.Values), len(attrs)),
			"leftLength", fmt.Sprint(len(m.Values)), "rightLength", fmt.Sprint(len(attrs)),
			"leftColumns", quotedList(values), "rightColumns", quotedList(attributeNames(attrs)),
			"sqlExpr", x.sqlExpr(m)).At(m.Origin)
	}
	types := make([]plan.Type, len(attrs))
	for i, a := range attrs {
		t, ok := function.CommonType(m.Values[i].Type(), a.Of, x.Eval)
		if !ok {
			return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH",
				fmt.Sprintf("IN compares %s with %s.", m.Values[i].Type().SQL(), a.Of.SQL()),
				"mismatchedColumns", "("+plan.QualifiedText(m.Values[i], x.Eval.Zone)+":"+m.Values[i].Type().Simple()+
					", "+plan.QualifiedText(a, x.Eval.Zone)+":"+a.Of.Simple()+")",
				"leftType", quoted(m.Values[i].Type().SQL()), "rightType", quoted(a.Of.SQL()),
				"sqlExpr", x.sqlExpr(m)).At(m.Origin)
		}
		types[i] = t
	}
	for i, v := range m.Values {
		m.Values[i] = x.implicitly(v, types[i])
	}
	m.Plan = x.castColumns(m.Plan, types)
	return nil
}

func quotedList(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

// subqueryFilter is a filter in which IN and EXISTS have become joins.
func (r *resolver) subqueryFilter(in plan.Node, cond plan.Expr) (plan.Node, error) {
	if !holdsSubquery(cond) {
		return plan.NewFilter(in, cond), nil
	}
	var rest []plan.Expr
	for _, part := range conjuncts(cond) {
		sub, negated := asPredicate(part)
		if sub == nil {
			rest = append(rest, part)
			continue
		}
		out, err := r.semiJoin(in, sub, negated)
		if errors.Is(err, errShape) {
			rest = append(rest, part)
			continue
		}
		if err != nil {
			return nil, err
		}
		in = out
	}
	if len(rest) == 0 {
		return in, nil
	}
	in, rest, err := r.correlatedExprs(in, rest)
	if err != nil {
		return nil, err
	}
	all, err := r.conjunction(rest)
	if err != nil {
		return nil, err
	}
	return plan.NewFilter(in, all), nil
}

func holdsSubquery(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		_, ok := p.(*plan.Subquery)
		return ok
	})
}

// conjuncts are the parts of a predicate that AND joins.
func conjuncts(e plan.Expr) []plan.Expr {
	if c, ok := e.(*plan.Call); ok && c.Name == "and" {
		return append(conjuncts(c.Args[0]), conjuncts(c.Args[1])...)
	}
	return []plan.Expr{e}
}

func (r *resolver) conjunction(parts []plan.Expr) (plan.Expr, error) {
	all := parts[0]
	for _, p := range parts[1:] {
		var err error
		if all, err = r.bind("and", all, p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// asPredicate is the IN or EXISTS that a predicate is, perhaps under NOT.
func asPredicate(e plan.Expr) (sub *plan.Subquery, negated bool) {
	if c, ok := e.(*plan.Call); ok && c.Name == "not" {
		sub, negated = asPredicate(c.Args[0])
		return sub, !negated
	}
	if s, ok := e.(*plan.Subquery); ok && s.Kind != plan.ScalarSubquery {
		return s, false
	}
	return nil, false
}

// semiJoin keeps the rows of in for which IN or EXISTS holds, or does not.
func (r *resolver) semiJoin(in plan.Node, sub *plan.Subquery, negated bool) (plan.Node, error) {
	columns := sub.Plan.Output()
	right, parts, err := r.decorrelate(sub.Plan)
	if err != nil {
		return nil, err
	}
	for i, v := range sub.Values {
		if holdsSubquery(v) {
			return nil, plan.Unsupported("a subquery inside the left side of IN").At(sub.Origin)
		}
		equal, err := r.bind("=", v, columns[i])
		if err != nil {
			return nil, err
		}
		if negated && equal.Nullable() {
			// NOT IN holds only when the comparison with every row is false.
			if equal, err = r.orUnknown(equal); err != nil {
				return nil, err
			}
		}
		parts = append(parts, equal)
	}
	m := &plan.Join{Left: in, Right: right, Kind: plan.SemiJoin}
	if negated {
		m.Kind = plan.AntiJoin
	}
	if len(parts) > 0 {
		if m.Cond, err = r.conjunction(parts); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (r *resolver) orUnknown(equal plan.Expr) (plan.Expr, error) {
	unknown, err := r.bind("isnull", equal)
	if err != nil {
		return nil, err
	}
	return r.bind("or", equal, unknown)
}

func isOuterRef(e plan.Expr) bool {
	c, ok := e.(*plan.Call)
	return ok && c.Name == outerRef
}

// decorrelate takes the predicates about the query around it out of a
// subquery's filters, and makes it output the columns that they need.
func (r *resolver) decorrelate(n plan.Node) (plan.Node, []plan.Expr, error) {
	if !correlatedNode(n) {
		return n, nil, nil
	}
	switch m := n.(type) {
	case *plan.Filter:
		return r.decorrelateFilter(m)
	case *plan.Project:
		// A window function sees the rows that the predicates leave.
		if anyOuter(m.Exprs) || slices.ContainsFunc(m.Exprs, hasWindow) {
			break
		}
		in, parts, err := r.decorrelate(m.Input)
		if err != nil {
			return nil, nil, err
		}
		out, ok := expose(plan.NewProject(in, m.Exprs...), needed(parts, in.Output()))
		if !ok {
			break
		}
		return out, parts, nil
	case *aliased, *tagged, *plan.Sort:
		in, parts, err := r.decorrelate(n.Children()[0])
		if err != nil {
			return nil, nil, err
		}
		return n.WithChildren([]plan.Node{in}), parts, nil
	}
	return nil, nil, errCorrelated()
}

// errShape is about a subquery whose use of outer columns cannot be turned into a join.
var errShape = errors.New("no join stands for it")

func errCorrelated() error {
	e := plan.Unsupported("a correlated subquery of this shape")
	e.Cause = errShape
	return e
}

func (r *resolver) decorrelateFilter(m *plan.Filter) (plan.Node, []plan.Expr, error) {
	in, parts, err := r.decorrelate(m.Input)
	if err != nil {
		return nil, nil, err
	}
	var rest []plan.Expr
	for _, p := range conjuncts(m.Cond) {
		if anyOuter([]plan.Expr{p}) {
			parts = append(parts, withoutOuter(p))
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return in, parts, nil
	}
	cond, err := r.conjunction(rest)
	return plan.NewFilter(in, cond), parts, err
}

// needed are the columns among have that expressions read.
func needed(list []plan.Expr, have []*plan.Attribute) []*plan.Attribute {
	ids := plan.References(list...)
	var out []*plan.Attribute
	for _, a := range have {
		if ids[a.ID] {
			out = append(out, a)
		}
	}
	return out
}

func anyOuter(list []plan.Expr) bool {
	for _, e := range list {
		if plan.Contains(e, isOuterRef) {
			return true
		}
	}
	return false
}

func withoutOuter(e plan.Expr) plan.Expr {
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if isOuterRef(p) {
			return p.Children()[0], nil
		}
		return p, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// correlatedNode reports whether a relation uses columns of the query around it.
func correlatedNode(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool { return !anyOuter(nodeExprs(m)) })
}

// outerColumns are the columns of the query around that a relation uses, each once, as
// the names of expressions show them.
func outerColumns(n plan.Node) []plan.Expr {
	var out []plan.Expr
	seen := map[plan.ExprID]bool{}
	column := func(p plan.Expr) bool {
		if a, ok := p.(*plan.Attribute); ok && !seen[a.ID] {
			seen[a.ID] = true
			out = append(out, a)
		}
		return true
	}
	reference := func(p plan.Expr) bool {
		if isOuterRef(p) {
			plan.Walk(p.Children()[0], column)
		}
		return true
	}
	plan.WalkNodes(n, func(m plan.Node) bool {
		for _, e := range nodeExprs(m) {
			plan.Walk(e, reference)
		}
		return true
	})
	return out
}
