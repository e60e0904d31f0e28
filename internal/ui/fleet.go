package ui

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// sparkCells is how many steps the small charts of a row have, of sparkStep each.
const (
	sparkCells = 30
	sparkStep  = time.Minute
)

// fleet is the answer to GET /api/v1/fleet.
type fleet struct {
	NowAtMs          instant     `json:"nowAtMs"`
	Server           build       `json:"server"`
	SparkStepSeconds int         `json:"sparkStepSeconds"`
	StripStepSeconds int         `json:"stripStepSeconds"`
	Totals           fleetTotals `json:"totals"`
	Queries          []*fleetRow `json:"queries"`
}

type build struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type fleetTotals struct {
	Queries                int            `json:"queries"`
	ByState                map[string]int `json:"byState"`
	ArrivalRowsPerSecond   number         `json:"arrivalRowsPerSecond"`
	ProcessedRowsPerSecond number         `json:"processedRowsPerSecond"`
}

// fleetRow is one query of the fleet: how it stands, and its past.
type fleetRow struct {
	rowFigures
	rowPast
}

// rowFigures is how a query stands. The unit stands last in each name.
type rowFigures struct {
	ID                      string       `json:"id"`
	RunID                   string       `json:"runId"`
	Name                    string       `json:"name"`
	Application             string       `json:"application"`
	Tags                    []string     `json:"tags"`
	Engine                  string       `json:"engine"`
	State                   health.State `json:"state"`
	SinceAtMs               instant      `json:"sinceAtMs"`
	NotStartedAgain         bool         `json:"notStartedAgain"`
	HealthScore             number       `json:"healthScore"`
	Reason                  string       `json:"reason"`
	FreshnessP95Ms          number       `json:"freshnessP95Ms"`
	FreshnessSloMs          number       `json:"freshnessSloMs"`
	BacklogMs               number       `json:"backlogMs"`
	BacklogRows             number       `json:"backlogRows"`
	EtaLowMs                number       `json:"etaLowMs"`
	EtaHighMs               number       `json:"etaHighMs"`
	ShortPercent            number       `json:"shortPercent"`
	ArrivalRowsPerSecond    number       `json:"arrivalRowsPerSecond"`
	ProcessedRowsPerSecond  number       `json:"processedRowsPerSecond"`
	BatchMs                 number       `json:"batchMs"`
	TriggerMs               number       `json:"triggerMs"`
	BusyRatio               number       `json:"busyRatio"`
	HeadroomRatio           number       `json:"headroomRatio"`
	BatchRatio              number       `json:"batchRatio"`
	StateBytes              number       `json:"stateBytes"`
	StateGrowthBytesPerHour number       `json:"stateGrowthBytesPerHour"`
	LastCommitAtMs          instant      `json:"lastCommitAtMs"`
}

// rowPast is the past of a query in small drawings.
type rowPast struct {
	RestartsLastDay             int                `json:"restartsLastDay"`
	StateStrip                  string             `json:"stateStrip"`
	FreshnessSparkMs            [sparkCells]number `json:"freshnessSparkMs"`
	ArrivalSparkRowsPerSecond   [sparkCells]number `json:"arrivalSparkRowsPerSecond"`
	ProcessedSparkRowsPerSecond [sparkCells]number `json:"processedSparkRowsPerSecond"`
}

func (s *server) fleet(w http.ResponseWriter, _ *http.Request) {
	answer(w, s.newFleet(s.options.Now()))
}

// newFleet reads every query, those that need a person first.
func (s *server) newFleet(now time.Time) *fleet {
	queries := s.registry.Queries()
	rows := make([]*fleetRow, len(queries))
	for i, q := range queries {
		rows[i] = newFleetRow(q, now)
	}
	return s.newFleetOf(now, rows)
}

// newFleetOf is the fleet of these rows, which it takes over.
func (s *server) newFleetOf(now time.Time, rows []*fleetRow) *fleet {
	f := &fleet{
		NowAtMs: instant(now), Server: build{"weir", s.options.Version},
		SparkStepSeconds: int(sparkStep.Seconds()), StripStepSeconds: int(health.StripStep.Seconds()),
		Totals: newTotals(rows), Queries: rows,
	}
	slices.SortStableFunc(f.Queries, func(a, b *fleetRow) int {
		return cmp.Or(cmp.Compare(b.HealthScore, a.HealthScore),
			cmp.Compare(known(b.BacklogMs), known(a.BacklogMs)),
			strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return f
}

func newTotals(rows []*fleetRow) fleetTotals {
	t := fleetTotals{
		Queries: len(rows), ByState: map[string]int{},
		ArrivalRowsPerSecond: unknown(), ProcessedRowsPerSecond: unknown(),
	}
	for _, row := range rows {
		t.ByState[string(row.State)]++
		t.ArrivalRowsPerSecond = sum(t.ArrivalRowsPerSecond, row.ArrivalRowsPerSecond)
		t.ProcessedRowsPerSecond = sum(t.ProcessedRowsPerSecond, row.ProcessedRowsPerSecond)
	}
	t.ArrivalRowsPerSecond = num(float64(t.ArrivalRowsPerSecond))
	t.ProcessedRowsPerSecond = num(float64(t.ProcessedRowsPerSecond))
	return t
}

// sum adds up what is known; it is unknown when nothing is.
func sum(a, b number) number {
	if !isKnown(a) {
		return b
	}
	return a + known(b)
}

// known is n, or 0 where only a sum needs it.
func known(n number) number {
	if n != n {
		return 0
	}
	return n
}

func newFleetRow(q *monitor.Query, now time.Time) *fleetRow {
	return &fleetRow{newFigures(q, now), newPast(q, now)}
}

func newFigures(q *monitor.Query, now time.Time) rowFigures {
	snapshot, a := q.Snapshot(), q.Health()
	row := rowFigures{
		ID: snapshot.ID, RunID: snapshot.RunID, Name: snapshot.ShownName(), Application: snapshot.Application,
		Tags: snapshot.Tags, Engine: snapshot.Engine, State: a.State, SinceAtMs: instant(a.Since),
		NotStartedAgain: snapshot.Left,
		HealthScore:     num(math.Round(10*a.Score) / 10), Reason: a.Reason,
		FreshnessP95Ms: milliseconds(a.DeliveryP95), FreshnessSloMs: unknown(),
		BacklogMs: milliseconds(a.BacklogSeconds), BacklogRows: num(a.Backlog.Rows),
		EtaLowMs: unknown(), EtaHighMs: unknown(), ShortPercent: unknown(),
		ArrivalRowsPerSecond: num(a.ArrivalRowsPerSecond), ProcessedRowsPerSecond: num(a.ProcessedPerSecond),
		BatchMs: milliseconds(a.BatchSeconds), TriggerMs: milliseconds(snapshot.Health.TriggerEvery.Seconds()),
		BusyRatio: num(a.Busy), HeadroomRatio: num(a.Headroom),
		BatchRatio: num(a.InBatches), StateBytes: num(a.StateBytes),
		StateGrowthBytesPerHour: num(a.StatePerHour), LastCommitAtMs: instant(a.LastCommit),
	}
	if a.State == health.Failed || a.State == health.Stopped {
		row.rest(a.Rested)
	}
	if row.Reason == "" && snapshot.EndReason != "" {
		row.Reason = "Stopped because " + snapshot.EndReason
	}
	if row.Tags == nil {
		row.Tags = []string{}
	}
	if row.Engine == "" {
		row.Engine = "weir"
	}
	if o := snapshot.Health.Objective; o > 0 {
		row.FreshnessSloMs = milliseconds(o.Seconds())
	}
	switch {
	case a.State == health.CatchingUp || health.Known(a.CatchUpLow) && a.Growth < 0:
		row.EtaLowMs, row.EtaHighMs = milliseconds(a.CatchUpLow), milliseconds(a.CatchUpHigh)
	case a.State == health.Behind || a.State == health.Breach && a.Short > 0:
		row.ShortPercent = num(math.Round(100 * a.Short))
	}
	return row
}

// rest leaves out what holds only while a query runs: its last figures are no news. What
// arrives and waits is, where somebody asks still.
func (r *rowFigures) rest(asked bool) {
	gone := []*number{
		&r.FreshnessP95Ms, &r.EtaLowMs, &r.EtaHighMs, &r.ShortPercent, &r.ProcessedRowsPerSecond, &r.BusyRatio,
		&r.HeadroomRatio, &r.BatchRatio,
	}
	if !asked {
		gone = append(gone, &r.BacklogMs, &r.BacklogRows, &r.ArrivalRowsPerSecond)
	}
	for _, n := range gone {
		*n = unknown()
	}
}

func newPast(q *monitor.Query, now time.Time) rowPast {
	strip, failed := q.Strip(now)
	r := rowPast{RestartsLastDay: failed}
	text := make([]byte, len(strip))
	for i, s := range strip {
		text[i] = '.'
		if letter, ok := letters[s]; ok {
			text[i] = letter
		}
	}
	r.StateStrip = string(text)
	for i := range r.FreshnessSparkMs {
		r.FreshnessSparkMs[i], r.ArrivalSparkRowsPerSecond[i] = unknown(), unknown()
		r.ProcessedSparkRowsPerSecond[i] = unknown()
	}
	chart := q.Chart(now.Add(-sparkCells*sparkStep), now, sparkStep)
	for i, v := range chart.Rows[:min(len(chart.Rows), sparkCells)] {
		r.FreshnessSparkMs[i] = num(float64(v[health.FreshnessP95Ms]))
		r.ArrivalSparkRowsPerSecond[i] = num(float64(v[health.ArrivalRowsPerSecond]))
		r.ProcessedSparkRowsPerSecond[i] = num(float64(v[health.ProcessedRowsPerSecond]))
	}
	return r
}
