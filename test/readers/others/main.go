// Command others reads on its standard input what weir sends, with the code of those who
// usually receive it, and says in JSON what they made of it. It is a module of its own, so
// that weir needs none of their libraries.
//
//	others openmetrics|prometheus  Prometheus' scraper, and what promtool finds fault with
//	others statsd                  the parser of Prometheus' exporter for StatsD, a line each
//	others metrics|traces          the decoder of OpenTelemetry's collector
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/statsd_exporter/pkg/line"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// report is what a reader made of its input.
type report struct {
	Samples  []sample
	Families map[string]string // name to kind
	Units    map[string]string
	Problems []string
	Lint     []string // what could be better

	seen map[string]bool
}

// sample is a number as the reader knows it.
type sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	readers := map[string]func([]byte, *report) error{
		"openmetrics": openMetrics, "prometheus": plain, "statsd": statsd,
		"metrics": otlpMetrics, "traces": otlpTraces,
	}
	if len(args) != 1 || readers[args[0]] == nil {
		return fmt.Errorf("usage: others %s", strings.Join(slices.Sorted(maps.Keys(readers)), "|"))
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	out := &report{Families: map[string]string{}, Units: map[string]string{}, seen: map[string]bool{}}
	if err := readers[args[0]](input, out); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// add takes a sample in; one that was there already is a problem.
func (r *report) add(name string, of map[string]string, value float64) {
	series := name
	for _, key := range slices.Sorted(maps.Keys(of)) {
		series += fmt.Sprintf(" %s=%q", key, of[key])
	}
	if r.seen[series] {
		r.Problems = append(r.Problems, "twice: "+series)
	}
	r.seen[series] = true
	r.Samples = append(r.Samples, sample{name, of, value})
}

func openMetrics(input []byte, out *report) error {
	return scrape(input, "application/openmetrics-text; version=1.0.0", out)
}

func plain(input []byte, out *report) error {
	found, err := promlint.New(strings.NewReader(string(input))).Lint()
	if err != nil {
		return fmt.Errorf("promtool's checks: %w", err)
	}
	for _, p := range found {
		out.Lint = append(out.Lint, p.Metric+": "+p.Text)
	}
	return scrape(input, "text/plain; version=0.0.4", out)
}

func scrape(input []byte, kind string, out *report) error {
	p, err := textparse.New(input, kind, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch entry {
		case textparse.EntryType:
			name, kind := p.Type()
			out.Families[string(name)] = string(kind)
		case textparse.EntryUnit:
			name, unit := p.Unit()
			out.Units[string(name)] = string(unit)
		case textparse.EntrySeries:
			var of labels.Labels
			p.Labels(&of)
			_, _, value := p.Series()
			rest := of.Map()
			name := rest[labels.MetricName]
			delete(rest, labels.MetricName)
			out.add(name, rest, value)
		}
	}
}

func statsd(input []byte, out *report) error {
	// All that the exporter understands, as it does when nobody tells it otherwise.
	p := line.NewParser()
	p.EnableDogstatsdParsing()
	p.EnableInfluxdbParsing()
	p.EnableLibratoParsing()
	p.EnableSignalFXParsing()
	count := func(name string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name})
	}
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "errors"}, []string{"reason"})
	taken, tags, wrong := count("samples"), count("tags"), count("tag_errors")
	log := slog.New(slog.DiscardHandler)
	for one := range strings.Lines(string(input)) {
		events := p.LineToEvents(strings.TrimSuffix(one, "\n"), *failed, taken, wrong, tags, log)
		if len(events) != 1 {
			out.Problems = append(out.Problems, fmt.Sprintf("%d events in %s", len(events), one))
			continue
		}
		e := events[0]
		out.Families[e.MetricName()] = string(e.MetricType())
		out.add(e.MetricName(), e.Labels(), e.Value())
	}
	return nil
}

func otlpMetrics(input []byte, out *report) error {
	decoded, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(input)
	if err != nil {
		return err
	}
	for _, resource := range decoded.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				out.Families[m.Name()], out.Units[m.Name()] = m.Type().String(), m.Unit()
				points(m, out)
			}
		}
	}
	return nil
}

func points(m pmetric.Metric, out *report) {
	numbers := pmetric.NewNumberDataPointSlice()
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		numbers = m.Gauge().DataPoints()
	case pmetric.MetricTypeSum:
		numbers = m.Sum().DataPoints()
		if !m.Sum().IsMonotonic() || m.Sum().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			out.Problems = append(out.Problems, m.Name()+" is no sum that only grows")
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			if p.BucketCounts().Len() != p.ExplicitBounds().Len()+1 {
				out.Problems = append(out.Problems, m.Name()+" has not a bucket more than bounds")
			}
			out.add(m.Name(), texts(p.Attributes()), float64(p.Count()))
		}
	default:
		out.Problems = append(out.Problems, m.Name()+" has no points")
	}
	for _, p := range numbers.All() {
		if p.Timestamp() == 0 {
			out.Problems = append(out.Problems, m.Name()+" has no time")
		}
		out.add(m.Name(), texts(p.Attributes()), p.DoubleValue())
	}
}

func texts(of pcommon.Map) map[string]string {
	out := map[string]string{}
	for key, value := range of.All() {
		out[key] = value.AsString()
	}
	return out
}

func otlpTraces(input []byte, out *report) error {
	decoded, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(input)
	if err != nil {
		return err
	}
	for _, resource := range decoded.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() || s.EndTimestamp() < s.StartTimestamp() {
					out.Problems = append(out.Problems, "span "+s.Name()+" has no ids, or ends before it begins")
				}
				took := s.EndTimestamp().AsTime().Sub(s.StartTimestamp().AsTime())
				out.add(s.Name(), texts(s.Attributes()), took.Seconds())
			}
		}
	}
	return nil
}
