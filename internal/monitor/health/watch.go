package health

import (
	"slices"
	"time"
)

const (
	// KeptBatches is how many batches a Watch remembers.
	KeptBatches = 128
	// endedBatches is how many of them when the run is over.
	endedBatches = 32
	// leastWindow is the shortest time over which rates and trends are taken.
	leastWindow = 120 * time.Second
	// fastWindow is the one that a verdict of lag is left by.
	fastWindow = 30 * time.Second
	// historySpan is how far back arrivals are remembered to tell how old a row is.
	historySpan = 6 * time.Hour
)

// Config is what a query's program says that matters for judging it.
type Config struct {
	TriggerEvery time.Duration // 0: one batch follows the other
	Bounded      bool          // availableNow and once: it ends by itself
	Objective    time.Duration // of the age of the oldest unread row; 0: none
	ObjectiveFor time.Duration // how long it may be missed; default 60 s
	CapName      string        // the option that limits a batch, "" without one
	// WatermarkDelay is the delay threshold of the plan, which a watermark lags by design.
	WatermarkDelay time.Duration
	// Sink is foreachBatch, foreach or kafka for what may have acted on a batch that
	// failed; "" for the others, which show a batch in one piece.
	Sink       string
	StateLimit float64 // bytes that the query's memory may have; 0: not limited
	// Afterwards says that batches are told when they are over: which one runs is not known.
	Afterwards bool
}

// Amount is how much of a source is meant; unknown parts are NaN (H1).
type Amount struct{ Rows, Bytes, Files float64 }

// Unmeasured is an amount of which nothing is known.
func Unmeasured() Amount { return Amount{unknown(), unknown(), unknown()} }

func (a Amount) plus(b Amount) Amount {
	return Amount{a.Rows + b.Rows, a.Bytes + b.Bytes, a.Files + b.Files}
}

// A Reading is where the sources of a query stood at one instant.
type Reading struct {
	At      time.Time
	Sources []Source
}

// A Source is one input in a Reading.
type Source struct {
	Name string
	// Read is what was committed since the watch began, Unread what waits behind it.
	Read, Unread Amount
	// Oldest is when the first unread row came to the source: zero when nothing
	// waits, and where the source cannot tell.
	Oldest time.Time
	// Restarted says that the source began anew: it was made again, went back, or
	// got other partitions.
	Restarted bool
	// UntilLoss is in how many seconds the source deletes the first unread row;
	// unknown where it does not delete.
	UntilLoss  float64
	Partitions []Partition
}

// A Partition is one part of a source, in the source's own positions.
type Partition struct {
	Name              string
	Committed, Latest float64
	Oldest            time.Time
	// Newest is the newest event time of its rows, zero where that is not known. Late says
	// that it is behind the watermark although rows come: those are dropped.
	Newest time.Time
	Late   bool
}

// A PartTime is the newest event time of the rows of a batch from one partition.
type PartTime struct {
	Source, Name string
	Newest       time.Time
}

// A Batch is one that was committed.
type Batch struct {
	ID         int64
	Start, End time.Time
	Rows       float64
	Capped     bool // a read limit kept rows back
	NoData     bool // it only cleaned up state
	Phases     Phases
	Operators  []Operator
	// Delivery is how old its rows were when they were committed; nil if unknown.
	Delivery *Sketch
	// Newest is the newest time that a row of it bears; zero if unknown.
	Newest time.Time
	// Watermark is the one in force; zero without one, or before the first row.
	Watermark time.Time
	Dropped   float64 // rows that came too late
	// Parts are the newest event times by partition, where a watermark sees them.
	Parts []PartTime
	// StateBytes is what stateful operators hold; unknown for a query without any.
	StateBytes float64
}

// forgetPartitions drops the times of single partitions, which are many and of which only
// those of the newest batch are looked at. Who was given the operators before keeps them.
func (b *Batch) forgetPartitions() {
	b.Operators = slices.Clone(b.Operators)
	for i := range b.Operators {
		b.Operators[i].Partitions = nil
	}
}

func (b *Batch) seconds() float64 { return b.End.Sub(b.Start).Seconds() }

// A Phase is a part of a batch.
type Phase uint8

// The phases of a batch, in their order.
const (
	LatestOffset Phase = iota
	QueryPlanning
	Read
	Compute
	StateCommit
	SinkWrite
	LogCommit
	PhaseCount
)

// Phases is the time of each phase, in seconds; unknown ones are NaN.
type Phases [PhaseCount]float64

// String is the name of a phase in the HTTP API.
func (p Phase) String() string {
	return [PhaseCount]string{
		"latestOffset", "queryPlanning", "read", "compute", "stateCommit", "sinkWrite", "logCommit",
	}[p]
}

// An Operator is what one operator of the plan did in a batch.
type Operator struct {
	Name       string
	Text       string // what it works on, "" where the name says it all
	Seconds    float64
	Rows       float64
	Partitions []float64 // seconds of each, empty when it has none
}

// InFlight is a batch that runs.
type InFlight struct {
	ID        int64
	Start     time.Time
	Phase     Phase
	ReadRows  float64
	TotalRows float64 // unknown until the source has said
	MovedAt   time.Time
	WaitsFor  string // what it waits for outside, "" for nothing
	steps     int64
}

// A Watch follows one query.
type Watch struct {
	config   Config
	begun    time.Time // of the run
	seen     time.Time // the newest reading
	now      time.Time // the newest instant of all
	unit     unit
	arrived  series    // in the unit, over the window
	history  series    // the same over historySpan
	backlog  series    // in the unit, without what the running batch is done with
	state    series    // its bytes
	begins   series    // the backlog when batches began: it has no teeth
	read     float64   // committed, in the unit
	readRows float64   // the same in rows
	reading  Reading   // the newest
	first    time.Time // of the first reading since rates began anew

	meter     meter
	batches   []Batch // the newest, oldest first, those without data left out
	commitAt  time.Time
	lastID    int64     // of the batch that was committed then, or by an earlier run
	resumed   bool      // an earlier run committed lastID
	failedIn  *InFlight // the batch that ran when the run failed
	newest    time.Time
	markLag   float64   // of the watermark behind the last batch, its delay taken off
	mark      time.Time // the watermark
	markMoved time.Time // when it was first what it is; zero for a query without one
	unmoved   int       // batches with rows since, the last at rowsAt
	rowsAt    time.Time
	running   *InFlight
	delivery  [2]Sketch // of this half of a window and of the one before
	halfAt    time.Time

	parts   map[partKey]partSeen
	dropsBy bool     // the last batch had stateful operators, which drop late rows
	past    []minute // what was usual, oldest first
	verdict machine
	room    [cells * (cells + 2) / 2]float64 // for slopes
	ended   State                            // "" while it runs
	endedAt time.Time
	failure string
}

// unit is in what arrivals and backlog are counted.
type unit uint8

const (
	noUnit unit = iota
	rows
	bytes
	files
)

func (u unit) of(a Amount) float64 {
	switch u {
	case rows:
		return a.Rows
	case bytes:
		return a.Bytes
	case files:
		return a.Files
	default:
		return unknown()
	}
}

func (u unit) String() string { return [...]string{"", "rows", "bytes", "files"}[u] }

// New begins to watch a run.
func New(c Config, at time.Time) *Watch {
	if c.ObjectiveFor == 0 {
		c.ObjectiveFor = time.Minute
	}
	w := &Watch{config: c, begun: at, seen: at, now: at, state: series{span: time.Hour},
		markLag: unknown(), verdict: machine{state: Healthy, since: at, calm: at}}
	w.anew(at)
	return w
}

// anew forgets arrivals and trends (H5), not what was committed.
func (w *Watch) anew(at time.Time) {
	w.first = at
	w.arrived = series{span: w.window()}
	w.backlog = series{span: w.window()}
	w.begins = series{span: w.window()}
	w.history = series{span: historySpan}
	w.verdict.growing, w.verdict.steady, w.verdict.late = time.Time{}, time.Time{}, time.Time{}
}

// told notes an instant. What others write down comes to be known late, so that it
// may lie before the last one.
func (w *Watch) told(at time.Time) {
	if at.After(w.now) {
		w.now = at
	}
}

// window is the time over which rates and trends are taken.
func (w *Watch) window() time.Duration {
	return max(leastWindow, 6*w.gap())
}

// gap is the time between the starts of batches of late, the running one and, lest the
// window collapses at its end, the last one included.
func (w *Watch) gap() time.Duration {
	gap := w.usualGap()
	for _, b := range w.recent(1) {
		gap = max(gap, b.End.Sub(b.Start))
	}
	if w.running != nil {
		gap = max(gap, w.now.Sub(w.running.Start))
	}
	return gap
}

// usualGap is gap without the running batch.
func (w *Watch) usualGap() time.Duration {
	recent := w.recent(6)
	gaps := make([]float64, 0, 6)
	for i := 1; i < len(recent); i++ {
		gaps = append(gaps, recent[i].Start.Sub(recent[i-1].Start).Seconds())
	}
	gap := w.config.TriggerEvery
	if len(gaps) > 0 {
		gap = time.Duration(median(gaps) * float64(time.Second))
	}
	return gap
}

// warmUp is how long a run is not judged after its start: however long its batch runs,
// that ends.
func (w *Watch) warmUp() time.Duration { return max(leastWindow, 6*w.usualGap()) }

// recent is the last n batches with data.
func (w *Watch) recent(n int) []Batch {
	return w.batches[max(0, len(w.batches)-n):]
}

// Observe takes in where the sources stand.
func (w *Watch) Observe(r Reading) {
	w.told(r.At)
	read, unread := Amount{}, Amount{}
	restarted := false
	for _, s := range r.Sources {
		read, unread = read.plus(s.Read), unread.plus(s.Unread)
		restarted = restarted || s.Restarted
	}
	w.reading = r
	u := measured(read.plus(unread))
	restarted = restarted || r.At.Before(w.seen)
	w.seen = r.At
	if u != w.unit || restarted {
		w.unit = u
		w.anew(r.At)
	}
	if u == noUnit || len(r.Sources) == 0 {
		return
	}
	arrived := u.of(read) + u.of(unread)
	if n := len(w.arrived.points); n > 0 && arrived < w.arrived.points[n-1].value*(1-1e-9) {
		w.anew(r.At)
	}
	w.read, w.readRows = u.of(read), read.Rows
	w.arrived.span, w.backlog.span, w.begins.span = w.window(), w.window(), w.window()
	w.arrived.add(r.At, arrived)
	w.history.add(r.At, arrived)
	w.backlog.add(r.At, max(0, u.of(unread)-w.inFlight()))
}

// measured is the best unit in which an amount is known.
func measured(a Amount) unit {
	for _, u := range []unit{rows, bytes, files} {
		if Known(u.of(a)) {
			return u
		}
	}
	return noUnit
}

// Begin says that a batch has begun. Observe before it says what waited then.
func (w *Watch) Begin(id int64, at time.Time) {
	w.told(at)
	w.running = &InFlight{ID: id, Start: at, TotalRows: unknown(), MovedAt: at}
	w.spend()
	w.meter.begun = w.meter.newest
	if waits := w.waits(); Known(waits) {
		w.begins.add(at, waits)
	}
}

// Move says how far the running batch is.
func (w *Watch) Move(at time.Time, p Phase, read, total float64, waitsFor string) {
	w.told(at)
	f := w.running
	if f == nil {
		return
	}
	if f.Phase != p || f.ReadRows != read {
		f.MovedAt = at
	}
	f.Phase, f.ReadRows, f.TotalRows, f.WaitsFor = p, read, total, waitsFor
}

// Step says how many steps the running batch has made: one that has read its rows and
// works on them moves.
func (w *Watch) Step(at time.Time, steps int64) {
	if f := w.running; f != nil && f.steps != steps {
		f.steps, f.MovedAt = steps, at
	}
}

// Commit says that the running batch is done. The caller gives b away.
func (w *Watch) Commit(b Batch) {
	w.told(b.End)
	w.running = nil
	w.commitAt, w.lastID = b.End, b.ID
	w.meter.settle(&b)
	w.spend()
	if Known(b.StateBytes) {
		w.state.add(b.End, b.StateBytes)
	}
	if !b.Watermark.IsZero() {
		w.markLag = b.Start.Sub(b.Watermark).Seconds() - w.config.WatermarkDelay.Seconds()
	}
	w.follow(&b)
	w.noteParts(&b)
	if b.NoData { // it stands for no rows: no rate, no duration
		return
	}
	if len(w.batches) == KeptBatches {
		w.batches = append(w.batches[:0], w.batches[1:]...)
	}
	w.deliver(&b)
	w.remember(&b)
	if n := len(w.batches); n > 0 {
		w.batches[n-1].forgetPartitions()
	}
	w.batches = append(w.batches, b)
	if b.Newest.After(w.newest) {
		w.newest = b.Newest
	}
}

// follow notes whether the watermark moves.
func (w *Watch) follow(b *Batch) {
	switch {
	case b.Watermark.IsZero() && w.config.WatermarkDelay == 0 && w.markMoved.IsZero():
	case w.markMoved.IsZero() || !b.Watermark.Equal(w.mark):
		w.mark, w.markMoved, w.unmoved = b.Watermark, b.End, 0
	case b.Rows > 0:
		w.unmoved++
		w.rowsAt = b.End
	}
}

// deliver counts how old the rows of a batch were into the window's sketches.
func (w *Watch) deliver(b *Batch) {
	if b.End.Sub(w.halfAt) > w.window()/2 {
		w.delivery[1] = w.delivery[0]
		w.delivery[0] = Sketch{}
		w.halfAt = b.End
	}
	w.delivery[0].Merge(b.Delivery)
	b.Delivery = nil
}

// Resume says which batch earlier runs committed last, below 0 for none.
func (w *Watch) Resume(id int64) {
	if id >= 0 {
		w.lastID, w.resumed = id, true
	}
}

// Quiet says that a trigger found nothing to do.
func (w *Watch) Quiet(at time.Time) {
	w.told(at)
	w.running = nil
	w.meter.begun = metered{}
}

// End says that the run is over; failure is "" when it was stopped or finished.
func (w *Watch) End(at time.Time, failure string) {
	w.told(at)
	w.failedIn, w.running = w.running, nil
	w.batches = slices.Clone(w.recent(endedBatches))
	w.ended, w.endedAt, w.failure = Stopped, at, failure
	if failure != "" {
		w.ended = Failed
	}
	w.verdict.enter(w.ended, at)
}

// Batches are the newest batches with data, oldest first.
func (w *Watch) Batches() []Batch { return slices.Clone(w.batches) }

// Reading is where the sources stood when Observe was told last, with the newest event
// times of their partitions.
func (w *Watch) Reading() Reading { return w.withParts(w.reading) }
