package health

import (
	"math"
	"time"
)

// A Column is a number whose past is kept for charts.
type Column uint8

// The columns; those of the phases follow PhaseColumns.
const (
	ArrivalRowsPerSecond Column = iota
	ProcessedRowsPerSecond
	FreshnessP50Ms
	FreshnessP95Ms
	FreshnessP99Ms
	BacklogRows
	BacklogMs
	NewestAgeMs
	WatermarkLagMs
	BatchMs
	StateBytes
	PhaseColumns
	ColumnCount = PhaseColumns + Column(PhaseCount)
)

var columnNames = [PhaseColumns]string{
	"arrivalRowsPerSecond", "processedRowsPerSecond", "freshnessP50Ms", "freshnessP95Ms", "freshnessP99Ms",
	"backlogRows", "backlogMs", "newestAgeMs", "watermarkLagMs", "batchMs", "stateBytes",
}

// String is the column's name in the HTTP API.
func (c Column) String() string {
	if c < PhaseColumns {
		return columnNames[c]
	}
	name := Phase(c - PhaseColumns).String()
	return "phase" + string(name[0]-'a'+'A') + name[1:] + "Ms"
}

// Values is one row of a track; unknown numbers are NaN.
type Values [ColumnCount]float32

// The past of a query is kept finely for an hour and coarsely for a day.
const (
	FineStep   = 10 * time.Second
	CoarseStep = 4 * time.Minute
	trackCells = 360 // of either
)

// StripStep is the time that one state of the strip of a day stands for.
const (
	StripStep  = 30 * time.Minute
	StripCells = 48
)

// A Mark is something that happened to a query.
type Mark struct {
	At   time.Time
	Kind string // state, started, stopped, failed
	Text string
}

// keptMarks is how many marks a track keeps.
const keptMarks = 200

// A Track is the past of a query over all its runs, for charts.
type Track struct {
	fine, coarse ring
	strip        [StripCells]State
	stripAt      int64 // the number of the newest half hour
	marks        []Mark
	failures     []time.Time // of the last day, at most keptMarks
}

// NewTrack is the track of a query without a past.
func NewTrack() *Track {
	return &Track{fine: ring{step: FineStep}, coarse: ring{step: CoarseStep}}
}

// ring keeps the newest rows, one for each step of time.
type ring struct {
	step time.Duration
	rows []Values // oldest first
	last int64    // the number of the newest step
}

// put takes in a row: of each step the worst moment counts, of a rate the newest.
func (r *ring) put(at time.Time, v *Values) {
	n := at.UnixNano() / int64(r.step)
	switch {
	case len(r.rows) == 0 || n-r.last >= trackCells || r.last-n >= trackCells:
		r.rows = append(r.rows[:0], *v)
		r.last = n
		return
	case n < r.last: // the clock went back: what is there stays
		return
	}
	for ; r.last < n; r.last++ {
		row := *v
		if r.last+1 < n {
			row = nothing() // a gap is a gap
		}
		if len(r.rows) == trackCells {
			copy(r.rows, r.rows[1:])
			r.rows = r.rows[:trackCells-1]
		}
		r.rows = append(r.rows, row)
	}
	row := &r.rows[len(r.rows)-1]
	for c := range row {
		if old := row[c]; c <= int(ProcessedRowsPerSecond) || old != old || v[c] > old {
			if v[c] == v[c] {
				row[c] = v[c]
			}
		}
	}
}

func nothing() (v Values) {
	for c := range v {
		v[c] = float32(math.NaN())
	}
	return v
}

// Note adds an assessment to the past. Phases are those of the batch that was
// committed since the last one, nil for none.
func (t *Track) Note(a *Assessment, b *Batch) {
	v := nothing()
	ms := func(seconds float64) float32 { return float32(seconds * 1000) }
	v[ArrivalRowsPerSecond] = float32(a.ArrivalRowsPerSecond)
	v[ProcessedRowsPerSecond] = float32(a.ProcessedPerSecond)
	v[FreshnessP50Ms], v[FreshnessP95Ms] = ms(a.DeliveryP50), ms(a.DeliveryP95)
	v[FreshnessP99Ms] = ms(a.DeliveryP99)
	v[BacklogRows], v[BacklogMs] = float32(a.Backlog.Rows), ms(a.BacklogSeconds)
	v[NewestAgeMs], v[WatermarkLagMs] = ms(a.NewestAge), ms(a.WatermarkLag)
	v[StateBytes] = float32(a.StateBytes)
	if b != nil {
		v[BatchMs] = ms(b.seconds())
		for p, seconds := range b.Phases {
			v[int(PhaseColumns)+p] = ms(seconds)
		}
	}
	t.fine.put(a.At, &v)
	t.coarse.put(a.At, &v)
	t.noteState(a.At, a.State)
}

// severity orders states as the strip does: the worst of a half hour is shown.
var severity = map[State]int{
	Failed: 10, Stalled: 9, Breach: 8, Behind: 7, Lagging: 6, CatchingUp: 5, Restarting: 4, Healthy: 3, Idle: 2,
	Starting: 1,
}

func (t *Track) noteState(at time.Time, s State) {
	n := at.UnixNano() / int64(StripStep)
	if t.stripAt == 0 || n-t.stripAt >= StripCells {
		t.strip, t.stripAt = [StripCells]State{}, n
	}
	for ; t.stripAt < n; t.stripAt++ {
		copy(t.strip[:], t.strip[1:])
		t.strip[StripCells-1] = ""
	}
	if old := t.strip[StripCells-1]; old == "" || severity[s] > severity[old] {
		t.strip[StripCells-1] = s
	}
}

// Strip is the worst state of each half hour of the last day, oldest first; "" is
// one without data.
func (t *Track) Strip(now time.Time) [StripCells]State {
	behind := now.UnixNano()/int64(StripStep) - t.stripAt
	var out [StripCells]State
	for i := range out {
		if from := int64(i) + behind; from >= 0 && from < StripCells {
			out[i] = t.strip[from]
		}
	}
	return out
}

// Mark notes that something happened.
func (t *Track) Mark(m Mark) {
	if len(t.marks) == keptMarks {
		t.marks = append(t.marks[:0], t.marks[1:]...)
	}
	t.marks = append(t.marks, m)
	if m.Kind == "failed" {
		if len(t.failures) == keptMarks {
			t.failures = append(t.failures[:0], t.failures[1:]...)
		}
		t.failures = append(t.failures, m.At)
	}
}

// Marks is what happened, oldest first.
func (t *Track) Marks() []Mark { return append([]Mark(nil), t.marks...) }

// FailedSince counts the failures since an instant.
func (t *Track) FailedSince(at time.Time) int {
	n := 0
	for _, failure := range t.failures {
		if !failure.Before(at) {
			n++
		}
	}
	return n
}

// A Chart is a piece of the past: row i ends at From + (i+1)·Step.
type Chart struct {
	From, To time.Time
	Step     time.Duration
	Rows     []Values
}

// Chart is the past between two instants in steps of at least step, the finest
// there are.
func (t *Track) Chart(from, to time.Time, step time.Duration) Chart {
	r := &t.fine
	if from.Before(to.Add(-trackCells*FineStep)) || step >= CoarseStep {
		r = &t.coarse
	}
	per := max(1, int64((step+r.step/2)/r.step))
	first, end := from.UnixNano()/int64(r.step), to.UnixNano()/int64(r.step)
	end = min(end, first+2*trackCells)
	c := Chart{From: time.Unix(0, first*int64(r.step)), Step: time.Duration(per) * r.step}
	for at := first; at < end; at += per {
		row := nothing()
		for n := at; n < at+per; n++ {
			i := int64(len(r.rows)) - 1 - (r.last - n)
			if i < 0 || i >= int64(len(r.rows)) {
				continue
			}
			for col, x := range r.rows[i] {
				if x == x && (row[col] != row[col] || x > row[col]) {
					row[col] = x
				}
			}
		}
		c.Rows = append(c.Rows, row)
	}
	c.To = c.From.Add(time.Duration(len(c.Rows)) * c.Step)
	return c
}
