package stream

import (
	"sync"
	"time"
)

const (
	// sampleEvery is how often queries are looked at.
	sampleEvery = time.Second
	// sampledAtOnce is how many queries' sources are asked at a time.
	sampledAtOnce = 8
)

// sample looks at the active queries until there are none, batches or not: what
// waits in their sources, how far the running batch is, what is to say of it.
func (m *Manager) sample() {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	slots := make(chan struct{}, sampledAtOnce)
	var asking sync.WaitGroup
	defer asking.Wait()
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
				reading := q.gauges.ask()
				q.record.Sample(time.Now(), reading)
			})
		}
	}
}

// samplingEnds reports whether there is nothing to look at any more.
func (m *Manager) samplingEnds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sampling = len(m.active) > 0
	return !m.sampling
}
