package analyze

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// grouping is an aggregation whose expressions are resolved.
type grouping struct {
	in     plan.Node
	groups []plan.Expr
	list   []plan.Expr // the result, named
	kind   plan.GroupKind
	sets   [][]plan.Expr
	origin *plan.Origin
}

func (r *resolver) aggregate(n *plan.Aggregate) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("Aggregate", in)
	x.aliases, x.query = &lateral{}, n.Origin
	if n.Kind == plan.GroupPivot {
		return r.pivot(x, n)
	}
	g := &grouping{kind: n.Kind, origin: n.Origin}
	if n.FromSQL {
		if err := x.groupWindows(n.Group); err != nil {
			return nil, err
		}
		if g.list, err = x.selectList(n.Exprs); err != nil {
			return nil, err
		}
		if g.groups, err = x.groupBy(n.Group, n.Exprs, g.list); err != nil {
			return nil, err
		}
	} else {
		if g.groups, err = x.selectList(n.Group); err != nil {
			return nil, err
		}
		list, err := x.selectList(n.Exprs)
		if err != nil {
			return nil, err
		}
		g.list = append(append([]plan.Expr{}, g.groups...), list...)
	}
	if g.sets, err = x.groupingSets(n.Sets, n.Exprs, g.list); err != nil {
		return nil, err
	}
	g.in = x.exposed(in)
	return r.grouped(g)
}

// groupBy resolves the keys of GROUP BY: columns, names of the select list,
// positions in it, or ALL.
func (x *exprs) groupBy(keys, written, list []plan.Expr) ([]plan.Expr, error) {
	if len(keys) == 1 && isAll(x, keys[0]) {
		return x.groupByAll(list, originOfName(keys[0]))
	}
	out := make([]plan.Expr, 0, len(keys))
	for _, key := range keys {
		e, err := x.groupKey(key, written, list)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func originOfName(e plan.Expr) *plan.Origin {
	if a, ok := e.(*plan.UnresolvedAttribute); ok {
		return a.Origin
	}
	return nil
}

// groupByAll groups by every item without an aggregate function.
func (x *exprs) groupByAll(list []plan.Expr, at *plan.Origin) ([]plan.Expr, error) {
	var out []plan.Expr
	for _, e := range list {
		if hasAggregate(e) || hasWindow(e) {
			continue
		}
		if hasLateral(e) {
			return nil, lateralInGroupBy().At(at)
		}
		out = append(out, unnamed(e))
	}
	for _, e := range list {
		if hasAggregate(e) && !coveredBy(unnamed(e), out) {
			return nil, plan.AnalysisError("UNRESOLVED_ALL_IN_GROUP_BY",
				"GROUP BY ALL cannot tell the keys: a column stands beside an aggregate function.").At(at)
		}
	}
	return out, nil
}

// coveredBy reports whether every column of an expression is inside an
// aggregate function or part of a grouping expression.
func coveredBy(e plan.Expr, groups []plan.Expr) bool {
	if indexOf(groups, e) >= 0 {
		return true
	}
	if _, ok := isLateral(e); ok {
		return true
	}
	switch e.(type) {
	case *plan.AggregateCall:
		return true
	case *plan.Attribute:
		return false
	}
	for _, c := range e.Children() {
		if !coveredBy(c, groups) {
			return false
		}
	}
	return true
}

func (x *exprs) groupKey(key plan.Expr, written, list []plan.Expr) (plan.Expr, error) {
	if l, ok := key.(*plan.Literal); ok && l.Of.Kind == plan.KindInt && l.Value != nil {
		return x.groupPosition(l, written, list)
	}
	if a, ok := key.(*plan.UnresolvedAttribute); ok && a.PlanID == nil {
		aliases := x.aliases
		x.aliases = nil
		_, err := x.lookup(a, false)
		x.aliases = aliases
		if err == errNotFound {
			return x.groupAlias(a, list)
		}
	}
	aliases := x.aliases
	x.aliases = nil
	defer func() { x.aliases = aliases }()
	e, err := x.expr(key)
	if err != nil {
		return nil, err
	}
	return unnamed(e), nil
}

func (x *exprs) groupAlias(a *plan.UnresolvedAttribute, list []plan.Expr) (plan.Expr, error) {
	if len(a.Parts) == 1 {
		for _, e := range list {
			if n, ok := e.(*plan.Alias); ok && len(n.Names) == 1 && x.scope.same(n.Names[0], a.Parts[0]) {
				if hasLateral(n) {
					return nil, lateralInGroupBy().At(a.Origin)
				}
				return unnamed(n), nil
			}
		}
	}
	return nil, unresolvedColumn(a.Parts, x.scope.attrs, a.Origin)
}

func (x *exprs) groupPosition(l *plan.Literal, written, list []plan.Expr) (plan.Expr, error) {
	i := l.Value.(int64)
	index := strconv.FormatInt(i, 10)
	for _, e := range written {
		if _, ok := e.(*plan.UnresolvedStar); ok {
			return nil, plan.AnalysisError("STAR_GROUP_BY_POS",
				"a select list with a star has no positions to group by.").At(l.Origin)
		}
	}
	if i < 1 || i > int64(len(list)) {
		return nil, plan.AnalysisError("GROUP_BY_POS_OUT_OF_RANGE",
			fmt.Sprintf("GROUP BY %d names no item of the %d selected.", i, len(list)),
			"index", index, "size", strconv.Itoa(len(list))).At(l.Origin)
	}
	e := list[i-1]
	if hasAggregate(e) {
		text := plan.QualifiedText(e, x.Eval.Zone)
		return nil, plan.AnalysisError("GROUP_BY_POS_AGGREGATE",
			fmt.Sprintf("GROUP BY %d names %s, an aggregate.", i, text), "index", index, "aggExpr", text).At(l.Origin)
	}
	if hasLateral(e) {
		return nil, lateralInGroupBy().At(l.Origin)
	}
	return unnamed(e), nil
}

// lateralInGroupBy: an item that uses another's name is computed above the
// groups, so it cannot be a key of them.
func lateralInGroupBy() *plan.Error {
	return plan.AnalysisError("UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_GROUP_BY",
		"GROUP BY cannot use an item that refers to another item of the select list by its name.")
}

// grouped checks an aggregation and builds it: names that the list gave itself
// and generators are computed above the Aggregate.
func (r *resolver) grouped(g *grouping) (plan.Node, error) {
	for _, e := range g.groups {
		if hasWindow(e) {
			return nil, r.notComputedBy("Aggregate", unnamed(e))
		}
		if hasAggregate(e) {
			text := plan.QualifiedText(unnamed(e), r.Eval.Zone)
			return nil, plan.AnalysisError("GROUP_BY_AGGREGATE",
				fmt.Sprintf("rows cannot be grouped by %s, an aggregate.", text), "sqlExpr", text)
		}
	}
	groups := make([]plan.Expr, len(g.groups))
	for i, e := range g.groups {
		groups[i] = unnamed(e)
		if hasGenerator(groups[i]) {
			return nil, r.groupedByGenerator(g, groups[i])
		}
		if t := groups[i].Type(); holds(t, plan.KindVariant) {
			return nil, plan.AnalysisError("GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
				fmt.Sprintf("rows cannot be grouped by values of type %s.", t.SQL()),
				"sqlExpr", quoted(r.sqlText(groups[i])), "dataType", sqlType(t)).At(g.origin)
		}
	}
	if err := r.checkMarks(g, groups); err != nil {
		return nil, err
	}
	if anyCorrelated(g.list...) {
		var err error
		if groups, err = r.correlatedAggregate(g, groups); err != nil {
			return nil, err
		}
	}
	layered := g.kind != plan.GroupBy
	for _, e := range g.list {
		layered = layered || hasLateral(e) || hasGenerator(e)
		if err := r.checkGrouped(e, groups, g); err != nil {
			return nil, err
		}
	}
	if !layered {
		m := plan.NewAggregate(g.in, groups, g.list)
		m.FromSQL, m.Origin = true, g.origin
		return m, nil
	}
	return r.layered(g, groups)
}

// checkGrouped refuses columns outside of aggregate functions that are not part
// of a grouping expression.
func (r *resolver) checkGrouped(e plan.Expr, groups []plan.Expr, g *grouping) error {
	if indexOf(groups, unnamed(e)) >= 0 {
		return nil
	}
	if _, ok := isLateral(e); ok {
		return nil
	}
	switch n := e.(type) {
	case *plan.AggregateCall:
		return nil
	case *plan.Attribute:
		if len(groups) == 0 {
			return plan.NewError(plan.ClassExtendedAnalysis, "MISSING_GROUP_BY",
				fmt.Sprintf("%s stands beside an aggregate, but there is no GROUP BY.", n.Name)).At(g.origin)
		}
		text := r.sqlText(n)
		err := plan.AnalysisError("MISSING_AGGREGATION",
			fmt.Sprintf("%s is neither grouped by nor inside an aggregate function.", text),
			"expression", quoted(text), "expressionAnyValue", quoted("any_value("+text+")"))
		err.Hint = "Group by it, or use any_value() when any row's value will do."
		return err
	}
	for _, c := range e.Children() {
		if err := r.checkGrouped(c, groups, g); err != nil {
			return err
		}
	}
	return nil
}

// layered splits an aggregation into an Aggregate of grouping expressions and
// aggregate calls, and a select list over it.
func (r *resolver) layered(g *grouping, groups []plan.Expr) (plan.Node, error) {
	m := plan.NewAggregate(g.in, groups, nil)
	m.FromSQL, m.Origin = true, g.origin
	columns := groups
	if g.kind != plan.GroupBy {
		columns = r.spread(m, g)
	}
	var below []plan.Expr
	replace := func(e plan.Expr) plan.Expr {
		if i := indexOf(groups, e); i >= 0 {
			e = columns[i]
		}
		e = markOfColumns(e, groups, m.Group)
		if i := indexOf(below, e); i >= 0 {
			return plan.ToAttribute(below[i])
		}
		if a, ok := e.(*plan.Attribute); ok {
			below = append(below, a)
			return a
		}
		a := &plan.Alias{Child: e, Names: []string{r.sqlText(e)}, ID: r.IDs.Next(), Generated: true}
		below = append(below, a)
		return plan.ToAttribute(a)
	}
	list := make([]plan.Expr, len(g.list))
	for i, e := range g.list {
		list[i] = overGroups(e, groups, replace)
	}
	m.Exprs = below
	out, err := r.projected(m, carryNames(g.list, list))
	if p, ok := out.(*plan.Project); ok && p.Input == plan.Node(m) {
		p.Grouped = g.kind != plan.GroupBy
	}
	return out, err
}

// overGroups replaces the grouping expressions and aggregate calls in an
// expression, largest first.
func overGroups(e plan.Expr, groups []plan.Expr, replace func(plan.Expr) plan.Expr) plan.Expr {
	if _, ok := e.(*plan.Alias); !ok {
		_, isAggregate := e.(*plan.AggregateCall)
		if isAggregate || indexOf(groups, e) >= 0 {
			return replace(e)
		}
	}
	if _, ok := isLateral(e); ok {
		return e
	}
	children := e.Children()
	if len(children) == 0 {
		return e
	}
	list := make([]plan.Expr, len(children))
	for i, c := range children {
		list[i] = overGroups(c, groups, replace)
	}
	return e.WithChildren(list)
}

// groupedByGenerator refuses a generator as a key. Where it is selected too, Spark first
// misses the column in it.
func (r *resolver) groupedByGenerator(g *grouping, key plan.Expr) error {
	selected := slices.ContainsFunc(g.list, hasGenerator)
	var column *plan.Attribute
	plan.Walk(key, func(e plan.Expr) bool {
		if a, ok := e.(*plan.Attribute); ok && column == nil {
			column = a
		}
		return column == nil
	})
	if !selected || column == nil {
		return r.notComputedBy("Aggregate", key)
	}
	name := r.sqlText(column)
	return plan.AnalysisError("MISSING_AGGREGATION",
		fmt.Sprintf("the column %s is neither grouped by nor inside an aggregate function.", name),
		"expression", quoted(name), "expressionAnyValue", quoted("any_value("+name+")"))
}
