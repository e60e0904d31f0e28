package fn

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/plan"
)

type Integer interface{ int8 | int16 | int32 | int64 }

type Float interface{ float32 | float64 }

func JavaInteger[R Integer](f float64, most int64) R {
	limit := int64(math.MaxInt64)
	if most <= math.MaxInt32 {
		limit = math.MaxInt32
	}
	switch {
	case f != f:
		return 0
	case f >= float64(limit):
		return R(limit)
	case f <= -float64(limit)-1:
		return R(-limit - 1)
	default:
		return R(int64(f))
	}
}

func FloorDiv(x, by int64) int64 {
	q := x / by
	if x%by < 0 {
		q--
	}
	return q
}

func Bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

const MicrosPerDay = 86_400e6

func MulFits(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	high := int64(hi) - (x>>63)&y - (y>>63)&x
	return int64(lo), high == int64(lo)>>63
}

func FloorMod(x, by int64) int64 { return x - FloorDiv(x, by)*by }

// RatioOf is row i of a numeric vector, exactly.
func RatioOf(v *chunk.Vector, i int) (*big.Rat, bool) {
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
		return new(big.Rat).SetInt64(IntegerAt(v, i)), true
	}
}

func AddFits(x, y int64) (int64, bool) {
	r := x + y
	return r, (x^r)&(y^r) >= 0
}

type Ordered interface {
	uint8 | int8 | int16 | int32 | int64
}

// IntegerAt is a value of an integer, a date, a timestamp or an interval.
func IntegerAt(v *chunk.Vector, i int) int64 {
	switch chunk.Width(v.Type) {
	case 1:
		return int64(chunk.Values[int8](v)[i])
	case 2:
		return int64(chunk.Values[int16](v)[i])
	case 4:
		return int64(chunk.Values[int32](v)[i])
	default:
		return chunk.Values[int64](v)[i]
	}
}
