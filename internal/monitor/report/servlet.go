package report

import (
	"encoding/json"
	"strconv"
	"strings"
)

// AppendPrometheus writes gauges as Spark's PrometheusServlet does: the whole name in
// the metric's, each value twice, no label but the type.
func AppendPrometheus(dst []byte, gauges []Gauge) []byte {
	for _, g := range gauges {
		name := "metrics_" + word(g.Name, "") + "_"
		for _, kind := range []string{"Number", "Value"} {
			dst = append(dst, name...)
			dst = append(dst, kind...)
			dst = append(dst, `{type="gauges"} `...)
			dst = append(appendGauge(dst, g), '\n')
		}
	}
	return dst
}

// appendGauge writes a value as Java prints it.
func appendGauge(dst []byte, g Gauge) []byte {
	if g.Whole {
		return strconv.AppendInt(dst, int64(g.Value), 10)
	}
	text := strconv.FormatFloat(finite(g.Value), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return append(dst, text...)
}

// AppendJSON writes gauges as Spark's MetricsServlet does. Names that tools cannot
// read, because a query's has a point, a space or a slash, are mended.
func AppendJSON(dst []byte, gauges []Gauge, application string) []byte {
	type value struct {
		Value json.RawMessage `json:"value"`
	}
	body := struct {
		Version    string           `json:"version"`
		Gauges     map[string]value `json:"gauges"`
		Counters   struct{}         `json:"counters"`
		Histograms struct{}         `json:"histograms"`
		Meters     struct{}         `json:"meters"`
		Timers     struct{}         `json:"timers"`
	}{Version: "4.0.0", Gauges: map[string]value{}}
	prefix := application + ".driver.spark.streaming."
	for _, g := range gauges {
		rest := strings.TrimPrefix(g.Name, prefix)
		at := strings.LastIndexByte(rest, '.')
		name := prefix + word(rest[:at], "-") + rest[at:]
		body.Gauges[name] = value{appendGauge(nil, g)}
	}
	data, err := json.Marshal(body)
	if err != nil { // texts and numbers can be written
		panic(err)
	}
	return append(dst, data...)
}
