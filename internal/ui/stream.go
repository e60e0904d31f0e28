package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

const (
	// mostStreams is how many streams are open at once.
	mostStreams = 200
	// mostWatched is how many queries a stream tells of besides the fleet.
	mostWatched = 16
	// writeWithin is how long a client may take to take an event in.
	writeWithin = 10 * time.Second
	// beatEvery is how often a comment says that the stream lives, for what goes between
	// and looks at nothing else.
	beatEvery = 15 * time.Second
)

// stream is GET /api/v1/stream: server-sent events about the fleet and about queries,
// one a second for each of them.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	views, ids := values["view"], values["id"]
	known := func(v string) bool { return v == "fleet" || v == "query" || v == "alerts" }
	if len(views) == 0 || slices.ContainsFunc(views, func(v string) bool { return !known(v) }) ||
		len(ids) > mostWatched || slices.Contains(views, "query") != (len(ids) > 0) {
		refuse(w, http.StatusBadRequest, "view is fleet, alerts, or query with an id; all of them and up to "+
			strconv.Itoa(mostWatched)+" ids may be given")
		return
	}
	if s.streams.Add(1) > mostStreams {
		s.streams.Add(-1)
		refuse(w, http.StatusServiceUnavailable,
			"too many streams are open; GET /api/v1/fleet answers the same once")
		return
	}
	defer s.streams.Add(-1)
	t := &teller{server: s, out: w, control: http.NewResponseController(w), hears: s.mayHear(r)}
	t.fleet = slices.Contains(views, "fleet")
	t.alerts = slices.Contains(views, "alerts") && s.options.Alerts != nil
	t.firing = -1
	t.last = sequence(r.Header.Get("Last-Event-ID"))
	for _, id := range ids {
		t.queries = append(t.queries, &toldQuery{id: id})
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	t.run(r)
}

// teller is one stream. It keeps no events: a client that was slow is told what is new
// since the last one that it took.
type teller struct {
	server  *server
	out     http.ResponseWriter
	control *http.ResponseController
	fleet   bool
	alerts  bool
	firing  int   // alerts as told last, -1 before
	hears   bool  // it is told what functions print
	last    int64 // number of the last event about the fleet
	queries []*toldQuery
	buffer  bytes.Buffer
}

func (t *teller) run(r *http.Request) {
	// The server's limits are for requests that end. Where there is no connection
	// below, as in tests, there is nothing to limit.
	t.control.SetReadDeadline(time.Time{})
	t.buffer.WriteString("retry: 2000\n\n")
	beat := time.Now()
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		now := t.server.options.Now()
		t.control.SetWriteDeadline(time.Now().Add(writeWithin))
		t.tell(now)
		if at := time.Now(); at.Sub(beat) >= beatEvery {
			beat = at
			t.buffer.WriteString(": still here\n\n")
		}
		if _, err := t.out.Write(t.buffer.Bytes()); err != nil {
			return
		}
		if t.control.Flush() != nil {
			return
		}
		t.buffer.Reset()
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

// tell writes the events of a second.
func (t *teller) tell(now time.Time) {
	seq := max(now.UnixMilli(), t.last+1)
	if t.fleet {
		var e *fleetEvent
		e, seq = t.server.changes.since(t.last, now)
		t.write(seq, "fleet", e)
	}
	t.last = seq
	if t.alerts {
		if firing, _ := t.server.options.Alerts.Firing(); firing != t.firing {
			t.firing = firing
			t.write(seq, "alerts", &alertsEvent{now.UnixMilli(), firing})
		}
	}
	for _, q := range t.queries {
		found := t.server.registry.Find(q.id)
		e := q.since(t.server, found, now)
		if found != nil && t.hears {
			e.Logs = q.printed(found)
		}
		t.write(seq, "query", e)
	}
}

func (t *teller) write(seq int64, name string, e any) {
	fmt.Fprintf(&t.buffer, "id: %d\nevent: %s\ndata: ", seq, name)
	t.buffer.Write(mustJSON(e))
	t.buffer.WriteString("\n\n")
}

// alertsEvent is what a stream is told of alerts, when it has changed.
type alertsEvent struct {
	NowAtMs int64 `json:"nowAtMs"`
	Firing  int   `json:"firing"`
}

// toldQuery is a query that a stream tells of.
type toldQuery struct {
	id    string
	run   string
	text  []byte // its detail as told last
	batch int64  // the newest batch that was told
	lines int64  // how many lines of its functions were told or lost before
}

// queryEvent is what a stream is told of a query: its detail, the batches and the lines
// of its functions that are new, where there is anything new. Gone says that the server
// does not know it.
type queryEvent struct {
	NowAtMs int64           `json:"nowAtMs"`
	ID      string          `json:"id"`
	Gone    bool            `json:"gone"`
	Query   json.RawMessage `json:"query"`
	Batches []batch         `json:"batches"`
	Logs    *logList        `json:"logs"`
}

// since is what is new of the query.
func (t *toldQuery) since(s *server, q *monitor.Query, now time.Time) *queryEvent {
	e := &queryEvent{NowAtMs: now.UnixMilli(), ID: t.id, Gone: q == nil, Batches: []batch{}}
	if q == nil {
		return e
	}
	if q.RunID() != t.run {
		t.run, t.text, t.batch, t.lines = q.RunID(), nil, -1, -1
	}
	for _, b := range newBatches(q).Batches { // newest first
		if b.BatchID <= t.batch {
			break
		}
		e.Batches = append(e.Batches, b)
	}
	if len(e.Batches) > 0 {
		t.batch = e.Batches[0].BatchID
	}
	d := s.detailOf(q, now)
	d.NowAtMs = instant{} // stands in the event
	if text := mustJSON(d); !bytes.Equal(text, t.text) {
		t.text, e.Query = text, text
	}
	return e
}

// printed are the lines of the query's functions that are new, nil for none.
func (t *toldQuery) printed(q *monitor.Query) *logList {
	logs, count := newLogs(q, max(0, t.lines))
	if count == t.lines {
		return nil
	}
	t.lines = count
	return logs
}
