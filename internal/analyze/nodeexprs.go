package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// nodeExprs are the expressions that a resolved relation computes.
func nodeExprs(n plan.Node) []plan.Expr {
	switch n := n.(type) {
	case *plan.Project:
		return n.Exprs
	case *shadow:
		return n.Exprs
	case *plan.Filter:
		return []plan.Expr{n.Cond}
	case *plan.Aggregate:
		return append(append([]plan.Expr{}, n.Group...), n.Exprs...)
	case *plan.Join:
		if n.Cond == nil {
			return nil
		}
		return []plan.Expr{n.Cond}
	case *plan.Sort:
		out := make([]plan.Expr, len(n.Orders))
		for i, o := range n.Orders {
			out[i] = o
		}
		return out
	case *plan.Limit:
		var out []plan.Expr
		for _, e := range []plan.Expr{n.Count, n.Skip} {
			if e != nil {
				out = append(out, e)
			}
		}
		return out
	case *plan.Generate:
		return []plan.Expr{n.Generator}
	case *plan.Repartition:
		return n.Exprs
	case *plan.Observe:
		return n.Metrics
	case *plan.MapPython:
		return []plan.Expr{n.Func}
	case *plan.TablePython:
		return n.Exprs()
	case *plan.GroupPython:
		out := append([]plan.Expr{}, n.Keys...)
		if n.Side != nil {
			out = append(out, n.Side)
		}
		return append(out, n.Func)
	case *plan.TransformPython:
		return n.Exprs()
	case *plan.StatePython:
		return append(append([]plan.Expr{}, n.Keys...), n.Func)
	case *plan.Dedup:
		return attributeExprs(n.Keys)
	case *plan.Window:
		out := make([]plan.Expr, len(n.Exprs))
		for i, a := range n.Exprs {
			out[i] = a
		}
		return out
	case *plan.Watermark:
		return []plan.Expr{n.Column}
	case *plan.TimeWindow:
		if n.End != nil {
			return []plan.Expr{n.Time, n.End}
		}
		return []plan.Expr{n.Time}
	default:
		return nil
	}
}

// withExprs replaces the expressions that nodeExprs lists; their number and, of
// plain columns, their kind must stay.
func withExprs(n plan.Node, list []plan.Expr) plan.Node {
	switch n := n.(type) {
	case *plan.Project:
		m := *n
		m.Exprs = list
		return &m
	case *plan.Filter:
		m := *n
		m.Cond = list[0]
		return &m
	case *plan.Aggregate:
		m := *n
		m.Group, m.Exprs = list[:len(n.Group):len(n.Group)], list[len(n.Group):]
		return &m
	case *plan.Join:
		m := *n
		m.Cond = list[0]
		return &m
	case *plan.Sort:
		return plan.NewSort(n.Input, n.Global, each[*plan.SortOrder](list)...)
	case *plan.Limit:
		m := *n
		if n.Count != nil {
			m.Count, list = list[0], list[1:]
		}
		if n.Skip != nil {
			m.Skip = list[0]
		}
		return &m
	case *plan.Generate:
		m := *n
		m.Generator = list[0]
		return &m
	case *plan.Repartition:
		m := *n
		m.Exprs = list
		return &m
	case *plan.Observe:
		m := *n
		m.Metrics = list
		return &m
	case *plan.MapPython, *plan.GroupPython, *plan.StatePython, *plan.TransformPython, *plan.TablePython:
		return withPython(n, list)
	case *plan.Dedup:
		m := *n
		m.Keys = each[*plan.Attribute](list)
		return &m
	case *plan.Window:
		return plan.NewWindow(n.Input, each[*plan.Alias](list)...)
	case *plan.Watermark:
		m := *n
		m.Column = list[0]
		return &m
	case *plan.TimeWindow:
		m := *n
		m.Time = list[0]
		if n.End != nil {
			m.End = list[1]
		}
		return &m
	default:
		return n
	}
}

// each is expressions that are known to be of one kind.
func each[E plan.Expr](list []plan.Expr) []E {
	out := make([]E, len(list))
	for i, e := range list {
		out[i] = e.(E)
	}
	return out
}
