package times

import (
	"fmt"
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// timeMakeDefs build dates, timestamps and intervals of numbers.
func timeMakeDefs() []*fn.Def {
	whole := fn.Exactly(plan.Int)
	zero, none := plan.Lit(int64(0), plan.Int), plan.Lit(chunk.Dec{}, plan.Decimal(18, 6))
	seconds := fn.Exactly(plan.Decimal(16, 6))
	clock := []fn.Input{whole, whole, whole, whole, whole, seconds}
	zoned := fn.Takes(append(append([]fn.Input(nil), clock...), fn.Str())...).Optional(1)
	return []*fn.Def{
		fn.Scalar(
			"make_date",
			"datetime_funcs",
			fn.Takes(whole, whole, whole).Gives(plan.Date).WithNull(fn.Lenient),
			makeDate,
			fn.Example{"make_date(2024, 2, 29)", "2024-02-29"},
		),
		fn.Scalar(
			"make_timestamp",
			"datetime_funcs",
			zoned.Gives(plan.Timestamp).WithNull(fn.Lenient),
			makeTimestamp,
			fn.Example{"make_timestamp(2014, 12, 28, 6, 30, 45.887)", "2014-12-28 06:30:45.887"},
		),
		fn.Scalar(
			"make_timestamp_ltz",
			"datetime_funcs",
			zoned.Gives(plan.Timestamp).WithNull(fn.Lenient),
			makeTimestamp,
			fn.Example{"make_timestamp_ltz(2014, 12, 28, 6, 30, 45.887)", "2014-12-28 06:30:45.887"},
		),
		fn.Scalar("make_timestamp_ntz", "datetime_funcs",
			fn.Takes(clock...).Gives(plan.TimestampNTZ).WithNull(fn.Lenient), makeTimestamp,
			fn.Example{"make_timestamp_ntz(2014, 12, 28, 6, 30, 45.887)", "2014-12-28 06:30:45.887"}),
		fn.Scalar("make_interval", "datetime_funcs",
			fn.Takes(whole, whole, whole, whole, whole, whole, fn.Exactly(plan.Decimal(18, 6))).
				Defaults(zero, zero, zero, zero, zero, zero, none).
				Gives(plan.Calendar).WithNull(fn.Lenient), makeInterval,
			fn.Example{"make_interval(1, 2, 3, 4)", "1 years 2 months 25 days"}),
	}
}

var monthWords = [...]string{"January", "February", "March", "April", "May", "June", "July", "August",
	"September",
	"October", "November", "December"}

// dateFault is Java's sentence about a date that does not exist, "" if it does.
func dateFault(y, m, d int) string {
	outside := func(field string, most, v int) string {
		return fmt.Sprintf("Invalid value for %s (valid values 1 - %d): %d", field, most, v)
	}
	switch {
	case m < 1 || m > 12:
		return outside("MonthOfYear", 12, m)
	case d < 1 || d > 31:
		return fmt.Sprintf("Invalid value for DayOfMonth (valid values 1 - 28/31): %d", d)
	case d <= codec.DaysIn(y, m):
		return ""
	case d == 29:
		return fmt.Sprintf("Invalid date 'February 29' as '%d' is not a leap year", y)
	default:
		return fmt.Sprintf("Invalid date '%s %d'", fn.UpperWord(monthWords[m-1]), d)
	}
}

func outOfBounds(sentence string) error {
	return plan.NewError(plan.ClassDateTime, "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", sentence+".",
		"rangeMessage", sentence)
}

func makeDate(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
		y, m, d := int(fn.IntegerAt(args[0], i)), int(fn.IntegerAt(args[1], i)), int(fn.IntegerAt(args[2], i))
		if fault := dateFault(y, m, d); fault != "" {
			if c.ANSI {
				return 0, false, outOfBounds(fault)
			}
			return 0, false, nil
		}
		days := daysOf(y, m, d)
		return int32(days), int64(int32(days)) == days, nil
	}), nil
}

// makeTimestamp makes a local time, and an instant of it.
func makeTimestamp(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return Zoned(env, func(session *codec.Offsets) fn.Kernel {
		zones := map[string]*codec.Offsets{}
		return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
			local, err := localTime(args, i)
			if err != nil {
				if c.ANSI {
					return 0, false, err
				}
				return 0, false, nil
			}
			zone := session
			if len(args) == 7 {
				if zone, err = zoneNamed(zones, args[6].Text(i)); err != nil {
					return 0, false, err
				}
			}
			if c.Of.Kind == plan.KindTimestampNTZ {
				return local, true, nil
			}
			return zone.Instant(local), true, nil
		})
	}), nil
}

func localTime(args []*chunk.Vector, i int) (int64, error) {
	y, m, d := int(fn.IntegerAt(args[0], i)), int(fn.IntegerAt(args[1], i)), int(fn.IntegerAt(args[2], i))
	hour, minute := int(fn.IntegerAt(args[3], i)), int(fn.IntegerAt(args[4], i))
	micros := int64(chunk.Values[chunk.Dec](args[5])[i].LowBits())
	fault := dateFault(y, m, d)
	switch {
	case micros > 60e6 && micros < 61e6:
		text := decimal.Text(chunk.Values[chunk.Dec](args[5])[i], 6)
		return 0, plan.NewError(plan.ClassDateTime, "INVALID_FRACTION_OF_SECOND", "a leap second has no fraction.",
			"secAndMicros", trimZeros(text))
	case fault != "":
	case hour < 0 || hour > 23:
		fault = fmt.Sprintf("Invalid value for HourOfDay (valid values 0 - 23): %d", hour)
	case minute < 0 || minute > 59:
		fault = fmt.Sprintf("Invalid value for MinuteOfHour (valid values 0 - 59): %d", minute)
	case micros < 0 || micros > 60e6:
		fault = fmt.Sprintf("Invalid value for SecondOfMinute (valid values 0 - 59): %d", micros/1e6)
	}
	if fault != "" {
		return 0, outOfBounds(fault)
	}
	return daysOf(y, m, d)*fn.MicrosPerDay + int64(hour)*3_600e6 + int64(minute)*60e6 + micros, nil
}

func trimZeros(s string) string {
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	return s
}

func makeInterval(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Fixed(plan.Calendar, func(args []*chunk.Vector, i int) (plan.Interval, bool, error) {
		part := func(k int) int64 { return fn.IntegerAt(args[k], i) }
		months := part(0)*12 + part(1)
		days := part(2)*7 + part(3)
		clock := part(4)*3_600e6 + part(5)*60e6
		micros, ok := fn.AddFits(clock, int64(chunk.Values[chunk.Dec](args[6])[i].LowBits()))
		if !ok || months != int64(int32(months)) || days < math.MinInt32 || days > math.MaxInt32 {
			if c.ANSI {
				return plan.Interval{}, false, fn.Overflow("overflow", "")
			}
			return plan.Interval{}, false, nil
		}
		return plan.Interval{Months: int32(months), Days: int32(days), Micros: micros}, true, nil
	}), nil
}
