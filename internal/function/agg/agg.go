package agg

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// grown is a slice of at least n values, the new ones zero.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		return s[:n]
	}
	out := make([]T, n, max(n, 2*cap(s)))
	copy(out, s)
	return out
}

// flags are the groups that have met something.
func flagged(flags []bool, t plan.Type, values *chunk.Vector) *chunk.Vector {
	for g, set := range flags {
		if !set {
			values.SetNull(g)
		}
	}
	values.Type = t
	return values
}

// copied is a vector with the values of a slice that goes on changing.
func copied[T chunk.Fixed](t plan.Type, values []T) *chunk.Vector {
	return chunk.Of(t, append(make([]T, 0, len(values)), values...))
}

// keeper keeps one value of any type for each group, or none. Values that were
// replaced stay until there are too many of them.
type keeper struct {
	t      plan.Type
	values *chunk.Vector
	at     []int32 // row of values, -1 when the group has none
}

func newKeeper(t plan.Type) *keeper { return &keeper{t: t, values: chunk.New(t, 16)} }

func (k *keeper) grow(n int) {
	for len(k.at) < n {
		k.at = append(k.at, -1)
	}
}

func (k *keeper) has(g int32) bool { return k.at[g] >= 0 }

// minimumGarbage is how many replaced values are not worth sweeping.
const minimumGarbage = 1024

func (k *keeper) set(g int32, src *chunk.Vector, i int) {
	if k.values.Len > 2*len(k.at)+minimumGarbage {
		k.sweep()
	}
	if src.IsNull(i) {
		k.values.AppendNull()
	} else {
		k.values.AppendFrom(src, i)
	}
	k.at[g] = int32(k.values.Len - 1)
}

func (k *keeper) sweep() {
	kept := chunk.New(k.t, len(k.at))
	for g, at := range k.at {
		if at >= 0 {
			kept.AppendFrom(k.values, int(at))
			k.at[g] = int32(kept.Len - 1)
		}
	}
	k.values = kept
}

// vector is the value of each group, NULL where there is none.
func (k *keeper) vector() *chunk.Vector { return chunk.Gather(k.values, k.at) }

// presence is which groups have a value, for telling a NULL value from none.
func (k *keeper) presence() *chunk.Vector {
	v := chunk.Make(plan.Boolean, len(k.at))
	dst := chunk.Values[uint8](v)
	for g, at := range k.at {
		dst[g] = fn.Bit(at >= 0)
	}
	return v
}
