package cast

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// toTemporal casts to dates, timestamps, times and intervals.
func (c *caster) toTemporal() fn.Kernel {
	switch c.to.Kind {
	case plan.KindDate:
		return c.zoned(c.toDate)
	case plan.KindTimestamp:
		return c.zoned(c.toTimestamp)
	case plan.KindTimestampNTZ:
		return c.zoned(c.toTimestampNTZ)
	case plan.KindTime:
		return c.zoned(c.toTime)
	case plan.KindYearMonth:
		return c.toMonths()
	default:
		return c.toDayTime()
	}
}

// zoned makes the kernel anew for each chunk, since zone offsets belong to one
// goroutine.
func (c *caster) zoned(build func(zone *codec.Offsets) fn.Kernel) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		return build(codec.NewOffsets(c.env.Zone))(args, sel, n)
	}
}

func (c *caster) toDate(zone *codec.Offsets) fn.Kernel {
	if c.from.Kind == plan.KindTimestampNTZ {
		return total(c, func(x int64) int32 { return int32(fn.FloorDiv(x, fn.MicrosPerDay)) })
	}
	return total(c, func(x int64) int32 { return int32(fn.FloorDiv(zone.Local(x), fn.MicrosPerDay)) })
}

func (c *caster) toTimestamp(zone *codec.Offsets) fn.Kernel {
	switch c.from.Kind {
	case plan.KindDate:
		return total(c, func(x int32) int64 { return zone.Instant(int64(x) * fn.MicrosPerDay) })
	case plan.KindTimestampNTZ:
		return total(c, zone.Instant)
	case plan.KindTime:
		today := fn.FloorDiv(zone.Local(c.env.Now), fn.MicrosPerDay) * fn.MicrosPerDay
		return total(c, func(x int64) int64 { return zone.Instant(today + x/1000) })
	case plan.KindBoolean:
		return total(c, func(x uint8) int64 { return int64(x) })
	case plan.KindByte:
		return total(c, func(x int8) int64 { return int64(x) * 1e6 })
	case plan.KindShort:
		return total(c, func(x int16) int64 { return int64(x) * 1e6 })
	case plan.KindInt:
		return total(c, func(x int32) int64 { return int64(x) * 1e6 })
	case plan.KindLong:
		return total(c, secondsToMicros)
	case plan.KindDecimal:
		return c.decimalToTimestamp()
	case plan.KindFloat:
		return floatToTimestamp[float32](c)
	default:
		return floatToTimestamp[float64](c)
	}
}

// secondsToMicros stops at the ends of the range, as Java's TimeUnit does.
func secondsToMicros(s int64) int64 {
	switch {
	case s > math.MaxInt64/1_000_000:
		return math.MaxInt64
	case s < math.MinInt64/1_000_000:
		return math.MinInt64
	default:
		return s * 1_000_000
	}
}

func (c *caster) decimalToTimestamp() fn.Kernel {
	scale := c.from.Scale
	return total(c, func(x chunk.Dec) int64 {
		if scale >= 6 {
			return int64(decimal.Whole(x, scale-6).LowBits())
		}
		return int64(x.Mul(decimal.Pow10[6-scale]).LowBits())
	})
}

// floatToTimestamp: what is no number, or too far away, is NULL or an error.
func floatToTimestamp[A fn.Float](c *caster) fn.Kernel {
	return mapped(c, func(x A) (int64, bool) {
		f := float64(x) * 1e6
		if f != f || math.IsInf(f, 0) {
			return 0, false
		}
		if c.mode == plan.CastLegacy {
			return fn.JavaInteger[int64](f, math.MaxInt64), true
		}
		return int64(f), f < 1<<63 && f >= -(1<<63)
	}, func(x A) *plan.Error {
		if f := float64(x); f != f || math.IsInf(f, 0) {
			text := floatText(f)
			return plan.NewError(
				plan.ClassDateTime,
				"CAST_INVALID_INPUT",
				text+" cannot be read as a timestamp.",
				"expression",
				text,
				"sourceType",
				fn.SqlType(c.from),
				"targetType",
				fn.SqlType(c.to),
				"ansiConfig",
				fn.AnsiConfig,
			)
		}
		return fn.CastOverflow(floatText(float64(x)*1e6), plan.Double, plan.Long)
	})
}

func (c *caster) toTimestampNTZ(zone *codec.Offsets) fn.Kernel {
	switch c.from.Kind {
	case plan.KindDate:
		return total(c, func(x int32) int64 { return int64(x) * fn.MicrosPerDay })
	case plan.KindTime:
		today := fn.FloorDiv(zone.Local(c.env.Now), fn.MicrosPerDay) * fn.MicrosPerDay
		return total(c, func(x int64) int64 { return today + x/1000 })
	default:
		return total(c, zone.Local)
	}
}

func (c *caster) toTime(zone *codec.Offsets) fn.Kernel {
	unit := int64(decimal.Pow10[9-c.to.Precision].LowBits())
	local := func(x int64) int64 { return x }
	if c.from.Kind == plan.KindTimestamp {
		local = zone.Local
	}
	if c.from.Kind == plan.KindTime {
		return total(c, func(x int64) int64 { return x - x%unit })
	}
	return total(c, func(x int64) int64 {
		clock := local(x)
		nanos := (clock - fn.FloorDiv(clock, fn.MicrosPerDay)*fn.MicrosPerDay) * 1000
		return nanos - nanos%unit
	})
}

// toMonths casts to year-month intervals: a number counts the smallest field.
func (c *caster) toMonths() fn.Kernel {
	unit := monthsOf(c.to)
	switch c.from.Kind {
	case plan.KindYearMonth:
		return total(c, func(x int32) int32 { return x - x%int32(unit) })
	case plan.KindByte:
		return monthsFrom[int8](c, unit)
	case plan.KindShort:
		return monthsFrom[int16](c, unit)
	case plan.KindInt:
		return monthsFrom[int32](c, unit)
	case plan.KindLong:
		return monthsFrom[int64](c, unit)
	default:
		return mapped(c, func(x chunk.Dec) (int32, bool) {
			v, ok := scaledUnits(x, c.from.Scale, unit)
			return int32(v), ok && int64(int32(v)) == v
		}, c.decimalTooLong)
	}
}

func (c *caster) decimalTooLong(x chunk.Dec) *plan.Error {
	return fn.CastOverflow(decimal.Text(x, c.from.Scale)+"BD", c.from, c.to)
}

func monthsFrom[A fn.Integer](c *caster, unit int64) fn.Kernel {
	return mapped(c, func(x A) (int32, bool) {
		v, ok := fn.MulFits(int64(x), unit)
		return int32(v), ok && int64(int32(v)) == v
	}, func(x A) *plan.Error { return fn.CastOverflow(IntText(int64(x), c.from), c.from, c.to) })
}

// scaledUnits is a decimal times a unit, rounded half up to an integer.
func scaledUnits(x chunk.Dec, scale int, unit int64) (int64, bool) {
	d, ok := decimal.Mul(x, decimal128.FromI64(unit), scale, plan.MaxPrecision)
	v := int64(d.LowBits())
	return v, ok && d.HighBits() == v>>63
}

// toDayTime casts to day-time intervals.
func (c *caster) toDayTime() fn.Kernel {
	unit := microsOf(c.to.End)
	switch c.from.Kind {
	case plan.KindDayTime:
		if c.to.End == plan.FieldSecond {
			return total(c, func(x int64) int64 { return x })
		}
		return total(c, func(x int64) int64 { return x - x%unit })
	case plan.KindByte:
		return dayTimeFrom[int8](c, unit)
	case plan.KindShort:
		return dayTimeFrom[int16](c, unit)
	case plan.KindInt:
		return dayTimeFrom[int32](c, unit)
	case plan.KindLong:
		return dayTimeFrom[int64](c, unit)
	default:
		return mapped(c, func(x chunk.Dec) (int64, bool) { return scaledUnits(x, c.from.Scale, unit) },
			c.decimalTooLong)
	}
}

func dayTimeFrom[A fn.Integer](c *caster, unit int64) fn.Kernel {
	return mapped(c, func(x A) (int64, bool) { return fn.MulFits(int64(x), unit) },
		func(x A) *plan.Error { return fn.CastOverflow(IntText(int64(x), c.from), c.from, c.to) })
}
