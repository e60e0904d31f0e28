package stream

import (
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/connector"
)

const (
	// askRestedEvery is how often the sources of a run that has ended are asked.
	askRestedEvery = time.Minute
	// mostRested is of how many runs they are, the newest ones.
	mostRested = 100
)

// rested is a run that has ended and whose sources still say what waits in them: who
// stopped a query wants to know what piles up meanwhile.
type rested struct {
	query   *Query
	sources []connector.Source
	until   time.Time
}

// rest keeps the sources of a run that ends, if they can go on answering: not when it read
// all that it was to read, nor when nothing can go on where it was.
func (r *run) rest() bool {
	m := r.manager
	if m.askEnded == 0 || r.config.Temporary || r.config.Trigger.bounded() || len(r.inputs.list) == 0 {
		return false
	}
	one := &rested{query: r.Query, until: time.Now().Add(m.askEnded)}
	for _, in := range r.inputs.list {
		if _, ok := in.source.(connector.Resting); !ok {
			return false
		}
		one.sources = append(one.sources, in.source)
	}
	if !m.keep(one) {
		return false
	}
	for _, s := range one.sources {
		s.(connector.Resting).Rest()
	}
	return true
}

// keep takes in a run that has ended.
func (m *Manager) keep(one *rested) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	old := m.rested[one.query.id]
	m.rested[one.query.id] = one
	if len(m.rested) > mostRested {
		for _, other := range m.rested {
			if old == nil || other.until.Before(old.until) {
				old = other
			}
		}
		delete(m.rested, old.query.id)
	}
	m.mu.Unlock()
	if old != nil {
		old.close()
	}
	return true
}

// release closes the sources of a query's run that has ended: it runs again.
func (m *Manager) release(id string) {
	m.mu.Lock()
	one := m.rested[id]
	delete(m.rested, id)
	m.mu.Unlock()
	if one != nil {
		one.close()
	}
}

// releaseAll closes all of them.
func (m *Manager) releaseAll() {
	m.mu.Lock()
	all := m.rested
	m.rested = map[string]*rested{}
	m.mu.Unlock()
	for _, one := range all {
		one.close()
	}
	m.wakeSampler()
}

// askRested asks the sources of runs that have ended; those who need not be asked any
// more are let go of.
func (m *Manager) askRested(now time.Time, slots chan struct{}, asking *sync.WaitGroup) {
	m.mu.Lock()
	list := make([]*rested, 0, len(m.rested))
	for _, one := range m.rested {
		list = append(list, one)
	}
	m.mu.Unlock()
	for _, one := range list {
		if now.After(one.until) || !one.query.record.Snapshot().DismissedAt.IsZero() {
			m.release(one.query.id)
			continue
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			one.query.sample()
		})
	}
}

// close lets the sources go.
func (r *rested) close() {
	r.query.gauges.close()
	r.query.closeSources(r.sources)
}
