package eval

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

func testEnv() *function.Env {
	conf := func(string) string { return "" }
	return &function.Env{ANSI: true, Zone: time.UTC, Now: 1_700_000_000_000_000, Conf: conf}
}

// call binds a call of the shelf.
func call(t testing.TB, name string, args ...plan.Expr) plan.Expr {
	t.Helper()
	e, err := function.BindCall(&function.Binding{Name: name, Args: args, Env: testEnv()})
	if err != nil {
		t.Fatalf("bind %s: %v", name, err)
	}
	return e
}

func row(v ...plan.Value) []plan.Value { return append([]plan.Value{}, v...) }

func maybe(name string, id plan.ExprID) *plan.Attribute {
	return &plan.Attribute{Name: name, Of: plan.Boolean, Null: true, ID: id}
}

// The answers of this table are those of the SQL standard, which Spark follows.
func TestLogicHasThreeValues(t *testing.T) {
	a, b := maybe("a", 1), maybe("b", 2)
	values := []plan.Value{false, true, nil}
	and := [3][3]plan.Value{{false, false, false}, {false, true, nil}, {false, nil, nil}}
	or := [3][3]plan.Value{{false, true, nil}, {true, true, true}, {nil, true, nil}}
	c := chunk.NewChunk(plan.Struct(plan.Col("a", plan.Boolean), plan.Col("b", plan.Boolean)), 9)
	var wantAnd, wantOr []plan.Value
	for i, x := range values {
		for k, y := range values {
			c.AppendValues(row(x, y))
			wantAnd, wantOr = append(wantAnd, and[i][k]), append(wantOr, or[i][k])
		}
	}
	for name, want := range map[string][]plan.Value{"and": wantAnd, "or": wantOr} {
		got := column(evaluate(t, call(t, name, a, b), []*plan.Attribute{a, b}, c))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func evaluate(t testing.TB, e plan.Expr, input []*plan.Attribute, c *chunk.Chunk) *chunk.Vector {
	t.Helper()
	ev, err := Compile(e, input, testEnv())
	if err != nil {
		t.Fatal(err)
	}
	v, err := ev.Eval(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func column(v *chunk.Vector) []plan.Value {
	out := make([]plan.Value, v.Len)
	for i := range out {
		out[i] = v.Value(i)
	}
	return out
}

func TestConstants(t *testing.T) {
	one := plan.Lit(int64(1), plan.Int)
	if v, err := Const(call(t, "+", one, one), testEnv()); err != nil || v != int64(2) {
		t.Errorf("1 + 1 = %v, %v", v, err)
	}
	_, err := Const(call(t, "/", one, plan.Lit(int64(0), plan.Int)), testEnv())
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Condition != "DIVIDE_BY_ZERO" {
		t.Errorf("1 / 0: got %v", err)
	}
}

func TestErrorsKnowTheirPlace(t *testing.T) {
	here := &plan.Origin{Fragment: "div"}
	e := call(t, "/", plan.Lit(1.0, plan.Double), plan.Lit(0.0, plan.Double)).(*plan.Call)
	e.Origin = here
	_, err := Const(e, testEnv())
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Origin != here {
		t.Errorf("got %v", err)
	}
}
