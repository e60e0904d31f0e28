package pyworker

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// stateWorld is the groups of a stateful call: key and state are longs.
type stateWorld struct {
	heads, value plan.Type
	rows         [][]plan.Value
	changes      [][]plan.Value
}

func newStateWorld() *stateWorld {
	value := oneField("n", plan.Long)
	return &stateWorld{value: value, heads: plan.Struct(
		plan.Col("_0", plan.Long), plan.Col("rows", plan.Int), plan.Col("state", value))}
}

func (w *stateWorld) call(pickle []byte, timeout string) *Call {
	changes := plan.Struct(plan.Col("group", plan.Int), plan.Col("what", plan.Int),
		plan.Col("timeout", plan.Long), plan.Col("state", w.value))
	return &Call{
		Shape: StatePandas, Functions: []Function{{Pickle: pickle}}, Input: oneField("x", plan.Long),
		Output:   plan.Struct(plan.Col("k", plan.Long), plan.Col("n", plan.Long)),
		Settings: Settings{Zone: "UTC", Safe: true, ByName: true},
		State: &Stateful{
			Told: map[string]any{
				"timeout": timeout, "now": 5000, "watermark": 3000, "watermarked": true,
				"keys":  json.RawMessage(oneField("_0", plan.Long).JSON()),
				"value": json.RawMessage(w.value.JSON()),
			},
			Changes: []plan.Type{changes},
			Changed: func(table int, c *chunk.Chunk) error {
				for i := range c.Rows {
					w.changes = append(w.changes, c.Row(i))
				}
				return nil
			},
		},
	}
}

func (w *stateWorld) take(c *chunk.Chunk) bool {
	for i := range c.Rows {
		w.rows = append(w.rows, c.Row(i))
	}
	return true
}

func (w *stateWorld) turn(timedOut bool, heads [][]plan.Value, rows ...*chunk.Chunk) Turn {
	t := Turn{
		Note:  map[string]any{"part": 1, "timedOut": timedOut},
		Parts: []Part{{Name: "heads", Of: w.heads, Rows: chunk.FromRows(w.heads, heads...)}},
	}
	for _, c := range rows {
		t.Parts = append(t.Parts, Part{Name: "rows", Of: oneField("x", plan.Long), Rows: c})
	}
	return t
}

const stateSetup = `
import pandas as pd
def total(key, frames, state):
    n = state.get[0] if state.exists else 0
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"k": [key[0]], "n": [-n]})
        return
    for f in frames:
        if (f["x"] < 0).any():
            state.remove()
            return  # the rest is not read
        n += int(f["x"].fillna(0).sum())
    if n == 7:
        return
    state.update((n,))
    if n > 100:
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + n)
    yield pd.DataFrame({"k": [key[0]], "n": [n]})
`

// TestStatesComeBackBeforeTheNextGroups hands many groups over at a time, some of
// them over the borders of batches.
func TestStatesComeBackBeforeTheNextGroups(t *testing.T) {
	h := newTestHost(t, nil)
	p := pickled(t, stateSetup, "(total, None)")
	w := newStateWorld()
	x, err := h.Begin(t.Context(), w.call(p[0], "EventTimeTimeout"))
	if err != nil {
		t.Fatal(err)
	}
	hand := func(turn Turn) {
		t.Helper()
		if wanted, err := x.Await(w.take); !wanted || err != nil {
			t.Fatalf("wanted %v, %v", wanted, err)
		}
		if err := x.Hand(turn); err != nil {
			t.Fatal(err)
		}
	}
	state := func(n int64) plan.Value { return []plan.Value{n} }
	hand(w.turn(false, [][]plan.Value{
		{int64(1), int64(3), nil},       // 1, NULL, 2 of two batches
		{int64(2), int64(1), state(4)},  // 3: not changed
		{int64(3), int64(2), state(50)}, // -1, 9: removed, the second batch is not read
		{nil, int64(1), state(90)},      // 20: with a timeout
	}, longs(int64(1), nil), longs(int64(2), int64(3), int64(-1)), longs(int64(9), int64(20))))
	hand(w.turn(true, [][]plan.Value{{int64(5), int64(0), state(8)}}))
	if err := x.End(w.take); err != nil {
		t.Fatal(err)
	}
	want := [][]plan.Value{{int64(1), int64(3)}, {nil, int64(110)}, {int64(5), int64(-8)}}
	if diff := cmp.Diff(want, w.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want = [][]plan.Value{
		{int64(0), int64(0), nil, state(3)},
		{int64(2), int64(1), nil, nil},
		{int64(3), int64(0), int64(3110), state(110)},
		{int64(0), int64(1), nil, nil},
	}
	if diff := cmp.Diff(want, w.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestFailedStateFunctionNamesItsFault(t *testing.T) {
	h := newTestHost(t, nil)
	p := pickled(t, stateSetup, "(total, None)")
	w := newStateWorld()
	x, err := h.Begin(t.Context(), w.call(p[0], "NoTimeout"))
	if err != nil {
		t.Fatal(err)
	}
	if wanted, err := x.Await(w.take); !wanted || err != nil {
		t.Fatalf("wanted %v, %v", wanted, err)
	}
	turn := w.turn(false, [][]plan.Value{{int64(1), int64(1), nil}}, longs(int64(101)))
	if err := x.Hand(turn); err != nil {
		t.Fatal(err)
	}
	_, err = x.Await(w.take)
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "PYTHON_EXCEPTION" {
		t.Fatalf("got %v, want PYTHON_EXCEPTION", err)
	}
	if len(w.changes) > 0 {
		t.Errorf("changes %v of a turn that failed", w.changes)
	}
}

// TestChangesThatCannotBeTakenEndTheCall ends the worker too.
func TestChangesThatCannotBeTakenEndTheCall(t *testing.T) {
	h := newTestHost(t, nil)
	p := pickled(t, stateSetup, "(total, None)")
	w := newStateWorld()
	call := w.call(p[0], "NoTimeout")
	full := errors.New("no room")
	call.State.Changed = func(int, *chunk.Chunk) error { return full }
	x, err := h.Begin(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Await(w.take); err != nil {
		t.Fatal(err)
	}
	if err := x.Hand(w.turn(false, [][]plan.Value{{int64(1), int64(1), nil}}, longs(int64(1)))); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Await(w.take); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if len(h.live) != 0 {
		t.Errorf("%d workers are left", len(h.live))
	}
}
