package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// hooked is a server whose alerts go to a listener.
type hooked struct {
	*server
	t    *testing.T
	file string
	got  chan string // what the listener was told, a rule and a status each
}

func newHooked(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{t: t, got: make(chan string, 100)}
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Alerts []struct{ Rule, Status, Text, Link string }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		for _, a := range m.Alerts {
			h.got <- a.Rule + " " + a.Status + ": " + a.Text + " " + a.Link
		}
	}))
	t.Cleanup(listener.Close)
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.file = filepath.Join(dir, alertsFile)
	h.write("group: {wait: 0}\nnotify: [{webhook: {url: '" + listener.URL + "'}}]\n")
	var err error
	h.server, err = startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off",
		logLevel: slog.LevelError + 4},
		grpcFree)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hooked) write(rules string) {
	h.t.Helper()
	if err := os.WriteFile(h.file, []byte(rules), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// told waits for what the listener is told next.
func (h *hooked) told() string {
	h.t.Helper()
	select {
	case text := <-h.got:
		return text
	case <-time.After(30 * time.Second):
		h.t.Fatal("nobody was told")
		return ""
	}
}

// ask sends a request, with a form where there is one, and gives the answer.
func (h *hooked) ask(method, path, form string) (code int, body string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.httpAddress()+path,
		strings.NewReader(form))
	if err != nil {
		h.t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestAFailedQueryReachesItsWebhook(t *testing.T) {
	h := newHooked(t)
	s := h.engine.NewSession("u", "s")
	ticks := &plan.Read{Format: "rate", Streaming: true, Options: plan.Options{"rowsPerSecond": "10"}}
	input, err := s.SQL(t.Context(), "SELECT raise_error('the till is open') AS x FROM ticks", nil, nil,
		map[string]plan.Node{"ticks": ticks})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.StartStream(t.Context(), &plan.StartStream{Input: input, Format: "noop",
		QueryName: "till"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	q.Record().Announce()
	text := h.told()
	link := "http://" + localhost(h.httpAddress()) + "/queries/" + q.Record().ID()
	if !strings.HasPrefix(text, "query failed firing: ") || !strings.Contains(text, "the till is open") ||
		!strings.Contains(text, link) {
		t.Errorf("told %q", text)
	}
	_, body := h.ask("GET", "/api/v1/csrf", "")
	var word struct{ CSRF string }
	if err := json.Unmarshal([]byte(body), &word); err != nil {
		t.Fatal(err)
	}
	if code, _ := h.ask("POST", "/api/v1/alerts/silence", "query=till&minutes=5"); code != http.StatusForbidden {
		t.Errorf("without the word: %d", code)
	}
	if code, body := h.ask("POST", "/api/v1/alerts/silence", "query=till&minutes=5&csrf="+word.CSRF); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if _, body := h.ask("GET", "/api/v1/alerts", ""); !strings.Contains(body, `"state":"acknowledged"`) {
		t.Error(body)
	}
}

func TestRulesAreReadAgainAtAHangup(t *testing.T) {
	h := newHooked(t)
	// A hangup that nobody waits for, before the rules are listened for or on its way when
	// this test is over, would end this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	var logged bytes.Buffer
	go func() {
		defer close(done)
		reloadOnHangup(ctx, h.alerts, slog.New(slog.NewTextHandler(&logged, nil)))
	}()
	for _, c := range []struct{ rules, want string }{
		{"rules: [{name: x, when: stat = failed}]", "there is no signal stat; the nearest is state"},
		{"rules: [{name: my own, when: state = failed}]", `"my own"`},
	} {
		h.write(c.rules)
		for {
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if _, body := h.ask("GET", "/api/v1/alerts", ""); strings.Contains(body, c.want) {
				break
			}
			select {
			case <-t.Context().Done():
				t.Fatalf("the rules are not those of the file: %s", c.want)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	stop()
	<-done
	if !strings.Contains(logged.String(), "the rules of alerts are those from before") {
		t.Error(logged.String())
	}
}

func TestAWrongFileOfRulesKeepsAServerFromStarting(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, alertsFile), []byte("rules:\n  - nme: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off",
		logLevel: slog.LevelError}, grpcFree)
	if err == nil {
		s.stop(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), "alerts.yaml: line 2: a rule has no key nme; the nearest is name") {
		t.Error(err)
	}
}

// The queries of foreign applications have the same alerts, from their event logs.
func TestAFleetTellsOfForeignQueries(t *testing.T) {
	told := make(chan string, 10)
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		told <- string(body)
	}))
	defer listener.Close()
	dir := t.TempDir()
	rules, logs := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "logs")
	event := "org.apache.spark.sql.streaming.StreamingQueryListener$"
	log := `{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}
{"Event":"SparkListenerApplicationStart","App Name":"shop","App ID":"app-1"}
{"Event":"` + event + `QueryStartedEvent","id":"i","runId":"r","name":"orders","timestamp":"` +
		time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + `"}
{"Event":"` + event + `QueryTerminatedEvent","id":"i","runId":"r","exception":"java.lang.Error: it broke"}
`
	if err := errors.Join(os.Mkdir(logs, 0o700), os.WriteFile(filepath.Join(logs, "app-1.inprogress"),
		[]byte(log), 0o600),
		os.WriteFile(rules, []byte("group: {wait: 0}\nnotify: [{webhook: {url: '"+listener.URL+"'}}]\n"),
			0o600)); err != nil {
		t.Fatal(err)
	}
	queries, quiet := monitor.NewRegistry(), slog.New(slog.DiscardHandler)
	fleet, err := eventlog.Follow(eventlog.Options{
		Registry: queries, Files: vfs.NewLocal(), Dirs: []string{logs}, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	alerts, err := fleetAlerts(rules, queries, "http://localhost:4040", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer alerts.Close()
	select {
	case body := <-told:
		for _, want := range []string{"query failed", `"engine":"Spark 3.5.1"`, `"application":"shop"`, "it broke"} {
			if !strings.Contains(body, want) {
				t.Errorf("the message lacks %s: %s", want, body)
			}
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody was told")
	}
	if _, err := fleetAlerts(filepath.Join(dir, "none.yaml"), queries, "", quiet); err == nil {
		t.Error("a file of rules that is not there was taken")
	}
}
