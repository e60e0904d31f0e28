package decimal

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// Decimals are 128-bit integers at a scale. The arithmetic here works on those
// where an operation stays within 38 digits and goes over to big integers where
// an intermediate does not.

// Pow10 are the powers of ten that fit a decimal.
var Pow10 = func() (p [plan.MaxPrecision + 1]chunk.Dec) {
	p[0] = decimal128.FromU64(1)
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1].Mul(decimal128.FromU64(10))
	}
	return p
}()

// Fits reports whether |d| < 10^digits.
func Fits(d chunk.Dec, digits int) bool {
	return d.Abs().Less(Pow10[min(digits, plan.MaxPrecision)])
}

// Magnitude is |d|.
func Magnitude(d chunk.Dec) (hi, lo uint64) {
	if d.Sign() < 0 {
		d = d.Negate()
	}
	return uint64(d.HighBits()), d.LowBits()
}

// signed is a magnitude with a sign.
func signed(hi, lo uint64, negative bool) chunk.Dec {
	d := decimal128.New(int64(hi), lo)
	if negative {
		return d.Negate()
	}
	return d
}

// u256 is an unsigned integer, least significant word first.
type u256 [4]uint64

func mul128(ahi, alo, bhi, blo uint64) (p u256) {
	h0, l0 := bits.Mul64(alo, blo)
	h1, l1 := bits.Mul64(alo, bhi)
	h2, l2 := bits.Mul64(ahi, blo)
	h3, l3 := bits.Mul64(ahi, bhi)
	var c uint64
	p[0] = l0
	p[1], c = bits.Add64(h0, l1, 0)
	p[2], c = bits.Add64(h1, l3, c)
	p[3], _ = bits.Add64(h3, 0, c)
	p[1], c = bits.Add64(p[1], l2, 0)
	p[2], c = bits.Add64(p[2], h2, c)
	p[3] += c
	return p
}

// divide leaves x / by and returns x mod by.
func (x *u256) divide(by uint64) (rest uint64) {
	for i := 3; i >= 0; i-- {
		x[i], rest = bits.Div64(rest, x[i], by)
	}
	return rest
}

// downHalfUp divides by 10^digits, rounded half up.
func (x *u256) downHalfUp(digits int) {
	if digits == 0 {
		return
	}
	for digits > 1 {
		step := min(digits-1, 19)
		x.divide(Pow10[step].LowBits())
		digits -= step
	}
	if x.divide(10) >= 5 {
		x.increment()
	}
}

func (x *u256) increment() {
	c := uint64(1)
	for i := range x {
		x[i], c = bits.Add64(x[i], 0, c)
	}
}

// dec is the value with a sign, if it has at most the given number of digits.
func (x *u256) dec(negative bool, digits int) (chunk.Dec, bool) {
	if x[3] != 0 || x[2] != 0 || x[1] >= 1<<63 {
		return chunk.Dec{}, false
	}
	d := decimal128.New(int64(x[1]), x[0])
	if !d.Less(Pow10[min(digits, plan.MaxPrecision)]) {
		return chunk.Dec{}, false
	}
	return signed(x[1], x[0], negative), true
}

// Mul is a·b at a scale down digits lower, rounded half up, if that has at
// most the given number of digits.
func Mul(a, b chunk.Dec, down, digits int) (chunk.Dec, bool) {
	ahi, alo := Magnitude(a)
	bhi, blo := Magnitude(b)
	var p u256
	if ahi|bhi == 0 {
		p[1], p[0] = bits.Mul64(alo, blo)
	} else {
		p = mul128(ahi, alo, bhi, blo)
	}
	p.downHalfUp(down)
	return p.dec(a.Sign()*b.Sign() < 0, digits)
}

// Rescale is d at a scale by digits higher (or lower, rounded half up), if that
// has at most the given number of digits.
func Rescale(d chunk.Dec, by, digits int) (chunk.Dec, bool) {
	switch {
	case by == 0:
		return d, Fits(d, digits)
	case by > plan.MaxPrecision:
		return d, d.Sign() == 0
	case by > 0:
		return Mul(d, Pow10[by], 0, digits)
	case by < -plan.MaxPrecision-1:
		return chunk.Dec{}, true
	}
	hi, lo := Magnitude(d)
	x := u256{lo, hi}
	x.downHalfUp(-by)
	return x.dec(d.Sign() < 0, digits)
}

// Shape is the types of a decimal operation: the scales of both sides and the
// result's type.
type Shape struct {
	Left, Right int
	Out         plan.Type
}

// Add is a+b.
func (s *Shape) Add(a, b chunk.Dec) (chunk.Dec, bool) {
	scale := max(s.Left, s.Right)
	x, ok1 := Rescale(a, scale-s.Left, plan.MaxPrecision)
	y, ok2 := Rescale(b, scale-s.Right, plan.MaxPrecision)
	if ok1 && ok2 {
		sum := x.Add(y)
		if x.Sign()*y.Sign() <= 0 || x.Sign()*sum.Sign() >= 0 {
			return Rescale(sum, s.Out.Scale-scale, s.Out.Precision)
		}
	}
	return s.fit(s.BigSum(a, b), scale)
}

// BigSum is a+b at the larger of the scales.
func (s *Shape) BigSum(a, b chunk.Dec) *big.Int {
	scale := max(s.Left, s.Right)
	x, y := a.BigInt(), b.BigInt()
	x.Mul(x, BigPow10(scale-s.Left))
	y.Mul(y, BigPow10(scale-s.Right))
	return x.Add(x, y)
}

// Mul is a·b.
func (s *Shape) Mul(a, b chunk.Dec) (chunk.Dec, bool) {
	return Mul(a, b, s.Left+s.Right-s.Out.Scale, s.Out.Precision)
}

// Div is a/b, b not zero. Spark rounds to 39 digits after the point first and
// to the result's scale then; both half up.
func (s *Shape) Div(a, b chunk.Dec) (chunk.Dec, bool) {
	up := s.Out.Scale - s.Left + s.Right
	bhi, blo := Magnitude(b)
	if up < 0 || up > plan.MaxPrecision || bhi != 0 ||
		s.Out.Scale > 19 && !decimal128.FromU64(blo).Less(Pow10[plan.MaxPrecision+1-s.Out.Scale]) {
		return s.bigDiv(a, b)
	}
	ahi, alo := Magnitude(a)
	x := mul128(ahi, alo, uint64(Pow10[up].HighBits()), Pow10[up].LowBits())
	rest := x.divide(blo)
	if rest >= blo-rest {
		x.increment()
	}
	return x.dec(a.Sign()*b.Sign() < 0, s.Out.Precision)
}

// DivisionScale is the number of digits behind the point of a quotient before it
// is rounded to its type.
const DivisionScale = plan.MaxPrecision + 1

func (s *Shape) bigDiv(a, b chunk.Dec) (chunk.Dec, bool) {
	return s.fit(s.BigQuotient(a, b), DivisionScale)
}

// BigQuotient is a/b at DivisionScale.
func (s *Shape) BigQuotient(a, b chunk.Dec) *big.Int { return s.BigQuotientOf(a.BigInt(), b) }

// BigQuotientOf is BigQuotient of a number of any size, which is overwritten.
func (s *Shape) BigQuotientOf(x *big.Int, b chunk.Dec) *big.Int {
	y := b.BigInt()
	if up := DivisionScale - s.Left + s.Right; up >= 0 {
		x.Mul(x, BigPow10(up))
	} else {
		y.Mul(y, BigPow10(-up))
	}
	return QuoHalfUp(x, y)
}

// Quot is the whole part of a/b.
func (s *Shape) Quot(a, b chunk.Dec) *big.Int {
	x, y := s.aligned(a, b)
	return x.Quo(x, y)
}

// Rem is a mod b with the sign of a.
func (s *Shape) Rem(a, b chunk.Dec) (chunk.Dec, bool) {
	scale := max(s.Left, s.Right)
	x, ok1 := Rescale(a, scale-s.Left, plan.MaxPrecision)
	y, ok2 := Rescale(b, scale-s.Right, plan.MaxPrecision)
	if ok1 && ok2 {
		return Rescale(remainder(x, y), s.Out.Scale-scale, s.Out.Precision)
	}
	bx, by := s.aligned(a, b)
	return s.fit(bx.Rem(bx, by), scale)
}

func remainder(x, y chunk.Dec) chunk.Dec {
	xhi, xlo := Magnitude(x)
	yhi, ylo := Magnitude(y)
	if yhi == 0 {
		return signed(0, bits.Rem64(xhi, xlo, ylo), x.Sign() < 0)
	}
	_, r := x.Div(y)
	return r
}

func (s *Shape) aligned(a, b chunk.Dec) (x, y *big.Int) {
	scale := max(s.Left, s.Right)
	x, y = a.BigInt(), b.BigInt()
	return x.Mul(x, BigPow10(scale-s.Left)), y.Mul(y, BigPow10(scale-s.Right))
}

// fit rounds a big value at a scale to the result's type.
func (s *Shape) fit(x *big.Int, scale int) (chunk.Dec, bool) {
	return FitBig(x, scale, s.Out)
}

// FitBig rounds a big value at a scale to a type; ok tells whether it fits.
func FitBig(x *big.Int, scale int, t plan.Type) (chunk.Dec, bool) {
	if scale > t.Scale {
		x = QuoHalfUp(x, BigPow10(scale-t.Scale))
	} else {
		x = new(big.Int).Mul(x, BigPow10(t.Scale-scale))
	}
	if x.BitLen() > 127 {
		return chunk.Dec{}, false
	}
	d := decimal128.FromBigInt(x)
	return d, Fits(d, t.Precision)
}

// BigPow10 is 10^n.
func BigPow10(n int) *big.Int {
	if n <= plan.MaxPrecision {
		return Pow10[max(0, n)].BigInt()
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// QuoHalfUp is x/y rounded half away from zero.
func QuoHalfUp(x, y *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(y) >= 0 {
		q.Add(q, big.NewInt(int64(x.Sign()*y.Sign())))
	}
	return q
}

// BigText is a big unscaled value as plain decimal text.
func BigText(x *big.Int, scale int) string {
	digits := new(big.Int).Abs(x).String()
	sign := ""
	if x.Sign() < 0 {
		sign = "-"
	}
	if scale <= 0 {
		return sign + digits
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// Text is a decimal as plain text.
func Text(d chunk.Dec, scale int) string { return string(codec.AppendDecimal(nil, d, scale)) }

// Adjusted cuts a decimal type at 38 digits, keeping at least six digits after
// the point if there are as many (allowPrecisionLoss).
func Adjusted(precision, scale int) plan.Type {
	if precision <= plan.MaxPrecision {
		return plan.Decimal(precision, scale)
	}
	whole := precision - scale
	return plan.Decimal(plan.MaxPrecision, max(plan.MaxPrecision-whole, min(scale, minimumAdjustedScale)))
}

const minimumAdjustedScale = 6

// Result is the type of an operator over two decimals.
func Result(op string, a, b plan.Type) plan.Type {
	scale := max(a.Scale, b.Scale)
	switch op {
	case "+", "-":
		return Adjusted(max(a.Precision-a.Scale, b.Precision-b.Scale)+scale+1, scale)
	case "*":
		return Adjusted(a.Precision+b.Precision+1, a.Scale+b.Scale)
	case "/":
		scale = max(minimumAdjustedScale, a.Scale+b.Precision+1)
		return Adjusted(a.Precision-a.Scale+b.Scale+scale, scale)
	default:
		return Adjusted(min(a.Precision-a.Scale, b.Precision-b.Scale)+scale, scale)
	}
}

// Whole cuts off what is behind the point.
func Whole(x chunk.Dec, scale int) chunk.Dec {
	if scale == 0 {
		return x
	}
	hi, lo := Magnitude(x)
	w := u256{lo, hi}
	for scale > 0 {
		step := min(scale, 19)
		w.divide(Pow10[step].LowBits())
		scale -= step
	}
	return signed(w[1], w[0], x.Sign() < 0)
}
