package ui

import (
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

// fleetRow is one query of the fleet. The unit stands last in each name.
type fleetRow struct {
	ID                          string             `json:"id"`
	RunID                       string             `json:"runId"`
	Name                        string             `json:"name"`
	Application                 string             `json:"application"`
	Tags                        []string           `json:"tags"`
	Engine                      string             `json:"engine"`
	State                       health.State       `json:"state"`
	SinceAtMs                   instant            `json:"sinceAtMs"`
	HealthScore                 number             `json:"healthScore"`
	Reason                      string             `json:"reason"`
	FreshnessP95Ms              number             `json:"freshnessP95Ms"`
	FreshnessSloMs              number             `json:"freshnessSloMs"`
	BacklogMs                   number             `json:"backlogMs"`
	BacklogRows                 number             `json:"backlogRows"`
	EtaLowMs                    number             `json:"etaLowMs"`
	EtaHighMs                   number             `json:"etaHighMs"`
	ShortPercent                number             `json:"shortPercent"`
	ArrivalRowsPerSecond        number             `json:"arrivalRowsPerSecond"`
	ProcessedRowsPerSecond      number             `json:"processedRowsPerSecond"`
	BatchMs                     number             `json:"batchMs"`
	TriggerMs                   number             `json:"triggerMs"`
	BusyRatio                   number             `json:"busyRatio"`
	HeadroomRatio               number             `json:"headroomRatio"`
	StateBytes                  number             `json:"stateBytes"`
	StateGrowthBytesPerHour     number             `json:"stateGrowthBytesPerHour"`
	LastCommitAtMs              instant            `json:"lastCommitAtMs"`
	RestartsLastDay             int                `json:"restartsLastDay"`
	StateStrip                  string             `json:"stateStrip"`
	FreshnessSparkMs            [sparkCells]number `json:"freshnessSparkMs"`
	ArrivalSparkRowsPerSecond   [sparkCells]number `json:"arrivalSparkRowsPerSecond"`
	ProcessedSparkRowsPerSecond [sparkCells]number `json:"processedSparkRowsPerSecond"`
}

// letters stand for states in a strip; '.' is no data.
var letters = map[health.State]byte{
	health.Failed: 'f', health.Stalled: 's', health.Breach: 'x', health.Behind: 'b', health.Lagging: 'l',
	health.CatchingUp: 'c', health.Restarting: 'r', health.Healthy: 'h', health.Idle: 'i', health.Stopped: 'o',
}

func (s *server) fleet(w http.ResponseWriter, _ *http.Request) {
	answer(w, s.newFleet(s.options.Now()))
}

// newFleet reads every query, those that need a person first.
func (s *server) newFleet(now time.Time) *fleet {
	f := &fleet{
		NowAtMs: instant(now), Server: build{"weir", s.options.Version},
		SparkStepSeconds: int(sparkStep.Seconds()), StripStepSeconds: int(health.StripStep.Seconds()),
		Totals:  fleetTotals{ByState: map[string]int{}},
		Queries: []*fleetRow{},
	}
	for _, q := range s.registry.Queries() {
		row := newFleetRow(q, now)
		f.Queries = append(f.Queries, row)
		f.Totals.Queries++
		f.Totals.ByState[string(row.State)]++
		f.Totals.ArrivalRowsPerSecond += known(row.ArrivalRowsPerSecond)
		f.Totals.ProcessedRowsPerSecond += known(row.ProcessedRowsPerSecond)
	}
	slices.SortStableFunc(f.Queries, func(a, b *fleetRow) int {
		if a.HealthScore != b.HealthScore {
			return int(math.Copysign(1, float64(b.HealthScore-a.HealthScore)))
		}
		if x, y := known(a.BacklogMs), known(b.BacklogMs); x != y {
			return int(math.Copysign(1, float64(y-x)))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return f
}

// known is n, or 0 where only a sum needs it.
func known(n number) number {
	if n != n {
		return 0
	}
	return n
}

func newFleetRow(q *monitor.Query, now time.Time) *fleetRow {
	snapshot, a := q.Snapshot(), q.Health()
	row := &fleetRow{
		ID: snapshot.ID, RunID: snapshot.RunID, Name: nameOf(&snapshot), Application: snapshot.Application,
		Tags: snapshot.Tags, Engine: snapshot.Engine, State: a.State, SinceAtMs: instant(a.Since),
		HealthScore: number(a.Score), Reason: a.Reason,
		FreshnessP95Ms: milliseconds(a.DeliveryP95), FreshnessSloMs: unknown(),
		BacklogMs: milliseconds(a.BacklogSeconds), BacklogRows: number(a.Backlog.Rows),
		EtaLowMs: unknown(), EtaHighMs: unknown(), ShortPercent: unknown(),
		ArrivalRowsPerSecond: number(a.ArrivalRowsPerSecond), ProcessedRowsPerSecond: number(a.ProcessedPerSecond),
		BatchMs: milliseconds(a.BatchSeconds), TriggerMs: milliseconds(snapshot.Health.TriggerEvery.Seconds()),
		BusyRatio: number(a.Busy), HeadroomRatio: number(a.Headroom), StateBytes: number(a.StateBytes),
		StateGrowthBytesPerHour: number(a.StatePerHour), LastCommitAtMs: instant(a.LastCommit),
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
	case a.State == health.Behind || a.State == health.Breach && a.Growth > 0:
		row.ShortPercent = number(math.Round(100 * a.Growth))
	}
	row.past(q, now)
	return row
}

// nameOf is a query's name; one without is called by the beginning of its id.
func nameOf(s *monitor.Snapshot) string {
	if s.Name != "" {
		return s.Name
	}
	return "query " + s.ID[:min(8, len(s.ID))]
}

// past fills in the small charts.
func (r *fleetRow) past(q *monitor.Query, now time.Time) {
	strip, failed := q.Strip(now)
	r.RestartsLastDay = failed
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
		r.FreshnessSparkMs[i] = number(v[health.FreshnessP95Ms])
		r.ArrivalSparkRowsPerSecond[i] = number(v[health.ArrivalRowsPerSecond])
		r.ProcessedSparkRowsPerSecond[i] = number(v[health.ProcessedRowsPerSecond])
	}
}
