package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/stream"
)

// Ended queries can be asked about for keepEnded after their last use; of more
// than maxEnded the ones that were used longest ago go first.
const (
	keepEnded = time.Hour
	maxEnded  = 1000
)

// tracked is a query that a session started.
type tracked struct {
	query     *stream.Query
	tags      []string
	operation string // of the request that started it
	ended     bool   // its end is noted
	used      time.Time
}

func (t *tracked) active() bool {
	select {
	case <-t.query.Done():
		return false
	default:
		return true
	}
}

// queryList is the queries of a session, in the order of their starts, and
// what awaitAnyTermination waits for.
type queryList struct {
	mu      sync.Mutex
	list    []*tracked
	ended   bool  // a query has ended since the last reset
	failure error // of one that failed
	changed chan struct{}
}

// add tracks a query. Its end is noted by a goroutine that ends with it.
func (l *queryList) add(t *tracked) {
	l.mu.Lock()
	l.list = append(l.list, t)
	l.mu.Unlock()
	go func() {
		<-t.query.Done()
		l.end(t)
	}()
}

func (l *queryList) end(t *tracked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failure := t.query.Err()
	if !l.ended || failure != nil {
		l.ended, l.failure = true, nil
		if failure != nil {
			l.failure = failure
		}
	}
	t.ended, t.used = true, time.Now()
	l.prune(t.used)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// prune forgets ended queries that nobody asked about for long; the lock is
// held.
func (l *queryList) prune(now time.Time) {
	var ended []*tracked
	for _, t := range l.list {
		if t.ended {
			ended = append(ended, t)
		}
	}
	slices.SortFunc(ended, func(a, b *tracked) int { return a.used.Compare(b.used) })
	gone := map[*tracked]bool{}
	for i, t := range ended {
		gone[t] = now.Sub(t.used) > keepEnded || i < len(ended)-maxEnded
	}
	l.list = slices.DeleteFunc(l.list, func(t *tracked) bool { return gone[t] })
}

func (l *queryList) find(wanted func(*tracked) bool) *tracked {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.prune(now)
	for _, t := range slices.Backward(l.list) {
		if wanted(t) {
			t.used = now
			return t
		}
	}
	return nil
}

func (l *queryList) activeOnes(wanted func(*tracked) bool) []*tracked {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*tracked
	for _, t := range l.list {
		if t.active() && wanted(t) {
			out = append(out, t)
		}
	}
	return out
}

func always(*tracked) bool { return true }

// Streams lists the active queries of the session, in the order they started.
func (s *Session) Streams() []*stream.Query {
	var out []*stream.Query
	for _, t := range s.queries.activeOnes(always) {
		out = append(out, t.query)
	}
	return out
}

// Stream finds an active query by its id.
func (s *Session) Stream(id string) (*stream.Query, bool) {
	t := s.queries.find(func(t *tracked) bool { return t.query.ID() == id && t.active() })
	if t == nil {
		return nil, false
	}
	return t.query, true
}

// StreamRun finds a run, active or ended.
func (s *Session) StreamRun(id, runID string) (*stream.Query, bool) {
	t := s.queries.find(func(t *tracked) bool { return t.query.ID() == id && t.query.RunID() == runID })
	if t == nil {
		return nil, false
	}
	return t.query, true
}

// AwaitAny waits until a query of the session has ended since the last
// ResetTerminated, and fails with the failure of one that failed.
func (s *Session) AwaitAny(ctx context.Context) error {
	l := &s.queries
	for {
		l.mu.Lock()
		if l.ended {
			defer l.mu.Unlock()
			return l.failure
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ResetTerminated forgets which queries have ended.
func (s *Session) ResetTerminated() {
	s.queries.mu.Lock()
	defer s.queries.mu.Unlock()
	s.queries.ended, s.queries.failure = false, nil
}

// InterruptTag stops the queries whose start carried a tag and answers the ids
// of the operations that started them.
func (s *Session) InterruptTag(ctx context.Context, tag string) ([]string, error) {
	return stopAll(ctx, s.queries.activeOnes(func(t *tracked) bool { return slices.Contains(t.tags, tag) }))
}

// InterruptAll stops every query of the session.
func (s *Session) InterruptAll(ctx context.Context) ([]string, error) {
	return stopAll(ctx, s.queries.activeOnes(always))
}

func stopAll(ctx context.Context, list []*tracked) ([]string, error) {
	var operations []string
	for _, t := range list {
		if err := t.query.Stop(ctx); err != nil {
			return operations, err
		}
		operations = append(operations, t.operation)
	}
	return operations, nil
}
