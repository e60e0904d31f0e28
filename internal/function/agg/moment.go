package agg

import (
	"math"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// momentDefs are variances, standard deviations, and what else the moments
// around the mean tell.
func momentDefs() []*fn.Def {
	s := fn.Takes(fn.Exactly(plan.Double)).Gives(plan.Double).WithNull(fn.Always)
	defs := make([]*fn.Def, len(momentList))
	for i, m := range momentList {
		name, _, _ := strings.Cut(m.names, " ")
		defs[i] = fn.Aggregate(m.names, s, func(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) {
			return &moments{order: m.order, finish: m.finish}, nil
		}, fn.Example{"round(" + name + "(d), 6)", m.want}).AsWritten()
	}
	return defs
}

// momentList are the functions of moments: of which order they need, and their
// value; not ok gives NULL.
var momentList = []struct {
	names  string
	order  int
	finish func(m *moment) (x float64, ok bool)
	want   string
}{
	{
		"stddev_samp stddev std",
		2,
		func(m *moment) (float64, bool) { return math.Sqrt(m.m2 / (m.n - 1)), m.n > 1 },
		"1.863856",
	},
	{"stddev_pop", 2, func(m *moment) (float64, bool) { return math.Sqrt(m.m2 / m.n), m.n > 0 },
		"1.614146"},
	{"var_samp variance", 2, func(m *moment) (float64, bool) { return m.m2 / (m.n - 1), m.n > 1 },
		"3.473958"},
	{"var_pop", 2, func(m *moment) (float64, bool) { return m.m2 / m.n, m.n > 0 }, "2.605469"},
	{"skewness", 3, func(m *moment) (float64, bool) {
		return math.Sqrt(m.n) * m.m3 / math.Sqrt(m.m2*m.m2*m.m2), m.n > 0 && m.m2 != 0
	}, "-0.109717"},
	{"kurtosis", 4, func(m *moment) (float64, bool) { return m.n*m.m4/(m.m2*m.m2) - 3, m.n > 0 && m.m2 != 0 },
		"-1.101879"},
}

// moment is what a group's values have summed up to: their number, their mean,
// and the sums of the second, third and fourth powers of the distances from it.
type moment struct{ n, mean, m2, m3, m4 float64 }

// add takes in a value. The conversions keep the processor from fusing products
// and sums, which rounds otherwise than Java does.
func (m *moment) add(x float64, order int) {
	m.n++
	delta := x - m.mean
	step := delta / m.n
	m.mean += step
	m.m2 += float64(delta * (delta - step))
	if order < 3 {
		return
	}
	delta2, step2 := float64(delta*delta), float64(step*step)
	m.m3 = m.m3 - float64(3*step*m.m2) + float64(delta*(delta2-step2))
	if order < 4 {
		return
	}
	m.m4 = m.m4 - float64(4*step*m.m3) - float64(6*step2*m.m2) +
		float64(delta*(float64(delta*delta2)-float64(step*step2)))
}

// merge takes in the moments of other values.
func (m *moment) merge(o *moment, order int) {
	if m.n == 0 || o.n == 0 {
		if m.n == 0 {
			*m = *o
		}
		return
	}
	n1, n2, n := m.n, o.n, m.n+o.n
	delta := o.mean - m.mean
	step := delta / n
	if order >= 4 {
		m.m4 = m.m4 + o.m4 +
			float64(step*step*step*delta*n1*n2*(float64(n1*n1)-float64(n1*n2)+float64(n2*n2))) +
			float64(6*step*step*(float64(n1*n1*o.m2)+float64(n2*n2*m.m2))) +
			float64(4*step*(float64(n1*o.m3)-float64(n2*m.m3)))
	}
	if order >= 3 {
		m.m3 = m.m3 + o.m3 + float64(step*step*delta*n1*n2*(n1-n2)) +
			float64(3*step*(float64(n1*o.m2)-float64(n2*m.m2)))
	}
	m.m2 += o.m2 + float64(delta*step*n1*n2)
	m.mean += float64(step * n2)
	m.n = n
}

// moments keeps those up to an order.
type moments struct {
	order  int
	finish func(m *moment) (float64, bool)
	groups []moment
}

func (a *moments) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.groups = grown(a.groups, n)
	values := chunk.Values[float64](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		a.groups[groups[i]].add(values[i], a.order)
	}
	return nil
}

func (a *moments) BufferTypes() []plan.Type { return doubles(a.order + 1) }

func (a *moments) Buffers() []*chunk.Vector {
	return rowsOf(
		a.groups,
		a.order+1,
		func(m *moment) []float64 { return []float64{m.n, m.mean, m.m2, m.m3, m.m4} },
	)
}

func (a *moments) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.groups = grown(a.groups, n)
	for i, g := range groups {
		other := moment{n: doubleAt(buffers[0], i), mean: doubleAt(buffers[1], i), m2: doubleAt(buffers[2], i)}
		if a.order >= 3 {
			other.m3 = doubleAt(buffers[3], i)
		}
		if a.order >= 4 {
			other.m4 = doubleAt(buffers[4], i)
		}
		a.groups[g].merge(&other, a.order)
	}
	return nil
}

func (a *moments) Result() (*chunk.Vector, error) { return doublesOf(a.groups, a.finish), nil }

// doubles is n types DOUBLE.
func doubles(n int) []plan.Type { return slices.Repeat([]plan.Type{plan.Double}, n) }

func doubleAt(v *chunk.Vector, i int) float64 { return chunk.Values[float64](v)[i] }

// rowsOf is the first n numbers of each group as columns.
func rowsOf[G any](groups []G, n int, row func(g *G) []float64) []*chunk.Vector {
	out := make([]*chunk.Vector, n)
	for k := range out {
		out[k] = chunk.Make(plan.Double, len(groups))
	}
	for g := range groups {
		for k, x := range row(&groups[g])[:n] {
			chunk.Values[float64](out[k])[g] = x
		}
	}
	return out
}

// doublesOf is a number for each group, or NULL.
func doublesOf[G any](groups []G, finish func(g *G) (float64, bool)) *chunk.Vector {
	out := chunk.Make(plan.Double, len(groups))
	for g := range groups {
		x, ok := finish(&groups[g])
		chunk.Values[float64](out)[g] = x
		if !ok {
			out.SetNull(g)
		}
	}
	return out
}
