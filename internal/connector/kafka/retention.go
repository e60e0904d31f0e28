package kafka

import (
	"math"
	"time"

	"github.com/weir-dev/weir/internal/connector/kafka/client"
)

const (
	// retentionEvery is how often the beginnings of partitions are asked for.
	retentionEvery = 30 * time.Second
	// retentionSpan is over how long deletion is measured: brokers delete whole segments,
	// seldom.
	retentionSpan   = time.Hour
	retentionPoints = 120 // of a partition, one for each time it was asked
	// retentionUsed is the share of what a topic keeps that has to be unread before there
	// is anything to tell: a query that keeps up reads the newest of it, however soon that
	// is deleted.
	retentionUsed = 0.1
)

// retention follows how fast a topic deletes what a query has not read.
type retention struct {
	asked time.Time
	parts map[client.Partition][]retentionPoint // oldest first
	until float64                               // seconds, as of the last answer
}

// retentionPoint is where a partition and its reader stood.
type retentionPoint struct {
	at                    time.Time
	first, committed, end int64
}

func newRetention() retention {
	return retention{parts: map[client.Partition][]retentionPoint{}, until: math.NaN()}
}

// due tells whether the beginnings are to be asked for.
func (r *retention) due(now time.Time) bool { return now.Sub(r.asked) >= retentionEvery }

// note takes an answer in: where partitions begin, where the query is, where they end.
func (r *retention) note(now time.Time, first, committed, ends client.Offsets) {
	r.asked, r.until = now, math.NaN()
	parts := make(map[client.Partition][]retentionPoint, len(first))
	for p, begin := range first {
		points := r.parts[p]
		here := retentionPoint{now, begin, committed[p], ends[p]}
		if n := len(points); n > 0 && (begin < points[n-1].first || here.committed < points[n-1].committed ||
			now.Before(points[n-1].at)) {
			points = nil // it was made again, or the query went back
		}
		for len(points) > 0 && (now.Sub(points[0].at) > retentionSpan || len(points) >= retentionPoints) {
			points = points[1:]
		}
		parts[p] = append(points, here)
		if left := untilLoss(parts[p]); !(r.until <= left) {
			r.until = left
		}
	}
	r.parts = parts
}

// untilLoss is in how many seconds deletion reaches what is unread, if both go on as they
// have: not known while nothing is deleted, little is unread, or the query is faster.
func untilLoss(points []retentionPoint) float64 {
	from, to := points[0], points[len(points)-1]
	unread, kept := float64(to.end-to.committed), float64(to.end-to.first)
	switch {
	case to.committed < to.first:
		return 0
	case unread <= 0 || unread < retentionUsed*kept:
		return math.NaN()
	}
	seconds := to.at.Sub(from.at).Seconds()
	nearing := float64(to.first-from.first) - float64(to.committed-from.committed)
	if seconds <= 0 || to.first == from.first || nearing <= 0 {
		return math.NaN()
	}
	return float64(to.committed-to.first) / (nearing / seconds)
}
