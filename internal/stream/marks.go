package stream

import (
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/monitor/health"
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
func (r *run) eventTimes(w *plan.Watermark, part int, seen exec.EventTimes) {
	i := slices.Index(r.marks, w)
	r.seen.Lock()
	defer r.seen.Unlock()
	r.times[i] = r.times[i].Merge(seen)
	if seen.Count == 0 {
		return
	}
	if in := r.markFrom[i]; in != nil {
		if r.partTimes[in] == nil {
			r.partTimes[in] = map[int]int64{}
		}
		newest, known := r.partTimes[in][part]
		if !known || seen.Max > newest {
			r.partTimes[in][part] = seen.Max
		}
	}
}

// markSource is the input whose partitions a watermark node sees as they are: nothing but
// what works row by row is between them. Nil for none.
func (in *inputs) markSource(w *plan.Watermark) *input {
	for n := w.Input; ; {
		switch of := n.(type) {
		case *plan.Project, *plan.Filter, *plan.SubqueryAlias, *plan.Observe:
			n = of.Children()[0]
		case *plan.Scan:
			feed := in.feeds[of]
			if feed == nil {
				return nil
			}
			if _, parted := feed.from.source.(connector.Parted); !parted {
				return nil
			}
			return feed.from
		default:
			return nil
		}
	}
}

// parts are the newest event times of the batch at hand by partition, where a watermark
// sees them.
func (r *run) parts() []health.PartTime {
	r.seen.Lock()
	defer r.seen.Unlock()
	var out []health.PartTime
	for _, in := range r.inputs.list {
		names := r.partNames(in)
		for part, ms := range r.partTimes[in] {
			if part < len(names) {
				out = append(out, health.PartTime{Source: in.describe, Name: names[part], Newest: time.UnixMilli(ms)})
			}
		}
	}
	return out
}

func (r *run) partNames(in *input) []string {
	if len(r.partTimes[in]) == 0 {
		return nil
	}
	return in.source.(connector.Parted).PartNames()
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
