package monitor

import "time"

// A Trigger is when a trigger ran. Only whole Unix milliseconds count, so that
// rates can be recomputed from the timestamps that users see.
type Trigger struct{ Start, End time.Time }

func (t Trigger) tookMs() int64 { return max(0, t.End.UnixMilli()-t.Start.UnixMilli()) }

// Rates is Spark's formula. Rows arrive during the time since the trigger
// before, sinceMs; without one (first) the rate is 0. They are processed
// during the trigger itself, tookMs. Neither time counts as less than 1 ms.
func Rates(rows int64, sinceMs, tookMs int64, first bool) (input, processed float64) {
	if !first {
		input = float64(rows) / (float64(max(1, sinceMs)) / 1000)
	}
	return input, float64(rows) / (float64(max(1, tookMs)) / 1000)
}

// pace remembers when the last trigger that counts began and when the last
// entry was made. Executed batches count, and idle triggers that made an
// entry; the polls between them do not, so the time since the trigger before
// is a true gap between batches.
type pace struct {
	idleEvery time.Duration
	counted   bool
	start     time.Time // of the last counted trigger
	entry     time.Time // end of the trigger that made the last entry
}

// idleDue tells whether an idle trigger that ends at now makes an entry.
func (p *pace) idleDue(now time.Time) bool {
	return !p.counted || now.Sub(p.entry) >= p.idleEvery
}

// count notes a trigger and returns the time since the one before.
func (p *pace) count(t Trigger) (sinceMs int64, first bool) {
	first = !p.counted
	sinceMs = t.Start.UnixMilli() - p.start.UnixMilli()
	p.counted, p.start, p.entry = true, t.Start, t.End
	return sinceMs, first
}
