package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// A query is stopped by whoever shows the word of the pages, and by nobody else.
func TestStop(t *testing.T) {
	r := monitor.NewRegistry()
	run := monitor.Run{ID: "orders id", RunID: "run 1", Name: "<b>", StartedAt: time.Now()}
	q := r.Start(run, monitor.NewBus())
	mine, asked := true, ""
	var fails error
	a := &alerted{Handler: New(r, Options{
		Now: time.Now, SameUser: func(*http.Request) bool { return mine },
		Stop: func(_ context.Context, runID string) error { asked = runID; return fails },
	})}
	word := a.csrf(t)
	const path = "/api/v1/queries/orders%20id/stop"
	for _, c := range []struct {
		name    string
		foreign bool
		fails   error
		path    string
		headers []string
		body    string
		code    int
		says    string
	}{
		{name: "without the word", path: path, code: 403, says: "X-Weir-Csrf is missing"},
		{name: "another user", foreign: true, path: path, headers: []string{csrfHeader, word}, code: 403,
			says: "only the user who started weir"},
		{name: "no such query", path: "/api/v1/queries/nosuch/stop", headers: []string{csrfHeader, word}, code: 404,
			says: "no query has the id or run id nosuch"},
		{name: "an ended one", path: path, fails: ErrEnded, headers: []string{csrfHeader, word}, code: 409,
			says: "does not run any more"},
		{name: "one that does not end", path: path, fails: context.DeadlineExceeded,
			headers: []string{csrfHeader, word}, code: 504, says: "has not ended yet"},
		{name: "a program", path: path, headers: []string{csrfHeader, word}, code: 200,
			says: `{"id":"orders id","runId":"run 1"}`},
		{name: "a form", path: path, headers: []string{"Content-Type", formType}, body: "page=1&csrf=" + word,
			code: 303},
	} {
		mine, fails, asked = !c.foreign, c.fails, ""
		w := a.post(c.path, c.body, c.headers...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if reached := c.code == 200 || c.code == 303 || c.fails != nil; (asked == "run 1") != reached {
			t.Errorf("%s: the query %q was stopped", c.name, asked)
		}
	}
	mine = true
	const form = `<form method="post" action="/api/v1/queries/orders%20id/stop">`
	page := func() string { return get(t, a, "GET", "/queries/orders%20id", "localhost").Body.String() }
	if body := page(); !strings.Contains(body, form) || strings.Contains(body, "Stop <b>") {
		t.Error("the page of a query offers no stop, or takes its name for markup")
	}
	mine = false
	if strings.Contains(page(), form) {
		t.Error("the page offers a stop to somebody who may not")
	}
	mine = true
	q.Terminate(time.Now(), nil)
	if strings.Contains(page(), form) {
		t.Error("the page offers to stop what has ended")
	}
}

// weir fleet cannot stop what it watches.
func TestNothingIsStoppedWhereNothingCanBe(t *testing.T) {
	s := New(monitor.NewRegistry(), Options{Now: time.Now, SameUser: func(*http.Request) bool { return true }})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/api/v1/queries/x/stop", nil))
	if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
