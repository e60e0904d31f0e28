package stream

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// place gives the next query of a rig directories of its own.
func (r *rig) place(dir string) {
	r.tune = func(c *Config) {
		c.Checkpoint.Dir = filepath.Join(dir, "ck")
		hold := r.hold
		c.OpenSink = func(context.Context, string) (connector.Sink, error) {
			out := connector.Place{FS: r.fs, Dir: filepath.Join(dir, "out")}
			return &fileSink{place: out, hold: hold}, nil
		}
	}
}

// All fire at whole seconds, and one whose sink hangs delays nobody.
func TestFiveHundredQueriesKeepTheirTriggers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const queries, seconds = 500, 5
		r.trigger.Every = time.Second
		hold := make(chan struct{})
		var running []*Query
		for i := range queries {
			r.hold = nil
			if i == 0 {
				r.hold = hold
			}
			r.place(fmt.Sprintf("/q%d", i))
			running = append(running, r.mustStart(t))
		}
		synctest.Wait()
		for range seconds {
			r.tapes["a"].put(1)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		for i, q := range running {
			idle := func(p *monitor.Progress) bool { return p.Idle }
			recent := slices.DeleteFunc(q.Record().Recent(), idle)
			if i == 0 {
				if len(recent) != 0 {
					t.Errorf("the query that hangs made %d batches", len(recent))
				}
				continue
			}
			if len(recent) != seconds {
				t.Errorf("query %d made %d batches in %d seconds", i, len(recent), seconds)
			}
			for _, p := range recent {
				if p.Timestamp.Nanosecond() != 0 {
					t.Errorf("query %d: batch %d began at %v", i, p.BatchID, p.Timestamp)
				}
			}
		}
		close(hold)
		for _, q := range running {
			stop(t, q)
		}
	})
}

// Waiting for the disk takes a thread of the operating system, so that is what
// a bound is needed for.
func TestManyQueriesNeedFewThreads(t *testing.T) {
	const queries, bound = 100, 50
	r := newRig(vfs.NewLocal())
	defer r.bus.Close()
	r.registry = monitor.NewRegistry()
	r.manager = NewManager(r.registry, Options{Log: slog.New(slog.DiscardHandler)})
	r.trigger = Trigger{Kind: plan.AvailableNow}
	threads := pprof.Lookup("threadcreate")
	before, dir := threads.Count(), t.TempDir()
	var running []*Query
	for i := range queries {
		r.tapes = map[string]*tape{"a": {values: []int64{1, 2, 3}}}
		r.place(filepath.Join(dir, fmt.Sprint(i)))
		running = append(running, r.mustStart(t))
	}
	for _, q := range running {
		if err := q.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if made := threads.Count() - before; made > bound {
		t.Errorf("%d queries made %d threads", queries, made)
	}
}
