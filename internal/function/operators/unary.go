package operators

import (
	"math/big"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// unaryDefs are -x, +x and abs.
func unaryDefs() []*fn.Def {
	signed := fn.Takes(fn.NumericOrInterval()).GivesFirst()
	absolute := fn.Takes(fn.OneOf(fn.Numeric(), fn.Interval(plan.KindDayTime), fn.Interval(plan.KindYearMonth))).
		GivesFirst()
	return []*fn.Def{
		{Name: "negative", Group: "math_funcs", Bind: stringsToDouble(signed), Kernel: signKernel(-1),
			Examples: []fn.Example{{"-(5)", "-5"}, {"negative(-1.5)", "1.5"}}},
		{Name: "positive", Group: "math_funcs", Bind: stringsToDouble(signed), Shown: "+",
			Kernel: fn.Plain(func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
				return args[0], nil
			}),
			Examples: []fn.Example{{"+5", "5"}}},
		{Name: "abs", Group: "math_funcs", Bind: stringsToDouble(absolute), Kernel: signKernel(0),
			Examples: []fn.Example{{"abs(-1)", "1"}, {"abs(INTERVAL -1 DAY)", "INTERVAL '1' DAY"}}},
	}
}

// stringsToDouble reads a string argument as a DOUBLE first.
func stringsToDouble(s fn.Sig) func(b *fn.Binding) (*plan.Call, error) {
	return func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 1 && b.Args[0].Type().IsString() {
			bound := *b
			bound.Args = []plan.Expr{b.Cast(b.Args[0], plan.Double)}
			b = &bound
		}
		if b.Def.Name == "positive" && b.Text == "" {
			bound := *b
			bound.Text = "(+ $1)"
			b = &bound
		}
		return s.Bind(b)
	}
}

// signKernel negates (sign -1) or takes the absolute value (sign 0).
func signKernel(sign int) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		switch c.Of.Kind {
		case plan.KindByte:
			return signInts[int8](c, sign), nil
		case plan.KindShort:
			return signInts[int16](c, sign), nil
		case plan.KindInt, plan.KindYearMonth:
			return signInts[int32](c, sign), nil
		case plan.KindLong, plan.KindDayTime:
			return signInts[int64](c, sign), nil
		case plan.KindFloat:
			return signFloats[float32](c, sign), nil
		case plan.KindDouble:
			return signFloats[float64](c, sign), nil
		case plan.KindDecimal:
			return signDecimals(c, sign), nil
		default:
			return negateCalendar(c), nil
		}
	}
}

func signInts[T fn.Integer](c *plan.Call, sign int) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, args[0].Valid)
		r, a := chunk.Values[T](out.Vector), chunk.Values[T](args[0])
		var bad T
		for i, x := range a {
			y := x
			if sign < 0 || x < 0 {
				y = -x
			}
			r[i] = y
			bad |= x & y
		}
		// Only the smallest number keeps its sign when negated, so x & y of it is
		// negative; abs also meets no other pair of negatives.
		if bad >= 0 || !c.ANSI {
			return out.Vector, nil
		}
		for _, i := range fn.Active(out.Valid, sel, n) {
			if a[i]&r[i] < 0 && a[i] == -a[i] {
				return nil, signOverflow(c)
			}
		}
		return out.Vector, nil
	}
}

func signOverflow(c *plan.Call) *plan.Error {
	if c.Of.IsInterval() {
		return fn.IntervalOverflow("")
	}
	return fn.Overflow("overflow", "")
}

func signFloats[T fn.Float](c *plan.Call, sign int) fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, args[0].Valid)
		r := chunk.Values[T](out.Vector)
		for i, x := range chunk.Values[T](args[0]) {
			switch {
			case sign < 0:
				r[i] = -x
			case x <= 0:
				r[i] = 0 - x
			default:
				r[i] = x
			}
		}
		return out.Vector, nil
	}
}

// javaDigits is the precision of the context in which Spark negates decimals:
// longer ones are rounded to it, half to even.
const javaDigits = 34

func signDecimals(c *plan.Call, sign int) fn.Kernel {
	t := c.Of
	return fn.Fixed(t, func(args []*chunk.Vector, i int) (chunk.Dec, bool, error) {
		x := chunk.Values[chunk.Dec](args[0])[i]
		if sign == 0 && x.Sign() >= 0 {
			return roundJava(x, t)
		}
		return roundJava(x.Negate(), t)
	})
}

func roundJava(x chunk.Dec, t plan.Type) (chunk.Dec, bool, error) {
	if decimal.Fits(x, javaDigits) {
		return x, true, nil
	}
	down := 0
	for !decimal.Fits(x, javaDigits+down) {
		down++
	}
	q, r := new(big.Int).QuoRem(x.BigInt(), decimal.BigPow10(down), new(big.Int))
	half := r.Abs(r).Lsh(r, 1).Cmp(decimal.BigPow10(down))
	if half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	if q.CmpAbs(decimal.BigPow10(javaDigits)) == 0 { // a carry made one digit more
		q.Quo(q, big.NewInt(10))
		down++
	}
	rounded, ok := decimal.FitBig(new(big.Int).Mul(q, decimal.BigPow10(down)), t.Scale, t)
	if ok {
		return rounded, true, nil
	}
	return x, false, fn.RoundedOverflow(q, t.Scale-down, t)
}

func negateCalendar(c *plan.Call) fn.Kernel {
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (plan.Interval, bool, error) {
		x := chunk.Values[plan.Interval](args[0])[i]
		if c.ANSI && (x.Months == -x.Months && x.Months != 0 || x.Days == -x.Days && x.Days != 0 ||
			x.Micros == -x.Micros && x.Micros != 0) {
			return x, false, fn.IntervalOverflow("")
		}
		return plan.Interval{Months: -x.Months, Days: -x.Days, Micros: -x.Micros}, true, nil
	})
}
