package stream

import "github.com/weir-dev/weir/internal/plan"

// refuseStateful refuses plans that need state between batches, by the name of
// the operator.
func refuseStateful(n plan.Node) *plan.Error {
	if !plan.Streaming(n) {
		return nil
	}
	for _, c := range n.Children() {
		if err := refuseStateful(c); err != nil {
			return err
		}
	}
	if what := stateful(n); what != "" {
		return plan.Unsupported(what)
	}
	return nil
}

// stateful names what a node over a stream would keep state for, "" when it
// keeps none. Nodes that are not known to be stateless count as stateful.
func stateful(n plan.Node) string {
	switch n := n.(type) {
	case *plan.Scan, *plan.Project, *plan.Filter, *plan.SubqueryAlias, *plan.Watermark, *plan.TimeWindow,
		*plan.MapPython, *plan.GroupPython, *plan.TablePython,
		*plan.Observe, *plan.Generate, *plan.Repartition, *plan.Hint:
		return ""
	case *plan.SetOp:
		if n.Kind == plan.Union && n.All || n.Kind == plan.Except {
			return ""
		}
		return "a set operation without ALL on a stream"
	case *plan.Join, *plan.Aggregate, *plan.Dedup, *plan.Limit, *plan.Sort, *plan.StatePython,
		*plan.TransformPython:
		return ""
	default:
		return "this operator on a stream"
	}
}

// keepsState says whether a node over a stream of a plan keeps state.
func keepsState(n plan.Node) bool {
	return !plan.WalkNodes(n, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Join:
			return !plan.Streaming(n.Left) || !plan.Streaming(n.Right)
		case *plan.Aggregate, *plan.Dedup, *plan.Limit, *plan.Sort, *plan.StatePython, *plan.TransformPython:
			return !plan.Streaming(n)
		default:
			return true
		}
	})
}
