package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(kind Kind, run string, n int) Event {
	e := Event{Kind: kind, RunID: run}
	if e.droppable() {
		e.Progress = &Progress{BatchID: int64(n)}
	}
	return e
}

// next fails the test when nothing comes.
func next(t *testing.T, s *Subscription) Event {
	t.Helper()
	e, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEventsReachEveryListenerInOrder(t *testing.T) {
	bus := NewBus()
	if bus.Listening() {
		t.Error("listening without listeners")
	}
	bus.Post(event(Started, "before", 0))
	a, b := bus.Subscribe(), bus.Subscribe()
	defer a.Close()
	defer b.Close()
	q := NewRegistry().Start(Run{ID: "i", RunID: "r"}, bus)
	for id := range int64(3) {
		q.Record(batch(id, 1), trigger(id*10, id*10+1))
	}
	for _, s := range []*Subscription{a, b} {
		if e := next(t, s); e.Kind != Started || e.RunID != "r" {
			t.Errorf("%+v", e)
		}
		for id := range int64(3) {
			if e := next(t, s); e.Kind != Progressed || e.Progress.BatchID != id {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestNextEndsWithItsContextAndLosesNothing(t *testing.T) {
	bus := NewBus()
	s := bus.Subscribe()
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	bus.Post(event(Idle, "r", 1))
	if e := next(t, s); e.Kind != Idle {
		t.Errorf("%+v", e)
	}
}

func TestClosingDropsWhatIsQueuedAndEndsTheStream(t *testing.T) {
	for name, end := range map[string]func(*Bus, *Subscription){
		"subscription": func(_ *Bus, s *Subscription) { s.Close(); s.Close() },
		"bus":          func(b *Bus, _ *Subscription) { b.Close(); b.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := NewBus()
			s, waiting := bus.Subscribe(), bus.Subscribe()
			bus.Post(event(Progressed, "r", 1))
			next(t, waiting)
			ended := make(chan error)
			go func() {
				_, err := waiting.Next(context.Background())
				ended <- err
			}()
			synctest.Wait()
			end(bus, s)
			end(bus, waiting)
			if err := <-ended; err != io.EOF {
				t.Errorf("%s: the waiting listener got %v", name, err)
			}
			if e, err := s.Next(t.Context()); err != io.EOF {
				t.Errorf("%s: got %+v, %v", name, e, err)
			}
			bus.Post(event(Terminated, "r", 0))
			if bus.Listening() {
				t.Errorf("%s: still listening", name)
			}
		})
	}
	bus := NewBus()
	bus.Close()
	if _, err := bus.Subscribe().Next(t.Context()); err != io.EOF {
		t.Errorf("a closed bus gave %v", err)
	}
}

// terminate runs Terminate and returns how long it took.
func terminate(q *Query) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	go func() {
		start := time.Now()
		q.Terminate(start, nil)
		took <- time.Since(start)
	}()
	return took
}

func TestTerminateWaitsUntilTheEventWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus()
		slow, gone, fast := bus.Subscribe(), bus.Subscribe(), bus.Subscribe()
		q := NewRegistry().Start(Run{RunID: "r"}, bus)
		q.Record(batch(0, 1), trigger(0, 1))
		took := terminate(q)
		for range 3 {
			next(t, fast)
			next(t, slow)
		}
		fast.Ack()
		time.Sleep(time.Second) // slow is still sending the terminated event
		synctest.Wait()
		if len(took) > 0 {
			t.Fatal("returned before it was taken")
		}
		slow.Ack()
		time.Sleep(time.Second)
		if len(took) > 0 {
			t.Fatal("did not wait for the third listener")
		}
		gone.Close()
		if d := <-took; d != 2*time.Second {
			t.Errorf("took %v", d)
		}
		slow.Close()
		fast.Close()
	})
}

func TestTerminateGivesUpOnADeadListenerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, r := NewBus(), NewRegistry()
		dead := bus.Subscribe()
		defer dead.Close()
		for i, want := range []time.Duration{TakeLimit, 0, 0} {
			q := r.Start(Run{RunID: fmt.Sprint(i)}, bus)
			start := time.Now()
			q.Terminate(start, nil)
			if d := time.Since(start); d != want {
				t.Errorf("stop %d took %v, want %v", i, d, want)
			}
		}
		for range 3 { // it comes back and finds every event
			if e := next(t, dead); e.Kind != Started {
				t.Errorf("%+v", e)
			}
			if e := next(t, dead); e.Kind != Terminated {
				t.Errorf("%+v", e)
			}
		}
		dead.Ack()
		took := terminate(r.Start(Run{RunID: "back"}, bus))
		synctest.Wait()
		if len(took) > 0 {
			t.Error("a listener that came back is not waited for")
		}
		next(t, dead)
		next(t, dead)
		dead.Ack()
		if d := <-took; d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

func TestASlowListenerNeverDelaysAPoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus()
		s := bus.Subscribe()
		q := NewRegistry().Start(Run{RunID: "r"}, bus)
		start := time.Now()
		const batches = 3 * QueueLimit
		for id := range int64(batches) {
			q.Record(batch(id, 1), Trigger{start, start})
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("posting took %v", d)
		}
		took := terminate(q)
		var last Event
		progress := 0
		for last.Kind != Terminated {
			e := next(t, s)
			if e.Kind == Progressed {
				progress++
				if last.Progress != nil && e.Progress.BatchID <= last.Progress.BatchID {
					t.Fatalf("batch %d after %d", e.Progress.BatchID, last.Progress.BatchID)
				}
			} else if e.Kind == Terminated && last.Progress.BatchID != batches-1 {
				t.Errorf("the newest progress was lost; last is %d", last.Progress.BatchID)
			}
			last = e
		}
		s.Ack()
		<-took
		if got := s.Coalesced(); got != int64(batches-progress) || progress != QueueLimit-1 {
			t.Errorf("%d delivered, %d counted as lost", progress, got)
		}
		s.Close()
		if got := bus.Coalesced(); got != int64(batches-progress) {
			t.Errorf("the bus counts %d", got)
		}
	})
}

func TestAHeldRunIsSilentUntilAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus()
		s := bus.Subscribe()
		defer s.Close()
		q := NewRegistry().Start(Run{RunID: "r", Hold: true}, bus)
		next(t, s)
		q.Record(batch(0, 1), trigger(0, 1))
		took := terminate(q)
		synctest.Wait()
		if got := kinds(s); got != "" || len(took) > 0 {
			t.Errorf("events %q before the announcement", got)
		}
		time.Sleep(10 * time.Millisecond)
		q.Announce()
		q.Announce()
		if e := next(t, s); e.Kind != Progressed {
			t.Errorf("%+v", e)
		}
		if e := next(t, s); e.Kind != Terminated {
			t.Errorf("%+v", e)
		}
		s.Ack()
		if d := <-took; d != 10*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

func TestAHoldEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus()
		s := bus.Subscribe()
		defer s.Close()
		r := NewRegistry()
		quiet := r.Start(Run{RunID: "quiet", Hold: true}, bus)
		quiet.Record(batch(0, 1), trigger(0, 1))
		time.Sleep(HoldLimit)
		synctest.Wait()
		if got := kinds(s); got != "started progress" {
			t.Errorf("events %q", got)
		}
		busy := r.Start(Run{RunID: "busy", Hold: true}, bus)
		for id := range int64(holdEvents) {
			busy.Record(batch(id, 1), trigger(id, id))
		}
		if got := s.queue.len; got != 3 {
			t.Errorf("%d events", got)
		}
		busy.Record(batch(holdEvents, 1), trigger(holdEvents, holdEvents))
		if got := s.queue.len; got != 3+holdEvents+1 {
			t.Errorf("%d events", got)
		}
	})
}

// removeListener in PySpark deadlocks when an event follows the removal.
func TestNothingFollowsARemovalWhileEventsArePosted(t *testing.T) {
	bus := NewBus()
	stop := make(chan struct{})
	var posters sync.WaitGroup
	for i := range 2 {
		posters.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					bus.Post(event(Progressed, fmt.Sprint(i), n))
				}
			}
		})
	}
	for range 100 {
		s := bus.Subscribe()
		taken := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for n := 0; ; n++ {
				if _, err := s.Next(context.Background()); err == io.EOF {
					return
				}
				if n == 3 {
					close(taken)
				}
			}
		}()
		<-taken
		s.Close()
		if _, err := s.Next(context.Background()); err != io.EOF {
			t.Fatalf("after removal: %v", err)
		}
		<-ended
	}
	close(stop)
	posters.Wait()
}

func TestRunsInParallelKeepTheirOrder(t *testing.T) {
	bus, r := NewBus(), NewRegistry()
	const runs, batches = 8, 300
	var listeners, engines sync.WaitGroup
	subs := []*Subscription{bus.Subscribe(), bus.Subscribe(), bus.Subscribe()}
	for _, s := range subs {
		listeners.Go(func() {
			defer s.Close()
			seen := map[string]int64{}
			for ended := 0; ended < runs; {
				e, err := s.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				at, known := seen[e.RunID]
				switch {
				case e.Kind == Started && known, e.Kind != Started && !known:
					t.Errorf("%s of %s, known %v", e.Kind, e.RunID, known)
				case e.Kind == Started:
					seen[e.RunID] = 0
				case e.Kind == Progressed && e.Progress.BatchID == at:
					seen[e.RunID]++
				case e.Kind == Terminated && at == batches:
					ended++
				default:
					t.Errorf("%s of %s after %d batches", e.Kind, e.RunID, at)
				}
			}
		})
	}
	for i := range runs {
		engines.Go(func() {
			q := r.Start(Run{ID: fmt.Sprint(i), RunID: fmt.Sprint(i), Hold: i%2 == 0}, bus)
			for id := range int64(batches) {
				q.SetStatus(Status{Message: "Processing new data"})
				q.Record(batch(id, 1), trigger(id, id+1))
				if id == 20 {
					q.Announce()
				}
			}
			q.Terminate(at(batches), nil)
		})
		engines.Go(func() {
			for range 50 {
				for _, q := range r.Queries() {
					q.Snapshot()
					q.Health()
					q.Recent()
				}
			}
		})
	}
	engines.Wait()
	listeners.Wait()
}

// Any interleaving of posts and takes: each run's events arrive in order, no
// started or terminated event is lost, the newest progress arrives, and every
// lost event is counted.
func TestQueueNeverLosesMoreThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		runs := rapid.IntRange(1, 4).Draw(t, "runs")
		var q queue
		var posted, firm, lost, taken int
		order := map[*Progress]int{}
		lastTaken := map[string]int{}
		newest := map[place]*Progress{}
		take := func() {
			n := q.pop()
			if n == nil {
				return
			}
			taken++
			at := order[n.event.Progress]
			if at <= lastTaken[n.event.RunID] {
				t.Fatalf("event %d of run %s came after %d", at, n.event.RunID, lastTaken[n.event.RunID])
			}
			lastTaken[n.event.RunID] = at
			key := place{n.event.RunID, n.event.Kind}
			if newest[key] == n.event.Progress {
				delete(newest, key)
			}
			if !n.event.droppable() {
				firm--
			}
		}
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 200).Draw(t, "steps")
		for _, step := range steps {
			if step == 5 {
				take()
				continue
			}
			kind := []Kind{Progressed, Progressed, Idle, Started, Terminated}[step]
			e := Event{Kind: kind, RunID: fmt.Sprint(rapid.IntRange(1, runs).Draw(t, "run")), Progress: &Progress{}}
			posted++
			order[e.Progress] = posted
			if !e.droppable() {
				firm++
			} else {
				newest[place{e.RunID, e.Kind}] = e.Progress
			}
			lost += q.push(&node{event: e}, limit)
			if q.len > max(limit, 2*runs)+firm {
				t.Fatalf("%d events wait, limit %d", q.len, limit)
			}
		}
		for q.len > 0 {
			take()
		}
		if firm != 0 || len(newest) != 0 || taken+lost != posted || len(q.newest) != 0 {
			t.Fatalf("posted %d, taken %d, lost %d, %d firm missing, %d newest missing",
				posted, taken, lost, firm, len(newest))
		}
	})
}

func BenchmarkPost(b *testing.B) {
	bus := NewBus()
	s := bus.Subscribe()
	defer s.Close()
	e := event(Progressed, "r", 1)
	b.ReportAllocs()
	for b.Loop() {
		bus.Post(e)
	}
}
