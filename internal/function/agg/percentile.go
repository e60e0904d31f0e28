package agg

import (
	"fmt"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// percentileDefs are the exact percentiles, which keep every value there was.
func percentileDefs() []*fn.Def {
	cont := fn.Example{"percentile_cont(0.3) WITHIN GROUP (ORDER BY i)", "19.0"}
	disc := fn.Example{"percentile_disc(0.3) WITHIN GROUP (ORDER BY i)", "20.0"}
	return []*fn.Def{
		{Name: "percentile", Group: "agg_funcs", BindAggregate: bindPercentile, Accumulate: newPercentile(false),
			Examples: []fn.Example{
				{"percentile(i, 0.5)", "20.0"},
				{"percentile(i, array(0.25, 0.75))", "[17.5, 22.5]"},
			}},
		{Name: "median", Group: "agg_funcs", BindAggregate: bindMedian, Accumulate: newPercentile(false),
			Examples: []fn.Example{{"median(i)", "20.0"}}},
		{Name: "percentile_cont", Group: "agg_funcs", Ordered: true, BindAggregate: bindWithinGroup,
			Accumulate: newPercentile(false), Examples: []fn.Example{cont}},
		{Name: "percentile_disc", Group: "agg_funcs", Ordered: true, BindAggregate: bindWithinGroup,
			Accumulate: newPercentile(true), Examples: []fn.Example{disc}},
	}
}

// measurable is what a percentile is taken of.
func measurable() fn.Input {
	number := fn.OneOf(fn.Numeric(), fn.Interval(plan.KindDayTime), fn.Interval(plan.KindYearMonth))
	return fn.OneOf(number, fn.Times())
}

// shares is one share of the values or an array of them.
func shares() fn.Input {
	return fn.OneOf(fn.Exactly(plan.Double), fn.ArrayOf(fn.Exactly(plan.Double)))
}

// percentileType is the type for one share or several of values of a type.
func percentileType(of plan.Type, shares plan.Expr) plan.Type {
	if !fn.IsANSIInterval(of) && of.Kind != plan.KindTime {
		of = plan.Double
	}
	if shares.Type().Kind == plan.KindArray {
		return plan.Array(of, false)
	}
	return of
}

func bindPercentile(b *fn.Binding) (*plan.AggregateCall, error) {
	s := fn.Takes(measurable(), shares(), fn.Integral()).Defaults(plan.Lit(int64(1), plan.Long)).
		WithNull(fn.Always).Checked(constantShares).
		GivesType(func(args []plan.Expr) plan.Type { return percentileType(args[0].Type(), args[1]) })
	return s.Aggregate(b)
}

func bindMedian(b *fn.Binding) (*plan.AggregateCall, error) {
	s := fn.Takes(measurable()).WithNull(fn.Always).GivesType(func(args []plan.Expr) plan.Type {
		return percentileType(args[0].Type(), args[0])
	})
	c, err := s.Bind(b)
	if err != nil {
		return nil, err
	}
	c.Args = append(c.Args, plan.Lit(0.5, plan.Double))
	c.Text = "median($1)"
	return b.AggregateCall(c)
}

// bindWithinGroup binds percentile_cont and percentile_disc.
func bindWithinGroup(b *fn.Binding) (*plan.AggregateCall, error) {
	if err := b.WithinGroup(1, 1); err != nil {
		return nil, err
	}
	key := *b.Orders[0]
	text := b.Def.Name + "(" + b.SQL(b.Args[0]) + ") WITHIN GROUP (ORDER BY " + b.SQL(key.Child)
	if key.Descending {
		text += " DESC"
	}
	bound := *b
	bound.Args = []plan.Expr{key.Child, b.Args[0]}
	s := fn.Takes(measurable(), shares()).WithNull(fn.Always).Checked(constantShares).
		GivesType(func(args []plan.Expr) plan.Type { return percentileType(args[0].Type(), args[1]) })
	c, err := s.Bind(&bound)
	if err != nil {
		return nil, err
	}
	c.Text = fn.Escaped(text + ")")
	key.Child = c.Args[0]
	c.Args[0] = &key
	return b.AggregateCall(c)
}

// constantShares makes a constant of the second argument, shares between 0 and 1.
func constantShares(b *fn.Binding, c *plan.Call) error {
	e := c.Args[1]
	v, ok := cast.Folded(b, e)
	if !ok {
		return fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the percentage must be a constant.",
			"inputName", "`percentage`", "inputType", fn.SqlType(e.Type()), "inputExpr", fn.Quoted(b.SQL(e)))
	}
	if v == nil {
		return fn.Mismatch(b, c, "UNEXPECTED_NULL", "the percentage must not be NULL.", "exprName", "percentage")
	}
	for _, p := range sharesOf(v) {
		if !(p >= 0 && p <= 1) {
			return fn.Mismatch(b, c, "VALUE_OUT_OF_RANGE", "a percentage lies between 0 and 1.",
				"exprName", "percentage", "valueRange", "[0.0, 1.0]", "currentValue", b.SQL(plan.Lit(p, plan.Double)))
		}
	}
	if c.Text == "" {
		c.Text = b.Def.Name + "($1, " + fn.Escaped(b.SQL(e))
		for i := range c.Args[2:] {
			c.Text += []string{", $3", ", $4"}[i]
		}
		c.Text += ")"
	}
	c.Args[1] = plan.Lit(v, e.Type())
	return nil
}

// sharesOf is the one share or the several of a constant; NULL among them is
// none.
func sharesOf(v plan.Value) []float64 {
	list, ok := v.([]plan.Value)
	if !ok {
		list = []plan.Value{v}
	}
	out := make([]float64, len(list))
	for i, x := range list {
		out[i], _ = x.(float64)
	}
	return out
}

// percentile counts every value.
type percentile struct {
	*tally
	of       plan.Type
	shares   []float64
	discrete bool // only values that there were
	reverse  bool
	number   fn.Kernel // the values as doubles
	order    fn.Comparator

	frequency string // as it is written
}

func newPercentile(discrete bool) fn.Accumulate {
	return func(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
		t := c.Args[0].Type()
		v, _ := fn.Constant(c.Args[1])
		a := &percentile{
			tally:    newTally(t),
			of:       c.Of,
			shares:   sharesOf(v),
			discrete: discrete,
			order:    fn.Compare(t),
		}
		if o, ok := c.Args[0].(*plan.SortOrder); ok {
			a.reverse = o.Descending
		}
		if len(c.Args) > 2 {
			a.frequency = plan.SQLTextIn(c.Args[2], env.Zone)
		}
		var err error
		a.number, err = asDoubles(t, env)
		return a, err
	}
}

// asDoubles computes doubles from values that are or stand for numbers.
func asDoubles(t plan.Type, env *fn.Env) (fn.Kernel, error) {
	switch {
	case t.Kind == plan.KindDouble:
		return func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) { return args[0], nil }, nil
	case t.IsNumeric():
		return cast.Kernel(t, plan.Double, plan.CastLegacy, env)
	default:
		return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
			out := fn.NewColumn(plan.Double, n, args[0].Valid)
			for i := range n {
				chunk.Values[float64](out.Vector)[i] = float64(fn.IntegerAt(args[0], i))
			}
			return out.Vector, nil
		}, nil
	}
}

// Update counts each value as often as the frequency beside it says.
func (a *percentile) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	if len(args) < 3 {
		return a.tally.Update(groups, args, sel, n)
	}
	a.grow(n)
	often := args[2]
	for _, i := range fn.Active(fn.ValidOf([]*chunk.Vector{args[0], often}, len(groups)), sel, len(groups)) {
		times := fn.IntegerAt(often, int(i))
		if times < 0 {
			return plan.NewError(plan.ClassIllegal, "NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION",
				"a frequency must not be negative.", "frequencyExpression", fn.Quoted(a.frequency),
				"negativeValue", fmt.Sprintf("%dL", times))
		}
		if times > 0 {
			a.add(groups[i], args[0], int(i), times)
		}
	}
	return nil
}

func (a *percentile) Result() (*chunk.Vector, error) {
	doubles, err := a.number([]*chunk.Vector{a.values}, nil, a.values.Len)
	if err != nil {
		return nil, err
	}
	numbers := chunk.Values[float64](doubles)
	out := chunk.New(a.of, len(a.head))
	var rows []int32
	for g := range a.head {
		rows = a.rows(g, rows[:0])
		if len(rows) == 0 {
			out.AppendNull()
			continue
		}
		slices.SortFunc(rows, func(x, y int32) int {
			if a.reverse {
				x, y = y, x
			}
			return a.order(a.values, int(x), a.values, int(y))
		})
		a.append(out, rows, numbers)
	}
	return out, nil
}

// append writes the percentiles of a group's sorted values.
func (a *percentile) append(out *chunk.Vector, rows []int32, numbers []float64) {
	upTo, total := make([]int64, len(rows)), int64(0)
	for i, row := range rows {
		total += a.counts[row]
		upTo[i] = total
	}
	at := func(rank int64) float64 {
		i, _ := slices.BinarySearch(upTo, rank+1)
		return numbers[rows[i]]
	}
	dst := out
	if a.of.Kind == plan.KindArray {
		dst = out.Kids[0]
	}
	for _, share := range a.shares {
		appendRounded(dst, a.at(share, total, at))
	}
	if a.of.Kind == plan.KindArray {
		out.AppendSpan()
	}
}

// at is the value at a share of total values, of which rank gives the one at a
// place, counted from 0.
func (a *percentile) at(share float64, total int64, rank func(rank int64) float64) float64 {
	if a.discrete {
		return rank(max(int64(math.Ceil(share*float64(total)))-1, 0))
	}
	place := float64(total-1) * share
	low, high := math.Floor(place), math.Ceil(place)
	x := rank(int64(low))
	if low == high {
		return x
	}
	return x + float64((place-low)*(rank(int64(high))-x))
}

// appendRounded appends a number, cut off where the type has whole ones.
func appendRounded(dst *chunk.Vector, x float64) {
	switch dst.Type.Kind {
	case plan.KindYearMonth:
		chunk.Append(dst, fn.JavaInteger[int32](x, math.MaxInt32))
	case plan.KindDayTime, plan.KindTime:
		chunk.Append(dst, fn.JavaInteger[int64](x, math.MaxInt64))
	default:
		chunk.Append(dst, x)
	}
}
