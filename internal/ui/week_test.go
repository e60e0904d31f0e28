package ui

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// Hours of a query from what the history has of it: the worst of each, failures until the
// next start, nothing while no run is known.
func TestAWeekOfAQuery(t *testing.T) {
	from := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	at := func(hour float64) time.Time { return from.Add(time.Duration(hour * float64(time.Hour))) }
	ran := func(id string, begins, ends float64, state monitor.State) told {
		r := told{Run: history.Run{ID: "q", RunID: id, Name: "orders", StartedAt: at(begins), State: state}}
		if ends != 0 {
			r.Ended, r.EndedAt = true, at(ends)
		}
		return r
	}
	change := func(id string, hour float64, state health.State) history.Change {
		return history.Change{RunID: id, At: at(hour), State: state}
	}
	live := ran("3", 9.5, 0, monitor.Active)
	live.query = monitor.NewRegistry().Start(monitor.Run{ID: "q", RunID: "3"}, monitor.NewBus())
	for name, c := range map[string]struct {
		runs    []told
		changes []history.Change
		want    string  // the first hours
		healthy float64 // of the known time
	}{
		"the worst of an hour counts": {[]told{ran("1", -50, 3, monitor.Stopped)},
			[]history.Change{change("1", -48, health.Healthy), change("1", 1.2, health.Behind),
				change("1", 1.5, health.Healthy), change("1", 3, health.Stopped)}, "hbho..", 2.7 / 3},
		"a failure lasts until the next start": {
			[]told{ran("2", 4.5, 6, monitor.Stopped), ran("1", 0, 2.5, monitor.Failed)},
			[]history.Change{change("1", 0, health.Starting), change("1", 0.1, health.Healthy),
				change("1", 2.5, health.Failed), change("2", 4.5, health.Healthy)}, "thfffh..", 3.9 / 6},
		"what runs goes on until now": {[]told{live}, []history.Change{change("3", 9.5, health.Idle)},
			".........iii..", 1},
		"an end that was not told": {[]told{ran("1", 0, 0, monitor.Active)},
			[]history.Change{change("1", 0, health.Healthy), change("1", 2, health.Lagging)}, "hhl...", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := weekOf(c.runs, c.changes, from, at(12))
			if len(w.Queries) != 1 || !strings.HasPrefix(w.Queries[0].StateStrip, c.want) ||
				len(w.Queries[0].StateStrip) != weekHours || w.Queries[0].Name != "orders" {
				t.Fatalf("%+v, want %s", w.Queries, c.want)
			}
			if got := float64(w.Queries[0].HealthyRatio); got < c.healthy-0.001 || got > c.healthy+0.001 {
				t.Errorf("healthy for %v, want %v", got, c.healthy)
			}
		})
	}
	if w := weekOf([]told{ran("1", -500, -400, monitor.Stopped)}, nil, from, at(12)); len(w.Queries) != 0 {
		t.Errorf("a query of earlier weeks: %+v", w.Queries)
	}
}

// The page and the API have what earlier servers told, and read it once a minute at most.
func TestTheWeekIsReadFromTheHistory(t *testing.T) {
	s := newServers(t)
	s.next()
	s.play(run("run-1", noon), time.Second, fails)
	h := s.next()
	page := get(t, h, "GET", "/week", "localhost").Body.String()
	safe(t, "week", page)
	for _, want := range []string{
		">orders<", "Failed 12 h", "Wed 4 Mar", `href="/week" data-key="w" aria-current="page"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var got week1
	if err := json.Unmarshal(get(t, h, "GET", "/api/v1/week", "localhost").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	day := noon.UTC().Truncate(24 * time.Hour)
	if len(got.Queries) != 1 || got.FromAtMs != day.AddDate(0, 0, -5).UnixMilli() || got.StepSeconds != 3600 {
		t.Fatalf("%+v", got)
	}
	strip := got.Queries[0].StateStrip
	want := strings.Repeat(".", 5*24+12) + strings.Repeat("f", 24) + "."
	if diff := cmp.Diff(strip[:len(want)], want); diff != "" {
		t.Error(diff)
	}
	off := New(monitor.NewRegistry(), Options{Now: time.Now})
	if w := get(t, off, "GET", "/week", "localhost"); w.Code != http.StatusNotFound {
		t.Errorf("without a history: %d", w.Code)
	}
	if page := get(t, off, "GET", "/", "localhost").Body.String(); strings.Contains(page, "/week") {
		t.Error("without a history the page is linked")
	}
}

// week1 is a week as a client reads it.
type week1 struct {
	FromAtMs    int64
	StepSeconds int
	Queries     []struct{ StateStrip string }
}
