package ui

import (
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
		"/metrics":                                         "# EOF",
		"/metrics/prometheus":                              `metrics_weir_1_driver_spark_streaming_orders_latency_Value{type="gauges"} 0`,
		"/metrics/json":                                    `"weir-1.driver.spark.streaming.orders.latency":{"value":0}`,
		"/metrics/json/":                                   `"gauges"`,
		"/api/v1/version":                                  `{"spark":"4.3.0"}`,
		"/api/v1/applications":                             `[{"id":"weir-1","name":"weir"}]`,
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
