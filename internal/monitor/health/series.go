package health

import (
	"math"
	"time"
)

// cells is how many points a series keeps of its span.
const cells = 30

// A point is a level at an instant.
type point struct {
	at    time.Time
	value float64
}

// A series keeps the last span of a level, at most cells points and a few: of each
// stretch of span/cells the highest, for the worst moment is what counts. The span may
// change with every point.
type series struct {
	span   time.Duration
	from   time.Time // where the newest stretch begins
	points []point
}

// add appends a level. Instants never go back; Watch sees to it.
func (s *series) add(at time.Time, value float64) {
	if n := len(s.points); n > 0 && at.Sub(s.from) < s.span/cells {
		if value >= s.points[n-1].value {
			s.points[n-1] = point{at, value}
		}
		return
	}
	s.trim(at)
	if len(s.points) > cells {
		s.thin()
	}
	s.points = append(s.points, point{at, value})
	// Stretches follow each other, so that late samples do not make them longer.
	if width := max(1, s.span/cells); at.Sub(s.from) < 2*width {
		s.from = s.from.Add(width)
	} else {
		s.from = at
	}
}

// thin keeps the higher of two neighbours each: the span has grown.
func (s *series) thin() {
	n := 0
	for i := 0; i < len(s.points); i += 2 {
		p := s.points[i]
		if i+1 < len(s.points) && s.points[i+1].value >= p.value {
			p = s.points[i+1]
		}
		s.points[n] = p
		n++
	}
	s.points = s.points[:n]
}

// trim forgets what is older than the span.
func (s *series) trim(now time.Time) {
	n := 0
	for n < len(s.points) && now.Sub(s.points[n].at) > s.span {
		n++
	}
	s.points = append(s.points[:0], s.points[n:]...)
}

// within is the points of the last d.
func (s *series) within(now time.Time, d time.Duration) []point {
	for i, p := range s.points {
		if now.Sub(p.at) <= d {
			return s.points[i:]
		}
	}
	return nil
}

// perSecond is how fast a level that only rises does so between the ends of the
// points; unknown for less than two of them.
func perSecond(points []point) float64 {
	if len(points) < 2 {
		return unknown()
	}
	first, last := points[0], points[len(points)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return unknown()
	}
	return (last.value - first.value) / seconds
}

// slope is the median of the slopes of all pairs of points, per second (Theil and
// Sen): a few odd points do not move it. Unknown for less than two points. The slopes
// are put into room, if they fit.
func slope(points []point, room []float64) float64 {
	return median(slopes(points, room))
}

// slopes are those of all pairs of points.
func slopes(points []point, room []float64) []float64 {
	slopes := room[:0]
	for i, p := range points {
		for _, q := range points[i+1:] {
			if seconds := q.at.Sub(p.at).Seconds(); seconds > 0 {
				slopes = append(slopes, (q.value-p.value)/seconds)
			}
		}
	}
	return slopes
}

// reached is when a level that only rises reached a value, linear between points.
// Beyond the oldest point it goes on at the given pace, and exact is false.
func reached(points []point, value, pace float64) (at time.Time, exact bool) {
	for i := len(points) - 1; i >= 0; i-- {
		p := points[i]
		if p.value > value {
			continue
		}
		if i+1 == len(points) {
			return p.at, true
		}
		next := points[i+1]
		share := (value - p.value) / (next.value - p.value)
		return p.at.Add(time.Duration(share * float64(next.at.Sub(p.at)))), true
	}
	if len(points) == 0 || !Known(positive(pace)) {
		return time.Time{}, false
	}
	seconds := (points[0].value - value) / pace
	if seconds > float64(math.MaxInt64/int64(time.Second)/2) {
		return time.Time{}, false
	}
	return points[0].at.Add(-time.Duration(seconds * float64(time.Second))), false
}
