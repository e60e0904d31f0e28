package ui

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/monitor"
)

// conversation is what the Datadog Agent's check of Spark asked of a running weir and what
// it sent on. The check is that of integrations-core as it is, run by datadog-checks-base
// 38.5 on three queries with gauges: one with a name, one whose name has a space, a point, a
// slash and a letter beyond ASCII, and one without a name.
type conversation struct {
	Mode     string
	Requests []string
	// Metrics are "name query_name", the latter empty where the check had none.
	Metrics []string
	// Checks are the service checks, all of which were OK.
	Checks []string
}

// agent reads JSON of a server as the check does.
type agent struct {
	t   *testing.T
	h   http.Handler
	tls bool
}

func (a *agent) get(path string) string {
	a.t.Helper()
	r := httptest.NewRequest("GET", "http://localhost:4040"+path, nil)
	r.Header.Set("User-Agent", "Datadog Agent/0.0.0")
	r.Header.Set("Accept", "*/*")
	if a.tls {
		r.TLS = &tls.ConnectionState{}
	}
	w := httptest.NewRecorder()
	a.h.ServeHTTP(w, r)
	// A body that begins so is taken for the page of a proxy.
	if w.Code != http.StatusOK || strings.HasPrefix(w.Body.String(), "<html>") {
		a.t.Errorf("GET %s: %d %.80s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

func (a *agent) read(path string, into any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.get(path)), into); err != nil {
		a.t.Errorf("%s: %v", path, err)
	}
}

// streamingGauge is what the check takes for a gauge of a streaming query. Its \w is that
// of Python, in which letters of every script are letters.
var streamingGauge = regexp.MustCompile(
	`^[\w-]+\.driver\.spark\.streaming\.([\p{L}\p{Nd}_-]+)\.([\w-]+)$`)

// sentAs are the names under which the check sends Spark's gauges; others it passes over.
var sentAs = map[string]string{
	"inputRate-total": "input_rate", "latency": "latency", "processingRate-total": "processing_rate",
	"states-rowsTotal": "rows_count", "states-usedBytes": "used_bytes",
}

// metrics are those that the check sends of what a request answers.
func (a *agent) metrics(path string) []string {
	a.t.Helper()
	var out []string
	switch {
	case strings.HasPrefix(path, "/metrics/json"):
		var body struct {
			Gauges map[string]struct{ Value *float64 }
		}
		a.read(path, &body)
		for name, gauge := range body.Gauges {
			found := streamingGauge.FindStringSubmatch(name)
			if found == nil || gauge.Value == nil {
				a.t.Errorf("the check passes over the gauge %s = %v", name, gauge.Value)
				continue
			}
			if strings.Count(found[1], "-") == 4 { // an id
				found[1] = ""
			}
			if sent, ok := sentAs[found[2]]; ok {
				out = append(out, "spark.structured_streaming."+sent+" "+found[1])
			}
		}
	case strings.HasSuffix(path, "/executors"):
		var drivers []map[string]any
		a.read(path, &drivers)
		for key, value := range drivers[0] {
			if _, ok := value.(float64); ok {
				out = append(out, "spark.driver."+snake(key)+" ")
			}
		}
		out = append(out, "spark.executor.count ")
	}
	return out
}

// snake is aName as a_name.
func snake(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_${2}"))
}

// What the Datadog Agent's check of Spark asks of a driver and of a standalone master,
// request by request, and that it finds its metrics of the driver and of each query in the
// answers, whatever the query is called.
func TestWhatDatadogsSparkCheckAsks(t *testing.T) {
	data, err := os.ReadFile("testdata/datadog-check.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []conversation
	if err := json.Unmarshal(data, &all); err != nil || len(all) != 3 {
		t.Fatal(err, len(all))
	}
	r := monitor.NewRegistry()
	for i, name := range []string{"events_per_window", "by day.v/2 ü", ""} {
		id := strings.Replace("11111111-1111-1111-1111-111111111111", "1", fmt.Sprint(i), 1)
		q := r.Start(monitor.Run{ID: id, RunID: "run " + name, Name: name, StartedAt: noon, Metrics: true},
			monitor.NewBus())
		q.Record(&monitor.Progress{StateOperators: []monitor.StateOperator{{Name: "dedupe", NumRowsTotal: 7}}},
			monitor.Trigger{Start: noon, End: noon.Add(time.Second)})
	}
	h := New(r, Options{Application: "weir-1", Now: func() time.Time { return noon },
		Resources: func() Resources { return Resources{Held: 5, Limit: 10, Cores: 2} }})
	for _, c := range all {
		a := &agent{t: t, h: h}
		got := []string{}
		for _, path := range c.Requests {
			a.get(path)
			got = append(got, a.metrics(path)...)
		}
		slices.Sort(got)
		got = slices.DeleteFunc(got, func(name string) bool { // what it passes over of an executor
			return strings.HasPrefix(name, "spark.driver.") && !slices.Contains(c.Metrics, name)
		})
		if diff := cmp.Diff(got, c.Metrics); diff != "" {
			t.Errorf("%s: %s", c.Mode, diff)
		}
	}
}

// The check finds the port of an application by the only link of its master's page, and the
// application by both lists.
func TestWhereDatadogsSparkCheckIsLed(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{Application: "weir-1", Now: func() time.Time { return noon }})
	for _, secure := range []bool{false, true} {
		a := &agent{t: t, h: h, tls: secure}
		var apps []struct{ ID, Name string }
		a.read("/api/v1/applications", &apps)
		var state struct {
			ActiveApps []struct{ ID, Name string } `json:"activeapps"`
		}
		a.read("/json/", &state)
		if diff := cmp.Diff(apps, state.ActiveApps); diff != "" || len(apps) != 1 || apps[0].ID != "weir-1" ||
			apps[0].Name == "" {
			t.Errorf("%+v %s", apps, diff)
		}
		links := regexp.MustCompile(`<a href="([^"]*)">Application Detail UI</a>`).
			FindAllStringSubmatch(a.get("/app/?appId=weir-1"), -1)
		want := "http://localhost:4040"
		if secure {
			want = "https://localhost:4040"
		}
		if len(links) != 1 || links[0][1] != want {
			t.Errorf("the link to the application is %q, want %s", links, want)
		}
	}
}
