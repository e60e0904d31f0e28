package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// statePythons are the functions with a state over streams in a tree.
func statePythons(n plan.Node) []*plan.StatePython {
	var out []*plan.StatePython
	plan.WalkNodes(n, func(m plan.Node) bool {
		if f, ok := m.(*plan.StatePython); ok && plan.Streaming(f) {
			out = append(out, f)
		}
		return true
	})
	return out
}

// checkStatePython refuses functions whose output mode does not go with that of
// the query, or with its aggregations, and timeouts by an event time that is not
// there.
func checkStatePython(n *plan.StatePython, aggregated bool, mode plan.OutputMode) error {
	const frame = "a streaming DataFrame/Dataset"
	switch {
	case aggregated && n.Mode == plan.UpdateMode:
		return refused("applyInPandasWithState in update mode is not supported with aggregation on " + frame)
	case aggregated && len(aggregations(n)) > 0:
		return refused("applyInPandasWithState in append mode is not supported after aggregation on " + frame)
	case !aggregated && n.Mode == plan.UpdateMode && mode != n.Mode:
		return refused("applyInPandasWithState in update mode is not supported with %s output mode on "+frame, mode)
	case !aggregated && n.Mode == plan.AppendMode && mode != n.Mode:
		return refused("applyInPandasWithState in append mode is not supported with %s output mode on "+frame, mode)
	case n.Timeout == plan.EventTimeTimeout && !hasEventTime(n.Input):
		return refused("Watermark must be specified in the query using '[Dataset/DataFrame].withWatermark()' for " +
			"using event-time timeout in a applyInPandasWithState. Event-time timeout not supported without " +
			"watermark.")
	default:
		return nil
	}
}

func hasEventTime(n plan.Node) bool {
	for _, a := range n.Output() {
		if a.EventTime != nil {
			return true
		}
	}
	return false
}
