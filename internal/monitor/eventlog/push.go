package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// MostPushed is how large the body of a push may be, in bytes.
	MostPushed = 1 << 20
	// mostEvents is how many events it may have.
	mostEvents = 1000
	// mostApps is how many applications may push, and mostPushedRuns how many runs of
	// each may go on at a time.
	mostApps       = 500
	mostPushedRuns = 500
	// silentFor is after how long a silence an application is taken for gone.
	silentFor = 30 * time.Minute
	// mostName is how long names and ids may be, in bytes.
	mostName = 1024
)

// ErrFull says that no further application or run is taken.
var ErrFull = errors.New("too many applications or queries push their progress")

// A Push is what an application says of its queries: the body of a request. Events are
// Spark's, as a StreamingQueryListener gets them, with their kind.
type Push struct {
	Application Application       `json:"application"`
	Events      []json.RawMessage `json:"events"`
}

// An Application is who pushes; Version is that of Spark.
type Application struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Pushed is what became of a Push.
type Pushed struct {
	Taken   int `json:"taken"`   // events that were new
	Known   int `json:"known"`   // batches that were told before
	Refused int `json:"refused"` // events that could not be read
	// Problem is what is wrong with the first of those.
	Problem string `json:"problem"`
}

// pushed are the applications that push.
type pushed struct {
	mu   sync.Mutex
	apps map[string]*pushedApp
}

type pushedApp struct {
	*application
	heard time.Time
}

// pushedKinds are the events of a Push.
var pushedKinds = []string{"started", "progress", "idle", "terminated"}

// Push takes in a body. The error says what is wrong with all of it.
func (f *Fleet) Push(body []byte, now time.Time) (Pushed, error) {
	var p Push
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&p); err != nil {
		return Pushed{}, fmt.Errorf("the body is no JSON object of application and events: %w", err)
	}
	a := &p.Application
	switch {
	case a.ID == "" || len(a.ID) > mostName || len(a.Name) > mostName || len(a.Version) > mostName:
		return Pushed{}, fmt.Errorf("application needs an id, and its texts have at most %d bytes", mostName)
	case len(p.Events) > mostEvents:
		return Pushed{}, fmt.Errorf("%d events are more than %d; send them in several requests", len(p.Events),
			mostEvents)
	}
	f.pushed.mu.Lock()
	defer f.pushed.mu.Unlock()
	app := f.pushed.apps[a.ID]
	if app == nil {
		if len(f.pushed.apps) >= mostApps {
			return Pushed{}, ErrFull
		}
		app = &pushedApp{application: newApplication(f.registry, f.log, a.ID)}
		f.pushed.apps[a.ID] = app
	}
	app.heard = now
	if a.Name != "" {
		app.name = a.Name
	}
	app.version = a.Version
	var out Pushed
	for i, raw := range p.Events {
		known, err := app.push(raw, now)
		switch {
		case errors.Is(err, ErrFull):
			return out, err
		case err != nil:
			if out.Refused++; out.Refused == 1 {
				out.Problem = fmt.Sprintf("events[%d]: %v", i, err)
			}
		case known:
			out.Known++
		default:
			out.Taken++
		}
	}
	return out, nil
}

// push takes in an event; known says that it was told before.
func (a *pushedApp) push(raw []byte, now time.Time) (known bool, err error) {
	var kind struct {
		Kind string `json:"event"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return false, fmt.Errorf("it is no object with an event: %w", err)
	}
	if !slices.Contains(pushedKinds, kind.Kind) {
		return false, fmt.Errorf("its event %.40q is none of %q", kind.Kind, pushedKinds)
	}
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, err
	}
	id, runID := e.ID, e.RunID
	if p := e.Progress; kind.Kind == "progress" {
		if p == nil {
			return false, errors.New("it has no progress")
		}
		id, runID = p.ID, p.RunID
		if _, err := time.Parse(time.RFC3339Nano, p.Timestamp); err != nil {
			return false, fmt.Errorf("its timestamp: %w", err)
		}
	}
	if id == "" && kind.Kind != "terminated" || runID == "" || len(id) > mostName || len(runID) > mostName {
		return false, fmt.Errorf("it needs the id and the runId of its query, of at most %d bytes", mostName)
	}
	q := a.runs[runID]
	if q == nil && (kind.Kind == "started" || kind.Kind == "progress") && len(a.runs) >= mostPushedRuns {
		return false, ErrFull
	}
	switch kind.Kind {
	case "started":
		if q != nil {
			return true, nil
		}
		at := instantOf(e.Timestamp)
		if at.IsZero() {
			at = now
		}
		a.start(id, runID, e.Name, at)
	case "progress":
		if q != nil && e.Progress.ran() && e.Progress.BatchID <= q.batch {
			return true, nil
		}
		a.progress(e.Progress)
	case "idle":
		a.idle(&e)
	case "terminated":
		if q == nil {
			return true, nil
		}
		if now.After(a.last) {
			a.last = now
		}
		a.terminate(&e)
	}
	return false, nil
}

// sample judges the queries of those who push, and gives up those who are silent.
func (f *Fleet) sample(now time.Time) {
	f.pushed.mu.Lock()
	defer f.pushed.mu.Unlock()
	for id, app := range f.pushed.apps {
		app.application.sample(now)
		if now.Sub(app.heard) > silentFor {
			app.last = now
			app.endAll("its application has not pushed anything for " + silentFor.String())
			delete(f.pushed.apps, id)
		}
	}
}

// cut is a text of bounded length.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
