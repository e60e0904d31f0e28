package health

import (
	"math"
	"slices"
)

// unknown is what H1 calls so.
func unknown() float64 { return math.NaN() }

// Known tells whether a number is known.
func Known(x float64) bool { return !math.IsNaN(x) }

// positive is x if it is above zero, else unknown.
func positive(x float64) float64 {
	if x > 0 && !math.IsInf(x, 0) {
		return x
	}
	return unknown()
}

// quantile is the value below which the share q of the values lies; unknown for
// none. It reorders them.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return unknown()
	}
	slices.Sort(values)
	at := q * float64(len(values)-1)
	low := int(at)
	if low+1 >= len(values) {
		return values[len(values)-1]
	}
	return values[low] + (at-float64(low))*(values[low+1]-values[low])
}

func median(values []float64) float64 { return quantile(values, 0.5) }
