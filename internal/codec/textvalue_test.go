package codec

import (
	"math"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func dayTime(from, to plan.IntervalField) plan.Type {
	return plan.Type{Kind: plan.KindDayTime, Start: from, End: to}
}

func yearMonth(from, to plan.IntervalField) plan.Type {
	return plan.Type{Kind: plan.KindYearMonth, Start: from, End: to}
}

// valueTexts are values with the texts of Spark 4.3.0: of CAST(… AS STRING), of
// the same with ANSI mode off, and of show. Empty texts are that of the cast.
var valueTexts = []struct {
	typ                plan.Type
	value              plan.Value
	cast, legacy, show string
}{
	{plan.Array(plan.Int, true), list(int64(1), nil), "[1, null]", "", "[1, NULL]"},
	{plan.Map(plan.String, plan.Int, true), mapOf("k", nil, "b", int64(2)), "{k -> null, b -> 2}", "",
		"{k -> NULL, b -> 2}"},
	{plan.Struct(plan.Col("a", plan.Int), plan.Col("b", plan.String), plan.Col("c", plan.Int)),
		list(int64(1), "y", nil), "{1, y, null}", "", "{1, y, NULL}"},
	{plan.Array(plan.Array(plan.Double, true), true), list(list(1.5), list()), "[[1.5], []]", "", "[[1.5], []]"},
	{plan.Binary, []byte{0x0a, 0xff}, "\n\xff", "", "[0A FF]"},
	{plan.Array(plan.Binary, true), list([]byte{0x0a, 0xff}), "[\n\xff]", "", "[[0A FF]]"},
	{plan.Calendar, plan.Interval{Months: 14, Days: 25, Micros: 18367500000},
		"1 years 2 months 25 days 5 hours 6 minutes 7.5 seconds", "", ""},
	{plan.Calendar, plan.Interval{Months: -14, Days: -3, Micros: -18367250000},
		"-1 years -2 months -3 days -5 hours -6 minutes -7.25 seconds", "", ""},
	{plan.Calendar, plan.Interval{}, "0 seconds", "", ""},
	{plan.DayTime, int64(93_784_500_000), "INTERVAL '1 02:03:04.5' DAY TO SECOND", "", ""},
	{plan.DayTime, int64(math.MinInt64), "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND", "", ""},
	{dayTime(plan.FieldHour, plan.FieldHour), int64(26 * 3600 * 1_000_000), "INTERVAL '26' HOUR", "", ""},
	{dayTime(plan.FieldSecond, plan.FieldSecond), int64(5 * 1_000_000), "INTERVAL '05' SECOND", "", ""},
	{dayTime(plan.FieldSecond, plan.FieldSecond), int64(-75_250_000), "INTERVAL '-75.25' SECOND", "", ""},
	{dayTime(plan.FieldMinute, plan.FieldSecond), int64(62 * 1_000_000),
		"INTERVAL '01:02' MINUTE TO SECOND", "", ""},
	{dayTime(plan.FieldDay, plan.FieldHour), int64((123*86400 + 4*3600) * 1_000_000),
		"INTERVAL '123 04' DAY TO HOUR", "", ""},
	{plan.YearMonth, int32(-14), "INTERVAL '-1-2' YEAR TO MONTH", "", ""},
	{yearMonth(plan.FieldYear, plan.FieldYear), int32(84), "INTERVAL '7' YEAR", "", ""},
	{yearMonth(plan.FieldMonth, plan.FieldMonth), int32(-14), "INTERVAL '-14' MONTH", "", ""},
	{plan.Decimal(20, 10), dec(1000), "0.0000001000", "1.000E-7", "0.0000001000"},
	{plan.Decimal(10, 8), dec(0), "0.00000000", "0E-8", "0.00000000"},
	{plan.Decimal(10, 2), dec(-12345), "-123.45", "", "-123.45"},
	{plan.Timestamp, int64(math.MinInt64), "-290308-12-21 19:59:05.224192", "", "-290308-12-21 19:59:05.224192"},
	{plan.Map(plan.Struct(plan.Col("a", plan.Int), plan.Col("b", plan.Int)),
		plan.Array(plan.Map(plan.Int, plan.Int, true), true), true),
		mapOf(list(int64(1), int64(2)), list(mapOf(int64(1), int64(2)))),
		"{{1, 2} -> [{1 -> 2}]}", "", "{{1, 2} -> [{1 -> 2}]}"},
	{plan.Boolean, true, "true", "", "true"},
	{plan.Variant, list([]byte{0x02, 1, 0, 0, 7, 2, 1, 1, 0, 2, 0x0c, 1}, []byte{1, 2, 0, 1, 2, 'a', 'c'}),
		`{"a":{"c":1}}`, "", `{"a":{"c":1}}`},
}

func TestValuesPrintAsInSpark(t *testing.T) {
	for _, c := range valueTexts {
		v := chunk.FromRows(plan.Struct(plan.Col("c", c.typ)), []plan.Value{c.value}).Cols[0]
		if c.legacy == "" {
			c.legacy = c.cast
		}
		if c.show == "" {
			c.show = c.cast
		}
		zone := NewOffsets(time.UTC)
		for _, want := range []struct {
			style TextStyle
			text  string
		}{
			{TextStyle{Zone: zone}, c.cast}, {TextStyle{Zone: zone, ExpDecimal: true}, c.legacy},
			{TextStyle{Zone: zone, ExpDecimal: true, Pretty: true}, c.show},
		} {
			if got := string(want.style.AppendValue(nil, v, 0)); got != want.text {
				t.Errorf("%s: got %s, want %s", c.typ.Simple(), got, want.text)
			}
		}
	}
}
