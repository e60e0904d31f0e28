package rowkey

import (
	"bytes"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Normal is a vector in which equal values have equal bits: -0.0 becomes 0.0
// and there is one NaN, also inside nested values, and entries of maps are in the
// order of their keys. It is the vector itself when that is so already.
func Normal(v *chunk.Vector) *chunk.Vector {
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
		out.Kids[i] = Normal(k)
		changed = changed || out.Kids[i] != k
	}
	sorted := &out
	if v.Type.Kind == plan.KindMap {
		sorted = sortedEntries(sorted)
	}
	if !changed && sorted == &out {
		return v
	}
	return sorted
}

// sortedEntries is a vector of maps whose entries are in the order of their keys.
func sortedEntries(v *chunk.Vector) *chunk.Vector {
	order := make([]int32, 0, v.Kids[0].Len)
	names := make([][]byte, v.Kids[0].Len)
	for e := range names {
		names[e] = appendPart(nil, v.Kids[0], e)
		order = append(order, int32(e))
	}
	byName := func(a, b int32) int { return bytes.Compare(names[a], names[b]) }
	moved := false
	for i := range v.Len {
		from, to := v.Span(i)
		if !slices.IsSortedFunc(order[from:to], byName) {
			slices.SortStableFunc(order[from:to], byName)
			moved = true
		}
	}
	if !moved {
		return v
	}
	out := *v
	out.Kids = []*chunk.Vector{chunk.Gather(v.Kids[0], order), chunk.Gather(v.Kids[1], order)}
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
