package ui

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// What is not there is said as the pages and the API say things.
func TestWhatIsNotThereIsSaid(t *testing.T) {
	h, _ := handler(t, Options{})
	for _, c := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/nope", 404, "No such page"},
		{"GET", "/queries/a/b", 404, "No such page"},
		{"GET", "/nope/%3Cscript%3E", 404, "/nope/&lt;script&gt;"},
		{"GET", "/api/v1/nope", 404, "there is no /api/v1/nope; GET /api/v1/openapi.json lists what there is"},
		{"POST", "/api/v1/fleet", 405, "/api/v1/fleet takes GET, HEAD"},
		{"DELETE", "/", 405, "/ takes GET, HEAD"},
	} {
		w := get(t, h, c.method, c.path, "localhost")
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %.300s", c.method, c.path, w.Code, w.Body)
		}
		var problem struct{ Error string }
		isJSON := json.Unmarshal(w.Body.Bytes(), &problem) == nil && problem.Error != ""
		if page := c.want == "No such page" || strings.HasPrefix(c.want, "/nope/"); page == isJSON {
			t.Errorf("%s %s: JSON is %v", c.method, c.path, isJSON)
		}
		if allow := w.Header().Get("Allow"); (c.code == http.StatusMethodNotAllowed) != (allow != "") {
			t.Errorf("%s %s allows %q", c.method, c.path, allow)
		}
	}
	w := get(t, h, "GET", "/api/v1/fleet", "evil.example")
	if !json.Valid(w.Body.Bytes()) || w.Code != http.StatusMisdirectedRequest {
		t.Errorf("by a foreign name: %d %s", w.Code, w.Body)
	}
}

// A server without queries says since when it would know of one.
func TestAnEmptyFleetSaysSinceWhenItRemembers(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{
		Now: func() time.Time { return noon }, Remote: "sc://localhost:15002",
	})
	body := get(t, h, "GET", "/", "localhost").Body.String()
	since := noon.UTC().Format("15:04 UTC")
	for _, want := range []string{"import SparkSession", "This server runs since", since} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q in\n%s", want, body)
		}
	}
}
