package history

import (
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	// mostWaiting is how many records may wait for the disk (Y2): at a kilobyte each,
	// 32 MB.
	mostWaiting = 32_000
	// spillAt is how many make a file before the minute is over.
	spillAt = 8_000
	// singleBatches is how many batches of a second have a row each (Y3).
	singleBatches = 10
)

// ident says which run a row is of.
type ident struct{ id, runID, name string }

// batch is a row of progress in the making: one batch, or those of a second.
type batch struct {
	ident
	first, last, batches int64
	start, end           time.Time
	durationMs           int64
	rows                 int64
	inRate               float64
	out                  int64 // monitor.UncountedRows when it is not counted
	late                 int64
	phases               health.Phases
	stateBytes           float64
	watermark            time.Time
	capped, noData       bool
	sources              []monitor.Source // shared with the progress while batches is 1
	state                []monitor.StateOperator
	operators            []health.Operator
}

func newBatch(p *monitor.Progress, b *health.Batch) *batch {
	return &batch{
		ident: ident{p.ID, p.RunID, p.Name}, first: p.BatchID, last: p.BatchID, batches: 1,
		start: b.Start, end: b.End, durationMs: p.BatchDurationMs, rows: p.NumInputRows(),
		inRate: p.InputRowsPerSecond(), out: p.Sink.NumOutputRows, late: int64(b.Dropped), phases: b.Phases,
		stateBytes: b.StateBytes, watermark: b.Watermark, capped: b.Capped, noData: b.NoData,
		sources: p.Sources, state: p.StateOperators, operators: b.Operators,
	}
}

// add sums up a later batch of the same run.
func (b *batch) add(o *batch) {
	if b.batches == 1 {
		b.sources = append([]monitor.Source(nil), b.sources...)
		b.state = append([]monitor.StateOperator(nil), b.state...)
		b.operators = append([]health.Operator(nil), b.operators...)
	}
	b.batches += o.batches
	b.last, b.end = o.last, o.end
	b.durationMs += o.durationMs
	b.rows += o.rows
	b.late += o.late
	if b.out != monitor.UncountedRows && o.out != monitor.UncountedRows {
		b.out += o.out
	}
	for i, seconds := range o.phases {
		if !health.Known(b.phases[i]) {
			b.phases[i] = seconds
		} else if health.Known(seconds) {
			b.phases[i] += seconds
		}
	}
	b.stateBytes, b.watermark = o.stateBytes, o.watermark
	b.capped, b.noData = b.capped || o.capped, b.noData && o.noData
	b.addParts(o)
}

// addParts sums up what a run has the same number of in each batch.
func (b *batch) addParts(o *batch) {
	for i := range min(len(b.sources), len(o.sources)) {
		s, more := &b.sources[i], &o.sources[i]
		s.EndOffset, s.LatestOffset = more.EndOffset, more.LatestOffset
		s.NumInputRows += more.NumInputRows
	}
	for i := range min(len(b.state), len(o.state)) {
		sum := o.state[i]
		s := &b.state[i]
		sum.NumRowsUpdated += s.NumRowsUpdated
		sum.NumRowsRemoved += s.NumRowsRemoved
		sum.NumRowsDroppedByWatermark += s.NumRowsDroppedByWatermark
		sum.AllUpdatesTimeMs += s.AllUpdatesTimeMs
		sum.AllRemovalsTimeMs += s.AllRemovalsTimeMs
		sum.CommitTimeMs += s.CommitTimeMs
		*s = sum
	}
	for i := range min(len(b.operators), len(o.operators)) {
		sum := o.operators[i]
		if sum.Name != b.operators[i].Name { // Spark plans each batch anew
			continue
		}
		sum.Seconds += b.operators[i].Seconds
		sum.Rows += b.operators[i].Rows
		b.operators[i] = sum
	}
}

// second is what a run did in the newest second that it did something in.
type second struct {
	unix    int64
	batches int64
	at      int // of its first record in waiting
	flushes int64
}

// minute is how fresh the results of a run were.
type minute struct {
	ident
	begin                time.Time
	sketch               health.Sketch
	newest, oldest       float64 // worst ages in seconds
	backlog, arrivalRate float64
}

type lifeRow struct {
	at  time.Time
	run monitor.Snapshot
}

// Started notes a run.
func (s *Store) Started(q *monitor.Query) { s.noteLife(q) }

// Ended notes its end.
func (s *Store) Ended(q *monitor.Query) { s.noteLife(q) }

// Described notes what a run does, which nobody knew when it started.
func (s *Store) Described(q *monitor.Query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.plans) < mostWaiting {
		s.plans = append(s.plans, q)
	} else {
		s.dropped++
	}
}

// Dismissed notes that nobody need be told of its end any more.
func (s *Store) Dismissed(q *monitor.Query) { s.tellAgain(lifeRow{time.Now(), q.Snapshot()}) }

func (s *Store) noteLife(q *monitor.Query) {
	row := lifeRow{time.Now(), q.Snapshot()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if row.run.EndedAt.IsZero() {
		s.live[row.run.RunID] = true
	} else {
		delete(s.live, row.run.RunID)
		s.remember(RunOf(&row.run))
	}
	if len(s.lives) >= mostWaiting {
		s.dropped++
		return
	}
	s.lives = append(s.lives, row)
	if row.run.State == monitor.Stopped || row.run.State == monitor.Failed {
		delete(s.seconds, row.run.RunID)
	}
}

// Committed notes a batch.
func (s *Store) Committed(_ *monitor.Query, p *monitor.Progress, b *health.Batch) {
	if p == nil {
		return
	}
	row := newBatch(p, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Delivery != nil {
		s.minuteOf(row.ident, b.End).sketch.Merge(b.Delivery)
	}
	sec := s.seconds[p.RunID]
	if sec == nil {
		sec = &second{}
		s.seconds[p.RunID] = sec
	}
	if sec.unix != b.End.Unix() || sec.flushes != s.taken {
		*sec = second{unix: b.End.Unix(), at: len(s.waiting), flushes: s.taken}
	}
	if sec.batches++; sec.batches > singleBatches {
		s.sumUp(sec, row)
		return
	}
	if len(s.waiting) >= mostWaiting {
		s.dropped++
		return
	}
	s.waiting = append(s.waiting, row)
	if len(s.waiting) == spillAt {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// sumUp makes the records of a second one and adds a batch to it. It requires mu.
func (s *Store) sumUp(sec *second, row *batch) {
	var sum *batch
	for i := sec.at; i < len(s.waiting); i++ {
		one := s.waiting[i]
		if one == nil || one.runID != row.runID {
			continue
		}
		if sum == nil {
			sum, sec.at = one, i
			if one.batches > 1 {
				break // the others were added to it before
			}
			continue
		}
		sum.add(one)
		s.waiting[i] = nil
	}
	if sum == nil {
		s.dropped++ // there was no room for the first of the second
		return
	}
	sum.add(row)
}

// minuteOf is the minute of a run that an instant is in. It requires mu.
func (s *Store) minuteOf(of ident, at time.Time) *minute {
	begin := at.Truncate(time.Minute)
	key := minuteKey{of.runID, begin.Unix()}
	m := s.minutes[key]
	if m == nil {
		nothing := health.Unmeasured().Rows
		m = &minute{ident: of, begin: begin}
		m.newest, m.oldest, m.backlog, m.arrivalRate = nothing, nothing, nothing, nothing
		if len(s.minutes) >= mostWaiting {
			s.dropped++
			return m
		}
		s.minutes[key] = m
	}
	return m
}

type minuteKey struct {
	runID string
	unix  int64
}

// A change is one of the verdict on a query.
type change struct {
	ident
	at       time.Time
	from, to health.State
	cause    health.Cause
}

// look notes what is not told: verdicts and ages.
func (s *Store) look(now time.Time) {
	seen := make(map[string]health.State, len(s.verdicts))
	for _, q := range s.options.Registry.Queries() {
		run := q.Snapshot()
		before, known := s.verdicts[run.RunID]
		if run.State == monitor.Stopped || run.State == monitor.Failed {
			if !known && run.EndedAt.Before(s.began) {
				continue
			}
		}
		a := q.Health()
		seen[run.RunID] = a.State
		if before == a.State && (run.State == monitor.Stopped || run.State == monitor.Failed) {
			continue
		}
		s.noteHealth(ident{run.ID, run.RunID, run.Name}, before, &a, now)
	}
	s.verdicts = seen
}

func (s *Store) noteHealth(of ident, before health.State, a *health.Assessment, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != a.State && len(s.changes) < mostWaiting {
		s.changes = append(s.changes, change{of, now, before, a.State, a.Cause})
	}
	if !health.Known(a.NewestAge) && !health.Known(a.OldestUnreadAge) {
		return
	}
	m := s.minuteOf(of, now)
	m.newest, m.oldest = worse(m.newest, a.NewestAge), worse(m.oldest, a.OldestUnreadAge)
	m.backlog, m.arrivalRate = worse(m.backlog, a.Backlog.Rows), a.ArrivalRowsPerSecond
}

// worse is the greater of two, of which either may not be known.
func worse(a, b float64) float64 {
	if !health.Known(a) || b > a {
		return b
	}
	return a
}

// alertChanges are the alerts whose state is another than when they were seen last.
func (s *Store) alertChanges() []alert.View {
	s.mu.Lock()
	follow := s.alerts
	s.mu.Unlock()
	if follow == nil {
		return nil
	}
	var out []alert.View
	seen := map[string]string{}
	for _, v := range follow() {
		seen[v.ID] = v.State
		old := !v.Ended.IsZero() && v.Ended.Before(s.began)
		if s.alertStates[v.ID] != v.State && !old {
			out = append(out, v)
		}
	}
	s.alertStates = seen
	return out
}
