package ui

import (
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// spec is the box of a chart, which the page's script draws; specs of query.js has
// the same with what the drawing needs.
type spec struct {
	id, title, axis string
	lines           []line
	stack           bool
	extra           string // a figure that stands in the legend only
}

// line is a column of a chart and its place in the legend.
type line struct {
	column, label, colour string
	width, dash           string
}

// specs are the charts of which something is known; nil when there is nothing to draw.
func specs(q *detail, s *seriesJSON) []spec {
	beyond := "behind the newest row"
	if isKnown(q.WatermarkDelayMs) {
		beyond = "beyond the " + span(q.WatermarkDelayMs) + " allowed"
	}
	all := []spec{
		{id: "rates", title: "Does it keep up?", axis: "rows/s", lines: []line{
			{health.ArrivalRowsPerSecond.String(), "arriving", "blue", "2", ""},
			{health.ProcessedRowsPerSecond.String(), "processed", "ink", "2", "5 3"},
		}},
		{id: "backlog", title: "How far behind is it?", axis: "age of the oldest unread row", extra: "unread",
			lines: []line{{health.BacklogMs.String(), "backlog", "blue", "2", ""}}},
		{id: "fresh", title: "How fresh is the result?", axis: "source to commit", lines: []line{
			{health.FreshnessP50Ms.String(), "p50", "blue", "1", "2 2"},
			{health.FreshnessP95Ms.String(), "p95", "ink", "2", ""},
			{health.FreshnessP99Ms.String(), "p99", "blue", "1", ""},
		}},
		{id: "phases", title: "Where does batch time go?", axis: "longest batch", stack: true,
			lines: s.phaseLines()},
		{id: "wm", title: "How far does event time trail?", axis: beyond,
			lines: []line{{health.WatermarkLagMs.String(), "watermark lag", "purple", "2", ""}}},
		{id: "state", title: "How big is the state?", axis: "bytes",
			lines: []line{{health.StateBytes.String(), "state", "blue", "2", ""}}},
	}
	var out []spec
	drawn := false
	for _, c := range all {
		known, some := s.has(c.lines)
		drawn = drawn || some
		if known {
			out = append(out, c)
		}
	}
	if !drawn {
		return nil
	}
	return out
}

// has tells whether anything is known of columns, and whether something is not 0.
func (s *seriesJSON) has(lines []line) (known, some bool) {
	for _, l := range lines {
		for _, v := range s.Columns[l.column] {
			known = known || isKnown(v)
			some = some || isKnown(v) && v != 0
		}
	}
	return known, some
}

func (s *seriesJSON) phaseLines() []line {
	var out []line
	for p := range health.PhaseCount {
		column := (health.PhaseColumns + health.Column(p)).String()
		l := line{column: column, label: phaseWords[p].short, colour: "p-" + p.String()}
		if known, _ := s.has([]line{l}); known {
			out = append(out, l)
		}
	}
	return out
}

// shortRun is for how long a query is that has ended too soon for charts.
const shortRun = number(time.Hour / time.Millisecond)

// youngRun is how old a query is of which nothing is drawn yet.
const youngRun = number(20 * time.Second / time.Millisecond)

// noRows says why there is no chart.
func (q *detail) noRows() (head, text string) {
	age := q.StartedAtMs.since(q.NowAtMs)
	switch {
	case q.ended() && age < shortRun:
		return "Nothing to draw", "The query ended before there was anything to draw."
	case q.ended():
		return "No rows in this range", "The query has ended; a longer range may show its run."
	case age < youngRun || known(q.ProcessedRowsPerSecond) > 0 || known(q.ArrivalRowsPerSecond) > 0:
		return "Nothing to draw yet", "Charts have a value for each ten seconds."
	default:
		return "No rows in this range",
			"Nothing arrived, so there is nothing to draw. weir asks the source every second."
	}
}

// minuteRow is a row of the table that stands for the charts without script.
type minuteRow struct {
	at                                  string
	arriving, processed, backlog, batch number
}

// minutes is the last half hour, newest first.
func (s *seriesJSON) minutes() []minuteRow {
	column := func(c health.Column, i int) number { return s.Columns[c.String()][i] }
	per := max(1, int(half(60/float64(s.StepSeconds))))
	var out []minuteRow
	for i := len(s.Columns[health.ArrivalRowsPerSecond.String()]) - 1; i >= 0 && len(out) < 30; i -= per {
		out = append(out, minuteRow{
			at:       s.FromAtMs.plus((i + 1) * s.StepSeconds).text("15:04:05"),
			arriving: column(health.ArrivalRowsPerSecond, i), processed: column(health.ProcessedRowsPerSecond, i),
			backlog: column(health.BacklogMs, i), batch: column(health.BatchMs, i),
		})
	}
	return out
}
