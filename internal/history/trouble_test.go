package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// While the disk does not answer batches go on: what waits is bounded, what is beyond it is
// counted, and all that waited is there once the disk answers.
func TestASlowDiskHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		answers := make(chan struct{})
		files := vfs.NewFaulty(vfs.NewMemory(), func(c vfs.Call) vfs.Fault {
			if slow.Load() && (c.Op == vfs.OpCreateNew || c.Op == vfs.OpSync) {
				<-answers
			}
			return vfs.Fault{}
		})
		r := newRig(t, files, "/history")
		q := r.start("orders")
		batchAt(q, 0, noon)
		slow.Store(true)
		flushed := make(chan bool)
		go func() {
			r.flush(noon, false)
			close(flushed)
		}()
		time.Sleep(time.Minute)
		for i := range int64(mostWaiting + 7) { // by the goroutine that holds the disk up: it must not wait
			batchAt(q, 1+i, noon.Add(time.Duration(1+i)*time.Second))
		}
		select {
		case <-flushed:
			t.Error("the disk was not slow")
		default:
		}
		if u := r.Use(); u.Dropped != 7 {
			t.Errorf("%d rows are counted as dropped, want 7", u.Dropped)
		}
		slow.Store(false)
		close(answers)
		<-flushed
		r.flush(noon.Add(time.Minute), true)
		if got := len(r.read("progress", "batch_id")); got != 1+mostWaiting {
			t.Errorf("%d rows, want %d", got, 1+mostWaiting)
		}
		if u := r.Use(); u.Problem != "" || u.Dropped != 7 {
			t.Errorf("%+v", u)
		}
	})
}

// A disk that loses power at any file operation: the next process, which is told again what
// was not noted as kept, has every batch once in every table.
func TestACrashAtAnyMomentLosesAndDoublesNothing(t *testing.T) {
	var noted int64 // the newest batch that need not be told again
	tell := func(r *rig, from, to int64) {
		q := r.begin("q", "run-1", noon)
		for i := from; i < to; i++ {
			batchAt(q, i, noon.Add(time.Duration(i)*time.Minute))
		}
	}
	testkit.CrashDisk(t, testkit.DiskProgram{
		Points: 12,
		Run: func(disk *vfs.Crashable) error {
			noted = -1
			r := newRig(t, disk, "/history")
			for i := range int64(3) {
				r.options.Mark = r.noting(&noted, 2*i+1)
				tell(r, 2*i, 2*i+2)
				r.flush(noon, false)
			}
			if disk.Crashed() {
				return vfs.ErrCrashed
			}
			return nil
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			r := newRig(t, disk, "/history")
			r.recall()
			tell(r, noted+1, 7)
			r.flush(noon.Add(time.Hour), true)
			for _, table := range []string{"progress", "sources", "state_operators", "operators"} {
				got := r.read(table, "batch_id")
				if slices.Sort(got); strings.Join(got, " ") != "0 1 2 3 4 5 6" {
					t.Errorf("%s has batches %q", table, got)
				}
			}
			if u := r.Use(); u.Problem != "" || u.Dropped != 0 {
				t.Errorf("%+v", u)
			}
		},
	})
}

// noting is a Mark that notes how far everything is kept. A crash makes every commit fail,
// and a process that is gone notes nothing.
func (r *rig) noting(noted *int64, batch int64) func() func() {
	note := func() {
		if r.Use().Problem == "" {
			*noted = batch
		}
	}
	return func() func() { return note }
}

// A clock that goes a day forward and comes back, and then back an hour more: every batch is
// there once, and nothing is taken for old.
func TestAClockThatJumps(t *testing.T) {
	r := newRig(t, vfs.NewLocal(), t.TempDir())
	q := r.start("orders")
	var want []string
	for i, at := range []time.Time{
		noon, noon.Add(24 * time.Hour), noon.Add(time.Minute), noon.Add(-time.Hour), noon.Add(2 * time.Minute),
	} {
		batchAt(q, int64(i), at)
		r.look(at)
		r.flush(at, false)
		r.maintain(at)
		want = append(want, fmt.Sprint(i))
	}
	r.flush(noon.Add(time.Hour), true)
	got := r.read("progress", "batch_id")
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("batches %q, want %q", got, want)
	}
	if rows := r.read("freshness_1m", "rows"); strings.Join(rows, "") != strings.Repeat("5", len(rows)) ||
		len(rows) != 5 {
		t.Errorf("minutes have %q rows", rows)
	}
	if u := r.Use(); u.Problem != "" || u.Dropped != 0 {
		t.Errorf("%+v", u)
	}
}

// Two servers of one directory, of which the first still writes when the second has begun,
// as when somebody moves a directory: both have what they were told.
func TestTwoWritersOfOneDirectory(t *testing.T) {
	dir := t.TempDir()
	first, second := newRig(t, vfs.NewLocal(), dir), newRig(t, vfs.NewLocal(), dir)
	for i := range int64(3) {
		batchAt(first.start(fmt.Sprint("a", i)), i, noon)
		batchAt(second.start(fmt.Sprint("b", i)), i, noon)
		first.flush(noon, false)
		second.flush(noon, true)
	}
	first.flush(noon, true)
	got := second.read("progress", "query_name")
	if slices.Sort(got); strings.Join(got, " ") != "a0 a1 a2 b0 b1 b2" {
		t.Errorf("got %q", got)
	}
	for _, r := range []*rig{first, second} {
		if u := r.Use(); u.Problem != "" || u.Dropped != 0 {
			t.Errorf("%+v", u)
		}
	}
}

// A directory that nobody can write is told, and leaves the rest in peace.
func TestADirectoryThatCannotBeMade(t *testing.T) {
	files := vfs.NewFaulty(vfs.NewMemory(), func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpMkdir {
			return vfs.Fault{Err: errors.New("permission denied")}
		}
		return vfs.Fault{}
	})
	r := newRig(t, files, "/history")
	batchAt(r.start("orders"), 0, noon)
	r.flush(noon, true)
	r.recall()
	if u := r.Use(); !strings.Contains(u.Problem, "permission denied") || u.Dropped == 0 || len(r.Runs()) != 0 {
		t.Errorf("%+v", u)
	}
}
