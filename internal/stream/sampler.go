package stream

import (
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	// sampleEvery is how often queries are looked at.
	sampleEvery = time.Second
	// sampledAtOnce is how many queries' sources are asked at a time.
	sampledAtOnce = 8
)

// sample looks at the active queries until there are none, batches or not: what
// waits in their sources, how far the running batch is, what is to say of it. The sources
// of some that have ended are asked too.
func (m *Manager) sample() {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	slots := make(chan struct{}, sampledAtOnce)
	var asking sync.WaitGroup
	defer asking.Wait()
	rested := time.Now()
	for {
		select {
		case <-ticker.C:
		case <-m.left:
			if m.samplingEnds() {
				return
			}
			continue
		}
		for _, q := range m.Active() {
			slots <- struct{}{}
			asking.Go(func() {
				defer func() { <-slots }()
				q.sample()
			})
		}
		if now := time.Now(); now.Sub(rested) >= askRestedEvery {
			rested = now
			m.askRested(now, slots, &asking)
		}
	}
}

// sample looks at one query, and logs when how it does has changed.
func (q *Query) sample() {
	if !q.recorded.Load() {
		return
	}
	before := q.record.Health().State
	q.record.Sample(time.Now(), q.gauges.ask())
	now := q.record.Health()
	switch {
	case now.State == before || q.record.State() == monitor.Stopped || q.record.State() == monitor.Failed:
	case needsLook[now.State]:
		q.log.Warn("the query is "+string(now.State), "verdict", health.Plain(now.Sentence),
			"why", health.Plain(now.Reason))
	case needsLook[before] || before == health.CatchingUp:
		q.log.Info("the query is "+string(now.State), "verdict", health.Plain(now.Sentence))
	}
}

// needsLook are the states in which somebody should look at a query that runs.
var needsLook = map[health.State]bool{
	health.Stalled: true, health.Breach: true, health.Behind: true, health.Lagging: true,
}

// samplingEnds reports whether there is nothing to look at any more.
func (m *Manager) samplingEnds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sampling = len(m.active)+len(m.rested) > 0
	return !m.sampling
}
