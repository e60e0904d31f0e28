package readers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/monitor/report"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

// taken is what a reader made of what it was given.
type taken struct {
	Samples        []sample
	Families       map[string]string
	Units          map[string]string
	Problems, Lint []string
}

type sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// queries are the values of a label, or attribute, or tag, of the samples of a name.
func (r *taken) queries(name, label string) []string {
	var out []string
	for _, s := range r.Samples {
		if s.Name == name {
			out = append(out, s.Labels[label])
		}
	}
	slices.Sort(out)
	return out
}

// others builds the program of that name.
func others(t *testing.T) func(kind string, input []byte) *taken {
	t.Helper()
	_, err := exec.LookPath("go")
	testkit.Need(t, err == nil, "go, to build test/readers/others with")
	load := exec.CommandContext(t.Context(), "go", "-C", "others", "mod", "download")
	out, err := load.CombinedOutput()
	testkit.Need(t, err == nil, "the modules of test/readers/others: "+string(out))
	binary := filepath.Join(t.TempDir(), "others")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "others", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(kind string, input []byte) *taken {
		t.Helper()
		run := exec.CommandContext(t.Context(), binary, kind)
		run.Stdin = bytes.NewReader(input)
		var problems bytes.Buffer
		run.Stderr = &problems
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v %s in\n%.2000s", kind, err, problems.String(), input)
		}
		var r taken
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 {
			t.Errorf("%s: %d problems, such as %s", kind, len(r.Problems), r.Problems[0])
		}
		t.Logf("%s: %d samples of %d families", kind, len(r.Samples), len(r.Families))
		return &r
	}
}

var start = time.UnixMilli(1_700_000_000_000).UTC()

// hostileNames are names that somebody might not have thought of.
func hostileNames(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(testkit.ModuleRoot(t), "internal", "ui", "testdata", "hostile_names.txt")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return append(strings.Split(strings.TrimSpace(string(data)), "\n"), "x,admin:true|#y:z\na 1|c", "a[b=c]",
		"a;b=c", "a\\\\\"\\n", strings.Repeat("é", 300), "orders", "orders", "\x00\xff", "# HELP x", "{a=\"b\"} 1")
}

// hostile is a query with a batch for each of the names; they also name sources.
func hostile(names []string) *monitor.Registry {
	r, bus := monitor.NewRegistry(), monitor.NewBus()
	for i, name := range names {
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		q := r.Start(monitor.Run{ID: id, RunID: "run-" + id, Name: name, StartedAt: start, Metrics: true}, bus)
		p := &monitor.Progress{Sources: []monitor.Source{{Description: name, NumInputRows: int64(i)}},
			StateOperators: []monitor.StateOperator{{NumRowsTotal: int64(i), MemoryUsedBytes: 512}}}
		p.Durations.Add(monitor.TriggerExecution, time.Duration(i)*time.Millisecond)
		q.Activate([]string{name}, name)
		q.Sample(start, &health.Reading{At: start, Sources: []health.Source{{Name: name,
			Unread: health.Amount{Rows: float64(i), Bytes: 10}, Read: health.Amount{Rows: 0}}}})
		end := start.Add(time.Duration(i) * time.Millisecond)
		q.Begin(0, start)
		q.Record(p, monitor.Trigger{Start: start, End: end})
		b := monitor.BatchOf(p, start, end)
		b.Delivery = &health.Sketch{}
		b.Delivery.Add(0.4, 40)
		q.Committed(b)
	}
	return r
}

// asLabels are names as labels and attributes have them: a blank for what no label can
// have, and 200 bytes at most.
func asLabels(names []string, blank rune) []string {
	var out []string
	for i, name := range names {
		name = strings.Map(func(r rune) rune {
			if blank != 0 && r != '\n' && (unicode.IsControl(r) || r == unicode.ReplacementChar) {
				return blank
			}
			return r
		}, strings.ToValidUTF8(name, "\uFFFD"))
		if name == "" {
			name = fmt.Sprintf("query %08d", i)
		}
		if len(name) > 200 {
			name = name[:200]
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Prometheus' own parser takes every page and finds each query under its name, and what
// promtool checks finds nothing to better on weir's own page.
func TestPrometheusReadsThePages(t *testing.T) {
	read := others(t)
	names := hostileNames(t)
	h := ui.New(hostile(names), ui.Options{Application: "weir-1", Now: func() time.Time { return start }})
	page := func(path, accept string) []byte {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.Bytes()
	}
	open := read("openmetrics", page("/metrics", "application/openmetrics-text"))
	plain := read("prometheus", page("/metrics", ""))
	for kind, r := range map[string]*taken{"OpenMetrics": open, "text": plain} {
		if diff := cmp.Diff(r.queries("weir_query_up", "query"), asLabels(names, '?')); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	if diff := cmp.Diff(open.Samples, plain.Samples); diff != "" {
		t.Errorf("the pages differ: %.500s", diff)
	}
	if len(plain.Lint) > 0 {
		t.Errorf("promtool: %s", plain.Lint)
	}
	if open.Units["weir_backlog_seconds"] != "seconds" || open.Families["weir_query_state"] != "stateset" {
		t.Errorf("%v %v", open.Units, open.Families)
	}
	// Spark's page: six gauges of each query, twice each.
	legacy := read("prometheus", page("/metrics/prometheus", ""))
	if len(legacy.Samples) != 12*len(names) {
		t.Errorf("%d samples of %d queries", len(legacy.Samples), len(names))
	}
}

// collected is what reporters sent.
type collected struct {
	mu     sync.Mutex
	bodies map[string][]byte
	came   chan string
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bodies[r.URL.Path] == nil {
		c.bodies[r.URL.Path] = body
		c.came <- r.URL.Path
	}
}

// OpenTelemetry's collector decodes metrics and spans, with each query under its name.
func TestTheCollectorOfOpenTelemetryReads(t *testing.T) {
	read := others(t)
	names := hostileNames(t)
	c := &collected{bodies: map[string][]byte{}, came: make(chan string, 2)}
	server := httptest.NewServer(c)
	defer server.Close()
	reporters := reporting(t, names, map[string]string{"weir.metrics.otlp.endpoint": server.URL,
		"weir.metrics.otlp.period": "1", "weir.metrics.otlp.traces": "true"})
	for range 2 {
		select {
		case <-c.came:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was sent")
		}
	}
	reporters.Close()
	metrics := read("metrics", c.bodies["/v1/metrics"])
	if diff := cmp.Diff(metrics.queries("weir.query_up", "weir.query"), asLabels(names, 0)); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"weir.backlog_seconds": "Gauge s", "weir.backlog_bytes": "Gauge By", "weir.input_rows": "Sum ",
		"weir.batch_duration_seconds": "Histogram s",
	} {
		if got := metrics.Families[name] + " " + metrics.Units[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	spans := read("traces", c.bodies["/v1/traces"])
	for i := range spans.Samples {
		spans.Samples[i].Name = "batch"
	}
	if diff := cmp.Diff(spans.queries("batch", "weir.query"), asLabels(names, 0)); diff != "" {
		t.Error(diff)
	}
}

// reporting starts reporters of queries with names.
func reporting(t *testing.T, names []string, settings map[string]string) *report.Reporters {
	t.Helper()
	r, err := report.Start(&report.Env{
		Registry: hostile(names), Application: "weir-1", Files: vfs.NewMemory(), Console: io.Discard,
		Log: slog.New(slog.DiscardHandler),
	}, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// listen gathers the lines of datagrams until there are as many, of each series the first.
func listen(t *testing.T, settings func(port string) map[string]string, names []string, enough int) []byte {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	reporters := reporting(t, names, settings(port))
	seen := map[string]bool{}
	var lines []string
	packet := make([]byte, 65536)
	for len(lines) < enough {
		n, _, err := l.ReadFrom(packet)
		if err != nil {
			t.Fatalf("%v after %d lines of %d", err, len(lines), enough)
		}
		for line := range strings.Lines(string(packet[:n])) {
			line = strings.TrimSuffix(line, "\n")
			name, _, _ := strings.Cut(line, ":")
			_, tags, _ := strings.Cut(line, "|")
			if series := name + tags; !seen[series] {
				seen[series] = true
				lines = append(lines, line)
			}
		}
	}
	reporters.Close()
	return []byte(strings.Join(lines, "\n") + "\n")
}

// The exporter for StatsD takes each line as one sample without tags of anybody's name.
func TestStatsDReadersReadSparksGauges(t *testing.T) {
	read := others(t)
	names := hostileNames(t)
	lines := listen(t, func(port string) map[string]string {
		return map[string]string{"*.sink.s.class": "org.apache.spark.metrics.sink.StatsdSink",
			"*.sink.s.port": port, "*.sink.s.period": "1"}
	}, names, 6*len(names))
	got := read("statsd", lines)
	rows := map[float64]bool{}
	for _, s := range got.Samples {
		if len(s.Labels) > 0 || !strings.HasPrefix(s.Name, "weir-1.driver.spark.streaming.") {
			t.Errorf("%+v", s)
		}
		if strings.HasSuffix(s.Name, ".states-rowsTotal") {
			rows[s.Value] = true
		}
	}
	if len(rows) != len(names) {
		t.Errorf("the rows of %d queries came, of %d", len(rows), len(names))
	}
}

// The same for weir's own metrics with DogStatsD's tags: those of weir, and no others.
func TestStatsDReadersReadTags(t *testing.T) {
	read := others(t)
	names := hostileNames(t)
	lines := listen(t, func(port string) map[string]string {
		return map[string]string{"weir.metrics.dogstatsd.port": port, "weir.metrics.dogstatsd.period": "1",
			"weir.metrics.dogstatsd.tags": "env:prod"}
	}, names, 28*len(names))
	ids := map[string]bool{}
	for _, s := range read("statsd", lines).Samples {
		ids[s.Labels["query_id"]] = true
		for tag := range s.Labels {
			if !slices.Contains([]string{"env", "query_name", "query_id", "source", "phase", "state"}, tag) {
				t.Errorf("a tag %s of %+v", tag, s)
			}
		}
		if s.Labels["env"] != "prod" || len(s.Labels["query_id"]) != 36 {
			t.Errorf("%+v", s)
		}
	}
	if len(ids) != len(names) {
		t.Errorf("%d queries came, of %d", len(ids), len(names))
	}
}
