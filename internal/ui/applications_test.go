package ui

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/monitor"
)

// sparkAnswer is what a Spark 4.3.0 whose streaming queries ran answered to a path.
type sparkAnswer struct {
	Path   string
	Status int
	Type   string
	Shape  any    // of JSON: the kinds of its fields
	Body   string // of a plain refusal
	Length *int   // of a list
}

// elsewhere are the answers that are not as Spark's on purpose; applications.go says why.
var elsewhere = []string{
	"/api/v1/applications/APP/streaming/statistics", "/api/v1/applications/APP/streaming/statistics/",
	"/api/v1/applications/APP/sql/streamingqueries",
}

// The paths below /api/v1 that are Spark's answer as Spark does: with the same codes, the
// same fields and the same refusals.
func TestSparksPathsAnswerAsSpark(t *testing.T) {
	data, err := os.ReadFile("testdata/spark-api.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []sparkAnswer
	if err := json.Unmarshal(data, &recorded); err != nil || len(recorded) < 50 {
		t.Fatal(err, len(recorded))
	}
	h := New(monitor.NewRegistry(), Options{Application: "APP", Now: time.Now,
		Resources: func() Resources { return Resources{Held: math.NaN()} }})
	for _, want := range recorded {
		if slices.Contains(elsewhere, want.Path) {
			continue
		}
		w := get(t, h, "GET", want.Path, "localhost")
		if w.Code != want.Status {
			t.Errorf("%s: %d %s, want %d", want.Path, w.Code, w.Body, want.Status)
			continue
		}
		body := strings.ReplaceAll(w.Body.String(), "weir", "probe")
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		switch {
		case want.Body != "" && body != want.Body:
			t.Errorf("%s: %q, want %q", want.Path, body, want.Body)
		case want.Type == "text/plain" && kind != want.Type || want.Status == http.StatusOK && kind != want.Type:
			t.Errorf("%s is %s, want %s", want.Path, kind, want.Type)
		case want.Shape != nil || want.Length != nil:
			var got any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			sameShape(t, want, got)
		}
	}
}

func sameShape(t *testing.T, want sparkAnswer, got any) {
	t.Helper()
	if want.Length != nil {
		if n := len(got.([]any)); n != *want.Length {
			t.Errorf("%s: %d elements, want %d", want.Path, n, *want.Length)
		}
		return
	}
	if list, ok := want.Shape.([]any); ok && len(list) == 1 {
		// Of the memory of a JVM there is nothing to tell.
		delete(list[0].(map[string]any), "peakMemoryMetrics")
	}
	if diff := cmp.Diff(shapeOf(got), want.Shape); diff != "" && !strings.HasSuffix(want.Path, "/environment") {
		t.Errorf("%s: %s", want.Path, diff)
	}
	if where, ok := got.(map[string]any); ok {
		if diff := cmp.Diff(keysOf(where), keysOf(want.Shape.(map[string]any))); diff != "" {
			t.Errorf("%s: %s", want.Path, diff)
		}
	}
}

func shapeOf(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shapeOf(v[0])}
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = shapeOf(value)
		}
		return out
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	default:
		return "null"
	}
}

func keysOf(m map[string]any) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// The driver's numbers are those of the queries: a batch is a task.
func TestTheDriverCountsBatches(t *testing.T) {
	r := monitor.NewRegistry()
	watchedQuery(r)
	h := New(r, Options{Application: "weir-1", Now: time.Now,
		Resources: func() Resources { return Resources{Held: 5, Limit: 10, Cores: 3} }})
	body := get(t, h, "GET", "/api/v1/applications/weir-1/executors", "localhost:4040").Body.Bytes()
	var d struct {
		ID, HostPort                                                    string
		MemoryUsed, MaxMemory, TotalCores, CompletedTasks, TotalTasks   int
		ActiveTasks, FailedTasks, TotalDuration, TotalGCTime, RDDBlocks int
	}
	var all []json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil || len(all) != 1 {
		t.Fatal(err, string(body))
	}
	if err := json.Unmarshal(all[0], &d); err != nil {
		t.Fatal(err)
	}
	sums := r.Queries()[0].Totals()
	if d.ID != "driver" || d.HostPort != "localhost:4040" || d.MemoryUsed != 5 || d.MaxMemory != 10 ||
		d.TotalCores != 3 || d.CompletedTasks != int(sums.Batches) || d.CompletedTasks == 0 ||
		d.TotalTasks != d.CompletedTasks+d.ActiveTasks+d.FailedTasks {
		t.Errorf("%+v", d)
	}
}

// Runs and their progress under the paths that were proposed for Spark.
func TestStreamingQueriesUnderSparksPaths(t *testing.T) {
	r := monitor.NewRegistry()
	q := r.Start(monitor.Run{ID: "q", RunID: "one", Name: "orders", StartedAt: noon}, monitor.NewBus())
	for n := range 3 {
		q.Record(&monitor.Progress{BatchID: int64(n)},
			monitor.Trigger{Start: noon.Add(time.Duration(n) * time.Second), End: noon.Add(time.Minute)})
	}
	q.Terminate(noon.Add(time.Hour), &monitor.Failure{Message: "boom"})
	r.Start(monitor.Run{ID: "q", RunID: "two", StartedAt: noon}, monitor.NewBus())
	h := New(r, Options{Application: "weir-1", Now: time.Now})
	const base = "/api/v1/applications/weir-1/sql/streamingqueries"
	got := get(t, h, "GET", base, "localhost").Body.String()
	want := `[{"name":"orders","id":"q","runId":"one","isActive":false,"exception":"boom",` +
		`"startTimestamp":1772625600000,"endTimestamp":1772629200000},` +
		`{"id":"q","runId":"two","isActive":true,"startTimestamp":1772625600000}]`
	if got != want {
		t.Errorf("%s", got)
	}
	for path, want := range map[string]string{
		"/one/progress": "200 [2]", "/one/progress?last=2": "200 [1 2]", "/one/progress?last=9": "200 [0 1 2]",
		"/one/progress?last=0": "200 []", "/two/progress": "200 []", "/q/progress": "404 unknown streaming query run: q",
		"/one/progress?last=x": "400 last is no number of entries: x", "/one/progress?last=-1": "400 last is",
	} {
		w := get(t, h, "GET", base+path, "localhost")
		got := http.StatusText(w.Code)
		switch w.Code {
		case http.StatusOK:
			var list []struct{ BatchID int }
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			ids := []string{}
			for _, one := range list {
				ids = append(ids, string(rune('0'+one.BatchID)))
			}
			got = "200 [" + strings.Join(ids, " ") + "]"
		case http.StatusNotFound:
			got = "404 " + w.Body.String()
		case http.StatusBadRequest:
			got = "400 " + w.Body.String()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
