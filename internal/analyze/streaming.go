package analyze

import (
	"fmt"
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
		if d, ok := m.(*plan.Dedup); ok && d.WithinWatermark {
			return refused("dropDuplicatesWithinWatermark is not supported with batch DataFrames/DataSets")
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
	if err := checkChained(n, mode); err != nil {
		return err
	}
	if err := checkMode(n, mode); err != nil {
		return err
	}
	return firstError(n, func(m plan.Node) error { return checkOperator(m, mode) })
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
	case *plan.Aggregate, *plan.Dedup:
		return plan.Streaming(n)
	case *plan.Join:
		return plan.Streaming(m.Left) && plan.Streaming(m.Right)
	default:
		return false
	}
}

func emitsLate(n plan.Node, mode plan.OutputMode) bool {
	_, ok := n.(*plan.Aggregate)
	return ok && mode != plan.AppendMode && plan.Streaming(n)
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
		if a, ok := g.(*plan.Attribute); ok && a.EventTime != nil {
			return true
		}
	}
	return false
}

// SessionWindowMark is in the metadata of a column of session windows.
const SessionWindowMark = `"spark.sessionWindow":true`

func groupsBySession(n *plan.Aggregate) bool {
	for _, g := range n.Group {
		if a, ok := g.(*plan.Attribute); ok && strings.Contains(a.Metadata, SessionWindowMark) {
			return true
		}
	}
	return false
}

// checkOperator refuses single operators over streams.
func checkOperator(n plan.Node, mode plan.OutputMode) error {
	if !plan.Streaming(n) {
		return nil
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
	if n.WithinWatermark {
		for _, a := range n.Input.Output() {
			if a.EventTime != nil {
				return nil
			}
		}
		return refused("dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets " +
			"without watermark")
	}
	if len(aggregations(n.Input)) > 0 {
		return refused("dropDuplicates is not supported after aggregation on a streaming DataFrame/Dataset")
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
