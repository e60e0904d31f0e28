package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// page is what page.qtpl shows.
type page struct {
	Version string
	Remote  string
	Verdict string
	AsOf    string
	Rows    []row
}

// row is one query in words and figures; "–" stands for what is not known.
type row struct {
	ID, Name, State, Word string
	Sources, Sink         string
	Arriving, Processed   string
	Batch, Took, Since    string
	Error                 string
	Reason                string // of a stop that was not asked for
}

var words = map[monitor.State]string{
	monitor.Initializing: "Starting",
	monitor.Active:       "Running",
	monitor.Stopped:      "Stopped",
	monitor.Failed:       "Failed",
}

func newPage(o Options, queries []monitor.Snapshot) *page {
	now := o.Now()
	p := &page{Version: o.Version, Remote: o.Remote, AsOf: now.UTC().Format("2006-01-02 15:04:05 UTC")}
	running, failed := 0, 0
	for i := range queries {
		q := &queries[i]
		switch q.State {
		case monitor.Failed:
			failed++
		case monitor.Active, monitor.Initializing:
			running++
		}
		p.Rows = append(p.Rows, newRow(now, q))
	}
	p.Verdict = verdict(running, failed, len(queries))
	return p
}

// verdict is the page's first sentence.
func verdict(running, failed, all int) string {
	switch {
	case all == 0:
		return "No query has been started yet."
	case failed > 0:
		return fmt.Sprintf("%s failed, %d running.", plural(failed, "query", "queries"), running)
	case running == 0:
		return "No query is running."
	default:
		return plural(running, "query is", "queries are") + " running."
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func newRow(now time.Time, q *monitor.Snapshot) row {
	r := row{
		ID: q.ID, Name: q.Name, State: string(q.State), Word: words[q.State],
		Sources: strings.Join(q.Sources, ", "), Sink: q.Sink,
		Arriving: "–", Processed: "–", Batch: "–", Took: "–",
	}
	if r.Name == "" {
		r.Name = "unnamed"
	}
	since := q.StartedAt
	if !q.EndedAt.IsZero() {
		since = q.EndedAt
	}
	r.Since = duration(now.Sub(since))
	if b := q.LastBatch; b != nil {
		r.Batch = strconv.FormatInt(b.BatchID, 10)
		r.Arriving, r.Processed = rate(b.InputRowsPerSecond()), rate(b.ProcessedRowsPerSecond())
		r.Took = duration(time.Duration(b.BatchDurationMs) * time.Millisecond)
	}
	if q.Failure != nil {
		r.Error = q.Failure.Message
	} else {
		r.Reason = q.EndReason
	}
	return r
}

// rate is rows a second with at most three significant digits.
func rate(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case x >= 1e6:
		return significant(x/1e6) + " M"
	case x >= 1e4:
		return significant(x/1e3) + " k"
	default:
		return significant(x)
	}
}

func significant(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// duration is a length of time in its largest fitting unit.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return significant(d.Seconds()) + " s"
	case d < time.Hour:
		return significant(d.Minutes()) + " min"
	case d < 48*time.Hour:
		return significant(d.Hours()) + " h"
	default:
		return significant(d.Hours()/24) + " d"
	}
}
