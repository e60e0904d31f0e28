package operators

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

func (op operator) faults(c *plan.Call) fn.Faults {
	switch {
	case op.tries:
		return fn.Null
	case c.ANSI:
		return fn.Raise
	default:
		return fn.Wrap
	}
}

// kernel is the evaluator of a bound operator.
func (op operator) kernel(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	f := op.faults(c)
	switch c.Args[0].Type().Kind {
	case plan.KindByte:
		return intKernel[int8](op, c, f), nil
	case plan.KindShort:
		return intKernel[int16](op, c, f), nil
	case plan.KindInt, plan.KindYearMonth:
		return intKernel[int32](op, c, f), nil
	case plan.KindLong, plan.KindDayTime:
		return intKernel[int64](op, c, f), nil
	case plan.KindFloat:
		return floatKernel[float32](op, c, f), nil
	case plan.KindDouble:
		return floatKernel[float64](op, c, f), nil
	case plan.KindDecimal:
		return decimalKernel(op, c, f), nil
	default:
		return calendarKernel(op, c, f), nil
	}
}

// intLoop computes all rows; the sign bit of bad is set when some row overflowed.
type intLoop[T fn.Integer] func(out, a, b []T) (bad T)

func addInts[T fn.Integer](out, a, b []T) (bad T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		x, y := a[i], b[i]
		r := x + y
		out[i] = r
		bad |= (x ^ r) & (y ^ r)
	}
	return bad
}

func subInts[T fn.Integer](out, a, b []T) (bad T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		x, y := a[i], b[i]
		r := x - y
		out[i] = r
		bad |= (x ^ y) & (x ^ r)
	}
	return bad
}

// mulInts checks in 64 bits; mulLongs needs the high word.
func mulInts[T fn.Integer](out, a, b []T) (bad T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		wide := int64(a[i]) * int64(b[i])
		r := T(wide)
		out[i] = r
		if int64(r) != wide {
			bad = -1
		}
	}
	return bad
}

func mulLongs(out, a, b []int64) (bad int64) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		x, y := a[i], b[i]
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		high := int64(hi) - (x>>63)&y - (y>>63)&x
		out[i] = int64(lo)
		if high != int64(lo)>>63 {
			bad = -1
		}
	}
	return bad
}

func intKernel[T fn.Integer](op operator, c *plan.Call, f fn.Faults) fn.Kernel {
	switch op.name {
	case "+":
		return checkedInts(op, c, f, addInts[T])
	case "-":
		return checkedInts(op, c, f, subInts[T])
	case "*":
		loop := mulInts[T]
		if long, ok := any(intLoop[int64](mulLongs)).(intLoop[T]); ok {
			loop = long
		}
		return checkedInts(op, c, f, loop)
	case "div":
		return intQuotient[T](c, f)
	default:
		return intRemainder[T](op, c, f)
	}
}

// checkedInts runs a loop over whole vectors and looks for the offender only
// when a row overflowed.
func checkedInts[T fn.Integer](op operator, c *plan.Call, f fn.Faults, loop intLoop[T]) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, fn.ValidOf(args, n))
		r, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
		if loop(r, a, b) >= 0 || f == fn.Wrap {
			return out.Vector, nil
		}
		for _, i := range fn.Active(out.Valid, sel, n) {
			one := i + 1
			if loop(r[i:one], a[i:one], b[i:one]) >= 0 {
				continue
			}
			if f == fn.Raise {
				return nil, op.intOverflow(c, int64(a[i]), int64(b[i]))
			}
			out.Null(i)
		}
		return out.Vector, nil
	}
}

// intOverflow: the small types have a condition of their own, and intervals too.
func (op operator) intOverflow(c *plan.Call, a, b int64) *plan.Error {
	switch c.Of.Kind {
	case plan.KindByte, plan.KindShort:
		return fn.ArithmeticError("BINARY_ARITHMETIC_OVERFLOW",
			fn.Itoa(int(a))+" "+op.symbol+" "+fn.Itoa(int(b))+" does not fit its type; "+op.try+" gives NULL instead.",
			"value1", fn.Itoa(int(a))+"S", "symbol", op.symbol, "value2", fn.Itoa(int(b))+"S",
			"functionName", plan.Quote(op.try))
	case plan.KindDayTime, plan.KindYearMonth:
		return fn.IntervalOverflow(op.try)
	default:
		return fn.Overflow("overflow", op.try).At(c.Origin)
	}
}

func intQuotient[T fn.Integer](c *plan.Call, f fn.Faults) fn.Kernel {
	return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
		a, b := int64(chunk.Values[T](args[0])[i]), int64(chunk.Values[T](args[1])[i])
		switch {
		case b == 0 && f == fn.Raise:
			return 0, false, fn.DivideByZero().At(c.Origin)
		case b == 0:
			return 0, false, nil
		case b == -1 && a == math.MinInt64 && f == fn.Raise:
			return 0, false, fn.Overflow("Overflow in integral divide", "try_divide").At(c.Origin)
		default:
			return a / b, true, nil
		}
	})
}

func intRemainder[T fn.Integer](op operator, c *plan.Call, f fn.Faults) fn.Kernel {
	positive := op.name == "pmod"
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (T, bool, error) {
		a, b := chunk.Values[T](args[0])[i], chunk.Values[T](args[1])[i]
		if b == 0 {
			if f == fn.Raise {
				return 0, false, fn.RemainderByZero().At(c.Origin)
			}
			return 0, false, nil
		}
		r := a % b
		if positive && r < 0 {
			r = (r + b) % b
		}
		return r, true, nil
	})
}

func floatKernel[T fn.Float](op operator, c *plan.Call, f fn.Faults) fn.Kernel {
	switch op.name {
	case "+":
		return floatLoop(c, func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] + b[i]
			}
		})
	case "-":
		return floatLoop(c, func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] - b[i]
			}
		})
	case "*":
		return floatLoop(c, func(out, a, b []T) {
			for i := range out {
				out[i] = a[i] * b[i]
			}
		})
	case "/":
		return floatDivision(c, f, fn.DivideByZero, func(a, b T) T { return a / b })
	case "%":
		return floatDivision(
			c,
			f,
			fn.RemainderByZero,
			func(a, b T) T { return T(math.Mod(float64(a), float64(b))) },
		)
	default:
		return floatDivision(c, f, fn.RemainderByZero, positiveMod[T])
	}
}

func positiveMod[T fn.Float](a, b T) T {
	r := math.Mod(float64(a), float64(b))
	if r < 0 {
		r = math.Mod(float64(T(r)+b), float64(b))
	}
	return T(r)
}

func floatLoop[T fn.Float](c *plan.Call, loop func(out, a, b []T)) fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, fn.ValidOf(args, n))
		a, b := chunk.Values[T](args[0]), chunk.Values[T](args[1])
		loop(chunk.Values[T](out.Vector), a[:n], b[:n])
		return out.Vector, nil
	}
}

// floatDivision computes all rows and then looks for zero divisors.
func floatDivision[T fn.Float](
	c *plan.Call,
	f fn.Faults,
	zero func() *plan.Error,
	row func(a, b T) T,
) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, fn.ValidOf(args, n))
		r, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
		for _, i := range fn.Active(out.Valid, sel, n) {
			switch {
			case b[i] != 0:
				r[i] = row(a[i], b[i])
			case f == fn.Raise:
				return nil, zero().At(c.Origin)
			default:
				out.Null(i)
			}
		}
		return out.Vector, nil
	}
}

// decimalKernel computes +, -, *, /, % and pmod over decimals, and div, which
// gives a BIGINT.
func decimalKernel(op operator, c *plan.Call, f fn.Faults) fn.Kernel {
	s := &decimal.Shape{Left: c.Args[0].Type().Scale, Right: c.Args[1].Type().Scale, Out: c.Of}
	if op.name == "div" {
		return decimalQuotient(c, s, f)
	}
	if k, ok := narrowDecimals(op, c); ok {
		return k
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, fn.ValidOf(args, n))
		r, a, b := chunk.Values[chunk.Dec](out.Vector), chunk.Values[chunk.Dec](args[0]),
			chunk.Values[chunk.Dec](args[1])
		for _, i := range fn.Active(out.Valid, sel, n) {
			v, ok, err := op.decimals(s, a[i], b[i])
			switch {
			case ok:
				r[i] = v
			case f != fn.Raise:
				out.Null(i)
			case err != nil:
				return nil, err.At(c.Origin)
			default:
				return nil, op.decimalOverflow(s, a[i], b[i]).At(c.Origin)
			}
		}
		return out.Vector, nil
	}
}

// narrowDecimals computes +, - and * where 64 bits hold both sides at the scale
// of the result, or their factors, and the result is exact.
func narrowDecimals(op operator, c *plan.Call) (fn.Kernel, bool) {
	l, r := c.Args[0].Type(), c.Args[1].Type()
	up := func(t plan.Type) int { return c.Of.Scale - t.Scale }
	x, y := int64(1), int64(1)
	switch {
	case op.name == "*" && l.Precision <= 18 && r.Precision <= 18:
	case (op.name == "+" || op.name == "-") && l.Precision+up(l) <= 18 && r.Precision+up(r) <= 18:
		x, y = int64(decimal.Pow10[up(l)].LowBits()), int64(decimal.Pow10[up(r)].LowBits())
		if op.name == "-" {
			y = -y
		}
	default:
		return nil, false
	}
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.Of, n, fn.ValidOf(args, n))
		dst := chunk.Values[chunk.Dec](out.Vector)
		a, b := chunk.Values[chunk.Dec](args[0]), chunk.Values[chunk.Dec](args[1])
		if op.name == "*" {
			for i := range dst {
				hi, lo := mulSigned(int64(a[i].LowBits()), int64(b[i].LowBits()))
				dst[i] = decimal128.New(hi, lo)
			}
			return out.Vector, nil
		}
		for i := range dst {
			dst[i] = decimal128.FromI64(int64(a[i].LowBits())*x + int64(b[i].LowBits())*y)
		}
		return out.Vector, nil
	}, true
}

// mulSigned is the product of two integers in 128 bits.
func mulSigned(x, y int64) (hi int64, lo uint64) {
	h, lo := bits.Mul64(uint64(x), uint64(y))
	return int64(h) - (x>>63)&y - (y>>63)&x, lo
}

// decimals computes one pair; an error is a zero divisor, ok false without one
// an overflow.
func (op operator) decimals(s *decimal.Shape, a, b chunk.Dec) (v chunk.Dec, ok bool, err *plan.Error) {
	switch op.name {
	case "+":
		v, ok = s.Add(a, b)
		return v, ok, nil
	case "-":
		v, ok = s.Add(a, b.Negate())
		return v, ok, nil
	case "*":
		v, ok = s.Mul(a, b)
		return v, ok, nil
	}
	if b.Sign() == 0 {
		if op.name == "/" {
			return v, false, fn.DivideByZero()
		}
		return v, false, fn.RemainderByZero()
	}
	if op.name == "/" {
		v, ok = s.Div(a, b)
		return v, ok, nil
	}
	v, ok = s.Rem(a, b)
	if op.name == "pmod" && ok && v.Sign() < 0 {
		sum := decimal.Shape{Left: s.Out.Scale, Right: s.Right, Out: plan.Decimal(plan.MaxPrecision, s.Out.Scale)}
		if v, ok = sum.Add(v, b); ok {
			sum.Out = s.Out
			v, ok = sum.Rem(v, b)
		}
	}
	return v, ok, nil
}

// decimalOverflow shows the exact result.
func (op operator) decimalOverflow(s *decimal.Shape, a, b chunk.Dec) *plan.Error {
	scale := max(s.Left, s.Right)
	switch op.name {
	case "+":
		return fn.DecimalOverflow(decimal.BigText(s.BigSum(a, b), scale), s.Out)
	case "-":
		return fn.DecimalOverflow(decimal.BigText(s.BigSum(a, b.Negate()), scale), s.Out)
	case "*":
		x := a.BigInt()
		return fn.DecimalOverflow(decimal.BigText(x.Mul(x, b.BigInt()), s.Left+s.Right), s.Out)
	default:
		down := decimal.BigPow10(decimal.DivisionScale - s.Out.Scale)
		return fn.DecimalOverflow(decimal.BigText(decimal.QuoHalfUp(s.BigQuotient(a, b), down), s.Out.Scale), s.Out)
	}
}

// math64 are the bits of a BIGINT.
var math64 = new(big.Int).SetUint64(math.MaxUint64)

func decimalQuotient(c *plan.Call, s *decimal.Shape, f fn.Faults) fn.Kernel {
	return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
		a, b := chunk.Values[chunk.Dec](args[0])[i], chunk.Values[chunk.Dec](args[1])[i]
		if b.Sign() == 0 {
			if f == fn.Raise {
				return 0, false, fn.DivideByZero().At(c.Origin)
			}
			return 0, false, nil
		}
		q := s.Quot(a, b)
		low := new(big.Int).And(q, math64).Uint64() // Java's longValue
		return int64(low), true, nil
	})
}

func calendarKernel(op operator, c *plan.Call, f fn.Faults) fn.Kernel {
	sign := int64(1)
	if op.name == "-" {
		sign = -1
	}
	return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (plan.Interval, bool, error) {
		a, b := chunk.Values[plan.Interval](args[0])[i], chunk.Values[plan.Interval](args[1])[i]
		months := int64(a.Months) + sign*int64(b.Months)
		days := int64(a.Days) + sign*int64(b.Days)
		micros := a.Micros + sign*b.Micros
		sum := plan.Interval{Months: int32(months), Days: int32(days), Micros: micros}
		carried := (a.Micros^micros)&(sign*b.Micros^micros) < 0
		if f == fn.Wrap || int64(sum.Months) == months && int64(sum.Days) == days && !carried {
			return sum, true, nil
		}
		if f == fn.Raise {
			return sum, false, fn.IntervalOverflow(op.try)
		}
		return sum, false, nil
	})
}
