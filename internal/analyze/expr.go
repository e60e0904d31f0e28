package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// expr resolves an expression that is part of another.
func (x *exprs) expr(e plan.Expr) (plan.Expr, error) { return x.resolve(e, false) }

// resolve resolves an expression; top says that it is a whole item of a select
// list.
func (x *exprs) resolve(e plan.Expr, top bool) (plan.Expr, error) {
	if err := x.enter(); err != nil {
		return nil, err
	}
	defer x.leave()
	switch n := e.(type) {
	case nil:
		return nil, malformed("an expression is missing")
	case *plan.Literal:
		return literal(n), nil
	case *plan.Attribute:
		return e, nil
	case *plan.UnresolvedAttribute:
		return x.column(n, top)
	case *plan.UnresolvedFunction:
		return x.function(n)
	case *plan.Alias:
		return x.alias(n)
	case *plan.Cast:
		return x.cast(n)
	case *plan.ExtractValue:
		return x.extractValue(n)
	case *plan.UpdateFields:
		return x.updateFields(n)
	case *plan.Subquery:
		return x.subquery(n)
	case *plan.UnresolvedStar, *plan.UnresolvedRegex:
		return nil, x.misplacedStar(e)
	default:
		return x.resolveRare(e)
	}
}

func (x *exprs) resolveRare(e plan.Expr) (plan.Expr, error) {
	switch n := e.(type) {
	case *plan.Parameter:
		return nil, unboundParameter(n)
	case *plan.PythonUDF:
		return x.pythonCall(n)
	case *plan.TypedLiteral:
		return x.typedLiteral(n)
	case *plan.WindowCall:
		return x.windowCall(n)
	case *plan.Lambda:
		return nil, x.misplacedLambda(n)
	default:
		return x.children(e)
	}
}

// children resolves the parts of an expression that is resolved itself.
func (x *exprs) children(e plan.Expr) (plan.Expr, error) {
	children := e.Children()
	if len(children) == 0 {
		return e, nil
	}
	list, err := x.all(children)
	if err != nil {
		return nil, err
	}
	return e.WithChildren(list), nil
}

func (x *exprs) all(list []plan.Expr) ([]plan.Expr, error) {
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = x.expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// literal is a constant as a value of a column: CHAR and VARCHAR are strings.
func literal(n *plan.Literal) plan.Expr {
	if t := n.Of; t.Kind == plan.KindChar || t.Kind == plan.KindVarChar {
		return plan.Lit(n.Value, plan.String)
	}
	return n
}

func (x *exprs) alias(n *plan.Alias) (plan.Expr, error) {
	if len(n.Names) == 0 {
		return nil, malformed("an alias has no name")
	}
	child, err := x.expr(n.Child)
	if err != nil {
		return nil, err
	}
	m := *n
	m.Child = unnamed(child)
	m.ID = x.IDs.Next()
	return &m, x.notAnOrder(m.Child)
}

// unnamed takes names off an expression.
func unnamed(e plan.Expr) plan.Expr {
	for {
		a, ok := e.(*plan.Alias)
		if !ok {
			return e
		}
		e = a.Child
	}
}

func (x *exprs) cast(n *plan.Cast) (plan.Expr, error) {
	child, err := x.expr(n.Child)
	if err != nil {
		return nil, err
	}
	m := *n
	m.Child, m.To = child, n.To.Unbounded()
	if m.Mode == plan.CastDefault {
		m.Mode = x.castMode()
	}
	if err := function.CheckCast(&m, x.Eval); err != nil {
		return nil, err
	}
	return &m, nil
}

func (r *resolver) castMode() plan.CastMode {
	if r.Eval.ANSI {
		return plan.CastANSI
	}
	return plan.CastLegacy
}

// implicitly casts an expression to a type that coercion chose. The name and
// the identity of a column are lost, so its user names it again.
func (r *resolver) implicitly(e plan.Expr, to plan.Type) plan.Expr {
	if e.Type().EqualIgnoringNull(to) {
		return e
	}
	if l, ok := e.(*plan.Literal); ok && l.Value == nil {
		return plan.Lit(nil, to)
	}
	return &plan.Cast{Child: e, To: to, Mode: r.castMode(), Implicit: true}
}

// function binds a call.
func (x *exprs) function(n *plan.UnresolvedFunction) (plan.Expr, error) { return x.called(n, nil) }

// readsFiles reports whether rows of the inputs may come from files.
func (x *exprs) readsFiles() bool {
	for _, in := range x.inputs {
		if !plan.WalkNodes(in, func(n plan.Node) bool {
			s, ok := n.(*plan.Scan)
			return !ok || len(s.Relation.Paths) == 0
		}) {
			return true
		}
	}
	return false
}

// called binds a call, which stands before OVER when over is not nil.
func (x *exprs) called(n *plan.UnresolvedFunction, over *over) (plan.Expr, error) {
	name, err := x.functionName(n)
	if err != nil {
		return nil, err
	}
	def, builtin := function.Lookup(name)
	in := x
	aggregates := builtin && def.BindAggregate != nil || !builtin && (isMark(name) || x.aggregatesBy(name))
	if x.below != nil && over == nil && aggregates {
		in = x.below
	}
	b := &function.Binding{Name: name, Distinct: n.Distinct, Origin: n.Origin, Env: x.Eval,
		Lambda: x.lambdaBody, Level: x.level()}
	b.IgnoreNulls = over != nil && over.ignoreNulls
	if b.Args, err = in.arguments(n, name, builtin && def.Higher != nil); err != nil {
		return nil, err
	}
	if err := x.noGenerator(n, b.Args); err != nil {
		return nil, err
	}
	if !builtin || def.BindAggregate == nil { // listagg has its order among its arguments
		if err := x.notAnOrder(b.Args...); err != nil {
			return nil, err
		}
	}
	if name == "input_file_name" && x.readsFiles() {
		return nil, plan.Unsupported(
			"input_file_name() of files, whose column _metadata.file_path says the same,").At(n.Origin)
	}
	if n.Filter != nil {
		if b.Filter, err = in.condition(n.Filter, "FILTER", nil); err != nil {
			return nil, err
		}
	}
	if !builtin && isMark(name) {
		return x.mark(n, b.Args)
	}
	if bind := windowFunctions[strings.ToLower(name)]; bind != nil && !builtin {
		return bind(x, n, b.Args)
	}
	if builtin && def.Internal && n.Internal {
		b.Def = def
	}
	if !builtin || def.Hidden && b.Def == nil {
		return x.notOnShelf(n, name, b.Args, over)
	}
	if b.Args, err = x.padded(def.Name, b.Args); err != nil {
		return nil, err
	}
	if def.Name == "not" && len(b.Args) == 1 {
		b.Args[0] = underNot(b.Args[0])
	}
	e, err := function.BindCall(b)
	switch {
	case err != nil:
		return nil, err
	case def.Higher != nil:
		return e, x.noGenerator(n, e.(*plan.Call).Args)
	case over != nil:
		return e, nil
	case def.Window != nil:
		return nil, plan.AnalysisError("WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", def.Name+" needs OVER.",
			"funcName", x.sqlExpr(e)).At(cmp.Or(x.query, n.Origin))
	}
	return x.aggregateCall(e)
}

// underNot turns the sense of every IN of a subquery that a NOT reaches, through AND, OR
// and further NOTs: Spark moves NOT down to them.
func underNot(e plan.Expr) plan.Expr {
	switch n := e.(type) {
	case *plan.Subquery:
		m := *n
		m.Negated = !n.Negated
		return &m
	case *plan.Call:
		if !slices.Contains([]string{"and", "or", "not"}, n.Name) || !holdsSubquery(n) {
			return n
		}
		list := make([]plan.Expr, len(n.Args))
		for i, arg := range n.Args {
			list[i] = underNot(arg)
		}
		return n.WithChildren(list)
	default:
		return e
	}
}

// notOnShelf is a call of a function of the session, or the error about one that
// nobody knows.
func (x *exprs) notOnShelf(n *plan.UnresolvedFunction, name string, args []plan.Expr, over *over,
) (plan.Expr, error) {
	if udf := x.Names.Function(name); udf != nil {
		call := *udf
		call.Args = args
		return x.registered(n, &call, over)
	}
	if x.pythonTable(name) != nil {
		return nil, plan.AnalysisError("NOT_A_SCALAR_FUNCTION",
			name+" is a table function, which stands in FROM.", "functionName", plan.QuoteParts(n.Name)).At(n.Origin)
	}
	if function.SparkHas(name) {
		return nil, plan.Unsupported("the function " + plan.Quote(strings.ToLower(name))).At(n.Origin)
	}
	return nil, x.unresolvedRoutine(n)
}

// aggregateCall checks a bound call that may be one of an aggregate.
func (x *exprs) aggregateCall(e plan.Expr) (plan.Expr, error) {
	agg, ok := e.(*plan.AggregateCall)
	if !ok {
		return e, nil
	}
	if err := x.notNested(agg); err != nil {
		return nil, err
	}
	if err := x.closed(agg); err != nil {
		return nil, err
	}
	if x.lift != nil {
		return x.lift.keep(agg), nil
	}
	return e, nil
}

// functionName is the one-part name of a function, which may stand behind the
// name of the namespace of built-in or of the session's functions.
func (x *exprs) functionName(n *plan.UnresolvedFunction) (string, error) {
	if len(n.Name) == 0 {
		return "", malformed("a function has no name")
	}
	parts := n.Name
	if len(parts) == 3 && strings.EqualFold(parts[0], "system") {
		parts = parts[1:]
	}
	if len(parts) == 2 && (strings.EqualFold(parts[0], "builtin") || strings.EqualFold(parts[0], "session")) {
		parts = parts[1:]
	}
	if len(parts) != 1 {
		return "", x.unresolvedRoutine(n)
	}
	return parts[0], nil
}

func (r *resolver) unresolvedRoutine(n *plan.UnresolvedFunction) error {
	name := plan.QuoteParts(n.Name)
	return plan.AnalysisError("UNRESOLVED_ROUTINE", fmt.Sprintf("function %s is not known.", name),
		"routineName", name, "searchPath", r.Names.SearchPath()).At(n.Origin)
}

// arguments resolves the arguments of a call and spreads stars among them. Those
// of a higher-order function may be lambdas, which wait for what they are given.
func (x *exprs) arguments(n *plan.UnresolvedFunction, name string, higher bool) ([]plan.Expr, error) {
	if strings.EqualFold(name, "count") && len(n.Args) == 1 {
		if star, ok := n.Args[0].(*plan.UnresolvedStar); ok {
			return x.counted(star, n.Distinct)
		}
	}
	out := make([]plan.Expr, 0, len(n.Args))
	for _, a := range n.Args {
		if star, ok := a.(*plan.UnresolvedStar); ok {
			list, err := x.star(star)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
			continue
		}
		if l, ok := a.(*plan.Lambda); ok {
			if !higher {
				return nil, x.notHigher(n)
			}
			out = append(out, l)
			continue
		}
		e, err := x.expr(a)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// noGenerator refuses a function that yields rows among the arguments of
// another.
func (x *exprs) noGenerator(n *plan.UnresolvedFunction, args []plan.Expr) error {
	if !slices.ContainsFunc(args, x.generates) {
		return nil
	}
	call := &plan.UnresolvedFunction{Name: n.Name, Args: args, Distinct: n.Distinct}
	if x.clause != "Project" && x.clause != "Aggregate" {
		return outsideSelect("'" + x.clause + " " + x.sqlText(call))
	}
	return x.nestedGenerator(call)
}

// generates is hasGenerator for what is asked at every call, of the same parts again and
// again: it looks at each once.
func (r *resolver) generates(e plan.Expr) bool {
	if r.rowless[e] {
		return false
	}
	if c, ok := e.(*plan.Call); ok && yieldsRows(c) || slices.ContainsFunc(e.Children(), r.generates) {
		return true
	}
	if r.rowless == nil {
		r.rowless = map[plan.Expr]bool{}
	}
	r.rowless[e] = true
	return false
}

// outsideSelect says that a generator stands where rows cannot be added.
func outsideSelect(where string) *plan.Error {
	return plan.AnalysisError("UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
		"a function that yields rows stands outside of SELECT.", "plan", where)
}

// counted is what count(*) counts.
func (x *exprs) counted(star *plan.UnresolvedStar, distinct bool) ([]plan.Expr, error) {
	switch {
	case len(star.Target) > 0 && !distinct:
		name := plan.QuoteParts(star.Target)
		return nil, plan.AnalysisError("INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT",
			fmt.Sprintf("count(%s.*) is not allowed; name the columns.", name), "tableName", name)
	case !distinct && len(star.Except) == 0:
		return []plan.Expr{plan.Lit(int64(1), plan.Int)}, nil
	}
	return x.star(star)
}

// notNested refuses an aggregate among the arguments of another, and names that
// the same select list gave.
func (x *exprs) notNested(agg *plan.AggregateCall) error {
	for _, c := range agg.Children() {
		if hasLateral(c) {
			return plan.AnalysisError("UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC",
				"an aggregate function cannot use a name that the same select list gives.",
				"lca", lateralName(c), "aggFunc", x.sqlExpr(agg))
		}
		if hasWindow(c) {
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_1031",
				"a window function stands in the argument of an aggregate function.")
		}
		var inner *plan.AggregateCall
		plan.Walk(c, func(e plan.Expr) bool {
			if a, ok := e.(*plan.AggregateCall); ok && inner == nil {
				inner = a
			}
			return inner == nil
		})
		if inner != nil {
			err := plan.AnalysisError("NESTED_AGGREGATE_FUNCTION",
				"an aggregate function stands in the argument of another.")
			err.Hint = "Compute the inner one in a subquery."
			return err.At(inner.Origin)
		}
	}
	return nil
}

func unboundParameter(n *plan.Parameter) error {
	name := n.Name
	if name == "" {
		start := 0
		if n.Origin != nil {
			start = n.Origin.Start
		}
		name = fmt.Sprintf("_%d", start)
	}
	return plan.AnalysisError("UNBOUND_SQL_PARAMETER",
		fmt.Sprintf("no value was given for the parameter %s.", name), "name", name).At(n.Origin)
}

func (x *exprs) misplacedStar(e plan.Expr) error {
	elem, origin := "'*'", (*plan.Origin)(nil)
	switch n := e.(type) {
	case *plan.UnresolvedStar:
		origin = n.Origin
	case *plan.UnresolvedRegex:
		elem = "regular expression '" + n.Pattern + "'"
	}
	return plan.AnalysisError("INVALID_USAGE_OF_STAR_OR_REGEX",
		fmt.Sprintf("%s cannot be used in %s.", elem, x.clause), "elem", elem, "prettyName", x.clause).At(origin)
}

// condition resolves a predicate. where names the clause in errors, at is its
// query's place.
func (x *exprs) condition(e plan.Expr, where string, at *plan.Origin) (plan.Expr, error) {
	cond, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	cond = unnamed(cond)
	if cond.Type().Kind == plan.KindBoolean {
		return cond, nil
	}
	if where == "HAVING" { // alone casts what it is given
		c := &plan.Cast{Child: cond, To: plan.Boolean, Mode: x.castMode(), Implicit: true}
		return c, function.CheckCast(c, x.Eval)
	}
	return nil, x.notBoolean(cond, where).At(at)
}

func (r *resolver) notBoolean(cond plan.Expr, where string) *plan.Error {
	text, name := r.sqlExpr(cond), sqlType(cond.Type())
	msg := fmt.Sprintf("the condition %s is %s, not BOOLEAN.", r.sqlText(cond), cond.Type().SQL())
	switch where {
	case "FILTER":
		return plan.AnalysisError("INVALID_AGGREGATE_FILTER.NOT_BOOLEAN", msg, "filterExpr", text)
	case "JOIN":
		return plan.AnalysisError("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", msg,
			"joinCondition", text, "conditionType", name)
	}
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", msg,
		"sqlExpr", text, "filter", text, "type", name)
}
