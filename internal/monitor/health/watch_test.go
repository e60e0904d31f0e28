package health

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsOf is a source of which that many rows were read and that many wait.
func rowsOf(read, unread float64) Source {
	return Source{
		Name: "s", UntilLoss: unknown(),
		Read: Amount{read, unknown(), unknown()}, Unread: Amount{unread, unknown(), unknown()},
	}
}

// feed plays a query that reads all that is there every second: per second so many
// rows arrive, and a batch has the phases that phases gives.
type feed struct {
	w       *Watch
	second  float64
	read    float64
	id      int64
	waits   float64
	arrives float64
	takes   float64 // rows a batch at most
	phases  Phases
	ops     []Operator
}

// run plays so many seconds.
func (f *feed) run(seconds int) {
	for range seconds {
		f.waits += f.arrives
		rows := min(f.waits, f.takes)
		f.w.Observe(Reading{At: at(f.second), Sources: []Source{rowsOf(f.read, f.waits)}})
		took := 0.0
		for _, p := range f.phases {
			took += p
		}
		f.w.Begin(f.id, at(f.second))
		f.w.Commit(Batch{
			ID: f.id, Start: at(f.second), End: at(f.second + took), Rows: rows,
			Capped: rows == f.takes, Phases: f.phases, Operators: f.ops, StateBytes: unknown(),
		})
		f.id, f.read, f.waits = f.id+1, f.read+rows, f.waits-rows
		f.w.Assess(at(f.second + 0.999))
		f.second++
	}
}

func usualPhases() Phases { return Phases{0.01, 0.01, 0.02, 0.1, 0.02, 0.05, 0.01} }

// Progress of a capped query looks healthy: each batch takes as much as the last one.
func TestCappedQueryIsFoundAndItsCapNamed(t *testing.T) {
	f := feed{
		w:       New(Config{TriggerEvery: time.Second, CapName: "maxOffsetsPerTrigger"}, at(0)),
		arrives: 800, takes: 1000, phases: usualPhases(),
	}
	f.run(600)
	if a := f.w.Assess(at(f.second)); a.State != Healthy || !strings.Contains(a.Reason, "Can take") {
		t.Fatalf("before: %s, %s", a.State, a.Reason)
	}
	f.arrives = 1200
	f.run(300)
	a := f.w.Assess(at(f.second))
	if a.State != Behind || a.Reason != "Read cap is the limit, not the engine" ||
		!strings.Contains(a.Todo[0], "maxOffsetsPerTrigger") || !strings.Contains(a.EtaText, "Short by 17") {
		t.Errorf("got %s: %+v", a.State, a.Cause)
	}
	if got := a.ArrivalPerSecond; math.Abs(got-1200) > 12 {
		t.Errorf("arrival rate %.0f, want 1200: what a batch takes is another number", got)
	}
	if got := a.ProcessedPerSecond; math.Abs(got-1000) > 15 {
		t.Errorf("processed %.0f, want 1000", got)
	}
	f.arrives = 400
	f.run(60)
	a = f.w.Assess(at(f.second))
	if a.State != CatchingUp || !strings.HasPrefix(a.EtaWord, "Over in") || math.Abs(a.DrainPerSecond-1000) > 1 {
		t.Errorf("got %s: %+v", a.State, a.Cause)
	}
	if want := f.waits / 600; !(a.CatchUpLow <= want*1.3 && a.CatchUpHigh >= want*0.7) {
		t.Errorf("catches up in %.0f to %.0f s, want about %.0f", a.CatchUpLow, a.CatchUpHigh, want)
	}
}

func TestCausesAreNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*feed)
		want   string // in the reason
		why    string
	}{
		{"surge", func(f *feed) { f.arrives *= 1.5 }, "Arrivals rose 50", "instead of"},
		{"state commit", func(f *feed) { f.phases[StateCommit] = 2.5 }, "State commit", "instead of 20"},
		{"sink", func(f *feed) { f.phases[SinkWrite] = 2 }, "Writing to the sink", "instead of"},
		{"log", func(f *feed) { f.phases[LogCommit] = 3 }, "Writing the checkpoint's logs", "since"},
		{"source", func(f *feed) { f.phases[LatestOffset] = 3 }, "Asking the source", "since"},
		{"compute", func(f *feed) {
			f.phases[Compute] = 2
			f.ops = []Operator{{Name: "Project", Seconds: 0.02}, {Name: "Window aggregate", Seconds: 1.98}}
		}, "Compute time per row rose", "Window aggregate accounts for 100"},
		{"skew", func(f *feed) {
			f.ops = []Operator{{Name: "Join", Seconds: 0.2, Partitions: []float64{.01, .01, .01, .2}}}
		}, "Skew 20× in Join", "Partition 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := feed{
				w: New(Config{}, at(0)), arrives: 1000, takes: 1010, phases: usualPhases(),
				ops: []Operator{{Name: "Project", Seconds: 0.02}, {Name: "Window aggregate", Seconds: 0.08}},
			}
			f.run(900)
			c.change(&f)
			f.takes = 900 // whatever the cause, rows begin to wait
			f.run(280)
			// A cap is asked for first; here it is not the point.
			for i := range f.w.batches {
				f.w.batches[i].Capped = false
			}
			a := f.w.Assess(at(f.second))
			if a.State != Behind && a.State != Stalled || !strings.HasPrefix(a.Reason, c.want) ||
				len(a.Why) == 0 || !strings.Contains(strings.ReplaceAll(a.Why[0], nbsp, " "), c.why) {
				t.Errorf("got %s, %q, why %q; want %q, %q", a.State, a.Reason, a.Why, c.want, c.why)
			}
		})
	}
}

func TestWhatIsNotKnownIsNotZero(t *testing.T) {
	w := New(Config{}, at(0))
	a := w.Assess(at(1))
	for name, x := range map[string]float64{
		"arrival": a.ArrivalPerSecond, "processed": a.ProcessedPerSecond, "backlog": a.Backlog.Rows,
		"backlog seconds": a.BacklogSeconds, "busy": a.Busy, "headroom": a.Headroom, "p95": a.DeliveryP95,
		"newest": a.NewestAge, "oldest": a.OldestUnreadAge, "drain": a.DrainPerSecond, "eta": a.CatchUpLow,
		"watermark": a.WatermarkLag, "state": a.StateBytes, "dropped": a.DroppedRatio, "loss": a.UntilLoss,
	} {
		if Known(x) {
			t.Errorf("%s is %v before anything was seen", name, x)
		}
	}
	// A source that counts files alone is measured in files.
	for second := range 200 {
		s := Source{Read: Amount{unknown(), unknown(), float64(second)},
			Unread: Amount{unknown(), unknown(), 3}}
		w.Observe(Reading{At: at(float64(second)), Sources: []Source{s}})
	}
	a = w.Assess(at(200))
	if a.Unit != "files" || math.Abs(a.ArrivalPerSecond-1) > 0.02 ||
		Known(a.Backlog.Rows) || a.Backlog.Files != 3 {
		t.Errorf("got %s, %v a second, %+v", a.Unit, a.ArrivalPerSecond, a.Backlog)
	}
	if math.Abs(a.BacklogSeconds-3) > 5 || a.BacklogBy != Interpolated {
		t.Errorf("3 files at one a second wait %v s (%s)", a.BacklogSeconds, a.BacklogBy)
	}
}

func TestIdleStalledAndTooLate(t *testing.T) {
	w := New(Config{Objective: 30 * time.Second}, at(0))
	f := feed{w: w, arrives: 100, takes: 1e9, phases: usualPhases()}
	f.run(300)
	f.arrives = 0
	for range 300 {
		f.w.Observe(Reading{At: at(f.second), Sources: []Source{rowsOf(f.read, 0)}})
		f.w.Quiet(at(f.second))
		f.second++
	}
	if a := f.w.Assess(at(f.second)); a.State != Idle || a.BacklogSeconds != 0 || a.OldestUnreadAge != 0 {
		t.Errorf("got %s, %v s behind", a.State, a.BacklogSeconds)
	}
	// One source of two has a row that is never read, its newest rows are: the oldest tells.
	f.arrives = 100
	old := at(f.second)
	for range 120 {
		source := rowsOf(f.read, 1)
		source.Oldest = old
		f.read += 100
		f.w.Observe(Reading{At: at(f.second), Sources: []Source{source}})
		f.w.Begin(f.id, at(f.second))
		f.w.Commit(Batch{ID: f.id, Start: at(f.second), End: at(f.second + 0.1), Rows: 100,
			Phases: noPhases(), StateBytes: unknown(), Newest: at(f.second)})
		f.w.Assess(at(f.second + 0.5))
		f.second, f.id = f.second+1, f.id+1
	}
	if a := f.w.Assess(at(f.second)); a.State != Breach || a.OldestUnreadAge < 119 || a.NewestAge > 2 {
		t.Errorf("got %s, oldest %v s, newest %v s", a.State, a.OldestUnreadAge, a.NewestAge)
	}
	// A batch that does not move.
	f.w.Begin(f.id, at(f.second))
	f.w.Move(at(f.second+1), SinkWrite, 500, 500, "the Delta commit")
	f.w.Observe(Reading{At: at(f.second + 100), Sources: []Source{rowsOf(f.read, 1000)}})
	a := f.w.Assess(at(f.second + 100))
	if a.State != Stalled || !strings.Contains(a.Reason, "waits for the Delta commit") || a.InFlight == nil {
		t.Errorf("got %s, %+v", a.State, a.Cause)
	}
	f.w.Move(at(f.second+101), SinkWrite, 501, 500, "")
	if a := f.w.Assess(at(f.second + 102)); a.State == Stalled {
		t.Error("a batch that moves is stalled")
	}
	f.w.End(at(f.second+103), "boom\nat line 1")
	if a := f.w.Assess(at(f.second + 104)); a.State != Failed || a.Reason != "boom" || a.Score != 100 {
		t.Errorf("got %s, %q", a.State, a.Reason)
	}
}

// A batch that moves, but takes ten minutes instead of a third of a second.
func TestABatchThatTakesFarTooLong(t *testing.T) {
	f := feed{w: New(Config{}, at(0)), arrives: 100, takes: 1e9, phases: usualPhases()}
	f.run(300)
	f.w.Begin(f.id, at(f.second))
	for i := range 600 {
		f.waits += f.arrives
		now := at(f.second + float64(i))
		f.w.Move(now, Compute, float64(i), unknown(), "")
		f.w.Observe(Reading{At: now, Sources: []Source{rowsOf(f.read, f.waits)}})
		a := f.w.Assess(now)
		if i < 30 && a.State != Healthy || i > 120 && a.State != Behind {
			t.Fatalf("after %d s it is %s", i, a.State)
		}
		if i == 599 && !strings.HasPrefix(a.Reason, "Batch"+nbsp+"300 runs for 9"+nbsp+"min 59"+nbsp+"s, usually") {
			t.Errorf("because %s: %s", a.Reason, a.Why)
		}
	}
}

func TestRatesBeginAnewWhenTheWorldDoes(t *testing.T) {
	for name, change := range map[string]func(s *Source, second *float64){
		"source made again": func(s *Source, _ *float64) { s.Restarted = true },
		"source went back":  func(s *Source, _ *float64) { s.Read.Rows -= 50_000 },
		"clock went back":   func(_ *Source, second *float64) { *second -= 3600 },
	} {
		w := New(Config{}, at(0))
		second, read := 4000.0, 0.0
		for range 300 {
			w.Observe(Reading{At: at(second), Sources: []Source{rowsOf(read, 0)}})
			second, read = second+1, read+1000
		}
		if r := w.Assess(at(second)).ArrivalPerSecond; math.Abs(r-1000) > 10 {
			t.Fatalf("%s: rate %v before", name, r)
		}
		s := rowsOf(read, 0)
		change(&s, &second)
		w.Observe(Reading{At: at(second), Sources: []Source{s}})
		if a := w.Assess(at(second)); Known(a.ArrivalPerSecond) || a.State != Healthy {
			t.Errorf("%s: rate %v, %s", name, a.ArrivalPerSecond, a.State)
		}
	}
}

func TestBoundedQueriesAreNeverLate(t *testing.T) {
	f := feed{w: New(Config{Bounded: true}, at(0)), arrives: 5000, takes: 100, phases: usualPhases()}
	f.run(900)
	if a := f.w.Assess(at(f.second)); a.State != Healthy {
		t.Errorf("got %s", a.State)
	}
}

func TestStateForecast(t *testing.T) {
	for name, c := range map[string]struct {
		bytes func(minute int) float64
		hour  float64 // growth, NaN for none to be told
	}{
		"grows":        {func(m int) float64 { return 1e9 + 1e7*float64(m) }, 6e8},
		"steady":       {func(m int) float64 { return 1e9 + 1e6*float64(m%2) }, math.NaN()},
		"too early":    {func(m int) float64 { return 1e9 * float64(m) }, math.NaN()},
		"grows by saw": {func(m int) float64 { return 1e9 + 1e7*float64(m) + 2e6*float64(m%5) }, 6e8},
	} {
		w := New(Config{StateLimit: 4e9}, at(0))
		minutes := 60
		if name == "too early" {
			minutes = 9
		}
		for m := range minutes {
			end := at(float64(60 * m))
			w.Commit(Batch{Start: end, End: end, Rows: 1, Phases: noPhases(), StateBytes: c.bytes(m)})
		}
		a := w.Assess(at(float64(60 * minutes)))
		if Known(c.hour) != Known(a.StatePerHour) || Known(c.hour) && math.Abs(a.StatePerHour/c.hour-1) > 0.1 {
			t.Errorf("%s: %v bytes an hour, want %v", name, a.StatePerHour, c.hour)
		}
		want := (4e9 - a.StateBytes) / (c.hour / 3600)
		if Known(c.hour) && math.Abs(a.UntilStateLimit/want-1) > 0.1 {
			t.Errorf("%s: limit in %v s, want %v", name, a.UntilStateLimit, want)
		}
	}
}

func TestSketchIsWithinOnePercentAndMerges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var values []float64
	var a, b, both Sketch
	for i := range 20_000 {
		v := sketchLeast + math.Exp(random.NormFloat64()*3)
		values = append(values, v)
		both.Add(v, 1)
		if i%3 == 0 {
			a.Add(v, 1)
		} else {
			b.Add(v, 1)
		}
	}
	a.Merge(&b)
	slices.Sort(values)
	for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 0.999, 1} {
		want := values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
		for name, s := range map[string]*Sketch{"one": &both, "merged": &a} {
			if got := s.Quantile(q); math.Abs(got/want-1) > 0.0101 {
				t.Errorf("%s: quantile %v is %v, want %v", name, q, got, want)
			}
		}
	}
	if a.Max() != values[len(values)-1] || a.Rows() != 20_000 {
		t.Errorf("max %v of %d", a.Max(), a.Rows())
	}
	var odd Sketch
	odd.Add(-5, 1)
	odd.Add(math.NaN(), 1)
	odd.Add(math.Inf(1), 1)
	odd.Add(1e300, 1)
	if odd.Rows() != 3 || len(odd.counts) > sketchBuckets {
		t.Errorf("%d rows in %d buckets", odd.Rows(), len(odd.counts))
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Figure(12_100), "12.1 k"}, {Figure(0), "0"}, {Figure(9999), "10 k"},
		{Figure(6612), "6.6 k"}, {Figure(999), "999"}, {Figure(4.8e6), "4.8 M"},
		{Figure(math.NaN()), "–"}, {Figure(0.456), "0.46"}, {Figure(2.5e9), "2.5 G"},
		{Span(218), "3 min 38 s"}, {Span(0.14), "140 ms"}, {Span(7200), "2 h"}, {Span(3.94), "3.9 s"},
		{Span(math.NaN()), "–"}, {Span(93_600), "1 d 2 h"}, {Span(math.Inf(1)), "–"}, {Span(10), "10 s"},
		{Percent(0.172), "17 %"}, {between(181, 290), "3–5 min"}, {between(10, math.NaN()), "more than 10 s"},
		{between(3, 3.4), "3–4 s"}, {batchNumber(1234567), "1\u202f234\u202f567"}, {batchNumber(12), "12"},
	} {
		if got := strings.ReplaceAll(c.got, nbsp, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestReasonOfAFailureIsTheLineThatSaysMost(t *testing.T) {
	for failure, want := range map[string]string{
		"boom": "boom", "boom\nat line 7": "boom", "": "", "\n\n": "",
		"[PYTHON_EXCEPTION] Found error inside foreachBatch Python process: Traceback (most recent call last):\n" +
			"  File \"app.py\", line 57, in merge\n    if n == 4: raise ValueError(\"no tier\")\n" +
			"ValueError: no tier\n SQLSTATE: 38000": "ValueError: no tier",
		"x: Traceback (most recent call last):":               "x: Traceback (most recent call last):",
		"x: Traceback (most recent call last):\n  File \"a\"": "x: Traceback (most recent call last):",
	} {
		if got := Gist(failure); got != want {
			t.Errorf("%q: %q, want %q", failure, got, want)
		}
	}
}

func TestNoFilesAreNoRows(t *testing.T) {
	w := New(Config{}, at(0))
	look := func(second, files float64) {
		w.Observe(Reading{At: at(second), Sources: []Source{{Name: "files", UntilLoss: math.NaN(),
			Read:   Amount{Rows: math.NaN(), Bytes: math.NaN(), Files: 0},
			Unread: Amount{Rows: math.NaN(), Bytes: math.NaN(), Files: files},
		}}})
	}
	for second := range 60 {
		look(float64(second), 0)
	}
	if s := w.Signals(at(60)); s.ArrivalRowsPerSecond != 0 || s.Backlog.Rows != 0 {
		t.Errorf("without a file: %v rows/s, %v rows", s.ArrivalRowsPerSecond, s.Backlog.Rows)
	}
	look(61, 3)
	if s := w.Signals(at(62)); Known(s.ArrivalRowsPerSecond) || Known(s.Backlog.Rows) {
		t.Errorf("of files that nobody opened: %v rows/s, %v rows", s.ArrivalRowsPerSecond, s.Backlog.Rows)
	}
}
