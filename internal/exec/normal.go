package exec

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// normal is a vector in which equal values have equal bits: -0.0 becomes 0.0
// and there is one NaN, also inside nested values. It is the vector itself
// when that is so already.
func normal(v *chunk.Vector) *chunk.Vector {
	switch v.Type.Kind {
	case plan.KindDouble:
		return normalDoubles(v)
	case plan.KindFloat:
		return normalFloats(v)
	}
	if len(v.Kids) == 0 || v.Type.Kind == plan.KindVariant {
		return v
	}
	out := *v
	out.Kids = make([]*chunk.Vector, len(v.Kids))
	changed := false
	for i, k := range v.Kids {
		out.Kids[i] = normal(k)
		changed = changed || out.Kids[i] != k
	}
	if !changed {
		return v
	}
	return &out
}

func normalDoubles(v *chunk.Vector) *chunk.Vector {
	nan := math.Float64bits(math.NaN())
	out := v
	for i, x := range chunk.Values[float64](v) {
		if x == x && (x != 0 || !math.Signbit(x)) || x != x && math.Float64bits(x) == nan {
			continue
		}
		if out == v {
			out = ownCopy(v)
		}
		if x == 0 {
			chunk.Values[float64](out)[i] = 0
		} else {
			chunk.Values[float64](out)[i] = math.Float64frombits(nan)
		}
	}
	return out
}

func normalFloats(v *chunk.Vector) *chunk.Vector {
	nan := math.Float32bits(float32(math.NaN()))
	out := v
	for i, x := range chunk.Values[float32](v) {
		if x == x && (x != 0 || !math.Signbit(float64(x))) || x != x && math.Float32bits(x) == nan {
			continue
		}
		if out == v {
			out = ownCopy(v)
		}
		if x == 0 {
			chunk.Values[float32](out)[i] = 0
		} else {
			chunk.Values[float32](out)[i] = math.Float32frombits(nan)
		}
	}
	return out
}

// ownCopy is a fixed-width vector with values of its own.
func ownCopy(v *chunk.Vector) *chunk.Vector {
	out := chunk.Make(v.Type, v.Len)
	out.Valid = v.Valid
	copy(out.Data, v.Data)
	return out
}
