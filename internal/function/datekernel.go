package function

import (
	"errors"
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// intervalDefs are the hidden functions that operators over dates, timestamps
// and intervals turn into, each also in a form that gives NULL for errors.
func intervalDefs() []*Def {
	date, days := exactly(plan.Date), oneOf(exactly(plan.Int), exactly(plan.Short), exactly(plan.Byte))
	moment := oneOf(timestamps(), nanoTimestamps())
	months, dayTime := interval(plan.KindYearMonth), interval(plan.KindDayTime)
	spans := oneOf(interval(plan.KindCalendar), dayTime)
	calendar := takes(interval(plan.KindCalendar), exactly(plan.Double)).gives(plan.Calendar)
	defs := []*Def{
		hidden("date + days", takes(date, dayTime).expecting().gives(plan.Date), plain(datePlusDays)),
		hidden("date + months", takes(date, months).expecting().gives(plan.Date), plain(datePlusMonths)),
		hidden("date + interval", takes(date, interval(plan.KindCalendar)).expecting().gives(plan.Date),
			datePlusInterval),
		hidden("timestamp + months", takes(moment, months).expecting().givesFirst(), timestampPlus(monthsPart)),
		hidden("timestamp + interval", takes(moment, spans).expecting().givesFirst(), timestampPlus(spanPart)),
		hidden("date - date", takes(date, date).expecting().gives(dayInterval()), plain(dateMinusDate)),
		hidden("timestamp - timestamp", takes(moment, moment).expecting().gives(plan.DayTime), timestampDifference),
		hidden("months *", takes(months, numeric()).gives(plan.YearMonth), scaleMaker(false)),
		hidden("months /", takes(months, numeric()).gives(plan.YearMonth), scaleMaker(true)),
		hidden("interval *", takes(dayTime, numeric()).gives(plan.DayTime), scaleMaker(false)),
		hidden("interval /", takes(dayTime, numeric()).gives(plan.DayTime), scaleMaker(true)),
		hidden("calendar *", calendar, scaleCalendar(false)),
		hidden("calendar /", calendar.withNull(lenient), scaleCalendar(true)),
		{Name: "date_add", Aliases: []string{"dateadd"}, Group: "datetime_funcs", Bind: bindDateAdd(date, days),
			Kernel: dateAdd(1), Examples: []Example{{"date_add(DATE '2024-02-28', 2)", "2024-03-01"}}},
		{Name: "date_sub", Group: "datetime_funcs", Bind: bindDateAdd(date, days), Kernel: dateAdd(-1),
			Examples: []Example{{"date_sub(DATE '2024-03-01', 1)", "2024-02-29"}}},
	}
	for _, d := range defs {
		tries := *d
		tries.Name, tries.Aliases, tries.Hidden, tries.Examples = "try "+d.Name, nil, true, nil
		tries.Bind = nullableBind(d.Bind)
		tries.Kernel = triedMaker(d.Kernel)
		defs = append(defs, &tries)
	}
	return defs
}

func dayInterval() plan.Type {
	return plan.Type{Kind: plan.KindDayTime, Start: plan.FieldDay, End: plan.FieldDay}
}

func nullableBind(bind func(b *Binding) (*plan.Call, error)) func(b *Binding) (*plan.Call, error) {
	return func(b *Binding) (*plan.Call, error) {
		c, err := bind(b)
		if err == nil {
			c.Null = true
		}
		return c, err
	}
}

// triedMaker makes NULL of every row whose value is an error. Rows are only
// computed one by one when there is an error among them.
func triedMaker(m maker) maker {
	return func(c *plan.Call, env *Env) (Kernel, error) {
		strictly := *c
		strictly.ANSI = true
		k, err := m(&strictly, env)
		if err != nil {
			return nil, err
		}
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			v, err := k(args, sel, n)
			if pe := (*plan.Error)(nil); !errors.As(err, &pe) {
				return v, err
			}
			out := newAppender(c.Of, n)
			for _, i := range picked(sel, n) {
				if v, err := k(args, chunk.Sel{i}, n); err == nil && !v.IsNull(int(i)) {
					out.skipTo(int(i)).AppendFrom(v, int(i))
				}
			}
			return out.skipTo(n), nil
		}, nil
	}
}

// bindDateAdd reads strings and timestamps as dates first, and under ANSI
// strings as numbers of days.
func bindDateAdd(date, days input) func(b *Binding) (*plan.Call, error) {
	s := takes(date, days).expecting().gives(plan.Date)
	return func(b *Binding) (*plan.Call, error) {
		if len(b.Args) == 2 {
			bound := *b
			bound.Args = []plan.Expr{b.Args[0], b.Args[1]}
			if t := b.Args[0].Type(); t.IsString() || isTimestamp(t) {
				bound.Args[0] = b.cast(b.Args[0], plan.Date)
			}
			if b.Args[1].Type().IsString() && b.Env.ANSI {
				bound.Args[1] = b.cast(b.Args[1], plan.Int)
			}
			b = &bound
		}
		return s.bind(b)
	}
}

func dateAdd(sign int32) maker {
	return plain(fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
		return chunk.Values[int32](args[0])[i] + sign*int32(integerAt(args[1], i)), true, nil
	}))
}

var datePlusDays = fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	days := chunk.Values[int64](args[1])[i] / microsPerDay
	return chunk.Values[int32](args[0])[i] + int32(days), true, nil
})

var datePlusMonths = fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	d, ok := addMonths(int64(chunk.Values[int32](args[0])[i]), int64(chunk.Values[int32](args[1])[i]))
	if !ok || int64(int32(d)) != d {
		return 0, false, javaOverflow("integer overflow")
	}
	return int32(d), true, nil
})

// javaOverflow is the exception of Java's exact arithmetic.
func javaOverflow(msg string) *plan.Error {
	return &plan.Error{Class: "java.lang.ArithmeticException", Msg: msg}
}

// addMonths moves a date by months; a day that the month does not have becomes
// its last.
func addMonths(days, months int64) (int64, bool) {
	y, m, d := codec.Civil(days)
	total := int64(y)*12 + int64(m-1) + months
	year := floorDiv(total, 12)
	month := int(total-year*12) + 1
	if year > math.MaxInt32 || year < math.MinInt32 {
		return 0, false
	}
	return daysOf(int(year), month, min(d, daysIn(int(year), month))), true
}

// daysOf is the date of a year, a month and a day that exist.
func daysOf(year, month, day int) int64 {
	d, _ := codec.Days(year, month, day)
	return d
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int) int {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

func datePlusInterval(c *plan.Call, env *Env) (Kernel, error) {
	return zoned(env, func(zone *codec.Offsets) Kernel {
		return fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
			date, span := int64(chunk.Values[int32](args[0])[i]), chunk.Values[plan.Interval](args[1])[i]
			if span.Micros == 0 || !c.ANSI {
				t, ok := addSpan(date*microsPerDay, span, codec.NewOffsets(utc))
				if !ok {
					return 0, false, javaOverflow("long overflow")
				}
				return int32(floorDiv(t, microsPerDay)), true, nil
			}
			return 0, false, plan.NewError(plan.ClassIllegal, "INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION",
				"hours, minutes and seconds cannot be added to a date; cast it to a timestamp first.")
		})
	}), nil
}

// zoned makes a kernel anew for each chunk, since zone offsets belong to one
// goroutine.
func zoned(env *Env, build func(zone *codec.Offsets) Kernel) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		return build(codec.NewOffsets(env.Zone))(args, sel, n)
	}
}

// spanOf reads row i of an interval of some type as a calendar interval. Whole
// days of a day-time interval are days of the calendar.
type spanOf func(v *chunk.Vector, i int) plan.Interval

func monthsPart(v *chunk.Vector, i int) plan.Interval {
	return plan.Interval{Months: chunk.Values[int32](v)[i]}
}

func spanPart(v *chunk.Vector, i int) plan.Interval {
	if v.Type.Kind == plan.KindCalendar {
		return chunk.Values[plan.Interval](v)[i]
	}
	x := chunk.Values[int64](v)[i]
	return plan.Interval{Days: int32(x / microsPerDay), Micros: x % microsPerDay}
}

func timestampPlus(part spanOf) maker {
	return func(c *plan.Call, env *Env) (Kernel, error) {
		inner := *env
		if c.Of.Kind == plan.KindTimestampNTZ {
			inner.Zone = utc
		}
		return zoned(&inner, func(zone *codec.Offsets) Kernel {
			return fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
				t, ok := addSpan(chunk.Values[int64](args[0])[i], part(args[1], i), zone)
				if !ok {
					return 0, false, javaOverflow("long overflow")
				}
				return t, true, nil
			})
		}), nil
	}
}

// addSpan adds months and days on the local calendar, then microseconds on the
// clock.
func addSpan(t int64, span plan.Interval, zone *codec.Offsets) (int64, bool) {
	if span.Months != 0 || span.Days != 0 {
		offset := zone.At(floorDiv(t, 1e6))
		local := zone.Local(t)
		day := floorDiv(local, microsPerDay)
		clock := local - day*microsPerDay
		day, ok := addMonths(day, int64(span.Months))
		if !ok {
			return 0, false
		}
		micros, fits := mulFits(day+int64(span.Days), microsPerDay)
		local, ok = addFits(micros, clock)
		if !ok || !fits {
			return 0, false
		}
		t = instantNear(local, offset, zone)
	}
	return addFits(t, span.Micros)
}

// instantNear is the instant of a local time; of a time that occurs twice the
// one with the given offset, as in Java when a date is moved.
func instantNear(local, offset int64, zone *codec.Offsets) int64 {
	if t := local - offset*1e6; zone.At(floorDiv(t, 1e6)) == offset {
		return t
	}
	return zone.Instant(local)
}

var dateMinusDate = fixed(dayInterval(), func(args []*chunk.Vector, i int) (int64, bool, error) {
	days := int64(chunk.Values[int32](args[0])[i]) - int64(chunk.Values[int32](args[1])[i])
	d, ok := mulFits(days, microsPerDay)
	if !ok {
		return 0, false, javaOverflow("long overflow")
	}
	return d, true, nil
})

// timestampDifference counts on the local clock.
func timestampDifference(c *plan.Call, env *Env) (Kernel, error) {
	ntz := c.Args[0].Type().Kind == plan.KindTimestampNTZ
	return zoned(env, func(zone *codec.Offsets) Kernel {
		return fixed(plan.DayTime, func(args []*chunk.Vector, i int) (int64, bool, error) {
			x, y := chunk.Values[int64](args[0])[i], chunk.Values[int64](args[1])[i]
			if ntz {
				return x - y, true, nil
			}
			return zone.Local(x) - zone.Local(y), true, nil
		})
	}), nil
}
