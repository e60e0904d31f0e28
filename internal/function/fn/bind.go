package fn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Bind binds a call by name: to a scalar function, an aggregate, or what it is
// short for. A name that is not on the shelf is UNRESOLVED_ROUTINE.
func (s *Shelf) Bind(call *Binding) (plan.Expr, error) {
	b := *call
	b.shelf = s
	if b.Def == nil {
		d, ok := s.Lookup(b.Name)
		if !ok || d.Hidden {
			return nil, UnresolvedRoutine(&b)
		}
		b.Def = d
	}
	d := b.Def
	b.Args, b.Orders = orders(b.Args)
	switch {
	case d.BindAggregate == nil && (b.Distinct || b.Filter != nil), len(b.Orders) > 0 && !d.Ordered:
		return nil, unsupportedSyntax(&b)
	}
	switch {
	case d.Rewrite != nil:
		return d.Rewrite(&b)
	case d.BindAggregate != nil:
		return asExpr(d.BindAggregate(&b))
	default:
		return asExpr(d.Bind(&b))
	}
}

// asExpr keeps a nil pointer from becoming an expression that is not nil.
func asExpr[E plan.Expr](e E, err error) (plan.Expr, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// SearchPath is the setting that Conf answers with the namespaces shown in
// UNRESOLVED_ROUTINE.
const SearchPath = "weir.function.searchPath"

// Settings of the session that functions ask Env.Conf for.
const (
	ConfCatalog  = "weir.current.catalog"
	ConfSchema   = "weir.current.schema"
	ConfUser     = "weir.current.user"
	ConfRevision = "weir.spark.revision" // what version() shows after the number
)

// UnresolvedRoutine says that no function has the name.
func UnresolvedRoutine(b *Binding) error {
	path := b.Env.Setting(SearchPath)
	if path == "" {
		path = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"
	}
	return plan.AnalysisError("UNRESOLVED_ROUTINE", fmt.Sprintf("function %s is not known.", plan.Quote(b.Name)),
		"routineName", plan.Quote(b.Name), "searchPath", path).At(b.Origin)
}

// orders parts the keys of WITHIN GROUP from the arguments before them.
func orders(args []plan.Expr) ([]plan.Expr, []*plan.SortOrder) {
	n := len(args)
	for n > 0 {
		if _, ok := args[n-1].(*plan.SortOrder); !ok {
			break
		}
		n--
	}
	var keys []*plan.SortOrder
	for _, a := range args[n:] {
		keys = append(keys, a.(*plan.SortOrder))
	}
	return args[:n:n], keys
}

// WithinGroup checks the numbers of arguments and of keys of a function that
// must be written with WITHIN GROUP.
func (b *Binding) WithinGroup(args, keys int) error {
	invalid := func(sub, msg string, params ...string) error {
		return plan.AnalysisError("INVALID_WITHIN_GROUP_EXPRESSION."+sub, msg,
			append([]string{"funcName", plan.Quote(b.ShownName())}, params...)...).At(b.Origin)
	}
	if err := b.Between(args, args); err != nil {
		return err
	}
	switch {
	case b.Distinct:
		return invalid("DISTINCT_UNSUPPORTED", b.ShownName()+" does not take DISTINCT.")
	case len(b.Orders) == 0:
		return invalid("WITHIN_GROUP_MISSING", b.ShownName()+" needs WITHIN GROUP (ORDER BY …).")
	case len(b.Orders) != keys:
		return invalid("WRONG_NUM_ORDERINGS", b.ShownName()+" orders by another number of keys.",
			"expectedNum", strconv.Itoa(keys), "actualNum", strconv.Itoa(len(b.Orders)))
	default:
		return nil
	}
}

func unsupportedSyntax(b *Binding) error {
	condition, arg := "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "DISTINCT"
	switch {
	case len(b.Orders) > 0 && !b.Def.Ordered:
		arg = "WITHIN GROUP (ORDER BY ...)"
	case b.Filter != nil:
		arg = "FILTER CLAUSE"
	}
	return plan.AnalysisError(condition, fmt.Sprintf("%s does not take %s.", plan.Quote(b.Name), arg),
		"prettyName", plan.Quote(b.Name), "syntax", arg).At(b.Origin)
}

// WrongCount says that a call has too few or too many arguments. expected is
// Spark's text: "2", "[1, 2]", "> 0".
func WrongCount(b *Binding, expected string) *plan.Error {
	name := plan.Quote(strings.ToLower(b.Name))
	e := plan.AnalysisError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
		fmt.Sprintf("%s takes %s arguments, not %d.", name, expected, len(b.Args)),
		"functionName", name, "expectedNum", expected, "actualNum", strconv.Itoa(len(b.Args)),
		"docroot", "https://spark.apache.org/docs/latest")
	return e
}

// Between checks that the number of arguments lies in [least, most].
func (b *Binding) Between(least, most int) error {
	if len(b.Args) >= least && len(b.Args) <= most {
		return nil
	}
	counts := make([]string, 0, most-least+1)
	for n := least; n <= most; n++ {
		counts = append(counts, strconv.Itoa(n))
	}
	expected := counts[0]
	if least != most {
		expected = "[" + strings.Join(counts, ", ") + "]"
	}
	return WrongCount(b, expected).At(b.Origin)
}

// Unnamed drops the names that the user gave to parts of an expression.
func Unnamed(e plan.Expr) plan.Expr {
	bare, _ := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if a, ok := p.(*plan.Alias); ok {
			return a.Child, nil
		}
		return p, nil
	})
	return bare
}

// Mismatch is a DATATYPE_MISMATCH of a subclass about the expression e.
func Mismatch(b *Binding, e plan.Expr, subclass, msg string, args ...string) *plan.Error {
	args = append(args, "sqlExpr", Quoted(b.SQL(Unnamed(e))))
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH."+subclass, msg, args...).At(b.Origin)
}

var ordinals = [...]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
	"ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"}

func Ordinal(i int) string {
	if i < len(ordinals) {
		return ordinals[i]
	}
	return strconv.Itoa(i+1) + "th"
}

// Unexpected says that argument i of e is not of a type the parameter takes.
func Unexpected(b *Binding, e plan.Expr, i int, want string) *plan.Error {
	arg := e.Children()[i]
	return Mismatch(b, e, "UNEXPECTED_INPUT_TYPE",
		fmt.Sprintf("the %s argument of %s is %s, but %s is needed.", Ordinal(i), b.SQL(e), arg.Type().SQL(), want),
		"paramIndex", Ordinal(i), "inputSql", Quoted(b.SQL(arg)), "inputType", SqlType(arg.Type()),
		"requiredType", want)
}

// DiffTypes says that arguments that must share a type do not.
func DiffTypes(b *Binding, e plan.Expr, name string, list string) *plan.Error {
	return Mismatch(b, e, "DATA_DIFF_TYPES",
		fmt.Sprintf("the arguments of %s have types that do not fit together: %s.", name, list),
		"functionName", plan.Quote(name), "dataType", list)
}

// Call is a bound call of the function under its canonical name.
func (b *Binding) Call(args []plan.Expr, of plan.Type, null bool) *plan.Call {
	return &plan.Call{Name: b.Def.Name, Args: args, Of: of, Null: null, ANSI: b.Env.ANSI, Origin: b.Origin,
		Text: b.text()}
}

// text is how the call shows in column names when its own name does not do.
func (b *Binding) text() string {
	shown := b.ShownName()
	switch {
	case b.Text != "":
		return b.Text
	case shown == b.Def.Name:
		return ""
	default:
		return Escaped(shown) + "($*)"
	}
}

// Escaped is a text as a template that stands for itself.
func Escaped(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func (b *Binding) ShownName() string {
	switch {
	case b.Def.ShownAsWritten && b.Name != "" && !strings.EqualFold(b.Name, b.Def.Name):
		return strings.ToLower(b.Name)
	case b.Def.Shown != "":
		return b.Def.Shown
	default:
		return b.Def.Name
	}
}

// SQL is an expression as Spark writes it, times in the session's zone.
func (b *Binding) SQL(e plan.Expr) string { return plan.SQLTextIn(e, b.Env.Zone) }

// Written is the call as the user wrote it, for texts.
func (b *Binding) Written() *plan.Call {
	return &plan.Call{Name: b.Def.Name, Args: b.Args, Text: b.text()}
}

// Rewritten is what a call is short for, shown under the name the user wrote.
func Rewritten(b *Binding, e plan.Expr) plan.Expr {
	text := Escaped(b.SQL(b.Written()))
	switch e := e.(type) {
	case *plan.Call:
		c := *e
		c.Text = text
		return &c
	default:
		return e
	}
}

// Nest binds a call that another function is written with.
func (b *Binding) Nest(name string, args ...plan.Expr) (plan.Expr, error) {
	return b.NestAs(name, "", args...)
}

// NestAs is nest with a template of how the call shows.
func (b *Binding) NestAs(name, text string, args ...plan.Expr) (plan.Expr, error) {
	d, ok := b.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	return b.shelf.Bind(&Binding{Name: name, Args: args, Origin: b.Origin, Env: b.Env, Def: d, Text: text,
		Lambda: b.Lambda, Level: b.Level})
}

// Lookup finds another function on the shelf that the call is bound from.
func (b *Binding) Lookup(name string) (*Def, bool) { return b.shelf.Lookup(name) }

func AnyNullable(args []plan.Expr) bool {
	for _, a := range args {
		if a.Nullable() {
			return true
		}
	}
	return false
}

func TypesOf(args []plan.Expr) []plan.Type {
	list := make([]plan.Type, len(args))
	for i, a := range args {
		list[i] = a.Type()
	}
	return list
}

// AggregateCall turns a bound call into one of an aggregate.
func (b *Binding) AggregateCall(c *plan.Call) (*plan.AggregateCall, error) {
	if f := b.Filter; f != nil && f.Type().Kind != plan.KindBoolean {
		return nil, plan.AnalysisError("INVALID_AGGREGATE_FILTER.NOT_BOOLEAN",
			"the FILTER of an aggregate must be a condition, not "+f.Type().SQL()+".",
			"filterExpr", Quoted(b.SQL(f))).At(b.Origin)
	}
	return &plan.AggregateCall{Name: c.Name, Args: c.Args, Distinct: b.Distinct, Filter: b.Filter, Of: c.Of,
		Null: c.Null, ANSI: c.ANSI, Origin: c.Origin, Text: c.Text}, nil
}

// Onto binds a call to another function with the same arguments, shown under
// the name the user wrote.
func (b *Binding) Onto(name string, least, most int) (plan.Expr, error) {
	if err := b.Between(least, most); err != nil {
		return nil, err
	}
	e, err := b.Nest(name, b.Args...)
	if err != nil {
		return nil, err
	}
	return Rewritten(b, e), nil
}

func TypeList(args []plan.Expr, between string) string {
	list := ""
	for i, a := range args {
		if i > 0 {
			list += between
		}
		list += SqlType(a.Type())
	}
	return list
}
