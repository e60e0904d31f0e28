package times

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// intervalDefs are the hidden functions that operators over dates, timestamps
// and intervals turn into, each also in a form that gives NULL for errors.
func intervalDefs() []*fn.Def {
	date, days := fn.Exactly(
		plan.Date,
	), fn.OneOf(
		fn.Exactly(plan.Int),
		fn.Exactly(plan.Short),
		fn.Exactly(plan.Byte),
	)
	moment := fn.OneOf(fn.Timestamps(), fn.NanoTimestamps())
	months, dayTime := fn.Interval(plan.KindYearMonth), fn.Interval(plan.KindDayTime)
	spans := fn.OneOf(fn.Interval(plan.KindCalendar), dayTime)
	calendar := fn.Takes(fn.Interval(plan.KindCalendar), fn.Exactly(plan.Double)).Gives(plan.Calendar)
	defs := []*fn.Def{
		fn.HiddenDef("date + days", fn.Takes(date, dayTime).Expecting().Gives(plan.Date), fn.Plain(datePlusDays)),
		fn.HiddenDef(
			"date + months",
			fn.Takes(date, months).Expecting().Gives(plan.Date),
			fn.Plain(datePlusMonths),
		),
		fn.HiddenDef("date + interval", fn.Takes(date, fn.Interval(plan.KindCalendar)).Expecting().Gives(plan.Date),
			datePlusInterval),
		fn.HiddenDef(
			"timestamp + months",
			fn.Takes(moment, months).Expecting().GivesFirst(),
			timestampPlus(MonthsPart),
		),
		fn.HiddenDef(
			"timestamp + interval",
			fn.Takes(moment, spans).Expecting().GivesFirst(),
			timestampPlus(SpanPart),
		),
		fn.HiddenDef("date - date", fn.Takes(date, date).Expecting().Gives(dayInterval()), fn.Plain(dateMinusDate)),
		fn.HiddenDef(
			"timestamp - timestamp",
			fn.Takes(moment, moment).Expecting().Gives(plan.DayTime),
			timestampDifference,
		),
		fn.HiddenDef("months *", fn.Takes(months, fn.Numeric()).Gives(plan.YearMonth), scaleMaker(false)),
		fn.HiddenDef("months /", fn.Takes(months, fn.Numeric()).Gives(plan.YearMonth), scaleMaker(true)),
		fn.HiddenDef("interval *", fn.Takes(dayTime, fn.Numeric()).Gives(plan.DayTime), scaleMaker(false)),
		fn.HiddenDef("interval /", fn.Takes(dayTime, fn.Numeric()).Gives(plan.DayTime), scaleMaker(true)),
		fn.HiddenDef("calendar *", calendar, scaleCalendar(false)),
		fn.HiddenDef("calendar /", calendar.WithNull(fn.Lenient), scaleCalendar(true)),
		{Name: "date_add", Aliases: []string{"dateadd"}, Group: "datetime_funcs", Bind: bindDateAdd(date, days),
			Kernel: dateAdd(1), Examples: []fn.Example{{"date_add(DATE '2024-02-28', 2)", "2024-03-01"}}},
		{Name: "date_sub", Group: "datetime_funcs", Bind: bindDateAdd(date, days), Kernel: dateAdd(-1),
			Examples: []fn.Example{{"date_sub(DATE '2024-03-01', 1)", "2024-02-29"}}},
	}
	for _, d := range defs {
		tries := *d
		tries.Name, tries.Aliases, tries.Hidden, tries.Examples = "try "+d.Name, nil, true, nil
		tries.Bind = fn.Nullable(d.Bind)
		tries.Kernel = triedMaker(d.Kernel)
		defs = append(defs, &tries)
	}
	return defs
}

func dayInterval() plan.Type {
	return plan.Type{Kind: plan.KindDayTime, Start: plan.FieldDay, End: plan.FieldDay}
}

// triedMaker makes NULL of every row whose value is an error. Rows are only
// computed one by one when there is an error among them.
func triedMaker(m fn.Maker) fn.Maker {
	return func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
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
			out := fn.NewAppender(c.Of, n)
			for _, i := range fn.Picked(sel, n) {
				if v, err := k(args, chunk.Sel{i}, n); err == nil && !v.IsNull(int(i)) {
					out.SkipTo(int(i)).AppendFrom(v, int(i))
				}
			}
			return out.SkipTo(n), nil
		}, nil
	}
}

// bindDateAdd reads strings and timestamps as dates first, and under ANSI
// strings as numbers of days.
func bindDateAdd(date, days fn.Input) func(b *fn.Binding) (*plan.Call, error) {
	s := fn.Takes(date, days).Expecting().Gives(plan.Date)
	return func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 2 {
			bound := *b
			bound.Args = []plan.Expr{b.Args[0], b.Args[1]}
			if t := b.Args[0].Type(); t.IsString() || fn.IsTimestamp(t) {
				bound.Args[0] = b.Cast(b.Args[0], plan.Date)
			}
			if b.Args[1].Type().IsString() {
				var err error
				if bound.Args[1], err = wholeDays(b); err != nil {
					return nil, err
				}
			}
			b = &bound
		}
		return s.Bind(b)
	}
}

// wholeDays is a text as a number of days. Where ANSI is off only constants are taken,
// and one that is no number is refused: a NULL would hide the mistake.
func wholeDays(b *fn.Binding) (plan.Expr, error) {
	days := b.Args[1]
	l, ok := days.(*plan.Literal)
	if c, isCast := days.(*plan.Cast); isCast {
		l, ok = c.Child.(*plan.Literal)
	}
	if b.Env.ANSI || ok && l.Value == nil {
		return b.Cast(days, plan.Int), nil
	}
	text, ok := "", ok
	if ok {
		text, ok = l.Value.(string)
	}
	if !ok {
		return days, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return nil, plan.AnalysisError("SECOND_FUNCTION_ARGUMENT_NOT_INTEGER",
			"the second argument of "+b.Def.Name+" is no whole number of days.",
			"functionName", b.Def.Name).At(b.Origin)
	}
	return plan.Lit(n, plan.Int), nil
}

func dateAdd(sign int32) fn.Maker {
	return fn.Plain(fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
		return chunk.Values[int32](args[0])[i] + sign*int32(fn.IntegerAt(args[1], i)), true, nil
	}))
}

var datePlusDays = fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	days := chunk.Values[int64](args[1])[i] / fn.MicrosPerDay
	return chunk.Values[int32](args[0])[i] + int32(days), true, nil
})

var datePlusMonths = fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
	d, ok := addMonths(int64(chunk.Values[int32](args[0])[i]), int64(chunk.Values[int32](args[1])[i]))
	if !ok || int64(int32(d)) != d {
		return 0, false, fn.Overflow("overflow", "")
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
	year := fn.FloorDiv(total, 12)
	month := int(total-year*12) + 1
	if year > math.MaxInt32 || year < math.MinInt32 {
		return 0, false
	}
	return daysOf(int(year), month, min(d, codec.DaysIn(int(year), month))), true
}

// daysOf is the date of a year, a month and a day that exist.
func daysOf(year, month, day int) int64 {
	d, _ := codec.Days(year, month, day)
	return d
}

func datePlusInterval(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(plan.Date, func(args []*chunk.Vector, i int) (int32, bool, error) {
			date, span := int64(chunk.Values[int32](args[0])[i]), chunk.Values[plan.Interval](args[1])[i]
			if span.Micros == 0 || !c.ANSI {
				t, ok := AddSpan(date*fn.MicrosPerDay, span, codec.NewOffsets(Utc))
				if !ok {
					return 0, false, javaOverflow("long overflow")
				}
				return int32(fn.FloorDiv(t, fn.MicrosPerDay)), true, nil
			}
			return 0, false, plan.NewError(plan.ClassIllegal, "INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION",
				"hours, minutes and seconds cannot be added to a date; cast it to a timestamp first.")
		})
	}), nil
}

// Zoned makes a kernel anew for each chunk, since zone offsets belong to one
// goroutine.
func Zoned(env *fn.Env, build func(zone *codec.Offsets) fn.Kernel) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		return build(codec.NewOffsets(env.Zone))(args, sel, n)
	}
}

// spanOf reads row i of an interval of some type as a calendar interval. Whole
// days of a day-time interval are days of the calendar.
type spanOf func(v *chunk.Vector, i int) plan.Interval

func MonthsPart(v *chunk.Vector, i int) plan.Interval {
	return plan.Interval{Months: chunk.Values[int32](v)[i]}
}

func SpanPart(v *chunk.Vector, i int) plan.Interval {
	if v.Type.Kind == plan.KindCalendar {
		return chunk.Values[plan.Interval](v)[i]
	}
	x := chunk.Values[int64](v)[i]
	return plan.Interval{Days: int32(x / fn.MicrosPerDay), Micros: x % fn.MicrosPerDay}
}

func timestampPlus(part spanOf) fn.Maker {
	return func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
		inner := *env
		if c.Of.Kind == plan.KindTimestampNTZ {
			inner.Zone = Utc
		}
		return Zoned(&inner, func(zone *codec.Offsets) fn.Kernel {
			return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
				t, ok := AddSpan(chunk.Values[int64](args[0])[i], part(args[1], i), zone)
				if !ok {
					return 0, false, javaOverflow("long overflow")
				}
				return t, true, nil
			})
		}), nil
	}
}

// AddSpan adds months and days on the local calendar, then microseconds on the
// clock.
func AddSpan(t int64, span plan.Interval, zone *codec.Offsets) (int64, bool) {
	if span.Months != 0 || span.Days != 0 {
		offset := zone.At(fn.FloorDiv(t, 1e6))
		local := zone.Local(t)
		day := fn.FloorDiv(local, fn.MicrosPerDay)
		clock := local - day*fn.MicrosPerDay
		day, ok := addMonths(day, int64(span.Months))
		if !ok {
			return 0, false
		}
		micros, fits := fn.MulFits(day+int64(span.Days), fn.MicrosPerDay)
		local, ok = fn.AddFits(micros, clock)
		if !ok || !fits {
			return 0, false
		}
		t = instantNear(local, offset, zone)
	}
	return fn.AddFits(t, span.Micros)
}

// instantNear is the instant of a local time; of a time that occurs twice the
// one with the given offset, as in Java when a date is moved.
func instantNear(local, offset int64, zone *codec.Offsets) int64 {
	if t := local - offset*1e6; zone.At(fn.FloorDiv(t, 1e6)) == offset {
		return t
	}
	return zone.Instant(local)
}

var dateMinusDate = fn.Fixed(dayInterval(), func(args []*chunk.Vector, i int) (int64, bool, error) {
	days := int64(chunk.Values[int32](args[0])[i]) - int64(chunk.Values[int32](args[1])[i])
	d, ok := fn.MulFits(days, fn.MicrosPerDay)
	if !ok {
		return 0, false, javaOverflow("long overflow")
	}
	return d, true, nil
})

// timestampDifference counts on the local clock.
func timestampDifference(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	ntz := c.Args[0].Type().Kind == plan.KindTimestampNTZ
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(plan.DayTime, func(args []*chunk.Vector, i int) (int64, bool, error) {
			x, y := chunk.Values[int64](args[0])[i], chunk.Values[int64](args[1])[i]
			if ntz {
				return x - y, true, nil
			}
			return zone.Local(x) - zone.Local(y), true, nil
		})
	}), nil
}
