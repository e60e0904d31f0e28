package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// windowFunctions are functions that stand for a column which a relation of its
// own computes.
var windowFunctions = map[string]bindWindow{
	"window":         (*exprs).timeWindow,
	"session_window": (*exprs).sessionWindow,
	"window_time":    (*exprs).windowTime,
}

type bindWindow = func(x *exprs, n *plan.UnresolvedFunction, args []plan.Expr) (plan.Expr, error)

// window is a column computed below the relation that asked for it.
type window struct {
	call string // canonical text of the call
	attr *plan.Attribute
	time bool // the time of a window, not a window
	over func(in plan.Node) plan.Node
}

// windowed is the column of a call; equal calls share one.
func (x *exprs) windowed(call *plan.Call, w window) (plan.Expr, error) {
	// The time of a window is looked at where a WHERE would be.
	switch {
	case hasWindow(call):
		return nil, windowInClause("WHERE")
	case hasAggregate(call):
		return nil, x.aggregateInWhere(call.Args[0], nil)
	}
	w.call = x.sqlText(call)
	for _, have := range x.windows {
		if have.call == w.call {
			return have.attr, nil
		}
		if !have.time && !w.time {
			return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1039",
				"a relation can have one window of time only: several would multiply its rows.")
		}
	}
	x.windows = append(x.windows, w)
	return w.attr, nil
}

func windowType(time plan.Type) plan.Type {
	return plan.Struct(plan.Field{Name: "start", Type: time, Nullable: true},
		plan.Field{Name: "end", Type: time, Nullable: true})
}

// windowCall is a call as messages show it.
func windowCall(name string, args ...plan.Expr) *plan.Call {
	return &plan.Call{Name: name, Args: args, Of: plan.Null}
}

func (x *exprs) timeWindow(n *plan.UnresolvedFunction, args []plan.Expr) (plan.Expr, error) {
	if err := x.argumentCount(n, len(args), 2, 4); err != nil {
		return nil, err
	}
	durations := []int64{0, 0, 0}
	for i, a := range args[1:] {
		var err error
		if durations[i], err = x.windowDuration(a); err != nil {
			return nil, err
		}
	}
	if len(args) == 2 {
		durations[1] = durations[0]
	}
	size, slide, start := durations[0], durations[1], durations[2]
	call := windowCall("window", unnamed(args[0]), plan.Lit(size, plan.Long), plan.Lit(slide, plan.Long),
		plan.Lit(start, plan.Long))
	time, err := x.windowInput(call, unnamed(args[0]))
	if err != nil {
		return nil, err
	}
	if err := x.checkDurations(call, size, slide, start); err != nil {
		return nil, err
	}
	attr := x.attribute("window", windowType(time.Type()), false)
	attr.EventTime = eventTimeOf(args[0])
	return x.windowed(call, window{attr: attr, over: func(in plan.Node) plan.Node {
		m := plan.NewTimeWindow(in, time, attr)
		m.Size, m.Slide, m.Start = size, slide, start
		return m
	}})
}

// argumentCount refuses a wrong number of arguments.
func (x *exprs) argumentCount(n *plan.UnresolvedFunction, have, least, most int) error {
	if have >= least && have <= most {
		return nil
	}
	name, expected := plan.QuoteParts(n.Name), strconv.Itoa(least)
	if least != most {
		expected = "["
		for k := least; k <= most; k++ {
			if k > least {
				expected += ", "
			}
			expected += strconv.Itoa(k)
		}
		expected += "]"
	}
	return plan.AnalysisError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
		fmt.Sprintf("%s takes %s arguments, not %d.", name, expected, have),
		"functionName", name, "expectedNum", expected, "actualNum", strconv.Itoa(have),
		"docroot", docRoot).At(n.Origin)
}

const docRoot = "https://spark.apache.org/docs/latest"

// windowDuration reads a duration in µs: an interval's text or a number.
func (x *exprs) windowDuration(e plan.Expr) (int64, error) {
	l, ok := unnamed(e).(*plan.Literal)
	if !ok || l.Value == nil {
		return 0, notADuration()
	}
	switch v := l.Value.(type) {
	case int64:
		if l.Of.Kind == plan.KindInt || l.Of.Kind == plan.KindLong {
			return v, nil
		}
	case string:
		return durationOf(v)
	}
	return 0, notADuration()
}

func notADuration() error {
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1207",
		"The duration and time inputs to window must be an integer, long or string literal.")
}

func durationOf(text string) (int64, error) {
	v, err := sql.ParseInterval(text)
	if err != nil {
		quoted := "'" + text + "'"
		return 0, plan.AnalysisError("CANNOT_PARSE_INTERVAL",
			fmt.Sprintf("%s is no interval, such as '10 seconds'.", quoted), "intervalString", quoted)
	}
	if v.Months != 0 {
		return 0, plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_3231",
			fmt.Sprintf("Windows cannot be as long as months or years (%s).", text), "interval", text)
	}
	const dayMicros = 24 * 3600 * 1_000_000
	return int64(v.Days)*dayMicros + v.Micros, nil
}

// windowInput is the time of a row: a timestamp, or the time of a window.
func (x *exprs) windowInput(call *plan.Call, e plan.Expr) (plan.Expr, error) {
	t := e.Type()
	switch {
	case t.Kind == plan.KindTimestamp, t.Kind == plan.KindTimestampNTZ:
		return e, nil
	case isWindowType(t):
		return x.endOfWindow(e)
	case t.IsString(), t.Kind == plan.KindDate, t.Kind == plan.KindNull:
		return x.implicitly(e, plan.Timestamp), nil
	default:
		return nil, x.unexpectedInput(call, e, `("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or `+windowTypes+")")
	}
}

const windowTypes = `"STRUCT<start: TIMESTAMP, end: TIMESTAMP>" or ` +
	`"STRUCT<start: TIMESTAMP_NTZ, end: TIMESTAMP_NTZ>"`

func (x *exprs) unexpectedInput(call *plan.Call, e plan.Expr, required string) error {
	return plan.AnalysisError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
		fmt.Sprintf("%s takes a time, not %s.", call.Name, e.Type().SQL()),
		"inputSql", x.sqlExpr(e), "inputType", sqlType(e.Type()), "paramIndex", "first",
		"requiredType", required, "sqlExpr", x.sqlExpr(call))
}

func isWindowType(t plan.Type) bool {
	return t.Kind == plan.KindStruct && len(t.Fields) == 2 &&
		t.Fields[0].Name == "start" && t.Fields[1].Name == "end" &&
		(t.Fields[1].Type.Kind == plan.KindTimestamp || t.Fields[1].Type.Kind == plan.KindTimestampNTZ)
}

func (x *exprs) checkDurations(call *plan.Call, size, slide, start int64) error {
	long := func(v int64) string { return strconv.FormatInt(v, 10) + "L" }
	for _, d := range []struct {
		name  string
		value int64
	}{{"`window_duration`", size}, {"`slide_duration`", slide}} {
		if d.value <= 0 {
			return plan.AnalysisError("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
				fmt.Sprintf("%s must be longer than nothing.", d.name),
				"currentValue", long(d.value), "exprName", d.name, "sqlExpr", x.sqlExpr(call),
				"valueRange", "(0, 9223372036854775807]")
		}
	}
	violated := func(left string, leftValue int64, constraint, right string, rightValue int64) error {
		return plan.AnalysisError("DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION",
			fmt.Sprintf("%s (%d µs) must be %s %s (%d µs).", left, leftValue, constraint, right, rightValue),
			"constraint", constraint, "leftExprName", left, "leftExprValue", long(leftValue),
			"rightExprName", right, "rightExprValue", long(rightValue), "sqlExpr", x.sqlExpr(call))
	}
	switch {
	case slide > size:
		return violated("`slide_duration`", slide, "<=", "`window_duration`", size)
	case max(start, -start) >= slide:
		return violated("`abs(start_time)`", max(start, -start), "<", "`slide_duration`", slide)
	default:
		return nil
	}
}

// eventTimeOf is the delay of an event-time column.
func eventTimeOf(e plan.Expr) *int64 {
	if a, ok := unnamed(e).(*plan.Attribute); ok {
		return a.EventTime
	}
	return nil
}

// endOfWindow is the time of a window: the last instant in it.
func (x *exprs) endOfWindow(e plan.Expr) (plan.Expr, error) {
	end := &plan.GetField{Child: e, Ordinal: 1, Name: "end"}
	micro := plan.Lit(int64(1), plan.Type{Kind: plan.KindDayTime, Start: plan.FieldDay, End: plan.FieldSecond})
	return function.BindCall(&function.Binding{
		Name: "-", Def: lookup("-"), Args: []plan.Expr{end, micro}, Env: x.Eval,
	})
}

func (x *exprs) windowTime(n *plan.UnresolvedFunction, args []plan.Expr) (plan.Expr, error) {
	if err := x.argumentCount(n, len(args), 1, 1); err != nil {
		return nil, err
	}
	of := unnamed(args[0])
	call := windowCall("window_time", of)
	if !isWindowType(of.Type()) {
		return nil, x.unexpectedInput(call, of, "("+windowTypes+")")
	}
	end, err := x.endOfWindow(of)
	if err != nil {
		return nil, err
	}
	alias := &plan.Alias{
		Child: end, Names: []string{x.sqlText(call)}, ID: x.IDs.Next(), EventTime: eventTimeOf(of),
	}
	above := func(in plan.Node) plan.Node {
		return plan.NewProject(in, append(attributeExprs(in.Output()), alias)...)
	}
	return x.windowed(call, window{attr: plan.ToAttribute(alias), time: true, over: above})
}

func (x *exprs) sessionWindow(n *plan.UnresolvedFunction, args []plan.Expr) (plan.Expr, error) {
	if err := x.argumentCount(n, len(args), 2, 2); err != nil {
		return nil, err
	}
	gap := unnamed(args[1])
	call := windowCall("session_window", unnamed(args[0]), gap)
	time, err := x.windowInput(call, unnamed(args[0]))
	if err != nil {
		return nil, err
	}
	if gap, err = x.sessionGap(gap); err != nil {
		return nil, err
	}
	end, err := function.BindCall(&function.Binding{
		Name: "+", Def: lookup("+"), Args: []plan.Expr{time, gap}, Env: x.Eval,
	})
	if err != nil {
		return nil, err
	}
	attr := x.attribute("session_window", windowType(time.Type()), false)
	attr.EventTime = eventTimeOf(args[0])
	attr.Metadata = "{" + plan.SessionMark + "}"
	return x.windowed(call, window{attr: attr, over: func(in plan.Node) plan.Node {
		m := plan.NewTimeWindow(in, time, attr)
		m.End = end
		return m
	}})
}

// sessionGap is the gap of a session as an interval: a constant, or computed for
// each row.
func (x *exprs) sessionGap(gap plan.Expr) (plan.Expr, error) {
	if l, ok := gap.(*plan.Literal); ok && l.Of.IsString() && l.Value != nil {
		v, err := sql.ParseInterval(l.Value.(string))
		if err != nil {
			return nil, err
		}
		return plan.Lit(v, plan.Type{Kind: plan.KindCalendar}), nil
	}
	switch gap.Type().Kind {
	case plan.KindCalendar, plan.KindDayTime:
		return gap, nil
	default:
		m := &plan.Cast{Child: gap, To: plan.Type{Kind: plan.KindCalendar}, Mode: x.castMode(), Implicit: true}
		return m, function.CheckCast(m, x.Eval)
	}
}

// groupWindows resolves the windows of time among the keys of GROUP BY first: the
// select list knows them as the columns window and session_window.
func (x *exprs) groupWindows(keys []plan.Expr) error {
	for _, key := range keys {
		call, ok := key.(*plan.UnresolvedFunction)
		if !ok || len(call.Name) != 1 || windowFunctions[strings.ToLower(call.Name[0])] == nil {
			continue
		}
		if _, err := x.expr(call); err != nil {
			return err
		}
	}
	if len(x.windows) == 0 {
		return nil
	}
	attrs := slices.Clone(x.scope.attrs)
	for _, w := range x.windows {
		attrs = append(attrs, w.attr)
	}
	x.scope = newScope(attrs, x.CaseSensitive)
	return nil
}
