package ui

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// watchedQuery is a query of which a batch and a look at its source were seen.
func watchedQuery(r *monitor.Registry) *monitor.Query {
	q := r.Start(monitor.Run{
		ID: "11111111-1111-1111-1111-111111111111", RunID: "22222222-2222-2222-2222-222222222222",
		Name: "orders", Application: "shop", StartedAt: noon,
		Health: health.Config{TriggerEvery: 10 * time.Second, Objective: time.Minute},
	}, monitor.NewBus())
	nan := math.NaN()
	for second := range 60 {
		at := noon.Add(time.Duration(second) * time.Second)
		q.Sample(at, &health.Reading{At: at, Sources: []health.Source{{
			Name: "kafka orders", UntilLoss: nan,
			Read:       health.Amount{Rows: 0, Bytes: nan, Files: nan},
			Unread:     health.Amount{Rows: float64(100 * second), Bytes: nan, Files: nan},
			Partitions: []health.Partition{{Name: "orders-0", Committed: 5, Latest: 5 + float64(100*second)}},
		}}})
	}
	q.Begin(3, noon.Add(60*time.Second))
	p := &monitor.Progress{BatchID: 3, Sources: []monitor.Source{{NumInputRows: 10}}}
	p.Durations.Add(monitor.AddBatch, 250*time.Millisecond)
	q.Committed(monitor.BatchOf(p, noon.Add(60*time.Second), noon.Add(61*time.Second)))
	q.Begin(4, noon.Add(61*time.Second))
	q.Sample(noon.Add(62*time.Second), nil)
	return q
}

func keys(t *testing.T, body []byte) map[string]json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return out
}

// The fields of the answers are those that pages and users rely on.
func TestAnswersHaveTheirFields(t *testing.T) {
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	h := New(r, Options{Now: func() time.Time { return noon.Add(62 * time.Second) }})
	const row = "id runId name application tags engine state sinceAtMs notStartedAgain healthScore reason freshnessP95Ms " +
		"freshnessSloMs backlogMs backlogRows etaLowMs etaHighMs shortPercent arrivalRowsPerSecond " +
		"processedRowsPerSecond batchMs triggerMs busyRatio headroomRatio batchRatio stateBytes stateGrowthBytesPerHour " +
		"lastCommitAtMs restartsLastDay stateStrip freshnessSparkMs arrivalSparkRowsPerSecond " +
		"processedSparkRowsPerSecond "
	for path, want := range map[string]string{
		"/api/v1/fleet": "nowAtMs server sparkStepSeconds stripStepSeconds totals queries",
		"/api/v1/queries/" + q.ID(): row + "nowAtMs verdict inFlight operators sources sink events alerts error " +
			"freshnessP50Ms freshnessP99Ms freshnessMaxMs freshnessFloorMs newestAgeMs oldestUnreadAgeMs " +
			"watermarkLagMs watermarkDelayMs droppedRatio droppedRows droppedOfRows capRows capName stateLimitBytes startedAtMs endedAtMs " +
			"endReason status lastBatchId nextTriggerInMs bounded",
		"/api/v1/queries/" + q.RunID() + "/batches": "query triggerMs phaseNames batches",
		"/api/v1/queries/" + q.RunID() + "/logs":    "query runId limitLines limitBytes droppedLines lines",
		"/api/v1/series?query=" + q.ID():            "query fromAtMs toAtMs stepSeconds columns marks downtime",
		"/api/v1/queries":                           "nowAtMs queries",
	} {
		got := keys(t, get(t, h, "GET", path, "localhost").Body.Bytes())
		for _, key := range strings.Fields(want) {
			if _, ok := got[key]; !ok {
				t.Errorf("%s lacks %s", path, key)
			}
			delete(got, key)
		}
		if len(got) > 0 {
			t.Errorf("%s has also %v", path, slices.Collect(func(yield func(string) bool) {
				for key := range got {
					yield(key)
				}
			}))
		}
	}
	var fleet struct{ Queries []json.RawMessage }
	if err := json.Unmarshal(get(t, h, "GET", "/api/v1/fleet", "localhost").Body.Bytes(), &fleet); err != nil {
		t.Fatal(err)
	}
	for key := range keys(t, fleet.Queries[0]) {
		if !slices.Contains(strings.Fields(row), key) {
			t.Errorf("a row of the fleet has also %s", key)
		}
	}
}

func TestWhatIsNotKnownIsNull(t *testing.T) {
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	h := New(r, Options{Now: func() time.Time { return noon.Add(62 * time.Second) }})
	got := keys(t, get(t, h, "GET", "/api/v1/queries/"+q.ID(), "localhost").Body.Bytes())
	for key, want := range map[string]string{
		"freshnessP95Ms": "null", "stateBytes": "null", "watermarkLagMs": "null", "etaLowMs": "null",
		"arrivalRowsPerSecond": "100", "backlogRows": "5900", "freshnessSloMs": "60000", "state": `"starting"`,
		"lastCommitAtMs": "1772625661000", "endedAtMs": "null", "error": "null", "engine": `"weir"`,
		"nextTriggerInMs": "null", "batchMs": "1000",
	} {
		if string(got[key]) != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	flight := keys(t, got["inFlight"])
	if string(flight["batchId"]) != "4" || string(flight["totalRows"]) != "null" {
		t.Errorf("in flight: %s", got["inFlight"])
	}
	fresh := r.Start(monitor.Run{ID: "33333333-3333-3333-3333-333333333333", RunID: "r", StartedAt: noon},
		monitor.NewBus())
	got = keys(t, get(t, h, "GET", "/api/v1/queries/"+fresh.ID(), "localhost").Body.Bytes())
	if string(got["name"]) != `"query 33333333"` || string(got["processedRowsPerSecond"]) != "null" {
		t.Errorf("a query that nobody looked at: %s, %s", got["name"], got["processedRowsPerSecond"])
	}
}

func TestSeriesRefusesWhatItCannotRead(t *testing.T) {
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	h := New(r, Options{Now: func() time.Time { return noon.Add(62 * time.Second) }})
	for query, want := range map[string]int{
		"query=" + q.ID() + "&from=x": 400, "query=" + q.ID() + "&from=5&to=4": 400,
		"query=" + q.ID() + "&step=0": 400, "query=" + q.ID() + "&step=1e9": 400, "query=nope": 404, "": 404,
		"query=" + q.ID() + "&from=0&to=9007199254740992": 200, "query=" + q.ID() + "&step=60": 200,
	} {
		w := get(t, h, "GET", "/api/v1/series?"+query, "localhost")
		if w.Code != want || w.Body.Len() > 1<<20 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d, %d bytes", query, w.Code, w.Body.Len())
		}
	}
	var s struct {
		FromAtMs    int64
		StepSeconds int
		Columns     map[string][]*float64
		Marks       []struct{ Kind string }
	}
	body := get(t, h, "GET", "/api/v1/series?query="+q.ID(), "localhost").Body.Bytes()
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatal(err)
	}
	backlog := s.Columns["backlogRows"]
	if n := len(backlog); s.StepSeconds != 10 || n != 360 || backlog[n-1] == nil || *backlog[n-1] != 5900 ||
		backlog[0] != nil || len(s.Marks) == 0 {
		t.Errorf("%d values in steps of %d s, the last %v", len(backlog), s.StepSeconds, backlog[len(backlog)-1])
	}
}

func TestFleetPutsWhoNeedsAPersonFirst(t *testing.T) {
	r := monitor.NewRegistry()
	watchedQuery(r)
	failed := r.Start(monitor.Run{ID: "f", RunID: "f", Name: "z", StartedAt: noon}, monitor.NewBus())
	failed.Terminate(noon.Add(time.Second), &monitor.Failure{Message: "boom"})
	f := (&server{registry: r, options: Options{}}).newFleet(noon.Add(62 * time.Second))
	if f.Queries[0].Name != "z" || f.Totals.ByState["failed"] != 1 || f.Totals.ByState["starting"] != 1 ||
		f.Totals.ArrivalRowsPerSecond != 100 {
		t.Errorf("%s first, %+v", f.Queries[0].Name, f.Totals)
	}
}
