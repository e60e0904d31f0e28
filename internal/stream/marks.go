package stream

import "github.com/weir-dev/weir/internal/plan"

// watermarks lists the watermark nodes of a plan, parents first.
func watermarks(n plan.Node) []*plan.Watermark {
	var out []*plan.Watermark
	plan.WalkNodes(n, func(n plan.Node) bool {
		if w, ok := n.(*plan.Watermark); ok {
			out = append(out, w)
		}
		return true
	})
	return out
}

// checkMarks refuses a watermark below another one, as Spark does: not at the
// start, but once there is a watermark to hand on.
func (r *run) checkMarks() error {
	if r.watermark.ms == 0 {
		return nil
	}
	for _, w := range r.marks {
		if len(watermarks(w.Input)) > 0 {
			const key = "spark.sql.streaming.statefulOperator.allowMultiple"
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_3076",
				"a watermark must not be defined on top of another one.", "config", key)
		}
	}
	return nil
}
