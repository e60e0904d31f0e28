package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// checkJoin refuses the joins of streams that Spark refuses: those whose
// unmatched rows could never be told, because the side that may yet match them
// is a stream without end.
func checkJoin(n *plan.Join, mode plan.OutputMode) error {
	if n.Was != nil { // Spark asks before it optimizes
		written := *n
		written.Kind = *n.Was
		n = &written
	}
	left, right := plan.Streaming(n.Left), plan.Streaming(n.Right)
	both := left && right
	if both {
		if err := checkJoinMode(n.Kind, mode); err != nil {
			return err
		}
	}
	switch n.Kind {
	case plan.FullJoin:
		if !right {
			return refused("FullOuter joins with streaming DataFrames/Datasets on the left and a static " +
				"DataFrame/Dataset on the right is not supported")
		}
		if !left {
			return refused("FullOuter joins with streaming DataFrames/Datasets on the right and a static " +
				"DataFrame/Dataset on the left is not supported")
		}
	case plan.LeftJoin, plan.SemiJoin:
		if right && !left {
			return refused("%s join with a streaming DataFrame/Dataset on the right and a static "+
				"DataFrame/Dataset on the left is not supported", n.Kind)
		}
	case plan.RightJoin:
		if left && !right {
			return refused("RightOuter join with a streaming DataFrame/Dataset on the left and a static " +
				"DataFrame/DataSet on the right not supported")
		}
	case plan.AntiJoin:
		if right {
			return refused("LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported")
		}
		return nil
	default:
		return nil
	}
	if both && !bounded(n) {
		return refused("Stream-stream %s join between two streaming DataFrame/Datasets is not supported without a "+
			"watermark in the join keys, or a watermark on the nullable side and an appropriate range condition",
			n.Kind)
	}
	return nil
}

// checkJoinMode refuses the output modes that a join of two streams cannot have:
// an unmatched row is told once, and no join is told as a whole.
func checkJoinMode(kind plan.JoinType, mode plan.OutputMode) error {
	matchesOnly := kind == plan.InnerJoin || kind == plan.CrossJoin || kind == plan.SemiJoin
	if kind == plan.AntiJoin || mode == plan.AppendMode || matchesOnly && mode == plan.UpdateMode {
		return nil // an anti join never can be, whatever the mode
	}
	only := "Append output mode"
	if matchesOnly {
		only = "Append and Update output modes"
	}
	return refused("%s join between two streaming DataFrames/Datasets is not supported in %s output mode, "+
		"only in %s", kind, mode, only)
}

// bounded reports whether the state of an outer join of two streams can ever be
// dropped: a key has a watermark, or the condition bounds the time of the rows
// that are kept by that of the other side.
func bounded(n *plan.Join) bool {
	if n.Cond == nil {
		return false
	}
	left, right := n.Left.Output(), n.Right.Output()
	for _, c := range conjuncts(n.Cond) {
		call, ok := c.(*plan.Call)
		if !ok || len(call.Args) != 2 {
			continue
		}
		if call.Name == "=" && acrossSides(call, left, right) &&
			(isEventTime(call.Args[0]) || isEventTime(call.Args[1])) {
			return true
		}
		kept, other := left, right
		if n.Kind == plan.RightJoin {
			kept, other = right, left
		}
		if boundsBelow(call, kept, other) || n.Kind == plan.FullJoin && boundsBelow(call, other, kept) {
			return true
		}
	}
	return false
}

func isEventTime(e plan.Expr) bool {
	a, ok := e.(*plan.Attribute)
	return ok && a.EventTime != nil
}

func acrossSides(c *plan.Call, left, right []*plan.Attribute) bool {
	return from(c.Args[0], left) && from(c.Args[1], right) || from(c.Args[0], right) && from(c.Args[1], left)
}

// from reports whether an expression reads columns of one side only.
func from(e plan.Expr, side []*plan.Attribute) bool {
	ids := plan.References(e)
	return len(ids) > 0 && len(needed([]plan.Expr{e}, side)) == len(ids)
}

// boundsBelow reports whether a comparison says that a time of the kept side is
// later than an event time of the other, give or take constants: once the other
// side's watermark has passed, a kept row can match no more.
func boundsBelow(c *plan.Call, kept, other []*plan.Attribute) bool {
	low, high := c.Args[0], c.Args[1]
	switch c.Name {
	case "<", "<=":
	case ">", ">=":
		low, high = high, low
	default:
		return false
	}
	return from(high, kept) && from(low, other) && plan.Contains(low, isEventTime)
}
