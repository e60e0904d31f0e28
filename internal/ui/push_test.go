package ui

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/vfs"
)

// Progress is taken from the user who started weir with the word of its pages, or with
// the token; whatever else comes is refused with what to do.
func TestWhoMayPushProgress(t *testing.T) {
	r := monitor.NewRegistry()
	fleet, err := eventlog.Follow(eventlog.Options{Registry: r, Files: vfs.NewMemory(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	mine := true
	h := New(r, Options{Token: "t0ken", SameUser: func(*http.Request) bool { return mine },
		Push: func(body []byte) (eventlog.Pushed, error) { return fleet.Push(body, noon) },
		Now:  func() time.Time { return noon }})
	word := keys(t, get(t, h, "GET", "/api/v1/csrf", "localhost").Body.Bytes())["csrf"]
	csrf := strings.Trim(string(word), `"`)
	batch := func(n int) string {
		return fmt.Sprintf(`{"application":{"id":"a"},"events":[{"event":"progress","progress":{"id":"q","runId":"r",`+
			`"timestamp":"2026-03-14T12:00:00.000Z","batchId":%d,"durationMs":{"addBatch":1},"sources":[{"numInputRows":7}]}}]}`, n)
	}
	for i, c := range []struct {
		name    string
		mine    bool
		body    string
		headers []string
		code    int
		says    string
	}{
		{"the user with the word", true, batch(0), []string{csrfHeader, csrf}, 200, `"taken":1`},
		{"again", true, batch(0), []string{csrfHeader, csrf}, 200, `"known":1`},
		{"the token", false, batch(1), []string{"Authorization", "Bearer t0ken"}, 200, `"taken":1`},
		{"no word", true, batch(2), nil, 403, "GET /api/v1/csrf"},
		{"another user", false, batch(2), []string{csrfHeader, csrf}, 401, "token"},
		{"another site", true, batch(2), []string{csrfHeader, csrf, "Origin", "http://evil.example"}, 403,
			"other sites"},
		{"no JSON", true, "x", []string{csrfHeader, csrf}, 400, "no JSON object"},
		{"an event that is none", true, `{"application":{"id":"a"},"events":[{"event":"x"}]}`, []string{csrfHeader, csrf},
			400, "events[0]"},
		{"too much", true, strings.Repeat("x", eventlog.MostPushed+1), []string{csrfHeader, csrf}, 413,
			"several requests"},
		{"a form", true, "csrf=" + csrf, []string{"Content-Type", formType}, 415, "application/json"},
	} {
		mine = c.mine
		request := httptest.NewRequest("POST", "http://localhost/api/v1/progress", strings.NewReader(c.body))
		for k := 0; k < len(c.headers); k += 2 {
			request.Header.Set(c.headers[k], c.headers[k+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%d %s: %d %s, want %d with %q", i, c.name, w.Code, w.Body, c.code, c.says)
		}
	}
	if q := r.Find("q"); q == nil || q.Totals().Rows != 14 {
		t.Error("the rows of the two batches are not counted")
	}
	if w := get(t, New(r, Options{Now: func() time.Time { return noon }}), "GET", "/api/v1/openapi.json",
		"localhost"); strings.
		Contains(w.Body.String(), "/api/v1/progress\"") {
		t.Error("a server that takes none describes it")
	}
}
