package stream

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// inBubble runs a test in fake time over a fresh machine.
func inBubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(vfs.NewMemory())
		test(t, r)
		r.bus.Close()
	})
}

func process(t *testing.T, q *Query) {
	t.Helper()
	if err := q.ProcessAllAvailable(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func stop(t *testing.T, q *Query) {
	t.Helper()
	if err := q.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// failedWith checks that a query failed for a reason of the condition or, for
// errors without one, of the class.
func failedWith(t *testing.T, err error, want string) *plan.Error {
	t.Helper()
	var failed *plan.Error
	if !errors.As(err, &failed) || failed.Condition != "STREAM_FAILED" {
		t.Fatalf("got %v, want STREAM_FAILED", err)
	}
	cause, ok := failed.Cause.(*plan.Error)
	if !ok || cause.Condition != want && cause.Class != want {
		t.Fatalf("got %#v, want %s", failed.Cause, want)
	}
	return cause
}

func TestStopInterruptsTheBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.hold = make(chan struct{})
		r.tapes["a"].put(1, 2)
		ear := r.listen()
		q := r.mustStart(t)
		synctest.Wait()
		stop(t, q)
		if q.Err() != nil {
			t.Errorf("a stop is no failure: %v", q.Err())
		}
		if got := len(ear.take()); got != 2 {
			t.Errorf("%d events, want started and terminated", got)
		}
		r.hold = nil
		r.tapes["a"].put(3)
		q = r.mustStart(t)
		process(t, q)
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1, 2}, {3}}); diff != "" {
			t.Errorf("the interrupted batch keeps its range: %s", diff)
		}
		stop(t, q)
		stop(t, q)
	})
}

func TestStopTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.stubborn = make(chan struct{})
		r.conf[streamingPrefix+"stopTimeout"] = "5s"
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		synctest.Wait()
		began := time.Now()
		err := q.Stop(context.Background())
		var late *plan.Error
		if !errors.As(err, &late) || late.Class != "java.util.concurrent.TimeoutException" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stop took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own limit: %v", err)
		}
		close(r.stubborn)
		<-q.Done()
		if got := q.Record().Snapshot().Status.Message; got != "Stopped" {
			t.Errorf("status %q", got)
		}
		if got := r.file("/ck/commits/0"); !strings.HasPrefix(got, "! ") {
			t.Error("the batch of a stopped run was committed")
		}
	})
}

func TestStopWhileWaitingForAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.trigger.Every = time.Hour
		q := r.mustStart(t)
		synctest.Wait()
		began := time.Now()
		stop(t, q)
		if took := time.Since(began); took != 0 {
			t.Errorf("stop took %v", took)
		}
	})
}

func TestTheLaterRunStopsTheEarlier(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.tapes["a"].put(1)
		first := r.mustStart(t)
		if err := first.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.conf[streamingPrefix+"stopActiveRunOnRestart"] = "false"
		_, err := r.start()
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Class != plan.ClassJavaState {
			t.Errorf("got %v", err)
		}
		r.conf[streamingPrefix+"stopActiveRunOnRestart"] = "true"
		second := r.mustStart(t)
		select {
		case <-first.Done():
		default:
			t.Error("the first run is still active")
		}
		if first.ID() != second.ID() || first.RunID() == second.RunID() {
			t.Error("one query, two runs")
		}
		if active := r.manager.Active(); len(active) != 1 || active[0] != second {
			t.Errorf("active: %v", active)
		}
		stop(t, second)
	})
}

// A program that uses the checkpoint of another stops that one, which did not fail.
func TestAQueryWhoseCheckpointIsTakenOverSaysByWhom(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.name = "orders"
		r.tapes["a"].put(1)
		first := r.mustStart(t)
		if err := first.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.name = "copy of orders"
		second := r.mustStart(t)
		if why := first.Record().Snapshot().EndReason; why != "its checkpoint was taken over by copy of orders" {
			t.Errorf("the first was stopped because %q", why)
		}
		second.Record().Terminate(time.Now(), &monitor.Failure{Message: "boom"})
		a := second.Record().Health()
		if a.Sentence != "Failed after it took over the checkpoint of orders." || len(a.Todo) == 0 {
			t.Errorf("the second: %s, %q", a.Sentence, a.Todo)
		}
		var marks []string
		for _, m := range second.Record().Marks() {
			if m.Kind != "state" {
				marks = append(marks, m.Text)
			}
		}
		want := []string{"Started", "Stopped: its checkpoint was taken over by copy of orders",
			"Started with the checkpoint of orders, which was stopped for it", "Failed"}
		if !slices.Equal(marks, want) {
			t.Errorf("marks %q, want %q", marks, want)
		}
		stop(t, second)
	})
}

func TestNamesAreUniqueAmongActiveQueries(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.name = "q"
		first := r.mustStart(t)
		elsewhere := func(c *Config) { c.Checkpoint.Dir = "/other" }
		r.tune = elsewhere
		_, err := r.start()
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Class != plan.ClassJavaIllegal {
			t.Errorf("got %v", err)
		}
		r.tune = func(c *Config) { elsewhere(c); c.SessionID = "t" }
		stop(t, r.mustStart(t))
		stop(t, first)
		r.tune = elsewhere
		stop(t, r.mustStart(t))
	})
}

// Two processes on one checkpoint: what is written once cannot be written
// again, so one of them learns of the other.
func TestAnotherProcessOnTheCheckpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		process(t, q)
		there := newRig(r.fs)
		there.tapes = r.tapes
		other := there.mustStart(t)
		if err := other.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.tapes["a"].put(2)
		time.Sleep(time.Second)
		failed := 0
		for _, q := range []*Query{q, other} {
			select {
			case <-q.Done():
				cause := failedWith(t, q.Err(), "CONCURRENT_STREAM_LOG_UPDATE")
				if diff := cmp.Diff(cause.Args, map[string]string{"batchId": "1"}); diff != "" {
					t.Error(diff)
				}
				failed++
			default:
				stop(t, q)
			}
		}
		if failed != 1 {
			t.Errorf("%d of two failed", failed)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1}, {2}}); diff != "" {
			t.Error(diff)
		}
		there.bus.Close()
	})
}

func TestAPanicEndsOneQuery(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		healthy := r.mustStart(t)
		r.fail = func(int64, int64) error { panic("boom") }
		r.tune = func(c *Config) { c.Checkpoint.Dir = "/other" }
		q := r.mustStart(t)
		r.tapes["a"].put(1)
		err := q.ProcessAllAvailable(t.Context())
		failedWith(t, err, "INTERNAL_ERROR")
		if err := healthy.ProcessAllAvailable(t.Context()); err != nil {
			t.Error(err)
		}
		stop(t, healthy)
	})
}

func TestFailures(t *testing.T) {
	divide := plan.NewError(plan.ClassArithmetic, "DIVIDE_BY_ZERO", "division by zero.")
	cases := []struct {
		name string
		err  error
		want string
		text string
	}{
		{"a user's mistake", divide, "DIVIDE_BY_ZERO", "[DIVIDE_BY_ZERO] division by zero. SQLSTATE: 22012"},
		{"a missing file", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT},
			"java.io.FileNotFoundException", "open /x: no such file or directory"},
		{"a broken disk", &fs.PathError{Op: "read", Path: "/x", Err: syscall.EIO},
			"java.io.IOException", "read /x: input/output error"},
		{"anything else", errors.New("no route to broker"), plan.ClassSpark, "no route to broker"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fail = func(int64, int64) error { return c.err }
				r.name = "q"
				r.explain = func(plan.Node, bool) string { return "THE PLAN" }
				r.tapes["a"].put(1)
				q := r.mustStart(t)
				err := q.Await(t.Context())
				cause := failedWith(t, err, c.want)
				if cause.Error() != c.text {
					t.Errorf("cause %q, want %q", cause, c.text)
				}
				want := "[STREAM_FAILED] Query [id = " + q.ID() + ", runId = " + q.RunID() +
					"] terminated with exception: " + c.text + " SQLSTATE: XXKST"
				if diff := cmp.Diff(err.Error(), want); diff != "" {
					t.Error(diff)
				}
				wantDetail := "\n=== Streaming Query ===\nIdentifier: q [id = " + q.ID() + ", runId = " + q.RunID() +
					"]\nCurrent Committed Offsets: {}\nCurrent Available Offsets: {Tape[a]: 1}\n\n" +
					"Current State: ACTIVE\nThread State: RUNNABLE\n\nLogical Plan:\nTHE PLAN\n"
				if diff := cmp.Diff(q.Detail(), wantDetail); diff != "" {
					t.Error(diff)
				}
				status := q.Record().Snapshot().Status
				if want := "Terminated with exception: " + c.text; status.Message != want {
					t.Errorf("status %q, want %q", status.Message, want)
				}
				again := []error{q.ProcessAllAvailable(t.Context()), q.Await(t.Context())}
				if again[0] != err || again[1] != err {
					t.Errorf("repeated: %v", again)
				}
				stop(t, q)
				if len(r.manager.Active()) != 0 {
					t.Error("still active")
				}
			})
		})
	}
}

// A disk that fails ends the query under the name of the log, and a restart on
// a healthy disk repeats the batch.
func TestLogsThatCannotBeWritten(t *testing.T) {
	for _, c := range []struct{ file, condition string }{
		{"/ck/offsets/0", "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG"},
		{"/ck/commits/0", "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.COMMIT_LOG"},
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			disk := r.fs
			r.fs = vfs.NewFaulty(disk, func(call vfs.Call) vfs.Fault {
				if call.Op == vfs.OpRenameNew && call.Path == c.file {
					return vfs.Fault{Err: syscall.ENOSPC}
				}
				return vfs.Fault{}
			})
			r.tapes["a"].put(1)
			failedWith(t, r.mustStart(t).Await(t.Context()), c.condition)
			r.fs = disk
			r.trigger.Kind = plan.AvailableNow
			if err := r.mustStart(t).Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1}}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStopAllFinishesBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.hold = make(chan struct{})
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		time.AfterFunc(3*time.Second, func() { close(r.hold) })
		if err := r.manager.StopAll(ctx); err != nil {
			t.Fatal(err)
		}
		if got := r.file("/ck/commits/0"); strings.HasPrefix(got, "! ") || q.Err() != nil {
			t.Errorf("the batch was cut off: %s, %v", got, q.Err())
		}
		if _, err := r.start(); err == nil {
			t.Error("a stopped server started a query")
		}
	})
}

func TestStopAllInterruptsInTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.hold = make(chan struct{})
		r.tapes["a"].put(1)
		r.mustStart(t)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if err := r.manager.StopAll(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestTemporaryCheckpoints(t *testing.T) {
	there := func(r *rig) bool { _, err := r.fs.Stat(checkpointDir); return err == nil }
	inBubble(t, func(t *testing.T, r *rig) {
		r.tune = func(c *Config) { c.Temporary = true }
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		process(t, q)
		if !there(r) {
			t.Error("no checkpoint while it runs")
		}
		stop(t, q)
		if there(r) {
			t.Error("the checkpoint stays after a clean end")
		}
		r.fail = func(int64, int64) error { return errors.New("broken") }
		if err := r.mustStart(t).Await(t.Context()); err == nil || !there(r) {
			t.Errorf("after a failure (%v) the checkpoint is gone", err)
		}
		r.tune = func(c *Config) {
			c.Temporary, c.Checkpoint.Dir = true, "/fresh"
			c.OpenSink = func(context.Context, string) (connector.Sink, error) {
				return nil, errors.New("no such sink")
			}
		}
		if _, err := r.start(); err == nil {
			t.Error("started without a sink")
		}
		if _, err := r.fs.Stat("/fresh"); err == nil {
			t.Error("a refused start left its checkpoint")
		}
	})
}

func TestSinksThatForgetDoNotResume(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.tune = func(c *Config) { c.NoResume = true }
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		process(t, q)
		stop(t, q)
		_, err := r.start()
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Condition != "_LEGACY_ERROR_TEMP_1299" {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff(refused.Args, map[string]string{"checkpointPath": "/ck/offsets"}); diff != "" {
			t.Error(diff)
		}
	})
}

// A new checkpoint over a sink that remembers an old one would have its first
// batches taken for repeated ones.
func TestASinkOfAnotherCheckpointIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.skips, r.trigger.Kind = true, plan.AvailableNow
		r.tapes["a"].put(1)
		if err := r.mustStart(t).Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.tapes["a"] = &tape{values: []int64{7}}
		r.tune = func(c *Config) { c.Checkpoint.Dir = "/new" }
		failedWith(t, r.mustStart(t).Await(t.Context()), plan.ClassJavaState)
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1}}); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStatefulPlansAreRefusedByName(t *testing.T) {
	s := scanOf("a")
	static := scanOf("a")
	static.Streaming = false
	lit := plan.Lit(int64(1), plan.Long)
	cases := []struct {
		n    plan.Node
		want string
	}{
		{plan.NewFilter(s, plan.Lit(true, plan.Boolean)), ""},
		{unionOf(s, scanOf("a")), ""},
		{&plan.Join{Left: s, Right: static}, ""},
		{&plan.Join{Left: s, Right: plan.NewLimit(static, lit, nil)}, ""},
		{plan.NewAggregate(s, nil, nil), ""},
		{&plan.Join{Left: s, Right: scanOf("b")}, ""},
		{&plan.SetOp{Kind: plan.Union, Inputs: []plan.Node{s, s}}, "a set operation without ALL on a stream"},
	}
	for _, c := range cases {
		got := ""
		if err := refuseStateful(c.n); err != nil {
			got = err.Msg
		}
		if c.want != "" {
			c.want += " is not supported by weir."
		}
		if got != c.want {
			t.Errorf("%T: %q, want %q", c.n, got, c.want)
		}
	}
}

// wakingSource says when to ask again.
type wakingSource struct {
	*countSource
	every time.Duration
}

func (s wakingSource) NextCheck(now time.Time) time.Time { return now.Add(s.every) }

func TestIdleSourcesAreAskedWhenTheySay(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // 0: the source does not say
		want  int           // questions in the minute after the first
	}{
		{"every ten milliseconds by default", 0, 6000},
		{"when the source says", time.Second, 60},
		{"in time for idle events", time.Hour, 6},
		{"never in the past", -time.Second, 60_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				asked := 0
				r.asked = func() { asked++ }
				r.open = func(s countSource) connector.Source { return wakingSource{&s, c.every} }
				if c.every == 0 {
					r.open = nil
				}
				q := r.mustStart(t)
				time.Sleep(time.Minute + time.Microsecond)
				synctest.Wait()
				if got := asked - 1; got != c.want {
					t.Errorf("asked %d times, want %d", got, c.want)
				}
				before := time.Now()
				r.tapes["a"].put(1)
				if err := q.ProcessAllAvailable(t.Context()); err != nil || time.Since(before) != 0 {
					t.Errorf("processAllAvailable: %v after %v", err, time.Since(before))
				}
				stop(t, q)
			})
		})
	}
}

func TestProcessAllAvailableGivesUpWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.hold = make(chan struct{})
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.ProcessAllAvailable(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := q.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		stop(t, q)
	})
}

// Rows that arrive during the last batch before the call belong to it.
func TestProcessAllAvailableCoversTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.hold = make(chan struct{}, 10)
		r.tapes["a"].put(1)
		q := r.mustStart(t)
		synctest.Wait()
		r.tapes["a"].put(2) // the batch of 1 runs
		go func() {
			for range 2 {
				time.Sleep(time.Second)
				r.hold <- struct{}{}
			}
		}()
		process(t, q)
		if got := slices.Concat(contents(t, r.out())...); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("got %v", got)
		}
		stop(t, q)
	})
}

// What was pinned at nothing stays at nothing, though data may come before the
// first batch; else AvailableNow might never end.
func TestAvailableNowPinnedAtNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.trigger.Kind = plan.AvailableNow
		tape := r.tapes["a"]
		r.open = func(s countSource) connector.Source { return growingSource{&s, tape} }
		if err := r.mustStart(t).Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64(nil)); diff != "" {
			t.Error(diff)
		}
	})
}

// growingSource grows when it is pinned.
type growingSource struct {
	*countSource
	tape *tape
}

// Pin answers "", so the source keeps to its end, nothing, by itself.
func (s growingSource) Pin(ctx context.Context) (connector.Offset, error) {
	defer s.tape.put(1)
	return s.countSource.Pin(ctx)
}

func (s growingSource) Latest(context.Context, connector.Offset, connector.Limit) (connector.Offset, error) {
	return "", nil
}

func TestSourcesHearThatABatchIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.limit, r.trigger.Kind = 1, plan.AvailableNow
		r.tapes["a"].put(1, 2, 3)
		if err := r.mustStart(t).Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.tapes["a"].gone; got != 2 {
			t.Errorf("advanced to %d, want 2: the last batch is told when the next is fixed", got)
		}
	})
}

// A run is active, so that no other takes its place, before it has a record.
func TestARunThatIsNotRecordedYetIsNotSampled(t *testing.T) {
	q := &Query{}
	q.sample()
	if q.Record() != nil {
		t.Error("sampling made a record")
	}
}
