package report

import (
	"math"
	"strings"
	"unicode"

	"github.com/weir-dev/weir/internal/monitor"
)

// A Gauge is a number under Spark's name: application.driver.spark.streaming.query.metric.
type Gauge struct {
	Name  string
	Value float64
	Whole bool // it is written without a point
}

// maxQueries is how many queries have gauges, the first ones.
const maxQueries = 1000

// Gauges are those of the running queries that were started with
// spark.sql.streaming.metricsEnabled. As in Spark they show the last progress, and 0
// where that says nothing.
func Gauges(r *monitor.Registry, application string) []Gauge {
	var out []Gauge
	n := 0
	for _, q := range r.Queries() {
		s := q.Snapshot()
		if !s.Metrics || s.State == monitor.Stopped || s.State == monitor.Failed {
			continue
		}
		if n++; n > maxQueries {
			break
		}
		name := s.Name
		if name == "" {
			name = s.ID
		}
		prefix := application + ".driver.spark.streaming." + name + "."
		out = append(out, ofProgress(prefix, q.Last())...)
	}
	return out
}

func ofProgress(prefix string, p *monitor.Progress) []Gauge {
	var input, processed float64
	var latency, watermark, rows, bytes int64
	if p != nil {
		input, processed = p.InputRowsPerSecond(), p.ProcessedRowsPerSecond()
		latency, _ = p.Durations.Ms(monitor.TriggerExecution)
		if p.EventTime != nil {
			watermark = p.EventTime.WatermarkMs
		}
		for i := range p.StateOperators {
			rows += p.StateOperators[i].NumRowsTotal
			bytes += p.StateOperators[i].MemoryUsedBytes
		}
	}
	return []Gauge{
		{prefix + "inputRate-total", input, false}, {prefix + "processingRate-total", processed, false},
		{prefix + "latency", float64(latency), true}, {prefix + "eventTime-watermark", float64(watermark), true},
		{prefix + "states-rowsTotal", float64(rows), true}, {prefix + "states-usedBytes", float64(bytes), true},
	}
}

// word keeps of a name what a tool with its own punctuation takes.
func word(name string, keep string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && r < 0x80 || unicode.IsDigit(r) && r < 0x80 || strings.ContainsRune(keep, r) {
			return r
		}
		return '_'
	}, name)
}

// finite is x, or 0 for what JSON and gauges cannot say.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
