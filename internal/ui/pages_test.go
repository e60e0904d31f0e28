package ui

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/weir-dev/weir/internal/monitor"
)

// elements are those that pages are made of: nothing that runs or loads but the
// page's own script.
var elements = strings.Fields("a aside b body br button caption circle code col colgroup dd details dialog div dl dt " +
	"figcaption figure form h1 h2 h3 head header html i input kbd label li link main meta nav ol option p path pre " +
	"rect script section select span summary svg table tbody td th thead time title tr ul use")

// safe tells what is wrong with a page: an element or attribute that a text made.
func safe(t *testing.T, where, page string) (text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var all strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			all.WriteString(n.Data)
		case html.CommentNode:
			t.Errorf("%s: a comment: %s", where, n.Data)
		case html.ElementNode:
			if !slices.Contains(elements, n.Data) {
				t.Errorf("%s: <%s>", where, n.Data)
			}
			for _, a := range n.Attr {
				wrong := strings.HasPrefix(a.Key, "on") || a.Key == "style"
				wrong = wrong || a.Key == "src" && !strings.HasPrefix(a.Val, "/assets/")
				wrong = wrong || a.Key == "href" && !strings.HasPrefix(a.Val, "/") && a.Val != "#page"
				if wrong {
					t.Errorf("%s: <%s %s=%q>", where, n.Data, a.Key, a.Val)
				}
			}
		}
	}
	return all.String()
}

// hostile is every line of the list, and what does not fit into a line.
func hostile(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/hostile_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	return append(strings.Split(strings.TrimSpace(string(data)), "\n"), "line\nbreak", "nul\x00byte", "\xff\xfe",
		"</title><script>alert(3)</script>", "javascript:alert(4)", "\u202eright to left", "<!-- ", "]]>")
}

// Names, messages and whatever else a program says are text, wherever they stand.
func TestHostileTextsStayText(t *testing.T) {
	for _, name := range hostile(t) {
		r := monitor.NewRegistry()
		q := r.Start(monitor.Run{
			ID: "11111111-1111-1111-1111-111111111111", RunID: name, Name: name, Application: name, Engine: name,
			Tags: []string{name}, StartedAt: noon, Output: monitor.NewOutput()}, monitor.NewBus())
		q.Output().Hear(monitor.OutputLine{At: noon, Text: name})
		q.Activate([]string{name}, name)
		q.Record(&monitor.Progress{BatchID: 7, Sources: []monitor.Source{{Description: name, NumInputRows: 10}}},
			monitor.Trigger{Start: noon, End: noon.Add(time.Second)})
		q.Flight().WaitFor(name)
		q.Begin(8, noon)
		q.Sample(noon.Add(time.Second), nil)
		h := New(r, Options{Now: func() time.Time { return noon.Add(time.Minute) }, Version: name, Remote: name})
		for range 2 { // running, then failed
			for _, path := range []string{"/", "/queries/" + q.ID(), "/queries/none" + strings.Repeat("<b>", 2)} {
				w := httptest.NewRecorder()
				request := httptest.NewRequest("GET", "http://localhost/", nil)
				request.URL.Path = path
				request.Header.Set("Cookie", `weir-theme="><script>`)
				h.ServeHTTP(w, request)
				text := safe(t, path+" of "+name, w.Body.String())
				if shown := strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), "\x00", ""); w.Code == 200 &&
					!strings.Contains(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", ""), shown) {
					t.Errorf("%s does not show %q", path, name)
				}
			}
			for _, path := range []string{"fleet", "queries", "queries/" + q.ID(), "queries/" + q.ID() + "/progress",
				"queries/" + q.ID() + "/batches", "queries/" + q.ID() + "/logs", "series?query=" + q.ID()} {
				if body := get(t, h, "GET", "/api/v1/"+path, "localhost").Body.Bytes(); !json.Valid(body) {
					t.Errorf("%s of %q is no JSON: %s", path, name, body)
				}
			}
			q.Terminate(noon.Add(2*time.Second), &monitor.Failure{Message: name, Trace: name, Condition: name})
		}
	}
}

func TestFleetShowsEveryQueryAndItsTrouble(t *testing.T) {
	h, q := handler(t, Options{})
	body := get(t, h, "GET", "/", "localhost:4040").Body.String()
	for _, want := range []string{"&lt;b&gt;&quot;x&quot; has just started.", `href="/queries/` + q.ID() + `"`, "Starting",
		`id="alone"`, "Last 30 minutes"} {
		if !strings.Contains(body, want) {
			t.Errorf("a fleet of one lacks %q in\n%s", want, body)
		}
	}
	q.Terminate(noon, &monitor.Failure{Message: "boom\nmore"})
	body = get(t, h, "GET", "/", "localhost:4040").Body.String()
	for _, want := range []string{"needs attention.", "has been down for", `title="boom"`, "Failed"} {
		if !strings.Contains(body, want) {
			t.Errorf("with a failed query the page lacks %q in\n%s", want, body)
		}
	}
}

func TestFleetOfOneShowsItsCharts(t *testing.T) {
	r := monitor.NewRegistry()
	watchedQuery(r)
	h := New(r, Options{Now: func() time.Time { return noon.Add(62 * time.Second) }})
	charts := func() int {
		return strings.Count(get(t, h, "GET", "/", "localhost").Body.String(), `class="chart"`)
	}
	if charts() < 2 {
		t.Errorf("%d charts", charts())
	}
	r.Start(monitor.Run{ID: "b", RunID: "b", StartedAt: noon}, monitor.NewBus())
	if charts() != 0 {
		t.Errorf("of two queries: %d charts", charts())
	}
}

func TestQueryPageShowsWhatIsKnown(t *testing.T) {
	h, q := handler(t, Options{})
	page := func() string {
		t.Helper()
		w := get(t, h, "GET", "/queries/"+q.ID(), "localhost:4040")
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return safe(t, "page", w.Body.String())
	}
	wants := func(when string, wants ...string) {
		t.Helper()
		for text := page(); len(wants) > 0; wants = wants[1:] {
			if !strings.Contains(text, wants[0]) {
				t.Errorf("%s the page lacks %q in\n%s", when, wants[0], text)
			}
		}
	}
	wants("before a batch", "RateStreamV2[rowsPerSecond=5] → MemorySink", "No batch in this run yet.", "as fast as possible")
	record(q)
	wants("after a batch", `"batchId": 7`, `"inputRowsPerSecond": 0.0`)
	q.Terminate(noon, &monitor.Failure{Message: "<script>alert(1)</script>", Condition: "X_Y", Trace: "at z"})
	wants("after its end", "X_Y", "<script>alert(1)</script>", "Stack trace", "No batch is running.")
	if w := get(t, h, "GET", "/queries/"+q.RunID(), "localhost"); w.Code != 200 {
		t.Errorf("by run id: %d", w.Code)
	}
	w := get(t, h, "GET", "/queries/none", "localhost")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "No such query") {
		t.Errorf("a query that is not there: %d %s", w.Code, w.Body)
	}
}

func TestPagesSayWhyAQueryEndedWithItsSession(t *testing.T) {
	h, q := handler(t, Options{})
	q.Because("its session was idle for 1h0m0s")
	const want = "Stopped because its session was idle for 1h0m0s"
	if body := get(t, h, "GET", "/", "localhost:4040").Body.String(); strings.Contains(body, want) {
		t.Error("the page says so before the query ended")
	}
	q.Terminate(noon, nil)
	for _, path := range []string{"/", "/queries/" + q.ID()} {
		if body := get(t, h, "GET", path, "localhost:4040").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q in\n%s", path, want, body)
		}
	}
}

// The last figures of a query that ended are no news: the page shows none.
func TestFiguresEndWithTheQuery(t *testing.T) {
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	q.Terminate(noon.Add(63*time.Second), nil)
	row := newFleetRow(q, noon.Add(time.Hour))
	for name, n := range map[string]number{
		"arrival": row.ArrivalRowsPerSecond, "processed": row.ProcessedRowsPerSecond,
		"backlog": row.BacklogMs, "rows": row.BacklogRows, "busy": row.BusyRatio,
	} {
		if isKnown(n) {
			t.Errorf("%s is %v an hour after the end", name, n)
		}
	}
}

func TestThemeIsThatOfTheCookie(t *testing.T) {
	h, _ := handler(t, Options{})
	for cookie, want := range map[string]string{
		"weir-theme=dark": `<html lang="en" data-theme="dark">`, "weir-theme=light": `<html lang="en" data-theme="light">`,
		"weir-theme=pink": `<html lang="en">`, "": `<html lang="en">`,
	} {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("with %q: %.80s", cookie, w.Body)
		}
	}
}

func TestFilesAreSentOnceAndCompressed(t *testing.T) {
	h, _ := handler(t, Options{})
	r := httptest.NewRequest("GET", "http://localhost/assets/app.js", nil)
	r.Header.Set("Accept-Encoding", "br, gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got := w.Header()
	if got.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(got.Get("Content-Type"), "text/javascript") {
		t.Errorf("headers %v", got)
	}
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	again := httptest.NewRecorder()
	h.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("asked again: %d with %d bytes", again.Code, again.Body.Len())
	}
	for _, path := range []string{"/assets/none.js", "/assets/", "/assets/../ui.go", "/assets/vendor"} {
		if w := get(t, h, "GET", path, "localhost"); w.Code == http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// mostKilobytes is what a page may have with all that it loads, compressed.
const mostKilobytes = 100

func TestPagesAreSmall(t *testing.T) {
	a := &assets{read: map[string]*asset{}}
	sum := 0
	for _, name := range append(modules[:], "app.js", "style.css", "icons.svg", "vendor/uPlot.iife.min.js",
		"vendor/uPlot.min.css") {
		file := a.get(name)
		if file == nil {
			t.Fatal("no file ", name)
		}
		sum += len(file.zipped)
	}
	if sum > mostKilobytes*1000 {
		t.Errorf("files have %d bytes", sum)
	}
	t.Logf("%d bytes compressed", sum)
}
