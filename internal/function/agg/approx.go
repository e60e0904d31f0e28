package agg

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/quantiles"
	"github.com/weir-dev/weir/internal/plan"
)

// approxDefs is percentile_approx.
func approxDefs() []*fn.Def {
	of := fn.OneOf(
		fn.Numeric(),
		fn.Exactly(plan.Date),
		fn.Exactly(plan.Timestamp),
		fn.Exactly(plan.TimestampNTZ),
		fn.Interval(plan.KindYearMonth),
		fn.Interval(plan.KindDayTime),
	)
	s := fn.Takes(of, shares(), fn.Integral()).Defaults(plan.Lit(int64(defaultAccuracy), plan.Int)).
		WithNull(fn.Always).Checked(constantAccuracy).
		GivesType(func(args []plan.Expr) plan.Type {
			if args[1].Type().Kind == plan.KindArray {
				return plan.Array(args[0].Type(), false)
			}
			return args[0].Type()
		})
	d := fn.Aggregate(
		"percentile_approx approx_percentile",
		s,
		newApproxPercentile,
		fn.Example{
			"percentile_approx(i, 0.5)",
			"20",
		},
		fn.Example{"percentile_approx(d, array(0.25, 0.9), 100)", "[-0.5, 4.0]"},
	)
	return []*fn.Def{d.AsWritten()}
}

// defaultAccuracy is the inverse of the relative error of a rank.
const defaultAccuracy = 10_000

// constantAccuracy makes constants of shares and accuracy.
func constantAccuracy(b *fn.Binding, c *plan.Call) error {
	e := c.Args[2]
	v, ok := cast.Folded(b, e)
	if !ok {
		return fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the accuracy must be a constant.",
			"inputName", "`accuracy`", "inputType", fn.SqlType(e.Type()), "inputExpr", fn.Quoted(b.SQL(e)))
	}
	if v == nil {
		return fn.Mismatch(b, c, "UNEXPECTED_NULL", "the accuracy must not be NULL.", "exprName", "accuracy")
	}
	accuracy, _ := v.(int64)
	if accuracy <= 0 || accuracy > math.MaxInt32 {
		return fn.Mismatch(
			b,
			c,
			"VALUE_OUT_OF_RANGE",
			"the accuracy is a positive INT.",
			"exprName",
			"accuracy",
			"valueRange",
			"(0, 2147483647]",
			"currentValue",
			b.SQL(plan.Lit(accuracy, plan.Long)),
		)
	}
	text := b.ShownName() + "($1, " + fn.Escaped(b.SQL(c.Args[1])) + ", $3)"
	if err := constantShares(b, c); err != nil {
		return err
	}
	c.Text, c.Args[2] = text, plan.Lit(accuracy, plan.Long)
	return nil
}

// approxPercentile keeps a summary of the values of each group.
type approxPercentile struct {
	of        plan.Type
	in        plan.Type
	shares    []float64
	error     float64
	number    fn.Kernel
	summaries []*quantiles.Summary
}

func newApproxPercentile(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
	v, _ := fn.Constant(c.Args[1])
	accuracy, _ := fn.Constant(c.Args[2])
	a := &approxPercentile{
		of:     c.Of,
		in:     c.Args[0].Type(),
		shares: sharesOf(v),
		error:  1 / float64(accuracy.(int64)),
	}
	var err error
	a.number, err = asDoubles(a.in, env)
	return a, err
}

func (a *approxPercentile) grow(n int) {
	for len(a.summaries) < n {
		a.summaries = append(a.summaries, &quantiles.Summary{Error: a.error})
	}
}

func (a *approxPercentile) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	return eachDouble(a.number, groups, args[0], sel, func(group int32, x float64) { a.summaries[group].Add(x) })
}

// eachDouble hands over the values of a column that are there, as doubles.
func eachDouble(
	number fn.Kernel, groups []int32, v *chunk.Vector, sel chunk.Sel, take func(group int32, x float64),
) error {
	doubles, err := number([]*chunk.Vector{v}, sel, len(groups))
	if err != nil {
		return err
	}
	numbers := chunk.Values[float64](doubles)
	for _, i := range fn.Active(v.Valid, sel, len(groups)) {
		take(groups[i], numbers[i])
	}
	return nil
}

// BufferTypes are the samples of a group and how many values they stand for.
func (a *approxPercentile) BufferTypes() []plan.Type {
	return []plan.Type{
		plan.Array(plan.Double, false),
		plan.Array(plan.Long, false),
		plan.Array(plan.Long, false),
		plan.Long,
	}
}

func (a *approxPercentile) Buffers() []*chunk.Vector {
	types := a.BufferTypes()
	values, gaps, deltas := chunk.New(types[0], 0), chunk.New(types[1], 0), chunk.New(types[2], 0)
	counts := chunk.Make(plan.Long, len(a.summaries))
	for g, s := range a.summaries {
		s.Compress()
		for _, x := range s.Samples {
			chunk.Append(values.Kids[0], x.Value)
			chunk.Append(gaps.Kids[0], x.Gap)
			chunk.Append(deltas.Kids[0], x.Delta)
		}
		values.AppendSpan()
		gaps.AppendSpan()
		deltas.AppendSpan()
		chunk.Values[int64](counts)[g] = s.Count
	}
	return []*chunk.Vector{values, gaps, deltas, counts}
}

func (a *approxPercentile) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	values := chunk.Values[float64](buffers[0].Kids[0])
	gaps, deltas := chunk.Values[int64](buffers[1].Kids[0]), chunk.Values[int64](buffers[2].Kids[0])
	counts := chunk.Values[int64](buffers[3])
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		gap, _ := buffers[1].Span(i)
		delta, _ := buffers[2].Span(i)
		other := &quantiles.Summary{Error: a.error, Count: counts[i], Samples: make([]quantiles.Sample, to-from)}
		for k := range other.Samples {
			other.Samples[k] = quantiles.Sample{Value: values[from+k], Gap: gaps[gap+k], Delta: deltas[delta+k]}
		}
		a.summaries[g].Merge(other)
	}
	return nil
}

func (a *approxPercentile) Result() (*chunk.Vector, error) {
	out := chunk.New(a.of, len(a.summaries))
	for _, s := range a.summaries {
		s.Compress()
		switch {
		case s.Count == 0:
			out.AppendNull()
		case a.of.Kind == plan.KindArray && a.in.Kind != plan.KindArray:
			for _, x := range s.Quantiles(a.shares) {
				appendNumber(out.Kids[0], x)
			}
			out.AppendSpan()
		default:
			appendNumber(out, s.Quantiles(a.shares)[0])
		}
	}
	return out, nil
}

// appendNumber appends a double as a value of the vector's type.
func appendNumber(dst *chunk.Vector, x float64) {
	switch dst.Type.Kind {
	case plan.KindByte:
		chunk.Append(dst, int8(fn.JavaInteger[int32](x, math.MaxInt32)))
	case plan.KindShort:
		chunk.Append(dst, int16(fn.JavaInteger[int32](x, math.MaxInt32)))
	case plan.KindInt, plan.KindDate, plan.KindYearMonth:
		chunk.Append(dst, fn.JavaInteger[int32](x, math.MaxInt32))
	case plan.KindFloat:
		chunk.Append(dst, float32(x))
	case plan.KindDouble:
		chunk.Append(dst, x)
	case plan.KindDecimal:
		chunk.Append(dst, decimalOf(x, dst.Type))
	default:
		chunk.Append(dst, fn.JavaInteger[int64](x, math.MaxInt64))
	}
}

// decimalOf is the decimal with the shortest digits of a double.
func decimalOf(x float64, t plan.Type) chunk.Dec {
	d, _ := codec.ParseDecimal(string(codec.AppendDouble(nil, x)), t)
	return d
}
