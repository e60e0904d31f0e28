package cast

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// toBoolean: anything that is not zero is true.
func (c *caster) toBoolean() fn.Kernel {
	switch c.from.Kind {
	case plan.KindByte:
		return total(c, notZero[int8])
	case plan.KindShort:
		return total(c, notZero[int16])
	case plan.KindInt:
		return total(c, notZero[int32])
	case plan.KindFloat:
		return total(c, notZero[float32])
	case plan.KindDouble:
		return total(c, notZero[float64])
	case plan.KindDecimal:
		return total(c, notZero[chunk.Dec])
	case plan.KindDate:
		return c.nulls()
	default:
		return total(c, notZero[int64])
	}
}

func notZero[T comparable](x T) uint8 {
	var zero T
	if x != zero {
		return 1
	}
	return 0
}

// toInteger casts to the four integers.
func (c *caster) toInteger() fn.Kernel {
	switch c.to.Kind {
	case plan.KindByte:
		return integerFrom[int8](c)
	case plan.KindShort:
		return integerFrom[int16](c)
	case plan.KindInt:
		return integerFrom[int32](c)
	default:
		return integerFrom[int64](c)
	}
}

func integerFrom[R fn.Integer](c *caster) fn.Kernel {
	switch c.from.Kind {
	case plan.KindBoolean:
		return total(c, func(x uint8) R { return R(x) })
	case plan.KindByte:
		return integerFromInt[int8, R](c)
	case plan.KindShort:
		return integerFromInt[int16, R](c)
	case plan.KindInt:
		return integerFromInt[int32, R](c)
	case plan.KindLong:
		return integerFromInt[int64, R](c)
	case plan.KindFloat:
		return integerFromFloat[float32, R](c)
	case plan.KindDouble:
		return integerFromFloat[float64, R](c)
	case plan.KindDecimal:
		return integerFromDecimal[R](c)
	case plan.KindDate:
		return c.nulls()
	case plan.KindYearMonth:
		return integerFromUnits[int32, R](c, monthsOf(c.from))
	case plan.KindDayTime:
		return integerFromUnits[int64, R](c, microsOf(c.from.End))
	case plan.KindTime:
		return integerFromUnits[int64, R](c, 1e9)
	default:
		return integerFromTimestamp[R](c)
	}
}

// integerFromInt checks whole vectors at once; a cast to a wider type cannot fail.
func integerFromInt[A, R fn.Integer](c *caster) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst, src := chunk.Values[R](out.Vector), chunk.Values[A](args[0])
		var bad int64
		for i, x := range src {
			r := R(x)
			dst[i] = r
			bad |= int64(r) ^ int64(x)
		}
		if bad == 0 || c.mode == plan.CastLegacy {
			return out.Vector, nil
		}
		for _, i := range fn.Active(out.Valid, sel, n) {
			if int64(dst[i]) == int64(src[i]) {
				continue
			}
			if c.ansi() {
				return nil, fn.CastOverflow(IntText(int64(src[i]), c.from), c.from, c.to)
			}
			out.Null(i)
		}
		return out.Vector, nil
	}
}

// IntText is an integer as SQL writes it: 300S, 3000000000L.
func IntText(x int64, t plan.Type) string {
	suffix := ""
	switch t.Kind {
	case plan.KindByte:
		suffix = "Y"
	case plan.KindShort:
		suffix = "S"
	case plan.KindLong:
		suffix = "L"
	}
	return strconv.FormatInt(x, 10) + suffix
}

func bounds[R fn.Integer]() (least, most int64) {
	var r R
	r--
	width := 0
	for x := r; x != 0; x <<= 1 {
		width++
	}
	return math.MinInt64 >> (64 - width), math.MaxInt64 >> (64 - width)
}

// integerFromFloat cuts the fraction off. Without errors it does what Java
// does: clamp to int or bigint, NaN is zero, and smaller types wrap from int.
func integerFromFloat[A fn.Float, R fn.Integer](c *caster) fn.Kernel {
	least, most := bounds[R]()
	if c.mode == plan.CastLegacy {
		return total(c, func(x A) R { return fn.JavaInteger[R](float64(x), most) })
	}
	low, high := float64(least), float64(most)
	return mapped(c, func(x A) (R, bool) {
		f := float64(x)
		return fn.JavaInteger[R](f, most), math.Floor(f) <= high && math.Ceil(f) >= low
	}, func(x A) *plan.Error { return fn.CastOverflow(floatText(x), c.from, c.to) })
}

// floatText is a float as the parameters of errors write it.
func floatText[A fn.Float](x A) string {
	f := float64(x)
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if x, ok := any(x).(float32); ok {
		return "CAST('" + string(codec.AppendFloat(nil, x)) + "' AS FLOAT)"
	}
	return string(codec.AppendDouble(nil, f)) + "D"
}

func integerFromDecimal[R fn.Integer](c *caster) fn.Kernel {
	scale := c.from.Scale
	least, most := bounds[R]()
	legacy := c.mode == plan.CastLegacy
	return mapped(c, func(x chunk.Dec) (R, bool) {
		whole := decimal.Whole(x, scale)
		v := int64(whole.LowBits())
		if legacy {
			return R(v), true
		}
		inside := whole.HighBits() == v>>63 && v >= least && v <= most
		return R(v), inside
	}, func(x chunk.Dec) *plan.Error { return fn.CastOverflow(decimal.Text(x, scale)+"BD", c.from, c.to) })
}

// integerFromUnits divides by what an interval's smallest field holds.
func integerFromUnits[A, R fn.Integer](c *caster, unit int64) fn.Kernel {
	return mapped(c, func(x A) (R, bool) {
		v := int64(x) / unit
		return R(v), int64(R(v)) == v
	}, func(x A) *plan.Error {
		return fn.CastOverflow(plan.SQLText(literalOf(x, c.from)), c.from, c.to)
	})
}

func literalOf[A fn.Integer](x A, t plan.Type) *plan.Literal {
	switch t.Kind {
	case plan.KindYearMonth, plan.KindDate:
		return plan.Lit(int32(x), t)
	default:
		return plan.Lit(int64(x), t)
	}
}

func monthsOf(t plan.Type) int64 {
	if t.End == plan.FieldYear {
		return 12
	}
	return 1
}

// microsOf is the µs in one unit of a day-time field.
func microsOf(f plan.IntervalField) int64 {
	switch f {
	case plan.FieldDay:
		return 86_400e6
	case plan.FieldHour:
		return 3_600e6
	case plan.FieldMinute:
		return 60e6
	default:
		return 1e6
	}
}

func integerFromTimestamp[R fn.Integer](c *caster) fn.Kernel {
	row := func(x int64) (R, bool) {
		v := fn.FloorDiv(x, 1e6)
		return R(v), int64(R(v)) == v
	}
	return mapped(c, row, func(x int64) *plan.Error {
		return fn.CastOverflow(plan.SQLTextIn(plan.Lit(x, c.from), c.env.Zone), c.from, c.to)
	})
}

// toFloat casts to FLOAT and DOUBLE.
func (c *caster) toFloat() fn.Kernel {
	if c.to.Kind == plan.KindFloat {
		return floatFrom[float32](c)
	}
	return floatFrom[float64](c)
}

func floatFrom[R fn.Float](c *caster) fn.Kernel {
	switch c.from.Kind {
	case plan.KindBoolean:
		return total(c, func(x uint8) R { return R(x) })
	case plan.KindByte:
		return total(c, func(x int8) R { return R(x) })
	case plan.KindShort:
		return total(c, func(x int16) R { return R(x) })
	case plan.KindInt:
		return total(c, func(x int32) R { return R(x) })
	case plan.KindLong:
		return floatsFromLongs[R](c)
	case plan.KindFloat:
		return total(c, func(x float32) R { return R(x) })
	case plan.KindDouble:
		return total(c, func(x float64) R { return R(x) })
	case plan.KindDate:
		return c.nulls()
	case plan.KindDecimal:
		return floatFromDecimal[R](c)
	default:
		return total(c, func(x int64) R { return R(float64(x) / 1e6) })
	}
}

func floatsFromLongs[R fn.Float](c *caster) fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst, src := chunk.Values[R](out.Vector), chunk.Values[int64](args[0])
		for i := range dst {
			dst[i] = R(src[i])
		}
		return out.Vector, nil
	}
}

// exactDouble is the most that a double holds exactly, 2^53, and 22 the largest
// power of ten that does; a quotient of two such is rounded once.
const (
	exactDouble   = 1 << 53
	exactPowerTen = 22
)

func floatFromDecimal[R fn.Float](c *caster) fn.Kernel {
	scale := c.from.Scale
	bits := 64
	if c.to.Kind == plan.KindFloat {
		bits = 32
	}
	unit := 1.0
	for range min(scale, exactPowerTen) {
		unit *= 10
	}
	return total(c, func(x chunk.Dec) R {
		hi, lo := decimal.Magnitude(x)
		if hi == 0 && lo < exactDouble && scale <= exactPowerTen && bits == 64 {
			f := float64(lo) / unit
			if x.Sign() < 0 {
				f = -f
			}
			return R(f)
		}
		f, _ := strconv.ParseFloat(decimal.Text(x, scale), bits)
		return R(f)
	})
}

// toDecimal casts to decimals.
func (c *caster) toDecimal() fn.Kernel {
	switch c.from.Kind {
	case plan.KindBoolean:
		return decimalFromInt[uint8](c)
	case plan.KindByte:
		return decimalFromInt[int8](c)
	case plan.KindShort:
		return decimalFromInt[int16](c)
	case plan.KindInt:
		return decimalFromInt[int32](c)
	case plan.KindLong:
		return decimalFromInt[int64](c)
	case plan.KindFloat:
		return decimalFromFloat[float32](c)
	case plan.KindDouble:
		return decimalFromFloat[float64](c)
	case plan.KindDecimal:
		return c.decimalFromDecimal()
	case plan.KindDate:
		return c.nulls()
	case plan.KindYearMonth:
		return decimalFromUnits[int32](c, monthsOf(c.from), 0)
	case plan.KindDayTime:
		if c.from.End == plan.FieldSecond {
			return decimalFromUnits[int64](c, 1, 6)
		}
		return decimalFromUnits[int64](c, microsOf(c.from.End), 0)
	case plan.KindTime:
		return decimalFromUnits[int64](c, 1, 9)
	default:
		return decimalFromUnits[int64](c, 1, 6)
	}
}

func decimalFromInt[A uint8 | int8 | int16 | int32 | int64](c *caster) fn.Kernel {
	t := c.to
	return mapped(c, func(x A) (chunk.Dec, bool) {
		return decimal.Rescale(decimal128.FromI64(int64(x)), t.Scale, t.Precision)
	}, func(x A) *plan.Error { return fn.DecimalOverflow(strconv.FormatInt(int64(x), 10), t) })
}

func decimalFromUnits[A fn.Integer](c *caster, unit int64, scale int) fn.Kernel {
	t := c.to
	return mapped(c, func(x A) (chunk.Dec, bool) {
		return decimal.Rescale(decimal128.FromI64(int64(x)/unit), t.Scale-scale, t.Precision)
	}, func(x A) *plan.Error {
		return fn.DecimalOverflow(decimal.Text(decimal128.FromI64(int64(x)/unit), scale), t)
	})
}

func (c *caster) decimalFromDecimal() fn.Kernel {
	from, to := c.from.Scale, c.to
	return mapped(c, func(x chunk.Dec) (chunk.Dec, bool) {
		return decimal.Rescale(x, to.Scale-from, to.Precision)
	}, func(x chunk.Dec) *plan.Error { return fn.DecimalOverflow(decimal.Text(x, from), to) })
}

// decimalFromFloat goes by the digits that Java prints. What is no number is
// NULL, also under ANSI.
func decimalFromFloat[A fn.Float](c *caster) fn.Kernel {
	t := c.to
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(t, n, args[0].Valid)
		dst, src := chunk.Values[chunk.Dec](out.Vector), chunk.Values[A](args[0])
		var digits []byte
		for _, i := range fn.Active(out.Valid, sel, n) {
			f := float64(src[i])
			if f != f || math.IsInf(f, 0) {
				out.Null(i)
				continue
			}
			digits = codec.AppendDouble(digits[:0], f)
			d, fault := codec.ParseDecimal(string(digits), t)
			switch {
			case fault == codec.DecimalOK:
				dst[i] = d
			case c.ansi():
				return nil, fn.DecimalOverflow(plainText(string(digits)), t)
			default:
				out.Null(i)
			}
		}
		return out.Vector, nil
	}
}

// plainText writes a number without its exponent.
func plainText(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return s
	}
	if r.IsInt() {
		return r.Num().String()
	}
	places := 0
	for ten := big.NewInt(10); !r.IsInt(); places++ {
		r.Mul(r, new(big.Rat).SetInt(ten))
	}
	return decimal.BigText(r.Num(), places)
}

// integerToBinary gives an integer's bytes, the most significant first.
func (c *caster) integerToBinary() fn.Kernel {
	width := chunk.Width(c.from)
	return fn.Text(plan.Binary, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		var b [8]byte
		copy(b[:], args[0].Data[i*width:(i+1)*width])
		low := binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(b[:]))[:width]
		slices.Reverse(low)
		return append(dst, low...), true, nil
	})
}
