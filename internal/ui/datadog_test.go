package ui

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// asks is a client that reads JSON of a server as the Datadog Agent's check of Spark does.
type asks struct {
	t   *testing.T
	h   http.Handler
	tls bool
	log []string
}

func (a *asks) get(path string) string {
	a.t.Helper()
	r := httptest.NewRequest("GET", "http://localhost:4040"+path, nil)
	if a.tls {
		r.TLS = &tls.ConnectionState{}
	}
	w := httptest.NewRecorder()
	a.h.ServeHTTP(w, r)
	// A body that begins so is taken for the page of a proxy.
	if w.Code != http.StatusOK || strings.HasPrefix(w.Body.String(), "<html>") {
		a.t.Errorf("GET %s: %d %.80s", path, w.Code, w.Body)
	}
	a.log = append(a.log, path)
	return w.Body.String()
}

func (a *asks) read(path string, into any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.get(path)), into); err != nil {
		a.t.Errorf("%s: %v", path, err)
	}
}

// streamingGauge is what the check takes for a gauge of a streaming query.
var streamingGauge = regexp.MustCompile(`^[\w-]+\.driver\.spark\.streaming\.([\w-]+)\.([\w-]+)$`)

// application asks what the check asks of an application, and gives the metrics that it
// would send, by query.
func (a *asks) application(id string) map[string][]string {
	a.t.Helper()
	var version struct{ Spark string }
	if a.read("/api/v1/version", &version); !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version.Spark) {
		a.t.Errorf("version %q", version.Spark)
	}
	for _, list := range []string{"jobs", "stages", "executors", "storage/rdd"} {
		var all []map[string]any
		a.read("/api/v1/applications/"+id+"/"+list, &all)
	}
	var statistics map[string]any
	a.read("/api/v1/applications/"+id+"/streaming/statistics", &statistics)
	var metrics struct {
		Gauges map[string]struct{ Value *float64 }
	}
	a.read("/metrics/json", &metrics)
	out := map[string][]string{}
	for name, gauge := range metrics.Gauges {
		found := streamingGauge.FindStringSubmatch(name)
		if found == nil || gauge.Value == nil {
			a.t.Errorf("the check passes over the gauge %s = %v", name, gauge.Value)
			continue
		}
		out[found[1]] = append(out[found[1]], found[2])
	}
	return out
}

// What the Datadog Agent's check of Spark asks of a driver and of a standalone master,
// request by request, and that it finds its five metrics of each query in the answers,
// whatever the query is called.
func TestWhatDatadogsSparkCheckAsks(t *testing.T) {
	r := monitor.NewRegistry()
	id := "11111111-1111-1111-1111-111111111111"
	for _, name := range []string{"orders", "by day.v/2 ü", ""} {
		q := r.Start(monitor.Run{ID: id, RunID: "run " + name, Name: name, StartedAt: noon, Metrics: true},
			monitor.NewBus())
		q.Record(&monitor.Progress{StateOperators: []monitor.StateOperator{{Name: "dedupe", NumRowsTotal: 7}}},
			monitor.Trigger{Start: noon, End: noon.Add(time.Second)})
		id = strings.ReplaceAll(id, "1", "2")
		if name != "orders" {
			id = "33333333-3333-3333-3333-333333333333"
		}
	}
	h := New(r, Options{Application: "weir-1", Now: func() time.Time { return noon }})
	driver := &asks{t: t, h: h}
	var apps []struct{ ID, Name string }
	driver.read("/api/v1/applications", &apps)
	if len(apps) != 1 || apps[0].ID != "weir-1" || apps[0].Name == "" {
		t.Fatalf("%+v", apps)
	}
	got := driver.application(apps[0].ID)
	if len(got) != 3 || got["orders"] == nil || got["33333333-3333-3333-3333-333333333333"] == nil {
		t.Errorf("%v", got)
	}
	for name, metrics := range got {
		for _, want := range []string{
			"inputRate-total", "processingRate-total", "latency", "states-rowsTotal", "states-usedBytes",
		} {
			if !slices.Contains(metrics, want) {
				t.Errorf("%s lacks %s: %v", name, want, metrics)
			}
		}
	}
	for _, secure := range []bool{false, true} {
		master := &asks{t: t, h: h, tls: secure}
		var state struct {
			ActiveApps []struct{ ID, Name string } `json:"activeapps"`
		}
		if master.read("/json/", &state); len(state.ActiveApps) != 1 || state.ActiveApps[0].ID != "weir-1" {
			t.Fatalf("%+v", state)
		}
		links := regexp.MustCompile(`<a href="([^"]*)">Application Detail UI</a>`).
			FindAllStringSubmatch(master.get("/app/?appId=weir-1"), -1)
		want := "http://localhost:4040"
		if secure {
			want = "https://localhost:4040"
		}
		if len(links) != 1 || links[0][1] != want {
			t.Errorf("the link to the application is %q, want %s", links, want)
		}
		if again := master.application("weir-1"); len(again) != 3 {
			t.Errorf("through the master: %v", again)
		}
		if want := strings.Join(driver.log[1:], " "); strings.Join(master.log[2:], " ") != want {
			t.Errorf("asked %q, want %q", master.log[2:], want)
		}
	}
}
