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
	q.Activate([]string{"RateStreamV2[rowsPerSecond=5]"}, "MemorySink")
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

func TestPageWithoutQueriesSaysHowToStart(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{Now: time.Now, Remote: "sc://localhost:15002"})
	body := get(t, h, "GET", "/", "127.0.0.1:4040").Body.String()
	for _, want := range []string{"No queries yet.", "sc://localhost:15002"} {
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
	for origin, want := range map[string]int{
		"http://localhost:4040": 200, "http://127.0.0.1:9": 200, "https://metrics.example": 200,
		"http://evil.example": 403, "null": 403, "http://localhost.evil.example": 403, "://": 403,
	} {
		r := httptest.NewRequest("GET", "http://localhost/api/v1/fleet", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("a page of %s got %d, want %d", origin, w.Code, want)
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
		{false, "10.1.2.3", "", 401}, {true, "localhost", "", 200},
		// At a foreign name the token is asked of the server's own user, too.
		{true, "evil.example", "", 401},
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
	for _, path := range []string{"/assets/app.js", "/assets/style.css", "/assets/icon.svg", "/assets/vendor/uPlot.iife.min.js"} {
		if got := get(t, h, "GET", path, "localhost").Code; got != 200 {
			t.Errorf("GET %s: %d", path, got)
		}
	}
	if strings.Contains(w.Body.String(), "style=") || strings.Contains(w.Body.String(), "<script>") {
		t.Error("the page has inline style or script, which its own policy forbids")
	}
}
