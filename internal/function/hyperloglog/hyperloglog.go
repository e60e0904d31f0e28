package hyperloglog

import (
	_ "embed" // the tables
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

const (
	registerBits  = 6
	registerMask  = 1<<registerBits - 1
	registersWord = 64 / registerBits

	leastPrecision = 4
	mostTabled     = 18 // beyond, neither thresholds nor biases are known
	neighbours     = 6  // estimates that a bias is interpolated from
)

// Shape is the size of a sketch and what its estimates are corrected by. It
// does not change.
type Shape struct {
	precision int     // bits of a hash that choose a register
	registers int     // 2^precision
	alpha     float64 // α·registers²
	threshold float64 // up to which linear counting is better
	raw, bias []float64
}

// NewShape is the shape for a relative standard deviation; ok is false when the
// deviation is above what four bits give, 39 %.
func NewShape(deviation float64) (s *Shape, ok bool) {
	p := int(math.Ceil(2 * math.Log(1.106/deviation) / math.Log(2)))
	if p < leastPrecision {
		return nil, false
	}
	m := float64(int(1) << p)
	s = &Shape{precision: p, registers: 1 << p}
	switch p {
	case 4:
		s.alpha = 0.673 * m * m
	case 5:
		s.alpha = 0.697 * m * m
	case 6:
		s.alpha = 0.709 * m * m
	default:
		s.alpha = (0.7213 / (1.0 + 1.079/m)) * m * m
	}
	if p <= mostTabled {
		s.threshold = table("threshold", "")[p-leastPrecision]
		s.raw, s.bias = table("raw", strconv.Itoa(p)), table("bias", strconv.Itoa(p))
	}
	return s, true
}

//go:embed tables.tsv
var tables string

// table is the numbers of a line of the tables.
func table(name, precision string) []float64 {
	_, rest, _ := strings.Cut(tables, "\n"+name+"\t"+precision+"\t")
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	list := make([]float64, len(words))
	for i, w := range words {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			panic(err)
		}
		list[i] = x
	}
	return list
}

// Words is how many words a sketch has.
func (s *Shape) Words() int { return s.registers/registersWord + 1 }

// Add puts the hash of a value into a sketch.
func (s *Shape) Add(sketch []int64, hash int64) {
	register := int(uint64(hash) >> (64 - s.precision))
	rest := uint64(hash)<<s.precision | 1<<(s.precision-1)
	rank := int64(bits.LeadingZeros64(rest) + 1)
	word, shift := &sketch[register/registersWord], registerBits*(register%registersWord)
	if rank > *word>>shift&registerMask {
		*word = *word&^(registerMask<<shift) | rank<<shift
	}
}

// Merge puts what another sketch has seen into a sketch.
func (s *Shape) Merge(sketch, other []int64) {
	for w, theirs := range other {
		ours, word := sketch[w], int64(0)
		for shift := 0; shift < registerBits*registersWord; shift += registerBits {
			word |= max(ours>>shift&registerMask, theirs>>shift&registerMask) << shift
		}
		sketch[w] = word
	}
}

// Estimate is the number of different values that a sketch has seen.
func (s *Shape) Estimate(sketch []int64) int64 {
	inverse, empty := 0.0, 0.0
	for r := range s.registers {
		rank := sketch[r/registersWord] >> (registerBits * (r % registersWord)) & registerMask
		// Spark shifts an int here, so that a rank of 32 is none again.
		inverse += 1 / float64(int32(1)<<(rank&31))
		if rank == 0 {
			empty++
		}
	}
	raw, m := s.alpha/inverse, float64(s.registers)
	estimate := s.corrected(raw)
	if empty > 0 {
		linear := m * math.Log(m/empty)
		if s.raw != nil && linear <= s.threshold || raw <= 2.5*m {
			estimate = linear
		}
	}
	return int64(math.Floor(estimate + 0.5))
}

// corrected takes the bias off an estimate.
func (s *Shape) corrected(raw float64) float64 {
	if s.raw == nil || raw >= 5*float64(s.registers) {
		return raw
	}
	near, _ := slices.BinarySearch(s.raw, raw)
	distance := func(i int) float64 { return (raw - s.raw[i]) * (raw - s.raw[i]) }
	low := max(near-neighbours+1, 0)
	high := min(low+neighbours, len(s.raw))
	for high < len(s.raw) && distance(high) < distance(low) {
		low, high = low+1, high+1
	}
	sum := 0.0
	for _, b := range s.bias[low:high] {
		sum += b
	}
	return raw - sum/float64(high-low)
}
