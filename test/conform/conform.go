package conform

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// Formats are those whose sources and sinks a test opens.
type Formats []*connector.Format

// Lookup finds one by its short name.
func (l Formats) Lookup(name string) (*connector.Format, bool) {
	at := slices.IndexFunc(l, func(f *connector.Format) bool { return f.Name == name })
	if at < 0 {
		return nil, false
	}
	return l[at], true
}

// of is the format of that name, which has to be there.
func (l Formats) of(t testing.TB, name string) *connector.Format {
	t.Helper()
	f, ok := l.Lookup(name)
	if !ok {
		t.Fatalf("no format %s", name)
	}
	return f
}

// NewEnv is an engine over a file system, its clock standing still.
func NewEnv(t testing.TB, fsys vfs.FS) *connector.Env {
	t.Helper()
	files, err := vfs.NewResolver(vfs.ResolverOptions{Local: fsys, Dir: "/here"})
	if err != nil {
		t.Fatal(err)
	}
	return &connector.Env{
		Files:       files,
		Eval:        &function.Env{ANSI: true, Zone: time.UTC},
		Conf:        func(string) string { return "" },
		Parallelism: 2,
		Now:         func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
}

// ScanOf is the scan of everything that a reader describes.
func (l Formats) ScanOf(t testing.TB, env *connector.Env, r *plan.Read) *plan.Scan {
	t.Helper()
	rel, err := l.of(t, r.Format).Describe(context.Background(), env, r)
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

// OpenSource opens the source of a scan as a query does.
func (l Formats) OpenSource(
	t testing.TB, env *connector.Env, s *plan.Scan, log connector.Place,
) connector.Source {
	t.Helper()
	source, err := l.of(t, s.Relation.Format).Source(context.Background(), env, s, log)
	if err != nil {
		t.Fatalf("open source: %v", err)
	}
	return source
}

// RowsOf reads a stream into rows of values.
func RowsOf(t testing.TB, rows chunk.Rows) [][]plan.Value {
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

// SourceCase is a source that CheckSource judges.
type SourceCase struct {
	// Open gives the source as the start or restart of a query finds it whose
	// checkpoint has that name. limited asks for the smallest batches that the
	// source's options know.
	Open  func(checkpoint string, limited bool) connector.Source
	Step  func(n int) // makes new input appear, or now and then none
	Steps int
	// Unlimited is a source whose options know no limit of a batch.
	Unlimited bool
}

// CheckSource checks C1 to C3, limits and the end that AvailableNow pins.
func CheckSource(t *testing.T, c SourceCase) {
	t.Helper()
	t.Run("replay", c.replay)
	t.Run("pinned", c.pinned)
	t.Run("gauge", c.gauge)
	if !c.Unlimited {
		t.Run("limits", c.limits)
	}
}

func (c SourceCase) replay(t *testing.T) {
	source := c.Open("replay", false)
	ends := []connector.Offset{""}
	var seen [][][]plan.Value
	for n := range c.Steps {
		c.Step(n)
		from := ends[len(ends)-1]
		to := Latest(t, source, from, connector.Limit{})
		if again := Latest(t, source, to, connector.Limit{}); again != to {
			t.Fatalf("latest from %s is %s with nothing new", to, again)
		}
		if to == from {
			continue
		}
		first := RowsOf(t, source.Read(t.Context(), from, to))
		checkDates(t, source)
		testkit.Diff(t, "second read of one range", RowsOf(t, source.Read(t.Context(), from, to)), first)
		ends, seen = append(ends, to), append(seen, first)
	}
	if len(seen) == 0 {
		t.Fatal("the source never had rows")
	}
	restarted := c.Open("replay", false)
	for i, want := range seen {
		testkit.Diff(t, "read after restart", RowsOf(t, restarted.Read(t.Context(), ends[i], ends[i+1])), want)
	}
	last := len(seen) - 1
	if to := Latest(t, restarted, ends[last+1], connector.Limit{}); to != ends[last+1] {
		t.Errorf("latest from %s is %s after a restart with nothing new", ends[last+1], to)
	}
	if describe := restarted.Describe(); describe != source.Describe() {
		t.Errorf("described as %s before a restart, as %s after it", source.Describe(), describe)
	}
	// C3: forgetting what is processed leaves the rest.
	Must(t, restarted.Advance(t.Context(), ends[last]))
	testkit.Diff(t, "last range after advance", RowsOf(t, restarted.Read(t.Context(), ends[last], ends[last+1])),
		seen[last])
	Must(t, source.Close())
	Must(t, restarted.Close())
}

// pinned runs AvailableNow beside input that goes on, and a restart that takes the rest.
func (c SourceCase) pinned(t *testing.T) {
	source := c.Open("pinned", false)
	pinner, ok := source.(connector.Pinner)
	if !ok {
		Must(t, source.Close())
		return
	}
	c.Step(c.Steps)
	whole := c.Open("whole", false)
	before, _ := followed(t, whole, "", connector.Limit{})
	Must(t, whole.Close())

	end, err := pinner.Pin(t.Context())
	Must(t, err)
	c.Step(c.Steps + 1)
	c.Step(c.Steps + 3)
	rows, at := followed(t, source, "", connector.Limit{End: end})
	testkit.Diff(t, "rows up to the pinned end", rows, before)
	Must(t, source.Close())

	restarted := c.Open("pinned", false)
	rest, _ := followed(t, restarted, at, connector.Limit{})
	whole = c.Open("whole again", false)
	all, _ := followed(t, whole, "", connector.Limit{})
	testkit.Diff(t, "rows of both runs", sortedRows(slices.Concat(rows, rest)), all)
	if len(rest) == 0 {
		t.Error("nothing came after the pinned end, so nothing was shown")
	}
	Must(t, restarted.Close())
	Must(t, whole.Close())
}

// gauge asks what waits before and behind each batch.
func (c SourceCase) gauge(t *testing.T) {
	source := c.Open("gauge", false)
	gauged, ok := source.(connector.Gauged)
	if !ok {
		Must(t, source.Close())
		return
	}
	g := gauged.Gauge()
	ask := func(committed connector.Offset) connector.Backlog {
		t.Helper()
		b, err := g.Backlog(t.Context(), committed)
		Must(t, err)
		return b
	}
	at := Latest(t, source, "", connector.Limit{})
	for range source.Read(t.Context(), "", at) {
	}
	first := ask(at)
	read := 0.0
	for n := range 6 {
		b := ask(at)
		if waits := b.Rows + b.Files; waits > 0 || !b.Oldest.IsZero() {
			t.Fatalf("behind %s waits %+v, and nothing came", at, b)
		}
		c.Step(c.Steps + 10 + n)
		b = ask(at)
		to := Latest(t, source, at, connector.Limit{})
		if to == at {
			continue
		}
		// Taken, but not committed: it waits still.
		testkit.Diff(t, "backlog of an admitted batch", fmt.Sprint(ask(at)), fmt.Sprint(b))
		rows := float64(len(RowsOf(t, source.Read(t.Context(), at, to))))
		read += rows
		if b.Rows == b.Rows && b.Rows != rows || b.Rows != b.Rows && !(b.Files > 0 && b.Bytes > 0) {
			t.Errorf("behind %s waits %+v, and the batch has %v rows", at, b, rows)
		}
		at = to
	}
	if b := ask(at); b.ReadRows == b.ReadRows && b.ReadRows-first.ReadRows != read {
		t.Errorf("read %v of %v rows", b.ReadRows-first.ReadRows, read)
	}
	Must(t, source.Close())
}

// limits takes everything in the smallest batches, then in one.
func (c SourceCase) limits(t *testing.T) {
	whole := c.Open("at once", false)
	all, _ := followed(t, whole, "", connector.Limit{})
	Must(t, whole.Close())

	limited := c.Open("limited", true)
	first := Latest(t, limited, "", connector.Limit{})
	if n := len(RowsOf(t, limited.Read(t.Context(), "", first))); n >= len(all) {
		t.Errorf("the first of limited batches has %d of %d rows", n, len(all))
	}
	if l, ok := limited.(connector.Limited); ok && !l.Limited() {
		t.Error("the first batch was limited, and the source does not say so")
	}
	rows, _ := followed(t, limited, "", connector.Limit{})
	if l, ok := limited.(connector.Limited); ok && l.Limited() {
		t.Error("everything is read, and the source says that a limit holds rows back")
	}
	testkit.Diff(t, "rows of limited batches", rows, all)
	Must(t, limited.Close())

	once := c.Open("once", true)
	end := Latest(t, once, "", connector.Limit{All: true})
	testkit.Diff(t, "rows of a batch that ignores limits",
		sortedRows(RowsOf(t, once.Read(t.Context(), "", end))), all)
	Must(t, once.Close())
}

// checkDates looks at when a source says that the rows of a batch came.
func checkDates(t *testing.T, s connector.Source) {
	t.Helper()
	dated, ok := s.(connector.Dated)
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

func Latest(t *testing.T, s connector.Source, from connector.Offset, limit connector.Limit) connector.Offset {
	t.Helper()
	to, err := s.Latest(t.Context(), from, limit)
	if err != nil {
		t.Fatalf("latest from %s: %v", from, err)
	}
	return to
}

// followed reads batch by batch until there is nothing new: the rows, sorted, and
// where they end.
func followed(t *testing.T, s connector.Source, from connector.Offset, limit connector.Limit) ([][]plan.Value, connector.Offset) {
	t.Helper()
	var rows [][]plan.Value
	for {
		to := Latest(t, s, from, limit)
		if to == from {
			return sortedRows(rows), from
		}
		rows = append(rows, RowsOf(t, s.Read(t.Context(), from, to))...)
		Must(t, s.Advance(t.Context(), to))
		from = to
	}
}

// sortedRows orders rows by how they print: files and partitions come in any order.
func sortedRows(rows [][]plan.Value) [][]plan.Value {
	slices.SortFunc(rows, func(a, b []plan.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
}

// ErrCutOff is what a batch's rows fail with in the middle.
var ErrCutOff = errors.New("rows end here")

// CutOff yields the chunks and then fails.
func CutOff(chunks ...*chunk.Chunk) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		yield(nil, ErrCutOff)
	}
}

// IDSchema is the schema of the rows that CheckSink writes.
var IDSchema = plan.Struct(plan.Col("id", plan.Long), plan.Col("k", plan.String))

func IDChunk(part int, ids ...int64) *chunk.Chunk {
	c := chunk.NewChunk(IDSchema, len(ids))
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

// CheckSink checks C4 and C5 with rows of IDSchema.
func CheckSink(t *testing.T, open func() connector.Sink, visible func() []int64) {
	t.Helper()
	CheckSinkOf(t, open, visible, IDChunk)
}

// CheckSinkOf checks C4 and C5. open gives the sink as a start or restart finds
// it, visible the ids that a reader sees, ascending, rows makes rows of ids.
func CheckSinkOf(t *testing.T, open func() connector.Sink, visible func() []int64,
	rows func(part int, ids ...int64) *chunk.Chunk,
) {
	t.Helper()
	ctx := context.Background()
	write := func(s connector.Sink, id int64, batch chunk.Rows) error {
		_, err := s.Write(ctx, connector.Batch{ID: id, Rows: batch})
		return err
	}
	s := open()
	if err := write(s, 0, chunk.One(rows(0, 1, 2), rows(1, 3))); err != nil {
		t.Fatalf("batch 0: %v", err)
	}
	if err := write(s, 1, CutOff(rows(0, 4))); !errors.Is(err, ErrCutOff) {
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
	skipper, ok := s.(connector.Skipper)
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

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Dir is a folder of files with fixed times, as the recorder makes them.
type Dir struct {
	T     testing.TB
	FS    vfs.FS
	Clock int64
}

// Put writes a file. Its time is mtime in seconds since 1970, or later than all before for 0.
func (d *Dir) Put(name, text string, mtime int64) {
	d.T.Helper()
	Must(d.T, vfs.MkdirDurable(d.FS, path.Dir(name)))
	Must(d.T, vfs.WriteReplace(d.FS, name, []byte(text)))
	d.Clock++
	if mtime == 0 {
		mtime = 1717200000 + d.Clock
	}
	Must(d.T, d.FS.SetModTime(name, time.Unix(mtime, 0)))
}

// ScanAll reads what a reader describes, once.
func (l Formats) ScanAll(t testing.TB, env *connector.Env, r *plan.Read) chunk.Rows {
	t.Helper()
	return l.of(t, r.Format).Scan(t.Context(), env, l.ScanOf(t, env, r))
}

// Part says which partition the rows of a chunk belong to.
func Part(p int, c *chunk.Chunk) *chunk.Chunk { c.Part = p; return c }

// VisibleIDs are the ids of IDSchema that a reader of /r/out sees, ascending.
func (l Formats) VisibleIDs(t testing.TB, env *connector.Env, format string) []int64 {
	t.Helper()
	schema := IDSchema
	r := &plan.Read{Format: format, Schema: &schema, Paths: []string{"/r/out"}}
	if format == "delta" {
		r.Schema = nil
	}
	s := l.ScanOf(t, env, r)
	s.Attrs = slices.DeleteFunc(s.Attrs, func(a *plan.Attribute) bool { return a.Name != "id" })
	chunks, err := chunk.Collect(l.of(t, format).Scan(t.Context(), env, s))
	Must(t, err)
	return IDsOf(chunks)
}

// OpenSink opens a sink as a query does.
func (l Formats) OpenSink(
	t testing.TB, env *connector.Env, format string, spec connector.SinkSpec,
) connector.Sink {
	t.Helper()
	spec.Format = format
	s, err := l.of(t, format).Sink(t.Context(), env, spec)
	if err != nil {
		t.Fatalf("open sink: %v", err)
	}
	return s
}

// IDsOf are the values of the first column, ascending.
func IDsOf(chunks []*chunk.Chunk) []int64 {
	var ids []int64
	for _, c := range chunks {
		ids = append(ids, chunk.Values[int64](c.Cols[0])...)
	}
	slices.Sort(ids)
	return ids
}

// Condition is the condition of a user's mistake, and the text of any other error.
func Condition(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition
	}
	return fmt.Sprint(err)
}
