package decimal_test

import (
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/plan"
)

// operand draws a decimal of a drawn type; values near the ends are as likely
// as small ones.
func operand(t *rapid.T, name string) (chunk.Dec, plan.Type) {
	precision := rapid.IntRange(1, plan.MaxPrecision).Draw(t, name+" precision")
	of := plan.Decimal(precision, rapid.IntRange(0, precision).Draw(t, name+" scale"))
	digits := rapid.IntRange(1, precision).Draw(t, name+" digits")
	text := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), digits, digits, -1).Draw(t, name)
	if rapid.Bool().Draw(t, name+" nines") {
		text = "99999999999999999999999999999999999999"[:digits]
	}
	x, _ := new(big.Int).SetString(text, 10)
	if rapid.Bool().Draw(t, name+" negative") {
		x.Neg(x)
	}
	return decimal128.FromBigInt(x), of
}

func rational(d chunk.Dec, scale int) *big.Rat {
	return new(big.Rat).SetFrac(d.BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
}

// rounded is an exact value at a scale, half away from zero.
func rounded(r *big.Rat, scale int) *big.Int {
	up := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	num := new(big.Int).Mul(r.Num(), up)
	q, rest := new(big.Int).QuoRem(num, r.Denom(), new(big.Int))
	if rest.Abs(rest).Lsh(rest, 1).CmpAbs(r.Denom()) >= 0 {
		q.Add(q, big.NewInt(int64(r.Sign())))
	}
	return q
}

// result is what an operation gave, and the type it is of.
type result struct {
	value chunk.Dec
	fits  bool
	of    plan.Type
}

func expect(t *rapid.T, op string, r result, exact *big.Rat) {
	got, ok, out := r.value, r.fits, r.of
	want := rounded(exact, out.Scale)
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(out.Precision)), nil)
	fits := want.CmpAbs(limit) < 0
	if ok != fits {
		t.Fatalf("%s: fits %v, not %v (%s in %s)", op, ok, fits, want, out.SQL())
	}
	if fits && got.BigInt().Cmp(want) != 0 {
		t.Fatalf("%s: %s, not %s in %s", op, got.BigInt(), want, out.SQL())
	}
}

func TestArithmeticIsThatOfExactNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, at := operand(t, "a")
		b, bt := operand(t, "b")
		x, y := rational(a, at.Scale), rational(b, bt.Scale)
		shape := func(op string) decimal.Shape {
			return decimal.Shape{Left: at.Scale, Right: bt.Scale, Out: decimal.Result(op, at, bt)}
		}
		s := shape("+")
		sum, ok := s.Add(a, b)
		expect(t, "+", result{sum, ok, s.Out}, new(big.Rat).Add(x, y))
		s = shape("*")
		product, ok := s.Mul(a, b)
		expect(t, "*", result{product, ok, s.Out}, new(big.Rat).Mul(x, y))
		if b.Sign() == 0 {
			return
		}
		s = shape("/")
		quotient, ok := s.Div(a, b)
		// Spark rounds quotients twice.
		once := rounded(new(big.Rat).Quo(x, y), decimal.DivisionScale)
		at39 := new(big.Rat).SetFrac(once, new(big.Int).Exp(big.NewInt(10), big.NewInt(decimal.DivisionScale), nil))
		expect(t, "/", result{quotient, ok, s.Out}, at39)
		s = shape("%")
		rest, ok := s.Rem(a, b)
		whole := new(big.Rat).Quo(x, y)
		floor := new(big.Rat).SetInt(new(big.Int).Quo(whole.Num(), whole.Denom()))
		expect(t, "%", result{rest, ok, s.Out}, new(big.Rat).Sub(x, floor.Mul(floor, y)))
	})
}

func TestRescalingRoundsHalfAwayFromZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, of := operand(t, "d")
		digits := rapid.IntRange(1, plan.MaxPrecision).Draw(t, "digits")
		by := rapid.IntRange(-of.Scale, plan.MaxPrecision-of.Scale).Draw(t, "by")
		got, ok := decimal.Rescale(d, by, digits)
		out := plan.Type{Kind: plan.KindDecimal, Precision: digits, Scale: of.Scale + by}
		expect(t, "rescale", result{got, ok, out}, rational(d, of.Scale))
	})
}
