package agg

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// productDefs is product, which DataFrames know and SQL does not.
func productDefs() []*fn.Def {
	s := fn.Takes(fn.Exactly(plan.Double)).Gives(plan.Double).WithNull(fn.Always)
	d := fn.Aggregate("product", s, newProduct)
	d.Hidden, d.Internal = true, true
	return []*fn.Def{d}
}

// product multiplies doubles.
type product struct {
	values []float64
	met    []bool
}

func newProduct(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) { return &product{}, nil }

func (a *product) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.values, a.met = grown(a.values, n), grown(a.met, n)
	values := chunk.Values[float64](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		g := groups[i]
		if !a.met[g] {
			a.values[g], a.met[g] = 1, true
		}
		a.values[g] *= values[i]
	}
	return nil
}

func (a *product) BufferTypes() []plan.Type { return doubles(1) }

func (a *product) Buffers() []*chunk.Vector {
	return []*chunk.Vector{flagged(a.met, plan.Double, copied(plan.Double, a.values))}
}

func (a *product) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	return inChunks(groups, buffers, n, a.Update)
}

func (a *product) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }
