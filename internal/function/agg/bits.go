package agg

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// bitDefs are the aggregates that combine integers bit by bit.
func bitDefs() []*fn.Def {
	s := fn.Takes(fn.Integral()).GivesFirst().WithNull(fn.Always)
	return []*fn.Def{
		fn.Aggregate("bit_and", s, newBits("&"), fn.Example{"bit_and(i)", "0"}),
		fn.Aggregate("bit_or", s, newBits("|"), fn.Example{"bit_or(i)", "30"}),
		fn.Aggregate("bit_xor", s, newBits("^"), fn.Example{"bit_xor(i)", "20"}),
	}
}

func newBits(op string) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		switch c.Of.Kind {
		case plan.KindByte:
			return &bitFold[int8]{t: c.Of, op: op}, nil
		case plan.KindShort:
			return &bitFold[int16]{t: c.Of, op: op}, nil
		case plan.KindInt:
			return &bitFold[int32]{t: c.Of, op: op}, nil
		default:
			return &bitFold[int64]{t: c.Of, op: op}, nil
		}
	}
}

type bitFold[T fn.Integer] struct {
	t      plan.Type
	op     string
	values []T
	met    []bool
}

func (a *bitFold[T]) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.values, a.met = grown(a.values, n), grown(a.met, n)
	values := chunk.Values[T](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		a.add(groups[i], values[i])
	}
	return nil
}

func (a *bitFold[T]) add(g int32, x T) {
	switch {
	case !a.met[g]:
		a.values[g], a.met[g] = x, true
	case a.op == "&":
		a.values[g] &= x
	case a.op == "|":
		a.values[g] |= x
	default:
		a.values[g] ^= x
	}
}

func (a *bitFold[T]) BufferTypes() []plan.Type { return []plan.Type{a.t} }

func (a *bitFold[T]) Buffers() []*chunk.Vector {
	return []*chunk.Vector{flagged(a.met, a.t, copied(a.t, a.values))}
}

func (a *bitFold[T]) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	return inChunks(groups, buffers, n, a.Update)
}

func (a *bitFold[T]) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }
