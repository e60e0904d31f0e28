package function

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// BindCall binds a call by name: to a scalar function, an aggregate, or what it
// is short for. A name that is not on the shelf is UNRESOLVED_ROUTINE.
func BindCall(b *Binding) (plan.Expr, error) {
	if b.Def == nil {
		d, ok := Lookup(b.Name)
		if !ok || d.Hidden {
			return nil, UnresolvedRoutine(b)
		}
		bound := *b
		bound.Def = d
		b = &bound
	}
	d := b.Def
	if d.BindAggregate == nil && (b.Distinct || b.Filter != nil) {
		return nil, notAnAggregate(b)
	}
	switch {
	case d.Rewrite != nil:
		return d.Rewrite(b)
	case d.BindAggregate != nil:
		return asExpr(d.BindAggregate(b))
	default:
		return asExpr(d.Bind(b))
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
	path := b.Env.conf(SearchPath)
	if path == "" {
		path = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"
	}
	return plan.AnalysisError("UNRESOLVED_ROUTINE", fmt.Sprintf("function %s is not known.", plan.Quote(b.Name)),
		"routineName", plan.Quote(b.Name), "searchPath", path).At(b.Origin)
}

func notAnAggregate(b *Binding) error {
	condition, arg := "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "DISTINCT"
	if b.Filter != nil {
		arg = "FILTER CLAUSE"
	}
	return plan.AnalysisError(condition, fmt.Sprintf("%s does not take %s.", plan.Quote(b.Name), arg),
		"prettyName", plan.Quote(b.Name), "syntax", arg).At(b.Origin)
}

// wrongCount says that a call has too few or too many arguments. expected is
// Spark's text: "2", "[1, 2]", "> 0".
func wrongCount(b *Binding, expected string) *plan.Error {
	name := plan.Quote(strings.ToLower(b.Name))
	e := plan.AnalysisError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
		fmt.Sprintf("%s takes %s arguments, not %d.", name, expected, len(b.Args)),
		"functionName", name, "expectedNum", expected, "actualNum", strconv.Itoa(len(b.Args)),
		"docroot", "https://spark.apache.org/docs/latest")
	return e
}

// between checks that the number of arguments lies in [least, most].
func (b *Binding) between(least, most int) error {
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
	return wrongCount(b, expected).At(b.Origin)
}

// unnamed drops the names that the user gave to parts of an expression.
func unnamed(e plan.Expr) plan.Expr {
	bare, _ := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if a, ok := p.(*plan.Alias); ok {
			return a.Child, nil
		}
		return p, nil
	})
	return bare
}

// mismatch is a DATATYPE_MISMATCH of a subclass about the expression e.
func mismatch(b *Binding, e plan.Expr, subclass, msg string, args ...string) *plan.Error {
	args = append(args, "sqlExpr", quoted(b.sql(unnamed(e))))
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH."+subclass, msg, args...).At(b.Origin)
}

var ordinals = [...]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
	"ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"}

func ordinal(i int) string {
	if i < len(ordinals) {
		return ordinals[i]
	}
	return strconv.Itoa(i+1) + "th"
}

// unexpected says that argument i of e is not of a type the parameter takes.
func unexpected(b *Binding, e plan.Expr, i int, want string) *plan.Error {
	arg := e.Children()[i]
	return mismatch(b, e, "UNEXPECTED_INPUT_TYPE",
		fmt.Sprintf("the %s argument of %s is %s, but %s is needed.", ordinal(i), b.sql(e), arg.Type().SQL(), want),
		"paramIndex", ordinal(i), "inputSql", quoted(b.sql(arg)), "inputType", sqlType(arg.Type()),
		"requiredType", want)
}

// diffTypes says that arguments that must share a type do not.
func diffTypes(b *Binding, e plan.Expr, name string, list string) *plan.Error {
	return mismatch(b, e, "DATA_DIFF_TYPES",
		fmt.Sprintf("the arguments of %s have types that do not fit together: %s.", name, list),
		"functionName", plan.Quote(name), "dataType", list)
}

// call is a bound call of the function under its canonical name.
func (b *Binding) call(args []plan.Expr, of plan.Type, null bool) *plan.Call {
	return &plan.Call{Name: b.Def.Name, Args: args, Of: of, Null: null, ANSI: b.Env.ANSI, Origin: b.Origin,
		Text: b.text()}
}

// text is how the call shows in column names when its own name does not do.
func (b *Binding) text() string {
	shown := b.shown()
	switch {
	case b.Text != "":
		return b.Text
	case shown == b.Def.Name:
		return ""
	default:
		return escaped(shown) + "($*)"
	}
}

// escaped is a text as a template that stands for itself.
func escaped(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func (b *Binding) shown() string {
	switch {
	case b.Def.ShownAsWritten && b.Name != "" && !strings.EqualFold(b.Name, b.Def.Name):
		return strings.ToLower(b.Name)
	case b.Def.Shown != "":
		return b.Def.Shown
	default:
		return b.Def.Name
	}
}

// sql is an expression as Spark writes it, times in the session's zone.
func (b *Binding) sql(e plan.Expr) string { return plan.SQLTextIn(e, b.Env.Zone) }

// written is the call as the user wrote it, for texts.
func (b *Binding) written() *plan.Call {
	return &plan.Call{Name: b.Def.Name, Args: b.Args, Text: b.text()}
}

// rewritten is what a call is short for, shown under the name the user wrote.
func rewritten(b *Binding, e plan.Expr) plan.Expr {
	text := escaped(b.sql(b.written()))
	switch e := e.(type) {
	case *plan.Call:
		c := *e
		c.Text = text
		return &c
	default:
		return e
	}
}

// nest binds a call that another function is written with.
func (b *Binding) nest(name string, args ...plan.Expr) (plan.Expr, error) {
	return BindCall(&Binding{Name: name, Args: args, Origin: b.Origin, Env: b.Env, Def: known(name)})
}

// known is a function of the shelf that must be there.
func known(name string) *Def {
	d, ok := Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	return d
}

func anyNullable(args []plan.Expr) bool {
	for _, a := range args {
		if a.Nullable() {
			return true
		}
	}
	return false
}

func typesOf(args []plan.Expr) []plan.Type {
	list := make([]plan.Type, len(args))
	for i, a := range args {
		list[i] = a.Type()
	}
	return list
}
