package times

import (
	"math"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// dateDefs move, round and compare dates and timestamps.
func dateDefs() []*fn.Def {
	date, ts := fn.Exactly(plan.Date), fn.Exactly(plan.Timestamp)
	return []*fn.Def{
		fn.Scalar("add_months", "datetime_funcs", fn.Takes(date, fn.Exactly(plan.Int)).Gives(plan.Date),
			fn.Plain(addMonthsKernel),
			fn.Example{"add_months(DATE '2024-01-31', 1)", "2024-02-29"}),
		fn.Scalar("last_day", "datetime_funcs", fn.Takes(date).Gives(plan.Date), fn.Plain(lastDay),
			fn.Example{"last_day(DATE '2024-02-10')", "2024-02-29"}),
		fn.Scalar(
			"next_day",
			"datetime_funcs",
			fn.Takes(date, fn.Str()).Gives(plan.Date).WithNull(fn.Always),
			nextDay,
			fn.Example{"next_day(DATE '2024-02-29', 'TU')", "2024-03-05"},
		),
		fn.Scalar("datediff date_diff", "datetime_funcs", fn.Takes(date, date).Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
				return chunk.Values[int32](args[0])[i] - chunk.Values[int32](args[1])[i], true, nil
			})), fn.Example{"datediff(DATE '2024-03-01', DATE '2024-02-28')", "2"}).
			AsWritten(),
		fn.Scalar("months_between", "datetime_funcs", fn.Takes(ts, ts, fn.Exactly(plan.Boolean)).
			Defaults(plan.Lit(true, plan.Boolean)).Gives(plan.Double), monthsBetween,
			fn.Example{"months_between(TIMESTAMP '1997-02-28 10:30:00', DATE '1996-10-30')", "3.94959677"}),
		fn.Scalar(
			"trunc",
			"datetime_funcs",
			fn.Takes(date, fn.Str()).Gives(plan.Date).WithNull(fn.Always),
			fn.Plain(truncDate),
			fn.Example{"trunc(DATE '2024-08-15', 'MM')", "2024-08-01"},
		),
		fn.Scalar("date_trunc", "datetime_funcs", fn.Takes(fn.Str(), ts).Gives(plan.Timestamp).WithNull(fn.Always),
			truncTimestamp,
			fn.Example{"date_trunc('HOUR', TIMESTAMP '2024-08-15 10:11:12')", "2024-08-15 10:00:00"}),
		shiftZone("from_utc_timestamp", false,
			fn.Example{"from_utc_timestamp(TIMESTAMP '2024-08-31 00:00:00', 'Asia/Seoul')",
				"2024-08-31 09:00:00"}),
		shiftZone("to_utc_timestamp", true,
			fn.Example{"to_utc_timestamp(TIMESTAMP '2024-08-31 00:00:00', 'Asia/Seoul')",
				"2024-08-30 15:00:00"}),
		{Name: "timestampadd", Group: "datetime_funcs", Bind: bindTimestampAdd, Kernel: timestampAdd,
			Examples: []fn.Example{
				{"timestampadd(MONTH, 1, TIMESTAMP '2024-01-31 00:00:00')", "2024-02-29 00:00:00"},
			}},
		fn.Scalar("timestampdiff", "datetime_funcs", fn.Takes(fn.Str(), ts, ts).Gives(plan.Long), timestampDiff,
			fn.Example{"timestampdiff(DAY, DATE '2024-01-31', DATE '2024-02-29')", "29"}),
	}
}

var addMonthsKernel = fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	d, ok := addMonths(int64(chunk.Values[int32](args[0])[i]), int64(chunk.Values[int32](args[1])[i]))
	if !ok || int64(int32(d)) != d {
		return 0, false, fn.Overflow("overflow", "")
	}
	return int32(d), true, nil
})

var lastDay = fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	y, m, d := codec.Civil(int64(chunk.Values[int32](args[0])[i]))
	return chunk.Values[int32](args[0])[i] + int32(codec.DaysIn(y, m)-d), true, nil
})

var weekdayWords = map[string]int32{
	"MO": 0, "MON": 0, "MONDAY": 0, "TU": 1, "TUE": 1, "TUESDAY": 1, "WE": 2, "WED": 2, "WEDNESDAY": 2,
	"TH": 3, "THU": 3, "THURSDAY": 3, "FR": 4, "FRI": 4, "FRIDAY": 4, "SA": 5, "SAT": 5, "SATURDAY": 5,
	"SU": 6, "SUN": 6, "SUNDAY": 6,
}

func nextDay(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
		word := args[1].Text(i)
		want, ok := weekdayWords[strings.ToUpper(fn.TrimBlanks(word))]
		if !ok {
			if !c.ANSI {
				return 0, false, nil
			}
			return 0, false, plan.NewError(plan.ClassIllegal, "ILLEGAL_DAY_OF_WEEK", word+" is no day of the week.",
				"string", word)
		}
		d := chunk.Values[int32](args[0])[i]
		return d + 1 + int32(fn.FloorMod(int64(want-weekdayOf(d+1)), 7)), true, nil
	}), nil
}

// monthsBetween counts months of 31 days, unless both are the same day of their
// months or both the last.
func monthsBetween(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(plan.Double, func(args []*chunk.Vector, i int) (float64, bool, error) {
			x, y := zone.Local(chunk.Values[int64](args[0])[i]), zone.Local(chunk.Values[int64](args[1])[i])
			m := monthsApart(x, y)
			if chunk.Values[uint8](args[2])[i] != 0 {
				m = math.Floor(m*1e8+0.5) / 1e8
			}
			return m, true, nil
		})
	}), nil
}

const secondsPerMonth = 31 * 86_400

func monthsApart(x, y int64) float64 {
	xDay, yDay := fn.FloorDiv(x, fn.MicrosPerDay), fn.FloorDiv(y, fn.MicrosPerDay)
	xy, xm, xd := codec.Civil(xDay)
	yy, ym, yd := codec.Civil(yDay)
	months := float64((xy-yy)*12 + xm - ym)
	if xd == yd || xd == codec.DaysIn(xy, xm) && yd == codec.DaysIn(yy, ym) {
		return months
	}
	seconds := fn.FloorMod(x, fn.MicrosPerDay)/1e6 - fn.FloorMod(y, fn.MicrosPerDay)/1e6
	return months + float64(int64(xd-yd)*86_400+seconds)/secondsPerMonth
}

// truncUnits are the words of trunc and date_trunc.
var truncUnits = map[string]string{
	"YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month",
	"MON": "month", "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute",
	"SECOND": "second", "MILLISECOND": "millisecond", "MICROSECOND": "microsecond",
}

// truncDays is the first day of the unit that a date is in; ok false when the
// unit is shorter than a week.
func truncDays(day int64, unit string) (int64, bool) {
	y, m, d := codec.Civil(day)
	switch unit {
	case "year":
		return daysOf(y, 1, 1), true
	case "quarter":
		return daysOf(y, (m-1)/3*3+1, 1), true
	case "month":
		return day - int64(d-1), true
	case "week":
		return day - int64(weekdayOf(int32(day))), true
	default:
		return day, false
	}
}

// unitWord remembers the unit read last: it is mostly the same in every row.
type unitWord struct {
	text, unit string
	size       int64 // µs of a unit shorter than a day
}

func (w *unitWord) read(text string) {
	if text != w.text || w.unit == "" {
		w.text, w.unit = text, truncUnits[strings.ToUpper(text)]
		w.size = clockUnits[w.unit]
	}
}

func truncDate(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	var word unitWord
	return fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
		word.read(args[1].Text(i))
		d, ok := truncDays(int64(chunk.Values[int32](args[0])[i]), word.unit)
		return int32(d), ok, nil
	})(args, sel, n)
}

// clockUnits are the µs in the units shorter than a day.
var clockUnits = map[string]int64{"hour": 3_600e6, "minute": 60e6, "second": 1e6, "millisecond": 1e3,
	"microsecond": 1}

func truncTimestamp(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		var word unitWord
		return fn.Fixed(plan.Timestamp, func(args []*chunk.Vector, i int) (int64, bool, error) {
			word.read(args[0].Text(i))
			t := chunk.Values[int64](args[1])[i]
			if word.size > 0 {
				return truncClock(t, word.size, zone), true, nil
			}
			local := zone.Local(t)
			day, ok := truncDays(fn.FloorDiv(local, fn.MicrosPerDay), word.unit)
			if !ok && word.unit != "day" {
				return 0, false, nil
			}
			return zone.Instant(day * fn.MicrosPerDay), true, nil
		})
	}), nil
}

// truncClock cuts the local time, keeping the offset.
func truncClock(t, size int64, zone *codec.Offsets) int64 {
	if size <= 1e6 {
		return t - fn.FloorMod(t, size)
	}
	local := zone.Local(t)
	return t - fn.FloorMod(local, size)
}

func shiftZone(name string, toUTC bool, example fn.Example) *fn.Def {
	s := fn.Takes(fn.Exactly(plan.Timestamp), fn.Str()).Gives(plan.Timestamp)
	return fn.Scalar(name, "datetime_funcs", s, func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			zones := map[string]*codec.Offsets{}
			return fn.Fixed(plan.Timestamp, func(args []*chunk.Vector, i int) (int64, bool, error) {
				zone, err := zoneNamed(zones, args[1].Text(i))
				if err != nil {
					return 0, false, err
				}
				t := chunk.Values[int64](args[0])[i]
				if toUTC {
					return zone.Instant(t), true, nil
				}
				return zone.Local(t), true, nil
			})(args, sel, n)
		}, nil
	}, example)
}

func zoneNamed(zones map[string]*codec.Offsets, name string) (*codec.Offsets, error) {
	if z, ok := zones[name]; ok {
		return z, nil
	}
	loc, err := codec.Zone(name)
	if err != nil {
		return nil, err
	}
	zones[name] = codec.NewOffsets(loc)
	return zones[name], nil
}

// unitSpan is n units as an interval; ok false for words that are no units.
func unitSpan(unit string, n int64) (span plan.Interval, fits, ok bool) {
	months := map[string]int64{"YEAR": 12, "QUARTER": 3, "MONTH": 1}[unit]
	days := map[string]int64{"WEEK": 7, "DAY": 1, "DAYOFYEAR": 1}[unit]
	micros := clockUnits[strings.ToLower(unit)]
	total, fits := fn.MulFits(n, max(months, days, micros))
	switch {
	case months > 0:
		return plan.Interval{Months: int32(total)}, fits && int64(int32(total)) == total, true
	case days > 0:
		return plan.Interval{Days: int32(total)}, fits && int64(int32(total)) == total, true
	default:
		return plan.Interval{Micros: total}, fits, micros > 0
	}
}

func badUnit(function, unit string) *plan.Error {
	return plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.DATETIME_UNIT", unit+" is no unit of time.",
		"functionName", plan.Quote(function), "parameter", "`unit`", "invalidValue", fn.SqlString(unit))
}

// bindTimestampAdd takes a DATE for its midnight, with ANSI and without.
func bindTimestampAdd(b *fn.Binding) (*plan.Call, error) {
	own := *b
	own.Args = slices.Clone(b.Args)
	if len(own.Args) == 3 && own.Args[2].Type().Kind == plan.KindDate {
		own.Args[2] = b.Cast(own.Args[2], plan.Timestamp)
	}
	return fn.Takes(fn.Str(), fn.Exactly(plan.Long), fn.Timestamps()).
		GivesType(func(args []plan.Expr) plan.Type { return args[2].Type() }).Bind(&own)
}

func timestampAdd(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	inner := *env
	if c.Of.Kind == plan.KindTimestampNTZ {
		inner.Zone = Utc
	}
	return Zoned(&inner, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
			unit, n := args[0].Text(i), chunk.Values[int64](args[1])[i]
			span, fits, ok := unitSpan(strings.ToUpper(unit), n)
			if !ok {
				return 0, false, badUnit("TIMESTAMPADD", unit)
			}
			t, sum := AddSpan(chunk.Values[int64](args[2])[i], span, zone)
			if !fits || !sum {
				return 0, false, plan.NewError(plan.ClassArithmetic, "DATETIME_OVERFLOW",
					"adding "+fn.Itoa(int(n))+" "+unit+" leaves the range of timestamps.",
					"operation", "add "+cast.IntText(n, plan.Long)+" "+fn.SqlString(unit))
			}
			return t, true, nil
		})
	}), nil
}

func timestampDiff(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
			unit := strings.ToUpper(args[0].Text(i))
			x, y := zone.Local(chunk.Values[int64](args[1])[i]), zone.Local(chunk.Values[int64](args[2])[i])
			switch unit {
			case "YEAR":
				return wholeMonths(x, y) / 12, true, nil
			case "QUARTER":
				return wholeMonths(x, y) / 3, true, nil
			case "MONTH":
				return wholeMonths(x, y), true, nil
			case "WEEK":
				return (y - x) / (7 * fn.MicrosPerDay), true, nil
			case "DAY":
				return (y - x) / fn.MicrosPerDay, true, nil
			}
			size, ok := clockUnits[strings.ToLower(unit)]
			if !ok {
				return 0, false, badUnit("TIMESTAMPDIFF", args[0].Text(i))
			}
			return (y - x) / size, true, nil
		})
	}), nil
}

// wholeMonths is the number of whole months from x to y, as Java counts them: a
// day that is not whole is dropped first, then days that make no month.
func wholeMonths(x, y int64) int64 {
	from, to := fn.FloorDiv(x, fn.MicrosPerDay), fn.FloorDiv(y, fn.MicrosPerDay)
	clock := fn.FloorMod(y, fn.MicrosPerDay) - fn.FloorMod(x, fn.MicrosPerDay)
	switch {
	case to > from && clock < 0:
		to--
	case to < from && clock > 0:
		to++
	}
	fy, fm, fd := codec.Civil(from)
	ty, tm, td := codec.Civil(to)
	// A month has at most 32 days here, so days carry into months by themselves.
	const days = 32
	return (int64((ty-fy)*12+tm-fm)*days + int64(td-fd)) / days
}
