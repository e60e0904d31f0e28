package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

// names are the queries that the registry shows, with their states.
func names(r *rig) string {
	var out []string
	for _, q := range r.registry.Queries() {
		out = append(out, q.RunID()+" "+string(q.Health().State))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// run is one of a query that is called like its id.
func (r *rig) run(id string, at time.Time) *monitor.Query {
	one := monitor.Run{ID: id, RunID: "run-" + id, Name: id, Application: "shop", StartedAt: at}
	return r.registry.Start(one, monitor.NewBus())
}

// A server that is killed leaves runs without an end. The next one closes them, once, at
// the time of the newest record of any of them, and shows their queries until these are started again.
func TestRunsOfAKilledServerAreClosedOnce(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, vfs.NewLocal(), dir)
	first.began = noon
	for _, id := range []string{"a", "b", "c"} {
		first.run(id, noon)
	}
	batchAt(first.registry.Find("a"), 0, noon.Add(3*time.Minute))
	first.registry.Find("c").Terminate(noon.Add(time.Minute), nil)
	first.flush(noon, false) // and then it is killed

	for range 2 {
		next := newRig(t, vfs.NewLocal(), dir)
		next.began = noon.Add(time.Hour)
		next.recall()
		next.flush(noon.Add(time.Hour), true)
		if got := names(next); got != "run-a stopped, run-b stopped" {
			t.Errorf("the fleet has %s", got)
		}
		rows := next.read("runs", "run_id", "state", "ended_at", "end_reason")
		slices.Sort(rows)
		if got, want := strings.Join(rows, "\n"), strings.Join([]string{
			"run-a running <nil> <nil>",
			fmt.Sprint("run-a stopped ", noon.Add(3*time.Minute).UnixMicro(), " the server ended while it ran"),
			"run-b running <nil> <nil>",
			fmt.Sprint("run-b stopped ", noon.Add(3*time.Minute).UnixMicro(), " the server ended while it ran"),
			"run-c running <nil> <nil>",
			fmt.Sprint("run-c stopped ", noon.Add(time.Minute).UnixMicro(), " <nil>"),
		}, "\n"); got != want {
			t.Errorf("the runs are\n%s, want\n%s", got, want)
		}
		a := next.registry.Find("a").Health()
		want := "The server ended while it ran, at 2026-03-14 12:03\u00a0UTC; its program has not started it again."
		if a.Sentence != want || a.Score != health.LeftScore || len(a.Todo) == 0 {
			t.Errorf("%q of %v", a.Sentence, a.Score)
		}
	}

	again := newRig(t, vfs.NewLocal(), dir)
	again.began = noon.Add(time.Hour)
	again.run("a", noon.Add(time.Hour))
	again.recall()
	if got := names(again); !strings.Contains(got, "run-b stopped") || strings.Contains(got, "run-a stopped") {
		t.Errorf("one was started again: %s", got)
	}
	again.registry.Start(monitor.Run{ID: "other", RunID: "o", Name: "b", Application: "shop",
		StartedAt: noon.Add(time.Hour)}, monitor.NewBus()) // with another checkpoint
	if got := names(again); strings.Contains(got, "run-b") {
		t.Errorf("the name was started again: %s", got)
	}
	if runs := again.registry.Runs(); len(runs) != 2 {
		t.Errorf("%d runs of this server", len(runs))
	}
}

// What SIGTERM ended, and what failed, is told over a restart; what its user stopped, what
// failed days ago, and a young query without a checkpoint days later are not.
func TestWhichQueriesOfEarlierServersAreTold(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, vfs.NewLocal(), dir)
	ends := map[string]func(*monitor.Query){
		"terminated": func(q *monitor.Query) {
			q.Because(monitor.ServerStopped)
			q.Terminate(noon.Add(time.Hour), nil)
		},
		"young": func(q *monitor.Query) {
			q.Because(monitor.ServerStopped)
			q.Terminate(noon.Add(time.Minute), nil)
		},
		"user": func(q *monitor.Query) { q.Terminate(noon.Add(time.Hour), nil) },
		"session": func(q *monitor.Query) {
			q.Because("its session ended")
			q.Terminate(noon.Add(time.Hour), nil)
		},
		"failed": func(q *monitor.Query) {
			q.Terminate(noon.Add(time.Hour), &monitor.Failure{Condition: "DIVIDE_BY_ZERO", Message: "boom"})
		},
	}
	for _, id := range []string{"terminated", "young", "user", "session", "failed"} {
		q := first.run(id, noon)
		batchAt(q, 7, noon.Add(time.Second))
		ends[id](q)
	}
	first.began = noon
	first.look(noon.Add(time.Hour))
	first.flush(noon.Add(time.Hour), true)

	for _, c := range []struct {
		began time.Duration
		want  string
	}{
		{2 * time.Hour, "run-failed failed, run-terminated stopped, run-young stopped"},
		{72 * time.Hour, "run-terminated stopped"},
	} {
		next := newRig(t, vfs.NewLocal(), dir)
		next.began = noon.Add(c.began)
		next.recall()
		if got := names(next); got != c.want {
			t.Errorf("%s later: %s, want %s", c.began, got, c.want)
		}
		q := next.registry.Find("failed")
		if c.began > newsFor {
			continue
		}
		a := q.Health()
		if a.Sentence != "Failed between batches, after batch 7." || a.Reason != "boom" || len(a.Why) == 0 {
			t.Errorf("%q: %q, %q", a.Sentence, a.Reason, a.Why)
		}
	}
}

// A query that was dismissed is not told again, also of a later server.
func TestDismissedQueriesAreNotToldAgain(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, vfs.NewLocal(), dir)
	first.began = noon
	q := first.run("a", noon)
	if q.Dismiss(noon) {
		t.Error("a query that runs was dismissed")
	}
	q.Terminate(noon.Add(time.Minute), &monitor.Failure{Message: "boom"})
	first.run("b", noon)
	if !q.Dismiss(noon.Add(2*time.Minute)) || q.Dismiss(noon.Add(2*time.Minute)) {
		t.Error("a query is dismissed once")
	}
	if got := names(first); strings.Contains(got, "run-a") {
		t.Error(got)
	}
	first.flush(noon.Add(2*time.Minute), false) // killed

	next := newRig(t, vfs.NewLocal(), dir)
	next.began = noon.Add(time.Hour)
	next.recall()
	if got := names(next); got != "run-b stopped" {
		t.Errorf("the fleet has %s", got)
	}
	if !next.registry.Find("b").Dismiss(noon.Add(time.Hour)) {
		t.Error("a query of an earlier server cannot be dismissed")
	}
	next.flush(noon.Add(time.Hour), true)

	last := newRig(t, vfs.NewLocal(), dir)
	last.began = noon.Add(2 * time.Hour)
	last.recall()
	if got := names(last); got != "" {
		t.Errorf("the fleet has %s", got)
	}
}

// Applications that only were watched go on without the server that watched them.
func TestRunsOfOtherEnginesAreLeftOpen(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, vfs.NewLocal(), dir)
	first.registry.Start(monitor.Run{ID: "a", RunID: "run-a", StartedAt: noon, Engine: "Spark 4.3.0"},
		monitor.NewBus())
	first.flush(noon, false)
	next := newRig(t, vfs.NewLocal(), dir)
	next.began = noon.Add(time.Hour)
	next.recall()
	next.flush(noon.Add(time.Hour), true)
	if got := names(next); got != "" {
		t.Errorf("the fleet has %s", got)
	}
	next.want("runs", "state", "running")
}
