package times

import (
	"math"
	"math/big"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/numbers"
	"github.com/weir-dev/weir/internal/plan"
)

var Utc = time.UTC

// scaleMaker multiplies or divides an ANSI interval by a number, rounded half up.
func scaleMaker(divide bool) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		if c.Of.Kind == plan.KindDayTime {
			return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
				x, err := scaleInterval(c, args, i, divide)
				return x, true, err
			}), nil
		}
		return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int32, bool, error) {
			x, err := scaleInterval(c, args, i, divide)
			if err == nil && int64(int32(x)) != x {
				err = fn.IntervalOverflow("")
			}
			return int32(x), true, err
		}), nil
	}
}

func scaleInterval(c *plan.Call, args []*chunk.Vector, i int, divide bool) (int64, error) {
	by, ok := fn.RatioOf(args[1], i)
	if !ok {
		return 0, javaOverflow("input is infinite or NaN")
	}
	if divide {
		if by.Sign() == 0 {
			return 0, fn.ArithmeticError("INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero.").At(c.Origin)
		}
		by.Inv(by)
	}
	by.Mul(by, new(big.Rat).SetInt64(fn.IntegerAt(args[0], i)))
	x := numbers.HalfUp.WholeOf(by)
	if !x.IsInt64() {
		return 0, fn.IntervalOverflow("")
	}
	return x.Int64(), nil
}

// scaleCalendar multiplies or divides each part; what is left of a day goes
// into microseconds.
func scaleCalendar(divide bool) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return fn.Fixed(plan.Calendar, func(args []*chunk.Vector, i int) (plan.Interval, bool, error) {
			x, by := chunk.Values[plan.Interval](args[0])[i], chunk.Values[float64](args[1])[i]
			scale := func(v float64) float64 { return v * by }
			if divide {
				if by == 0 && !c.ANSI {
					return x, false, nil
				}
				if by == 0 {
					return x, false, fn.ArithmeticError("INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero.").
						At(c.Origin)
				}
				scale = func(v float64) float64 { return v / by }
			}
			days := scale(float64(x.Days))
			whole := math.Trunc(days)
			micros := scale(float64(x.Micros)) + fn.MicrosPerDay*(days-whole)
			return plan.Interval{Months: int32(scale(float64(x.Months))), Days: int32(whole),
				Micros: int64(math.Floor(micros + 0.5))}, true, nil
		}), nil
	}
}
