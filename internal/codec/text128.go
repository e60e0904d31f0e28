package codec

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
)

type uint128 struct{ hi, lo uint64 }

// muladd128 is x·10 + add.
func muladd128(hi, lo, add uint64) (uint64, uint64) {
	carry, low := bits.Mul64(lo, 10)
	low, c := bits.Add64(low, add, 0)
	return hi*10 + carry + c, low
}

// divide128 is x / by and x mod by.
func divide128(hi, lo, by uint64) (q uint128, rest uint64) {
	q.hi, rest = hi/by, hi%by
	q.lo, rest = bits.Div64(rest, lo, by)
	return q, rest
}

func decimalFrom(hi, lo uint64) chunk.Dec { return decimal128.New(int64(hi), lo) }
