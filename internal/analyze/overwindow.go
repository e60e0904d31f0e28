package analyze

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// windowCall resolves f(…) OVER (…).
func (x *exprs) windowCall(n *plan.WindowCall) (plan.Expr, error) {
	e, err := x.overWindow(n)
	if err != nil {
		return nil, err
	}
	w := &plan.Windowed{Function: e, Origin: n.Origin}
	if w.Partition, err = x.all(n.Partition); err != nil {
		return nil, err
	}
	for i, p := range w.Partition {
		w.Partition[i] = unnamed(p)
		if err := x.notAnOrder(p); err != nil {
			return nil, err
		}
		if err := x.partitionable(w.Partition[i]); err != nil {
			return nil, err.At(n.Origin)
		}
	}
	for _, o := range n.Order {
		key, err := x.expr(o.Child)
		if err != nil {
			return nil, err
		}
		key = unnamed(key)
		if err := x.orderable(key); err != nil {
			return nil, err
		}
		w.Order = append(w.Order, &plan.SortOrder{Child: key, Descending: o.Descending, NullsFirst: o.NullsFirst})
	}
	if err := x.lateralInWindow(w); err != nil {
		return nil, err
	}
	if err := x.framed(w, n); err != nil {
		return nil, err
	}
	if err := x.closed(w); err != nil {
		return nil, err
	}
	switch x.clause {
	case "Project", "Aggregate", "Filter":
		return w, nil
	default:
		return nil, x.notComputedBy(x.clause, w)
	}
}

// overWindow resolves the function of a window.
func (x *exprs) overWindow(n *plan.WindowCall) (plan.Expr, error) {
	switch f := n.Function.(type) {
	case *plan.UnresolvedFunction:
		return x.called(f, &over{ignoreNulls: n.IgnoreNulls})
	case *plan.PythonUDF:
		if err := runnable(f); err != nil {
			return nil, err
		}
		e, err := x.children(f)
		if err != nil {
			return nil, err
		}
		return x.pythonOver(e.(*plan.PythonUDF).WithKeywords())
	default:
		return nil, malformed("a window has no function")
	}
}

// pythonOver is a Python function over a window, whose arguments are resolved.
func (x *exprs) pythonOver(f *plan.PythonUDF) (plan.Expr, error) {
	if !aggregates(f) {
		return nil, x.notForWindow(f)
	}
	if iterates(f) {
		return nil, plan.Unsupported("A Python function of iterators over a window")
	}
	return x.pythonAggregate(f), nil
}

// partitionable refuses keys that rows cannot be sorted by. A key that is no
// column has a name that Spark makes up.
func (x *exprs) partitionable(e plan.Expr) *plan.Error {
	if ordered(e.Type()) {
		return nil
	}
	name := "_w0"
	if a, ok := e.(*plan.Attribute); ok {
		name = a.Name
	}
	return plan.AnalysisError("EXPRESSION_TYPE_IS_NOT_ORDERABLE",
		fmt.Sprintf("rows cannot be partitioned by %s, which is %s.", x.sqlText(e), e.Type().SQL()),
		"expr", quoted(name), "exprType", sqlType(e.Type()))
}

// over is what stands around a call before OVER.
type over struct{ ignoreNulls bool }

// lateralInWindow refuses names that the same select list gave.
func (x *exprs) lateralInWindow(w *plan.Windowed) error {
	for _, c := range w.Children() {
		if hasLateral(c) {
			text := x.sqlText(w.Function) + " OVER (unspecifiedframe$())"
			return plan.AnalysisError("UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_WINDOW",
				"a window function cannot use a name that the same select list gives.",
				"lca", lateralName(c), "windowExpr", quoted(text))
		}
	}
	return nil
}

func (r *resolver) notComputedBy(operator string, e plan.Expr) error {
	return plan.AnalysisError("UNSUPPORTED_EXPR_FOR_OPERATOR",
		fmt.Sprintf("%s cannot be computed by %s.", r.sqlText(e), operator),
		"operator", operator, "invalidExprSqls", r.sqlExpr(e))
}

func hasWindow(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		_, ok := p.(*plan.Windowed)
		return ok
	})
}

// windowInClause says that a condition is computed before windows are.
func windowInClause(where string) error {
	err := plan.AnalysisError("WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
		"window functions are computed after "+where+".", "clauseName", where)
	err.Hint = "Compute the window function in a subquery and filter its rows."
	return err
}

// wholePartition are the aggregates that are not defined for parts of a partition.
var wholePartition = map[string]bool{"median": true, "percentile_cont": true, "percentile_disc": true}

// framed gives a window its frame: the written one, the one that its function
// brings, or the default.
func (x *exprs) framed(w *plan.Windowed, n *plan.WindowCall) error {
	var own *plan.WindowFrame
	given := n.Frame
	switch f := w.Function.(type) {
	case *plan.AggregateCall:
		if isMark(f.Name) {
			return x.notForWindow(f).At(n.Origin)
		}
	case *plan.Call:
		def := lookup(f.Name)
		if def == nil || def.Window == nil {
			return x.notForWindow(f).At(n.Origin)
		}
		if len(w.Order) == 0 {
			text := plan.QualifiedText(f, x.Eval.Zone)
			return plan.AnalysisError("WINDOW_FUNCTION_FRAME_NOT_ORDERED",
				f.Name+" needs ORDER BY in its window.", "wf_name", f.Name, "wf_expr", text)
		}
		own = def.Window(f)
	default:
		return x.notForWindow(f).At(n.Origin)
	}
	if given == nil {
		given = own
	}
	if given == nil {
		given = defaultFrame(len(w.Order) > 0)
	}
	w.Frame = *given
	if err := x.offsets(w, n.Spec); err != nil {
		return err
	}
	if own != nil && own.Definition() != w.Frame.Definition() {
		return wrongFrame(w.Function.(*plan.Call).Name, &w.Frame, own)
	}
	a, ok := w.Function.(*plan.AggregateCall)
	if ok && wholePartition[a.Name] && (len(w.Order) > 0 || *given != *defaultFrame(false)) {
		return plan.AnalysisError("INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
			a.Name+" needs a window of the whole partition, without ORDER BY.",
			"aggFunc", x.sqlExpr(plainly(a))).At(n.Origin)
	}
	if ok && a.Distinct {
		return plan.AnalysisError("DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
			"DISTINCT is not possible over a window: "+x.sqlText(w)+".", "windowExpr", x.sqlExpr(w)).At(n.Origin)
	}
	return nil
}

// plainly is a call that shows as name(arguments), without WITHIN GROUP.
func plainly(a *plan.AggregateCall) *plan.AggregateCall {
	if !strings.Contains(a.Text, "WITHIN GROUP") {
		return a
	}
	m := *a
	m.Text, m.Args = "", nil
	for _, e := range a.Args {
		if o, ok := e.(*plan.SortOrder); ok {
			e = o.Child
		}
		m.Args = append(m.Args, e)
	}
	return &m
}

func (r *resolver) notForWindow(e plan.Expr) *plan.Error {
	return plan.AnalysisError("UNSUPPORTED_EXPR_FOR_WINDOW",
		r.sqlText(e)+" is neither an aggregate nor a window function.", "sqlExpr", r.sqlExpr(e))
}

func wrongFrame(name string, given, own *plan.WindowFrame) error {
	if name == "lag" || name == "lead" {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1035", "the frame of "+name+" is the row at its offset.",
			"prettyName", name)
	}
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1036",
		fmt.Sprintf("%s works over %s only.", name, plan.FrameText(own)),
		"wf", given.Definition(), "required", own.Definition())
}

// defaultFrame is the frame of an aggregate function that has none: all rows, or
// those up to the current one and its equals.
func defaultFrame(ordered bool) *plan.WindowFrame {
	if ordered {
		return &plan.WindowFrame{To: plan.FrameBound{Kind: plan.CurrentRow}}
	}
	return &plan.WindowFrame{Rows: true, To: plan.FrameBound{Kind: plan.UnboundedFollowing}}
}

// offsets resolves and checks the ends of a frame.
func (x *exprs) offsets(w *plan.Windowed, at *plan.Origin) error {
	f := &w.Frame
	for _, b := range []*plan.FrameBound{&f.From, &f.To} {
		if b.Offset == nil {
			continue
		}
		e, err := x.expr(b.Offset)
		if err != nil {
			return err
		}
		b.Offset = unnamed(e)
		if !foldable(b.Offset) {
			return plan.NewError(plan.ClassParse, "INVALID_SQL_SYNTAX.INVALID_WINDOW_FRAME_BOUND",
				"the end of a frame must be a constant.").At(at)
		}
		if !f.Rows && len(w.Order) == 1 {
			b.Offset = x.comparableOffset(b.Offset, w.Order[0].Type())
		}
	}
	if err := x.checkFrame(f); err != nil {
		return err.At(at)
	}
	if f.Rows {
		return nil
	}
	if err := x.checkRange(w); err != nil {
		return err.At(at)
	}
	return x.limits(w)
}

// comparableOffset makes an offset of the type of the key that it is added to.
func (x *exprs) comparableOffset(e plan.Expr, key plan.Type) plan.Expr {
	switch {
	case key.Kind == plan.KindDate, key.Kind == plan.KindTimestamp, e.Type().Equal(key):
		return e
	case function.CanCast(e.Type(), key, x.castMode()):
		return &plan.Cast{Child: e, To: key, Mode: x.castMode(), Implicit: true}
	default:
		return e
	}
}

// checkFrame refuses ends that no frame can have.
func (x *exprs) checkFrame(f *plan.WindowFrame) *plan.Error {
	if f.From.Kind == plan.UnboundedFollowing || f.To.Kind == plan.UnboundedPreceding {
		return frameMismatch(f, "SPECIFIED_WINDOW_FRAME_INVALID_BOUND",
			"a frame cannot begin behind all rows or end before them.",
			"lower", quoted(plan.BoundText(&f.From)), "upper", quoted(plan.BoundText(&f.To)))
	}
	for i, b := range []*plan.FrameBound{&f.From, &f.To} {
		if b.Offset == nil {
			continue
		}
		t := b.Offset.Type()
		if f.Rows && t.Kind == plan.KindInt || !f.Rows && measures(t) {
			continue
		}
		want := `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")`
		if f.Rows {
			want = sqlType(plan.Int)
		}
		return frameMismatch(f, "SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE",
			fmt.Sprintf("an end of the frame is given by %s, but %s is needed.", t.SQL(), want),
			"location", [...]string{"lower", "upper"}[i], "exprType", sqlType(t), "expectedType", want)
	}
	if err := x.sameOffsets(f); err != nil {
		return err
	}
	from, ok1 := distance(&f.From)
	to, ok2 := distance(&f.To)
	switch {
	case !ok1 || !ok2:
		return nil
	case from > to:
		return frameMismatch(f, "SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", "the frame ends before it begins.",
			"comparison", "less than or equal")
	default:
		return nil
	}
}

// sameOffsets refuses ends that are given in different units.
func (x *exprs) sameOffsets(f *plan.WindowFrame) *plan.Error {
	from, to := f.From.Offset, f.To.Offset
	if from == nil || to == nil || from.Type().Equal(to.Type()) {
		return nil
	}
	text := func(b *plan.FrameBound) string {
		if b.Kind == plan.Preceding {
			return quoted("(- " + x.sqlText(b.Offset) + ")")
		}
		return x.sqlExpr(b.Offset)
	}
	return frameMismatch(f, "SPECIFIED_WINDOW_FRAME_DIFF_TYPES",
		"the ends of the frame are given by "+from.Type().SQL()+" and "+to.Type().SQL()+".",
		"lower", text(&f.From), "upper", text(&f.To),
		"lowerType", sqlType(from.Type()), "upperType", sqlType(to.Type()))
}

func measures(t plan.Type) bool {
	switch t.Kind {
	case plan.KindDayTime, plan.KindYearMonth, plan.KindCalendar:
		return true
	default:
		return t.IsNumeric()
	}
}

// distance is an offset that is an integer literal, negative before the row.
func distance(b *plan.FrameBound) (int64, bool) {
	e := b.Offset
	if c, ok := e.(*plan.Cast); ok && c.Implicit {
		e = c.Child
	}
	l, ok := e.(*plan.Literal)
	if !ok {
		return 0, false
	}
	n, ok := l.Value.(int64)
	if b.Kind == plan.Preceding {
		n = -n
	}
	return n, ok
}

func frameMismatch(f *plan.WindowFrame, subclass, msg string, args ...string) *plan.Error {
	args = append(args, "sqlExpr", quoted(plan.FrameText(f)))
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH."+subclass, msg, args...)
}

// checkRange refuses frames of values that the order does not give.
func (x *exprs) checkRange(w *plan.Windowed) *plan.Error {
	spec := quoted(plan.WindowSpecText(w.Partition, w.Order, &w.Frame, false))
	mismatch := func(subclass, msg string, args ...string) *plan.Error {
		return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH."+subclass, msg,
			append(args, "sqlExpr", spec)...)
	}
	f := &w.Frame
	whole := f.From.Kind == plan.UnboundedPreceding && f.To.Kind == plan.UnboundedFollowing
	offset := f.From.Offset
	if offset == nil {
		offset = f.To.Offset
	}
	switch {
	case !whole && len(w.Order) == 0:
		return mismatch("RANGE_FRAME_WITHOUT_ORDER", "a RANGE frame needs ORDER BY.")
	case offset == nil:
		return nil
	case len(w.Order) > 1:
		keys := make([]string, len(w.Order))
		for i, o := range w.Order {
			keys[i] = plan.TreeText(o)
		}
		return mismatch("RANGE_FRAME_MULTI_ORDER", "a RANGE frame of values needs one key in ORDER BY.",
			"orderSpec", strings.Join(keys, ","))
	case !rangeFits(w.Order[0].Type(), offset.Type()):
		key, t := w.Order[0].Type(), offset.Type()
		return mismatch("RANGE_FRAME_INVALID_TYPE",
			fmt.Sprintf("rows ordered by %s cannot have a frame of %s.", key.SQL(), t.SQL()),
			"orderSpecType", sqlType(key), "valueBoundaryType", sqlType(t))
	default:
		return nil
	}
}

// rangeFits reports whether an offset can be added to a key.
func rangeFits(key, offset plan.Type) bool {
	switch key.Kind {
	case plan.KindDate:
		return offset.Kind == plan.KindInt || offset.Kind == plan.KindYearMonth ||
			offset.Kind == plan.KindDayTime && offset.End == offset.Start && offset.Simple() == "interval day"
	case plan.KindTimestamp, plan.KindTimestampNTZ:
		return offset.Kind == plan.KindCalendar || offset.Kind == plan.KindYearMonth ||
			offset.Kind == plan.KindDayTime
	default:
		return key.Equal(offset)
	}
}

// limits computes what the key of a RANGE frame with offsets is compared with.
func (x *exprs) limits(w *plan.Windowed) error {
	for _, b := range []*plan.FrameBound{&w.Frame.From, &w.Frame.To} {
		if b.Offset == nil {
			continue
		}
		key := w.Order[0]
		op := "+"
		if (b.Kind == plan.Preceding) != key.Descending {
			op = "-"
		}
		if key.Type().Kind == plan.KindDate && b.Offset.Type().Kind == plan.KindInt {
			op = map[string]string{"+": "date_add", "-": "date_sub"}[op]
		}
		e, err := x.bind(op, key.Child, b.Offset)
		if err != nil {
			return err
		}
		b.Limit = x.implicitly(e, key.Type())
	}
	return nil
}

// windowRelations computes the window functions of each projection below it, in
// a Window for each partition and order.
func windowRelations(a *Analyzer, n plan.Node) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		p, ok := m.(*plan.Project)
		if !ok {
			return m, nil
		}
		return extractWindows(a, p), nil
	})
}

func extractWindows(a *Analyzer, p *plan.Project) plan.Node {
	list, in := p.Exprs, p.Input
	for {
		x := &windowExtractor{Analyzer: a}
		out := make([]plan.Expr, len(list))
		for i, e := range list {
			out[i] = x.item(e)
		}
		if len(x.found) == 0 {
			m := *p
			m.Exprs, m.Input = list, in
			return &m
		}
		for _, group := range x.groups() {
			in = plan.NewWindow(in, group...)
		}
		list = carryNames(list, out)
	}
}

// windowExtractor takes the window functions out of expressions that hold no
// others.
type windowExtractor struct {
	*Analyzer
	found []*plan.Alias
}

func (x *windowExtractor) item(e plan.Expr) plan.Expr {
	a, named := e.(*plan.Alias)
	if !named {
		return x.part(e)
	}
	w, ok := a.Child.(*plan.Windowed)
	if !ok || innerWindow(w) {
		return a.WithChildren([]plan.Expr{x.part(a.Child)})
	}
	x.found = append(x.found, a)
	return plan.ToAttribute(a)
}

func (x *windowExtractor) part(e plan.Expr) plan.Expr {
	w, ok := e.(*plan.Windowed)
	if ok && !innerWindow(w) {
		for _, f := range x.found {
			if sameExpr(f.Child, w) {
				return plan.ToAttribute(f)
			}
		}
		a := &plan.Alias{Child: w, Names: []string{fmt.Sprintf("_we%d", len(x.found))}, ID: x.IDs.Next(),
			Generated: true}
		x.found = append(x.found, a)
		return plan.ToAttribute(a)
	}
	children := e.Children()
	if len(children) == 0 {
		return e
	}
	list := make([]plan.Expr, len(children))
	for i, c := range children {
		list[i] = x.part(c)
	}
	return e.WithChildren(list)
}

func innerWindow(w *plan.Windowed) bool {
	for _, c := range w.Children() {
		if hasWindow(c) {
			return true
		}
	}
	return false
}

// groups are the functions found, together those of one partition and order.
func (x *windowExtractor) groups() [][]*plan.Alias {
	var out [][]*plan.Alias
next:
	for _, a := range x.found {
		w := a.Child.(*plan.Windowed)
		for i, g := range out {
			if sameWindow(w, g[0].Child.(*plan.Windowed)) {
				out[i] = append(g, a)
				continue next
			}
		}
		out = append(out, []*plan.Alias{a})
	}
	return out
}

func sameWindow(a, b *plan.Windowed) bool {
	if len(a.Partition) != len(b.Partition) || len(a.Order) != len(b.Order) {
		return false
	}
	for i, e := range a.Partition {
		if !sameExpr(e, b.Partition[i]) {
			return false
		}
	}
	for i, o := range a.Order {
		if !sameExpr(o, b.Order[i]) {
			return false
		}
	}
	return true
}

// windowOnStream refuses window functions over a stream, whose rows are never
// all there.
func windowOnStream(n *plan.Window) error {
	var functions, columns, specs []string
	for _, a := range n.Exprs {
		w := a.Child.(*plan.Windowed)
		functions = append(functions, strings.ToUpper(plan.QualifiedText(w.Function, nil)))
		columns = append(columns, plan.Quote(a.Names[0]))
		specs = append(specs, strings.ToUpper(plan.WindowSpecText(w.Partition, w.Order, &w.Frame, true)))
	}
	return plan.AnalysisError("NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING",
		"a stream cannot be seen through "+strings.Join(functions, ", ")+"; only windows of time can.",
		"windowFunc", strings.Join(functions, ", "), "columnName", strings.Join(columns, ", "),
		"windowSpec", strings.Join(specs, ", "))
}
