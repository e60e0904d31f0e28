package stream

import (
	"slices"

	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
)

// watermarks lists the watermark nodes of a plan, parents first. One that
// stands in several places is one.
func watermarks(n plan.Node) []*plan.Watermark {
	var out []*plan.Watermark
	plan.WalkNodes(n, func(n plan.Node) bool {
		if w, ok := n.(*plan.Watermark); ok && !slices.Contains(out, w) {
			out = append(out, w)
		}
		return true
	})
	return out
}

// eventTimes adds what passed a watermark node.
func (r *run) eventTimes(w *plan.Watermark, seen exec.EventTimes) {
	i := slices.Index(r.marks, w)
	r.seen.Lock()
	defer r.seen.Unlock()
	r.times[i] = r.times[i].Merge(seen)
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
