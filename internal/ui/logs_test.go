package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// speaking is a query whose functions can print.
func speaking(r *monitor.Registry, run string) *monitor.Query {
	return r.Start(monitor.Run{ID: "q", RunID: run, Name: "q", StartedAt: noon, Output: monitor.NewOutput()},
		monitor.NewBus())
}

func TestLogsAreWhatFunctionsPrinted(t *testing.T) {
	r := monitor.NewRegistry()
	q := speaking(r, "run")
	h := New(r, Options{Now: func() time.Time { return noon.Add(time.Minute) }})
	logs := func() string { return get(t, h, "GET", "/api/v1/queries/q/logs", "localhost").Body.String() }
	const head = `{"query":"q","runId":"run","limitLines":1000,"limitBytes":262144,"droppedLines":`
	if got, want := logs(), head+`0,"lines":[]}`; got != want {
		t.Errorf("before a line: %s, want %s", got, want)
	}
	q.Output().Hear(monitor.OutputLine{At: noon, Text: "loaded"})
	q.Begin(41, noon)
	q.Output().Hear(monitor.OutputLine{At: noon.Add(time.Second), Error: true, Text: "a <b>\xff", Cut: 12})
	want := head + `0,"lines":[` +
		`{"line":0,"atMs":1772625600000,"batchId":null,"stream":"stdout","text":"loaded","cutBytes":0},` +
		`{"line":1,"atMs":1772625601000,"batchId":41,"stream":"stderr","text":"a \u003cb\u003e\ufffd","cutBytes":12}]}`
	if got := logs(); !sameJSON(t, got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	page := get(t, h, "GET", "/queries/q", "localhost").Body.String()
	for _, want := range []string{`<h2 id="h-logs">Logs`, "loaded", "a &lt;b&gt;\ufffd", "… and " + sizeFigure(12) + " more", "stderr"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for i := range 2000 {
		q.Output().Hear(monitor.OutputLine{At: noon, Text: fmt.Sprint("flood ", i)})
	}
	var list struct {
		DroppedLines int64
		Lines        []struct{ Line int64 }
	}
	if err := json.Unmarshal([]byte(logs()), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Lines) != 1000 || list.DroppedLines != 1002 || list.Lines[0].Line != 1002 {
		t.Errorf("after a flood: %d lines from %d on, %d dropped",
			len(list.Lines), list.Lines[0].Line, list.DroppedLines)
	}
	page = get(t, h, "GET", "/queries/q", "localhost").Body.String()
	for _, want := range []string{"800 earlier lines are in /api/v1/queries/q/logs", "lines before them are not kept"} {
		if !strings.Contains(page, want) {
			t.Errorf("after a flood the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "flood "); n != shownLines {
		t.Errorf("the page shows %d lines", n)
	}
}

// Rows may be printed: who may not see rows does not see what is printed.
func TestLogsAreForThoseWhoMayHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		speaking(r, "run").Output().Hear(monitor.OutputLine{At: noon, Text: "a secret"})
		mine := false
		h := New(r, Options{Now: time.Now, Token: "token", SameUser: func(*http.Request) bool { return true },
			MayHear: func(*http.Request) bool { return mine }})
		seen := func(path, token string) (int, bool) {
			request := httptest.NewRequest("GET", "http://localhost"+path, nil)
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request)
			return w.Code, strings.Contains(w.Body.String(), "a secret")
		}
		for _, c := range []struct {
			mine  bool
			token string
			may   bool
		}{{false, "", false}, {true, "", true}, {false, "token", true}, {false, "wrong", false}} {
			mine = c.mine
			if code, shown := seen("/api/v1/queries/q/logs", c.token); shown != c.may || (code == 403) == c.may {
				t.Errorf("%+v: logs answered %d, shown: %t", c, code, shown)
			}
			if code, shown := seen("/queries/q", c.token); shown != c.may || code != 200 {
				t.Errorf("%+v: the page answered %d, shown: %t", c, code, shown)
			}
		}
		mine = false
		w := listen(t, h, "view=query&id=q", "")
		if e := one(t, w.take(t)); e.Logs != nil {
			t.Errorf("a stream tells %v", e.Logs)
		}
	})
}

func TestPageOfAQueryThatPrintsNothingHasNoLogs(t *testing.T) {
	r := monitor.NewRegistry()
	watchedQuery(r)
	h := New(r, Options{Now: func() time.Time { return noon.Add(time.Minute) }})
	page := get(t, h, "GET", "/queries/11111111-1111-1111-1111-111111111111", "localhost").Body.String()
	if strings.Contains(page, "h-logs") {
		t.Error("there are logs of nothing")
	}
}

// sameJSON compares whatever way characters are escaped.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

func TestStreamTellsNewLinesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		q := speaking(r, "first")
		h := New(r, Options{Now: time.Now})
		w := listen(t, h, "view=query&id=q", "")
		told := func() string {
			t.Helper()
			e := one(t, w.take(t))
			if e.Logs == nil {
				return "nothing"
			}
			text := e.Logs.RunID
			for _, l := range e.Logs.Lines {
				text += fmt.Sprintf(" %d:%s", l.Line, l.Text)
			}
			return text
		}
		next := func(want string) {
			t.Helper()
			if got := told(); got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		}
		next("first")
		for _, step := range []struct {
			print []string
			want  string
		}{
			{[]string{"a"}, "first 0:a"},
			{nil, "nothing"},
			{[]string{"b", "c"}, "first 1:b 2:c"},
		} {
			for _, text := range step.print {
				q.Output().Hear(monitor.OutputLine{Text: text})
			}
			time.Sleep(time.Second)
			next(step.want)
		}
		speaking(r, "second").Output().Hear(monitor.OutputLine{Text: "d"})
		time.Sleep(time.Second)
		next("second 0:d")
	})
}
