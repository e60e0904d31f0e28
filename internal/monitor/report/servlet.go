package report

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// PrometheusName is a query's name as Spark's PrometheusServlet writes it.
func PrometheusName(name string) string { return word(name, "") }

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

// JSONName is a query's name as the Datadog Agent's check reads it on Spark's MetricsServlet:
// letters and digits of any script, underscores and dashes. A point, a space or a slash
// would make it pass over the query.
func JSONName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// AppendJSON writes gauges as Spark's MetricsServlet does.
func AppendJSON(dst []byte, gauges []Gauge) []byte {
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
	for _, g := range gauges {
		body.Gauges[g.Name] = value{appendGauge(nil, g)}
	}
	data, err := json.Marshal(body)
	if err != nil { // texts and numbers can be written
		panic(err)
	}
	return append(dst, data...)
}
