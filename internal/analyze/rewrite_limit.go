package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// offerLimits tells streaming scans right below a limit how many rows of a
// partition are wanted. As in Spark, rows behind them do not count as read and
// do not move the watermark.
func offerLimits(_ *Analyzer, n plan.Node) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		l, ok := m.(*plan.Limit)
		if !ok || l.Skip != nil || l.Tail {
			return m, nil
		}
		count, ok := l.Count.(*plan.Literal)
		if !ok {
			return m, nil
		}
		if rows, ok := count.Value.(int64); ok && rows > 0 {
			return m.WithChildren([]plan.Node{limited(l.Input, rows)}), nil
		}
		return m, nil
	})
}

// limited follows the nodes that yield a row for a row, or at least one.
func limited(n plan.Node, rows int64) plan.Node {
	switch m := n.(type) {
	case *plan.SetOp:
		if m.Kind == plan.Union && m.All {
			inputs := make([]plan.Node, len(m.Inputs))
			for i, in := range m.Inputs {
				inputs[i] = limited(in, rows)
			}
			return m.WithChildren(inputs)
		}
	case *plan.Join:
		return limitedJoin(m, rows)
	case *plan.Project, *plan.Watermark, *plan.SubqueryAlias:
		return n.WithChildren([]plan.Node{limited(n.Children()[0], rows)})
	case *plan.Limit:
		if m.Skip == nil && !m.Tail {
			return n.WithChildren([]plan.Node{limited(m.Input, rows)})
		}
	case *plan.Scan:
		if m.Streaming && (m.Most == 0 || rows < m.Most) {
			scan := *m
			scan.Most = rows
			return &scan
		}
	}
	return n
}

// limitedJoin wants so many rows of the side that a join with a table keeps whole.
func limitedJoin(n *plan.Join, rows int64) plan.Node {
	if plan.Streaming(n.Left) && plan.Streaming(n.Right) {
		return n
	}
	left, right := n.Left, n.Right
	switch {
	case n.Kind == plan.LeftJoin:
		left = limited(left, rows)
	case n.Kind == plan.RightJoin:
		right = limited(right, rows)
	case n.Cond == nil && (n.Kind == plan.InnerJoin || n.Kind == plan.CrossJoin):
		left, right = limited(left, rows), limited(right, rows)
	}
	return n.WithChildren([]plan.Node{left, right})
}
