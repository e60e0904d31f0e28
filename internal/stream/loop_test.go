package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestBatchesReachTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(vfs.NewMemory())
		r.limit = 2
		r.tapes["a"].put(1, 2, 3)
		q := r.mustStart(t)
		if err := q.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1, 2}, {3}}); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Minute)
		r.tapes["a"].put(4)
		if err := q.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1, 2}, {3}, {4}}); diff != "" {
			t.Error(diff)
		}
		if err := q.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got, want := q.Record().Snapshot().Status.Message, "Stopped"; got != want {
			t.Errorf("status %q, want %q", got, want)
		}
	})
}

func TestAvailableNowEndsWithWhatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(vfs.NewMemory())
		r.limit, r.trigger = 2, Trigger{Kind: plan.AvailableNow}
		r.tapes["a"].put(1, 2, 3)
		q := r.mustStart(t)
		if err := q.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1, 2}, {3}}); diff != "" {
			t.Error(diff)
		}
	})
}
