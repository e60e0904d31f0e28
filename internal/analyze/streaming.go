package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// ParseOutputMode reads the name of an output mode; "" is append.
func ParseOutputMode(text string) (plan.OutputMode, error) {
	switch strings.ToLower(text) {
	case "", "append":
		return plan.AppendMode, nil
	case "update":
		return plan.UpdateMode, nil
	case "complete":
		return plan.CompleteMode, nil
	default:
		return 0, plan.NewError(plan.ClassIllegal, "STREAMING_OUTPUT_MODE.INVALID",
			fmt.Sprintf("%q is no output mode; there are append, update and complete.", text), "outputMode", text)
	}
}

// refused is what Spark says of most queries that cannot stream.
func refused(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	return plan.NewError(plan.ClassExtendedAnalysis, "_LEGACY_ERROR_TEMP_3102", msg, "msg", msg)
}

func unsupportedMode(mode plan.OutputMode, operation string) error {
	name := strings.ToLower(mode.String())
	return plan.AnalysisError("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
		fmt.Sprintf("output mode %s does not go with %s.", name, operation),
		"outputMode", name, "operation", operation)
}

// CheckBatch refuses a resolved plan that only a streaming query can run.
func CheckBatch(n plan.Node) error {
	if plan.Streaming(n) {
		return refused("Queries with streaming sources must be executed with writeStream.start().")
	}
	return firstError(n, func(m plan.Node) error {
		switch d := m.(type) {
		case *plan.Dedup:
			if d.WithinWatermark {
				return refused("dropDuplicatesWithinWatermark is not supported with batch DataFrames/DataSets")
			}
		case *plan.StatePython:
			return plan.NewError(plan.ClassUnsupported, "_LEGACY_ERROR_TEMP_3176",
				"applyInPandasWithState is unsupported in batch query. Use applyInPandas instead.")
		}
		return nil
	})
}

// CheckStreaming refuses a resolved plan that cannot run as a streaming query
// in an output mode. The order of the checks is Spark's, since a query may be
// wrong in several ways.
func CheckStreaming(n plan.Node, mode plan.OutputMode) error {
	if !plan.Streaming(n) {
		return refused("Queries without streaming sources cannot be executed with writeStream.start()")
	}
	functions := statePythons(n)
	if len(functions) > 1 {
		return refused("Multiple applyInPandasWithStates are not supported on a streaming DataFrames/Datasets")
	}
	if err := checkMode(n, mode); err != nil {
		return err
	}
	for _, f := range functions {
		if err := checkStatePython(f, len(aggregations(n)) > 0, mode); err != nil {
			return err
		}
	}
	if err := firstError(n, func(m plan.Node) error { return checkOperator(m, mode) }); err != nil {
		return err
	}
	return checkChained(n, mode)
}

// firstError walks a tree from the leaves up.
func firstError(n plan.Node, check func(plan.Node) error) error {
	_, err := plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) { return m, check(m) })
	return err
}

// aggregations are the aggregations of a stream in a tree, uppermost first.
func aggregations(n plan.Node) []*plan.Aggregate {
	var out []*plan.Aggregate
	plan.WalkNodes(n, func(m plan.Node) bool {
		if a, ok := m.(*plan.Aggregate); ok && plan.Streaming(a) {
			out = append(out, a)
		}
		return true
	})
	return out
}

// checkChained refuses a stateful operator above one that may yet change or
// emit rows older than the watermark.
func checkChained(n plan.Node, mode plan.OutputMode) error {
	return firstError(n, func(m plan.Node) error {
		if !stateful(m) {
			return nil
		}
		for _, c := range m.Children() {
			if late := !plan.WalkNodes(c, func(p plan.Node) bool { return !emitsLate(p, mode) }); late {
				return refused("Detected pattern of possible 'correctness' issue due to global watermark: a stateful " +
					"operator stands above an aggregation that is not in append mode.")
			}
		}
		return nil
	})
}

func stateful(n plan.Node) bool {
	switch m := n.(type) {
	case *plan.Aggregate:
		return plan.Streaming(n)
	case *plan.Dedup:
		// Without event time in its key it does not ask how late a row is.
		return plan.Streaming(n) &&
			(m.WithinWatermark || slices.ContainsFunc(m.Keys, (*plan.Attribute).IsEventTime))
	case *plan.Join:
		return plan.Streaming(m.Left) && plan.Streaming(m.Right)
	case *plan.StatePython:
		return plan.Streaming(n)
	default:
		return false
	}
}

func emitsLate(n plan.Node, mode plan.OutputMode) bool {
	switch m := n.(type) {
	case *plan.Aggregate:
		return mode != plan.AppendMode && plan.Streaming(n)
	case *plan.StatePython:
		return m.Timeout == plan.EventTimeTimeout && plan.Streaming(n)
	default:
		return false
	}
}

func checkMode(n plan.Node, mode plan.OutputMode) error {
	aggs := aggregations(n)
	switch {
	case mode == plan.CompleteMode && len(aggs) == 0:
		return unsupportedMode(mode, "no streaming aggregations")
	case mode == plan.AppendMode && len(aggs) > 0 && !groupsByEventTime(aggs[0]):
		return unsupportedMode(mode, "streaming aggregations without watermark")
	case mode == plan.UpdateMode && len(aggs) > 0 && groupsBySession(aggs[0]):
		return unsupportedMode(mode, "session window streaming aggregations")
	default:
		return nil
	}
}

func groupsByEventTime(n *plan.Aggregate) bool {
	for _, g := range n.Group {
		if a, ok := g.(*plan.Attribute); ok && a.IsEventTime() {
			return true
		}
	}
	return false
}

func groupsBySession(n *plan.Aggregate) bool {
	for _, g := range n.Group {
		if a, ok := g.(*plan.Attribute); ok && a.IsSession() {
			return true
		}
	}
	return false
}

// checkOperator refuses single operators over streams.
func checkOperator(n plan.Node, mode plan.OutputMode) error {
	if !plan.Streaming(n) {
		return checkExpressions(n) // which Spark asks of every node
	}
	switch m := n.(type) {
	case *plan.Aggregate:
		return checkAggregate(m)
	case *plan.Dedup:
		return checkDedup(m)
	case *plan.Join:
		return checkJoin(m, mode)
	case *plan.SetOp:
		return checkSetOp(m)
	case *plan.Limit:
		return checkLimit(m, mode)
	case *plan.Window:
		return windowOnStream(m)
	case *plan.Sort:
		if mode != plan.CompleteMode || len(aggregations(m)) == 0 {
			return refused("Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated " +
				"DataFrame/Dataset in Complete output mode")
		}
	}
	return checkExpressions(n)
}

func checkAggregate(n *plan.Aggregate) error {
	for _, e := range n.Exprs {
		if plan.Contains(e, func(p plan.Expr) bool {
			a, ok := p.(*plan.AggregateCall)
			return ok && a.Distinct
		}) {
			return refused("Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider " +
				"using approx_count_distinct() instead.")
		}
	}
	return checkExpressions(n)
}

func checkDedup(n *plan.Dedup) error {
	if n.WithinWatermark && !hasEventTime(n.Input) {
		return refused("dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets " +
			"without watermark")
	}
	return nil
}

func checkSetOp(n *plan.SetOp) error {
	streams := 0
	for _, in := range n.Inputs {
		if plan.Streaming(in) {
			streams++
		}
	}
	switch {
	case n.Kind == plan.Union && streams < len(n.Inputs):
		return refused("Union between streaming and batch DataFrames/Datasets is not supported")
	case n.Kind == plan.Except && plan.Streaming(n.Inputs[1]):
		return refused("Except on a streaming DataFrame/Dataset on the right is not supported")
	case n.Kind == plan.Intersect && streams > 0:
		return refused("Intersect of streaming DataFrames/Datasets is not supported")
	default:
		return nil
	}
}

func checkLimit(n *plan.Limit, mode plan.OutputMode) error {
	switch {
	case n.Skip != nil:
		return refused("Offset is not supported on streaming DataFrames/Datasets")
	case mode == plan.UpdateMode:
		return refused("Limits are not supported on streaming DataFrames/Datasets in Update output mode")
	case n.Tail:
		return refused("Tail is not supported on streaming DataFrames/Datasets")
	default:
		return nil
	}
}

// checkExpressions refuses the functions whose state would have to outlive a
// batch.
func checkExpressions(n plan.Node) error {
	for _, e := range nodeExprs(n) {
		if plan.Contains(e, func(p plan.Expr) bool {
			c, ok := p.(*plan.Call)
			return ok && c.Name == "monotonically_increasing_id"
		}) {
			return refused("Expression(s): monotonically_increasing_id() is not supported with streaming " +
				"DataFrames/Datasets")
		}
	}
	return nil
}
