package health

import (
	"math"
	"strings"
	"testing"
	"time"
)

// stretchOf is an hour of batches, one a minute, that take so long in each phase.
func stretchOf(rows, state float64, phases ...float64) *Stretch {
	s := &Stretch{From: time.Unix(0, 0), To: time.Unix(3600, 0)}
	for i := range 60 {
		b := Several{Count: 1, Batch: Batch{ID: int64(i), Start: time.Unix(int64(60*i), 0), Rows: rows,
			StateBytes: state}}
		took := 0.0
		for p := range b.Phases {
			b.Phases[p] = math.NaN()
			if p < len(phases) {
				b.Phases[p] = phases[p]
				took += phases[p]
			}
		}
		b.End = b.Start.Add(time.Duration(took * 1e9))
		s.Batches = append(s.Batches, b)
	}
	return s
}

func TestDifferenceNamesTheGreatest(t *testing.T) {
	nan := math.NaN()
	usual := func() *Stretch { return stretchOf(600, 1e6, .01, .02, .1, .3) }
	late := usual()
	late.Minutes = []Minute{{Delivery: &Sketch{}, Backlog: 10, Arrival: 10}}
	late.Minutes[0].Delivery.Add(1, 100)
	later := usual()
	later.Minutes = []Minute{{Delivery: &Sketch{}, Backlog: 5000, Arrival: 10}}
	later.Minutes[0].Delivery.Add(4, 100)
	few := usual()
	few.Batches = few.Batches[:3]
	for _, c := range []struct {
		name string
		a, b *Stretch
		want string
	}{
		{"the same", usual(), usual(), "No difference that matters: p95 of a batch is 430\u00a0ms and 430\u00a0ms."},
		{"slower, state larger", usual(), stretchOf(600, 3e6, .01, .02, .1, .71),
			"p95 of a batch 2.0× slower: computing +410\u00a0ms; state 3.0× larger."},
		{"faster", stretchOf(600, nan, .01, .02, .1, .87), stretchOf(600, nan, .01, .02, .1, .37),
			"p95 of a batch 2.0× faster: computing −500\u00a0ms."},
		{"rows and batch", usual(), stretchOf(60, 1e6, .01, .02, .1, .3), "A batch has 10× fewer rows."},
		{"too few", usual(), few, "Too few batches with rows to tell: 60 and 3."},
		{"none", &Stretch{}, usual(), "Too few batches with rows to tell: 0 and 60."},
		{"later", late, later, "Backlog 500× larger; p95 of freshness 4.0× later."},
	} {
		a, b := c.a.Figures(), c.b.Figures()
		if got := Difference(&a, &b); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// The figures of a plain hour, worked out by hand.
func TestFiguresOfAStretch(t *testing.T) {
	s := stretchOf(600, 1e6, .01, .02, .1, .37)
	s.Batches[3].StateBytes, s.Batches[4].NoData = 5e6, true
	s.Batches[5].Dropped = 36
	s.Batches = append(s.Batches, Several{Count: 10, Batch: Batch{Start: time.Unix(3599, 0),
		End:  time.Unix(3600, 0),
		Rows: 60, StateBytes: math.NaN()}})
	s.Batches[60].Phases = s.Batches[0].Phases
	f := s.Figures()
	if f.Batches != 69 || f.Seconds != 3600 {
		t.Errorf("%d batches in %v s, want 69 in 3600", f.Batches, f.Seconds)
	}
	for m, want := range map[Measure]float64{
		ProcessedMeasure: (59*600 + 600) / 3600.0, PaceMeasure: 36_000 / (60*.5 + 10), RowsMeasure: 600,
		InBatchesMeasure: 40 / 3600.0, StateMeasure: 5e6, LateMeasure: 36 / 36_036.0, BatchP50Measure: .5,
		PhaseMeasures + Measure(Compute): .37,
	} {
		if got := f.Values[m]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("measure %d is %v, want %v", m, got, want)
		}
	}
	for _, m := range []Measure{ArrivalMeasure, FreshP95Measure, BacklogMeasure,
		PhaseMeasures + Measure(SinkWrite)} {
		if Known(f.Values[m]) {
			t.Errorf("measure %d is %v, want it not known", m, f.Values[m])
		}
	}
	if none := (&Stretch{}).Figures(); strings.Contains(Difference(&none, &none), "NaN") ||
		Known(none.Values[BatchP95Measure]) {
		t.Errorf("of nothing: %+v", none)
	}
}
