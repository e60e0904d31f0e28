package numbers

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// rounding is a way to round.
type rounding uint8

const (
	HalfUp rounding = iota
	HalfEven
	upward
	downward
)

// roundDefs are round, bround, ceil and floor.
func roundDefs() []*fn.Def {
	return []*fn.Def{
		roundDef(
			"round",
			HalfUp,
			fn.Example{"round(2.5, 0)", "3"},
			fn.Example{"round(1234567.891, -3)", "1235000"},
		),
		roundDef("bround", HalfEven, fn.Example{"bround(2.5, 0)", "2"}, fn.Example{"bround(25, -1)", "20"}),
		wholeDef("ceil ceiling", upward, fn.Example{"ceil(-0.1)", "0"}, fn.Example{"ceil(3.1411, 3)", "3.142"}),
		wholeDef("floor", downward, fn.Example{"floor(-0.1)", "-1"}, fn.Example{"floor(3.1411, 3)", "3.141"}),
	}
}

func roundDef(name string, how rounding, examples ...fn.Example) *fn.Def {
	s := fn.Takes(fn.Numeric(), fn.Exactly(plan.Int)).Defaults(plan.Lit(int64(0), plan.Int)).WithNull(fn.Always).
		GivesType(func(args []plan.Expr) plan.Type { return roundedType(args[0].Type(), scaleOf(args)) }).
		Checked(constantScale)
	return fn.Scalar(name, "math_funcs", s, how.maker, examples...)
}

// constantScale refuses a number of digits that depends on the row.
func constantScale(b *fn.Binding, c *plan.Call) error {
	if _, ok := fn.ConstantInt(c.Args[1]); ok || c.Args[1].Type().Kind == plan.KindNull {
		return nil
	}
	return fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the number of digits must be a constant.",
		"inputName", "`scale`", "inputType", fn.SqlType(plan.Int), "inputExpr", fn.Quoted(b.SQL(c.Args[1])))
}

func scaleOf(args []plan.Expr) int {
	v, _ := fn.ConstantInt(args[1])
	return int(v)
}

// roundedType: a decimal keeps the digits it may still have, and one more
// before the point.
func roundedType(t plan.Type, scale int) plan.Type {
	if t.Kind != plan.KindDecimal {
		return t
	}
	whole := t.Precision - t.Scale + 1
	if scale < 0 {
		return plan.Decimal(min(max(whole, 1-scale), plan.MaxPrecision), 0)
	}
	kept := min(t.Scale, scale)
	return plan.Decimal(min(whole+kept, plan.MaxPrecision), kept)
}

func (how rounding) maker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	scale := scaleOf(c.Args)
	switch c.Args[0].Type().Kind {
	case plan.KindByte:
		return roundInts[int8](how, c, scale), nil
	case plan.KindShort:
		return roundInts[int16](how, c, scale), nil
	case plan.KindInt:
		return roundInts[int32](how, c, scale), nil
	case plan.KindLong:
		return roundInts[int64](how, c, scale), nil
	case plan.KindFloat:
		return roundFloats[float32](how, c, scale), nil
	case plan.KindDouble:
		return roundFloats[float64](how, c, scale), nil
	default:
		return how.decimals(c, scale), nil
	}
}

func roundInts[T fn.Integer](how rounding, c *plan.Call, scale int) fn.Kernel {
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (T, bool, error) {
		x := chunk.Values[T](args[0])[i]
		if scale >= 0 {
			return x, !args[1].IsNull(i), nil
		}
		d := how.rescale(decimal128.FromI64(int64(x)), 0, scale)
		v := int64(d.LowBits())
		if c.ANSI && (int64(T(v)) != v || d.HighBits() != v>>63) {
			return 0, false, fn.Overflow("Overflow", "").At(c.Origin)
		}
		return T(v), true, nil
	})
}

// rescale rounds d, which has a scale, to another; the result keeps the first
// when the second is lower than zero.
func (how rounding) rescale(d chunk.Dec, scale, to int) chunk.Dec {
	drop := scale - to
	if drop <= 0 {
		return d
	}
	unit := decimal.BigPow10(drop)
	q, r := new(big.Int).QuoRem(d.BigInt(), unit, new(big.Int))
	half := new(big.Int).Lsh(new(big.Int).Abs(r), 1).Cmp(unit)
	away := false
	switch how {
	case HalfUp:
		away = half >= 0
	case HalfEven:
		away = half > 0 || half == 0 && q.Bit(0) == 1
	case upward:
		away = r.Sign() > 0
	default:
		away = r.Sign() < 0
	}
	if away {
		q.Add(q, big.NewInt(int64(d.Sign())))
	}
	if to < 0 {
		q.Mul(q, decimal.BigPow10(-to))
	}
	return decimal128.FromBigInt(q)
}

// roundFloats goes by the shortest digits of a number, as Spark does.
func roundFloats[T fn.Float](how rounding, c *plan.Call, scale int) fn.Kernel {
	bits := 64
	if c.Of.Kind == plan.KindFloat {
		bits = 32
	}
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (T, bool, error) {
		x := chunk.Values[T](args[0])[i]
		f := float64(x)
		if f != f || math.IsInf(f, 0) || f == math.Trunc(f) && scale >= 0 {
			return x, !args[1].IsNull(i), nil
		}
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, bits))
		unit := new(big.Rat).SetInt(decimal.BigPow10(max(scale, -scale)))
		if scale < 0 {
			unit.Inv(unit)
		}
		r.Mul(r, unit)
		whole := how.WholeOf(r)
		if scale <= 0 {
			whole.Mul(whole, decimal.BigPow10(-scale))
			v, _ := new(big.Float).SetInt(whole).Float64()
			return T(v), true, nil
		}
		v, err := strconv.ParseFloat(decimal.BigText(whole, scale), bits)
		return T(v), err == nil, nil
	})
}

// WholeOf rounds a ratio to an integer, half up or half to even.
func (how rounding) WholeOf(r *big.Rat) *big.Int {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	half := new(big.Int).Lsh(rest.Abs(rest), 1).Cmp(r.Denom())
	if half > 0 || half == 0 && (how == HalfUp || q.Bit(0) == 1) {
		q.Add(q, big.NewInt(int64(r.Sign())))
	}
	return q
}

func (how rounding) decimals(c *plan.Call, scale int) fn.Kernel {
	from := c.Args[0].Type().Scale
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (chunk.Dec, bool, error) {
		x := chunk.Values[chunk.Dec](args[0])[i]
		d := how.rescale(x, from, min(scale, from))
		if decimal.Fits(d, c.Of.Precision) {
			return d, !args[1].IsNull(i), nil
		}
		if !c.ANSI {
			return d, false, nil
		}
		q := new(big.Int).Quo(d.BigInt(), decimal.BigPow10(max(0, -scale)))
		return d, false, fn.RoundedOverflow(q, min(scale, 0), c.Of)
	})
}

// wholeDef is ceil or floor; with a number of digits they round decimals.
func wholeDef(names string, how rounding, examples ...fn.Example) *fn.Def {
	one := fn.Takes(fn.OneOf(fn.Exactly(plan.Double), fn.Decimals(), fn.Exactly(plan.Long))).WithNull(fn.Always).
		GivesType(func(args []plan.Expr) plan.Type {
			t := args[0].Type()
			switch {
			case t.Kind != plan.KindDecimal:
				return plan.Long
			case t.Scale == 0:
				return t
			default:
				return plan.Decimal(min(t.Precision-t.Scale+1, plan.MaxPrecision), 0)
			}
		})
	two := fn.Takes(fn.Decimals(), fn.Exactly(plan.Int)).WithNull(fn.Always).Checked(constantScale).
		GivesType(func(args []plan.Expr) plan.Type { return roundedType(args[0].Type(), scaleOf(args)) })
	d := fn.Scalar(names, "math_funcs", one, how.wholeMaker, examples...)
	d.ShownAsWritten, d.Shown = true, map[string]string{"ceil": "CEIL", "floor": "FLOOR"}[d.Name]
	d.Bind = func(b *fn.Binding) (*plan.Call, error) {
		if err := b.Between(1, 2); err != nil || len(b.Args) == 2 {
			return bindOr(two, b, err)
		}
		return one.Bind(b)
	}
	return d
}

func bindOr(s fn.Sig, b *fn.Binding, err error) (*plan.Call, error) {
	if err != nil {
		return nil, err
	}
	bound := *b
	bound.Text = b.Def.Name + "($*)"
	return s.Bind(&bound)
}

func (how rounding) wholeMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if len(c.Args) == 2 {
		return how.decimals(c, scaleOf(c.Args)), nil
	}
	switch c.Args[0].Type().Kind {
	case plan.KindLong:
		return func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) { return args[0], nil }, nil
	case plan.KindDecimal:
		from := c.Args[0].Type().Scale
		return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (chunk.Dec, bool, error) {
			return how.rescale(chunk.Values[chunk.Dec](args[0])[i], from, 0), true, nil
		}), nil
	}
	round := math.Ceil
	if how == downward {
		round = math.Floor
	}
	return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
		f := round(chunk.Values[float64](args[0])[i])
		if c.ANSI && (f > math.MaxInt64 || f < math.MinInt64) {
			return 0, false, fn.Overflow("overflow", "").At(c.Origin)
		}
		return fn.JavaInteger[int64](f, math.MaxInt64), true, nil
	}), nil
}
