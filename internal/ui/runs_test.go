package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

// servers are servers of one directory, one after the other.
type servers struct {
	t        *testing.T
	dir      string
	registry *monitor.Registry
	past     *history.Store
	now      time.Time
}

// next ends the server and starts another.
func (s *servers) next() http.Handler {
	if s.past != nil {
		s.past.Close()
	}
	s.registry = monitor.NewRegistry()
	s.registry.Versioned("1.2")
	s.past = history.Start(history.Options{
		Registry: s.registry, Files: vfs.NewLocal(), Dir: s.dir, Keep: 1e6 * time.Hour, Bytes: 1 << 30,
	})
	s.past.Ready()
	return New(s.registry, Options{Now: func() time.Time { return s.now }, Past: s.past})
}

func newServers(t *testing.T) *servers {
	s := &servers{t: t, dir: t.TempDir(), now: noon.Add(24 * time.Hour)}
	t.Cleanup(func() { s.past.Close() })
	return s
}

// play runs a query for ten batches, one a minute, of which each takes so long.
func (s *servers) play(run monitor.Run, took time.Duration, end func(*monitor.Query, time.Time)) {
	q := s.registry.Start(run, monitor.NewBus())
	q.Activate([]string{"kafka orders"}, "delta orders")
	at := run.StartedAt
	for i := range int64(10) {
		at = run.StartedAt.Add(time.Duration(i) * time.Minute)
		p := &monitor.Progress{BatchID: i, Sources: []monitor.Source{{Description: "kafka orders",
			NumInputRows: 600}}}
		p.Durations.Add(monitor.AddBatch, took)
		q.Record(p, monitor.Trigger{Start: at, End: at.Add(took)})
		q.Committed(monitor.BatchOf(p, at, at.Add(took)))
	}
	if end != nil {
		end(q, at.Add(time.Minute))
	}
}

func stops(q *monitor.Query, at time.Time) { q.Terminate(at, nil) }

func fails(q *monitor.Query, at time.Time) {
	q.Terminate(at, &monitor.Failure{Message: "boom <b>", Condition: "DIVIDE_BY_ZERO"})
}

func run(id string, at time.Time, settings ...monitor.Setting) monitor.Run {
	return monitor.Run{ID: "orders-id", RunID: id, Name: "orders", Application: "shop", StartedAt: at,
		Plan: "Project [a]\n+- Scan " + id, Settings: settings}
}

// A query that ended on an earlier server is below the fleet, on a page of its own and
// in the API, with what is known of it and what is not.
func TestFinishedQueriesOutliveTheServer(t *testing.T) {
	s := newServers(t)
	s.next()
	s.play(run("run-1", noon), time.Second, fails)
	h := s.next()
	fleet := safe(t, "fleet", get(t, h, "GET", "/", "localhost").Body.String())
	for _, want := range []string{"Finished before", "orders", "Failed", "boom <b>"} {
		if !strings.Contains(fleet, want) {
			t.Errorf("the fleet lacks %q", want)
		}
	}
	for _, id := range []string{"run-1", "orders-id"} {
		w := get(t, h, "GET", "/queries/"+id, "localhost")
		page := safe(t, id, w.Body.String())
		for _, want := range []string{"boom <b>", "DIVIDE_BY_ZERO", "kafka orders → delta orders", "weir 1.2",
			"What is not known", "Spark's own progress", "10 batches with rows"} {
			if w.Code != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%s: %d lacks %q", id, w.Code, want)
			}
		}
	}
	got := keys(t, get(t, h, "GET", "/api/v1/runs/run-1", "localhost").Body.Bytes())
	for key, want := range map[string]string{
		"state": `"failed"`, "live": "false", "startedAtMs": fmt.Sprint(noon.UnixMilli()),
		"endedAtMs":      fmt.Sprint(noon.Add(10 * time.Minute).UnixMilli()),
		"lastCommitAtMs": fmt.Sprint(noon.Add(9*time.Minute + time.Second).UnixMilli()),
		"sources":        `["kafka orders"]`, "name": `"orders"`,
	} {
		if string(got[key]) != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	if w := get(t, h, "GET", "/api/v1/runs/nobody", "localhost"); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
}

// A run of an application that was only watched, and whose end nobody told, is neither
// running nor stopped, and its end is no time.
func TestARunWithoutAnEndIsSaidToBeSo(t *testing.T) {
	s := newServers(t)
	s.next()
	watched := run("run-1", noon)
	watched.Engine = "Spark 4.3.0"
	s.play(watched, time.Second, nil) // the server is gone before its query
	h := s.next()
	got := keys(t, get(t, h, "GET", "/api/v1/runs/run-1", "localhost").Body.Bytes())
	if string(got["state"]) != `"unknown"` || string(got["endedAtMs"]) != "null" ||
		!strings.Contains(string(got["lacks"]), "nobody saw that") {
		t.Errorf("%s %s %s", got["state"], got["endedAtMs"], got["lacks"])
	}
	if page := get(t, h, "GET", "/queries/run-1", "localhost").Body.String(); !strings.Contains(page,
		"End not told") {
		t.Error("the page does not say it")
	}
}

// The comparison of a run of an earlier server with a live one: by hand, 1 s and 3 s a
// batch are 3.0×, of which 2 s are computing.
func TestTwoRunsAreCompared(t *testing.T) {
	s := newServers(t)
	s.next()
	s.play(run("run-1", noon, monitor.Setting{Name: "trigger", Value: "1m0s"}), time.Second, stops)
	h := s.next()
	s.now = noon.Add(time.Hour + 10*time.Minute)
	s.play(run("run-2", noon.Add(time.Hour), monitor.Setting{Name: "trigger", Value: "1m0s"},
		monitor.Setting{Name: "spark.sql.shuffle.partitions", Value: "4"}), 3*time.Second, nil)
	var c struct {
		Sentence string
		LengthMs float64
		Runs     []struct {
			RunID   string
			Live    bool
			Batches int
		}
		Measures []struct {
			Name   string
			Values []*float64
			Ratio  *float64
		}
		Settings []struct {
			Name   string
			Values []*string
		}
		Plan   []struct{ Mark, Text string }
		Series struct {
			StepMs  float64
			Columns map[string][][]*float64
		}
	}
	for _, ask := range []string{"a=run-1&b=run-2", "query=orders-id", "a=run-1&b=run-2&align=end"} {
		w := get(t, h, "GET", "/api/v1/compare?"+ask, "localhost")
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		if want := "p95 of a batch 3.0× slower: computing +2\u00a0s."; c.Sentence != want {
			t.Errorf("%s: got %q, want %q", ask, c.Sentence, want)
		}
		if c.LengthMs != 600_000 || len(c.Runs) != 2 || c.Runs[0].RunID != "run-1" || c.Runs[0].Live ||
			!c.Runs[1].Live ||
			c.Runs[0].Batches != 10 || c.Runs[1].Batches != 10 {
			t.Errorf("%s: %+v, %v", ask, c.Runs, c.LengthMs)
		}
	}
	for _, m := range c.Measures {
		if m.Name == "batchP95Ms" && (*m.Values[0] != 1000 || *m.Values[1] != 3000 || *m.Ratio != 3) {
			t.Errorf("%+v", m)
		}
		if strings.HasPrefix(m.Name, "freshness") {
			t.Errorf("%s of queries whose sources tell no times", m.Name)
		}
	}
	if len(c.Settings) != 1 || c.Settings[0].Name != "spark.sql.shuffle.partitions" ||
		c.Settings[0].Values[0] != nil ||
		*c.Settings[0].Values[1] != "4" {
		t.Errorf("%+v", c.Settings)
	}
	if text := fmt.Sprint(c.Plan); text != "[{ Project [a]} {- +- Scan run-1} {+ +- Scan run-2}]" {
		t.Error(text)
	}
	page := safe(t, "compare", get(t, h, "GET", "/compare?a=run-1&b=run-2", "localhost").Body.String())
	for _, want := range []string{"3.0× slower", "Batch p95", "spark.sql.shuffle.partitions", "+ +- Scan run-2", "first 10"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestWhatCannotBeComparedIsSaid(t *testing.T) {
	s := newServers(t)
	h := s.next()
	s.play(run("run-1", noon), time.Second, stops)
	for ask, want := range map[string]int{
		"a=run-1": 400, "a=run-1&b=run-1": 400, "query=orders-id": 400, "a=run-1&b=none": 404, "": 400,
		"a=run-1&b=<b>": 404,
	} {
		w := get(t, h, "GET", "/api/v1/compare?"+ask, "localhost")
		if w.Code != want || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d, want %d: %s", ask, w.Code, want, w.Body)
		}
		if ask == "" {
			want = http.StatusOK // to choose from
		}
		w = get(t, h, "GET", "/compare?"+ask, "localhost")
		if safe(t, ask, w.Body.String()); w.Code != want {
			t.Errorf("the page of %q: %d, want %d", ask, w.Code, want)
		}
	}
}

// Names that nobody thought of are text on these pages, too.
func TestHostileRunsStayText(t *testing.T) {
	for _, name := range hostile(t) {
		name = strings.ToValidUTF8(name, "\ufffd")
		s := newServers(t)
		h := s.next()
		for i := range 2 {
			one := monitor.Run{ID: "q", RunID: name + fmt.Sprint(i), Name: name, Application: name, Engine: name,
				Plan: name + fmt.Sprint(i), StartedAt: noon.Add(time.Duration(i) * time.Hour),
				Settings: []monitor.Setting{{Name: name, Value: name + fmt.Sprint(i)}}}
			s.play(one, time.Second, fails)
		}
		for _, path := range []string{"/compare?query=q", "/runs", "/queries/q", "/"} {
			w := get(t, h, "GET", path, "localhost")
			if safe(t, path+" of "+name, w.Body.String()); w.Code != http.StatusOK {
				t.Errorf("%s of %q: %d", path, name, w.Code)
			}
		}
		s.past.Close()
	}
}
