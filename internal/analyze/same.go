package analyze

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// sameExpr reports whether two resolved expressions compute the same value for
// every row. Names and places in the text do not count.
func sameExpr(a, b plan.Expr) bool {
	switch x := a.(type) {
	case *plan.Literal:
		y, ok := b.(*plan.Literal)
		return ok && x.Of.EqualIgnoringNull(y.Of) && reflect.DeepEqual(x.Value, y.Value)
	case *plan.Attribute:
		y, ok := b.(*plan.Attribute)
		return ok && x.ID == y.ID
	case *plan.Alias:
		return sameExpr(x.Child, unnamed(b))
	case *plan.Cast:
		y, ok := b.(*plan.Cast)
		return ok && x.To.EqualIgnoringNull(y.To) && x.Mode == y.Mode && sameExpr(x.Child, y.Child)
	case *plan.GetField:
		y, ok := b.(*plan.GetField)
		return ok && x.Ordinal == y.Ordinal && x.Each == y.Each && sameExpr(x.Child, y.Child)
	case *plan.Call:
		y, ok := b.(*plan.Call)
		return ok && x.Name == y.Name && x.ANSI == y.ANSI && !volatile(x) && x.Of.EqualIgnoringNull(y.Of) &&
			sameExprs(x.Args, y.Args)
	case *plan.LambdaFunction:
		y, ok := b.(*plan.LambdaFunction)
		return ok && len(x.Params) == len(y.Params) && sameExpr(x.Body, y.Body)
	case *plan.LambdaVariable:
		y, ok := b.(*plan.LambdaVariable)
		return ok && x.Level == y.Level && x.Index == y.Index
	case *plan.AggregateCall:
		y, ok := b.(*plan.AggregateCall)
		return ok && x.Name == y.Name && x.Distinct == y.Distinct && x.ANSI == y.ANSI &&
			(x.Filter == nil) == (y.Filter == nil) && samePython(x.Python, y.Python) &&
			sameExprs(x.Children(), y.Children())
	case *plan.PythonUDF:
		y, ok := b.(*plan.PythonUDF)
		return ok && samePython(x, y) && sameExprs(x.Args, y.Args)
	case *plan.SortOrder:
		y, ok := b.(*plan.SortOrder)
		return ok && x.Descending == y.Descending && x.NullsFirst == y.NullsFirst && sameExpr(x.Child, y.Child)
	case *plan.Windowed:
		y, ok := b.(*plan.Windowed)
		return ok && sameWindow(x, y) && x.Frame.Definition() == y.Frame.Definition() &&
			sameExpr(x.Function, y.Function)
	case *plan.Subquery:
		return a == b
	default:
		return false
	}
}

// samePython reports whether two functions, apart from their arguments, are one;
// nil is equal to nil.
func samePython(a, b *plan.PythonUDF) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Deterministic && a.Name == b.Name && bytes.Equal(a.Command, b.Command)
}

func volatile(c *plan.Call) bool {
	d := lookup(c.Name)
	return d != nil && d.Volatile
}

func sameExprs(a, b []plan.Expr) bool { return slices.EqualFunc(a, b, sameExpr) }

// indexOf is the place of an expression in a list, -1 when it is not there.
func indexOf(list []plan.Expr, e plan.Expr) int {
	return slices.IndexFunc(list, func(p plan.Expr) bool { return sameExpr(unnamed(p), e) })
}
