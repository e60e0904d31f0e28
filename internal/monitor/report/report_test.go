package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.UnixMilli(1_700_000_000_000).UTC()

// aRegistry has a query with a batch, one without, and one without gauges.
func aRegistry() *monitor.Registry {
	r, bus := monitor.NewRegistry(), monitor.NewBus()
	nan := math.NaN()
	run := func(id, name string, metrics bool) *monitor.Query {
		return r.Start(monitor.Run{ID: id, RunID: "r" + id, Name: name, StartedAt: start, Metrics: metrics}, bus)
	}
	q := run("1", "events_per_window", true)
	q.Activate([]string{"kafka"}, "noop")
	for second := range 30 {
		at := start.Add(time.Duration(second) * time.Second)
		q.Sample(at, &health.Reading{At: at, Sources: []health.Source{{
			Name: `Kafka["a\b"]`, UntilLoss: nan, Read: health.Amount{Rows: 0, Bytes: nan, Files: nan},
			Unread: health.Amount{Rows: float64(100 * second), Bytes: nan, Files: nan},
		}}})
	}
	p := &monitor.Progress{
		BatchID: 1, Sources: []monitor.Source{{NumInputRows: 50}},
		EventTime:      &monitor.EventTime{WatermarkMs: 1_699_999_000_000},
		StateOperators: []monitor.StateOperator{{NumRowsTotal: 7, MemoryUsedBytes: 512}},
	}
	p.Durations.Add(monitor.TriggerExecution, 300*time.Millisecond)
	p.Durations.Add(monitor.AddBatch, 250*time.Millisecond)
	q.Begin(1, start.Add(30*time.Second))
	q.Record(p, monitor.Trigger{Start: start.Add(30 * time.Second), End: start.Add(30300 * time.Millisecond)})
	b := monitor.BatchOf(p, start.Add(30*time.Second), start.Add(30300*time.Millisecond))
	b.Delivery = &health.Sketch{}
	b.Delivery.Add(0.4, 40)
	b.Delivery.Add(20, 10)
	q.Committed(b)
	q.Sample(start.Add(31*time.Second), nil)
	run("2", "with space.and/dot", true)
	run("3", "silent", false)
	return r
}

const application = "local-1596020211915"

func TestGaugesHaveSparksNames(t *testing.T) {
	var got strings.Builder
	for _, g := range Gauges(aRegistry(), application, Plain) {
		got.WriteString(g.Name + " " + string(appendGauge(nil, g)) + "\n")
	}
	const one = application + ".driver.spark.streaming.events_per_window."
	const two = application + ".driver.spark.streaming.with space.and/dot."
	want := one + "inputRate-total 0.0\n" + one + "processingRate-total 166.66666666666669\n" +
		one + "latency 300\n" +
		one + "eventTime-watermark 1699999000000\n" + one + "states-rowsTotal 7\n" +
		one + "states-usedBytes 512\n" +
		two + "inputRate-total 0.0\n" + two + "processingRate-total 0.0\n" + two + "latency 0\n" +
		two + "eventTime-watermark 0\n" + two + "states-rowsTotal 0\n" + two + "states-usedBytes 0\n"
	if diff := cmp.Diff(got.String(), want); diff != "" {
		t.Error(diff)
	}
}

// The lines are those that a running Spark shows for a gauge of this name.
func TestServletsWriteAsSparks(t *testing.T) {
	gauges := []Gauge{{application + ".driver.spark.streaming.events_per_window.inputRate-total", 4.8, false}}
	const name = "metrics_local_1596020211915_driver_spark_streaming_events_per_window_inputRate_total_"
	want := name + "Number{type=\"gauges\"} 4.8\n" + name + "Value{type=\"gauges\"} 4.8\n"
	if got := string(AppendPrometheus(nil, gauges)); got != want {
		t.Errorf("got %s", got)
	}
	// What the Datadog Agent's check looks for.
	agent := regexp.MustCompile(`^[\w-]+\.driver\.spark\.streaming\.([\w-]+)\.([\w-]+)$`)
	var body struct {
		Gauges map[string]struct{ Value float64 }
	}
	if err := json.Unmarshal(AppendJSON(nil, Gauges(aRegistry(), application, JSONName)), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Gauges) != 12 {
		t.Errorf("%d gauges", len(body.Gauges))
	}
	for name := range body.Gauges {
		if !agent.MatchString(name) {
			t.Errorf("the Agent does not see %s", name)
		}
	}
}

// Queries are told apart in every spelling, and keep their names where they can.
func TestQueriesOfOneNameAreToldApart(t *testing.T) {
	r, bus := monitor.NewRegistry(), monitor.NewBus()
	for i, name := range []string{"orders", "orders", "по часам", "по дням!", "a.b", "a b", "a-b",
		strings.Repeat("x", 300) + "1", strings.Repeat("x", 300) + "2"} {
		id := fmt.Sprintf("%d0000000-0000-4000-8000-000000000000", i)
		r.Start(monitor.Run{ID: id, RunID: "run-" + id, Name: name, StartedAt: start, Metrics: true}, bus)
	}
	long := strings.Repeat("x", maxCSVName)
	for spelling, want := range map[string][]string{
		"plain":      {"orders", "orders-10000000", "по часам", "по дням!", "a.b", "a b", "a-b"},
		"json":       {"orders", "orders-10000000", "по_часам", "по_дням_", "a_b", "a_b-50000000", "a-b"},
		"prometheus": {"orders", "orders_10000000", "________", "_________30000000", "a_b", "a_b_50000000", "a_b_60000000"},
		"statsd":     {"orders", "orders-10000000", "по-часам", "по-дням!", "a.b", "a-b", "a-b-60000000"},
		"graphite":   {"orders", "orders-10000000", "по-часам", "по-дням!", "a.b", "a-b", "a-b-60000000"},
		"csv": {"orders", "orders-10000000", "________", "________-30000000", "a.b", "a_b", "a-b",
			long, "run-80000000-0000-4000-8000-000000000000"},
	} {
		spell := map[string]Spelling{"plain": Plain, "json": JSONName, "prometheus": PrometheusName,
			"statsd": statsdSink.spell, "graphite": graphiteSink.spell, "csv": csvSink.spell}[spelling]
		var got []string
		seen := map[string]bool{}
		for _, g := range Gauges(r, "app", spell) {
			if seen[g.Name] {
				t.Errorf("%s: two gauges are called %s", spelling, g.Name)
			}
			seen[g.Name] = true
			rest := strings.TrimPrefix(g.Name, "app.driver.spark.streaming.")
			if query, ok := strings.CutSuffix(rest, ".latency"); ok {
				got = append(got, query)
			}
		}
		if diff := cmp.Diff(got[:len(want)], want); diff != "" || len(got) != 9 {
			t.Errorf("%s: %d queries, %s", spelling, len(got), diff)
		}
	}
}

func TestMetricsPages(t *testing.T) {
	for name, write := range map[string]func([]byte, *monitor.Registry, []Own) []byte{
		"openmetrics.txt": AppendOpenMetrics, "prometheus.txt": AppendText,
	} {
		testkit.Golden(t, name, write(nil, aRegistry(), aServer))
	}
}

// aServer is what a server says of itself.
var aServer = []Own{
	{Name: "weir_build", Kind: "info", Help: "What runs.", Value: 1,
		Labels: []OwnLabel{{"version", `1"2`}, {"go", "go1"}}},
	{Name: "process_resident_memory_bytes", Kind: "gauge", Unit: "bytes", Help: "Memory.", Value: 12345678},
	{Name: "process_open_fds", Kind: "gauge", Help: "Files.", Value: math.NaN()},
	{Name: "weir_notifications_failed", Kind: "counter", Help: "Failed.", Labels: []OwnLabel{{"notifier", "a"}}},
	{Name: "weir_notifications_failed", Kind: "counter", Help: "Failed.", Labels: []OwnLabel{{"notifier", "b"}},
		Value: 2},
}

func TestNamesOfUsersStayInTheirPlace(t *testing.T) {
	for name, want := range map[string]string{
		"a:1|c|#x@y": "a-1-c--x-y:1|g", "a b\nc": "a-b-c:1|g", "ü.é": "ü.é:1|g",
	} {
		if got := string(statsdLine("", Gauge{name, 1, true})); got != want {
			t.Errorf("StatsD: %q, want %q", got, want)
		}
	}
	line := string(graphiteLine("p", Gauge{"a b\n1 2", 1.5, false}, start))
	if line != "p.a-b-1-2 1.50 1700000000\n" {
		t.Errorf("Graphite: %q", line)
	}
	for text, want := range map[string]string{
		"a\"b\\c\nd": `a\"b\\c\nd`, "\x00\x1b\xff": "???", strings.Repeat("é", 200): strings.Repeat("é", 100),
	} {
		if got := string(escape(text)); got != want {
			t.Errorf("OpenMetrics: %q, want %q", got, want)
		}
	}
}

func TestSettingsOfSinks(t *testing.T) {
	properties := "# a comment\n*.sink.a.class=org.apache.spark.metrics.sink.ConsoleSink\n" +
		"*.sink.a.period = 5\ndriver.sink.a.period=6\nworker.sink.a.period=7\n"
	settings, err := Settings(map[string]string{
		"spark.metrics.conf.*.sink.a.unit": "minutes", "spark.app.name": "x"}, properties)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]options{"a": {
		"class": "org.apache.spark.metrics.sink.ConsoleSink", "period": "6", "unit": "minutes"}}
	if diff := cmp.Diff(sinkSettings(settings), want); diff != "" {
		t.Error(diff)
	}
	if _, err := Settings(nil, "no equals sign"); err == nil {
		t.Error("a line without = was taken")
	}
	listing := "spark.metrics.conf.*.sink.p.class=org.apache.spark.metrics.sink.PrometheusServlet\n"
	settings, err = Settings(nil, listing)
	if err != nil || settings["*.sink.p.class"] != packageName+"PrometheusServlet" {
		t.Errorf("%v %v", settings, err)
	}
	_, err = Settings(nil, listing+"spark.sql.streaming.metricsEnabled=true\n")
	if err == nil || !strings.Contains(err.Error(), "line 2 of metrics.properties: spark.sql.streaming.metricsEnabled") {
		t.Errorf("a setting that does nothing there: %v", err)
	}
	sink := func(kv ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			out["*.sink.s."+kv[i]] = kv[i+1]
		}
		return out
	}
	for _, c := range []struct {
		settings map[string]string
		want     string // in the error; "" for none
	}{
		{sink("class", "org.apache.spark.metrics.sink.JmxSink"), ""},
		{sink("class", "org.apache.spark.metrics.sink.PrometheusServlet", "path", "/metrics/prometheus"), ""},
		{sink("period", "5"), "has no class"},
		{sink("class", "org.apache.spark.metrics.sink.GangliaSink"), "CsvSink"},
		{sink("class", "org.apache.spark.metrics.sink.GraphiteSink", "port", "1"), "requires 'host'"},
		{sink("class", "org.apache.spark.metrics.sink.GraphiteSink", "host", "h", "port", "x"), `port "x"`},
		{sink("class", "org.apache.spark.metrics.sink.GraphiteSink", "host", "h", "port", "1", "protocol", "x"),
			"protocol"},
		{sink("class", "org.apache.spark.metrics.sink.StatsdSink", "period", "5", "unit", "milliseconds"),
			"minimum"},
		{sink("class", "org.apache.spark.metrics.sink.StatsdSink", "period", "x"), "no time"},
	} {
		r, err := Start(testEnv(t, nil), c.settings)
		if err == nil {
			r.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.settings, err, c.want)
		}
	}
}

func testEnv(t *testing.T, console *bytes.Buffer) *Env {
	t.Helper()
	return &Env{
		Registry: aRegistry(), Application: application, Files: vfs.NewMemory(), Console: console,
		Log: slog.New(slog.DiscardHandler),
	}
}

func TestReportersSendWhileOneIsDead(t *testing.T) {
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	graphite, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer graphite.Close()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	_, udp, _ := net.SplitHostPort(listener.LocalAddr().String())
	_, tcp, _ := net.SplitHostPort(graphite.Addr().String())
	_, gone, _ := net.SplitHostPort(dead.Addr().String())
	settings := map[string]string{
		"*.sink.a.class": packageName + "StatsdSink", "*.sink.a.port": udp, "*.sink.a.period": "1",
		"*.sink.b.class": packageName + "GraphiteSink", "*.sink.b.host": "127.0.0.1", "*.sink.b.port": tcp,
		"*.sink.b.period": "1", "*.sink.b.prefix": "weir",
		"*.sink.c.class": packageName + "GraphiteSink", "*.sink.c.host": "127.0.0.1", "*.sink.c.port": gone,
		"*.sink.c.period": "1",
	}
	e := testEnv(t, nil)
	r, err := Start(e, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	packet := make([]byte, 1000)
	if err := listener.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, _, err := listener.ReadFrom(packet)
	const query = application + ".driver.spark.streaming.events_per_window."
	if err != nil || !strings.HasPrefix(string(packet[:n]), query) {
		t.Errorf("StatsD got %q, %v", packet[:n], err)
	}
	conn, err := graphite.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n, err = conn.Read(packet)
	if err != nil || !strings.HasPrefix(string(packet[:n]), "weir."+application) {
		t.Errorf("Graphite got %q, %v", packet[:n], err)
	}
}

// sometimes fails a report and counts them.
type sometimes struct {
	mu     sync.Mutex
	calls  int
	closed bool
}

func (s *sometimes) report(ctx context.Context, _ time.Time, _ []Gauge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls == 2 {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *sometimes) close() error { s.closed = true; return nil }

func TestAReportThatFailsIsCountedAndTheNextIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, to := &Reporters{cancel: cancel}, &sometimes{}
		r.running.Go(func() { r.run(ctx, sink{testEnv(t, nil), "s", Plain, to, time.Second}) })
		time.Sleep(3500 * time.Millisecond)
		r.Close()
		if to.calls != 3 || r.Dropped() != 1 || !to.closed {
			t.Errorf("%d calls, %d dropped, closed: %t", to.calls, r.Dropped(), to.closed)
		}
	})
}

// slowly takes a while for a report and notes when it was asked for them.
type slowly struct{ asked []time.Time }

func (s *slowly) report(_ context.Context, now time.Time, _ []Gauge) error {
	s.asked = append(s.asked, now)
	time.Sleep(300 * time.Millisecond)
	return nil
}

func (s *slowly) close() error { return nil }

// MS-06: the time that a report takes does not move the next one.
func TestReportsKeepTheirTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, to := &Reporters{cancel: cancel}, &slowly{}
		begun := time.Now()
		r.running.Go(func() { r.run(ctx, sink{testEnv(t, nil), "s", Plain, to, 10 * time.Second}) })
		time.Sleep(3001 * time.Second)
		r.Close()
		if len(to.asked) != 300 {
			t.Fatalf("%d reports in 300 intervals", len(to.asked))
		}
		for i, at := range to.asked {
			if late := at.Sub(begun) - time.Duration(i+1)*10*time.Second; late < 0 || late > time.Second {
				t.Errorf("report %d is %s late", i, late)
			}
		}
	})
}

// The lines of Spark's own sinks, which carbon, statsd_exporter and a Prometheus server read
// as well (test/readers).
func TestLinesOfSparksSinks(t *testing.T) {
	registry := aRegistry()
	var statsd, graphite []byte
	for _, g := range Gauges(registry, application, statsdName) {
		statsd = append(append(statsd, statsdLine("weir", g)...), '\n')
	}
	for _, g := range Gauges(registry, application, graphiteName) {
		graphite = append(graphite, graphiteLine("weir", g, start)...)
	}
	testkit.Golden(t, "statsd.txt", statsd)
	testkit.Golden(t, "graphite.txt", graphite)
	testkit.Golden(t, "servlet.txt", AppendPrometheus(nil, Gauges(registry, application, PrometheusName)))
}

func TestCSVAndConsole(t *testing.T) {
	var console bytes.Buffer
	e := testEnv(t, &console)
	files, err := csvSink.open(e, options{"directory": "/out/m"})
	if err != nil {
		t.Fatal(err)
	}
	gauges := Gauges(e.Registry, application, csvSink.spell)
	for second := range 2 {
		if err := files.report(t.Context(), start.Add(time.Duration(second)*time.Second), gauges); err != nil {
			t.Fatal(err)
		}
	}
	data, err := vfs.ReadFile(e.Files, "/out/m/"+application+".driver.spark.streaming.events_per_window.latency.csv")
	if got := string(data); err != nil || got != "t,value\n1700000000,300\n1700000001,300\n" {
		t.Errorf("%q, %v", got, err)
	}
	out, err := consoleSink.open(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.report(t.Context(), start, gauges); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(console.String(), "events_per_window.latency\n             value = 300\n") {
		t.Errorf("console: %s", console.String())
	}
}

// A query without a name is called as on the pages, not by its whole id.
func TestAnUnnamedQueryHasAShortLabel(t *testing.T) {
	r := monitor.NewRegistry()
	run := monitor.Run{ID: "47e4e272-0000-4000-8000-000000000000", RunID: "r", StartedAt: start}
	r.Start(run, monitor.NewBus())
	want := `weir_query_up{query="query 47e4e272",query_id="47e4e272-0000-4000-8000-000000000000"} 1`
	if got := string(AppendOpenMetrics(nil, r, nil)); !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
}
