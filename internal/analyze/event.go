package analyze

import (
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// dedup finds the columns that dropDuplicates names.
func (r *resolver) dedup(n *plan.Dedup) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	s := newScope(in.Output(), r.CaseSensitive)
	if err := noMaps(s.attrs, nil); err != nil && len(n.Columns) == 0 {
		return nil, err
	}
	if len(n.Columns) == 0 && !n.AllColumns && !n.WithinWatermark {
		return distinct(in), nil
	}
	m := plan.NewDedup(in, n.Columns, n.WithinWatermark)
	m.AllColumns = n.AllColumns
	m.Keys = s.attrs
	if len(n.Columns) > 0 {
		m.Keys = nil
		for _, name := range n.Columns {
			found := s.named(name)
			if len(found) == 0 {
				return nil, amongFields(name, s.attrs)
			}
			m.Keys = append(m.Keys, absent(m.Keys, found)...)
		}
	}
	return m, noMaps(m.Keys, nil)
}

// watermark declares event time on a stream. On other relations it means
// nothing, as in Spark, but its delay is read all the same.
func (r *resolver) watermark(n *plan.Watermark) (plan.Node, error) {
	delay, err := delayMillis(n.Delay)
	if err != nil {
		return nil, err
	}
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if !plan.Streaming(in) {
		return in, nil
	}
	x := r.over("EventTimeWatermark", in)
	e, err := x.expr(n.Column)
	if err != nil {
		return nil, err
	}
	column, ok := unnamed(e).(*plan.Attribute)
	if !ok {
		name := r.sqlText(unnamed(e))
		return nil, plan.AnalysisError("EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN",
			fmt.Sprintf("event time must be a column of its own, not %s.", name), "eventExpr", name)
	}
	if t := eventTimeType(e.Type()); t.Kind != plan.KindTimestamp {
		return nil, plan.AnalysisError("EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
			fmt.Sprintf("event time must be a TIMESTAMP column, and %s is %s.", r.sqlText(e), e.Type().SQL()),
			"eventName", plan.Quote(r.sqlText(e)), "eventType", sqlType(e.Type()))
	}
	m := plan.NewWatermark(x.exposed(in), column, n.Delay)
	m.DelayMs = delay
	return restrict(m, in.Output()), nil
}

// eventTimeType is the type of the time in an event-time column: a window has
// that of its end.
func eventTimeType(t plan.Type) plan.Type {
	if t.Kind == plan.KindStruct && len(t.Fields) == 2 && t.Fields[1].Name == "end" {
		return t.Fields[1].Type
	}
	return t
}

// monthMicros is what Spark takes a month of a watermark's delay for: 31 days.
const monthMicros = 31 * 24 * 3600 * 1_000_000

// delayMillis reads the delay of a watermark.
func delayMillis(text string) (int64, error) {
	interval, err := sql.ParseDelay(text)
	if err != nil {
		return 0, err
	}
	micros := int64(interval.Months)*monthMicros + int64(interval.Days)*24*3600*1_000_000 + interval.Micros
	if micros < 0 {
		return 0, plan.IllegalArgument("delay threshold (%s) should not be negative.", text)
	}
	return micros / 1000, nil
}

func (r *resolver) observe(n *plan.Observe) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if n.Name == "" {
		return nil, plan.AnalysisError("INVALID_OBSERVED_METRICS.MISSING_NAME", "observed metrics need a name.",
			"operator", "CollectMetrics")
	}
	x := r.over("CollectMetrics", in)
	list, err := x.selectList(n.Metrics)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := r.checkMetric(e, e, false); err != nil {
			return nil, err
		}
	}
	return restrict(plan.NewObserve(x.exposed(in), n.Name, list), in.Output()), nil
}

// checkMetric refuses what cannot be folded over rows as they pass.
func (r *resolver) checkMetric(metric, e plan.Expr, inside bool) error {
	text := r.sqlExpr(metric)
	switch n := e.(type) {
	case *plan.AggregateCall:
		switch {
		case n.Distinct:
			return observed("AGGREGATE_EXPRESSION_WITH_DISTINCT_UNSUPPORTED", text, "DISTINCT cannot be observed.")
		case n.Filter != nil:
			return observed("AGGREGATE_EXPRESSION_WITH_FILTER_UNSUPPORTED", text, "FILTER cannot be observed.")
		}
		inside = true
	case *plan.Attribute:
		if !inside {
			return observed("NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE", text,
				fmt.Sprintf("%s is a column, not an aggregate.", n.Name))
		}
	case *plan.Call:
		if !inside && volatile(n) {
			return observed("NON_AGGREGATE_FUNC_ARG_IS_NON_DETERMINISTIC", text, "the value differs from row to row.")
		}
	}
	for _, c := range e.Children() {
		if err := r.checkMetric(metric, c, inside); err != nil {
			return err
		}
	}
	return nil
}

func observed(kind, text, msg string) error {
	return plan.AnalysisError("INVALID_OBSERVED_METRICS."+kind, msg, "expr", text)
}

func (r *resolver) repartition(n *plan.Repartition) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if n.Count < 0 {
		return nil, plan.IllegalArgument("Number of partitions (%d) must be positive.", n.Count)
	}
	x := r.over("RepartitionByExpression", in)
	list, err := x.all(n.Exprs)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		list[i] = unnamed(e)
		if o, ok := list[i].(*plan.SortOrder); ok {
			list[i] = o.Child // of a range: which rows are together is all that counts
		}
		if err := r.notForOperator("RepartitionByExpression", list[i]); err != nil {
			return nil, err
		}
		if t := list[i].Type(); holds(t, plan.KindVariant) {
			return nil, plan.AnalysisError("UNSUPPORTED_FEATURE.PARTITION_BY_VARIANT",
				"rows are not dealt out by variants.", "expr", quoted(r.sqlText(list[i])), "dataType", sqlType(t))
		}
	}
	m := plan.NewRepartition(x.exposed(in), n.Count, list)
	m.Coalesce = n.Coalesce
	return restrict(m, in.Output()), nil
}

// tableFunction resolves range(…) and generators in FROM.
func (r *resolver) tableFunction(n *plan.TableFunction) (plan.Node, error) {
	if len(n.Name) == 0 {
		return nil, malformed("a table function has no name")
	}
	name := n.Name[len(n.Name)-1]
	x := r.over(name, &plan.OneRow{})
	if len(n.Name) == 1 && x.scope.same(name, "range") {
		args, err := x.all(n.Args)
		if err != nil {
			return nil, err
		}
		return r.rangeOf(n, args)
	}
	for _, feed := range []string{changesOfTable, changesOfPath} {
		if len(n.Name) == 1 && x.scope.same(name, feed) {
			args, err := x.all(n.Args)
			if err != nil {
				return nil, err
			}
			return r.tableChanges(n, feed, args)
		}
	}
	f := n.Python
	if f == nil && len(n.Name) == 1 {
		f = r.pythonTable(name)
	}
	if f != nil {
		return r.callTable(n, f)
	}
	d := lookup(name)
	if len(n.Name) == 1 && (d != nil && !d.Generator || r.Names.Function(name) != nil) {
		return nil, plan.AnalysisError("NOT_A_TABLE_FUNCTION",
			name+" is a function of values; it does not stand in FROM.",
			"functionName", plan.QuoteParts(n.Name)).At(n.Origin)
	}
	if len(n.Name) != 1 || d == nil {
		quotedName := plan.QuoteParts(n.Name)
		return nil, plan.AnalysisError("UNRESOLVABLE_TABLE_VALUED_FUNCTION",
			fmt.Sprintf("no table function is called %s.", quotedName), "name", quotedName).At(n.Origin)
	}
	e, err := x.function(&plan.UnresolvedFunction{Name: n.Name, Args: n.Args, Origin: n.Origin})
	if err != nil {
		return nil, err
	}
	call, ok := e.(*plan.Call)
	if !ok {
		return nil, plan.Unsupported("the table function " + name).At(n.Origin)
	}
	g, err := r.generated(&plan.OneRow{}, call, nil)
	if err != nil {
		return nil, err
	}
	return plan.NewProject(g, attributeExprs(g.Attrs)...), nil
}

func (r *resolver) rangeOf(n *plan.TableFunction, args []plan.Expr) (plan.Node, error) {
	if len(args) < 1 || len(args) > 4 {
		return nil, plan.AnalysisError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
			fmt.Sprintf("range takes 1 to 4 arguments, not %d.", len(args)), "functionName", "`range`",
			"expectedNum", "[1, 2, 3, 4]", "actualNum", strconv.Itoa(len(args)),
			"docroot", "https://spark.apache.org/docs/latest").At(n.Origin)
	}
	numbers := make([]int64, len(args))
	for i, e := range args {
		v, ok := integer(unnamed(e))
		if !foldable(e) {
			names := []string{"start", "end", "step", "numSlices"}
			name := plan.Quote(names[i])
			if len(args) == 1 {
				name = "`end`"
			}
			return nil, plan.AnalysisError("NON_FOLDABLE_ARGUMENT",
				fmt.Sprintf("the argument %s of range must be a constant, not %s.", name, r.sqlText(e)),
				"funcName", "`range`", "paramName", name, "paramType", quoted("BIGINT")).At(n.Origin)
		}
		if !ok {
			return nil, plan.AnalysisError("UNEXPECTED_INPUT_TYPE",
				fmt.Sprintf("the %s argument of range must be an integer constant, not %s.",
					ordinalWord(i), r.sqlText(e)),
				"functionName", "`range`", "paramIndex", ordinalWord(i), "requiredType", quoted("BIGINT"),
				"inputSql", r.sqlExpr(e), "inputType", sqlType(e.Type())).At(n.Origin)
		}
		numbers[i] = v
	}
	m := &plan.Range{End: numbers[0], Step: 1, Attr: r.attribute("id", plan.Long, false)}
	if len(numbers) > 1 {
		m.Start, m.End = numbers[0], numbers[1]
	}
	if len(numbers) > 2 {
		m.Step = numbers[2]
	}
	if len(numbers) > 3 {
		m.Partitions = int(numbers[3])
	}
	if m.Step == 0 {
		return nil, plan.AnalysisError("FAILED_FUNCTION_CALL", "range cannot go on by 0.", "funcName", "`range`").
			At(n.Origin)
	}
	return m, nil
}

// integer is the value of an integer constant, perhaps negated.
func integer(e plan.Expr) (int64, bool) {
	switch n := e.(type) {
	case *plan.Literal:
		v, ok := n.Value.(int64)
		return v, ok && n.Of.IsIntegral()
	case *plan.Cast:
		if !n.To.IsIntegral() {
			return 0, false
		}
		return integer(n.Child)
	case *plan.Call:
		if n.Name != "negative" {
			return 0, false
		}
		v, ok := integer(n.Args[0])
		return -v, ok
	default:
		return 0, false
	}
}
