package stream

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// machine is a query on a disk that may lose power; its sources are outside.
type machine struct {
	disk   *vfs.Crashable
	doomed bool // the disk will crash by itself
	rig    *rig
	query  *Query
	tapes  map[string]*tape
	wrote  []wrote
	next   int64
	plan   func() plan.Node // nil: both tapes as they are
	tune   func(*Config)
}

// boot starts the manager anew, on the disk as it is.
func (m *machine) boot() {
	m.rig = newRig(m.disk)
	m.rig.tapes, m.rig.wrote = m.tapes, &m.wrote
	m.rig.plan = unionOf(scanOf("a"), scanOf("b"))
	if m.plan != nil {
		m.rig.plan, m.rig.tune = m.plan(), m.tune
	}
}

// begin starts a run with drawn limits; a crash on the way is no error.
func (m *machine) begin(t *rapid.T) {
	m.rig.limit = rapid.Int64Range(0, 3).Draw(t, "limit")
	m.rig.logged = m.plan == nil
	retain := "100" // the offset log is what a model goes by
	if m.plan == nil {
		retain = rapid.SampledFrom([]string{"1", "2", "100"}).Draw(t, "retain")
	}
	m.rig.conf[streamingPrefix+"minBatchesToRetain"] = retain
	m.rig.trigger.Kind = rapid.SampledFrom([]plan.TriggerKind{
		plan.ProcessingTime, plan.AvailableNow, plan.Once,
	}).Draw(t, "trigger")
	q, err := m.rig.start()
	if err == nil {
		m.query = q
	} else if !m.disk.Crashed() {
		t.Fatalf("start: %v", err)
	}
}

func (m *machine) halt(t *rapid.T) {
	if m.query == nil {
		return
	}
	if err := m.query.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := m.query.Err(); err != nil && !m.disk.Crashed() {
		t.Fatalf("the query failed: %v", err)
	}
	m.query = nil
}

// reboot loses power and comes back with what survived.
func (m *machine) reboot(t *rapid.T) {
	m.halt(t)
	lose := rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "lose")
	m.doomed = false
	m.disk = m.disk.Crash(lose, rapid.Uint64().Draw(t, "seed"))
	m.boot()
}

// Sources grow, runs with all limits and triggers start, stop, crash: in the
// end the sink holds each value once, and repeated batches were equal.
func TestAnyHistoryGivesTheBatchAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{disk: vfs.NewCrashable(), tapes: map[string]*tape{"a": {}, "b": {}}}
		m.boot()
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"put", "put", "start", "start", "process", "stop", "crash", "crash soon", "restart",
		}), 1, 25).Draw(t, "steps")
		for _, step := range steps {
			m.step(t, step)
		}
		m.end(t)
	})
}

func (m *machine) step(t *rapid.T, step string) {
	switch step {
	case "put":
		m.next++
		m.tapes[rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tape")].put(m.next)
	case "start":
		if m.query == nil {
			m.begin(t)
		}
	case "process":
		if m.query == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.query.ProcessAllAvailable(ctx); err != nil && !m.disk.Crashed() {
			t.Fatalf("process: %v", err)
		}
	case "stop":
		m.halt(t)
	case "crash":
		m.reboot(t)
	case "crash soon":
		if !m.doomed { // a second limit could revive a disk that has just crashed
			m.doomed = true
			m.disk.CrashAfter(m.disk.Ops() + rapid.IntRange(0, 40).Draw(t, "ops"))
		}
	case "restart": // the later run stops the earlier
		if m.query != nil && !m.disk.Crashed() {
			m.begin(t)
		}
	}
	if m.disk.Crashed() {
		m.reboot(t)
	}
}

func (m *machine) end(t *rapid.T) {
	m.reboot(t)
	m.rig.logged, m.rig.trigger.Kind = true, plan.AvailableNow
	q, err := m.rig.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Await(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, batch := range m.rig.batches(t) {
		got = append(got, batch...)
	}
	slices.Sort(got)
	want := make([]int64, m.next)
	for i := range want {
		want[i] = int64(i) + 1
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the sink holds %v, want 1 to %d", got, m.next)
	}
	for i := 1; i < len(m.wrote); i++ {
		before, now := m.wrote[i-1], m.wrote[i]
		if now.id != before.id && now.id != before.id+1 || now.id == before.id && now.rows != before.rows {
			t.Fatalf("batch %d %q follows batch %d %q", now.id, now.rows, before.id, before.rows)
		}
	}
}

func (r *rig) batches(t *rapid.T) [][]int64 {
	out, err := heldBatches(r.out())
	if err != nil {
		t.Fatal(err)
	}
	return out
}
