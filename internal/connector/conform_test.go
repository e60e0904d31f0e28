package connector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// newEnv is an engine over a file system, its clock standing still.
func newEnv(t testing.TB, fsys vfs.FS) *Env {
	t.Helper()
	files, err := vfs.NewResolver(vfs.ResolverOptions{Local: fsys, Dir: "/here"})
	if err != nil {
		t.Fatal(err)
	}
	return &Env{
		Files:       files,
		Eval:        &function.Env{ANSI: true, Zone: time.UTC},
		Conf:        func(string) string { return "" },
		Parallelism: 2,
		Now:         func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
}

// scanOf is the scan of everything that a reader describes.
func scanOf(t testing.TB, env *Env, r *plan.Read) *plan.Scan {
	t.Helper()
	f, ok := Lookup(r.Format)
	if !ok {
		t.Fatalf("no format %s", r.Format)
	}
	rel, err := f.Describe(context.Background(), env, r)
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	s := &plan.Scan{Relation: *rel, Streaming: r.Streaming}
	for i, c := range rel.Schema.Fields {
		s.Attrs = append(s.Attrs,
			&plan.Attribute{Name: c.Name, Of: c.Type, Null: c.Nullable, ID: plan.ExprID(i + 1)})
	}
	return s
}

func openSource(t testing.TB, env *Env, s *plan.Scan, log Place) Source {
	t.Helper()
	f, _ := Lookup(s.Relation.Format)
	source, err := f.Source(context.Background(), env, s, log)
	if err != nil {
		t.Fatalf("open source: %v", err)
	}
	return source
}

// rowsOf reads a stream into rows of values.
func rowsOf(t testing.TB, rows chunk.Rows) [][]plan.Value {
	t.Helper()
	out := [][]plan.Value{}
	for c, err := range rows {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		for i := range c.Rows {
			out = append(out, c.Row(i))
		}
	}
	return out
}

// conformSource checks C1 to C3. open gives the source as a start or restart
// finds it; step makes new input appear.
func conformSource(t *testing.T, steps int, open func() Source, step func(n int)) {
	t.Helper()
	ctx := context.Background()
	source := open()
	ends := []Offset{""}
	var seen [][][]plan.Value
	for n := range steps {
		step(n)
		from := ends[len(ends)-1]
		to, err := source.Latest(ctx, from, Limit{})
		if err != nil {
			t.Fatalf("latest: %v", err)
		}
		again, err := source.Latest(ctx, to, Limit{})
		if err != nil || again != to {
			t.Fatalf("latest from %s is %s (%v) with nothing new", to, again, err)
		}
		if to == from {
			continue
		}
		first := rowsOf(t, source.Read(ctx, from, to))
		testkit.Diff(t, "second read of one range", rowsOf(t, source.Read(ctx, from, to)), first)
		ends, seen = append(ends, to), append(seen, first)
	}
	if len(seen) == 0 {
		t.Fatal("the source never had rows")
	}
	restarted := open()
	for i, want := range seen {
		testkit.Diff(t, "read after restart", rowsOf(t, restarted.Read(ctx, ends[i], ends[i+1])), want)
	}
	if describe := restarted.Describe(); describe != source.Describe() {
		t.Errorf("described as %s before a restart, as %s after it", source.Describe(), describe)
	}
	// C3: forgetting what is processed leaves the rest.
	last := len(seen) - 1
	if err := restarted.Advance(ctx, ends[last]); err != nil {
		t.Fatalf("advance: %v", err)
	}
	testkit.Diff(t, "last range after advance", rowsOf(t, restarted.Read(ctx, ends[last], ends[last+1])),
		seen[last])
	for _, s := range []Source{source, restarted} {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// errCutOff is what a batch's rows fail with in the middle.
var errCutOff = errors.New("rows end here")

// cutOff yields the chunks and then fails.
func cutOff(chunks ...*chunk.Chunk) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		yield(nil, errCutOff)
	}
}

// idSchema is the schema of the rows that conformSink writes.
var idSchema = plan.Struct(plan.Col("id", plan.Long), plan.Col("k", plan.String))

func idChunk(part int, ids ...int64) *chunk.Chunk {
	c := chunk.NewChunk(idSchema, len(ids))
	for _, id := range ids {
		var k plan.Value
		if id%2 == 0 {
			k = string(rune('a' + id%26))
		}
		c.AppendValues([]plan.Value{id, k})
	}
	c.Part = part
	return c
}

// conformSink checks C4 and C5. open gives the sink as a start or restart finds
// it, visible the ids that a reader sees, ascending.
func conformSink(t *testing.T, open func() Sink, visible func() []int64) {
	t.Helper()
	ctx := context.Background()
	write := func(s Sink, id int64, rows chunk.Rows) error {
		_, err := s.Write(ctx, Batch{ID: id, Rows: rows})
		return err
	}
	s := open()
	if err := write(s, 0, chunk.One(idChunk(0, 1, 2), idChunk(1, 3))); err != nil {
		t.Fatalf("batch 0: %v", err)
	}
	if err := write(s, 1, cutOff(idChunk(0, 4))); !errors.Is(err, errCutOff) {
		t.Fatalf("batch 1 was cut off and gave %v", err)
	}
	testkit.Diff(t, "visible after a cut off batch", visible(), []int64{1, 2, 3})
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	s = open()
	if err := write(s, 1, chunk.One(idChunk(0, 4, 5))); err != nil {
		t.Fatalf("batch 1: %v", err)
	}
	if err := write(s, 2, chunk.One()); err != nil {
		t.Fatalf("batch 2 without rows: %v", err)
	}
	testkit.Diff(t, "visible", visible(), []int64{1, 2, 3, 4, 5})
	skipper, ok := s.(Skipper)
	if !ok {
		return
	}
	for id, want := range []bool{true, true, true, false} {
		if got, err := skipper.Holds(ctx, int64(id)); got != want || err != nil {
			t.Errorf("holds batch %d: %t, %v; want %t", id, got, err, want)
		}
	}
	if err := write(s, 1, chunk.One(idChunk(0, 4, 5))); err != nil {
		t.Errorf("repeated batch 1: %v", err)
	}
	testkit.Diff(t, "visible after a repeated batch", visible(), []int64{1, 2, 3, 4, 5})
}
