package eval

import (
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Canonical is a text that two expressions share when they always have the same
// value: grouping expressions are found again by it, and common parts of a
// projection are computed once. Names and places in the program do not count;
// a volatile call is equal to nothing else.
func Canonical(e plan.Expr) string { return string(appendCanon(nil, e)) }

func appendCanon(b []byte, e plan.Expr) []byte {
	b, kids := appendHead(b, e)
	if kids == nil {
		return b
	}
	b = append(b, '(')
	for _, k := range kids {
		b = append(appendCanon(b, k), ',')
	}
	return append(b, ')')
}

// Numbers gives expressions numbers, which two of them share when their canonical
// texts are equal. Each part is looked at once, however many expressions it is asked
// for within. Expressions must not change meanwhile. The zero value is ready.
type Numbers struct {
	known map[plan.Expr]int
	texts map[string]int // of a head and the numbers of its parts
}

// Of is the number of an expression.
func (n *Numbers) Of(e plan.Expr) int {
	if i, ok := n.known[e]; ok {
		return i
	}
	if n.known == nil {
		n.known, n.texts = map[plan.Expr]int{}, map[string]int{}
	}
	b, kids := appendHead(nil, e)
	for _, k := range kids {
		b = strconv.AppendInt(append(b, '('), int64(n.Of(k)), 10)
	}
	i, ok := n.texts[string(b)]
	if !ok {
		i = len(n.texts)
		n.texts[string(b)] = i
	}
	n.known[e] = i
	return i
}

// appendHead appends what an expression is apart from its parts, and returns those;
// nil when the text says everything.
func appendHead(b []byte, e plan.Expr) ([]byte, []plan.Expr) {
	switch n := e.(type) {
	case *plan.Attribute:
		return strconv.AppendInt(append(b, '#'), int64(n.ID), 10), nil
	case *plan.Literal:
		return fmt.Appendf(b, "'%s:%#v'", n.Of.SQL(), n.Value), nil
	case *plan.Alias:
		return appendHead(b, n.Child)
	case *plan.Cast:
		b = fmt.Appendf(b, "cast%d:%s", n.Mode, n.To.SQL())
	case *plan.GetField:
		b = fmt.Appendf(b, "field%d:%t", n.Ordinal, n.Each)
	case *plan.Call:
		if Volatile(n.Name) {
			return fmt.Appendf(b, "%s@%p", n.Name, n), nil
		}
		b = fmt.Appendf(b, "%q%t:%s", n.Name, n.ANSI, n.Of.SQL())
	case *plan.LambdaFunction:
		b = fmt.Appendf(b, "lambda%d", len(n.Params))
	case *plan.LambdaVariable:
		return fmt.Appendf(b, "var%d.%d", n.Level, n.Index), nil
	case *plan.AggregateCall:
		b = fmt.Appendf(b, "agg%q%t%t%t:%s", n.Name, n.ANSI, n.Distinct, n.Filter != nil, n.Of.SQL())
		if n.Python != nil {
			b = appendCanon(b, n.Python)
		}
	case *plan.PythonUDF:
		if !n.Deterministic {
			return fmt.Appendf(b, "py@%p", n), nil
		}
		b = fmt.Appendf(b, "py%q%d%q%q:%s", n.Name, n.EvalType, n.Command, n.Keywords, n.Returns.SQL())
	case *plan.SortOrder:
		b = fmt.Appendf(b, "sort%t%t", n.Descending, n.NullsFirst)
	case *plan.Subquery:
		b = fmt.Appendf(b, "sub%d%t@%p", n.Kind, n.Negated, n.Plan)
	default:
		return fmt.Appendf(b, "%T@%p", e, e), nil
	}
	if kids := e.Children(); kids != nil {
		return b, kids
	}
	return b, []plan.Expr{}
}

// Volatile reports functions whose calls give another value each time.
func Volatile(name string) bool {
	if _, own := ownFunctions[name]; own {
		return true
	}
	d, ok := function.Lookup(name)
	return ok && d.Volatile
}
