package history

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// begin starts a run of a query at an instant, as the engine does.
func (r *rig) begin(id, runID string, at time.Time) *monitor.Query {
	q := r.registry.Start(monitor.Run{ID: id, RunID: runID, Name: "orders", Application: "shop", StartedAt: at,
		Plan: "Project\n+- Scan", Settings: []monitor.Setting{{Name: "trigger", Value: "10s"}}}, monitor.NewBus())
	q.Activate([]string{"a source", "another"}, "a sink")
	return q
}

// What a server did is known by the next: also of a run whose server was killed.
func TestRunsOfEarlierServersAreKnown(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, vfs.NewLocal(), dir)
	first.registry.Versioned("0.9")
	failed := first.begin("q", "run-1", noon)
	batchAt(failed, 0, noon.Add(time.Second))
	first.flush(noon, false)
	failed.Terminate(noon.Add(time.Minute), &monitor.Failure{Message: "it broke", Condition: "DIVIDE_BY_ZERO"})
	stopped := first.begin("q", "run-2", noon.Add(2*time.Minute))
	first.flush(noon, false)
	stopped.Because("its session ended")
	stopped.Terminate(noon.Add(3*time.Minute), nil)
	first.begin("q", "run-3", noon.Add(4*time.Minute)) // and then the server is killed
	first.flush(noon, false)

	next := newRig(t, vfs.NewLocal(), dir)
	next.begin("q", "run-4", noon.Add(5*time.Minute))
	next.recall()
	runs := next.Runs()
	if len(runs) != 3 {
		t.Fatalf("%+v", runs)
	}
	for i, want := range []Run{
		{RunID: "run-3", Ended: true, State: monitor.Stopped, StartedAt: noon.Add(4 * time.Minute),
			EndedAt: noon.Add(4 * time.Minute), EndReason: monitor.ServerGone},
		{RunID: "run-2", Ended: true, State: monitor.Stopped, StartedAt: noon.Add(2 * time.Minute),
			EndedAt: noon.Add(3 * time.Minute), EndReason: "its session ended"},
		{RunID: "run-1", Ended: true, State: monitor.Failed, StartedAt: noon, EndedAt: noon.Add(time.Minute),
			Condition: "DIVIDE_BY_ZERO", Message: "it broke"},
	} {
		got := runs[i]
		if got.RunID != want.RunID || got.Ended != want.Ended || got.State != want.State ||
			!got.StartedAt.Equal(want.StartedAt) || !got.EndedAt.Equal(want.EndedAt) ||
			got.EndReason != want.EndReason || got.Condition != want.Condition || got.Message != want.Message {
			t.Errorf("run %d: got %+v, want %+v", i, got, want)
		}
		if got.Name != "orders" || got.Application != "shop" || got.Sources != "a source\nanother" ||
			got.Sink != "a sink" ||
			got.Engine != "weir 0.9" || got.Plan != "Project\n+- Scan" || len(got.Settings) != 1 ||
			got.Settings[0].Value != "10s" {
			t.Errorf("run %d: %+v", i, got)
		}
	}
}

func TestAStretchOfARun(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q, other := r.begin("q", "run-1", noon), r.begin("p", "run-2", noon)
	for i := range int64(10) {
		batchAt(q, i, noon.Add(time.Duration(i)*time.Minute))
		batchAt(other, i, noon.Add(time.Duration(i)*time.Minute))
		if i%4 == 3 {
			r.flush(noon, false)
		}
	}
	for i := range int64(25) { // of one second
		batchAt(q, 10+i, noon.Add(20*time.Minute+time.Duration(i)*time.Millisecond))
	}
	r.flush(noon.Add(time.Hour), true)
	s, err := r.Stretch(t.Context(), "run-1", noon.Add(2*time.Minute), noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Batches) != 9 || s.Batches[0].ID != 2 || len(s.Minutes) != 9 {
		t.Errorf("%d batches from %d, %d minutes; want 9 from 2, 9", len(s.Batches), s.Batches[0].ID,
			len(s.Minutes))
	}
	sum := s.Batches[8]
	if sum.Count != 25 || sum.Rows != 5 || sum.End.Sub(sum.Start) != 20*time.Millisecond {
		t.Errorf("25 batches of a second are told as %+v", sum)
	}
	f := s.Figures()
	if f.Batches != 33 || f.Values[health.BatchP95Measure] < .019 || f.Values[health.BatchP95Measure] > .021 ||
		f.Values[health.FreshP95Measure] < 1.98 || f.Values[health.FreshP95Measure] > 2.02 {
		t.Errorf("%+v", f)
	}
	if none, err := r.Stretch(t.Context(), "no such run", noon, noon.Add(time.Hour)); err != nil ||
		len(none.Batches) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}

// A disk that fails is an error with the table's name, and one that is slow is left.
func TestAHistoryThatCannotBeRead(t *testing.T) {
	broken := false
	files := vfs.NewFaulty(vfs.NewLocal(), func(c vfs.Call) vfs.Fault {
		if broken && c.Op == vfs.OpOpen {
			return vfs.Fault{Err: errors.New("input/output error")}
		}
		return vfs.Fault{}
	})
	r := newRig(t, files, t.TempDir())
	batchAt(r.begin("q", "run-1", noon), 0, noon)
	r.flush(noon, true)
	broken = true
	if _, err := r.Stretch(t.Context(), "run-1", noon, noon); err == nil || !strings.Contains(err.Error(),
		"table progress") {
		t.Errorf("got %v", err)
	}
	broken = false
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Stretch(gone, "run-1", noon, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to end", err)
	}
}

// Tables that an earlier version made get the columns that came later, and its rows stay.
func TestAnEarlierVersionsTablesAreWidened(t *testing.T) {
	dir := t.TempDir()
	old := newRig(t, vfs.NewLocal(), dir)
	narrow := &old.tables[queriesTable]
	if err := old.options.Files.RemoveAll(old.dir(narrow)); err != nil {
		t.Fatal(err)
	}
	fields := narrow.schema.Fields
	place := delta.Table{FS: old.options.Files, Dir: old.dir(narrow)}
	if _, err := place.Create(t.Context(), delta.CreateSpec{Schema: plan.Struct(fields[:8]...),
		Now: noon}); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, vfs.NewLocal(), dir)
	r.begin("q", "run-1", noon)
	r.flush(noon, false)
	r.want("queries", "run_id plan settings", `run-1 Project
+- Scan {"trigger":"10s"}`)
	if u := r.Use(); u.Problem != "" {
		t.Error(u.Problem)
	}
}

func TestOldRunsAreForgotten(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	for i := range keptRuns + 3 {
		q := r.begin("q", "run-"+strconv.Itoa(i), noon.Add(time.Duration(i)*time.Second))
		q.Terminate(noon.Add(time.Duration(i)*time.Second), nil)
	}
	runs := r.Runs()
	if len(runs) != keptRuns || !runs[keptRuns-1].StartedAt.Equal(noon.Add(3*time.Second)) {
		t.Errorf("%d runs, the oldest of %v", len(runs), runs[len(runs)-1].StartedAt)
	}
	r.forgetRuns(noon.Add(r.options.Keep + 10*time.Minute))
	if got := len(r.Runs()); got != keptRuns+3-600 {
		t.Errorf("%d runs are left", got)
	}
}

// A process that was killed between the commits of its tables, and is told the same again
// by whoever reads the log of a run: every row is there, and none twice.
func TestWhatIsToldAgainIsKeptOnce(t *testing.T) {
	dir, cut := t.TempDir(), false
	files := vfs.NewFaulty(vfs.NewLocal(), func(c vfs.Call) vfs.Fault {
		if cut && strings.Contains(c.Path, "/sources/_delta_log") && c.Op != vfs.OpOpen && c.Op != vfs.OpStat {
			return vfs.Fault{Err: errors.New("killed")}
		}
		return vfs.Fault{}
	})
	tell := func(r *rig, from, to int64) {
		q := r.begin("q", "run-1", noon)
		for i := from; i < to; i++ {
			batchAt(q, i, noon.Add(time.Duration(i)*time.Minute))
		}
	}
	first := newRig(t, files, dir)
	tell(first, 0, 3)
	first.flush(noon, false)
	batchAt(first.registry.Find("q"), 3, noon.Add(3*time.Minute))
	cut = true
	first.flush(noon, false) // progress has batch 3, sources has not

	cut = false
	next := newRig(t, files, dir)
	next.options.Mark = func() func() { return func() {} } // the runs are read from elsewhere
	next.recall()
	tell(next, 2, 6)
	next.flush(noon.Add(time.Hour), true)
	for _, table := range []string{"progress", "sources", "state_operators", "operators"} {
		got := next.read(table, "batch_id")
		if slices.Sort(got); strings.Join(got, " ") != "0 1 2 3 4 5" {
			t.Errorf("%s has batches %q", table, got)
		}
	}
	next.want("runs", "run_id state", "run-1 running")
	if got := next.read("queries", "run_id"); len(got) != 1 {
		t.Errorf("%d rows of one run", len(got))
	}
	minutes := next.read("freshness_1m", "minute")
	slices.Sort(minutes)
	if len(slices.Compact(slices.Clone(minutes))) != len(minutes) {
		t.Errorf("a minute is there twice: %q", minutes)
	}
}

// Whoever reads runs from elsewhere is asked how far it is before what waits is taken,
// and may note it once that is committed.
func TestMarksAreNotedBehindTheCommit(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.begin("q", "run-1", noon)
	batchAt(q, 0, noon)
	var steps []string
	r.options.Mark = func() func() {
		steps = append(steps, "mark")
		batchAt(q, 1, noon.Add(time.Second)) // told behind the mark, and taken along
		return func() { steps = append(steps, "noted "+strings.Join(r.read("progress", "batch_id"), " ")) }
	}
	r.flush(noon, false)
	if got := strings.Join(steps, ", "); got != "mark, noted 0 1" {
		t.Error(got)
	}
}
