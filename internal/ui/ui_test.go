package ui

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func handler(t *testing.T, o Options) (http.Handler, *monitor.Query) {
	t.Helper()
	reg := monitor.NewRegistry()
	o.Version, o.Now = "1.2.3", func() time.Time { return noon.Add(90 * time.Second) }
	q := reg.Start(monitor.Run{
		ID: "11111111-1111-1111-1111-111111111111", RunID: "22222222-2222-2222-2222-222222222222",
		Name: `<b>"x"`, StartedAt: noon}, monitor.NewBus())
	q.Activate([]string{"RateStreamV2[rowsPerSecond=5"}, "MemorySink")
	return New(reg, o), q
}

func record(q *monitor.Query) {
	p := &monitor.Progress{BatchID: 7, Sources: []monitor.Source{{Description: "s", NumInputRows: 10}}}
	q.Record(p, monitor.Trigger{Start: noon, End: noon.Add(250 * time.Millisecond)})
}

func get(t *testing.T, h http.Handler, method, path, host string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://"+host+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPageEscapesNamesAndShowsTheLastBatch(t *testing.T) {
	h, q := handler(t, Options{})
	body := get(t, h, "GET", "/", "localhost:4040").Body.String()
	for _, want := range []string{"1 query is running.", "&lt;b&gt;&quot;x&quot;", "MemorySink", "–", "1.50 min"} {
		if !strings.Contains(body, want) {
			t.Errorf("before a batch the page lacks %q", want)
		}
	}
	record(q)
	body = get(t, h, "GET", "/", "localhost:4040").Body.String()
	for _, want := range []string{`data-f="batch">7<`, `data-f="processed">40.0<`, "250 ms"} {
		if !strings.Contains(body, want) {
			t.Errorf("after a batch the page lacks %q in\n%s", want, body)
		}
	}
	q.Terminate(noon, &monitor.Failure{Message: "<script>alert(1)</script>"})
	body = get(t, h, "GET", "/", "localhost:4040").Body.String()
	if !strings.Contains(body, "1 query failed") || strings.Contains(body, "<script>alert") {
		t.Error("the failed query is not shown, or its message not escaped")
	}
}

func TestPageSaysWhyAQueryEndedWithItsSession(t *testing.T) {
	h, q := handler(t, Options{})
	q.Because("its session was idle for 1h0m0s")
	const want = "Stopped because its session was idle for 1h0m0s."
	if body := get(t, h, "GET", "/", "localhost:4040").Body.String(); strings.Contains(body, want) {
		t.Error("the page says so before the query ended")
	}
	q.Terminate(noon, nil)
	if body := get(t, h, "GET", "/", "localhost:4040").Body.String(); !strings.Contains(body, want) {
		t.Errorf("the page lacks %q in\n%s", want, body)
	}
}

func TestPageWithoutQueriesSaysHowToStart(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{Now: time.Now, Remote: "sc://localhost:15002"})
	body := get(t, h, "GET", "/", "127.0.0.1:4040").Body.String()
	for _, want := range []string{"No query has been started yet.", "sc://localhost:15002"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q in\n%s", want, body)
		}
	}
}

func TestAPIAnswersJSON(t *testing.T) {
	h, q := handler(t, Options{})
	if got := get(t, h, "GET", "/api/v1/queries/"+q.ID()+"/progress", "localhost").Body.String(); got != "null" {
		t.Errorf("progress before a batch: %s", got)
	}
	record(q)
	for path, key := range map[string]string{
		"/api/v1/queries":                         "nowAtMs",
		"/api/v1/queries/" + q.ID():               "lastBatchId",
		"/api/v1/queries/" + q.RunID():            "lastBatchId",
		"/api/v1/queries/" + q.ID() + "/progress": "batchId",
		"/api/v1/build":                           "version",
	} {
		w := get(t, h, "GET", path, "localhost:4040")
		var body map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body[key] == nil {
			t.Errorf("GET %s: %v, no %q in %s", path, err, key, w.Body)
		}
	}
	w := get(t, h, "GET", "/api/v1/queries/nope%22", "localhost")
	if w.Code != http.StatusNotFound || !json.Valid(w.Body.Bytes()) {
		t.Errorf("unknown query: %d %s", w.Code, w.Body)
	}
}

func TestWhoMayAsk(t *testing.T) {
	h, _ := handler(t, Options{Hosts: []string{"Metrics.Example"}})
	for _, c := range []struct {
		method, host string
		want         int
	}{
		{"GET", "localhost:4040", 200}, {"GET", "127.0.0.1", 200}, {"GET", "[::1]:4040", 200},
		{"GET", "metrics.example:4040", 200}, {"HEAD", "localhost", 200},
		{"GET", "evil.example", http.StatusMisdirectedRequest},
		{"GET", "localhost.evil.example:4040", http.StatusMisdirectedRequest},
		{"POST", "localhost:4040", http.StatusMethodNotAllowed},
	} {
		if got := get(t, h, c.method, "/api/v1/queries", c.host).Code; got != c.want {
			t.Errorf("%s with host %s: %d, want %d", c.method, c.host, got, c.want)
		}
	}
	other := func(*http.Request) bool { return false }
	private, _ := handler(t, Options{Private: true, SameUser: other})
	if got := get(t, private, "GET", "/", "localhost").Code; got != http.StatusForbidden {
		t.Errorf("a refused connection got %d", got)
	}
}

func TestTokenIsAskedOfEverybodyElse(t *testing.T) {
	mine, ask := false, func(h http.Handler, host, token string) int {
		r := httptest.NewRequest("GET", "http://"+host+"/api/v1/queries", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	h, _ := handler(t, Options{Token: "secret", SameUser: func(*http.Request) bool { return mine }})
	for _, c := range []struct {
		mine        bool
		host, token string
		want        int
	}{
		{false, "localhost", "", 401}, {false, "localhost", "wrong", 401}, {false, "10.1.2.3", "secret", 200},
		{false, "10.1.2.3", "", http.StatusMisdirectedRequest}, {true, "localhost", "", 200},
		{true, "evil.example", "", http.StatusMisdirectedRequest},
	} {
		mine = c.mine
		if got := ask(h, c.host, c.token); got != c.want {
			t.Errorf("same user %t, host %s, token %q: %d, want %d", c.mine, c.host, c.token, got, c.want)
		}
	}
	open, _ := handler(t, Options{Hosts: []string{"*"}})
	if got := ask(open, "anything.example", ""); got != 200 {
		t.Errorf("a server for any host answered %d", got)
	}
}

func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	h, _ := handler(t, Options{})
	w := get(t, h, "GET", "/", "localhost")
	if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") {
		t.Errorf("content security policy: %q", csp)
	}
	for _, path := range []string{"/assets/app.js", "/assets/style.css", "/assets/icon.svg"} {
		if got := get(t, h, "GET", path, "localhost").Code; got != 200 {
			t.Errorf("GET %s: %d", path, got)
		}
	}
	if strings.Contains(w.Body.String(), "style=") || strings.Contains(w.Body.String(), "<script>") {
		t.Error("the page has inline style or script, which its own policy forbids")
	}
}

func TestFiguresHaveThreeDigitsAndAUnit(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 5.04: "5.04", 41.26: "41.3", 999.6: "1000", 12345: "12.3 k", 2.5e6: "2.50 M",
	} {
		if got := rate(x); got != want {
			t.Errorf("rate(%v) = %s, want %s", x, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		12 * time.Millisecond: "12 ms", 1500 * time.Millisecond: "1.50 s",
		90 * time.Minute: "1.50 h", 72 * time.Hour: "3.00 d",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %s, want %s", d, got, want)
		}
	}
}
