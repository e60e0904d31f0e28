package health

import (
	"slices"
	"time"
)

// mostParts is how many partitions' event times are remembered.
const mostParts = 4096

type partKey struct{ source, name string }

// partSeen is what came from a partition: its newest event time, and the end of the newest
// batch with rows of it.
type partSeen struct{ newest, at time.Time }

// noteParts takes in the event times of a batch's partitions.
func (w *Watch) noteParts(b *Batch) {
	w.dropsBy = Known(b.StateBytes)
	for _, p := range b.Parts {
		key := partKey{p.Source, p.Name}
		seen, known := w.parts[key]
		if !known && len(w.parts) >= mostParts {
			continue
		}
		if w.parts == nil {
			w.parts = map[partKey]partSeen{}
		}
		if p.Newest.After(seen.newest) || !known {
			seen.newest = p.Newest
		}
		seen.at = b.End
		w.parts[key] = seen
	}
	b.Parts = nil
}

// late is how far the newest row of a partition is behind the watermark, where rows of it
// came of late and are dropped for that; not above 0 otherwise.
func (w *Watch) late(seen partSeen, now time.Time) time.Duration {
	if !w.dropsBy || w.mark.IsZero() || now.Sub(seen.at) > w.window() {
		return 0
	}
	return w.mark.Sub(seen.newest)
}

// latest is the partition whose rows are furthest behind the watermark: its name and by how
// many seconds, unknown when no rows are dropped for that.
func (w *Watch) latest(now time.Time) (name string, seconds float64) {
	seconds = unknown()
	for key, seen := range w.parts {
		behind := w.late(seen, now).Seconds()
		worse := !Known(seconds) || behind > seconds || behind == seconds && key.name < name
		if behind > 0 && worse {
			name, seconds = key.name, behind
		}
	}
	return name, seconds
}

// withParts is a reading with what is known of event times.
func (w *Watch) withParts(r Reading) Reading {
	if len(w.parts) == 0 {
		return r
	}
	r.Sources = slices.Clone(r.Sources)
	for i := range r.Sources {
		s := &r.Sources[i]
		s.Partitions = slices.Clone(s.Partitions)
		for k := range s.Partitions {
			p := &s.Partitions[k]
			if seen, ok := w.parts[partKey{s.Name, p.Name}]; ok {
				p.Newest, p.Late = seen.newest, w.late(seen, w.now) > 0
			}
		}
	}
	return r
}
