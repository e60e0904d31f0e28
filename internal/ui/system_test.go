package ui

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

func TestEnvironmentHidesSecrets(t *testing.T) {
	groups := []Group{{"Server", []Setting{
		{"Data directory", "/data", ""}, {"spark.my.Password", "abc123", ""}, {"fs.s3a.access.key", "abc123", ""},
		{"spark.connect.authenticate.token", "abc123", ""}, {"spark.secret.empty", "", ""},
		{`<b>"`, "<script>alert(1)</script>", "<i>"},
	}}}
	h := New(monitor.NewRegistry(), Options{Now: time.Now, Environment: func() []Group { return groups }})
	for _, path := range []string{"/environment", "/api/v1/environment"} {
		body := get(t, h, "GET", path, "localhost").Body.String()
		if strings.Contains(body, "abc123") || strings.Count(body, monitor.Hidden) != 3 {
			t.Errorf("%s: %s", path, body)
		}
		if !strings.Contains(body, "/data") {
			t.Errorf("%s lacks what is no secret: %s", path, body)
		}
		if strings.HasPrefix(path, "/api") != json.Valid([]byte(body)) {
			t.Errorf("%s: %s", path, body)
		}
	}
	text := safe(t, "environment", get(t, h, "GET", "/environment", "localhost").Body.String())
	if !strings.Contains(text, "<script>alert(1)</script>") {
		t.Error("a value is not shown as it is")
	}
	if groups[0].Settings[1].Value != "abc123" {
		t.Error("the server's own settings were changed")
	}
}

func TestResourcesAreToldByQuery(t *testing.T) {
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	at, cpu := noon.Add(62*time.Second), 31.0
	h := New(r, Options{Now: func() time.Time { return at }, Resources: func() Resources {
		return Resources{
			StartedAt: noon, Cores: 2, CPUSeconds: cpu, Goroutines: 12, Resident: 5e7, Heap: math.NaN(),
			Held: 300, Limit: 1000,
			Queries: []QueryUse{{q.RunID(), 300, 600}, {"not there", 1, 2}},
			Workers: []WorkerUse{{4242, "/usr/bin/<python>", true, 9e7, 1.5}},
		}
	}})
	ask := func() resourcesRead {
		t.Helper()
		var got resourcesRead
		body := get(t, h, "GET", "/api/v1/resources", "localhost").Body.Bytes()
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask()
	if *got.BusyCores != 0.5 || got.HeapBytes != nil || len(got.Queries) != 1 || len(got.PythonWorkers) != 1 {
		t.Errorf("%+v", got)
	}
	// A batch of a second, and one that runs for a second, in 62 seconds.
	one := got.Queries[0]
	if one.Name != "orders" || one.HeldBytes != 300 || math.Abs(one.BatchRatio-2.0/62) > 1e-3 {
		t.Errorf("%+v", one)
	}
	at, cpu = at.Add(500*time.Millisecond), 32
	if got = ask(); *got.BusyCores != 0.5 {
		t.Errorf("%v cores half a second later, where nothing can be told", *got.BusyCores)
	}
	at, cpu = at.Add(1500*time.Millisecond), 34
	if got = ask(); *got.BusyCores != 1.5 {
		t.Errorf("%v cores in the last two seconds", *got.BusyCores)
	}
	text := safe(t, "resources", get(t, h, "GET", "/resources", "localhost").Body.String())
	for _, want := range []string{"orders", "of 2 cores", "/usr/bin/<python>", "waits", "4242"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q in %s", want, text)
		}
	}
}

type resourcesRead struct {
	BusyCores, HeapBytes *float64
	Queries              []struct {
		Name                  string
		HeldBytes, BatchRatio float64
	}
	PythonWorkers []struct{ PID int }
}

func TestPagesThatNobodyFillsAreNotThere(t *testing.T) {
	h, _ := handler(t, Options{})
	for _, path := range []string{"/environment", "/resources", "/api/v1/environment", "/api/v1/resources"} {
		if got := get(t, h, "GET", path, "localhost").Code; got != http.StatusNotFound {
			t.Errorf("%s: %d", path, got)
		}
	}
	if strings.Contains(get(t, h, "GET", "/", "localhost").Body.String(), "/resources") {
		t.Error("a page that is not there is linked to")
	}
}

// Where batches take a small part of the interval, bars stand against the longest.
func TestBatchBarsAreSeen(t *testing.T) {
	l := &batchList{TriggerMs: 10_000, Batches: []batch{{BatchMs: 2500}, {BatchMs: 100}}}
	if l.scale() != 10_000 || l.due(l.scale()) != "100.0" {
		t.Errorf("scale %v, due %q", l.scale(), l.due(l.scale()))
	}
	l.Batches[0].BatchMs = 2400
	if l.scale() != 2400 || l.due(l.scale()) != "" {
		t.Errorf("scale %v, due %q", l.scale(), l.due(l.scale()))
	}
	var none [health.PhaseCount]number
	if got := (&batch{Phases: none}).rects(1); got != nil {
		t.Errorf("a batch without times has %v", got)
	}
}
