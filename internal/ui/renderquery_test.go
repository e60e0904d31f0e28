package ui

import (
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// renderQuery is a page around a row: with everything there is for some rows, with
// hardly anything for others.
func renderQuery(r *fleetRow, now instant, i int) *queryPage {
	at := func(ago time.Duration) instant { return instant(time.Time(now).Add(-ago)) }
	d := &detail{
		fleetRow: r, NowAtMs: now,
		Verdict: verdictJSON{"It " + r.Reason + ".", r.Reason, []string{}, []string{}, nil},
		Sink:    optional(r.Application), Operators: []operator{}, Sources: []source{}, Events: []event{},
		Alerts:         []alertJSON{},
		FreshnessP50Ms: unknown(), FreshnessP99Ms: unknown(), FreshnessMaxMs: unknown(),
		FreshnessFloorMs: unknown(), NewestAgeMs: unknown(), OldestUnreadAgeMs: unknown(),
		WatermarkLagMs: unknown(), WatermarkDelayMs: unknown(),
		DroppedRatio: unknown(), DroppedRows: unknown(), DroppedOfRows: unknown(),
		CapRows: unknown(), StateLimitBytes: unknown(), NextTriggerInMs: unknown(),
		StartedAtMs: at(time.Duration(i*i) * time.Hour), Status: "x",
	}
	p := &queryPage{detail: d, batches: renderBatches(d, i), series: renderSeries(d, i), logs: renderLogs(d, i)}
	if i%3 == 0 {
		p.progress = `{"id":"a","numInputRows":0,"rate":4.0,"empty":{},"none":[],"a\"b":[1,{"k":"v\\\"<b>: ,{"}],"last":null}`
		d.renderFull(at, i)
	}
	switch i {
	case 0:
		d.Error = &failure{"[UNKNOWN.<b>]", "line <one>",
			"[X] [session: a-b] [userId: ] line one\n  line <two>", "java.lang.X: y\n\tat z", at(time.Minute)}
	case 1:
		d.NextTriggerInMs, d.NewestAgeMs = 4200, 61_000
	case 2:
		d.Error = &failure{"", "no condition", "no condition", "X: no condition", instant{}}
		d.Bounded = true
	case 4, 7:
		id := int64(1_234_567)
		d.LastBatchID, d.NextTriggerInMs = &id, 9400
		d.FreshnessP95Ms, d.TriggerMs = unknown(), 0
	}
	return p
}

func (d *detail) renderFull(at func(time.Duration) instant, i int) {
	d.Verdict.Why, d.Verdict.Todo = []string{"Because <b>.", "And so."}, []string{"Do it."}
	d.Verdict.Eta = &etaJSON{"Not catching up", "Short by 17 %."}
	d.FreshnessFloorMs, d.WatermarkDelayMs, d.DroppedRatio, d.CapRows = 15_000, 600_000, 0.0123, 100_000
	d.DroppedRows, d.DroppedOfRows = 1230, 100_000
	d.StateLimitBytes = 8e9
	d.Alerts = []alertJSON{{ID: "a1", State: "firing", Severity: "critical", Rule: "query <failed>",
		Query: "q", QueryID: "i",
		Text: "It & <b>.", Labels: map[string]string{}, FiredAtMs: at(time.Hour), HeldAtMs: at(time.Hour),
		SentTo: []string{}}}
	d.InFlight = &flightJSON{18499, at(4 * time.Second), "compute", 66_896, 100_000, at(2 * time.Second),
		"the <lake>"}
	if i == 3 {
		d.InFlight.TotalRows, d.InFlight.LastProgressAtMs = unknown(), instant{}
	}
	d.Operators = []operator{
		{"Source <x>", "kafka <y>", 1131, 0.1782, 100_000, []number{190, 207, 219, 164, 1920}},
		{"Sink", "", 0, unknown(), unknown(), []number{}},
	}
	many := source{Description: "kafka <orders>", BehindRows: 12_000, BehindFiles: 3, BehindBytes: 4.5e6,
		OldestAtMs: at(time.Hour)}
	for k := range 60 {
		many.Partitions = append(many.Partitions, partition{
			"orders-" + string(rune('a'+k%26)), number(41_000_000 + k), unknown(), number((k * k) % 977),
			instant{}, k == 7 && i == 3,
		})
		if i == 3 && k%2 == 1 {
			many.Partitions[k].NewestAtMs = at(time.Duration(k) * time.Minute)
		}
	}
	many.Partitions[5].BehindRows = unknown()
	d.Sources = []source{many,
		{"files", unknown(), unknown(), unknown(), instant{}, []partition{}},
	}
	d.Events = []event{
		{at(time.Minute), "state", "Healthy → Behind"}, {at(40 * time.Hour), "started", "Started"},
	}
}

func renderBatches(d *detail, i int) *batchList {
	l := &batchList{Query: d.ID, TriggerMs: d.TriggerMs, Batches: []batch{}}
	for p := range health.PhaseCount {
		l.PhaseNames[p] = p.String()
	}
	for k := range []int{0, 1, 5, 20}[i%4] {
		start := time.Time(d.NowAtMs).Add(-time.Duration(k) * time.Minute)
		b := batch{BatchID: int64(5000 - k), StartedAtMs: instant(start),
			BatchMs: number(1000 + 517*k), InputRows: number(k * 1234), Capped: k%2 == 0}
		for p := range b.Phases {
			b.Phases[p] = number((p + 1) * (k + 3) * 11)
			apart := health.Phase(p) == health.Read || health.Phase(p) == health.SinkWrite
			if apart && i%2 == 1 || k == 3 {
				b.Phases[p] = unknown()
			}
		}
		l.Batches = append(l.Batches, b)
	}
	return l
}

func renderSeries(d *detail, i int) *seriesJSON {
	s := &seriesJSON{Query: d.ID, FromAtMs: instant(time.Time(d.NowAtMs).Add(-time.Hour)), ToAtMs: d.NowAtMs,
		StepSeconds: 10, Columns: map[string][]number{}, Marks: []event{}, Downtime: []downtime{}}
	for c := range health.ColumnCount {
		values := make([]number, 360)
		for k := range values {
			values[k] = unknown()
			known := i%3 == 0 || i%3 == 1 && (c == health.BacklogMs || strings.HasPrefix(c.String(), "phase"))
			if known && k%50 != 7 {
				values[k] = num(float64(k) * float64(c+1) * 1.7)
			}
		}
		s.Columns[c.String()] = values
	}
	return s
}

// renderLogs is what functions printed: nothing, a few lines, more than are shown.
func renderLogs(d *detail, i int) *logList {
	l := &logList{Query: d.ID, RunID: d.RunID, Lines: []logLine{}}
	at := func(ago time.Duration) instant { return instant(time.Time(d.NowAtMs).Add(-ago)) }
	batch := int64(12_345)
	switch i {
	case 0:
		l.DroppedLines = 1_234_567
		for k := range shownLines + 1200 {
			l.Lines = append(l.Lines, logLine{AtMs: at(time.Duration(2000-k) * time.Second), BatchID: &batch,
				Stream: []string{"stdout", "stderr"}[k%2], Text: strings.Repeat("x", k%5)})
		}
		l.Lines = l.Lines[len(l.Lines)-shownLines-2:]
	case 1:
		l.DroppedLines = 3
		l.Lines = []logLine{
			{AtMs: at(40 * time.Hour), Stream: "stdout", Text: "\tbefore <b>the</b> first & \"batch\""},
			{AtMs: at(time.Second), BatchID: &batch, Stream: "stderr", Text: "\u202eright to left",
				CutBytes: 9_991_808},
		}
	}
	return l
}
