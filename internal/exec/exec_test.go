package exec

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testEnv() *function.Env {
	conf := func(string) string { return "" }
	return &function.Env{ANSI: true, Zone: time.UTC, Now: 1_700_000_000_000_000, Conf: conf}
}

// frame is a relation under construction.
type frame struct {
	t    testing.TB
	ids  *plan.IDs
	node plan.Node
}

// relation is local rows; every cell is a plan.Value.
func relation(t testing.TB, schema plan.Type, rows ...[]plan.Value) *frame {
	return relationOf(t, chunk.FromRows(schema, rows...), schema)
}

func relationOf(t testing.TB, c *chunk.Chunk, schema plan.Type) *frame {
	t.Helper()
	f := &frame{t: t, ids: sharedIDs}
	data := &plan.LocalData{Schema: schema, Attrs: attributes(schema.Fields)}
	data.Rows = append(data.Rows, c.ToArrow(chunk.ArrowSchema(schema, chunk.ArrowOptions{Zone: "UTC"})))
	f.node = data
	return f
}

func attributes(fields []plan.Field) []*plan.Attribute {
	var out []*plan.Attribute
	for _, f := range fields {
		out = append(out, &plan.Attribute{Name: f.Name, Of: f.Type, Null: f.Nullable, ID: sharedIDs.Next()})
	}
	return out
}

var sharedIDs = &plan.IDs{}

func (f *frame) with(n plan.Node) *frame { return &frame{f.t, f.ids, n} }

func (f *frame) col(name string) *plan.Attribute {
	f.t.Helper()
	for _, a := range f.node.Output() {
		if a.Name == name {
			return a
		}
	}
	f.t.Fatalf("no column %q", name)
	return nil
}

func (f *frame) as(e plan.Expr, name string) plan.Expr {
	return &plan.Alias{Child: e, Names: []string{name}, ID: f.ids.Next()}
}

func (f *frame) filter(cond plan.Expr) *frame { return f.with(plan.NewFilter(f.node, cond)) }

func (f *frame) project(exprs ...plan.Expr) *frame {
	return f.with(plan.NewProject(f.node, exprs...))
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

func long(x int64) plan.Expr { return plan.Lit(x, plan.Long) }

func text(s string) plan.Expr { return plan.Lit(s, plan.String) }

// run is the rows of a plan, and their partitions.
func (f *frame) run() ([][]plan.Value, []int) {
	f.t.Helper()
	rows, parts, err := f.try(&Run{Parallelism: 2, Partitions: 4})
	if err != nil {
		f.t.Fatal(err)
	}
	return rows, parts
}

func (f *frame) try(run *Run) (rows [][]plan.Value, parts []int, err error) {
	f.t.Helper()
	p, err := Build(f.node, testEnv(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for c, err := range p.Run(context.Background(), run) {
		if err != nil {
			return rows, parts, err
		}
		for i := range c.Rows {
			rows = append(rows, c.Row(i))
			parts = append(parts, c.Part)
		}
	}
	return rows, parts, nil
}

func (f *frame) want(rows ...[]plan.Value) {
	f.t.Helper()
	got, _ := f.run()
	if diff := cmp.Diff(rows, got); diff != "" {
		f.t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func row(v ...plan.Value) []plan.Value { return append([]plan.Value{}, v...) }

func TestFilterKeepsTrueRows(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("a", plan.Long), plan.Col("s", plan.String)),
		row(int64(1), "x"), row(nil, "y"), row(int64(3), nil), row(int64(4), "z"))
	f.filter(call(t, ">", f.col("a"), long(1))).want(row(int64(3), nil), row(int64(4), "z"))
	g := f.filter(call(t, ">", f.col("a"), long(1)))
	g.project(f.col("s")).want(row(nil), row("z"))
	f.filter(call(t, ">", f.col("a"), long(9))).want()
}

func TestProjectComputes(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("a", plan.Long)), row(int64(1)), row(nil))
	f.project(f.as(call(t, "+", f.col("a"), long(1)), "b"), f.as(text("k"), "k"), f.col("a")).
		want(row(int64(2), "k", int64(1)), row(nil, "k", nil))
}

func aggregateCall(t testing.TB, b *function.Binding) plan.Expr {
	t.Helper()
	b.Env = testEnv()
	e, err := function.BindCall(b)
	if err != nil {
		t.Fatalf("bind %s: %v", b.Name, err)
	}
	return e
}

func distinctCall(t testing.TB, name string, args ...plan.Expr) plan.Expr {
	return aggregateCall(t, &function.Binding{Name: name, Args: args, Distinct: true})
}

func filtered(t testing.TB, name string, cond plan.Expr, args ...plan.Expr) plan.Expr {
	return aggregateCall(t, &function.Binding{Name: name, Args: args, Filter: cond})
}
