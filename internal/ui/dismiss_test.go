package ui

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

// A query that ran when its server ended is on top of the fleet, on a page of its own with
// what the history has, and in the API, until it is dismissed there.
func TestQueriesThatWereNotStartedAgainAreInTheFleet(t *testing.T) {
	dir := t.TempDir()
	s := &servers{t: t, dir: dir, now: noon.Add(24 * time.Hour)}
	s.next()
	s.play(run("run-1", noon, monitor.Setting{Name: "checkpoint", Value: "file:/c"}), time.Second, nil)
	s.past.Close() // the server is gone before its query

	registry := monitor.NewRegistry()
	past := history.Start(history.Options{
		Registry: registry, Files: vfs.NewLocal(), Dir: dir, Keep: 1e6 * time.Hour, Bytes: 1 << 30,
	})
	defer past.Close()
	past.Ready()
	now := noon.Add(25 * time.Hour)
	a := &alerted{Handler: New(registry, Options{
		Now: func() time.Time { return now }, Past: past, SameUser: func(*http.Request) bool { return true },
	})}
	const reason = "The server ended while it ran, at 2026-03-04 12:09 UTC; its program has not started it again"
	fleet := get(t, a, "GET", "/api/v1/fleet", "localhost").Body.String()
	for _, want := range []string{`"state":"stopped"`, `"notStartedAgain":true`, `"healthScore":70`, reason} {
		if !strings.Contains(plain(fleet), want) {
			t.Errorf("the fleet lacks %s: %s", want, fleet)
		}
	}
	page := safe(t, "fleet", get(t, a, "GET", "/", "localhost").Body.String())
	for _, want := range []string{"orders needs attention.", "has been missing for", reason} {
		if !strings.Contains(plain(page), want) {
			t.Errorf("the page of the fleet lacks %q", want)
		}
	}
	if strings.Contains(page, "Finished before") {
		t.Error("it is told twice")
	}
	page = safe(t, "query", get(t, a, "GET", "/queries/orders-id", "localhost").Body.String())
	for _, want := range []string{reason, "10 batches with rows", "Dismiss orders", "Start the program again"} {
		if !strings.Contains(plain(page), want) {
			t.Errorf("its page lacks %q", want)
		}
	}
	word := a.csrf(t)
	const path = "/api/v1/queries/orders-id/dismiss"
	if w := a.post(path, ""); w.Code != http.StatusForbidden {
		t.Errorf("without the word: %d", w.Code)
	}
	if w := a.post(path, "", csrfHeader, word); w.Code != 200 ||
		w.Body.String() != `{"id":"orders-id","runId":"run-1"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := get(t, a, "GET", "/", "localhost").Body.String(); !strings.Contains(got, "No queries yet.") ||
		!strings.Contains(got, "Finished before") {
		t.Error("it is in the fleet still, or not among what finished before")
	}
	page = get(t, a, "GET", "/queries/orders-id", "localhost").Body.String()
	if !strings.Contains(page, "10 batches with rows") || strings.Contains(page, "Dismiss orders") {
		t.Error("its page went, or offers to dismiss it again")
	}
}

// plain is a page with ordinary spaces.
func plain(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

// A query that failed is dismissed from its page; one that runs is not.
func TestDismissAFailedQuery(t *testing.T) {
	r := monitor.NewRegistry()
	q := r.Start(monitor.Run{ID: "q", RunID: "r", Name: "orders", StartedAt: noon}, monitor.NewBus())
	now := noon.Add(time.Minute)
	a := &alerted{Handler: New(r, Options{Now: func() time.Time { return now },
		SameUser: func(*http.Request) bool { return true }})}
	word := a.csrf(t)
	const path = "/api/v1/queries/q/dismiss"
	if w := a.post(path, "", csrfHeader, word); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "the query runs") {
		t.Errorf("a running one: %d %s", w.Code, w.Body)
	}
	q.Terminate(now, &monitor.Failure{Message: "boom"})
	page := get(t, a, "GET", "/queries/q", "localhost").Body.String()
	if !strings.Contains(page, "Dismiss orders") {
		t.Error("its page does not offer it")
	}
	w := a.post(path, "page=1&csrf="+word, "Content-Type", formType)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
	if n := len(r.Queries()); n != 0 {
		t.Errorf("%d queries are in the fleet", n)
	}
	if w := a.post("/api/v1/queries/nosuch/dismiss", "", csrfHeader, word); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
}
