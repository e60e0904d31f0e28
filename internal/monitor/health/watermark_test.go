package health

import (
	"strings"
	"testing"
	"time"
)

// marked commits a batch of rows every ten seconds whose watermark is so many seconds
// after the beginning.
func marked(w *Watch, from, n int, rows float64, mark func(second int) float64) {
	for i := range n {
		second := from + 10*i
		w.Observe(Reading{At: at(float64(second)), Sources: []Source{rowsOf(float64(second), 0)}})
		b := Batch{ID: int64(second), Start: at(float64(second)), End: at(float64(second) + 0.5), Rows: rows,
			NoData: rows == 0, StateBytes: unknown()}
		if s := mark(second); s >= 0 {
			b.Watermark = at(s)
		}
		w.Begin(b.ID, b.Start)
		w.Commit(b)
		w.Assess(at(float64(second) + 1))
	}
}

func TestAWatermarkThatDoesNotMoveWhileRowsComeIsStuck(t *testing.T) {
	delay := Config{TriggerEvery: 10 * time.Second, WatermarkDelay: time.Minute}
	moves := func(second int) float64 { return float64(second) }
	still := func(int) float64 { return 100 }
	none := func(int) float64 { return -1 }
	for _, c := range []struct {
		name   string
		config Config
		play   func(w *Watch)
		stuck  float64 // -1: not known
		state  State
	}{
		{"moving", delay, func(w *Watch) { marked(w, 0, 60, 10, moves) }, 0, Healthy},
		{"standing still", delay,
			func(w *Watch) { marked(w, 0, 20, 10, moves); marked(w, 200, 40, 10, still) }, 390, Lagging},
		{"for a short time", delay,
			func(w *Watch) { marked(w, 0, 50, 10, moves); marked(w, 500, 10, 10, still) }, 90, Healthy},
		{"never set though rows come", delay, func(w *Watch) { marked(w, 0, 60, 10, none) }, 590, Lagging},
		{"a query without one", Config{}, func(w *Watch) { marked(w, 0, 60, 10, none) }, -1, Healthy},
		{"a run that ends by itself", Config{Bounded: true, WatermarkDelay: time.Minute},
			func(w *Watch) { marked(w, 0, 60, 10, still) }, -1, Healthy},
		{"nothing comes", delay,
			func(w *Watch) { marked(w, 0, 30, 10, moves); marked(w, 300, 30, 0, still) }, 0, Idle},
		{"moving again", delay,
			func(w *Watch) { marked(w, 0, 30, 10, still); marked(w, 300, 30, 10, moves) }, 0, Healthy},
	} {
		w := New(c.config, at(0))
		c.play(w)
		a := w.Assess(at(600))
		if c.stuck < 0 && Known(a.WatermarkStuck) || c.stuck >= 0 && a.WatermarkStuck != c.stuck {
			t.Errorf("%s: stuck for %v s, want %v", c.name, a.WatermarkStuck, c.stuck)
		}
		if c.state != Idle && a.State != c.state {
			t.Errorf("%s: %s (%s), want %s", c.name, a.State, a.Sentence, c.state)
		}
		if a.State == Lagging && (!strings.Contains(a.Sentence, "watermark has not moved for") || a.Reason == "") {
			t.Errorf("%s: %q %q", c.name, a.Sentence, a.Reason)
		}
	}
}

// UI-04: what people want of a watermark is how far it is behind, beyond its delay.
func TestTheGapOfAWatermark(t *testing.T) {
	w := New(Config{TriggerEvery: 10 * time.Second, WatermarkDelay: time.Minute}, at(0))
	marked(w, 1000, 60, 10, func(second int) float64 { return float64(second) - 60 - 15 })
	if a := w.Assess(at(1600)); a.WatermarkLag < 14 || a.WatermarkLag > 16 {
		t.Errorf("a constant gap of 15 s is shown as %v s", a.WatermarkLag)
	}
}
