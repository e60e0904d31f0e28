package report

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestDogStatsDLines(t *testing.T) {
	e := testEnv(t, nil)
	d := &dog{options: options{"prefix": ""}, env: e, sums: map[string]float64{}, statsig: true,
		tags: []string{"env:prod"}}
	first := d.lines(subjects(e.Registry))
	testkit.Golden(t, "dogstatsd.txt", []byte(strings.Join(first, "\n")+"\n"))
	for _, line := range d.lines(subjects(e.Registry)) {
		if strings.Contains(line, "|c|") && !strings.Contains(line, ":0|c|") {
			t.Errorf("nothing came on top, and it is counted again: %s", line)
		}
	}
	for text, want := range map[string]string{"a:b|c#d@e,f g\nh": "a_b_c_d_e_f_g_h", "ü": "ü"} {
		if got := dogWord(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	hostile := d.tagged(labels{{"query", "x,admin:true|#y:z\n" + strings.Repeat("é", 300)}}, "")
	if strings.Count(hostile, ",") != 1 || strings.ContainsAny(hostile, "|#\n") || len(hostile) > 250 {
		t.Errorf("%q", hostile)
	}
}

func TestDogStatsDDatagramsPassEveryNetwork(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.LocalAddr().String())
	r, err := Start(testEnv(t, nil), map[string]string{
		"weir.metrics.dogstatsd.port": port, "weir.metrics.dogstatsd.period": "1", "weir.metrics.dogstatsd.tags": "env:prod, team:x",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := l.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 65536)
	all := ""
	for !strings.Contains(all, "weir.delivery_seconds.p99") {
		n, _, err := l.ReadFrom(packet)
		if err != nil {
			t.Fatal(err, all)
		}
		if n > dogDatagram {
			t.Errorf("a datagram of %d bytes", n)
		}
		all += string(packet[:n]) + "\n"
	}
	if !strings.Contains(all, "|#env:prod,team:x,query_name:events_per_window,query_id:1") {
		t.Errorf("%s", all)
	}
}

// collector takes what is sent to it, in a golden file's form.
type collector struct {
	*httptest.Server
	got    map[string][]byte
	header http.Header
	answer func(w http.ResponseWriter)
}

func collect(t *testing.T) *collector {
	c := &collector{got: map[string][]byte{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.got[r.URL.Path], c.header = body, r.Header
		if c.answer != nil {
			c.answer(w)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func telemetryTo(t *testing.T, c *collector, more ...string) *telemetry {
	t.Helper()
	e := testEnv(t, nil)
	if err := vfs.WriteNew(e.Files, "/headers", []byte("# secret\napi-key: s3cret\n")); err != nil {
		t.Fatal(err)
	}
	o := options{"endpoint": c.URL + "/", "traces": "true", "service": "weir", "headersFile": "/headers"}
	for i := 0; i+1 < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	r, err := openOTLP(e, o)
	if err != nil {
		t.Fatal(err)
	}
	to := r.(*telemetry)
	to.begun = start
	t.Cleanup(func() { to.close() })
	return to
}

// The golden files were read by the classes of opentelemetry-proto 1.45, from which
// they came back the same.
func TestOTLPMetricsAndSpans(t *testing.T) {
	c := collect(t)
	to := telemetryTo(t, c)
	if err := to.report(t.Context(), start.Add(40*time.Second), nil); err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{"/v1/metrics": "otlp-metrics.json", "/v1/traces": "otlp-traces.json"} {
		var out bytes.Buffer
		if err := json.Indent(&out, c.got[path], "", " "); err != nil {
			t.Fatalf("%v in %s", err, c.got[path])
		}
		out.WriteByte('\n')
		testkit.Golden(t, name, out.Bytes())
	}
	if c.header.Get("api-key") != "s3cret" || c.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", c.header)
	}
	delete(c.got, "/v1/traces")
	if err := to.report(t.Context(), start.Add(50*time.Second), nil); err != nil || c.got["/v1/traces"] != nil {
		t.Errorf("%v; a batch was sent again: %s", err, c.got["/v1/traces"])
	}
}

func TestSpansBeyondALimitAreCounted(t *testing.T) {
	r := monitor.NewRegistry()
	for i := range 20 {
		id := string(rune('a' + i))
		q := r.Start(monitor.Run{ID: id, RunID: id, StartedAt: start}, monitor.NewBus())
		for n := range 120 {
			at := start.Add(time.Duration(n) * time.Second)
			q.Begin(int64(n), at)
			q.Committed(health.Batch{ID: int64(n), Start: at, End: at})
		}
	}
	to := &telemetry{sent: map[string]int64{}}
	if spans, lost := to.spans(subjects(r)); len(spans) != mostSpans || lost != 20*120-mostSpans {
		t.Errorf("%d spans, %d lost", len(spans), lost)
	}
}

func TestACollectorThatRefusesIsSaid(t *testing.T) {
	c := collect(t)
	for answer, want := range map[string]string{
		"302": "302", "401": "401", "503": "503", `200 {"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}`: "too old",
		"200 {}": "", "200 garbage": "",
	} {
		code, body, _ := strings.Cut(answer, " ")
		c.answer = func(w http.ResponseWriter) {
			w.Header().Set("Location", c.URL)
			w.WriteHeader(map[string]int{"302": 302, "401": 401, "503": 503, "200": 200}[code])
			io.WriteString(w, body)
		}
		err := telemetryTo(t, c, "traces", "false").report(t.Context(), start.Add(40*time.Second), nil)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}

func TestSettingsOfOwnReporters(t *testing.T) {
	for settings, want := range map[string]string{
		"weir.metrics.otlp.endpoint=http://127.0.0.1:1":                                                 "",
		"weir.metrics.otlp.period=5":                                                                    "otlp requires 'endpoint' property: set weir.metrics.otlp.endpoint",
		"weir.metrics.otlp.endpoint=collector:4318":                                                     "is no address such as",
		"weir.metrics.otlp.endpoint=http://x weir.metrics.otlp.traces=maybe":                            "traces is true or false",
		"weir.metrics.otlp.endpoint=http://x weir.metrics.otlp.headersFile=/none":                       "/none",
		"weir.metrics.otlp.endpoint=http://x weir.metrics.otlp.headersFile=/bad":                        "line 1 of /bad is no NAME: VALUE",
		"weir.metrics.otlp.endpoint=http://x weir.metrics.otlp.period=10 weir.metrics.otlp.unit=millis": "is no time",
		"weir.metrics.dogstatsd.host=127.0.0.1":                                                         "",
		"weir.metrics.dogstatsd.port=0":                                                                 `port "0"`,
		"weir.metrics.dogstatsd.statsigNames=yes":                                                       "statsigNames is true or false",
		"weir.metrics.dogstatd.port=1":                                                                  "there is no setting weir.metrics.dogstatd.port; there are weir.metrics.dogstatsd.host",
	} {
		e := testEnv(t, nil)
		if err := vfs.WriteNew(e.Files, "/bad", []byte("no colon\n")); err != nil {
			t.Fatal(err)
		}
		confs := map[string]string{}
		for setting := range strings.SplitSeq(settings, " ") {
			key, value, _ := strings.Cut(setting, "=")
			confs[key] = value
		}
		all, err := Settings(confs, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Start(e, all)
		if err == nil {
			r.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}
