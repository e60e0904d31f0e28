package ui

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// What tools for Spark ask, and what has to be in the answer.
func TestPagesOfSparksPort(t *testing.T) {
	r := monitor.NewRegistry()
	r.Start(monitor.Run{ID: "1", RunID: "2", Name: "orders", StartedAt: noon, Metrics: true}, monitor.NewBus())
	h := New(r, Options{Application: "weir-1", Now: func() time.Time { return noon }})
	for path, want := range map[string]string{
		"/metrics":                                         "# TYPE weir_query_up gauge",
		"/metrics/prometheus":                              `metrics_weir_1_driver_spark_streaming_orders_latency_Value{type="gauges"} 0`,
		"/metrics/json":                                    `"weir-1.driver.spark.streaming.orders.latency":{"value":0}`,
		"/metrics/json/":                                   `"gauges"`,
		"/metrics/prometheus/":                             "metrics_weir_1_driver_spark_streaming_orders",
		"/api/v1/version":                                  `{"spark":"4.3.0"}`,
		"/api/v1/applications":                             `[{"id":"weir-1","name":"weir","attempts":[{`,
		"/api/v1/applications/weir-1/jobs":                 "[]",
		"/api/v1/applications/weir-1/executors":            "[]",
		"/api/v1/applications/weir-1/storage/rdd":          "[]",
		"/api/v1/applications/weir-1/streaming/statistics": "{}",
		"/json/":             `"activeapps":[{"id":"weir-1","name":"weir"}]`,
		"/app/?appId=weir-1": `<a href="http://localhost:4040">Application Detail UI</a>`,
	} {
		w := get(t, h, "GET", path, "localhost:4040")
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s: %d, no %s in %.300s", path, w.Code, want, w.Body)
		}
	}
	if w := get(t, h, "GET", "/api/v1/applications/other/jobs", "localhost"); w.Code != 404 {
		t.Errorf("another application: %d", w.Code)
	}
}

// Who asks for OpenMetrics gets it, everybody else the text that every scraper reads.
func TestMetricsAreSpokenAsAskedFor(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{Now: time.Now})
	for accept, want := range map[string]string{
		"": "text/plain; version=0.0.4", "*/*": "text/plain; version=0.0.4", "text/html": "text/plain; version=0.0.4",
		"text/plain;version=0.0.4": "text/plain; version=0.0.4",
		"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3":      "application/openmetrics-text",
		"application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1": "application/openmetrics-text",
		"application/openmetrics-text;q=0.1, text/plain":                                       "text/plain; version=0.0.4",
		"application/openmetrics-text;q=0":                                                     "text/plain; version=0.0.4", ";;,,q=": "text/plain; version=0.0.4",
	} {
		r := httptest.NewRequest("GET", "http://localhost/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got, ended := w.Header().Get("Content-Type"), strings.HasSuffix(w.Body.String(), "# EOF\n")
		if !strings.HasPrefix(got, want) || ended != strings.Contains(want, "open") {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
		}
	}
}
