package agg

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// pairDefs are the functions of two numbers: covariance, correlation, linear
// regression. Rows in which one of them is NULL do not count.
func pairDefs() []*fn.Def {
	s := fn.Takes(fn.Exactly(plan.Double), fn.Exactly(plan.Double)).Gives(plan.Double).WithNull(fn.Always)
	defs := make([]*fn.Def, len(pairList))
	for i, p := range pairList {
		defs[i] = fn.Aggregate(p.name, s, func(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) {
			return &pairs{columns: p.columns, swap: p.swap, finish: p.finish}, nil
		}, fn.Example{"round(" + p.name + "(d, i), 6)", p.want})
	}
	double := func(name string, k int, of fn.Accumulate, want string) *fn.Def {
		return fn.Aggregate(name, s, oneOfPair(k, of), fn.Example{name + "(d, i)", want})
	}
	number := func(name string, k int, want string) *fn.Def {
		s := fn.Takes(fn.Numeric(), fn.Numeric()).WithNull(fn.Always).
			GivesType(func(args []plan.Expr) plan.Type { return avgType(args[k:]) })
		return fn.Aggregate(name, s, oneOfPair(k, newAvg(fn.Raise)), fn.Example{name + "(d, i)", want})
	}
	return append(
		defs,
		fn.Aggregate("regr_count", fn.Takes(fn.Numeric(), fn.Numeric()).Gives(plan.Long).WithNull(fn.Never),
			newCount, fn.Example{"regr_count(d, i)", "3"}),
		number("regr_avgx", 1, "16.666666666666668"),
		number("regr_avgy", 0, "2.5833333333333335"),
		double(
			"regr_sxx",
			1,
			newSquares,
			"66.66666666666667",
		),
		double("regr_syy", 0, newSquares, "3.2916666666666665"),
	)
}

// pairList are the functions of a pair. swap reads regr_f(y, x) the other way
// round, with x as the first of the two.
var pairList = []struct {
	name    string
	columns int // how many numbers of a pair are kept between batches
	swap    bool
	finish  func(p *pair) (x float64, ok bool)
	want    string
}{
	{"covar_pop", covariance, false, func(p *pair) (float64, bool) { return p.c / p.n, p.n > 0 },
		"3.611111"},
	{"covar_samp", covariance, false, func(p *pair) (float64, bool) { return p.c / (p.n - 1), p.n > 1 },
		"5.416667"},
	{"corr", correlation, false, func(p *pair) (float64, bool) {
		return p.c / math.Sqrt(p.x2*p.y2), p.n > 1 && p.x2 != 0 && p.y2 != 0
	}, "0.731307"},
	{"regr_r2", correlation, false, func(p *pair) (float64, bool) {
		r := p.c / math.Sqrt(p.x2*p.y2)
		if p.x2 == 0 {
			return 1, p.n > 0 && p.y2 != 0
		}
		return r * r, p.n > 0 && p.y2 != 0
	}, "0.53481"},
	{"regr_sxy", covariance, false, func(p *pair) (float64, bool) { return p.c, p.n > 0 },
		"10.833333"},
	{"regr_slope", regression, true, func(p *pair) (float64, bool) { return p.c / p.x2, p.x2 != 0 }, "0.1625"},
	{"regr_intercept", regression, true, func(p *pair) (float64, bool) {
		return p.my - float64(p.c/p.x2*p.mx), p.x2 != 0
	}, "-0.125"},
}

// How many numbers of a pair covariance, regression and correlation are made of.
const (
	covariance  = 4
	regression  = 5
	correlation = 6
)

// pair is what pairs of numbers have summed up to: how many there were, their
// means, the sum of the products of their distances from them, and of the
// squares.
type pair struct{ n, mx, my, c, x2, y2 float64 }

// add takes in a pair, in the order in which Spark rounds: a regression sums up
// squares as a variance does.
func (p *pair) add(x, y float64, columns int) {
	p.n++
	dx, dy := x-p.mx, y-p.my
	p.mx += dx / p.n
	p.my += dy / p.n
	p.c += float64(dx * (y - p.my))
	if columns == regression {
		p.x2 += float64(dx * (dx - dx/p.n))
		return
	}
	p.x2 += float64(dx * (x - p.mx))
	p.y2 += float64(dy * (y - p.my))
}

// merge takes in what other pairs have summed up to.
func (p *pair) merge(o *pair) {
	if p.n == 0 || o.n == 0 {
		if p.n == 0 {
			*p = *o
		}
		return
	}
	n1, n2, n := p.n, o.n, p.n+o.n
	dx, dy := o.mx-p.mx, o.my-p.my
	stepX, stepY := dx/n, dy/n
	p.mx += float64(stepX * n2)
	p.my += float64(stepY * n2)
	p.c += o.c + float64(dx*stepY*n1*n2)
	p.x2 += o.x2 + float64(dx*stepX*n1*n2)
	p.y2 += o.y2 + float64(dy*stepY*n1*n2)
	p.n = n
}

type pairs struct {
	columns int
	swap    bool
	finish  func(p *pair) (float64, bool)
	groups  []pair
}

func (a *pairs) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.groups = grown(a.groups, n)
	x, y := chunk.Values[float64](args[0]), chunk.Values[float64](args[1])
	if a.swap {
		x, y = y, x
	}
	for _, i := range fn.Active(fn.ValidOf(args, len(groups)), sel, len(groups)) {
		a.groups[groups[i]].add(x[i], y[i], a.columns)
	}
	return nil
}

func (a *pairs) BufferTypes() []plan.Type { return doubles(a.columns) }

func (a *pairs) Buffers() []*chunk.Vector {
	return rowsOf(a.groups, a.columns, func(p *pair) []float64 {
		return []float64{p.n, p.mx, p.my, p.c, p.x2, p.y2}
	})
}

func (a *pairs) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.groups = grown(a.groups, n)
	for i, g := range groups {
		o := pair{n: doubleAt(buffers[0], i), mx: doubleAt(buffers[1], i), my: doubleAt(buffers[2], i),
			c: doubleAt(buffers[3], i)}
		if a.columns >= regression {
			o.x2 = doubleAt(buffers[4], i)
		}
		if a.columns >= correlation {
			o.y2 = doubleAt(buffers[5], i)
		}
		a.groups[g].merge(&o)
	}
	return nil
}

func (a *pairs) Result() (*chunk.Vector, error) { return doublesOf(a.groups, a.finish), nil }

// newSquares makes the sum of squared distances from the mean.
func newSquares(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) {
	return &moments{order: 2, finish: func(m *moment) (float64, bool) { return m.m2, m.n > 0 }}, nil
}

// oneOfPair folds one argument of two over the rows in which neither is NULL.
func oneOfPair(k int, one fn.Accumulate) fn.Accumulate {
	return func(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
		of := *c
		of.Args = c.Args[k : k+1]
		acc, err := one(&of, env)
		return &ofPair{Accumulator: acc, k: k}, err
	}
}

type ofPair struct {
	fn.Accumulator
	k int
}

func (a *ofPair) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	both := fn.Active(fn.ValidOf(args, len(groups)), sel, len(groups))
	return a.Accumulator.Update(groups, args[a.k:a.k+1], both, n)
}
