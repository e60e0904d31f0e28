package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// rig is a store without its goroutine: the test is the clock.
type rig struct {
	*Store
	t        testing.TB
	registry *monitor.Registry
}

func newRig(t testing.TB, files vfs.FS, dir string) *rig {
	r := &rig{t: t, registry: monitor.NewRegistry()}
	r.Store = newStore(Options{
		Registry: r.registry, Files: files, Dir: dir, Keep: 14 * 24 * time.Hour, Bytes: 1 << 30,
	})
	r.registry.Follow(r.Store)
	r.open()
	return r
}

func (r *rig) start(name string) *monitor.Query {
	q := r.registry.Start(monitor.Run{ID: "id-" + name, RunID: "run-" + name, Name: name, StartedAt: noon},
		monitor.NewBus())
	q.Activate([]string{"a source"}, "a sink")
	return q
}

// batch lets a query do one, that reads 5 rows and takes 20 ms.
func batchAt(q *monitor.Query, id int64, end time.Time) {
	start := end.Add(-20 * time.Millisecond)
	p := &monitor.Progress{BatchID: id, Sources: []monitor.Source{{
		Description: "a source", NumInputRows: 5, StartOffset: fmt.Sprint(id), EndOffset: fmt.Sprint(id + 1),
	}}, StateOperators: []monitor.StateOperator{{Name: "dedupe", NumRowsTotal: 7, NumRowsUpdated: 2}},
		Sink: monitor.Sink{NumOutputRows: monitor.UncountedRows}}
	p.Durations.Add(monitor.AddBatch, 15*time.Millisecond)
	q.Record(p, monitor.Trigger{Start: start, End: end})
	b := monitor.BatchOf(p, start, end)
	b.Operators = []health.Operator{{Name: "Project", Seconds: .01, Rows: 5, Partitions: []float64{.002, .008}}}
	b.Delivery = &health.Sketch{}
	b.Delivery.Add(2, 5)
	q.Committed(b)
}

// read gives a table's rows, each a text of some columns.
func (r *rig) read(table string, columns ...string) []string {
	r.t.Helper()
	s, err := delta.Table{FS: r.options.Files, Dir: filepath.Join(r.options.Dir, table)}.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	chunks, err := chunk.Collect(s.Read(r.t.Context(), columns))
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, c := range chunks {
		for i := range c.Rows {
			out = append(out, strings.TrimSpace(fmt.Sprintln(c.Row(i)...)))
		}
	}
	return out
}

func (r *rig) want(table, columns string, want ...string) {
	r.t.Helper()
	got := r.read(table, strings.Fields(columns)...)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		r.t.Errorf("%s of %s: got %q, want %q", columns, table, got, want)
	}
}

func TestEveryTableHasWhatHappened(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.start("orders")
	batchAt(q, 0, noon)
	batchAt(q, 1, noon.Add(time.Second))
	r.look(noon)
	q.Terminate(noon.Add(2*time.Second), &monitor.Failure{Message: "it broke", Condition: "DIVIDE_BY_ZERO"})
	r.look(noon.Add(2 * time.Second))
	r.flush(noon.Add(time.Minute), true)

	r.want("runs", "query_name state error_condition error_message",
		"orders running <nil> <nil>", "orders failed DIVIDE_BY_ZERO it broke")
	r.want("queries", "query_id run_id sources sink", "id-orders run-orders a source a sink")
	r.want("progress", "batch_id batches input_rows output_rows duration_ms processed_rows_per_second no_data",
		"0 1 5 <nil> 20 250 false", "1 1 5 <nil> 20 250 false")
	r.want("sources", "batch_id start_offset end_offset latest_offset input_rows", "0 0 1 <nil> 5", "1 1 2 <nil> 5")
	r.want("state_operators", "batch_id operator rows_total rows_updated", "0 dedupe 7 2", "1 dedupe 7 2")
	r.want("operators", "operator time_ms rows partitions slowest_partition_ms", "Project 10 5 2 8", "Project 10 5 2 8")
	r.want("freshness_1m", "minute rows max_ms", fmt.Sprint(noon.UnixMicro(), " 10 2000"))
	if got := r.read("health_events", "to_state"); len(got) == 0 || got[len(got)-1] != "failed" {
		t.Errorf("verdicts %q, want failed last", got)
	}
	if u := r.Use(); u.Dropped != 0 || u.Problem != "" || u.Bytes == 0 {
		t.Errorf("%+v", u)
	}
}

// Ten batches a second have a row each, with one more they are one row.
func TestManyBatchesOfASecondAreOneRow(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	slow, fast := r.start("slow"), r.start("fast")
	for i := range int64(25) {
		if i < 10 {
			batchAt(slow, i, noon.Add(time.Duration(i)*time.Millisecond))
		}
		batchAt(fast, i, noon.Add(time.Duration(i)*time.Millisecond))
	}
	batchAt(fast, 25, noon.Add(time.Second))
	r.flush(noon.Add(time.Minute), true)
	if got := r.read("progress", "query_name"); len(got) != 12 {
		t.Errorf("%d rows, want 10 of slow and 2 of fast", len(got))
	}
	var got []string
	for _, row := range r.read("progress", "query_name", "first_batch_id", "batch_id", "batches", "input_rows",
		"duration_ms") {
		if strings.HasPrefix(row, "fast") {
			got = append(got, row)
		}
	}
	if want := "fast 0 24 25 125 500|fast 25 25 1 5 20"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, row := range r.read("sources", "query_name", "batches", "start_offset", "end_offset", "input_rows") {
		if strings.HasPrefix(row, "fast 25 ") && row != "fast 25 0 25 125" {
			t.Error(row)
		}
	}
}

func TestAFullDiskIsCountedAndOver(t *testing.T) {
	var full atomic.Bool
	files := vfs.NewFaulty(vfs.NewLocal(), func(c vfs.Call) vfs.Fault {
		if full.Load() && c.Op == vfs.OpCreateNew {
			return vfs.Fault{Err: errors.New("no space left on device")}
		}
		return vfs.Fault{}
	})
	r := newRig(t, files, t.TempDir())
	q := r.start("orders")
	full.Store(true)
	batchAt(q, 0, noon)
	r.flush(noon, false)
	if u := r.Use(); u.Dropped == 0 || !strings.Contains(u.Problem, "no space left") {
		t.Errorf("%+v", u)
	}
	full.Store(false)
	batchAt(q, 1, noon.Add(time.Second))
	r.flush(noon.Add(time.Minute), false)
	r.want("progress", "batch_id", "1")
	if u := r.Use(); u.Problem != "" {
		t.Errorf("%+v", u)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.start("orders")
	for i := range int64(mostWaiting + 3) {
		batchAt(q, i, noon.Add(time.Duration(i)*time.Second))
	}
	if len(r.waiting) != mostWaiting || r.Use().Dropped == 0 {
		t.Errorf("%d wait, %d dropped", len(r.waiting), r.Use().Dropped)
	}
}

func TestARestartGoesOn(t *testing.T) {
	dir := t.TempDir()
	for i := range int64(2) {
		r := newRig(t, vfs.NewLocal(), dir)
		batchAt(r.start("orders"), i, noon)
		r.flush(noon, true)
		if i == 1 {
			if got := r.read("progress", "batch_id"); len(got) != 2 {
				t.Errorf("got %q, want the batches of both", got)
			}
		}
	}
}

func TestOldDaysAreForgotten(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.start("orders")
	for i := range int64(20) {
		at := noon.Add(time.Duration(i) * 24 * time.Hour)
		batchAt(q, i, at)
		r.flush(at, true)
	}
	r.maintain(noon.Add(19 * 24 * time.Hour))
	got := r.read("progress", "batch_id")
	if len(got) != 15 {
		t.Errorf("%d days are left, want the last 14 and this one: %q", len(got), got)
	}
}

func TestTooMuchIsForgottenOldestFirst(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.start("orders")
	for i := range int64(8) {
		batchAt(q, i, noon.Add(time.Duration(i)*24*time.Hour))
		r.flush(noon, true)
	}
	r.options.Bytes = r.bytes() / 2
	r.maintain(noon)
	if r.bytes() > r.options.Bytes {
		t.Errorf("%d bytes are left of %d", r.bytes(), r.options.Bytes)
	}
	got := strings.Join(r.read("progress", "batch_id"), " ")
	if strings.Contains(got, "0") || !strings.Contains(got, "7") {
		t.Errorf("batches %s are left, want the newest", got)
	}
}

// The files of a day become one, with the same rows, and the old ones are removed once
// no reader can need them.
func TestTheFilesOfADayArePacked(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	r.options.Keep = time.Since(noon) + 1000*time.Hour
	q := r.start("orders")
	for i := range int64(6) {
		batchAt(q, i, noon.Add(time.Duration(i/3)*24*time.Hour))
		r.flush(noon, true)
	}
	for i := range int64(spillAt) { // arrives meanwhile
		batchAt(q, 6+i, noon.Add(time.Duration(48*3600+i)*time.Second))
	}
	now := time.Now()
	r.maintain(now.Add(-time.Minute))
	if len(r.waiting) != 0 {
		t.Errorf("%d batches still wait behind the packing", len(r.waiting))
	}
	table := &r.tables[progressTable]
	if n, _ := table.snapshot.NumFiles(); n != 3 {
		t.Errorf("%d files, want one for each day and that of the batches that came meanwhile", n)
	}
	if got := len(r.read("progress", "batch_id")); got != 6+spillAt {
		t.Errorf("%d rows, want %d", got, 6+spillAt)
	}
	r.maintain(now.Add(25 * time.Hour))
	files, err := filepath.Glob(filepath.Join(r.dir(table), "*.parquet"))
	if err != nil || len(files) != 3 {
		t.Errorf("%d files on disk, want 3: %v", len(files), err)
	}
}

func TestTheGuideListsEveryColumn(t *testing.T) {
	text, err := os.ReadFile("../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables() {
		if !strings.Contains(string(text), "## "+table.name+"\n\nIt has "+table.comment+".\n") {
			t.Errorf("docs/history.md lacks the table %s: %s", table.name, table.comment)
		}
		for _, c := range table.columns {
			line := fmt.Sprintf("| `%s` | %s | %s | %s |", c.name, strings.ToLower(c.typ.SQL()), c.unit, c.meaning)
			if !strings.Contains(string(text), line+"\n") {
				t.Errorf("docs/history.md lacks, at %s:\n%s", table.name, line)
			}
		}
	}
}

// Two hundred queries with ten batches a second: what a second of them costs, from the
// tap to the durable files, with a commit for every sixty.
func BenchmarkTwoHundredQueries(b *testing.B) {
	r := newRig(b, vfs.NewLocal(), b.TempDir())
	var list []*monitor.Query
	for i := range 200 {
		q := r.start(fmt.Sprint("q", i))
		batchAt(q, 0, noon)
		list = append(list, q)
	}
	b.ReportAllocs()
	at := noon
	for i := 0; b.Loop(); i++ {
		for range 10 {
			at = at.Add(100 * time.Millisecond)
			for _, q := range list {
				done := monitor.BatchOf(q.Last(), at, at)
				done.Operators = []health.Operator{{Name: "Project", Seconds: .01}, {Name: "Scan", Seconds: .01}}
				r.Committed(q, q.Last(), &done)
			}
		}
		if len(r.waiting) >= spillAt {
			r.spill()
		}
		if i%60 == 59 {
			r.flush(at, false)
		}
	}
}
