package ui

import (
	"math"
	"net/http"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// detail is the answer to GET /api/v1/queries/{id}: the row of the fleet and more.
type detail struct {
	*fleetRow
	NowAtMs           instant     `json:"nowAtMs"`
	Verdict           verdictJSON `json:"verdict"`
	InFlight          *flightJSON `json:"inFlight"`
	Operators         []operator  `json:"operators"`
	Sources           []source    `json:"sources"`
	Sink              optional    `json:"sink"`
	Events            []event     `json:"events"`
	Alerts            []alertJSON `json:"alerts"`
	Error             *failure    `json:"error"`
	FreshnessP50Ms    number      `json:"freshnessP50Ms"`
	FreshnessP99Ms    number      `json:"freshnessP99Ms"`
	FreshnessMaxMs    number      `json:"freshnessMaxMs"`
	FreshnessFloorMs  number      `json:"freshnessFloorMs"`
	NewestAgeMs       number      `json:"newestAgeMs"`
	OldestUnreadAgeMs number      `json:"oldestUnreadAgeMs"`
	WatermarkLagMs    number      `json:"watermarkLagMs"`
	WatermarkDelayMs  number      `json:"watermarkDelayMs"`
	DroppedRatio      number      `json:"droppedRatio"`
	DroppedRows       number      `json:"droppedRows"`
	DroppedOfRows     number      `json:"droppedOfRows"`
	CapRows           number      `json:"capRows"`
	CapName           optional    `json:"capName"`
	StateLimitBytes   number      `json:"stateLimitBytes"`
	StartedAtMs       instant     `json:"startedAtMs"`
	EndedAtMs         instant     `json:"endedAtMs"`
	EndReason         optional    `json:"endReason"`
	Status            string      `json:"status"`
	LastBatchID       *int64      `json:"lastBatchId"`
	NextTriggerInMs   number      `json:"nextTriggerInMs"`
	Bounded           bool        `json:"bounded"`
}

type verdictJSON struct {
	Sentence string   `json:"sentence"`
	Reason   string   `json:"reason"`
	Why      []string `json:"why"`
	Todo     []string `json:"todo"`
	Eta      *etaJSON `json:"eta"`
}

type etaJSON struct {
	Word string `json:"word"`
	Text string `json:"text"`
}

type flightJSON struct {
	BatchID          int64    `json:"batchId"`
	StartedAtMs      instant  `json:"startedAtMs"`
	Phase            string   `json:"phase"`
	ReadRows         number   `json:"readRows"`
	TotalRows        number   `json:"totalRows"`
	LastProgressAtMs instant  `json:"lastProgressAtMs"`
	WaitsFor         optional `json:"waitsFor"`
}

type operator struct {
	Name        string   `json:"name"`
	Text        string   `json:"text"`
	TimeMs      number   `json:"timeMs"`
	ShareRatio  number   `json:"shareRatio"`
	InputRows   number   `json:"inputRows"`
	PartitionMs []number `json:"partitionMs"`
}

type source struct {
	Description string      `json:"description"`
	BehindRows  number      `json:"behindRows"`
	BehindBytes number      `json:"behindBytes"`
	BehindFiles number      `json:"behindFiles"`
	OldestAtMs  instant     `json:"oldestAtMs"`
	Partitions  []partition `json:"partitions"`
}

type partition struct {
	Partition       string  `json:"partition"`
	CommittedOffset number  `json:"committedOffset"`
	LatestOffset    number  `json:"latestOffset"`
	BehindRows      number  `json:"behindRows"`
	NewestAtMs      instant `json:"newestAtMs"`
	Late            bool    `json:"late"`
}

type event struct {
	AtMs instant `json:"atMs"`
	Kind string  `json:"kind"`
	Text string  `json:"text"`
}

type failure struct {
	Condition optional `json:"condition"`
	Headline  string   `json:"headline"`
	Message   string   `json:"message"`
	Trace     string   `json:"trace"`
	AtMs      instant  `json:"atMs"`
}

func (s *server) query(w http.ResponseWriter, r *http.Request) {
	if q := s.find(w, r); q != nil {
		answer(w, s.detailOf(q, s.options.Now()))
	}
}

func newDetail(q *monitor.Query, now time.Time) *detail {
	snapshot, a := q.Snapshot(), q.Health()
	d := &detail{
		fleetRow: newFleetRow(q, now), NowAtMs: instant(now),
		Verdict: verdictJSON{a.Sentence, a.Reason, orNone(a.Why), orNone(a.Todo), nil},
		Sink:    optional(snapshot.Sink), Operators: []operator{}, Sources: []source{}, Events: []event{},
		Alerts:         []alertJSON{},
		FreshnessP50Ms: milliseconds(a.DeliveryP50), FreshnessP99Ms: milliseconds(a.DeliveryP99),
		FreshnessMaxMs: milliseconds(a.DeliveryMax), FreshnessFloorMs: milliseconds(a.Floor),
		NewestAgeMs:       milliseconds(a.NewestAge + now.Sub(a.At).Seconds()),
		OldestUnreadAgeMs: milliseconds(a.OldestUnreadAge),
		WatermarkLagMs:    milliseconds(a.WatermarkLag), WatermarkDelayMs: unknown(),
		DroppedRatio: num(a.DroppedRatio), DroppedRows: num(a.DroppedRows),
		DroppedOfRows: num(a.DroppedOf), CapRows: num(a.CapRows),
		CapName:         optional(snapshot.Health.CapName),
		StateLimitBytes: unknown(), StartedAtMs: instant(snapshot.StartedAt), EndedAtMs: instant(snapshot.EndedAt),
		EndReason: optional(snapshot.EndReason), Status: snapshot.Status.Message, NextTriggerInMs: unknown(),
		Bounded: snapshot.Health.Bounded,
	}
	if a.State == health.Failed || a.State == health.Stopped {
		d.FreshnessP50Ms, d.FreshnessP99Ms, d.FreshnessMaxMs = unknown(), unknown(), unknown()
		if !a.Rested {
			d.OldestUnreadAgeMs = unknown()
		}
	}
	if snapshot.EndReason != "" && !snapshot.Left {
		d.Verdict.Why = append(d.Verdict.Why, "Stopped because "+snapshot.EndReason+".")
	}
	if a.EtaWord != "" {
		d.Verdict.Eta = &etaJSON{a.EtaWord, a.EtaText}
	}
	if delay := snapshot.Health.WatermarkDelay; delay > 0 {
		d.WatermarkDelayMs = milliseconds(delay.Seconds())
	}
	if limit := snapshot.Health.StateLimit; limit > 0 {
		d.StateLimitBytes = num(limit)
	}
	if last := snapshot.LastBatch; last != nil {
		d.LastBatchID = &last.BatchID
	}
	d.running(&a, snapshot.Health.TriggerEvery, now)
	d.parts(q)
	if f := snapshot.Failure; f != nil {
		d.Error = &failure{optional(f.Condition), health.Headline(f.Message), f.Message, f.Trace,
			instant(snapshot.EndedAt)}
	}
	return d
}

func orNone(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// running fills in the batch that runs, or when the next one is due.
func (d *detail) running(a *health.Assessment, every time.Duration, now time.Time) {
	if f := a.InFlight; f != nil {
		d.InFlight = &flightJSON{
			f.ID, instant(f.Start), f.Phase.String(), num(f.ReadRows), num(f.TotalRows),
			instant(f.MovedAt), optional(f.WaitsFor),
		}
		return
	}
	if every > 0 && d.EndedAtMs == (instant{}) {
		past := time.Duration(now.UnixMilli()%max(1, every.Milliseconds())) * time.Millisecond
		d.NextTriggerInMs = milliseconds((every - past).Seconds())
	}
}

// parts fills in operators, sources and events.
func (d *detail) parts(q *monitor.Query) {
	d.Operators = meanOperators(q.Batches())
	for _, s := range q.Reading().Sources {
		one := source{
			Description: s.Name, BehindRows: num(s.Unread.Rows), BehindBytes: num(s.Unread.Bytes),
			BehindFiles: num(s.Unread.Files), OldestAtMs: instant(s.Oldest), Partitions: []partition{},
		}
		for _, p := range s.Partitions {
			one.Partitions = append(one.Partitions, partition{
				p.Name, num(p.Committed), num(p.Latest), num(p.Latest - p.Committed),
				instant(p.Newest), p.Late,
			})
		}
		d.Sources = append(d.Sources, one)
	}
	if len(d.Sources) == 0 {
		for _, name := range q.Snapshot().Sources {
			d.Sources = append(d.Sources, source{Description: name, BehindRows: unknown(),
				BehindBytes: unknown(), BehindFiles: unknown(), Partitions: []partition{}})
		}
	}
	marks := q.Marks()
	for i := len(marks) - 1; i >= 0; i-- {
		d.Events = append(d.Events, event{instant(marks[i].At), marks[i].Kind, marks[i].Text})
	}
}

// meanBatches is over how many of the newest batches operators and phases are told.
const meanBatches = 12

// meanOperators is what the operators did in a batch of late, and the share that they took
// of its time; the partitions are those of the last one.
func meanOperators(batches []health.Batch) []operator {
	out := []operator{}
	if len(batches) == 0 {
		return out
	}
	recent := batches[max(0, len(batches)-meanBatches):]
	last := &recent[len(recent)-1]
	all := 0.0
	for i := range recent {
		all += recent[i].End.Sub(recent[i].Start).Seconds()
	}
	for k, o := range last.Operators {
		seconds, rows := 0.0, 0.0
		for i := range recent {
			if k < len(recent[i].Operators) && recent[i].Operators[k].Name == o.Name { // as a rule the plan stays
				seconds += recent[i].Operators[k].Seconds
				rows += recent[i].Operators[k].Rows
			}
		}
		n := float64(len(recent))
		op := operator{Name: o.Name, Text: o.Text, TimeMs: fineMilliseconds(seconds / n),
			ShareRatio: num(min(1, seconds/all)), InputRows: num(math.Round(rows / n)), PartitionMs: []number{}}
		for _, seconds := range o.Partitions {
			op.PartitionMs = append(op.PartitionMs, fineMilliseconds(seconds))
		}
		out = append(out, op)
	}
	return out
}

// batchList is the answer to GET /api/v1/queries/{id}/batches, newest first.
type batchList struct {
	Query      string                    `json:"query"`
	TriggerMs  number                    `json:"triggerMs"`
	PhaseNames [health.PhaseCount]string `json:"phaseNames"`
	Batches    []batch                   `json:"batches"`
}

type batch struct {
	BatchID     int64                     `json:"batchId"`
	StartedAtMs instant                   `json:"startedAtMs"`
	BatchMs     number                    `json:"batchMs"`
	InputRows   number                    `json:"inputRows"`
	Capped      bool                      `json:"capped"`
	Phases      [health.PhaseCount]number `json:"phases"`
}

func (s *server) batches(w http.ResponseWriter, r *http.Request) {
	q := s.find(w, r)
	if q == nil {
		return
	}
	answer(w, newBatches(q))
}

func newBatches(q *monitor.Query) *batchList {
	snapshot := q.Snapshot()
	list := &batchList{
		Query: q.ID(), TriggerMs: milliseconds(snapshot.Health.TriggerEvery.Seconds()), Batches: []batch{},
	}
	for p := range health.PhaseCount {
		list.PhaseNames[p] = p.String()
	}
	batches := q.Batches()
	for i := len(batches) - 1; i >= 0; i-- {
		list.Batches = append(list.Batches, newBatch(&batches[i]))
	}
	return list
}

func newBatch(b *health.Batch) batch {
	one := batch{
		BatchID: b.ID, StartedAtMs: instant(b.Start), BatchMs: milliseconds(b.End.Sub(b.Start).Seconds()),
		InputRows: num(b.Rows), Capped: b.Capped,
	}
	for p, seconds := range b.Phases {
		one.Phases[p] = fineMilliseconds(seconds)
	}
	return one
}
