package times

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// dateFieldDefs take dates and times apart.
func dateFieldDefs() []*fn.Def {
	clock := func(names string, per, of int64, want string) *fn.Def {
		k := func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
			return localKernel(c, env, plan.Int, func(local int64) int32 {
				return int32(fn.FloorMod(local, of) / per)
			}), nil
		}
		return fn.Scalar(names, "datetime_funcs", fn.Takes(fn.Timestamps()).Gives(plan.Int), k,
			fn.Example{names + "(TIMESTAMP '2024-02-29 12:34:56')", want})
	}
	return []*fn.Def{
		dayField("year", yearOf, "2024"), dayField("month", monthOf, "2"),
		dayField("day dayofmonth", dayOf, "29").AsWritten(), dayField("quarter", quarterOf, "1"),
		dayField("dayofweek", func(d int32) int32 { return int32(fn.FloorMod(int64(d)+4, 7)) + 1 }, "5"),
		dayField("weekday", weekdayOf, "3"), dayField("dayofyear", dayOfYear, "60"),
		dayField("weekofyear", weekOf, "9"),
		dayField("iso year", isoYear, "").Hide(),
		clock("hour", 3_600e6, fn.MicrosPerDay, "12"), clock("minute", 60e6, 3_600e6, "34"),
		clock("second", 1e6, 60e6, "56"),
		{Name: "second fraction", Hidden: true, Bind: fn.Takes(fn.Timestamps()).Gives(plan.Decimal(8, 6)).Bind,
			Kernel: func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
				return localKernel(c, env, c.Of, func(local int64) chunk.Dec {
					return decimal128.FromI64(fn.FloorMod(local, 60e6))
				}), nil
			}},
		nameField("dayname", func(d int32) string { return dayNames[weekdayOf(d)] }, "Thu"),
		nameField("monthname", func(d int32) string { return monthNames[monthOf(d)-1] }, "Feb"),
		fn.Short("extract", "datetime_funcs", bindExtract("extract($1 FROM $2)"),
			fn.Example{"extract(YEAR FROM DATE '2024-02-29')", "2024"}),
		fn.Short("date_part", "datetime_funcs", bindExtract("date_part($1, $2)"),
			fn.Example{"date_part('MONTH', DATE '2024-02-29')", "2"}),
		fn.Short("datepart", "datetime_funcs", bindExtract("datepart($1 FROM $2)"),
			fn.Example{"datepart('DAY', DATE '2024-02-29')", "29"}),
		intervalField("interval years", plan.Int, func(x plan.Interval) chunk.Dec {
			return dec64(int64(x.Months) / 12)
		}),
		intervalField("interval months", plan.Byte, func(x plan.Interval) chunk.Dec {
			return dec64(int64(x.Months) % 12)
		}),
		intervalField("interval days", plan.Int, func(x plan.Interval) chunk.Dec {
			return dec64(int64(x.Days) + x.Micros/fn.MicrosPerDay)
		}),
		intervalField("interval hours", plan.Byte, func(x plan.Interval) chunk.Dec {
			return dec64(x.Micros % fn.MicrosPerDay / 3_600e6)
		}),
		intervalField("interval minutes", plan.Byte, func(x plan.Interval) chunk.Dec {
			return dec64(x.Micros / 60e6 % 60)
		}),
		intervalField("interval seconds", plan.Decimal(8, 6), func(x plan.Interval) chunk.Dec {
			return dec64(x.Micros % 60e6)
		}),
	}
}

func dec64(x int64) chunk.Dec { return decimal128.FromI64(x) }

func dayField(names string, of func(days int32) int32, want string) *fn.Def {
	k := fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
		return of(chunk.Values[int32](args[0])[i]), true, nil
	})
	name, _, _ := strings.Cut(names, " ")
	if want == "" {
		return &fn.Def{Name: names, Bind: fn.Takes(fn.Exactly(plan.Date)).Gives(plan.Int).Bind, Kernel: fn.Plain(k)}
	}
	return fn.Scalar(names, "datetime_funcs", fn.Takes(fn.Exactly(plan.Date)).Gives(plan.Int), fn.Plain(k),
		fn.Example{name + "(DATE '2024-02-29')", want})
}

func nameField(name string, of func(days int32) string, want string) *fn.Def {
	k := fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		return append(dst, of(chunk.Values[int32](args[0])[i])...), true, nil
	})
	return fn.Scalar(name, "datetime_funcs", fn.Takes(fn.Exactly(plan.Date)).Gives(plan.String), fn.Plain(k),
		fn.Example{name + "(DATE '2024-02-29')", want})
}

var (
	dayNames   = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	monthNames = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

func yearOf(d int32) int32 {
	y, _, _ := codec.Civil(int64(d))
	return int32(y)
}

func monthOf(d int32) int32 {
	_, m, _ := codec.Civil(int64(d))
	return int32(m)
}

func dayOf(d int32) int32 {
	_, _, day := codec.Civil(int64(d))
	return int32(day)
}

func quarterOf(d int32) int32 { return (monthOf(d)-1)/3 + 1 }

// weekdayOf counts from Monday, 0.
func weekdayOf(d int32) int32 { return int32(fn.FloorMod(int64(d)+3, 7)) }

func dayOfYear(d int32) int32 {
	y, _, _ := codec.Civil(int64(d))
	return d - int32(daysOf(y, 1, 1)) + 1
}

// thursday of the ISO week of a date; its year is the week's.
func thursday(d int32) int32 { return d - weekdayOf(d) + 3 }

func weekOf(d int32) int32 { return (dayOfYear(thursday(d))-1)/7 + 1 }

func isoYear(d int32) int32 { return yearOf(thursday(d)) }

// localKernel computes on the local time of timestamps, in µs.
func localKernel[R chunk.Fixed](c *plan.Call, env *fn.Env, t plan.Type, of func(local int64) R) fn.Kernel {
	inner := *env
	if c.Args[0].Type().Kind == plan.KindTimestampNTZ {
		inner.Zone = Utc
	}
	return Zoned(&inner, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(t, func(args []*chunk.Vector, i int) (R, bool, error) {
			return of(zone.Local(chunk.Values[int64](args[0])[i])), true, nil
		})
	})
}

// intervalField takes a part out of an interval of any kind.
func intervalField(name string, t plan.Type, of func(x plan.Interval) chunk.Dec) *fn.Def {
	s := fn.Takes(fn.OneOf(fn.Interval(plan.KindCalendar), fn.Interval(plan.KindDayTime),
		fn.Interval(plan.KindYearMonth))).Gives(t)
	return fn.HiddenDef(name, s, func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		part := SpanPart
		if c.Args[0].Type().Kind == plan.KindYearMonth {
			part = MonthsPart
		}
		at := func(args []*chunk.Vector, i int) int64 { return int64(of(part(args[0], i)).LowBits()) }
		switch t.Kind {
		case plan.KindByte:
			return fn.Fixed(t, func(args []*chunk.Vector, i int) (int8, bool, error) {
				return int8(at(args, i)), true, nil
			}), nil
		case plan.KindInt:
			return fn.Fixed(t, func(args []*chunk.Vector, i int) (int32, bool, error) {
				return int32(at(args, i)), true, nil
			}), nil
		default:
			return fn.Fixed(t, func(args []*chunk.Vector, i int) (chunk.Dec, bool, error) {
				return of(part(args[0], i)), true, nil
			}), nil
		}
	})
}

// extractFields are the words of extract, with the functions they stand for.
var extractFields = map[string]string{
	"YEAR": "year", "Y": "year", "YEARS": "year", "YR": "year", "YRS": "year", "YEAROFWEEK": "iso year",
	"QUARTER": "quarter", "QTR": "quarter", "MONTH": "month", "MON": "month", "MONS": "month", "MONTHS": "month",
	"WEEK": "weekofyear", "W": "weekofyear", "WEEKS": "weekofyear",
	"DAY": "day", "D": "day", "DAYS": "day", "DAYOFWEEK": "dayofweek", "DOW": "dayofweek",
	"DAYOFWEEK_ISO": "iso weekday", "DOW_ISO": "iso weekday", "DOY": "dayofyear",
	"HOUR": "hour", "H": "hour", "HOURS": "hour", "HR": "hour", "HRS": "hour",
	"MINUTE": "minute", "M": "minute", "MIN": "minute", "MINS": "minute", "MINUTES": "minute",
	"SECOND": "second fraction", "S": "second fraction", "SEC": "second fraction", "SECONDS": "second fraction",
	"SECS": "second fraction",
}

var intervalFields = map[string]string{
	"year": "interval years", "month": "interval months", "day": "interval days", "hour": "interval hours",
	"minute": "interval minutes", "second fraction": "interval seconds",
}

// bindExtract binds extract and its kin; text is how the call shows.
func bindExtract(text string) func(b *fn.Binding) (plan.Expr, error) {
	return func(b *fn.Binding) (plan.Expr, error) {
		if err := b.Between(2, 2); err != nil {
			return nil, err
		}
		source := b.Args[1]
		field, ok := fn.ConstantText(b.Args[0])
		if !ok {
			return nil, fn.Mismatch(b, b.Written(), "NON_FOLDABLE_INPUT", "the field must be a constant.",
				"inputName", "`field`", "inputType", fn.SqlType(plan.String), "inputExpr", fn.Quoted(b.SQL(b.Args[0])))
		}
		name := extractFields[strings.ToUpper(field)]
		t := source.Type()
		if t.IsInterval() {
			name = intervalFields[name]
			isMonths := name == "interval years" || name == "interval months"
			if t.Kind == plan.KindYearMonth && !isMonths || t.Kind == plan.KindDayTime && isMonths {
				name = ""
			}
		}
		if name == "" {
			return nil, plan.AnalysisError("INVALID_EXTRACT_FIELD",
				"there is no field "+field+" in "+b.SQL(source)+".",
				"field", plan.Quote(field), "expr", fn.Quoted(b.SQL(source))).At(b.Origin)
		}
		shown := strings.Replace(strings.Replace(text, "$1", fn.Escaped(field), 1), "$2", "$1", 1)
		if name == "iso weekday" {
			return isoWeekday(b, source, shown)
		}
		return b.NestAs(name, shown, source)
	}
}

func isoWeekday(b *fn.Binding, source plan.Expr, shown string) (plan.Expr, error) {
	day, err := b.Nest("weekday", source)
	if err != nil {
		return nil, err
	}
	e, err := b.Nest("+", day, plan.Lit(int64(1), plan.Int))
	if err != nil {
		return nil, err
	}
	c := *e.(*plan.Call)
	c.Text = strings.ReplaceAll(shown, "$1", fn.Escaped(b.SQL(source)))
	return &c, nil
}
