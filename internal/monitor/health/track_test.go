package health

import (
	"testing"
	"time"
)

func noted(second float64, state State, backlogSeconds float64) *Assessment {
	w := New(Config{}, at(second))
	a := w.Assess(at(second))
	a.State, a.BacklogSeconds = state, backlogSeconds
	return &a
}

func TestTrackKeepsTheWorstOfAStepAndGapsAsGaps(t *testing.T) {
	track := NewTrack()
	for second := range 100 {
		if second >= 40 && second < 60 {
			continue // the server was down
		}
		track.Note(noted(float64(second), Healthy, float64(second%10)), nil)
	}
	c := track.Chart(at(0), at(100), FineStep)
	if len(c.Rows) != 10 {
		t.Fatalf("%d rows", len(c.Rows))
	}
	for i, row := range c.Rows {
		x := row[BacklogMs]
		if gap := i == 4 || i == 5; gap != (x != x) || !gap && x != 9000 {
			t.Errorf("step %d: %v", i, x)
		}
		if arrival := row[ArrivalRowsPerSecond]; arrival == arrival {
			t.Errorf("step %d: arrival %v though nobody knows", i, arrival)
		}
	}
	if c := track.Chart(at(0), at(100), 30*time.Second); len(c.Rows) != 4 || c.Rows[1][BacklogMs] != 9000 {
		t.Errorf("coarser: %+v", c)
	}
	if c := track.Chart(at(-5000), at(-4000), FineStep); c.Rows[3][BacklogMs] == c.Rows[3][BacklogMs] {
		t.Error("a past that nobody saw has numbers")
	}
	if c := track.Chart(at(1000), at(0), FineStep); len(c.Rows) != 0 {
		t.Errorf("%d rows of a time that ends before it begins", len(c.Rows))
	}
}

func TestTrackIsBounded(t *testing.T) {
	track := NewTrack()
	for minute := range 3 * 24 * 60 {
		track.Note(noted(float64(60*minute), Healthy, 1), nil)
		track.Mark(Mark{At: at(float64(60 * minute)), Kind: "failed"})
	}
	if len(track.fine.rows) > trackCells || len(track.coarse.rows) != trackCells ||
		len(track.Marks()) != keptMarks {
		t.Errorf("%d and %d rows, %d marks", len(track.fine.rows), len(track.coarse.rows), len(track.Marks()))
	}
	day := track.Chart(at(2*86400), at(3*86400), CoarseStep)
	if len(day.Rows) != trackCells || day.Rows[5][BacklogMs] != 1000 {
		t.Errorf("%d rows of a day", len(day.Rows))
	}
}

func TestStripShowsTheWorstOfEachHalfHour(t *testing.T) {
	track := NewTrack()
	start := simStart.Truncate(StripStep)
	for _, s := range []struct {
		minute int
		state  State
	}{{0, Healthy}, {10, Behind}, {20, Healthy}, {100, Idle}} {
		track.noteState(start.Add(time.Duration(s.minute)*time.Minute), s.state)
	}
	strip := track.Strip(start.Add(130 * time.Minute))
	if got := strip[StripCells-5:]; got[0] != Behind || got[1] != "" || got[3] != Idle || got[4] != "" {
		t.Errorf("got %q", got)
	}
}
