package analyze

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// isMark reports whether a function says which grouping set a row belongs to.
func isMark(name string) bool {
	return strings.EqualFold(name, "grouping") || strings.EqualFold(name, "grouping_id")
}

// mark is a call of grouping or grouping_id. An Aggregate computes it, so it
// counts as an aggregate call.
func (x *exprs) mark(n *plan.UnresolvedFunction, args []plan.Expr) (plan.Expr, error) {
	name := strings.ToLower(n.Name[len(n.Name)-1])
	call := &plan.AggregateCall{Name: name, Args: args, Of: plan.Long, Origin: n.Origin}
	if call.Name == "grouping" {
		call.Of = plan.Byte
		if len(args) != 1 {
			return nil, plan.AnalysisError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
				fmt.Sprintf("grouping takes 1 argument, not %d.", len(args)), "functionName", "`grouping`",
				"expectedNum", "1", "actualNum", fmt.Sprint(len(args)),
				"docroot", "https://spark.apache.org/docs/latest").At(n.Origin)
		}
	}
	if x.lift != nil {
		return x.lift.mark(call)
	}
	return call, nil
}

// mark makes the Aggregate below compute grouping or grouping_id.
func (l *lifted) mark(c *plan.AggregateCall) (plan.Expr, error) {
	for _, arg := range c.Args {
		if l.agg.Kind != plan.GroupBy && indexOf(l.agg.Group, arg) < 0 {
			return nil, unresolvedColumn(attributeParts(arg), l.x.scope.attrs, c.Origin)
		}
	}
	if err := l.checkMark(c, &grouping{kind: l.agg.Kind}, l.agg.Group); err != nil {
		return nil, err
	}
	return l.keep(c), nil
}

// markOfColumns is grouping or grouping_id of the columns that hold the grouping
// expressions; anything else stays as it is.
func markOfColumns(e plan.Expr, groups, columns []plan.Expr) plan.Expr {
	c, ok := e.(*plan.AggregateCall)
	if !ok || !isMark(c.Name) {
		return e
	}
	m := *c
	m.Args = make([]plan.Expr, len(c.Args))
	for i, arg := range c.Args {
		m.Args[i] = arg
		if k := indexOf(groups, arg); k >= 0 {
			m.Args[i] = columns[k]
		}
	}
	return &m
}

// checkMarks refuses grouping and grouping_id where there are no grouping sets,
// or of what is not grouped by.
func (r *resolver) checkMarks(g *grouping, groups []plan.Expr) error {
	var err error
	for _, e := range g.list {
		plan.Walk(e, func(p plan.Expr) bool {
			c, ok := p.(*plan.AggregateCall)
			if ok && isMark(c.Name) && err == nil {
				err = r.checkMark(c, g, groups)
			}
			return err == nil
		})
	}
	return err
}

func (r *resolver) checkMark(c *plan.AggregateCall, g *grouping, groups []plan.Expr) error {
	if g.kind == plan.GroupBy {
		return plan.AnalysisError("UNSUPPORTED_GROUPING_EXPRESSION",
			"grouping() and grouping_id() need GROUPING SETS, CUBE or ROLLUP.").At(c.Origin)
	}
	for i, arg := range c.Args {
		if indexOf(groups, arg) >= 0 && (c.Name == "grouping" || i < len(groups) && sameExpr(groups[i], arg)) {
			continue
		}
		names := make([]string, len(groups))
		for k, group := range groups {
			names[k] = plan.TreeText(group)
		}
		columns := strings.Join(names, ",")
		if c.Name == "grouping" {
			return plan.AnalysisError("GROUPING_COLUMN_MISMATCH",
				fmt.Sprintf("%s is not grouped by.", r.sqlText(arg)),
				"grouping", plan.TreeText(arg), "groupingColumns", columns).At(c.Origin)
		}
		return plan.AnalysisError("GROUPING_ID_COLUMN_MISMATCH",
			"the arguments of grouping_id are not the grouping expressions.",
			"groupingIdColumn", plan.TreeText(arg), "groupByColumns", columns).At(c.Origin)
	}
	return nil
}

// groupingSets resolves the sets of GROUPING SETS.
func (x *exprs) groupingSets(sets [][]plan.Expr, written, list []plan.Expr) ([][]plan.Expr, error) {
	var out [][]plan.Expr
	for _, set := range sets {
		keys := make([]plan.Expr, len(set))
		for i, key := range set {
			var err error
			if keys[i], err = x.groupKey(key, written, list); err != nil {
				return nil, err
			}
		}
		out = append(out, keys)
	}
	return out, nil
}

// spread makes an Aggregate group by columns in sets, and answers the columns
// that hold the grouping expressions above it: NULL where a set leaves one out.
func (r *resolver) spread(m *plan.Aggregate, g *grouping) []plan.Expr {
	written := m.Group
	in, groups := groupColumns(r.Analyzer, m)
	m.Input, m.Group, m.Kind = in, groups, g.kind
	for _, set := range g.sets {
		keys := make([]plan.Expr, 0, len(set))
		for _, e := range set {
			if i := indexOf(written, e); i >= 0 {
				keys = append(keys, groups[i])
			}
		}
		m.Sets = append(m.Sets, keys)
	}
	out := make([]plan.Expr, len(groups))
	for i, e := range groups {
		a := *e.(*plan.Attribute)
		a.Null = true
		out[i] = &a
	}
	return out
}

// pivot turns values of a column into columns. The column is grouped by first,
// then each value's groups are picked: a value without rows gives NULL.
func (r *resolver) pivot(x *exprs, n *plan.Aggregate) (plan.Node, error) {
	in := x.inputs[0]
	if n.Pivot == nil {
		return nil, malformed("a pivot has no column")
	}
	if len(n.Pivot.Values) == 0 && plan.Streaming(in) {
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_3063",
			"pivot is not supported on a streaming DataFrames/Datasets")
	}
	groups, err := x.selectList(n.Group)
	if err != nil {
		return nil, err
	}
	for _, e := range n.Exprs {
		if plan.Contains(e, func(p plan.Expr) bool { _, ok := p.(*plan.UnresolvedStar); return ok }) {
			return nil, plan.AnalysisError("INVALID_USAGE_OF_STAR_OR_REGEX",
				"count(*) of a pivot is count(1); a star has no meaning there.", "elem", "'*'", "prettyName", "Pivot")
		}
	}
	calls, err := x.selectList(n.Exprs)
	if err != nil {
		return nil, err
	}
	column, err := x.expr(n.Pivot.Column)
	if err != nil {
		return nil, err
	}
	column = unnamed(column)
	if err := r.pivotable(column); err != nil {
		return nil, err
	}
	values := n.Pivot.Values
	if len(values) == 0 {
		if values, err = r.pivotValues(in, column); err != nil {
			return nil, err
		}
	}
	if n.Pivot.Rest {
		used := plan.References(append(calls[:len(calls):len(calls)], column)...)
		for _, a := range in.Output() {
			if !used[a.ID] {
				groups = append(groups, a)
			}
		}
	}
	key := &plan.Alias{Child: column, Names: []string{r.sqlText(column)}, ID: r.IDs.Next()}
	inner := &grouping{in: x.exposed(in), origin: n.Origin}
	inner.groups = append(append(inner.groups, groups...), column)
	inner.list = append(append(append(inner.list, groups...), key), calls...)
	for _, e := range calls {
		if hasPythonAggregate(e) {
			return nil, plan.AnalysisError("UNSUPPORTED_FEATURE.PANDAS_UDAF_IN_PIVOT",
				"a pivot cannot be computed by a Python function.")
		}
		if !hasAggregate(e) {
			text := plan.QualifiedText(unnamed(e), r.Eval.Zone)
			return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1006",
				fmt.Sprintf("pivot needs aggregate functions, and %s is none.", text), "sql", text)
		}
	}
	below, err := r.grouped(inner)
	if err != nil {
		return nil, err
	}
	return r.pivoted(below, plan.ToAttribute(key), values, len(groups))
}

// pivotable refuses columns whose values cannot be told apart.
func (r *resolver) pivotable(column plan.Expr) error {
	if !holds(column.Type(), plan.KindVariant) {
		return nil
	}
	text := r.sqlText(column)
	return plan.AnalysisError("INCOMPARABLE_PIVOT_COLUMN",
		fmt.Sprintf("values of %s cannot be compared.", text), "columnName", plan.Quote(text))
}

// pivotValues runs what finds the values of a pivot that names none, in their order.
func (r *resolver) pivotValues(in plan.Node, column plan.Expr) ([]plan.Expr, error) {
	if r.Column == nil {
		return nil, plan.Unsupported("A pivot without a list of values here")
	}
	named := &plan.Alias{Child: column, Names: []string{r.sqlText(column)}, ID: r.IDs.Next()}
	distinct := plan.NewAggregate(in, []plan.Expr{column}, []plan.Expr{named})
	some := plan.NewLimit(distinct, plan.Lit(int64(r.PivotMost)+1, plan.Long), nil)
	sorted := plan.NewSort(some, true, &plan.SortOrder{Child: plan.ToAttribute(named), NullsFirst: true})
	ready, err := rewrite(r.Analyzer, sorted)
	if err != nil {
		return nil, err
	}
	found, err := r.Column(r.ctx, ready)
	if err != nil {
		return nil, err
	}
	if len(found) > r.PivotMost {
		text := r.sqlText(column)
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1324",
			fmt.Sprintf("The pivot column %s has more than %d distinct values, of which each would be a column; "+
				"spark.sql.pivotMaxValues says how many there may be.", text, r.PivotMost),
			"pivotColumn", text, "maxValues", strconv.Itoa(r.PivotMost), "config", "spark.sql.pivotMaxValues")
	}
	if column.Type().Kind == plan.KindStruct {
		return nil, plan.NewError(plan.ClassRuntime, "UNSUPPORTED_FEATURE.LITERAL_TYPE",
			"The feature is not supported: a struct as the value of a pivot.",
			"value", "", "type", column.Type().Simple())
	}
	values := make([]plan.Expr, len(found))
	for i, v := range found {
		values[i] = plan.Lit(v, column.Type())
	}
	return values, nil
}

// pivoted picks the pivot's values from rows of groups, key and results.
func (r *resolver) pivoted(below plan.Node, key *plan.Attribute, values []plan.Expr, groups int) (
	plan.Node, error) {
	attrs := below.Output()
	keys, results := attributeExprs(attrs[:groups]), attrs[groups+1:]
	list := keys[:len(keys):len(keys)]
	x := r.over("Pivot", &plan.OneRow{})
	for _, v := range values {
		e, err := x.resolve(v, true)
		if err != nil {
			return nil, err
		}
		label := r.valueName(e)
		value := r.implicitly(unnamed(e), key.Of)
		same, err := r.bind("<=>", key, value)
		if err != nil {
			return nil, err
		}
		for _, a := range results {
			name := label
			if len(results) > 1 {
				name += "_" + a.Name
			}
			first, err := r.bind("first", a)
			if err != nil {
				return nil, err
			}
			call := *first.(*plan.AggregateCall)
			call.Filter, call.Null = same, true
			list = append(list, &plan.Alias{Child: &call, Names: []string{name}, ID: r.IDs.Next()})
		}
	}
	m := plan.NewAggregate(below, keys, list)
	m.FromSQL = true
	return m, nil
}

// valueName is the name of a pivot value's columns.
func (r *resolver) valueName(e plan.Expr) string {
	if a, ok := e.(*plan.Alias); ok {
		return a.Names[0]
	}
	if l, ok := e.(*plan.Literal); ok && l.Value == nil {
		return "null"
	}
	if len(plan.References(e)) == 0 {
		v, err := eval.Const(&plan.Cast{Child: e, To: plan.String, Mode: plan.CastANSI}, r.Eval)
		if text, ok := v.(string); ok && err == nil {
			return text
		}
	}
	return r.sqlText(e)
}
