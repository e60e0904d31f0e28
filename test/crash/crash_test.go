package crash

import (
	"math/rand/v2"
	"os"
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
}{
	{stream.StepStart, false}, {stream.StepMetadataTemp, false}, {stream.StepAdmitted, true},
	{stream.StepOffsetsTemp, true}, {stream.StepOffsetsSynced, true}, {stream.StepOffsetsNamed, true},
	{stream.StepOffsetsDone, true}, {stream.StepSourceRead, true}, {stream.StepOperatorDone, true},
	{stream.StepSinkDone, true}, {stream.StepCommitted, true}, {stream.StepPurging, true},
	{stream.StepProgress, true}, {stream.StepStopping, false}, {stream.StepAdvancing, true},
}

// TestEveryRowOnceAfterKillAtEveryStep crashes a server at a step, starts another
// one on its directory with the same query, and looks at the output.
func TestEveryRowOnceAfterKillAtEveryStep(t *testing.T) {
	c := startClient(t)
	var rounds []round
	for _, q := range []query{ticks(), lines()} {
		for _, step := range steps {
			rounds = append(rounds, round{q, testkit.CrashPoint{Step: step.name, N: 1}})
			if step.always {
				rounds = append(rounds, round{q, testkit.CrashPoint{Step: step.name, N: 3}})
			}
		}
	}
	if testing.Short() {
		rounds = rounds[:4]
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
	if err := r.q.run(w, first); err == nil {
		t.Fatalf("the query came to its end without step %s", r.at.Step)
	}
	if !first.Crashed(crashWait) {
		t.Fatalf("the query failed before step %s", r.at.Step)
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
// the same directory, looks at the output after each, and lets the last one end.
func TestEveryRowOnceAfterKillsAtRandomMoments(t *testing.T) {
	kills := 10
	if os.Getenv("WEIR_SLOW") != "" {
		kills = 100
	}
	origin := rand.Uint64()
	t.Logf("moments of rand.NewPCG(%d, 0)", origin)
	random := rand.New(rand.NewPCG(origin, 0))
	c := startClient(t)
	w := newWork(t, c)
	both := []query{ticks(), lines()}
	for range kills {
		w.feed(t, 20)
		s := w.serve(t)
		for _, q := range both {
			if _, err := q.start(w, s); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-time.After(time.Duration(random.Int64N(int64(1500 * time.Millisecond)))):
		case <-s.Ended():
			t.Fatal("the server ended by itself")
		}
		s.Kill9()
		for _, q := range both {
			q.check(t, w, false)
		}
	}
	s := w.serve(t)
	for _, q := range both {
		if err := q.run(w, s); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop(t)
	for _, q := range both {
		q.check(t, w, true)
	}
}
