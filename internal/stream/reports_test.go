package stream

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Cases that people reported in public, by the ids of test/oracle/reports.tsv.

// JN-02: rows that are kept for later batches stay what they were.
func TestReportJN02(t *testing.T) {
	r := newRig(vfs.NewMemory())
	r.plan, r.trigger.Kind, r.limit = joined(), plan.AvailableNow, 200
	r.tapes["b"] = &tape{}
	rows := map[string][]int64{}
	for i := range int64(4000) {
		second := 100 + i/100
		rows["a"] = append(rows["a"], second*sec+i%1000)
		rows["b"] = append(rows["b"], (second+i%7)*sec+i%1000)
	}
	for name, values := range rows {
		r.tapes[name].put(values...)
	}
	if err := r.mustStart(t).Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := contents(t, r.out())
	if len(held) < 20 {
		t.Errorf("%d batches", len(held))
	}
	// The last watermark is what the slower side has seen, less the delay.
	newest := min(slices.Max(rows["a"]), slices.Max(rows["b"]))
	want := joinModel()(rows, 0, newest/1000*1000-delayMs*1000)
	if got := slices.Sorted(slices.Values(slices.Concat(held...))); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// ST-06: with as many keys as before, a query needs as much memory as before.
func TestReportST06(t *testing.T) {
	batches := int64(400)
	if os.Getenv("WEIR_SLOW") != "" {
		batches = 20_000
	}
	const keys = 100
	r := newRig(vfs.NewMemory())
	r.plan, r.trigger.Kind, r.limit = deduplicated(), plan.AvailableNow, keys
	for i := range batches * keys {
		r.tapes["a"].put(i/keys*sec*10 + i%keys)
	}
	q := r.mustStart(t)
	if err := q.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	recent := q.Record().Recent()
	// The last batch only gives up.
	first, last := recent[0].StateOperators[0], recent[len(recent)-2].StateOperators[0]
	if first.NumRowsTotal != last.NumRowsTotal || last.MemoryUsedBytes > first.MemoryUsedBytes*11/10 {
		t.Errorf("%d rows took %d bytes, later %d took %d", first.NumRowsTotal, first.MemoryUsedBytes,
			last.NumRowsTotal, last.MemoryUsedBytes)
	}
	files := 0
	for _, name := range tree(t, r.fs, checkpointDir) {
		if strings.HasPrefix(name, "state/") {
			files++
		}
	}
	if files > 10 {
		t.Errorf("the state has %d files after %d batches", files, batches)
	}
}

// ST-07: state of another format is refused by its name.
func TestReportST07(t *testing.T) {
	for name, harm := range map[string]func(r *rig) error{
		"another version": func(r *rig) error {
			return vfs.WriteReplace(r.fs, checkpointDir+"/state/format", []byte("weir state 2\n"))
		},
		"none": func(r *rig) error { return vfs.RemoveFile(r.fs, checkpointDir+"/state/format") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(vfs.NewMemory())
			r.plan, r.trigger.Kind = counted(), plan.AvailableNow
			r.tapes["a"].put(100 * sec)
			if err := r.mustStart(t).Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := harm(r); err != nil {
				t.Fatal(err)
			}
			r.tapes["a"].put(101 * sec)
			err := r.mustStart(t).Await(t.Context())
			if err == nil || !strings.Contains(err.Error(), "format") && !strings.Contains(err.Error(), "state 2") {
				t.Errorf("the query went on: %v", err)
			}
		})
	}
}

// CK-04: a run of availableNow first repeats the batch that was cut off, over the
// range in the log, and then takes what came since.
func TestReportCK04(t *testing.T) {
	disk := vfs.NewCrashable()
	r := newRig(disk)
	r.trigger.Kind, r.wrote = plan.AvailableNow, &[]wrote{}
	r.tapes["a"].put(1, 2)
	r.crash = func(step string) {
		if step == StepAdvancing {
			disk.CrashAfter(0)
		}
	}
	q := r.mustStart(t)
	if err := q.Await(t.Context()); err == nil {
		t.Fatal("the query survived")
	}
	again := newRig(disk.Crash(1, 1))
	again.trigger.Kind = plan.AvailableNow
	again.tapes = map[string]*tape{"a": {values: []int64{1, 2, 3}}}
	if err := again.mustStart(t).Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, again.out()); !slices.EqualFunc(got, [][]int64{{1, 2}, {3}}, slices.Equal) {
		t.Errorf("batches %v", got)
	}
}
