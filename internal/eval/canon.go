package eval

import (
	"fmt"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Canonical is a text that two expressions share when they always have the same
// value: grouping expressions are found again by it, and common parts of a
// projection are computed once. Names and places in the program do not count;
// a volatile call is equal to nothing else.
func Canonical(e plan.Expr) string { return string(appendCanon(nil, e)) }

func appendCanon(b []byte, e plan.Expr) []byte {
	switch n := e.(type) {
	case *plan.Attribute:
		return fmt.Appendf(b, "#%d", n.ID)
	case *plan.Literal:
		return fmt.Appendf(b, "'%s:%#v'", n.Of.SQL(), n.Value)
	case *plan.Alias:
		return appendCanon(b, n.Child)
	case *plan.Cast:
		b = fmt.Appendf(b, "cast%d:%s", n.Mode, n.To.SQL())
	case *plan.GetField:
		b = fmt.Appendf(b, "field%d:%t", n.Ordinal, n.Each)
	case *plan.Call:
		if Volatile(n.Name) {
			return fmt.Appendf(b, "%s@%p", n.Name, n)
		}
		b = fmt.Appendf(b, "%q%t:%s", n.Name, n.ANSI, n.Of.SQL())
	case *plan.LambdaFunction:
		b = fmt.Appendf(b, "lambda%d", len(n.Params))
	case *plan.LambdaVariable:
		return fmt.Appendf(b, "var%d.%d", n.Level, n.Index)
	case *plan.AggregateCall:
		b = fmt.Appendf(b, "agg%q%t%t%t:%s", n.Name, n.ANSI, n.Distinct, n.Filter != nil, n.Of.SQL())
		if n.Python != nil {
			b = appendCanon(b, n.Python)
		}
	case *plan.PythonUDF:
		if !n.Deterministic {
			return fmt.Appendf(b, "py@%p", n)
		}
		b = fmt.Appendf(b, "py%q%d%q%q:%s", n.Name, n.EvalType, n.Command, n.Keywords, n.Returns.SQL())
	case *plan.SortOrder:
		b = fmt.Appendf(b, "sort%t%t", n.Descending, n.NullsFirst)
	case *plan.Subquery:
		b = fmt.Appendf(b, "sub%d%t@%p", n.Kind, n.Negated, n.Plan)
	default:
		return fmt.Appendf(b, "%T@%p", e, e)
	}
	b = append(b, '(')
	for _, c := range e.Children() {
		b = append(appendCanon(b, c), ',')
	}
	return append(b, ')')
}

// Volatile reports functions whose calls give another value each time.
func Volatile(name string) bool {
	if _, own := ownFunctions[name]; own {
		return true
	}
	d, ok := function.Lookup(name)
	return ok && d.Volatile
}
