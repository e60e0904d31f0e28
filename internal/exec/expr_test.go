package exec

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/plan"
)

func TestBranchesNotTakenDoNotFail(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("a", plan.Int)), row(int64(0)), row(int64(2)), row(nil))
	a := f.col("a")
	zero, one := plan.Lit(int64(0), plan.Int), plan.Lit(int64(1), plan.Int)
	divided := call(t, "/", one, a)
	always := call(t, "/", one, zero)
	tests := []struct {
		name string
		e    plan.Expr
		want []plan.Value
	}{
		{"when", call(t, "when", call(t, ">", a, zero), divided, plan.Lit(-1.0, plan.Double)),
			row(-1.0, 0.5, -1.0)},
		{"when without else", call(t, "when", call(t, ">", a, zero), divided), row(nil, 0.5, nil)},
		{"if", call(t, "if", call(t, "=", a, zero), plan.Lit(0.0, plan.Double), divided), row(0.0, 0.5, nil)},
		{"and", call(t, "and", call(t, ">", a, zero), call(t, ">", divided, plan.Lit(0.1, plan.Double))),
			row(false, true, nil)},
		{"or", call(t, "or", call(t, "=", a, zero), call(t, ">", divided, plan.Lit(0.9, plan.Double))),
			row(true, false, nil)},
		{"coalesce", call(t, "coalesce", call(t, "if", call(t, ">=", a, zero), plan.Lit(1.0, plan.Double),
			plan.Lit(nil, plan.Double)), plan.Lit(7.0, plan.Double), always), row(1.0, 1.0, 7.0)},
		{"constant branch", call(t, "if", call(t, "isnull", a), plan.Lit(3.0, plan.Double),
			plan.Lit(4.0, plan.Double)), row(4.0, 4.0, 3.0)},
		{"constant that fails", call(t, "when", call(t, "<", a, zero), always, plan.Lit(1.0, plan.Double)),
			row(1.0, 1.0, 1.0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := f.project(f.as(tt.e, "r")).run()
			want := make([][]plan.Value, len(tt.want))
			for i, v := range tt.want {
				want[i] = row(v)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
	_, _, err := f.project(f.as(call(t, "if", call(t, "isnull", a), divided, always), "r")).try(&Run{})
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Condition != "DIVIDE_BY_ZERO" {
		t.Errorf("got %v, want DIVIDE_BY_ZERO", err)
	}
}

// A value computed for a few rows only must not be taken for one of all rows.
func TestCommonPartsRespectTheirScope(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("a", plan.Int), plan.Col("s", plan.String)),
		row(int64(0), "x"), row(int64(4), "y"), row(int64(8), nil))
	a := f.col("a")
	plus := call(t, "+", a, plan.Lit(int64(1), plan.Int))
	f.project(
		f.as(call(t, "if", call(t, ">", a, plan.Lit(int64(3), plan.Int)), plus, a), "narrow first"),
		f.as(plus, "wide"),
		f.as(call(t, "if", call(t, ">", a, plan.Lit(int64(5), plan.Int)), plus, a), "narrow again"),
		f.as(call(t, "if", call(t, ">", a, plan.Lit(int64(3), plan.Int)), f.col("s"), text("none")), "text"),
	).want(
		row(int64(0), int64(1), int64(0), "none"),
		row(int64(5), int64(5), int64(4), "y"),
		row(int64(9), int64(9), int64(9), nil))
}

func TestWhenAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		of := rapid.SampledFrom(columnTypes).Draw(rt, "type")
		var fields []plan.Field
		branches := rapid.IntRange(1, 4).Draw(rt, "branches")
		for i := range branches {
			fields = append(fields, plan.Col(fmt.Sprint("b", i), plan.Boolean), plan.Col(fmt.Sprint("v", i), of))
		}
		orElse := rapid.Bool().Draw(rt, "else")
		fields = append(fields, plan.Col("rest", of))
		in := draw(rt, plan.Struct(fields...), 30)
		f := in.frame(t)
		var args []plan.Expr
		for _, a := range f.node.Output()[:2*branches] {
			args = append(args, a)
		}
		if orElse {
			args = append(args, f.col("rest"))
		}
		e := &plan.Call{Name: "when", Args: args, Of: of, Null: true}
		var want [][]plan.Value
		for _, r := range in.rows {
			var v plan.Value
			if orElse {
				v = r[2*branches]
			}
			for i := branches - 1; i >= 0; i-- {
				if r[2*i] == true {
					v = r[2*i+1]
				}
			}
			want = append(want, row(v))
		}
		got, _ := f.project(f.as(e, "r")).run()
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			rt.Fatalf("rows (-want +got):\n%s", diff)
		}
	})
}

func TestFields(t *testing.T) {
	inner := plan.Struct(plan.Col("x", plan.Long), plan.Col("y", plan.String))
	f := relation(t, plan.Struct(plan.Col("s", inner), plan.Col("l", plan.Array(inner, true))),
		row(row(int64(1), "a"), row(row(int64(1), "p"), nil, row(nil, "q"))),
		row(nil, nil),
		row(row(nil, "c"), row()))
	f.project(
		f.as(&plan.GetField{Child: f.col("s"), Ordinal: 0, Name: "x"}, "x"),
		f.as(&plan.GetField{Child: f.col("l"), Ordinal: 1, Name: "y", Each: true}, "ys"),
		f.as(&plan.GetField{Child: f.col("l"), Ordinal: 0, Name: "x", Each: true}, "xs"),
	).want(
		row(int64(1), row("p", nil, "q"), row(int64(1), nil, nil)),
		row(nil, nil, nil),
		row(nil, row(), row()))
}

func TestPythonIsRefusedByName(t *testing.T) {
	f := ints(t, 1)
	udf := &plan.PythonUDF{Name: "shout", Returns: plan.String}
	_, err := Build(f.project(f.as(udf, "r")).node, testEnv(), nil)
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Class != plan.ClassJavaUnsupported {
		t.Errorf("got %v", err)
	}
}

// Recorded from Spark 4.3.0: spark.range(0, 6, 1, 3) with
// monotonically_increasing_id() and spark_partition_id().
func TestRowsKnowTheirPlace(t *testing.T) {
	f := numbers(t, 0, 6, 1, 3)
	f.project(f.col("a"),
		f.as(&plan.Call{Name: "monotonically_increasing_id", Of: plan.Long}, "id"),
		f.as(&plan.Call{Name: "spark_partition_id", Of: plan.Int}, "p"),
	).want(
		row(int64(0), int64(0), int64(0)), row(int64(1), int64(1), int64(0)),
		row(int64(2), int64(8589934592), int64(1)), row(int64(3), int64(8589934593), int64(1)),
		row(int64(4), int64(17179869184), int64(2)), row(int64(5), int64(17179869185), int64(2)))
}

// Recorded from Spark 4.3.0: spark.range(0, 6, 1, 3).select(rand(7)). Each
// partition has a sequence of its own.
func TestSeedsDependOnThePartition(t *testing.T) {
	f := numbers(t, 0, 6, 1, 3)
	f.project(f.as(call(t, "rand", long(7)), "r")).want(
		row(0.28188121484885875), row(0.45998819035056326), row(0.4836508543933039),
		row(0.734216416644485), row(0.7145670158242735), row(0.46621774950712846))
}
