package exec

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// called is a Python function of longs.
func called(name string, eval int, args ...plan.Expr) *plan.PythonUDF {
	return &plan.PythonUDF{Name: name, Args: args, Returns: plan.Long, EvalType: eval, Deterministic: true}
}

// TestFunctionsAreStaged says which functions share a call: "a b | c" is a and b
// together and c above them.
func TestFunctionsAreStaged(t *testing.T) {
	const (
		arrow    = pyworker.EvalArrowBatched
		pandas   = pyworker.EvalScalarPandas
		iterator = pyworker.EvalScalarIterator
	)
	f := ints(t, 1)
	x := f.node.Output()[0]
	one := plan.Lit(int64(1), plan.Long)
	sum := func(a, b plan.Expr) plan.Expr {
		return &plan.Call{Name: "+", Args: []plan.Expr{a, b}, Of: plan.Long}
	}
	g := called("g", arrow, x)
	cases := []struct {
		name, want string
		exprs      []plan.Expr
	}{
		{"none", "", []plan.Expr{sum(x, one)}},
		{"one", "g", []plan.Expr{sum(g, one)}},
		{"the same twice", "g", []plan.Expr{g, sum(called("g", arrow, x), one)}},
		{"side by side", "g p", []plan.Expr{g, called("p", pandas, x)}},
		{"a result as it is", "g h", []plan.Expr{called("h", arrow, g)}},
		{"a result in an expression", "g | h", []plan.Expr{called("h", arrow, sum(g, one))}},
		{"an iterator by itself", "g | i", []plan.Expr{g, called("i", iterator, x)}},
		{"over an iterator", "i | h", []plan.Expr{called("h", arrow, called("i", iterator, x))}},
		{"three levels", "g h p", []plan.Expr{called("p", pandas, called("h", arrow, g), x)}},
	}
	for _, c := range cases {
		p := &planner{env: testEnv()}
		below, exprs, err := p.liftPython(f.node, c.exprs...)
		if err != nil {
			t.Fatal(err)
		}
		var stages []string
		for n, ok := below.(*evalPython); ok; n, ok = n.input.(*evalPython) {
			names := make([]string, len(n.results))
			for i, r := range n.results {
				names[i] = r.f.Name
			}
			stages = append([]string{strings.Join(names, " ")}, stages...)
		}
		if got := strings.Join(stages, " | "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		for _, e := range exprs {
			if callsPython(e) {
				t.Errorf("%s: a function is left in %s", c.name, plan.SQLText(e))
			}
		}
	}
}

func TestFunctionsSeeDistinctColumns(t *testing.T) {
	f := ints(t, 1)
	x := f.node.Output()[0]
	p := &planner{env: testEnv()}
	g := called("g", pyworker.EvalArrowBatched, x)
	h := called("h", pyworker.EvalArrowBatched, g, x, plan.Lit(int64(7), plan.Long))
	h.Keywords = []string{"", "b", ""}
	below, _, err := p.liftPython(f.node, h)
	if err != nil {
		t.Fatal(err)
	}
	columns, functions := pythonArguments(below.(*evalPython).results)
	if len(columns) != 2 {
		t.Errorf("%d columns are sent, want x and 7", len(columns))
	}
	want := []pyworker.Argument{{Column: 2}, {Column: 0, Name: "b"}, {Column: 1}}
	if diff := cmp.Diff(want, functions[1].Args); diff != "" {
		t.Errorf("arguments of h (-want +got):\n%s", diff)
	}
}

func TestBatchesHaveTheirSize(t *testing.T) {
	schema := plan.Struct(plan.Field{Name: "x", Type: plan.Long})
	of := func(n int) *chunk.Chunk {
		c := chunk.NewChunk(schema, n)
		for i := range n {
			c.AppendValues([]plan.Value{int64(i)})
		}
		return c
	}
	b := batcher{schema: schema, limit: 10}
	var sizes []int
	for _, n := range []int{4, 4, 4, 25, 3} {
		for full := b.add(of(n)); full; full = b.rows >= b.limit {
			sizes = append(sizes, b.take().Rows)
		}
	}
	for c := b.take(); c != nil; c = b.take() {
		sizes = append(sizes, c.Rows)
	}
	if diff := cmp.Diff([]int{10, 10, 10, 10}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestFunctionsAreRefusedWithoutAHost(t *testing.T) {
	f := ints(t, 1)
	shout := called("shout", pyworker.EvalBatched, f.node.Output()[0])
	program, err := Build(f.project(f.as(shout, "r")).node, testEnv(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = chunk.Collect(program.Run(t.Context(), &Run{}))
	var mistake *plan.Error
	if !errors.As(err, &mistake) || !strings.Contains(mistake.Msg, "shout") {
		t.Errorf("got %v, want a refusal of shout", err)
	}
}
