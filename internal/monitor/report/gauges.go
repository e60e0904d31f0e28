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

// A Spelling writes the name of a query with the signs that a tool takes.
type Spelling func(name string) string

// Gauges are those of the running queries that were started with
// spark.sql.streaming.metricsEnabled. As in Spark they show the last progress, and 0
// where that says nothing. Queries whose names are one when they are spelled, of two
// sessions or of signs that a tool does not know, are told apart by their ids: the first
// of them alone has the bare name.
func Gauges(r *monitor.Registry, application string, spell Spelling) []Gauge {
	var out []Gauge
	taken := map[string]bool{}
	for _, q := range r.Queries() {
		s := q.Snapshot()
		if !s.Metrics || s.State == monitor.Stopped || s.State == monitor.Failed {
			continue
		}
		if len(taken) == maxQueries {
			break
		}
		name := spell(s.Name)
		if s.Name == "" {
			name = spell(s.ID)
		}
		if taken[name] {
			name = spell(name + "-" + cutBytes(s.ID, shortID))
		}
		if taken[name] {
			name = spell(s.RunID)
		}
		taken[name] = true
		out = append(out, ofProgress(application+".driver.spark.streaming."+name+".", q.Last())...)
	}
	return out
}

// shortID is how much of an id tells queries of one name apart.
const shortID = 8

// Plain leaves names as they are.
func Plain(name string) string { return name }

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

// dashed is a name in which blanks and the signs that a format itself uses are dashes, or
// it could say something of its own.
func dashed(name, signs string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(signs, r) {
			return '-'
		}
		return r
	}, name)
}

// finite is x, or 0 for what JSON and gauges cannot say.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
