package plan_test

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/plan"
)

func call(name string, args ...plan.Expr) plan.Expr { return &plan.Call{Name: name, Args: args} }

func attr(name string) plan.Expr { return &plan.Attribute{Name: name, Of: plan.Int} }

func intLit(n int64) plan.Expr { return plan.Lit(n, plan.Int) }

func text(s string) plan.Expr { return plan.Lit(s, plan.String) }

// The texts are column names and sqlExpr parameters of Spark 4.3.
func TestSQLTextIsWhatSparkWrites(t *testing.T) {
	tiny := &plan.Cast{Child: intLit(1), To: plan.Byte}
	date := plan.Lit(int32(18263), plan.Date)
	second := plan.Type{Kind: plan.KindDayTime, Start: plan.FieldSecond, End: plan.FieldSecond}
	month := plan.Type{Kind: plan.KindYearMonth, Start: plan.FieldMonth, End: plan.FieldMonth}
	cases := []struct {
		expr plan.Expr
		want string
	}{
		{call("+", intLit(1), intLit(2)), "(1 + 2)"},
		{call("div", intLit(-7), plan.Lit(2.0, plan.Double)), "(-7 div 2.0)"},
		{call("*", attr("pay"), &plan.Cast{Child: intLit(2), To: plan.Double, Implicit: true}), "(pay * 2)"},
		{call("not", plan.Lit(true, plan.Boolean)), "(NOT true)"},
		{call("=", tiny, plan.Lit([]byte("1"), plan.Binary)), "(CAST(1 AS TINYINT) = X'31')"},
		{call("in", tiny, plan.Lit(true, plan.Boolean)), "(CAST(1 AS TINYINT) IN (true))"},
		{call("when", plan.Lit(true, plan.Boolean), intLit(1), date),
			"CASE WHEN true THEN 1 ELSE DATE '2020-01-02' END"},
		{call("if", plan.Lit(false, plan.Boolean), intLit(1), plan.Lit(nil, plan.Null)), "(IF(false, 1, NULL))"},
		{call("isnull", attr("a")), "(a IS NULL)"},
		{call("~", intLit(1)), "~1"},
		{call("-", intLit(1)), "(- 1)"},
		{call("negative", intLit(1)), "negative(1)"},
		{plan.Lit(decimal128.FromI64(1), plan.Decimal(10, 10)), "1E-10"},
		{plan.Lit(decimal128.FromI64(-1234), plan.Decimal(12, 12)), "-1.234E-9"},
		{plan.Lit(decimal128.FromI64(0), plan.Decimal(7, 7)), "0E-7"},
		{plan.Lit(decimal128.FromI64(1), plan.Decimal(6, 6)), "0.000001"},
		{plan.Lit(decimal128.FromI64(120), plan.Decimal(10, 2)), "1.20"},
		{call("like", intLit(1), intLit(2)), "1 LIKE 2"},
		{call("getitem", attr("a"), intLit(0)), "a[0]"},
		{call("round", attr("x"), intLit(1)), "round(x, 1)"},
		{&plan.Call{Name: "add_interval", Args: []plan.Expr{tiny, plan.Lit(int64(1e6), second)}, Text: "$1 + $2"},
			"CAST(1 AS TINYINT) + INTERVAL '01' SECOND"},
		{&plan.Call{Name: "struct", Args: []plan.Expr{text("a"), intLit(1), text("b"), text("x")},
			Text: "struct($2, $4)"},
			"struct(1, x)"},
		{call("greatest", intLit(1), plan.Lit(int32(1), month)), "greatest(1, INTERVAL '1' MONTH)"},
		{call("array_join", attr("a"), text(","), text("N")), "array_join(a, ,, N)"},
		{&plan.AggregateCall{Name: "count", Args: []plan.Expr{attr("a")}, Distinct: true}, "count(DISTINCT a)"},
		{&plan.AggregateCall{Name: "sum", Args: []plan.Expr{attr("a")}, Filter: call(">", attr("b"), intLit(1))},
			"sum(a) FILTER (WHERE (b > 1))"},
		{&plan.AggregateCall{Name: "avg", Args: []plan.Expr{attr("a")}, Text: "mean($*)", Distinct: true},
			"mean(DISTINCT a)"},
		{plan.As(intLit(1), "a b"), "1 AS `a b`"},
		{&plan.Cast{Child: text("NaN"), To: plan.Double}, "CAST(NaN AS DOUBLE)"},
		{&plan.Cast{Child: intLit(1), To: plan.Decimal(10, 2), Mode: plan.CastTry}, "TRY_CAST(1 AS DECIMAL(10,2))"},
		{&plan.UnresolvedAttribute{Parts: []string{"a.b", "c"}}, "`a.b`.c"},
	}
	for _, c := range cases {
		if got := plan.SQLText(c.expr); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestSQLTextOfConstants(t *testing.T) {
	micros := time.Date(2021, 3, 4, 5, 6, 7, 891_234_000, time.UTC).UnixMicro()
	dayTime := int64(((1*24+2)*3600+3*60+4)*1_000_000 + 500_000)
	cases := []struct {
		value plan.Value
		of    plan.Type
		want  string
	}{
		{float32(1), plan.Float, "1.0"},
		{-1.75, plan.Double, "-1.75"},
		{math.Copysign(0, -1), plan.Double, "-0.0"},
		{1e10, plan.Double, "1.0E10"},
		{1.5e-7, plan.Double, "1.5E-7"},
		{decimal128.FromI64(1250), plan.Decimal(4, 2), "12.50"},
		{nil, plan.Int, "NULL"},
		{micros, plan.Timestamp, "TIMESTAMP '2021-03-04 05:06:07.891234'"},
		{micros - 891_234, plan.TimestampNTZ, "TIMESTAMP_NTZ '2021-03-04 05:06:07'"},
		{int64(-1000), plan.Timestamp, "TIMESTAMP '1969-12-31 23:59:59.999'"},
		{[]byte("abc"), plan.Binary, "X'616263'"},
		{int32(14), plan.YearMonth, "INTERVAL '1-2' YEAR TO MONTH"},
		{dayTime, plan.DayTime, "INTERVAL '1 02:03:04.5' DAY TO SECOND"},
		{-dayTime, plan.DayTime, "INTERVAL '-1 02:03:04.5' DAY TO SECOND"},
		{int64(90 * 60_000_000), plan.Type{Kind: plan.KindDayTime, Start: plan.FieldMinute, End: plan.FieldMinute},
			"INTERVAL '90' MINUTE"},
		{plan.Interval{Months: 14, Days: 3, Micros: -1_500_000}, plan.Calendar,
			"INTERVAL '1 years 2 months 3 days -1.5 seconds'"},
	}
	for _, c := range cases {
		if got := plan.SQLText(plan.Lit(c.value, c.of)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	tokyo := time.FixedZone("", 9*3600)
	want := "TIMESTAMP '1970-01-01 09:00:00'"
	if got := plan.SQLTextIn(plan.Lit(int64(0), plan.Timestamp), tokyo); got != want {
		t.Errorf("in Tokyo: %s", got)
	}
}
