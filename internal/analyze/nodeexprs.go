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
	case *plan.Dedup:
		return attributeExprs(n.Keys)
	case *plan.Watermark:
		return []plan.Expr{n.Column}
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
		orders := make([]*plan.SortOrder, len(list))
		for i, e := range list {
			orders[i] = e.(*plan.SortOrder)
		}
		return plan.NewSort(n.Input, n.Global, orders...)
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
	case *plan.Dedup:
		m := *n
		m.Keys = make([]*plan.Attribute, len(list))
		for i, e := range list {
			m.Keys[i] = e.(*plan.Attribute)
		}
		return &m
	case *plan.Watermark:
		m := *n
		m.Column = list[0]
		return &m
	default:
		return n
	}
}
