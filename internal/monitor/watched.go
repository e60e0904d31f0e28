package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// restartedWithin is how soon after a failure a start of the same query is a restart.
const restartedWithin = 10 * time.Minute

// A Flight is the batch that runs, as the engine's goroutines tell of it.
type Flight struct {
	phase atomic.Int32
	rows  atomic.Int64
	steps atomic.Int64
	total atomic.Int64 // -1 while it is not known
	waits atomic.Pointer[string]
}

// Enter says that a phase of the batch begins.
func (f *Flight) Enter(p health.Phase) { f.phase.Store(int32(p)) }

// Read says that rows were read.
func (f *Flight) Read(rows int64) { f.rows.Add(rows) }

// Step says that the batch goes on, whether rows are read or not.
func (f *Flight) Step() { f.steps.Add(1) }

// Expect says how many rows the batch will read.
func (f *Flight) Expect(rows int64) { f.total.Store(rows) }

// WaitFor says what outside the batch waits for, "" for nothing any more.
func (f *Flight) WaitFor(what string) { f.waits.Store(&what) }

func (f *Flight) reset() {
	f.phase.Store(int32(health.LatestOffset))
	f.rows.Store(0)
	f.steps.Store(0)
	f.total.Store(-1)
	f.waits.Store(nil)
}

// past is that of a query over all its runs, of which an old one may still be ending
// when the next begins.
type past struct {
	mu     sync.Mutex
	track  *health.Track
	totals Totals
	losses int64
	lost   string // what was lost last
}

// Totals count what a query has done since the server knows it, over all its runs.
type Totals struct {
	Batches, Failures int64
	Rows, Dropped     float64
	BatchSeconds      Histogram
	DeliverySeconds   Histogram // how old rows were when they were committed
	Phases            [health.PhaseCount]float64
}

// HistogramBounds are the upper bounds of the buckets of a Histogram, in seconds.
var HistogramBounds = [...]float64{
	0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200,
}

// A Histogram counts times by size.
type Histogram struct {
	Counts [len(HistogramBounds) + 1]float64 // the last of what is larger than all bounds
	Sum    float64
}

func (h *Histogram) add(seconds, n float64) {
	if !health.Known(seconds) || n <= 0 {
		return
	}
	i := 0
	for i < len(HistogramBounds) && seconds > HistogramBounds[i] {
		i++
	}
	h.Counts[i] += n
	h.Sum += seconds * n
}

// count adds a committed batch.
func (t *Totals) count(b *health.Batch) {
	t.Batches++
	t.Rows += b.Rows
	t.Dropped += b.Dropped
	t.BatchSeconds.add(b.End.Sub(b.Start).Seconds(), 1)
	for p, seconds := range b.Phases {
		if health.Known(seconds) {
			t.Phases[p] += seconds
		}
	}
	b.Delivery.Each(t.DeliverySeconds.add)
}

func (p *past) mark(m health.Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.track.Mark(m)
}

// watched is what is seen of a query from outside. Of the fields of a Query it alone
// is guarded by its own lock, so that charts never wait for a batch.
type watched struct {
	flight Flight

	mu     sync.Mutex
	watch  *health.Watch
	past   *past
	last   health.Assessment
	batch  *health.Batch // committed since the last assessment
	failed time.Time     // when the run before this one failed, zero if it did not
	fresh  bool          // no batch was committed yet
	// displaced is the query whose checkpoint this one took over.
	displaced string
}

// follow begins to watch a run; before is the newest earlier run of the same query.
func (q *Query) follow(before *Query) {
	w := &q.watched
	w.flight.reset()
	w.fresh = true
	w.watch = health.New(q.run.Health, q.run.StartedAt)
	w.last = w.watch.Assess(q.run.StartedAt)
	if before == nil {
		w.past = &past{track: health.NewTrack()}
	} else {
		w.past = before.watched.past
		if before.State() == Failed {
			w.failed = before.Snapshot().EndedAt
		}
	}
	text := "Started"
	if q.run.Displaced != "" {
		w.displaced = q.run.Displaced
		text = "Started with the checkpoint of " + q.run.Displaced + ", which was stopped for it"
	}
	w.past.mark(health.Mark{At: q.run.StartedAt, Kind: "started", Text: text})
}

// Flight is told of the batch that runs.
func (q *Query) Flight() *Flight { return &q.watched.flight }

// Begin says that a batch begins.
func (q *Query) Begin(batchID int64, at time.Time) {
	q.run.Output.begin(batchID)
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flight.reset()
	w.watch.Begin(batchID, at)
}

// Committed says that the batch is done. Record comes before it.
func (q *Query) Committed(b health.Batch) {
	if q.tap != nil {
		told := b
		q.tap.Committed(q, q.lastBatch(), &told)
	}
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = false
	w.past.mu.Lock()
	w.past.totals.count(&b)
	w.past.mu.Unlock()
	kept := b
	w.watch.Commit(b)
	if !b.NoData {
		w.batch = &kept
	}
}

// Resumes says which batch earlier runs committed last, below 0 for none.
func (q *Query) Resumes(batchID int64) {
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch.Resume(batchID)
}

// Quiet says that a trigger found nothing to do.
func (q *Query) Quiet(at time.Time) {
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch.Quiet(at)
}

// Sample takes in where the sources stand and judges the query. The sampler calls it
// about once a second; r is nil when the sources could not be asked.
func (q *Query) Sample(now time.Time, r *health.Reading) {
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved(now)
	if r != nil {
		w.watch.Observe(*r)
	}
	w.assess(now)
}

// moved tells the watch how far the flight is. It requires mu.
func (w *watched) moved(now time.Time) {
	f := &w.flight
	total, waits := float64(f.total.Load()), ""
	if total < 0 {
		total = health.Unmeasured().Rows
	}
	if text := f.waits.Load(); text != nil {
		waits = *text
	}
	w.watch.Move(now, health.Phase(f.phase.Load()), float64(f.rows.Load()), total, waits)
	w.watch.Step(now, f.steps.Load())
}

// assess requires mu.
func (w *watched) assess(now time.Time) {
	before := w.last.State
	w.last = w.watch.Assess(now)
	if w.fresh && !w.failed.IsZero() && w.last.State != health.Failed && w.last.State != health.Stopped &&
		now.Sub(w.failed) < restartedWithin {
		w.last.State, w.last.Score = health.Restarting, 30
		w.last.Sentence = "Restarted after a failure; no batch is committed yet."
	}
	if w.displaced != "" && w.last.State == health.Failed {
		w.last.Sentence = "Failed after it took over the checkpoint of " + w.displaced + "."
		w.last.Todo = append(w.last.Todo, "Give this query a checkpoint of its own, and start "+w.displaced+
			" again: that one did not fail, it was stopped.")
	}
	w.past.mu.Lock()
	w.past.track.Note(&w.last, w.batch)
	w.past.mu.Unlock()
	w.batch = nil
	if before != "" && before != w.last.State {
		w.past.mark(health.Mark{At: now, Kind: "state", Text: before.Word() + " → " + w.last.State.Word()})
	}
}

// finish notes the end of the run.
func (q *Query) finish(at time.Time, f *Failure) {
	why := q.Snapshot().EndReason
	w := &q.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, text := "stopped", ""
	if f != nil {
		kind, text = "failed", f.Message
	}
	if f != nil {
		w.past.mu.Lock()
		w.past.totals.Failures++
		w.past.mu.Unlock()
	}
	w.moved(at)
	w.watch.End(at, text)
	w.assess(at)
	said := w.last.State.Word()
	if why != "" {
		said += ": " + why
	}
	w.past.mark(health.Mark{At: at, Kind: kind, Text: said})
}

// Health is the newest assessment.
func (q *Query) Health() health.Assessment {
	q.watched.mu.Lock()
	defer q.watched.mu.Unlock()
	return q.watched.last
}

// Chart is a piece of the query's past, in steps of at least step.
func (q *Query) Chart(from, to time.Time, step time.Duration) health.Chart {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.track.Chart(from, to, step)
}

// Marks is what happened to the query, oldest first.
func (q *Query) Marks() []health.Mark {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.track.Marks()
}

// Strip is the worst state of each half hour of the last day, and FailedLastDay how
// often the query failed in it.
func (q *Query) Strip(now time.Time) (strip [health.StripCells]health.State, failedLastDay int) {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.track.Strip(now), p.track.FailedSince(now.Add(-24 * time.Hour))
}

// FailedSince counts the failures of all runs since an instant.
func (q *Query) FailedSince(at time.Time) int {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.track.FailedSince(at)
}

// Mark notes something that happened to the query, for its charts and events.
func (q *Query) Mark(m health.Mark) { q.watched.past.mark(m) }

// Lost says that rows of a source were gone before they were read, and that the query
// goes on without them.
func (q *Query) Lost(at time.Time, text string) {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losses++
	p.lost = text
	p.track.Mark(health.Mark{At: at, Kind: "loss", Text: "Rows lost: " + text})
}

// Losses is how often Lost was called over all runs, and what it said last.
func (q *Query) Losses() (n int64, text string) {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses, p.lost
}

// Unheard is how many events were dropped because listeners of the query's session are
// too slow.
func (q *Query) Unheard() int64 { return q.bus.Coalesced() }

// Totals is what the query has done over all its runs.
func (q *Query) Totals() Totals {
	p := q.watched.past
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.totals
}

// Batches are the newest batches with data, oldest first.
func (q *Query) Batches() []health.Batch {
	q.watched.mu.Lock()
	defer q.watched.mu.Unlock()
	return q.watched.watch.Batches()
}

// Reading is where the sources stood when they were asked last.
func (q *Query) Reading() health.Reading {
	q.watched.mu.Lock()
	defer q.watched.mu.Unlock()
	return q.watched.watch.Reading()
}

// State is where the run is in its life.
func (q *Query) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

// lastBatch is the progress of the newest batch, nil before the first.
func (q *Query) lastBatch() *Progress {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.executed
}
