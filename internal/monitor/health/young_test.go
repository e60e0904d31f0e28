package health

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func statesOf(changes []change) (states []State) {
	for _, c := range changes {
		states = append(states, c.state)
	}
	return states
}

// A query that is too slow from its first row on: its batches get longer and longer.
func TestAQueryThatDrownsFromTheStartIsFoundInItsFirstBatches(t *testing.T) {
	s := simulation{load: 4.5, sigma: 0.02}
	for _, s.ahead = range []bool{false, true} {
		drowns(t, s)
	}
}

func drowns(t *testing.T, s simulation) {
	t.Helper()
	for _, s.mode = range []simMode{withTimes, withoutTimes} {
		for seed := range uint64(2) {
			changes := s.play(seed, func(second float64, a *Assessment) {
				if a.State == Healthy || strings.HasPrefix(a.Sentence, "Keeping up") {
					t.Fatalf("seed %d: after %v s %s: %s", seed, second, a.State, a.Sentence)
				}
				if a.State != Behind || second < 120 {
					return
				}
				if since := a.Since.Sub(at(0)); since > 12*time.Second {
					t.Fatalf("seed %d: lags since %v after the start", seed, since)
				}
				if math.Abs(a.Growth-(1-1/4.5)) > 0.12 || math.Abs(a.Headroom-1/4.5) > 0.05 ||
					math.Abs(a.Busy-4.5) > 0.8 {
					t.Fatalf("seed %d: after %v s short by %v, headroom %v, busy %v", seed, second, a.Growth,
						a.Headroom, a.Busy)
				}
				why := strings.ReplaceAll(a.Reason, nbsp, " ")
				if !strings.HasPrefix(why, "Python function takes ") || !strings.HasSuffix(why, " of 1 k rows/s") ||
					len(a.Why) == 0 || len(a.Todo) == 0 || strings.Contains(why, "behind") {
					t.Fatalf("seed %d: after %v s because %s; %q, %q", seed, second, why, a.Why, a.Todo)
				}
			})
			if got := statesOf(changes); !slices.Equal(got, []State{Starting, Behind}) || changes[1].second > 90 {
				t.Errorf("seed %d, mode %d: %v", seed, s.mode, changes)
			}
		}
	}
}

// What looks like lag in the first minutes and is none.
func TestYoungQueriesThatAreWellRaiseNoAlarm(t *testing.T) {
	for _, c := range []struct {
		name string
		sim  simulation
		want []State // that it may have, Healthy at the end
	}{
		{"a first batch of 50 s", simulation{load: 0.3, sigma: 0.2, slow: 50},
			[]State{Starting, CatchingUp, Healthy}},
		{"an hour to catch up in one batch", simulation{load: 0.2, sigma: 0.2, waiting: 3600 * simRate},
			[]State{Starting, CatchingUp, Healthy}},
		{"an hour to catch up, read ahead", simulation{load: 0.2, sigma: 0.2, waiting: 3600 * simRate, ahead: true},
			[]State{Starting, CatchingUp, Healthy}},
		{"an hour to catch up by a cap", simulation{load: 0.2, sigma: 0.2, waiting: 3600 * simRate, cap: 20_000},
			[]State{Starting, CatchingUp, Healthy}},
		{"an hour to catch up, triggered", simulation{trigger: 10 * time.Second, load: 0.2, sigma: 0.2,
			waiting: 3600 * simRate, cap: 50_000}, []State{Starting, CatchingUp, Healthy}},
		{"a burst at the start", simulation{load: 0.1, sigma: 0.2, factor: burst(15, 60, 5)},
			[]State{Starting, Healthy}},
		{"rows in lumps", simulation{load: 0.2, sigma: 0.2, factor: lumps(20)}, []State{Starting, Healthy}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, c.sim.mode = range []simMode{withTimes, withoutTimes} {
				for seed := range uint64(2) {
					raisesNoAlarm(t, c.sim, seed, c.want)
				}
			}
		})
	}
}

func raisesNoAlarm(t *testing.T, s simulation, seed uint64, want []State) {
	t.Helper()
	changes := s.play(seed, func(second float64, a *Assessment) {
		if a.BacklogSeconds > 60 && strings.HasPrefix(a.Sentence, "Keeping up.") {
			t.Fatalf("seed %d: after %v s, %v s behind: %s", seed, second, a.BacklogSeconds, a.Sentence)
		}
	})
	for _, state := range statesOf(changes) {
		if !slices.Contains(want, state) {
			t.Fatalf("seed %d, mode %d: %v", seed, s.mode, changes)
		}
	}
	if last := changes[len(changes)-1].state; last != Healthy {
		t.Errorf("seed %d, mode %d: %v", seed, s.mode, changes)
	}
}

// lumps has all rows of so many seconds come in one of them.
func lumps(seconds float64) func(float64) float64 {
	return func(at float64) float64 {
		if math.Mod(at, seconds) < 1 {
			return seconds
		}
		return 0
	}
}

// Batches of milliseconds tell nothing of what a query could take.
func TestAQueryThatHardlyRunsHasNoLoadAndNoHeadroom(t *testing.T) {
	for name, c := range map[string]struct {
		config  Config
		batch   float64 // seconds, once a second
		want    bool    // whether something is said
		inBatch float64
	}{
		"2 ms, endless":    {Config{}, 0.002, false, 0.002},
		"2 ms, each 10 s":  {Config{TriggerEvery: 10 * time.Second}, 0.002, false, 0.002},
		"300 ms, endless":  {Config{}, 0.3, true, 0.3},
		"300 ms, each 1 s": {Config{TriggerEvery: time.Second}, 0.3, true, 0.3},
	} {
		w := New(c.config, at(0))
		for second := range 300 {
			now := float64(second)
			w.Observe(Reading{At: at(now), Sources: []Source{rowsOf(10*now, 10)}})
			w.Begin(int64(second), at(now))
			phases := noPhases()
			phases[LatestOffset], phases[Compute] = c.batch/3, c.batch*2/3
			w.Commit(Batch{ID: int64(second), Start: at(now), End: at(now + c.batch*(0.5+float64(second%3)/2)),
				Rows: 10, Phases: phases, StateBytes: unknown()})
			w.Assess(at(now + 0.9))
		}
		a := w.Assess(at(300))
		if math.Abs(a.InBatches-c.inBatch) > 0.1*c.inBatch {
			t.Errorf("%s: in batches %v of the time, want %v", name, a.InBatches, c.inBatch)
		}
		if Known(a.Busy) != c.want || Known(a.Headroom) != c.want || c.want && a.Busy > a.InBatches*1.01 {
			t.Errorf("%s: busy %v, headroom %v, in batches %v", name, a.Busy, a.Headroom, a.InBatches)
		}
		if strings.Contains(a.Reason, "×") != c.want || a.State != Healthy {
			t.Errorf("%s: %s, %s", name, a.State, a.Reason)
		}
	}
}

// A batch that runs for hours makes the window longer every second, and not the series.
func TestSeriesAreBoundedHoweverLongABatchRuns(t *testing.T) {
	w := New(Config{}, at(0))
	w.Begin(0, at(0))
	for second := range 4 * 3600 {
		now := float64(second)
		w.Observe(Reading{At: at(now), Sources: []Source{rowsOf(0, 100*now)}})
		w.Signals(at(now))
		for _, s := range []*series{&w.arrived, &w.backlog, &w.history, &w.begins} {
			if len(s.points) > cells+1 {
				t.Fatalf("after %d s %d points", second, len(s.points))
			}
		}
	}
	if rate := w.Signals(at(4 * 3600)).ArrivalPerSecond; math.Abs(rate-100) > 1 {
		t.Errorf("arrival rate %v, want 100", rate)
	}
}

// What takes most of batches that run a fifth of the time is not why rows wait.
func TestWhatTakesMostOfShortBatchesIsNoCause(t *testing.T) {
	f := feed{w: New(Config{TriggerEvery: time.Second}, at(0)), arrives: 1200, takes: 1000,
		phases: usualPhases(), ops: []Operator{{Name: "Source", Seconds: 0.2}}}
	f.run(300)
	for i := range f.w.batches { // the limit is not known to be one
		f.w.batches[i].Capped = false
	}
	a := f.w.Assess(at(f.second))
	if a.State != Behind || a.Reason != "Works off 1\u00a0k of 1.2\u00a0k rows/s" {
		t.Errorf("got %s, %q", a.State, a.Reason)
	}
}
