package stream

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// work is two AvailableNow runs over a tape that grows between them.
type work struct {
	tape   *tape
	wrote  []wrote
	logged bool
	skips  bool
}

var firstHalf, secondHalf = []int64{1, 2, 3}, []int64{4, 5}

func (w *work) rig(fsys vfs.FS) *rig {
	r := newRig(fsys)
	r.tapes["a"], r.wrote, r.logged, r.skips = w.tape, &w.wrote, w.logged, w.skips
	r.limit, r.trigger.Kind = 1, plan.AvailableNow
	r.conf[streamingPrefix+"minBatchesToRetain"] = "1"
	return r
}

func (w *work) once(fsys vfs.FS) error {
	q, err := w.rig(fsys).start()
	if err != nil {
		return err
	}
	return q.Await(context.Background())
}

func (w *work) run(fsys vfs.FS) error {
	w.tape = &tape{}
	w.wrote = nil
	w.tape.put(firstHalf...)
	if err := w.once(fsys); err != nil {
		return err
	}
	w.tape.put(secondHalf...)
	return w.once(fsys)
}

// finish runs what a crash left over and checks the promises.
func (w *work) finish(t *testing.T, fsys vfs.FS) {
	t.Helper()
	if w.tape.len() == int64(len(firstHalf)) {
		w.tape.put(secondHalf...)
	}
	if err := w.once(fsys); err != nil {
		t.Fatalf("restart: %v", err)
	}
	r := w.rig(fsys)
	var got []int64
	for _, batch := range contents(t, r.out()) {
		got = append(got, batch...)
	}
	if want := append(slices.Clone(firstHalf), secondHalf...); !slices.Equal(got, want) {
		t.Errorf("the sink holds %v, want %v", got, want)
	}
	w.checkRepeats(t)
	offsets, err := connector.BatchIDs(below(r.checkpoint(), offsetsName))
	if err != nil {
		t.Fatal(err)
	}
	commits, err := connector.BatchIDs(below(r.checkpoint(), commitsName))
	if err != nil {
		t.Fatal(err)
	}
	// A purge that was lost is made up for by the next one.
	if len(offsets) < 2 || offsets[len(offsets)-1] != commits[len(commits)-1] {
		t.Errorf("logs: offsets %v, commits %v", offsets, commits)
	}
}

// checkRepeats holds what a sink without a memory is promised: only the last
// batch is repeated, and with the same rows.
func (w *work) checkRepeats(t *testing.T) {
	t.Helper()
	for i := 1; i < len(w.wrote); i++ {
		before, now := w.wrote[i-1], w.wrote[i]
		if now.id != before.id && now.id != before.id+1 {
			t.Errorf("batch %d follows batch %d", now.id, before.id)
		}
		if now.id == before.id && now.rows != before.rows {
			t.Errorf("batch %d had rows %q and then %q", now.id, before.rows, now.rows)
		}
	}
}

// Power is lost after every file operation of two runs.
func TestPowerLoss(t *testing.T) {
	for _, c := range []struct {
		name          string
		logged, skips bool
	}{
		{name: "plain"}, {name: "source with a log", logged: true}, {name: "sink with a memory", skips: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &work{logged: c.logged, skips: c.skips}
			testkit.CrashDisk(t, testkit.DiskProgram{
				Run:   func(disk *vfs.Crashable) error { return w.run(disk) },
				Check: func(t *testing.T, disk *vfs.Crashable) { w.finish(t, disk) },
			})
		})
	}
}

// A crash at a named step leaves no time for anything else.
func TestCrashAtEveryStep(t *testing.T) {
	steps := []string{
		StepStart, StepMetadataTemp, StepAdmitted, StepOffsetsTemp, StepOffsetsSynced, StepOffsetsNamed,
		StepOffsetsDone, StepAdvancing, StepPurging, StepSourceRead, StepOperatorDone, StepSinkDone,
		StepCommitted, StepProgress,
	}
	for _, step := range steps {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprintf("%s:%d", step, n), func(t *testing.T) { crashAt(t, step, n) })
		}
	}
}

func crashAt(t *testing.T, step string, n int) {
	disk := vfs.NewCrashable()
	var times atomic.Int64 // a purge comes by on a goroutine of its own
	w := &work{logged: true, tape: &tape{}}
	w.tape.put(firstHalf...)
	r := w.rig(disk)
	r.crash = func(at string) {
		if at == step && times.Add(1) == int64(n) {
			disk.CrashAfter(0)
		}
	}
	q, err := r.start()
	if err == nil {
		err = q.Await(context.Background())
	}
	reached := times.Load() >= int64(n)
	if !reached && n == 1 {
		t.Fatalf("step %s was not reached", step)
	}
	if reached && step != StepCommitted && step != StepProgress && err == nil {
		t.Error("the crash was not noticed")
	}
	w.finish(t, disk.Crash(1, uint64(n)))
}

// damage is one way in which a file of a checkpoint may be found.
type damage struct {
	name string
	do   func(fsys vfs.FS, file string, data []byte) error
}

func rewrite(change func([]byte) []byte) func(vfs.FS, string, []byte) error {
	return func(fsys vfs.FS, file string, data []byte) error {
		w, err := fsys.Create(file)
		if err != nil {
			return err
		}
		_, err = w.Write(change(slices.Clone(data)))
		return errors.Join(err, w.Close())
	}
}

func renumber(by int64) func(vfs.FS, string, []byte) error {
	return func(fsys vfs.FS, file string, _ []byte) error {
		id, ok := connector.BatchID(path.Base(file))
		if !ok || id+by < 0 {
			return nil
		}
		to := path.Join(path.Dir(file), strconv.FormatInt(id+by, 10))
		if err := fsys.Rename(vfs.ChecksumName(file), vfs.ChecksumName(to)); err != nil {
			return err
		}
		return fsys.Rename(file, to)
	}
}

func damages(size int) []damage {
	all := []damage{
		{"emptied", rewrite(func([]byte) []byte { return nil })},
		{"zeroed", rewrite(func(b []byte) []byte { return make([]byte, len(b)) })},
		{"half", rewrite(func(b []byte) []byte { return b[:len(b)/2] })},
		{"one byte short", rewrite(func(b []byte) []byte { return b[:max(0, len(b)-1)] })},
		{"one byte long", rewrite(func(b []byte) []byte { return append(b, '0') })},
		{"removed", func(fsys vfs.FS, file string, _ []byte) error { return fsys.Remove(file) }},
		{"removed with its checksum", func(fsys vfs.FS, file string, _ []byte) error {
			return vfs.RemoveFile(fsys, file)
		}},
		{"one up", renumber(1)}, {"one down", renumber(-1)}, {"far up", renumber(7)},
	}
	// Three bits of each of the last bytes, where the offsets are, and one of
	// bytes spread over the rest.
	for i := 0; i < size; i++ {
		if i < 24 {
			all = append(all, flip(size-1-i, 0), flip(size-1-i, 1), flip(size-1-i, 2))
		} else if i%19 == 0 {
			all = append(all, flip(size-1-i, i%8))
		}
	}
	return all
}

func flip(at, bit int) damage {
	return damage{fmt.Sprintf("bit %d of byte %d", bit, at),
		rewrite(func(b []byte) []byte { b[at] ^= 1 << bit; return b })}
}

// Whatever happens to one file of a checkpoint: the query either refuses, by a
// named error, or goes on without losing or repeating a row.
func TestDamagedCheckpoints(t *testing.T) {
	for _, withSums := range []bool{true, false} {
		healthy := vfs.NewCrashable()
		w := &work{logged: true, skips: true}
		if err := w.run(healthy); err != nil {
			t.Fatal(err)
		}
		values, image := w.tape.values, healthy.Crash(0, 1)
		for _, name := range append(tree(t, image, checkpointDir), sums(t, image)...) {
			if strings.HasPrefix(name, "sources/") {
				continue // the test's own, and covered by its own checks
			}
			file := path.Join(checkpointDir, name)
			data, err := vfs.ReadFile(image, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range damages(len(data)) {
				// Without a checksum a flipped digit is another valid number.
				if !withSums && (strings.HasPrefix(d.name, "bit") || strings.HasSuffix(name, ".crc")) {
					continue
				}
				disk := healthy.Crash(0, 1)
				if !withSums {
					dropSums(t, disk)
				}
				if err := d.do(disk, file, data); err != nil && withSums {
					t.Fatal(err)
				}
				after := &work{logged: true, skips: true, tape: &tape{}}
				after.tape.put(values...)
				after.tape.put(6)
				err := after.once(disk)
				label := fmt.Sprintf("%s %s (checksums %v)", name, d.name, withSums)
				judge(t, label, err, contents(t, after.rig(disk).out()))
			}
		}
	}
}

func judge(t *testing.T, label string, err error, held [][]int64) {
	t.Helper()
	var named *plan.Error
	if err != nil {
		if !errors.As(err, &named) || strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("%s: %v", label, err)
		}
		return
	}
	if got := slices.Concat(held...); !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%s: the sink holds %v", label, held)
	}
}

func sums(t *testing.T, fsys vfs.FS) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"", offsetsName, commitsName} {
		infos, err := fsys.List(path.Join(checkpointDir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			if strings.HasSuffix(info.Name, ".crc") {
				out = append(out, path.Join(dir, info.Name))
			}
		}
	}
	return out
}

func dropSums(t *testing.T, fsys vfs.FS) {
	t.Helper()
	for _, name := range sums(t, fsys) {
		if err := fsys.Remove(path.Join(checkpointDir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
