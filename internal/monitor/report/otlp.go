package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

// otlp sends weir's metrics, and a span for each batch, to a collector of
// OpenTelemetry: the JSON encoding of OTLP over HTTP.
var otlp = kind{
	class: "otlp", doc: "weir's metrics and a span for each batch, for an OpenTelemetry collector.",
	keys: map[string]string{
		"endpoint": "-", "period": "10", "unit": "seconds", "headersFile": "", "traces": "true", "service": "weir",
	},
	open: openOTLP,
}

// mostSpans is how many spans a report has; more are dropped and counted.
const mostSpans = 2000

type telemetry struct {
	env      *Env
	endpoint string
	headers  http.Header
	traces   bool
	service  string
	begun    time.Time
	sent     map[string]int64 // the newest batch that a span was sent of, by run
	client   *http.Client
}

func openOTLP(e *Env, o options) (reporter, error) {
	u, err := url.Parse(o["endpoint"])
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("endpoint %q is no address such as http://localhost:4318", o["endpoint"])
	}
	t := &telemetry{
		env: e, endpoint: strings.TrimSuffix(o["endpoint"], "/"), service: o["service"], begun: time.Now(),
		sent: map[string]int64{}, headers: http.Header{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	switch o["traces"] {
	case "true":
		t.traces = true
	case "false":
	default:
		return nil, fmt.Errorf("traces is true or false, not %q", o["traces"])
	}
	if file := o["headersFile"]; file != "" {
		data, err := vfs.ReadFile(e.Files, file)
		if err != nil {
			return nil, err
		}
		return t, t.readHeaders(file, string(data))
	}
	return t, nil
}

// readHeaders reads lines of NAME: VALUE. They are in a file, for they hold secrets.
func (t *telemetry) readHeaders(file, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\"") {
			return fmt.Errorf("line %d of %s is no NAME: VALUE", n, file)
		}
		t.headers.Set(name, strings.TrimSpace(value))
	}
	return nil
}

func (t *telemetry) report(ctx context.Context, now time.Time, _ []Gauge) error {
	list := subjects(t.env.Registry)
	err := t.post(ctx, "/v1/metrics", t.metrics(list, now))
	if !t.traces {
		return err
	}
	spans, lost := t.spans(list)
	if len(spans) > 0 {
		err = errors.Join(err, t.post(ctx, "/v1/traces", otlpTraces{[]otlpResourceSpans{{t.resource(),
			[]otlpScopeSpans{{
				scope: scope{otlpScope}, Spans: spans,
			}}}}}))
	}
	if lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d spans were too many for a report", lost))
	}
	return err
}

func (t *telemetry) close() error {
	t.client.CloseIdleConnections()
	return nil
}

func (t *telemetry) post(ctx context.Context, path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	for name, values := range t.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := t.client.Do(r)
	if err != nil {
		return fmt.Errorf("send to OTLP: %w", err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("send to OTLP: the answer is %s", answer.Status)
	}
	var took struct {
		Partial struct {
			Message string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if err == nil && json.Unmarshal(said, &took) == nil && took.Partial.Message != "" {
		return fmt.Errorf("send to OTLP: the collector took a part: %.200q", took.Partial.Message)
	}
	return nil
}

// The messages of OTLP, as far as they are sent. Whole numbers of 64 bits are texts in
// its JSON, ids are hexadecimal.
type (
	otlpMetrics struct {
		ResourceMetrics []otlpResourceMetrics `json:"resourceMetrics"`
	}
	otlpResourceMetrics struct {
		Resource     otlpResource       `json:"resource"`
		ScopeMetrics []otlpScopeMetrics `json:"scopeMetrics"`
	}
	otlpScopeMetrics struct {
		scope
		Metrics []*otlpMetric `json:"metrics"`
	}
	scope struct {
		Scope otlpName `json:"scope"`
	}
	otlpName struct {
		Name string `json:"name"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
	otlpMetric struct {
		Name        string      `json:"name"`
		Description string      `json:"description"`
		Unit        string      `json:"unit,omitempty"`
		Gauge       *otlpPoints `json:"gauge,omitempty"`
		Sum         *otlpPoints `json:"sum,omitempty"`
		Histogram   *otlpPoints `json:"histogram,omitempty"`
	}
	otlpPoints struct {
		Points      []otlpPoint `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality,omitempty"`
		Monotonic   bool        `json:"isMonotonic,omitempty"`
	}
	otlpPoint struct {
		Attributes []otlpAttribute `json:"attributes"`
		Start      string          `json:"startTimeUnixNano,omitempty"`
		Time       string          `json:"timeUnixNano"`
		Double     *float64        `json:"asDouble,omitempty"`
		Count      string          `json:"count,omitempty"`
		Sum        *float64        `json:"sum,omitempty"`
		Buckets    []string        `json:"bucketCounts,omitempty"`
		Bounds     []float64       `json:"explicitBounds,omitempty"`
	}
	otlpTraces struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpScopeSpans struct {
		scope
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
	}
)

const (
	otlpCumulative = 2
	otlpInternal   = 1 // the kind of a span that is neither a request nor its answer
)

// otlpScope names who measured.
var otlpScope = otlpName{"weir"}

// otlpUnits are units as UCUM writes them.
var otlpUnits = map[string]string{"seconds": "s", "bytes": "By", "ratio": "1"}

func attribute(key, value string) otlpAttribute {
	value = cutLabel(strings.ToValidUTF8(value, "\ufffd"))
	return otlpAttribute{key, otlpValue{String: &value}}
}

func (t *telemetry) resource() otlpResource {
	return otlpResource{[]otlpAttribute{attribute("service.name", t.service)}}
}

func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

// metrics are the families of OpenMetrics as OTLP has them.
func (t *telemetry) metrics(list []subject, now time.Time) otlpMetrics {
	var out []*otlpMetric
	for i := range families {
		f := &families[i]
		m := &otlpMetric{Name: otlpMetricName(f.name), Description: f.help, Unit: otlpUnits[f.unit]}
		points := &otlpPoints{Points: []otlpPoint{}}
		p := page{subjects: list}
		switch f.kind {
		case "counter":
			points.Temporality, points.Monotonic, m.Sum = otlpCumulative, true, points
		case "histogram":
			points.Temporality, m.Histogram = otlpCumulative, points
		default:
			m.Gauge = points
		}
		var h histogramPoint
		p.emit = func(name string, of labels, value float64) {
			if f.kind == "histogram" {
				if h.take(name, of, value) {
					points.Points = append(points.Points, t.histogram(&h, now))
					h = histogramPoint{}
				}
				return
			}
			one := otlpPoint{Attributes: attributes(of, f.name), Time: nanos(now), Double: &value}
			if f.kind == "counter" {
				one.Start = nanos(t.begun)
			}
			points.Points = append(points.Points, one)
		}
		p.family(*f)
		if len(points.Points) > 0 {
			out = append(out, m)
		}
	}
	return otlpMetrics{[]otlpResourceMetrics{{t.resource(), []otlpScopeMetrics{{scope: scope{otlpScope},
		Metrics: out}}}}}
}

// otlpMetricName is weir.backlog_seconds for weir_backlog_seconds.
func otlpMetricName(name string) string { return strings.Replace(name, "_", ".", 1) }

func attributes(of labels, family string) []otlpAttribute {
	var out []otlpAttribute
	for _, l := range of {
		name := "weir." + l.name
		if l.name == family {
			name = "weir.state"
		}
		out = append(out, attribute(name, l.value))
	}
	return out
}

// histogramPoint gathers the lines of a histogram: buckets that count all below their
// bound, the count, and last the sum.
type histogramPoint struct {
	of     labels
	counts []float64
	count  float64
	sum    float64
}

func (h *histogramPoint) take(name string, of labels, value float64) (whole bool) {
	switch {
	case strings.HasSuffix(name, "_bucket"):
		h.counts = append(h.counts, value)
	case strings.HasSuffix(name, "_count"):
		h.count = value
	default:
		h.of, h.sum = of, value
		return true
	}
	return false
}

func (t *telemetry) histogram(h *histogramPoint, now time.Time) otlpPoint {
	one := otlpPoint{
		Attributes: attributes(h.of, ""), Start: nanos(t.begun), Time: nanos(now), Sum: &h.sum,
		Count: strconv.FormatFloat(h.count, 'f', 0, 64), Bounds: monitor.HistogramBounds[:],
	}
	before := 0.0
	for _, n := range h.counts {
		one.Buckets = append(one.Buckets, strconv.FormatFloat(n-before, 'f', 0, 64))
		before = n
	}
	return one
}

// spans are those of the batches that were committed since the last report.
func (t *telemetry) spans(list []subject) (spans []otlpSpan, lost int) {
	sent := map[string]int64{}
	for i := range list {
		s := &list[i]
		last, known := t.sent[s.snapshot.RunID]
		if !known {
			last = -1
		}
		for j := range s.batches {
			b := &s.batches[j]
			if b.ID <= last {
				continue
			}
			last = b.ID
			if len(spans) == mostSpans {
				lost++
				continue
			}
			spans = append(spans, spanOf(s, b))
		}
		sent[s.snapshot.RunID] = last
	}
	t.sent = sent
	return spans, lost
}

// spanOf is a batch as a span, the root and only one of its trace: a query goes on for
// ever, and a trace ends.
func spanOf(s *subject, b *health.Batch) otlpSpan {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", s.snapshot.RunID, b.ID))
	id := strconv.FormatInt(b.ID, 10)
	rows := strconv.FormatFloat(b.Rows, 'f', 0, 64)
	span := otlpSpan{
		TraceID: hex.EncodeToString(sum[:16]), SpanID: hex.EncodeToString(sum[16:24]), Kind: otlpInternal,
		Name: "batch " + cutLabel(s.snapshot.ShownName()), Start: nanos(b.Start), End: nanos(b.End),
		Attributes: append(attributes(s.labels, ""), attribute("weir.run_id", s.snapshot.RunID),
			otlpAttribute{"weir.batch_id", otlpValue{Int: &id}}, otlpAttribute{"weir.input_rows",
				otlpValue{Int: &rows}}),
	}
	for phase, seconds := range b.Phases {
		if health.Known(seconds) {
			span.Attributes = append(span.Attributes, otlpAttribute{
				"weir.phase_seconds." + health.Phase(phase).String(), otlpValue{Double: &seconds},
			})
		}
	}
	return span
}
