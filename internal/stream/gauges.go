package stream

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	// gaugeLimit is how long a source may take to say what waits in it.
	gaugeLimit = 2 * time.Second
	// gaugeShare is how much of the time asking sources may take.
	gaugeShare = 0.02
	// gaugeRetry is when a source that did not answer is asked again.
	gaugeRetry = 5 * time.Second
	// gaugeRarest is how seldom a source is asked at most.
	gaugeRarest = time.Minute
)

// gauges are how the sampler asks the sources of a run what waits in them. The run
// never waits for it, but for an answer that is on its way when it closes.
type gauges struct {
	ctx    context.Context
	cancel context.CancelFunc

	asking sync.Mutex // held while sources are asked
	due    time.Time  // when they may be asked again; guarded by asking

	mu   sync.Mutex // never held while a source is asked
	list []gauge    // empty before the sources are open and when they are closed
}

// gauge is one source.
type gauge struct {
	name      string
	of        connector.Gauge // nil for a source that cannot tell
	committed connector.Offset
	rows      int64 // committed
}

// open begins to answer for sources.
func (g *gauges) open(in *inputs) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for _, from := range in.list {
		one := gauge{name: from.describe, committed: from.start}
		if source, ok := from.source.(connector.Gauged); ok {
			one.of = source.Gauge()
		}
		g.list = append(g.list, one)
	}
}

// settle notes how far the batches have come.
func (g *gauges) settle(in *inputs) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.list {
		from := in.list[i]
		g.list[i].committed = from.end
		g.list[i].rows += from.rows.Load()
	}
}

// close returns when no source is being asked, and none will be.
func (g *gauges) close() {
	g.mu.Lock()
	if g.cancel != nil {
		g.cancel() // an answer that is on its way comes at once
	}
	g.mu.Unlock()
	g.asking.Lock()
	defer g.asking.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = nil
}

// ask asks every source; nil when it is not time for that, or one is being asked
// still, or one does not answer.
func (g *gauges) ask() *health.Reading {
	if !g.asking.TryLock() {
		return nil
	}
	defer g.asking.Unlock()
	began := time.Now()
	if began.Before(g.due) {
		return nil
	}
	g.mu.Lock()
	list := append([]gauge(nil), g.list...)
	ctx := g.ctx
	g.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gaugeLimit)
	defer cancel()
	reading := &health.Reading{}
	for i := range list {
		source, err := list[i].read(ctx)
		if err != nil {
			reading = nil
			break
		}
		reading.Sources = append(reading.Sources, source)
	}
	if reading == nil { // an outage may be over soon, however long the answer took
		g.due = began.Add(gaugeRetry)
		return nil
	}
	reading.At = time.Now()
	took := reading.At.Sub(began)
	g.due = began.Add(min(gaugeRarest, time.Duration(float64(took)/gaugeShare)))
	return reading
}

// read asks one source.
func (g *gauge) read(ctx context.Context) (health.Source, error) {
	s := health.Source{
		Name: g.name, Read: health.Unmeasured(), Unread: health.Unmeasured(), UntilLoss: math.NaN(),
	}
	s.Read.Rows = float64(g.rows)
	if g.of == nil {
		return s, nil
	}
	b, err := g.of.Backlog(ctx, g.committed)
	if err != nil {
		return s, err
	}
	if health.Known(b.ReadRows) {
		s.Read.Rows = b.ReadRows
	}
	s.Read.Bytes, s.Read.Files = b.ReadBytes, b.ReadFiles
	s.Unread = health.Amount{Rows: b.Rows, Bytes: b.Bytes, Files: b.Files}
	s.Oldest, s.Restarted, s.UntilLoss = b.Oldest, b.Restarted, b.UntilLoss
	for _, p := range b.Partitions {
		s.Partitions = append(s.Partitions, health.Partition{
			Name: p.Name, Committed: float64(p.Committed), Latest: float64(p.Latest),
		})
	}
	return s, nil
}

// limitOptions bound what a batch takes, by source.
var limitOptions = [...]string{
	"maxOffsetsPerTrigger", "maxFilesPerTrigger", "maxBytesPerTrigger", "maxRowsPerBatch",
}

// capName is the option that limits the batches of a query, "" without one.
func capName(in *inputs) string {
	for _, from := range in.list {
		for key := range from.scan.Relation.Options {
			for _, name := range limitOptions {
				if strings.EqualFold(key, name) {
					return name
				}
			}
		}
	}
	return ""
}
