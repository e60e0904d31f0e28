package monitor

import (
	"sync"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// EndedLimit is how many finished runs a Registry keeps; the oldest go first.
const EndedLimit = 100

// A Registry knows every run of the process: the live ones, and the latest
// that have ended.
type Registry struct {
	mu    sync.RWMutex
	runs  []*Query // in the order of their starts
	ended []*Query // in the order of their ends
	// recalled is how many of runs, the first ones, are of earlier servers.
	recalled int
	tap      Tap

	version string
}

// A Tap hears of every run as it happens, on the goroutines of queries: it must not
// wait, and not call back into the query's Record, Idle or Terminate.
type Tap interface {
	Started(q *Query)
	// Committed comes after Record; p and b are shared and never change.
	Committed(q *Query, p *Progress, b *health.Batch)
	Ended(q *Query)
	// Described comes when the plan of a run is known that was not when it started.
	Described(q *Query)
	// Dismissed comes once a run that ended, on an earlier server maybe, is dismissed.
	Dismissed(q *Query)
}

// Follow tells tap of the runs that start from now on.
func (r *Registry) Follow(tap Tap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tap = tap
}

// Versioned says which version of weir runs the queries that start from now on.
func (r *Registry) Versioned(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{} }

// Start registers a run and posts its started event to bus, which also gets
// every later event of the run.
func (r *Registry) Start(run Run, bus *Bus) *Query {
	r.mu.RLock()
	if run.Engine == "" {
		run.Version = r.version
	}
	r.mu.RUnlock()
	q := newQuery(run, bus, r.retire)
	q.follow(r.Find(run.ID))
	r.mu.Lock()
	r.supersede(q)
	r.runs = append(r.runs, q)
	q.tap = r.tap
	r.mu.Unlock()
	if q.tap != nil {
		q.tap.Started(q)
	}
	bus.Post(q.StartedEvent())
	return q
}

// retire is told that a run has ended.
func (r *Registry) retire(q *Query) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, q)
	if len(r.ended) <= EndedLimit {
		return
	}
	oldest := r.ended[0]
	r.ended = append(r.ended[:0:0], r.ended[1:]...)
	for i, other := range r.runs {
		if other == oldest {
			r.runs = append(r.runs[:i:i], r.runs[i+1:]...)
			return
		}
	}
}

// Find returns the newest run of a query id, or the run of a run id; nil when
// there is none.
func (r *Registry) Find(id string) *Query {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := len(r.runs) - 1; i >= 0; i-- {
		if q := r.runs[i]; q.run.ID == id || q.run.RunID == id {
			return q
		}
	}
	return nil
}

// Queries returns the newest run of each query that is not dismissed, in the order of
// their starts. A run that ended and had no checkpoint of its user's is left out when one of
// its name in its program came after it: nobody can go on with it.
func (r *Registry) Queries() []*Query {
	r.mu.RLock()
	defer r.mu.RUnlock()
	newest := make(map[string]*Query, len(r.runs))
	type name struct{ application, name string }
	named := make(map[name]*Query, len(r.runs))
	for _, q := range r.runs {
		newest[q.run.ID] = q
		named[name{q.run.Application, q.run.Name}] = q
	}
	out := make([]*Query, 0, len(newest))
	for _, q := range r.runs {
		again := q.run.Name != "" && named[name{q.run.Application, q.run.Name}] != q
		if newest[q.run.ID] == q && !q.dismissed.Load() && !(again && q.run.temporary() && q.State().ended()) {
			out = append(out, q)
		}
	}
	return out
}

// Runs returns every run of this server that is kept, in the order of their starts.
func (r *Registry) Runs() []*Query {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append([]*Query(nil), r.runs[r.recalled:]...)
}
