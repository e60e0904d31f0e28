package analyze

import (
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

func (r *resolver) sort(n *plan.Sort) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("Sort", in)
	orders, lift, err := r.orders(x, n.Orders)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		if err := r.notInSort(o, n.Global); err != nil {
			return nil, err
		}
	}
	out := plan.NewSort(lift.input(x.exposed(in)), n.Global, orders...)
	if anyCorrelated(nodeExprs(out)...) {
		const condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"
		return nil, plan.AnalysisError(condition,
			"rows cannot be sorted by a correlated subquery; select it under a name and sort by that.",
			"treeNode", plan.NodeLine(out))
	}
	return restrict(out, in.Output()), nil
}

func (r *resolver) orders(x *exprs, list []*plan.SortOrder) ([]*plan.SortOrder, *lifted, error) {
	lift := r.lift(x)
	x.sorting = true
	if all := orderByAll(x, list); all != nil {
		return all, lift, nil
	}
	out := make([]*plan.SortOrder, len(list))
	for i, o := range list {
		key, err := r.orderKey(x, lift, o.Child)
		if err != nil {
			return nil, nil, err
		}
		out[i] = &plan.SortOrder{Child: key, Descending: o.Descending, NullsFirst: o.NullsFirst}
	}
	return out, lift, nil
}

func (r *resolver) orderKey(x *exprs, lift *lifted, e plan.Expr) (plan.Expr, error) {
	if l, ok := e.(*plan.Literal); ok && l.Of.Kind == plan.KindInt && l.Value != nil {
		attrs := x.scope.attrs
		i := l.Value.(int64)
		if i < 1 || i > int64(len(attrs)) {
			return nil, plan.AnalysisError("ORDER_BY_POS_OUT_OF_RANGE",
				fmt.Sprintf("ORDER BY %d names no column of the %d selected.", i, len(attrs)),
				"index", strconv.FormatInt(i, 10), "size", strconv.Itoa(len(attrs))).At(l.Origin)
		}
		return attrs[i-1], r.orderable(attrs[i-1])
	}
	key, err := x.expr(e)
	if err != nil {
		return nil, x.unresolvedInSort(e, err)
	}
	key, err = lift.finish(unnamed(key))
	if err != nil {
		return nil, err
	}
	return key, r.orderable(key)
}

func isAmbiguous(err error) bool {
	e, ok := err.(*plan.Error)
	return ok && e.Condition == "AMBIGUOUS_REFERENCE"
}

// unresolvedInSort: to a Sort a name that fits several columns, there and below,
// is one that fits none.
func (x *exprs) unresolvedInSort(e plan.Expr, err error) error {
	if !isAmbiguous(err) {
		return err
	}
	found := err.(*plan.Error)
	plan.Walk(e, func(p plan.Expr) bool {
		a, ok := p.(*plan.UnresolvedAttribute)
		if ok && a.PlanID == nil && plan.QuoteParts(a.Parts) == found.Args["name"] {
			err = unresolvedColumn(a.Parts, x.scope.attrs, a.Origin)
		}
		return err == error(found)
	})
	return err
}

func (r *resolver) orderable(key plan.Expr) error {
	if ordered(key.Type()) {
		return nil
	}
	text := r.sqlText(key) + " ASC NULLS FIRST"
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
		fmt.Sprintf("rows cannot be ordered by %s.", key.Type().SQL()),
		"functionName", "`sortorder`", "dataType", sqlType(key.Type()), "sqlExpr", quoted(text))
}

// ordered reports whether values of a type have an order.
func ordered(t plan.Type) bool {
	switch t.Kind {
	case plan.KindMap, plan.KindVariant, plan.KindCalendar:
		return false
	case plan.KindArray:
		return ordered(*t.Elem)
	case plan.KindStruct:
		for _, f := range t.Fields {
			if !ordered(f.Type) {
				return false
			}
		}
	}
	return true
}

// orderByAll is ORDER BY ALL: every column in the direction given.
func orderByAll(x *exprs, list []*plan.SortOrder) []*plan.SortOrder {
	if len(list) != 1 || !isAll(x, list[0].Child) {
		return nil
	}
	out := make([]*plan.SortOrder, len(x.scope.attrs))
	for i, a := range x.scope.attrs {
		out[i] = &plan.SortOrder{Child: a, Descending: list[0].Descending, NullsFirst: list[0].NullsFirst}
	}
	return out
}

// isAll reports whether an expression is the word ALL, and no column has that
// name.
func isAll(x *exprs, e plan.Expr) bool {
	a, ok := e.(*plan.UnresolvedAttribute)
	if !ok || a.PlanID != nil || len(a.Parts) != 1 || !newScope(nil, false).same(a.Parts[0], "all") {
		return false
	}
	found, _ := x.scope.find(a.Parts)
	return len(found) == 0
}

// notInSort refuses what cannot be computed for a single row.
func (r *resolver) notInSort(o *plan.SortOrder, global bool) error {
	if hasGenerator(o.Child) {
		return outsideSelect(fmt.Sprintf("Sort [%s], %t", r.sqlText(o), global))
	}
	return r.notForOperator("Sort", o.Child)
}

// notAnOrder refuses desc() and asc() where they order nothing.
func (r *resolver) notAnOrder(list ...plan.Expr) error {
	for _, e := range list {
		if o, ok := unnamed(e).(*plan.SortOrder); ok {
			return plan.NewError(plan.ClassSpark, "INTERNAL_ERROR", fmt.Sprintf("The direction that %s is "+
				"sorted in stands where nothing is sorted. It belongs into orderBy(), sort(), or the orderBy() of "+
				"a window, around the whole expression.", r.sqlText(o.Child)))
		}
	}
	return nil
}

func (r *resolver) notForOperator(operator string, e plan.Expr) error {
	var invalid plan.Expr
	plan.Walk(e, func(p plan.Expr) bool {
		if _, ok := p.(*plan.AggregateCall); ok && invalid == nil {
			invalid = p
		}
		return invalid == nil
	})
	if invalid == nil {
		return nil
	}
	return r.notComputedBy(operator, invalid)
}

func (r *resolver) limit(n *plan.Limit) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("Limit", in)
	m := plan.NewLimit(in, n.Count, n.Skip)
	m.Tail = n.Tail
	name := "limit"
	if n.Tail {
		name = "tail"
	}
	if m.Count, err = r.rowCount(x, name, n.Count); err != nil {
		return nil, err
	}
	if m.Skip, err = r.rowCount(x, "offset", n.Skip); err != nil {
		return nil, err
	}
	return m, nil
}

func (r *resolver) rowCount(x *exprs, name string, e plan.Expr) (plan.Expr, error) {
	if e == nil {
		return nil, nil
	}
	origin := originOf(e)
	e, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	e = unnamed(e)
	fail := func(kind, msg string, args ...string) error {
		args = append(args, "name", name, "expr", r.sqlExpr(e))
		return plan.AnalysisError("INVALID_LIMIT_LIKE_EXPRESSION."+kind,
			fmt.Sprintf("%s %s %s.", name, r.sqlText(e), msg), args...).At(origin)
	}
	l, isLiteral := e.(*plan.Literal)
	switch {
	case !foldable(e):
		return nil, fail("IS_UNFOLDABLE", "is not a constant")
	case e.Type().Kind != plan.KindInt:
		return nil, fail("DATA_TYPE", "is not INT", "dataType", sqlType(e.Type()))
	case isLiteral && l.Value == nil:
		return nil, fail("IS_NULL", "is NULL")
	case isLiteral && l.Value.(int64) < 0:
		return nil, fail("IS_NEGATIVE", "is negative", "v", strconv.FormatInt(l.Value.(int64), 10))
	}
	return e, nil
}

// originOf is where an unresolved expression stands in the user's program.
func originOf(e plan.Expr) *plan.Origin {
	switch n := e.(type) {
	case *plan.Literal:
		return n.Origin
	case *plan.UnresolvedFunction:
		return n.Origin
	case *plan.Cast:
		return n.Origin
	default:
		return nil
	}
}

// foldable reports whether an expression is the same for every row.
func foldable(e plan.Expr) bool {
	return plan.Walk(e, func(p plan.Expr) bool {
		switch n := p.(type) {
		case *plan.Attribute, *plan.AggregateCall, *plan.PythonUDF, *plan.Subquery:
			return false
		case *plan.Call:
			d := lookup(n.Name)
			return d == nil || !d.Volatile && !d.Generator
		default:
			return true
		}
	})
}
