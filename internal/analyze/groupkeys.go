package analyze

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// GroupKeys are the columns of a streaming query's result that tell the groups of its
// aggregation apart. operation is what needs them, for the error of a query that has no
// aggregation, or leaves one of its grouping columns out.
func GroupKeys(n plan.Node, operation string) ([]string, error) {
	out := n.Output()
	exprs := make([]plan.Expr, len(out))
	for i, a := range out {
		exprs[i] = a
	}
	for {
		switch m := n.(type) {
		case *plan.Project:
			exprs = behind(exprs, m.Exprs)
		case *plan.Aggregate:
			return keysOf(m, out, behind(exprs, m.Exprs), operation)
		case *plan.Filter, *plan.SubqueryAlias, *plan.Observe, *plan.Watermark, *plan.Repartition, *plan.Hint:
		default:
			return nil, plan.Unsupported(operation + " of a query whose rows are not the groups of an aggregation")
		}
		n = n.Children()[0]
	}
}

// behind are expressions over a node as expressions over its input.
func behind(exprs, of []plan.Expr) []plan.Expr {
	defs := map[plan.ExprID]plan.Expr{}
	for _, e := range of {
		if a, ok := e.(*plan.Alias); ok {
			defs[a.ID] = a
		}
	}
	out := make([]plan.Expr, len(exprs))
	for i, e := range exprs {
		out[i] = unnamed(substituted(unnamed(e), defs))
	}
	return out
}

// keysOf finds a column for each grouping column: itself or, for a window of time, its
// beginning, as all windows are of one length.
func keysOf(n *plan.Aggregate, out []*plan.Attribute, exprs []plan.Expr, operation string) ([]string, error) {
	var keys, missing []string
	for _, g := range n.Group {
		found := false
		for i, e := range exprs {
			if sameExpr(g, e) || beginsWindow(n, g, e) {
				keys, found = append(keys, out[i].Name), true
				break
			}
		}
		if !found {
			missing = append(missing, plan.SQLText(unnamed(g)))
		}
	}
	switch {
	case len(missing) > 0:
		return nil, plan.IllegalArgument("%s needs every grouping column among the columns of the result, and "+
			"there is no %s.", operation, strings.Join(missing, ", "))
	case len(keys) == 0:
		return nil, plan.IllegalArgument("%s needs a grouping column, and the query aggregates all rows into one.",
			operation)
	}
	return keys, nil
}

// beginsWindow reports whether an expression is the beginning of the window that a
// grouping column is. Sessions that begin together may have different lengths.
func beginsWindow(n *plan.Aggregate, group, e plan.Expr) bool {
	window, ok := unnamed(group).(*plan.Attribute)
	field, isField := e.(*plan.GetField)
	if !ok || !isField || field.Ordinal != 0 || !sameExpr(window, field.Child) {
		return false
	}
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		w, ok := m.(*plan.TimeWindow)
		return !ok || w.End != nil || w.Attr.ID != window.ID
	})
}
