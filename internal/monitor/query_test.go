package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// named returns the recorded command forms of one query, oldest first.
func named(t *testing.T, name string) []recording {
	t.Helper()
	var out []recording
	for _, r := range recordings(t, "spark_progress.jsonl") {
		if r.form == "command" && parseProgress(t, r).Name == name {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no recording of %s", name)
	}
	return out
}

// facts takes from a recorded progress what an engine would know.
func facts(t *testing.T, r recording) (*Progress, Trigger) {
	t.Helper()
	p := parseProgress(t, r)
	at := Trigger{p.Timestamp, p.Timestamp.Add(time.Duration(p.BatchDurationMs) * time.Millisecond)}
	p.ID, p.RunID, p.Name, p.Timestamp, p.BatchDurationMs = "", "", "", time.Time{}, 0
	for i := range p.Sources {
		p.Sources[i].InputRowsPerSecond, p.Sources[i].ProcessedRowsPerSecond = -1, -1
	}
	return p, at
}

func runOf(p *Progress) Run {
	return Run{ID: p.ID, RunID: p.RunID, Name: p.Name, StartedAt: p.Timestamp}
}

// A one-second trigger over the rate source: Spark counts every trigger and no
// poll comes between them, so weir's numbers must be the same to the last digit.
func TestRecordComputesSparksRates(t *testing.T) {
	all := named(t, "r")[1:] // an idle trigger, which was not recorded, follows the first batch
	q := NewRegistry().Start(runOf(parseProgress(t, all[0])), NewBus())
	for i, r := range all {
		q.Record(facts(t, r))
		got := withoutTotals(string(q.Last().AppendCommandJSON(nil)))
		if i == 0 {
			if !strings.Contains(got, `"inputRowsPerSecond":0.0,"processedRowsPerSecond":42.73504273504273,`) {
				t.Errorf("first batch: %s", got)
			}
			continue
		}
		if got != r.text {
			t.Error(cmp.Diff(got, r.text))
		}
	}
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		rows, since, took int64
		first             bool
		input, processed  float64
	}{
		{rows: 5, since: 1000, took: 200, input: 5, processed: 25},
		{rows: 5, since: 1000, took: 200, first: true, input: 0, processed: 25},
		{rows: 10, since: 1001, took: 322, input: 9.990009990009991, processed: 31.055900621118013},
		{rows: 0, since: 10, took: 10},
		{rows: 7, since: 0, took: 0, input: 7000, processed: 7000},
		{rows: 7, since: -5, took: -5, input: 7000, processed: 7000},
	} {
		input, processed := Rates(c.rows, c.since, c.took, c.first)
		if input != c.input || processed != c.processed {
			t.Errorf("%+v: got %v and %v", c, input, processed)
		}
	}
}

// Batches and idle entries of a windowed count, as recorded: an idle entry
// repeats what the state holds and zeroes what the batch did.
func TestIdleEntriesAreWrittenAsSparkWritesThem(t *testing.T) {
	for _, name := range []string{"wm", "idle0"} {
		all := named(t, name)
		run := runOf(parseProgress(t, all[0]))
		run.IdleEvery = 1500 * time.Millisecond
		q := NewRegistry().Start(run, NewBus())
		idle := 0
		for _, r := range all {
			p, at := facts(t, r)
			if strings.Contains(r.text, "addBatch") {
				q.Record(p, at)
				continue
			}
			idle++
			it := IdleTrigger{Trigger: at, BatchID: p.BatchID, Durations: p.Durations, Sink: p.Sink.Description}
			if p.EventTime != nil {
				it.WatermarkMs = p.EventTime.WatermarkMs
			}
			for _, s := range p.Sources {
				it.Sources = append(it.Sources, IdleSource{s.Description, s.EndOffset, s.LatestOffset, s.Metrics})
			}
			q.Idle(it)
			if got := withoutTotals(string(q.Last().AppendCommandJSON(nil))); got != r.text {
				t.Errorf("%s\n%s", name, cmp.Diff(got, r.text))
			}
		}
		if idle < 3 || len(q.Recent()) != len(all) {
			t.Errorf("%s: %d idle entries, %d of %d kept", name, idle, len(q.Recent()), len(all))
		}
	}
}

func at(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms) }

func trigger(start, end int64) Trigger { return Trigger{at(start), at(end)} }

// kinds lists what waits for a subscriber, without blocking.
func kinds(s *Subscription) string {
	var out []string
	for n := s.queue.head; n != nil; n = n.next {
		out = append(out, n.event.Kind.String())
	}
	return strings.Join(out, " ")
}

func batch(id int64, rows int64) *Progress {
	return &Progress{
		BatchID: id, Sources: []Source{{NumInputRows: rows}}, Sink: Sink{NumOutputRows: rows},
	}
}

func TestIdleTriggersCountOnlyAnIntervalApart(t *testing.T) {
	bus := NewBus()
	sub := bus.Subscribe()
	defer sub.Close()
	q := NewRegistry().Start(Run{RunID: "r"}, bus)
	for ms := int64(0); ms < 25_000; ms += 10 { // polls
		if due := q.IdleDue(at(ms + 1)); due != (ms == 0 || ms == 10_000 || ms == 20_000) {
			t.Fatalf("due is %v after %d ms", due, ms)
		}
		q.Idle(IdleTrigger{Trigger: trigger(ms, ms+1)})
	}
	q.Record(batch(0, 10), trigger(25_000, 25_100))
	if got, want := kinds(sub), "started idle idle progress"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if got := q.Last().InputRowsPerSecond(); got != 2 { // 10 rows in the 5 s since the last idle entry
		t.Errorf("input rate %v", got)
	}
	if got := len(q.Recent()); got != 4 {
		t.Errorf("%d entries", got)
	}
	q.Idle(IdleTrigger{Trigger: trigger(25_110, 25_111)})
	q.Record(batch(1, 10), trigger(26_000, 26_100))
	if got := q.Last().InputRowsPerSecond(); got != 10 {
		t.Errorf("a poll counted: input rate %v", got)
	}
	q.Idle(IdleTrigger{Trigger: trigger(40_000, 40_001)})
	if got, want := kinds(sub), "started idle idle progress progress idle"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

func TestIdleAfterBatchesThatDoNotCountTheirRows(t *testing.T) {
	q := NewRegistry().Start(Run{RunID: "r"}, NewBus())
	p := batch(0, 1)
	p.Sink.NumOutputRows = UncountedRows
	q.Record(p, trigger(0, 1))
	q.Idle(IdleTrigger{Trigger: trigger(10_001, 10_002), BatchID: 1})
	if last := q.Last(); last.Sink.NumOutputRows != UncountedRows || !last.Idle || last.BatchID != 1 {
		t.Errorf("%+v", last)
	}
}

func TestBatchDurationCoversTheTrigger(t *testing.T) {
	q := NewRegistry().Start(Run{RunID: "r"}, NewBus())
	p := batch(0, 100)
	p.Durations.Add(TriggerExecution, 12*time.Millisecond)
	q.Record(p, trigger(0, 11))
	if p.BatchDurationMs != 12 {
		t.Errorf("%d ms", p.BatchDurationMs)
	}
	p = batch(1, 100)
	q.Record(p, trigger(50, 40)) // the clock stepped back
	if p.BatchDurationMs != 0 || p.ProcessedRowsPerSecond() != 100_000 || p.InputRowsPerSecond() != 2000 {
		t.Errorf("%+v", p)
	}
}

func TestDurationsAddUpAndNeverGoBack(t *testing.T) {
	var d Durations
	d.Add(LatestOffset, 1500*time.Microsecond)
	d.Add(LatestOffset, 600*time.Microsecond)
	d.Add(WalCommit, -time.Second)
	if got, want := string(d.append(nil, phasesByName)), `{"latestOffset":2,"walCommit":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Kept counts are those of Spark 4.3.0 with numRecentProgressUpdates set so.
func TestRecentKeepsOneLessThanItsLimit(t *testing.T) {
	for limit, kept := range map[int]int{0: 99, 1: 0, 2: 1, 3: 2, 100: 99} {
		q := NewRegistry().Start(Run{RunID: "r", Recent: limit}, NewBus())
		if q.Last() != nil || len(q.Recent()) != 0 {
			t.Errorf("limit %d: progress before the first batch", limit)
		}
		for id := int64(0); id < 250; id++ {
			q.Record(batch(id, 1), trigger(id*10, id*10+1))
		}
		recent := q.Recent()
		if len(recent) != kept {
			t.Errorf("limit %d keeps %d, want %d", limit, len(recent), kept)
			continue
		}
		for i, p := range recent {
			if want := int64(250 - kept + i); p.BatchID != want {
				t.Errorf("limit %d: entry %d is batch %d, want %d", limit, i, p.BatchID, want)
			}
		}
		if last := q.Last(); kept > 0 && last != recent[kept-1] || kept == 0 && last != nil {
			t.Errorf("limit %d: last is %v", limit, last)
		}
	}
}

func TestStatesOfARun(t *testing.T) {
	q := NewRegistry().Start(Run{RunID: "r"}, NewBus())
	if s := q.Snapshot(); s.State != Initializing || s.Status.Message == "" {
		t.Errorf("%+v", s)
	}
	q.Activate([]string{"a"}, "b")
	q.SetStatus(Status{"Processing new data", true, true})
	if s := q.Snapshot(); s.State != Active || s.Status != (Status{"Processing new data", true, true}) {
		t.Errorf("%+v", s)
	}
	q.Terminate(at(1), &Failure{Message: "[X] no", Trace: "j.E: [X] no", Condition: "X"})
	q.Terminate(at(2), nil)
	q.SetStatus(Status{Message: "late"})
	q.Activate(nil, "late")
	s := q.Snapshot()
	status := Status{Message: "Terminated with exception: [X] no"}
	if s.State != Failed || s.Status != status || !s.EndedAt.Equal(at(1)) {
		t.Errorf("%+v", s)
	}
	stopped := NewRegistry().Start(Run{RunID: "r"}, NewBus())
	stopped.Terminate(at(1), nil)
	if s := stopped.Snapshot(); s.State != Stopped || s.Status != (Status{Message: "Stopped"}) {
		t.Errorf("%+v", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("progress of an ended run was accepted")
		}
	}()
	stopped.Record(batch(0, 1), trigger(0, 1))
}

func TestRegistryShowsTheNewestRunOfEachQuery(t *testing.T) {
	r, bus := NewRegistry(), NewBus()
	a1 := r.Start(Run{ID: "a", RunID: "a1"}, bus)
	b1 := r.Start(Run{ID: "b", RunID: "b1"}, bus)
	a2 := r.Start(Run{ID: "a", RunID: "a2"}, bus)
	if got := r.Queries(); len(got) != 2 || got[0] != b1 || got[1] != a2 {
		t.Errorf("%v", got)
	}
	if r.Find("a") != a2 || r.Find("a1") != a1 || r.Find("b") != b1 || r.Find("x") != nil {
		t.Error("found another run")
	}
}

func TestRegistryForgetsTheOldestEndedRuns(t *testing.T) {
	r, bus := NewRegistry(), NewBus()
	live := r.Start(Run{ID: "live", RunID: "live"}, bus)
	var ended []*Query
	for i := range EndedLimit + 50 {
		q := r.Start(Run{ID: string(rune('A' + i)), RunID: string(rune('A' + i))}, bus)
		q.Terminate(at(int64(i)), nil)
		ended = append(ended, q)
	}
	got, newest := r.Queries(), ended[len(ended)-1]
	if len(got) != EndedLimit+1 || got[0] != live || got[1] != ended[50] || got[EndedLimit] != newest {
		t.Errorf("%d runs", len(got))
	}
	if r.Find(ended[49].ID()) != nil || r.Find(ended[50].ID()) == nil {
		t.Error("the wrong run was forgotten")
	}
}

func TestOnlyAStoppedQuerySaysWhy(t *testing.T) {
	r, bus := NewRegistry(), NewBus()
	failed := r.Start(Run{ID: "j", RunID: "s", StartedAt: at(1)}, bus)
	failed.Terminate(at(30_000), &Failure{Message: "[X] no", Condition: "X"})
	failed.Because("too late")
	stopped := r.Start(Run{ID: "k", RunID: "t", StartedAt: at(2)}, bus)
	stopped.Because("its session was idle for 1h0m0s")
	if s := stopped.Snapshot(); s.EndReason != "" {
		t.Errorf("a running query ended because %s", s.EndReason)
	}
	stopped.Because("the server was stopped")
	stopped.Terminate(at(50_000), nil)
	if got := stopped.Snapshot().EndReason; got != "its session was idle for 1h0m0s" {
		t.Errorf("stopped because %q", got)
	}
	if got := failed.Snapshot().EndReason; got != "" {
		t.Errorf("failed because %q", got)
	}
}

func TestARestartKeepsThePastAndIsNamed(t *testing.T) {
	r, bus := NewRegistry(), NewBus()
	first := r.Start(Run{ID: "q", RunID: "1", StartedAt: at(0)}, bus)
	first.Sample(at(10_000), nil)
	first.Terminate(at(60_000), &Failure{Message: "[X] no"})
	if a := first.Health(); a.State != health.Failed || a.Reason != "X: no" {
		t.Errorf("got %s, %q", a.State, a.Reason)
	}
	second := r.Start(Run{ID: "q", RunID: "2", StartedAt: at(90_000)}, bus)
	second.Sample(at(91_000), nil)
	if a := second.Health(); a.State != health.Restarting {
		t.Errorf("got %s before the first batch", a.State)
	}
	second.Begin(7, at(92_000))
	second.Committed(BatchOf(batch(7, 10), at(92_000), at(93_000)))
	second.Sample(at(94_000), nil)
	if a := second.Health(); a.State != health.Starting {
		t.Errorf("got %s after a batch", a.State)
	}
	var marks []string
	for _, m := range second.Marks() {
		marks = append(marks, m.Kind)
	}
	want := []string{"started", "state", "failed", "started", "state", "state"}
	if diff := cmp.Diff(marks, want); diff != "" {
		t.Error(diff)
	}
	if _, failed := second.Strip(at(94_000)); failed != 1 {
		t.Errorf("failed %d times", failed)
	}
}
