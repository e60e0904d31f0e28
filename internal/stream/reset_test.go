package stream

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// ran is a disk on which a query read 1 to 5, one row a batch, and keeps all batches.
func ran(t *testing.T) (*vfs.Crashable, *work) {
	t.Helper()
	disk, w := vfs.NewCrashable(), &work{tape: &tape{}}
	w.tape.put(1, 2, 3, 4, 5)
	onceKeeping(t, w, disk)
	return disk, w
}

// onceKeeping runs the query until it has read all.
func onceKeeping(t *testing.T, w *work, fsys vfs.FS) {
	t.Helper()
	w.tape.gone = 0 // it keeps what was read, as topics do
	r := w.rig(fsys)
	r.conf[streamingPrefix+"minBatchesToRetain"] = "100"
	q, err := r.start()
	if err == nil {
		err = q.Await(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func place(fsys vfs.FS) connector.Place { return connector.Place{FS: fsys, Dir: checkpointDir} }

func mustReset(t *testing.T, fsys vfs.FS, want ResetRequest) *Reset {
	t.Helper()
	r, err := PlanReset(place(fsys), want)
	if err == nil {
		err = r.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sunk is what a sink holds, batch by batch, as "id: rows".
func sunk(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	out := connector.Place{FS: fsys, Dir: sinkDir}
	ids, err := connector.BatchIDs(out)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, id := range ids {
		data, err := vfs.ReadFile(fsys, path.Join(out.Dir, strconv.FormatInt(id, 10)))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strconv.FormatInt(id, 10)+": "+strings.Join(strings.Fields(string(data)), " "))
	}
	return strings.Join(lines, "; ")
}

// logFiles are the checkpoint's files outside of sources, with their bytes.
func logFiles(t *testing.T, fsys vfs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range append(tree(t, fsys, checkpointDir), sums(t, fsys)...) {
		if strings.HasPrefix(name, "sources/") {
			continue
		}
		data, err := vfs.ReadFile(fsys, path.Join(checkpointDir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

// TestReportCK09 takes a checkpoint back without editing files: what the batches
// after it had read comes again, under ids that no sink knows.
func TestReportCK09(t *testing.T) {
	disk, w := ran(t)
	r := mustReset(t, disk, ResetRequest{Batch: 1})
	if want := (SourcePosition{From: "2", To: "5"}); r.Next != 7 || r.Sources[0] != want {
		t.Errorf("next batch %d, source %+v; want 7 and %+v", r.Next, r.Sources[0], want)
	}
	c, err := Inspect(place(disk))
	if err != nil || c.Problem != nil || c.Next != 7 || c.Replay {
		t.Errorf("the checkpoint goes on with %+v, %v", c, err)
	}
	w.tape.put(6)
	onceKeeping(t, w, disk)
	if got, want := sunk(t, disk), "0: 1; 1: 2; 2: 3; 3: 4; 4: 5; 7: 3; 8: 4; 9: 5; 10: 6"; got != want {
		t.Errorf("the sink holds %s, want %s", got, want)
	}
}

// TestDryRunChangesNothing: a plan that is not applied leaves every byte.
func TestDryRunChangesNothing(t *testing.T) {
	disk, _ := ran(t)
	before := logFiles(t, disk)
	if _, err := PlanReset(place(disk), ResetRequest{Batch: 0}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, "dry run", logFiles(t, disk), before)
}

func sameFiles(t *testing.T, label string, got, want map[string]string) {
	t.Helper()
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s: %s is %q, want %q", label, name, got[name], data)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new", label, name)
		}
	}
}

// TestOffsetsAreGiven begins a source elsewhere.
func TestOffsetsAreGiven(t *testing.T) {
	disk, w := ran(t)
	mustReset(t, disk, ResetRequest{Batch: 4, Offsets: map[string]connector.Offset{"0": "3"}})
	onceKeeping(t, w, disk)
	if got, want := sunk(t, disk), "0: 1; 1: 2; 2: 3; 3: 4; 4: 5; 7: 4; 8: 5"; got != want {
		t.Errorf("the sink holds %s, want %s", got, want)
	}
}

// TestResetGetsRoundDamage goes back behind a file that no start can read.
func TestResetGetsRoundDamage(t *testing.T) {
	disk, w := ran(t)
	if err := vfs.WriteReplace(disk, path.Join(checkpointDir, offsetsName, "4"), []byte("v1\n{")); err != nil {
		t.Fatal(err)
	}
	mustReset(t, disk, ResetRequest{Batch: 2})
	onceKeeping(t, w, disk)
	if got, want := sunk(t, disk), "0: 1; 1: 2; 2: 3; 3: 4; 4: 5; 7: 4; 8: 5"; got != want {
		t.Errorf("the sink holds %s, want %s", got, want)
	}
}

// TestResetsAreRefused by name, before anything is changed.
func TestResetsAreRefused(t *testing.T) {
	disk, _ := ran(t)
	for _, name := range []string{"offsets/0", "commits/4"} {
		if err := vfs.RemoveFile(disk, path.Join(checkpointDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := logFiles(t, disk)
	offset := func(source string, o connector.Offset) map[string]connector.Offset {
		return map[string]connector.Offset{source: o}
	}
	for _, c := range []struct {
		want ResetRequest
		says string
	}{
		{ResetRequest{Batch: 0}, "keeps those from 1 to 4"},
		{ResetRequest{Batch: 9}, "keeps those from 1 to 4"},
		{ResetRequest{Batch: -1}, "new checkpointLocation"},
		{ResetRequest{Batch: 4}, "go back to batch 3"},
		{ResetRequest{Batch: 2, Offsets: offset("7", "1")}, "it has 1, numbered from 0"},
		{ResetRequest{Batch: 2, Offsets: offset("0", "{")}, "is not JSON"},
	} {
		if _, err := PlanReset(place(disk), c.want); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q in it", c.want, err, c.says)
		}
	}
	sameFiles(t, "refused", logFiles(t, disk), before)
	whole, _ := ran(t)
	_, err := PlanReset(place(whole), ResetRequest{Batch: 4})
	if err == nil || !strings.Contains(err.Error(), "nothing to do") {
		t.Errorf("a reset to where the query is: %v", err)
	}
}

// TestResetCutOff loses power after every file operation of a reset and of putting it
// back: the checkpoint is as before, or says how it becomes so.
func TestResetCutOff(t *testing.T) {
	healthy, w := ran(t)
	before := logFiles(t, healthy)
	for n := 0; ; n++ {
		disk := healthy.Crash(0, 1)
		r, err := PlanReset(place(disk), ResetRequest{Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		disk.CrashAfter(n)
		whole := r.Apply() == nil
		checkCutOff(t, w, disk.Crash(float64(n%2), uint64(n)), before)
		if whole {
			t.Logf("%d operations", n)
			break
		}
	}
	healthy, w = ran(t)
	before = logFiles(t, healthy)
	mustReset(t, healthy, ResetRequest{Batch: 2})
	for n := 0; ; n++ {
		disk := healthy.Crash(0, 1)
		disk.CrashAfter(n)
		_, err := UndoReset(place(disk))
		checkCutOff(t, w, disk.Crash(float64(n%2), uint64(n)), before)
		if err == nil {
			break
		}
	}
}

func checkCutOff(t *testing.T, w *work, disk *vfs.Crashable, before map[string]string) {
	t.Helper()
	c, err := Inspect(place(disk))
	if err != nil {
		t.Fatal(err)
	}
	interrupted, err := interruptedReset(place(disk))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case interrupted != nil:
		if c.Problem == nil || !strings.Contains(c.Problem.Error(), "weir checkpoint restore") {
			t.Errorf("a start after half a reset: %v", c.Problem)
		}
		_, err := PlanReset(place(disk), ResetRequest{Batch: 1})
		if err == nil || !strings.Contains(err.Error(), "was interrupted") {
			t.Errorf("a reset after half a reset: %v", err)
		}
	case c.Problem != nil || c.Next != 5 && c.Next != 7:
		t.Errorf("a start: batch %d, %v", c.Next, c.Problem)
	}
	all, err := resets(place(disk))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) > 0 {
		if _, err := UndoReset(place(disk)); err != nil {
			t.Fatal(err)
		}
	}
	left := logFiles(t, disk)
	for name := range left {
		if strings.HasPrefix(name, resetName+"/") || strings.HasPrefix(path.Base(name), ".") {
			delete(left, name) // unfinished files and emptied directories do no harm
		}
	}
	for name, data := range before {
		if strings.HasPrefix(path.Base(name), ".") {
			left[name] = data // a checksum that is gone is none that does not fit
		}
	}
	sameFiles(t, "put back", left, before)
	onceKeeping(t, w, disk)
}

// TestResetIsPutBackOnlyBeforeABatch: what ran since cannot be undone.
func TestResetIsPutBackOnlyBeforeABatch(t *testing.T) {
	disk, w := ran(t)
	mustReset(t, disk, ResetRequest{Batch: 3})
	onceKeeping(t, w, disk)
	_, err := UndoReset(place(disk))
	if err == nil || !strings.Contains(err.Error(), "batch 7 was begun since") {
		t.Errorf("put back after a batch: %v", err)
	}
}

// TestResetTakesTheStateBack: counts go on from where they were.
func TestResetTakesTheStateBack(t *testing.T) {
	disk := vfs.NewCrashable()
	w := &work{tape: &tape{}}
	w.tape.put(1*sec, 2*sec, 3*sec, 4*sec)
	rig := func() *rig {
		r := w.rig(disk)
		r.plan = counted()
		r.tune = func(c *Config) { c.Mode = plan.UpdateMode }
		r.conf[streamingPrefix+"minBatchesToRetain"] = "100"
		return r
	}
	run := func() {
		t.Helper()
		w.tape.gone = 0
		q, err := rig().start()
		if err == nil {
			err = q.Await(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run()
	r := mustReset(t, disk, ResetRequest{Batch: 1})
	if !slices.Equal(r.Operators, []int{0}) {
		t.Errorf("operators with state: %v", r.Operators)
	}
	run()
	// The window's count was 2 behind batch 1, and goes to 4 a second time.
	if got := sunk(t, disk); !strings.HasPrefix(got, "0: 1; 1: 2; 2: 3; 3: 4; 6: 3; 7: 4") {
		t.Errorf("the sink holds %s", got)
	}
	_, err := PlanReset(place(disk), ResetRequest{Batch: 1, Offsets: map[string]connector.Offset{"0": "1"}})
	if err == nil || !strings.Contains(err.Error(), "keeps state") {
		t.Errorf("offsets of a query with state: %v", err)
	}
	store := path.Join(checkpointDir, stateName, "0")
	if err := vfs.RemoveFile(disk, path.Join(store, "0.changes")); err != nil {
		t.Fatal(err)
	}
	_, err = PlanReset(place(disk), ResetRequest{Batch: 1})
	if err == nil || !strings.Contains(err.Error(), "the oldest that is kept is that after batch 5") {
		t.Errorf("state that is not kept: %v", err)
	}
}
