package function

import (
	"math"
	"math/big"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/plan"
)

var utc = time.UTC

// scaleMaker multiplies or divides an ANSI interval by a number, rounded half up.
func scaleMaker(divide bool) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
		if c.Of.Kind == plan.KindDayTime {
			return fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
				x, err := scaleInterval(c, args, i, divide)
				return x, true, err
			}), nil
		}
		return fixed(c.Of, func(args []*chunk.Vector, i int) (int32, bool, error) {
			x, err := scaleInterval(c, args, i, divide)
			if err == nil && int64(int32(x)) != x {
				err = intervalOverflow("")
			}
			return int32(x), true, err
		}), nil
	}
}

func scaleInterval(c *plan.Call, args []*chunk.Vector, i int, divide bool) (int64, error) {
	by, ok := ratioOf(args[1], i)
	if !ok {
		return 0, javaOverflow("input is infinite or NaN")
	}
	if divide {
		if by.Sign() == 0 {
			return 0, arithmeticError("INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero.").At(c.Origin)
		}
		by.Inv(by)
	}
	by.Mul(by, new(big.Rat).SetInt64(integerAt(args[0], i)))
	x := halfUp.wholeOf(by)
	if !x.IsInt64() {
		return 0, intervalOverflow("")
	}
	return x.Int64(), nil
}

// ratioOf is row i of a numeric vector, exactly.
func ratioOf(v *chunk.Vector, i int) (*big.Rat, bool) {
	switch v.Type.Kind {
	case plan.KindFloat:
		f := float64(chunk.Values[float32](v)[i])
		return new(big.Rat).SetFloat64(f), f == f && !math.IsInf(f, 0)
	case plan.KindDouble:
		f := chunk.Values[float64](v)[i]
		return new(big.Rat).SetFloat64(f), f == f && !math.IsInf(f, 0)
	case plan.KindDecimal:
		d := chunk.Values[chunk.Dec](v)[i]
		return new(big.Rat).SetFrac(d.BigInt(), decimal.BigPow10(v.Type.Scale)), true
	default:
		return new(big.Rat).SetInt64(integerAt(v, i)), true
	}
}

// scaleCalendar multiplies or divides each part; what is left of a day goes
// into microseconds.
func scaleCalendar(divide bool) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
		return fixed(plan.Calendar, func(args []*chunk.Vector, i int) (plan.Interval, bool, error) {
			x, by := chunk.Values[plan.Interval](args[0])[i], chunk.Values[float64](args[1])[i]
			scale := func(v float64) float64 { return v * by }
			if divide {
				if by == 0 && !c.ANSI {
					return x, false, nil
				}
				if by == 0 {
					return x, false, arithmeticError("INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero.").
						At(c.Origin)
				}
				scale = func(v float64) float64 { return v / by }
			}
			days := scale(float64(x.Days))
			whole := math.Trunc(days)
			micros := scale(float64(x.Micros)) + microsPerDay*(days-whole)
			return plan.Interval{Months: int32(scale(float64(x.Months))), Days: int32(whole),
				Micros: int64(math.Floor(micros + 0.5))}, true, nil
		}), nil
	}
}
