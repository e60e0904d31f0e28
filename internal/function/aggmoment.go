package function

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// momentDefs are variances and standard deviations.
func momentDefs() []*Def {
	s := takes(exactly(plan.Double)).gives(plan.Double).withNull(always)
	moment := func(names string, finish func(n, m2 float64) (float64, bool), want string) *Def {
		return aggregate(names, s, func(*plan.AggregateCall, *Env) (Accumulator, error) {
			return &moments{finish: finish}, nil
		}, Example{firstWord(names) + "(d)", want}).asWritten()
	}
	return []*Def{
		moment("stddev_samp stddev std", func(n, m2 float64) (float64, bool) {
			return math.Sqrt(m2 / (n - 1)), n > 1
		},
			"1.8638557705287535"),
		moment("stddev_pop", func(n, m2 float64) (float64, bool) { return math.Sqrt(m2 / n), n > 0 },
			"1.6141464462681197"),
		moment("var_samp variance", func(n, m2 float64) (float64, bool) { return m2 / (n - 1), n > 1 },
			"3.4739583333333335"),
		moment("var_pop", func(n, m2 float64) (float64, bool) { return m2 / n, n > 0 }, "2.60546875"),
	}
}

// moments keeps number, mean and sum of squared distances from it.
type moments struct {
	finish      func(n, m2 float64) (float64, bool)
	n, mean, m2 []float64
}

func (a *moments) grow(n int) {
	a.n, a.mean, a.m2 = grown(a.n, n), grown(a.mean, n), grown(a.m2, n)
}

func (a *moments) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	values := chunk.Values[float64](args[0])
	for _, i := range active(args[0].Valid, sel, len(groups)) {
		g := groups[i]
		a.n[g]++
		delta := values[i] - a.mean[g]
		step := delta / a.n[g]
		a.mean[g] += step
		a.m2[g] += delta * (delta - step)
	}
	return nil
}

func (a *moments) BufferTypes() []plan.Type {
	return []plan.Type{plan.Double, plan.Double, plan.Double}
}

func (a *moments) Buffers() []*chunk.Vector {
	return []*chunk.Vector{copied(plan.Double, a.n), copied(plan.Double, a.mean), copied(plan.Double, a.m2)}
}

func (a *moments) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	count, mean, m2 := chunk.Values[float64](buffers[0]), chunk.Values[float64](buffers[1]),
		chunk.Values[float64](buffers[2])
	for i, g := range groups {
		if count[i] == 0 {
			continue
		}
		total := a.n[g] + count[i]
		delta := mean[i] - a.mean[g]
		step := delta / total
		a.m2[g] += m2[i] + delta*step*a.n[g]*count[i]
		a.mean[g] += step * count[i]
		a.n[g] = total
	}
	return nil
}

func (a *moments) Result() (*chunk.Vector, error) {
	out := chunk.Make(plan.Double, len(a.n))
	for g, n := range a.n {
		x, ok := a.finish(n, a.m2[g])
		chunk.Values[float64](out)[g] = x
		if !ok {
			out.SetNull(g)
		}
	}
	return out, nil
}
