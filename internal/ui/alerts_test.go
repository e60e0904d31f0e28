package ui

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/vfs"
)

// alerted is a server whose alerts have a rule that every query breaks, and a
// notifier with a secret that nobody reaches.
type alerted struct {
	http.Handler
	alerts *alert.Alerts
	files  vfs.FS
	mine   bool
}

func newAlerted(t *testing.T, names ...string) *alerted {
	t.Helper()
	a := &alerted{files: vfs.NewMemory(), mine: true}
	a.file(t, "rules: [{name: any query, when: name = '*', severity: critical, labels: {team: shop}}]\n"+
		"notify: [{name: ops, webhook: {url: 'http://127.0.0.1:1/s3cret'}}]\ngroup: {wait: 1h}\n")
	r := monitor.NewRegistry()
	for i, name := range names {
		id := "11111111-0000-4000-8000-00000000000" + string(rune('0'+i%10))
		r.Start(monitor.Run{ID: id, RunID: id, Name: name, Application: name, StartedAt: time.Now()},
			monitor.NewBus())
	}
	var err error
	a.alerts, err = alert.Start(alert.Env{
		Registry: r, Log: slog.New(slog.DiscardHandler), Files: a.files, File: "/alerts.yaml",
		Variable: func(string) (string, bool) { return "", false }, Link: "http://localhost:4040",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.alerts.Close)
	a.Handler = New(r, Options{
		Now: time.Now, Alerts: a.alerts, Token: "t0ken", SameUser: func(*http.Request) bool { return a.mine },
	})
	return a
}

func (a *alerted) file(t *testing.T, text string) {
	t.Helper()
	if err := vfs.WriteReplace(a.files, "/alerts.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// firing waits until so many alerts fire, which takes the evaluation of a second.
func (a *alerted) firing(t *testing.T, n int) {
	t.Helper()
	for {
		if all, _ := a.alerts.Firing(); all == n {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it never fired")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (a *alerted) told(t *testing.T) map[string]any {
	t.Helper()
	var got map[string]any
	body := get(t, a, "GET", "/api/v1/alerts", "localhost").Body.Bytes()
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if strings.Contains(string(body), "s3cret") {
		t.Error("the API tells a secret")
	}
	return got
}

// post sends a body with headers; those of a form when the body is one.
func (a *alerted) post(path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func (a *alerted) csrf(t *testing.T) string {
	t.Helper()
	var word csrfJSON
	if err := json.Unmarshal(get(t, a, "GET", "/api/v1/csrf", "localhost").Body.Bytes(), &word); err != nil {
		t.Fatal(err)
	}
	return word.CSRF
}

const formType = "application/x-www-form-urlencoded"

func TestAlertsAreToldAndSilenced(t *testing.T) {
	a := newAlerted(t, "orders")
	a.firing(t, 1)
	one := a.told(t)["alerts"].([]any)[0].(map[string]any)
	if one["state"] != "firing" || one["rule"] != "any query" || one["query"] != "orders" || one["severity"] != "critical" {
		t.Errorf("%v", one)
	}
	own := get(t, a, "GET", "/queries/"+one["queryId"].(string), "localhost").Body.String()
	if !strings.Contains(own, `<section id="alerts"`) || !strings.Contains(own, "<b>any query</b>") {
		t.Error("the query's own page does not show its alert")
	}
	page := get(t, a, "GET", "/alerts", "localhost").Body.String()
	safe(t, "alerts", page)
	for _, want := range []string{"1 alert is firing.", "1 critical", "any query", "repeated every 30", "127.0.0.1:1",
		`action="/api/v1/alerts/silence"`, "data-key=\"a\""} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "s3cret") {
		t.Error("the page tells a secret")
	}
	id, word := one["id"].(string), a.csrf(t)
	form := url.Values{"alert": {id}, "minutes": {"60"}, "csrf": {word}, "page": {"1"}}.Encode()
	if w := a.post("/api/v1/alerts/silence", form, "Content-Type", formType); w.Code != 303 ||
		w.Header().Get("Location") != "/alerts" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	got := a.told(t)
	silences := got["silences"].([]any)
	if got["alerts"].([]any)[0].(map[string]any)["state"] != "acknowledged" || len(silences) != 1 {
		t.Errorf("%v", got)
	}
	if page := get(t, a, "GET", "/alerts", "localhost").Body.String(); !strings.Contains(page,
		"No alert is firing.") ||
		!strings.Contains(page, "1 silent") {
		t.Error("the page does not show the silence")
	}
	end := `{"end": "` + silences[0].(map[string]any)["id"].(string) + `"}`
	if w := a.post("/api/v1/alerts/silence", end, csrfHeader, word); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := len(a.told(t)["silences"].([]any)); n != 0 {
		t.Errorf("%d silences", n)
	}
	w := a.post("/api/v1/alerts/silence", `{"query": "ord*", "minutes": 5, "comment": "<b>"}`, "Authorization", "Bearer t0ken")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"id":"s`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What changes something asks for more than reading does (U3).
func TestWhoMayChangeSomething(t *testing.T) {
	a := newAlerted(t)
	word, ok := a.csrf(t), `{"query": "x", "minutes": 5}`
	form := "query=x&minutes=5"
	for name, c := range map[string]struct {
		mine    bool
		body    string
		headers []string
		want    int
	}{
		"the user with the word":     {true, ok, []string{csrfHeader, word}, 200},
		"a form with the word":       {true, form + "&csrf=" + word, []string{"Content-Type", formType}, 200},
		"the token":                  {false, ok, []string{"Authorization", "Bearer t0ken"}, 200},
		"no word":                    {true, ok, nil, 403},
		"another word":               {true, ok, []string{csrfHeader, "x" + word}, 403},
		"a form without the word":    {true, form, []string{"Content-Type", formType}, 403},
		"the word in the address":    {true, form, []string{"Content-Type", formType, "X", "?csrf=" + word}, 403},
		"another user with the word": {false, ok, []string{csrfHeader, word}, 401},
		"a wrong token":              {false, ok, []string{"Authorization", "Bearer nope"}, 401},
		"a page of another site": {true, ok, []string{csrfHeader, word, "Origin",
			"http://evil.example"}, 403},
		"not JSON":                   {true, "query=x", []string{csrfHeader, word}, 400},
		"a field that is not there":  {true, `{"qery": "x", "minutes": 5}`, []string{csrfHeader, word}, 400},
		"no time":                    {true, `{"query": "x"}`, []string{csrfHeader, word}, 400},
		"a time that is none":        {true, form + "x&csrf=" + word, []string{"Content-Type", formType}, 400},
		"nothing":                    {true, "", []string{csrfHeader, word}, 400},
		"neither alert nor rule":     {true, `{"minutes": 5}`, []string{csrfHeader, word}, 400},
		"an alert that is not there": {true, `{"alert": "x", "minutes": 5}`, []string{csrfHeader, word}, 400},
		"more than anybody has to say": {true, `{"query": "` + strings.Repeat("x", mostPosted) + `"}`,
			[]string{csrfHeader, word}, 400},
		"bytes that are no text": {true, "\xff\xfe", []string{csrfHeader, word}, 400},
		"two bodies":             {true, ok + ok, []string{csrfHeader, word}, 400},
	} {
		a.mine = c.mine
		if w := a.post("/api/v1/alerts/silence", c.body, c.headers...); w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
	a.mine = true
	for _, path := range []string{"/api/v1/alerts/silence", "/api/v1/alerts/reload"} {
		if w := get(t, a, "GET", path, "localhost"); w.Code != 405 {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
}

func TestAWrongFileIsShown(t *testing.T) {
	a := newAlerted(t)
	word := a.csrf(t)
	a.file(t, "rules: [{nme: x}]")
	w := a.post("/api/v1/alerts/reload", "page=1&csrf="+word, "Content-Type", formType)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "a rule has no key nme; the nearest is name") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	safe(t, "refused", w.Body.String())
	if got := a.told(t); got["problem"] == nil {
		t.Errorf("%v", got["problem"])
	}
	a.file(t, "")
	if w := a.post("/api/v1/alerts/reload", "", csrfHeader, word); w.Code != 200 ||
		w.Body.String() != fmt.Sprintf(`{"rules":%d}`, len(a.told(t)["rules"].([]any))) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := a.told(t); got["problem"] != nil || len(got["notifiers"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
}

func TestHostileNamesStayTextAmongAlerts(t *testing.T) {
	names := hostile(t)
	for len(names) > 0 {
		n := min(10, len(names))
		a := newAlerted(t, names[:n]...)
		names = names[n:]
		a.firing(t, n)
		for i, one := range a.told(t)["alerts"].([]any) {
			if i == 0 {
				body, err := json.Marshal(map[string]any{"alert": one.(map[string]any)["id"], "minutes": 5,
					"comment": "<script>"})
				if err != nil {
					t.Fatal(err)
				}
				if w := a.post("/api/v1/alerts/silence", string(body), csrfHeader, a.csrf(t)); w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		}
		safe(t, "alerts", get(t, a, "GET", "/alerts", "localhost").Body.String())
	}
}
