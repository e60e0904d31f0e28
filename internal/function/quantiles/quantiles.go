package quantiles

import (
	"cmp"
	"math"
	"slices"
)

const (
	pendingMost = 50_000 // numbers that wait to be sorted in
	samplesMost = 10_000 // samples from which a summary is compressed
)

// Sample is a number of the summary.
type Sample struct {
	Value float64
	Gap   int64 // ranks between the sample before and this one
	Delta int64 // by which its rank may be higher than the least possible
}

// Summary is a summary of numbers. Its zero value with an error set is that of
// none.
type Summary struct {
	Error   float64 // relative to the count, of a quantile's rank
	Count   int64   // numbers in Samples
	Samples []Sample

	pending    []float64
	compressed bool
}

// Add takes in a number.
func (s *Summary) Add(x float64) {
	s.pending = append(s.pending, x)
	s.compressed = false
	if len(s.pending) < pendingMost {
		return
	}
	s.sortIn()
	if len(s.Samples) >= samplesMost {
		s.Compress()
	}
}

// compareNumbers is Java's order of doubles, but for the two zeros.
func compareNumbers(x, y float64) int {
	switch {
	case x != x && y != y:
		return 0
	case x != x:
		return 1
	case y != y:
		return -1
	default:
		return cmp.Compare(x, y)
	}
}

// sortIn moves the pending numbers among the samples.
func (s *Summary) sortIn() {
	if len(s.pending) == 0 {
		return
	}
	slices.SortFunc(s.pending, compareNumbers)
	out := make([]Sample, 0, len(s.Samples)+len(s.pending))
	old := s.Samples
	for i, x := range s.pending {
		for len(old) > 0 && old[0].Value <= x {
			out, old = append(out, old[0]), old[1:]
		}
		s.Count++
		delta := int64(0)
		if outermost := len(out) == 0 || len(old) == 0 && i == len(s.pending)-1; !outermost {
			delta = int64(math.Floor(2 * s.Error * float64(s.Count)))
		}
		out = append(out, Sample{Value: x, Gap: 1, Delta: delta})
	}
	s.Samples, s.pending = append(out, old...), s.pending[:0]
}

// Compress brings the summary into the form that is written, merged and asked.
func (s *Summary) Compress() {
	if s.compressed {
		return
	}
	s.sortIn()
	s.Samples = compressed(s.Samples, 2*s.Error*float64(s.Count))
	s.compressed = true
}

// compressed merges neighbours whose ranks span less than a threshold.
func compressed(samples []Sample, threshold float64) []Sample {
	if len(samples) == 0 {
		return nil
	}
	out := make([]Sample, 0, len(samples))
	head := samples[len(samples)-1]
	for i := len(samples) - 2; i >= 1; i-- {
		s := samples[i]
		if float64(s.Gap+head.Gap+head.Delta) < threshold {
			head.Gap += s.Gap
			continue
		}
		out = append(out, head)
		head = s
	}
	out = append(out, head)
	if first := samples[0]; first.Value <= head.Value && len(samples) > 1 {
		out = append(out, first)
	}
	slices.Reverse(out)
	return out
}

// Merge takes in what another summary, which is compressed, was told.
func (s *Summary) Merge(o *Summary) {
	s.Compress()
	if o.Count == 0 {
		return
	}
	if s.Count == 0 {
		s.Count, s.Samples = o.Count, slices.Clone(o.Samples)
		return
	}
	ours := int64(math.Floor(2 * o.Error * float64(o.Count)))
	theirs := int64(math.Floor(2 * s.Error * float64(s.Count)))
	merged := make([]Sample, 0, len(s.Samples)+len(o.Samples))
	i, j := 0, 0
	for i < len(s.Samples) && j < len(o.Samples) {
		next := s.Samples[i]
		if next.Value < o.Samples[j].Value {
			i++
			if j > 0 {
				next.Delta += ours
			}
		} else {
			next = o.Samples[j]
			j++
			if i > 0 {
				next.Delta += theirs
			}
		}
		merged = append(merged, next)
	}
	merged = append(append(merged, s.Samples[i:]...), o.Samples[j:]...)
	s.Error = max(s.Error, o.Error)
	s.Count += o.Count
	s.Samples = compressed(merged, 2*s.Error*float64(s.Count))
}

// Quantiles is the numbers at some shares of a summary that is compressed and
// has been told at least one number.
func (s *Summary) Quantiles(shares []float64) []float64 {
	widest := int64(math.MinInt64)
	for _, x := range s.Samples {
		widest = max(widest, x.Delta+x.Gap)
	}
	ask := make([]int, len(shares))
	for i := range ask {
		ask[i] = i
	}
	slices.SortStableFunc(ask, func(a, b int) int { return cmp.Compare(shares[a], shares[b]) })
	out := make([]float64, len(shares))
	w := walk{Summary: s, tolerance: float64(widest) / 2, least: s.Samples[0].Gap}
	for _, i := range ask {
		switch share := shares[i]; {
		case share <= s.Error || len(s.Samples) == 1:
			out[i] = s.Samples[0].Value
		case share >= 1-s.Error:
			out[i] = s.Samples[len(s.Samples)-1].Value
		default:
			out[i] = w.find(share)
		}
	}
	return out
}

// walk goes through the samples once for shares in ascending order.
type walk struct {
	*Summary
	tolerance float64
	at        int
	least     int64 // the least rank that sample at may have
}

func (w *walk) find(share float64) float64 {
	rank := float64(int64(math.Ceil(share * float64(w.Count))))
	for i, least := w.at, w.least; i < len(w.Samples)-1; {
		most := least + w.Samples[i].Delta
		if float64(most)-w.tolerance <= rank && rank <= float64(least)+w.tolerance {
			w.at, w.least = i, least
			return w.Samples[i].Value
		}
		i++
		least += w.Samples[i].Gap
	}
	w.at, w.least = len(w.Samples)-1, 0
	return w.Samples[w.at].Value
}
