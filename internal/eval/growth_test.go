package eval_test

import (
	"runtime"
	"testing"

	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Compiling a chain costs in proportion to its length, by what it allocates, and links
// that are equal are computed once.
func TestAChainIsCompiledLinkByLink(t *testing.T) {
	column := &plan.Attribute{Name: "a", Of: plan.Long, ID: 1}
	chain := func(links int) plan.Expr {
		var e plan.Expr = column
		for i := range links {
			e = &plan.Call{Name: "+", Of: plan.Long, Text: "$1", Args: []plan.Expr{
				e, plan.Lit(int64(i), plan.Long)}}
		}
		return e
	}
	bytes := func(links int) uint64 {
		e := chain(links)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := eval.NewSet([]plan.Expr{e, e}, []*plan.Attribute{column}, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := bytes(100), bytes(800); many > 12*few {
		t.Errorf("%d bytes for 100 links, %d for 800", few, many)
	}
}

// Numbers agree with the canonical texts.
func TestEqualExpressionsHaveOneNumber(t *testing.T) {
	column := func(name string, id plan.ExprID) plan.Expr {
		return &plan.Attribute{Name: name, Of: plan.Long, ID: id}
	}
	a, b := column("a", 1), column("b", 2)
	call := func(name string, args ...plan.Expr) plan.Expr {
		return &plan.Call{Name: name, Of: plan.Long, Args: args}
	}
	list := []plan.Expr{
		a, b, column("x", 1), plan.Lit(int64(1), plan.Long), plan.Lit("1", plan.String), call("+", a, b),
		call("+", b, a), call("+", a, b), &plan.Alias{Child: call("+", a, b), Names: []string{"s"}},
		call("+", call("+", a, b), a), call("+", a, call("+", b, a)), call("rand"), call("rand"),
		call("+"), call("pi"),
		&plan.Cast{Child: a, To: plan.Int}, &plan.Cast{Child: a, To: plan.Int, Mode: plan.CastTry},
		&plan.AggregateCall{Name: "sum", Of: plan.Long, Args: []plan.Expr{a}},
		&plan.AggregateCall{Name: "sum", Of: plan.Long, Args: []plan.Expr{a}, Distinct: true},
	}
	var numbers eval.Numbers
	for _, x := range list {
		for _, y := range list {
			if got, want := numbers.Of(x) == numbers.Of(y), eval.Canonical(x) == eval.Canonical(y); got != want {
				t.Errorf("%s and %s: one number is %t, one text %t", eval.Canonical(x), eval.Canonical(y), got, want)
			}
		}
	}
}
