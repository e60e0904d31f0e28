package crash

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/testkit"
)

// atOnce rounds run at a time: they mostly wait for the seconds of the source.
const atOnce = 6

// crashWait is how long a server may take to crash after its client knows.
const crashWait = 10 * time.Second

// steps are the points of a batch, each with how often a query comes by.
var steps = []struct {
	name   string
	always bool // in every batch, not once in a query
	few    bool // where there is no time for all of them
}{
	{stream.StepStart, false, false}, {stream.StepMetadataTemp, false, false},
	{stream.StepAdmitted, true, false}, {stream.StepOffsetsTemp, true, false},
	{stream.StepOffsetsSynced, true, false}, {stream.StepOffsetsNamed, true, false},
	{stream.StepOffsetsDone, true, false}, {stream.StepAdvancing, true, false},
	{stream.StepSourceRead, true, false}, {stream.StepOperatorDone, true, false},
	{stream.StepSinkHalf, true, true}, {stream.StepSinkWhole, true, false}, {stream.StepSinkLogged, true, false},
	{stream.StepSinkDone, true, true}, {stream.StepCommitted, true, false}, {stream.StepPurging, true, false},
	{stream.StepProgress, true, false}, {stream.StepStopping, false, false},
}

// TestEveryRowOnceAfterKillAtEveryStep crashes a server at a step, starts another
// one on its directory with the same query, and looks at the output.
func TestEveryRowOnceAfterKillAtEveryStep(t *testing.T) {
	c := startClient(t)
	var rounds []round
	for _, q := range []query{ticks(), lines()} {
		for _, step := range steps {
			if !step.few && !slow() {
				continue
			}
			rounds = append(rounds, round{q, testkit.CrashPoint{Step: step.name, N: 1}})
			if step.always && slow() {
				rounds = append(rounds, round{q, testkit.CrashPoint{Step: step.name, N: 3}})
			}
		}
	}
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, r := range rounds {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(r.q.kind+" "+r.at.Env(), func(t *testing.T) { r.play(t, c) })
		})
	}
	wg.Wait()
}

// round is one crash of one query.
type round struct {
	q  query
	at testkit.CrashPoint
}

func (r round) play(t *testing.T, c *client) {
	w := newWork(t, c)
	r.q.prepare(t, w)
	first := w.serve(t, r.at.Env())
	err := r.q.run(w, first)
	if err == nil {
		t.Fatalf("the query came to its end without step %s", r.at.Step)
	}
	if !first.Crashed(crashWait) {
		t.Fatalf("the query failed before step %s: %v", r.at.Step, err)
	}
	r.q.check(t, w, false)

	r.q.prepare(t, w)
	second := w.serve(t)
	if err := r.q.run(w, second); err != nil {
		t.Fatalf("after the crash: %v", err)
	}
	second.Stop(t)
	r.q.check(t, w, true)
}

// TestEveryRowOnceAfterKillsAtRandomMoments kills one server after the other on
// the same directory, on which every query runs, looks at the output from time to
// time, and lets the last one end.
func TestEveryRowOnceAfterKillsAtRandomMoments(t *testing.T) {
	kills, each := 3, 1
	if slow() {
		kills, each = 500, 25
	}
	origin := rand.Uint64()
	t.Logf("moments of rand.NewPCG(%d, 0)", origin)
	random := rand.New(rand.NewPCG(origin, 0))
	l := newLoop(t)
	for k := range kills {
		s := l.serve(t)
		if err := l.start(s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(time.Duration(random.Int64N(int64(2 * time.Second)))):
		case <-s.Ended():
			t.Fatal("the server ended by itself")
		}
		s.Kill9()
		if k%each == 0 {
			l.check(t, false)
		}
		l.feed(t, 2)
	}
	s := l.serve(t)
	for _, w := range l.stateful {
		w.closing(t)
	}
	if err := l.run(s); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	l.check(t, true)
}

// loop is every query on one data directory.
type loop struct {
	plain    *work
	stateful []*statefulWork
}

func newLoop(t *testing.T) *loop {
	t.Helper()
	c := startClient(t)
	l := &loop{plain: newWork(t, c)}
	for _, q := range statefulKinds {
		w := newStateful(t, c, q.kind)
		w.dir = l.plain.dir
		l.stateful = append(l.stateful, w)
	}
	l.feed(t, 5)
	return l
}

func (l *loop) feed(t *testing.T, files int) {
	t.Helper()
	l.plain.feed(t, 10*files)
	for _, w := range l.stateful {
		w.feed(t, files)
	}
}

func (l *loop) serve(t *testing.T) *testkit.Server {
	t.Helper()
	return l.plain.serve(t)
}

// start starts every query at once.
func (l *loop) start(s *testkit.Server) error {
	return l.each(func(q query) error { _, err := q.start(l.plain, s); return err },
		func(w *statefulWork) error { _, err := w.start(s); return err })
}

// run lets every query do all its input.
func (l *loop) run(s *testkit.Server) error {
	return l.each(func(q query) error { return q.run(l.plain, s) },
		func(w *statefulWork) error { return w.runOnce(s) })
}

func (l *loop) each(plain func(query) error, stateful func(*statefulWork) error) error {
	errs := make(chan error)
	n := 0
	for _, q := range []query{ticks(), lines()} {
		n++
		go func() { errs <- plain(q) }()
	}
	for _, w := range l.stateful {
		n++
		go func() { errs <- stateful(w) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

func (l *loop) check(t *testing.T, end bool) {
	t.Helper()
	for _, q := range []query{ticks(), lines()} {
		q.check(t, l.plain, end)
	}
	for _, w := range l.stateful {
		w.check(t, end)
	}
}
