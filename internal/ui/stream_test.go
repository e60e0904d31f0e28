package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// reader is a client of a stream; while gate is held it takes nothing in.
type reader struct {
	header http.Header
	gate   chan struct{} // holds one token, which a write needs
	mu     sync.Mutex
	code   int
	text   strings.Builder
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(code int) {
	r.code = code
}
func (r *reader) Flush() {}
func (r *reader) Write(p []byte) (int, error) {
	token := <-r.gate
	defer func() { r.gate <- token }()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// take is the events since the last call.
func (r *reader) take(t *testing.T) []heardEvent {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.text.Reset()
	var out []heardEvent
	for _, block := range strings.Split(r.text.String(), "\n\n") {
		var e heardEvent
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				e.id, _ = strconv.ParseInt(value, 10, 64)
			case "event":
				e.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e); err != nil {
					t.Fatalf("%v in %s", err, value)
				}
			}
		}
		if e.name != "" {
			out = append(out, e)
		}
	}
	return out
}

type heardEvent struct {
	id      int64
	name    string
	NowAtMs int64
	Whole   bool
	Queries []map[string]json.RawMessage
	Gone    json.RawMessage
	Query   map[string]json.RawMessage
	Batches []struct{ BatchID int64 }
	Logs    *struct {
		RunID string
		Lines []struct {
			Line int64
			Text string
		}
	}
}

// one is the only event; it says which rows it is to have.
func one(t *testing.T, events []heardEvent) heardEvent {
	t.Helper()
	if len(events) != 1 {
		t.Fatalf("%d events, want one: %+v", len(events), events)
	}
	return events[0]
}

// listen opens a stream that ends with the test.
func listen(t *testing.T, h http.Handler, query, last string) *reader {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/api/v1/stream?"+query, nil)
	r.Header.Set("Last-Event-ID", last)
	w := &reader{header: http.Header{}, code: 200, gate: make(chan struct{}, 1)}
	w.gate <- struct{}{}
	done := make(chan struct{})
	go func() {
		h.ServeHTTP(w, r)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return w
}

// sampled starts a query and looks at its source once.
func sampled(r *monitor.Registry, name string, unread float64) *monitor.Query {
	q := r.Start(monitor.Run{
		ID: name, RunID: name + "-run", Name: name, StartedAt: time.Now(),
	}, monitor.NewBus())
	sample(q, unread)
	return q
}

func sample(q *monitor.Query, unread float64) {
	nothing := health.Unmeasured()
	nothing.Rows = unread
	zero := health.Unmeasured()
	zero.Rows = 0
	at := time.Now()
	q.Sample(at, &health.Reading{At: at, Sources: []health.Source{{Name: "s", Read: zero, Unread: nothing}}})
}

func TestStreamTellsOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		a := sampled(r, "a", 5)
		sampled(r, "b", 5)
		h := New(r, Options{Now: time.Now})
		w := listen(t, h, "view=fleet", "")
		first := one(t, w.take(t))
		if !first.Whole || len(first.Queries) != 2 || first.name != "fleet" || first.id != first.NowAtMs {
			t.Errorf("the first event: %+v", first)
		}
		time.Sleep(time.Second)
		if e := one(t, w.take(t)); e.Whole || len(e.Queries) != 0 || e.id <= first.id {
			t.Errorf("when nothing happened: %+v", e)
		}
		sample(a, 7)
		time.Sleep(time.Second)
		e := one(t, w.take(t))
		if len(e.Queries) != 1 || string(e.Queries[0]["id"]) != `"a"` {
			t.Errorf("after a sample of a: %+v", e)
		} else if got := string(e.Queries[0]["backlogRows"]); got != "7" {
			t.Errorf("after a sample of 7 rows: %s", got)
		}
		if w.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("content type %q", w.header.Get("Content-Type"))
		}
		// Who comes back gets what is new since; who was never there everything.
		time.Sleep(3 * time.Second)
		back := one(t, listen(t, h, "view=fleet", fmt.Sprint(first.id)).take(t))
		if back.Whole || len(back.Queries) != 1 || string(back.Queries[0]["id"]) != `"a"` {
			t.Errorf("after a gap: %+v", back)
		}
		for _, last := range []string{"", "1", "x", "-4", fmt.Sprint(e.id + 1e9)} {
			if e := one(t, listen(t, h, "view=fleet", last).take(t)); !e.Whole || len(e.Queries) != 2 {
				t.Errorf("Last-Event-ID %q: %+v", last, e)
			}
		}
	})
}

func TestSlowClientHoldsUpNobodyAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		a, b := sampled(r, "a", 5), sampled(r, "b", 5)
		h := New(r, Options{Now: time.Now})
		slow, quick := listen(t, h, "view=fleet", ""), listen(t, h, "view=fleet", "")
		slow.take(t)
		quick.take(t)
		<-slow.gate
		time.Sleep(time.Second) // slow is in the middle of this event now
		quick.take(t)
		sample(a, 6)
		time.Sleep(time.Second)
		synctest.Wait()
		sample(b, 7)
		time.Sleep(time.Second)
		if got := quick.take(t); len(got) != 2 || len(got[0].Queries) != 1 || len(got[1].Queries) != 1 {
			t.Errorf("the quick client: %+v", got)
		}
		slow.gate <- struct{}{}
		time.Sleep(time.Second)
		changed, events := map[string]bool{}, slow.take(t)
		if len(events) > 3 { // one that it was in, one for all that it missed, one of now
			t.Errorf("the slow client got %d events", len(events))
		}
		for _, e := range events {
			for _, q := range e.Queries {
				changed[string(q["id"])] = true
			}
		}
		if len(changed) != 2 {
			t.Errorf("the slow client heard of %v", changed)
		}
	})
}

func TestStreamSaysWhichQueriesLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		h := New(r, Options{Now: time.Now})
		for i := range monitor.EndedLimit {
			sampled(r, fmt.Sprintf("q%03d", i), 0).Terminate(time.Now(), nil)
		}
		w := listen(t, h, "view=fleet", "")
		w.take(t)
		sampled(r, "new", 0).Terminate(time.Now(), nil)
		time.Sleep(time.Second)
		if e := one(t, w.take(t)); string(e.Gone) != `["q000"]` || len(e.Queries) != 1 {
			t.Errorf("%+v", e)
		}
	})
}

func TestStreamOfAQueryTellsNewBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := monitor.NewRegistry()
		q := sampled(r, "a", 5)
		commit := func(id int64) {
			q.Begin(id, time.Now())
			p := &monitor.Progress{BatchID: id, Sources: []monitor.Source{{NumInputRows: 10}}}
			q.Committed(monitor.BatchOf(p, time.Now(), time.Now().Add(time.Millisecond)))
		}
		commit(0)
		commit(1)
		h := New(r, Options{Now: time.Now})
		w := listen(t, h, "view=query&id=a", "")
		e := one(t, w.take(t))
		if len(e.Batches) != 2 || e.Batches[0].BatchID != 1 || string(e.Query["id"]) != `"a"` {
			t.Errorf("first: %+v", e)
		}
		commit(2)
		sample(q, 4)
		time.Sleep(time.Second)
		if e = one(t, w.take(t)); len(e.Batches) != 1 || e.Batches[0].BatchID != 2 || e.Query == nil {
			t.Errorf("after a batch: %+v", e)
		}
		time.Sleep(time.Second)
		if e = one(t, w.take(t)); len(e.Batches) != 0 {
			t.Errorf("after nothing: %+v", e)
		}
		both := listen(t, h, "view=fleet&view=query&id=a&id=none", "").take(t)
		if len(both) != 3 || both[0].name != "fleet" || both[1].name != "query" || both[2].Query != nil {
			t.Errorf("of the fleet, the query and one that is not there: %+v", both)
		}
	})
}

func TestStreamRefusesWhatItCannotTell(t *testing.T) {
	h := New(monitor.NewRegistry(), Options{Now: time.Now})
	for _, query := range []string{"", "view=", "view=alert", "view=query", "id=a", "view=fleet&id=a",
		"view=query" + strings.Repeat("&id=a", mostWatched+1)} {
		w := get(t, h, "GET", "/api/v1/stream?"+query, "localhost")
		if w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestStreamsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(monitor.NewRegistry(), Options{Now: time.Now})
		for range mostStreams {
			listen(t, h, "view=fleet", "")
		}
		synctest.Wait()
		w := get(t, h, "GET", "/api/v1/stream?view=fleet", "localhost")
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("one stream too many: %d", w.Code)
		}
	})
}

// A second of a stream of 500 queries that all change must cost less than 50 ms, a
// twentieth of a core.
func BenchmarkStreamOfFiveHundredQueries(b *testing.B) {
	r := monitor.NewRegistry()
	now := time.Now().Add(-time.Hour)
	queries := make([]*monitor.Query, 500)
	for i := range queries {
		queries[i] = r.Start(monitor.Run{
			ID: fmt.Sprint(i), RunID: fmt.Sprint(i), Name: fmt.Sprint("q", i), StartedAt: now,
		}, monitor.NewBus())
	}
	look := func(k int) {
		now = now.Add(time.Second)
		for i, q := range queries {
			amount := health.Unmeasured()
			amount.Rows = float64(k*(i+1)) + float64(k%7)
			read := health.Unmeasured()
			read.Rows = float64(k)
			q.Sample(now, &health.Reading{At: now, Sources: []health.Source{{Name: "s", Read: read, Unread: amount}}})
		}
	}
	for k := range 200 {
		look(k)
	}
	s := &server{registry: r}
	s.changes.server = s
	last, size := int64(0), 0
	for k := 0; b.Loop(); k++ {
		b.StopTimer()
		look(200 + k)
		b.StartTimer()
		var e *fleetEvent
		e, last = s.changes.since(last, now)
		size += len(mustJSON(e))
	}
	b.ReportMetric(float64(size)/float64(b.N), "bytes/event")
}
