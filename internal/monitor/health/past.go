package health

import "time"

// pastMinutes is how far back a Watch remembers what was usual.
const pastMinutes = 180

// A minute sums up the batches that ended in one minute.
type minute struct {
	at        time.Time
	healthy   bool
	arrived   float64 // a second; unknown when the source cannot tell
	rows      float64
	batches   float64
	seconds   float64
	phases    [PhaseCount]float64
	operators map[string]float64 // seconds by operator
}

// remember adds a batch to its minute.
func (w *Watch) remember(b *Batch) {
	start := b.End.Truncate(time.Minute)
	if n := len(w.past); n == 0 || !w.past[n-1].at.Equal(start) {
		if n == pastMinutes {
			w.past = append(w.past[:0], w.past[1:]...)
		}
		w.past = append(w.past, minute{
			at: start, healthy: true, arrived: unknown(), operators: map[string]float64{},
		})
	}
	m := &w.past[len(w.past)-1]
	m.healthy = m.healthy && (w.verdict.shown == Healthy || w.verdict.shown == Idle || w.verdict.shown == "")
	m.rows += b.Rows
	m.batches++
	m.seconds += b.seconds()
	for p, seconds := range b.Phases {
		if Known(seconds) {
			m.phases[p] += seconds
		}
	}
	for _, o := range b.Operators {
		m.operators[o.Name] += o.Seconds
	}
	if rate := perSecond(w.arrived.within(b.End, time.Minute)); Known(rate) {
		m.arrived = rate
	}
}

// total sums minutes up; arrived is their median.
func total(minutes []minute) minute {
	sum := minute{arrived: unknown(), operators: map[string]float64{}}
	var rates []float64
	for i := range minutes {
		m := &minutes[i]
		sum.rows += m.rows
		sum.batches += m.batches
		sum.seconds += m.seconds
		for p, seconds := range m.phases {
			sum.phases[p] += seconds
		}
		for name, seconds := range m.operators {
			sum.operators[name] += seconds
		}
		if Known(m.arrived) {
			rates = append(rates, m.arrived)
		}
	}
	sum.arrived = median(rates)
	return sum
}

const (
	// usualMinutes is how many healthy minutes tell what is usual, at least leastUsual.
	usualMinutes = 60
	leastUsual   = 3
	// nowMinutes is how many of the last tell what is so now.
	nowMinutes = 3
)

// compare gives what is so now and what was usual before the trouble began; ok is
// false while too little is known.
func (w *Watch) compare(since time.Time) (now, usual minute, ok bool) {
	var healthy, late []minute
	for i := len(w.past) - 1; i >= 0; i-- {
		m := w.past[i]
		switch {
		// The minute of the change and the one before it belong to neither.
		case m.at.Before(since.Add(-3*time.Minute)) && m.healthy && len(healthy) < usualMinutes:
			healthy = append(healthy, m)
		case !m.at.Before(since.Add(-time.Minute)) && len(late) < nowMinutes:
			late = append(late, m)
		}
	}
	if len(healthy) < leastUsual || len(late) == 0 {
		return now, usual, false
	}
	now, usual = total(late), total(healthy)
	return now, usual, now.batches > 0 && usual.batches > 0
}

// expected is what the phases would take now if batches and rows cost what they
// usually do. Reading, computing and writing go with the rows, the rest with the batches.
func expected(now, usual *minute) [PhaseCount]float64 {
	var out [PhaseCount]float64
	byRows := now.rows / max(usual.rows, 1)
	byBatches := now.batches / usual.batches
	for p := range out {
		switch Phase(p) {
		case Read, Compute, SinkWrite:
			// A fixed part stays what it was, whatever the rows.
			out[p] = usual.phases[p] * max(byRows, byBatches)
		default:
			out[p] = usual.phases[p] * byBatches
		}
	}
	return out
}
