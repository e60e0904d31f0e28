package stream

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// report records the progress of the batch at hand.
func (r *run) report(started time.Time, at *fixed, wrote int64, spent *monitor.Durations) {
	ended := time.Now()
	spent.Add(monitor.TriggerExecution, ended.Sub(started))
	p := &monitor.Progress{
		BatchID:   r.batch,
		Durations: *spent,
		EventTime: r.eventTime(at), StateOperators: r.stateOperators(), Sources: r.sources(),
		Sink:     monitor.Sink{Description: r.sink.Describe(), NumOutputRows: wrote},
		Observed: r.observed,
	}
	r.record.Record(p, monitor.Trigger{Start: started, End: ended})
	b := monitor.BatchOf(p, started, ended)
	b.NoData, b.Capped = at.noData, r.capped()
	r.profiled(&b)
	r.dated(&b)
	b.Parts = r.parts()
	r.record.Committed(b)
}

// dated adds how old the rows of a batch were when it was committed.
func (r *run) dated(b *health.Batch) {
	var newest time.Time
	for _, in := range r.inputs.list {
		source, ok := in.source.(connector.Dated)
		if !ok {
			continue
		}
		total := 0.0
		list := source.TakeDates()
		for _, d := range list {
			total += d.Weight
		}
		for _, d := range list {
			if b.Delivery == nil {
				b.Delivery = &health.Sketch{}
			}
			// A file without bytes has no rows, and no share of them.
			rows := math.Round(float64(in.rows.Load()) * d.Weight / max(total, 1))
			b.Delivery.Add(b.End.Sub(d.At).Seconds(), uint64(rows))
			if d.At.After(newest) {
				newest = d.At
			}
		}
	}
	if b.Newest.IsZero() {
		b.Newest = newest
	}
}

// profiled adds what each operator took to a batch, and splits its time by phases.
func (r *run) profiled(b *health.Batch) {
	if r.program == nil || !health.Known(b.Phases[health.Compute]) {
		return
	}
	read, compute := 0.0, 0.0
	for i, step := range r.program.Steps() {
		ns, rows := r.profile.Spent(i)
		seconds := float64(ns) / float64(time.Second)
		if step.Source {
			read += seconds
		} else {
			compute += seconds
		}
		b.Operators = append(b.Operators, health.Operator{
			Name: step.Name, Text: step.Text, Seconds: seconds, Rows: float64(rows),
		})
	}
	sink := max(0, b.Phases[health.Compute]-read-compute)
	b.Phases[health.Read], b.Phases[health.Compute], b.Phases[health.SinkWrite] = read, compute, sink
	b.Operators = append(b.Operators, health.Operator{
		Name: "Sink", Text: r.sink.Describe(), Seconds: sink, Rows: math.NaN(),
	})
}

// capped tells whether a limit kept rows of a source for later batches.
func (r *run) capped() bool {
	for _, in := range r.inputs.list {
		if source, ok := in.source.(connector.Limited); ok && source.Limited() {
			return true
		}
	}
	return false
}

// reportIdle records a trigger that found nothing to do, if that is due.
func (r *run) reportIdle(started time.Time, spent *monitor.Durations) {
	ended := time.Now()
	if !r.record.IdleDue(ended) {
		return
	}
	spent.Add(monitor.TriggerExecution, ended.Sub(started))
	idle := monitor.IdleTrigger{
		Trigger: monitor.Trigger{Start: started, End: ended},
		BatchID: r.batch, Durations: *spent, WatermarkMs: r.watermark.ms,
		Sink: r.sink.Describe(),
	}
	for _, in := range r.inputs.list {
		idle.Sources = append(idle.Sources, monitor.IdleSource{
			Description: in.describe, Committed: string(in.start), Latest: string(in.latest),
			Metrics: in.metrics(),
		})
	}
	r.record.Idle(idle)
}

func (r *run) sources() []monitor.Source {
	out := make([]monitor.Source, len(r.inputs.list))
	for i, in := range r.inputs.list {
		out[i] = monitor.Source{
			Description: in.describe,
			StartOffset: string(in.start), EndOffset: string(in.end), LatestOffset: string(in.latest),
			NumInputRows: in.rows.Load(), Metrics: in.metrics(),
		}
	}
	return out
}

// metrics are the source's own, as of the end of the batch at hand.
func (in *input) metrics() []monitor.TextMetric {
	if source, ok := in.source.(connector.Metered); ok && in.end != "" {
		return textMetrics(source.Metrics(in.end))
	}
	return nil
}

func textMetrics(of map[string]string) []monitor.TextMetric {
	out := make([]monitor.TextMetric, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, monitor.TextMetric{Name: name, Value: of[name]})
	}
	return out
}

// eventTime is that of the first watermark node that saw rows, as in Spark.
func (r *run) eventTime(at *fixed) *monitor.EventTime {
	if len(r.marks) == 0 {
		return nil
	}
	e := &monitor.EventTime{WatermarkMs: at.watermarkMs}
	for _, seen := range r.times {
		if seen.Count > 0 {
			e.Rows = &monitor.EventTimeRange{MinMs: seen.Min, AvgMs: int64(seen.Mean), MaxMs: seen.Max}
			break
		}
	}
	return e
}
