package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// sourceCase is a source that conformSource judges.
type sourceCase struct {
	// open gives the source as the start or restart of a query finds it whose
	// checkpoint has that name. limited asks for the smallest batches that the
	// source's options know.
	open  func(checkpoint string, limited bool) Source
	step  func(n int) // makes new input appear, or now and then none
	steps int
	// unlimited is a source whose options know no limit of a batch.
	unlimited bool
}

// conformSource checks C1 to C3, limits and the end that AvailableNow pins.
func conformSource(t *testing.T, c sourceCase) {
	t.Helper()
	t.Run("replay", c.replay)
	t.Run("pinned", c.pinned)
	t.Run("gauge", c.gauge)
	if !c.unlimited {
		t.Run("limits", c.limits)
	}
}

func (c sourceCase) replay(t *testing.T) {
	source := c.open("replay", false)
	ends := []Offset{""}
	var seen [][][]plan.Value
	for n := range c.steps {
		c.step(n)
		from := ends[len(ends)-1]
		to := latest(t, source, from, Limit{})
		if again := latest(t, source, to, Limit{}); again != to {
			t.Fatalf("latest from %s is %s with nothing new", to, again)
		}
		if to == from {
			continue
		}
		first := rowsOf(t, source.Read(t.Context(), from, to))
		checkDates(t, source)
		testkit.Diff(t, "second read of one range", rowsOf(t, source.Read(t.Context(), from, to)), first)
		ends, seen = append(ends, to), append(seen, first)
	}
	if len(seen) == 0 {
		t.Fatal("the source never had rows")
	}
	restarted := c.open("replay", false)
	for i, want := range seen {
		testkit.Diff(t, "read after restart", rowsOf(t, restarted.Read(t.Context(), ends[i], ends[i+1])), want)
	}
	last := len(seen) - 1
	if to := latest(t, restarted, ends[last+1], Limit{}); to != ends[last+1] {
		t.Errorf("latest from %s is %s after a restart with nothing new", ends[last+1], to)
	}
	if describe := restarted.Describe(); describe != source.Describe() {
		t.Errorf("described as %s before a restart, as %s after it", source.Describe(), describe)
	}
	// C3: forgetting what is processed leaves the rest.
	must(t, restarted.Advance(t.Context(), ends[last]))
	testkit.Diff(t, "last range after advance", rowsOf(t, restarted.Read(t.Context(), ends[last], ends[last+1])),
		seen[last])
	must(t, source.Close())
	must(t, restarted.Close())
}

// pinned runs AvailableNow beside input that goes on, and a restart that takes the rest.
func (c sourceCase) pinned(t *testing.T) {
	source := c.open("pinned", false)
	pinner, ok := source.(Pinner)
	if !ok {
		must(t, source.Close())
		return
	}
	c.step(c.steps)
	whole := c.open("whole", false)
	before, _ := followed(t, whole, "", Limit{})
	must(t, whole.Close())

	end, err := pinner.Pin(t.Context())
	must(t, err)
	c.step(c.steps + 1)
	c.step(c.steps + 3)
	rows, at := followed(t, source, "", Limit{End: end})
	testkit.Diff(t, "rows up to the pinned end", rows, before)
	must(t, source.Close())

	restarted := c.open("pinned", false)
	rest, _ := followed(t, restarted, at, Limit{})
	whole = c.open("whole again", false)
	all, _ := followed(t, whole, "", Limit{})
	testkit.Diff(t, "rows of both runs", sortedRows(slices.Concat(rows, rest)), all)
	if len(rest) == 0 {
		t.Error("nothing came after the pinned end, so nothing was shown")
	}
	must(t, restarted.Close())
	must(t, whole.Close())
}

// gauge asks what waits before and behind each batch.
func (c sourceCase) gauge(t *testing.T) {
	source := c.open("gauge", false)
	gauged, ok := source.(Gauged)
	if !ok {
		must(t, source.Close())
		return
	}
	g := gauged.Gauge()
	ask := func(committed Offset) Backlog {
		t.Helper()
		b, err := g.Backlog(t.Context(), committed)
		must(t, err)
		return b
	}
	at := latest(t, source, "", Limit{})
	for range source.Read(t.Context(), "", at) {
	}
	first := ask(at)
	read := 0.0
	for n := range 6 {
		b := ask(at)
		if waits := b.Rows + b.Files; waits > 0 || !b.Oldest.IsZero() {
			t.Fatalf("behind %s waits %+v, and nothing came", at, b)
		}
		c.step(c.steps + 10 + n)
		b = ask(at)
		to := latest(t, source, at, Limit{})
		if to == at {
			continue
		}
		// Taken, but not committed: it waits still.
		testkit.Diff(t, "backlog of an admitted batch", fmt.Sprint(ask(at)), fmt.Sprint(b))
		rows := float64(len(rowsOf(t, source.Read(t.Context(), at, to))))
		read += rows
		if b.Rows == b.Rows && b.Rows != rows || b.Rows != b.Rows && !(b.Files > 0 && b.Bytes > 0) {
			t.Errorf("behind %s waits %+v, and the batch has %v rows", at, b, rows)
		}
		at = to
	}
	if b := ask(at); b.ReadRows == b.ReadRows && b.ReadRows-first.ReadRows != read {
		t.Errorf("read %v of %v rows", b.ReadRows-first.ReadRows, read)
	}
	must(t, source.Close())
}

// limits takes everything in the smallest batches, then in one.
func (c sourceCase) limits(t *testing.T) {
	whole := c.open("at once", false)
	all, _ := followed(t, whole, "", Limit{})
	must(t, whole.Close())

	limited := c.open("limited", true)
	first := latest(t, limited, "", Limit{})
	if n := len(rowsOf(t, limited.Read(t.Context(), "", first))); n >= len(all) {
		t.Errorf("the first of limited batches has %d of %d rows", n, len(all))
	}
	if l, ok := limited.(Limited); ok && !l.Limited() {
		t.Error("the first batch was limited, and the source does not say so")
	}
	rows, _ := followed(t, limited, "", Limit{})
	if l, ok := limited.(Limited); ok && l.Limited() {
		t.Error("everything is read, and the source says that a limit holds rows back")
	}
	testkit.Diff(t, "rows of limited batches", rows, all)
	must(t, limited.Close())

	once := c.open("once", true)
	end := latest(t, once, "", Limit{All: true})
	testkit.Diff(t, "rows of a batch that ignores limits",
		sortedRows(rowsOf(t, once.Read(t.Context(), "", end))), all)
	must(t, once.Close())
}

// checkDates looks at when a source says that the rows of a batch came.
func checkDates(t *testing.T, s Source) {
	t.Helper()
	dated, ok := s.(Dated)
	if !ok {
		return
	}
	weight := 0.0
	for _, d := range dated.TakeDates() {
		weight += d.Weight
		if d.At.IsZero() || d.At.After(time.Now().Add(time.Hour)) {
			t.Errorf("rows came at %v", d.At)
		}
	}
	if weight <= 0 {
		t.Error("a batch has rows, and the source does not know when they came")
	}
	if again := dated.TakeDates(); len(again) > 0 {
		t.Errorf("taken twice: %v", again)
	}
}

func latest(t *testing.T, s Source, from Offset, limit Limit) Offset {
	t.Helper()
	to, err := s.Latest(t.Context(), from, limit)
	if err != nil {
		t.Fatalf("latest from %s: %v", from, err)
	}
	return to
}

// followed reads batch by batch until there is nothing new: the rows, sorted, and
// where they end.
func followed(t *testing.T, s Source, from Offset, limit Limit) ([][]plan.Value, Offset) {
	t.Helper()
	var rows [][]plan.Value
	for {
		to := latest(t, s, from, limit)
		if to == from {
			return sortedRows(rows), from
		}
		rows = append(rows, rowsOf(t, s.Read(t.Context(), from, to))...)
		must(t, s.Advance(t.Context(), to))
		from = to
	}
}

// sortedRows orders rows by how they print: files and partitions come in any order.
func sortedRows(rows [][]plan.Value) [][]plan.Value {
	slices.SortFunc(rows, func(a, b []plan.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
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

// conformSink checks C4 and C5 with rows of idSchema.
func conformSink(t *testing.T, open func() Sink, visible func() []int64) {
	t.Helper()
	conformSinkOf(t, open, visible, idChunk)
}

// conformSinkOf checks C4 and C5. open gives the sink as a start or restart finds
// it, visible the ids that a reader sees, ascending, rows makes rows of ids.
func conformSinkOf(t *testing.T, open func() Sink, visible func() []int64,
	rows func(part int, ids ...int64) *chunk.Chunk,
) {
	t.Helper()
	ctx := context.Background()
	write := func(s Sink, id int64, batch chunk.Rows) error {
		_, err := s.Write(ctx, Batch{ID: id, Rows: batch})
		return err
	}
	s := open()
	if err := write(s, 0, chunk.One(rows(0, 1, 2), rows(1, 3))); err != nil {
		t.Fatalf("batch 0: %v", err)
	}
	if err := write(s, 1, cutOff(rows(0, 4))); !errors.Is(err, errCutOff) {
		t.Fatalf("batch 1 was cut off and gave %v", err)
	}
	testkit.Diff(t, "visible after a cut off batch", visible(), []int64{1, 2, 3})
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	s = open()
	if err := write(s, 1, chunk.One(rows(0, 4, 5))); err != nil {
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
	if err := write(s, 1, chunk.One(rows(0, 4, 5))); err != nil {
		t.Errorf("repeated batch 1: %v", err)
	}
	testkit.Diff(t, "visible after a repeated batch", visible(), []int64{1, 2, 3, 4, 5})
}
