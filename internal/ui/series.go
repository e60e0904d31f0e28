package ui

import (
	"net/http"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// seriesJSON is the answer to GET /api/v1/series: columns over time. Value i ends at
// fromAtMs + (i+1)·stepSeconds.
type seriesJSON struct {
	Query       string              `json:"query"`
	FromAtMs    instant             `json:"fromAtMs"`
	ToAtMs      instant             `json:"toAtMs"`
	StepSeconds int                 `json:"stepSeconds"`
	Columns     map[string][]number `json:"columns"`
	Marks       []event             `json:"marks"`
	Downtime    []downtime          `json:"downtime"`
}

// seriesStep is the finest step there is.
const seriesStep = health.FineStep

type downtime struct {
	FromAtMs instant `json:"fromAtMs"`
	ToAtMs   instant `json:"toAtMs"`
	Kind     string  `json:"kind"`
}

// series is GET /api/v1/series?query=&from=&to=&step=: instants in Unix milliseconds,
// the step in seconds; the last hour in its finest steps unless they say otherwise.
func (s *server) series(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	q := s.registry.Find(values.Get("query"))
	if q == nil {
		refuse(w, http.StatusNotFound, "no query has the id or run id "+strconv.Quote(values.Get("query"))+
			"; GET /api/v1/queries lists them")
		return
	}
	now := s.options.Now()
	to, ok1 := instantOf(values.Get("to"), now)
	from, ok2 := instantOf(values.Get("from"), to.Add(-time.Hour))
	step, err := strconv.Atoi(values.Get("step"))
	if values.Get("step") == "" {
		step, err = int(seriesStep.Seconds()), nil
	}
	if !ok1 || !ok2 || err != nil || step < 1 || step > 86400 || !from.Before(to) {
		refuse(w, http.StatusBadRequest,
			"from and to are Unix milliseconds, from before to, and step is a number of seconds up to 86400")
		return
	}
	answer(w, newSeries(q, from, to, time.Duration(step)*time.Second))
}

func instantOf(text string, otherwise time.Time) (time.Time, bool) {
	if text == "" {
		return otherwise, true
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > 1<<53 {
		return otherwise, false
	}
	return time.UnixMilli(ms), true
}

func newSeries(q *monitor.Query, from, to time.Time, step time.Duration) *seriesJSON {
	c := q.Chart(from, to, step)
	out := &seriesJSON{
		Query: q.ID(), FromAtMs: instant(c.From), ToAtMs: instant(c.To),
		StepSeconds: int(c.Step.Seconds()), Columns: map[string][]number{},
		Marks: []event{}, Downtime: []downtime{},
	}
	for col := range health.ColumnCount {
		values := make([]number, len(c.Rows))
		for i := range c.Rows {
			values[i] = num(float64(c.Rows[i][col]))
		}
		out.Columns[col.String()] = values
	}
	var ended time.Time
	for _, m := range q.Marks() {
		switch m.Kind {
		case "stopped", "failed":
			ended = m.At
		case "started":
			if !ended.IsZero() && m.At.After(c.From) {
				out.Downtime = append(out.Downtime, downtime{instant(ended), instant(m.At), "stopped"})
			}
			ended = time.Time{}
		}
		if !m.At.Before(c.From) && m.At.Before(c.To) {
			out.Marks = append(out.Marks, event{instant(m.At), m.Kind, m.Text})
		}
	}
	return out
}
