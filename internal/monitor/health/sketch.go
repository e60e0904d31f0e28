package health

import (
	"math"
	"slices"
)

// A Sketch sums up many durations so that its quantiles are off by 1 % of their
// value at most, and two sketches merge into that of both. The zero Sketch is empty.
//
// A value is counted in the bucket of its logarithm. Values below sketchLeast are
// one bucket, those above sketchMost another, which bounds it to sketchBuckets.
type Sketch struct {
	counts []uint64 // of buckets first, first+1, …
	first  int
	total  uint64
	max    float64
}

const (
	sketchLeast = 1e-4        // seconds
	sketchMost  = 3 * 3.156e7 // seconds: three years
)

// sketchBase is how much one bucket's bounds differ: 1 % off either way.
const sketchBase = 1.01 / 0.99

// sketchBuckets is more than a sketch can have.
const sketchBuckets = 1400

// bucket numbers the bucket of a value, 0 for the smallest.
func bucket(v float64) int {
	v = min(max(v, sketchLeast), sketchMost)
	return int(math.Ceil(math.Log(v/sketchLeast) / math.Log(sketchBase)))
}

// Add counts n rows of an age in seconds. A negative age is a clock that is off
// and counts as 0; one that is not known is not counted.
func (s *Sketch) Add(seconds float64, n uint64) {
	if !Known(seconds) || n == 0 {
		return
	}
	s.count(bucket(seconds), n)
	s.max = max(s.max, seconds)
}

func (s *Sketch) count(b int, n uint64) {
	switch {
	case len(s.counts) == 0:
		s.first = b
		s.counts = append(s.counts, 0)
	case b < s.first:
		s.counts = slices.Insert(s.counts, 0, make([]uint64, s.first-b)...)
		s.first = b
	case b-s.first >= len(s.counts):
		s.counts = append(s.counts, make([]uint64, b-s.first-len(s.counts)+1)...)
	}
	s.counts[b-s.first] += n
	s.total += n
}

// Merge adds what another sketch counted.
func (s *Sketch) Merge(other *Sketch) {
	if other == nil {
		return
	}
	for i, n := range other.counts {
		if n > 0 {
			s.count(other.first+i, n)
		}
	}
	s.max = max(s.max, other.max)
}

// Each gives the buckets that have rows: an age in seconds and how many rows had it.
func (s *Sketch) Each(visit func(seconds, rows float64)) {
	if s == nil {
		return
	}
	for i, n := range s.counts {
		if n > 0 {
			visit(sketchLeast*math.Pow(sketchBase, float64(s.first+i))*2/(1+sketchBase), float64(n))
		}
	}
}

// Rows is how many were counted.
func (s *Sketch) Rows() uint64 { return s.total }

// Max is the greatest age in seconds, exact; unknown for an empty sketch.
func (s *Sketch) Max() float64 {
	if s.total == 0 {
		return unknown()
	}
	return s.max
}

// Quantile is the age in seconds that the share q of the rows does not exceed;
// unknown for an empty sketch.
func (s *Sketch) Quantile(q float64) float64 {
	if s.total == 0 {
		return unknown()
	}
	rank := uint64(math.Ceil(q * float64(s.total)))
	var seen uint64
	for i, n := range s.counts {
		if seen += n; seen >= max(1, rank) {
			upper := sketchLeast * math.Pow(sketchBase, float64(s.first+i))
			return min(s.max, upper*2/(1+sketchBase))
		}
	}
	return s.max
}

// clone is a copy that may be changed.
func (s *Sketch) clone() Sketch {
	c := *s
	c.counts = slices.Clone(s.counts)
	return c
}
