package health

import "time"

const (
	// leastShare is the share of its time in batches below which what a query could take
	// is not told: it would be the noise of a few milliseconds.
	leastShare = 0.05
	// fullShare is the share from which on batches follow each other.
	fullShare = 0.9
	// leastPace is for how many seconds batches must have run to tell how fast they are.
	leastPace = 5
)

// A metered is how long batches had run at an instant, and how many rows they had read.
type metered struct {
	at            time.Time
	seconds, rows float64
}

const (
	// meterSpan is the shortest time of which a meter keeps samples, meterSamples how many.
	meterSpan    = 10 * time.Minute
	meterSamples = 40
)

// A meter adds up batches, the running one included: of one that runs for minutes it is
// known long before its end.
type meter struct {
	seconds, rows float64 // of the batches that are over
	kept          []metered
	newest        metered
	begun         metered // when the running batch began; zero between batches
}

// note takes a sample; instants never go back.
func (m *meter) note(now time.Time, seconds, rows float64, span time.Duration) {
	m.newest = metered{now, m.seconds + seconds, m.rows + rows}
	if n := len(m.kept); n > 0 && now.Sub(m.kept[n-1].at) < span/meterSamples {
		return
	}
	for len(m.kept) > 1 && now.Sub(m.kept[1].at) >= span {
		m.kept = append(m.kept[:0], m.kept[1:]...)
	}
	m.kept = append(m.kept, m.newest)
}

// settle adds a batch that is over: its rows were worked off evenly, as far as is known,
// whenever it read them.
func (m *meter) settle(b *Batch) {
	m.begun = metered{}
	seconds := max(0, b.seconds())
	for i := range m.kept {
		k := &m.kept[i]
		if ran := k.at.Sub(b.Start).Seconds(); ran > 0 && seconds > 0 {
			k.rows = m.rows + b.Rows*min(1, ran/seconds)
		}
	}
	m.seconds += seconds
	m.rows += b.Rows
}

// over is what was added over the last window, or all that is known; of the running
// batch always all, for it may have read its rows at once.
func (m *meter) over(window time.Duration) (d metered, took time.Duration) {
	if len(m.kept) == 0 {
		return metered{}, 0
	}
	from := m.kept[0]
	for _, k := range m.kept[1:] {
		if m.newest.at.Sub(k.at) < window {
			break
		}
		from = k
	}
	if !m.begun.at.IsZero() && m.begun.at.Before(from.at) {
		from = m.begun
	}
	n := &m.newest
	return metered{n.at, n.seconds - from.seconds, n.rows - from.rows}, n.at.Sub(from.at)
}

// spend notes how far batches are.
func (w *Watch) spend() {
	ran := 0.0
	if w.running != nil {
		ran = max(0, w.now.Sub(w.running.Start).Seconds())
	}
	w.meter.note(w.now, ran, w.worked(), max(meterSpan, 3*w.config.TriggerEvery))
}

// worked is how many rows the running batch is done with: what it has read, for the
// first one. Engines read ahead, so of the others it is at most what batches were done
// with in the same time.
func (w *Watch) worked() float64 {
	if w.running == nil {
		return 0
	}
	rows, seconds := 0.0, 0.0
	for _, b := range w.recent(provenBatches) {
		rows, seconds = rows+b.Rows, seconds+b.seconds()
	}
	ran := max(0, w.now.Sub(w.running.Start).Seconds())
	if most := ran * rows / seconds; Known(most) {
		return min(w.running.ReadRows, most)
	}
	return w.running.ReadRows
}

// paces fills in for which share of the time batches ran and how fast they read.
func (w *Watch) paces(s *Signals, window time.Duration) {
	s.InBatches, s.PacePerSecond = unknown(), unknown()
	d, took := w.meter.over(window)
	if took > 0 {
		s.InBatches = max(0, min(1, d.seconds/took.Seconds()))
	}
	if d.seconds >= leastPace {
		s.PacePerSecond = max(0, d.rows) / d.seconds
	}
}

// inFlight is how much of what waits the running batch is done with, in the watch's unit.
func (w *Watch) inFlight() float64 {
	if worked := w.worked() / w.rowsPerUnit(); Known(positive(worked)) {
		return worked
	}
	return 0
}

// short tells whether batches are measurably slower than rows arrive.
func (s *Signals) short() bool {
	return s.PacePerSecond > 0 && s.PacePerSecond < (1-noticeable)*s.ArrivalRowsPerSecond
}

// load fills in how much of what it can take the query has to.
func (w *Watch) load(s *Signals) {
	s.Busy, s.Headroom = unknown(), unknown()
	late := s.BacklogSeconds > w.leastLag().Seconds()/2
	switch {
	case !(s.InBatches >= leastShare):
	case late && s.InBatches > fullShare && Known(positive(s.PacePerSecond)):
		s.Busy = s.ArrivalRowsPerSecond / s.PacePerSecond
	case !Known(s.BatchSeconds):
	case w.config.TriggerEvery > 0:
		s.Busy = s.BatchSeconds / w.config.TriggerEvery.Seconds()
	default:
		s.Busy = min(s.InBatches, w.loadOfEndless(s.BatchSeconds))
	}
	s.engineBusy = s.Busy
	if s.Capped && late && !(s.InBatches > fullShare) { // with time left it may not take more
		if byCap := s.ArrivalRowsPerSecond / positive(s.DrainPerSecond); !(s.Busy >= byCap) {
			s.Busy = byCap
		}
	}
	s.Headroom = 1 / positive(s.Busy)
}

// shortage fills in by how much the query is too slow.
func (s *Signals) shortage() {
	s.Short = max(0, s.Growth)
	if s.Headroom < 1 && !(s.Growth < -noticeable) {
		s.Short = 1 - s.Headroom
	}
}
