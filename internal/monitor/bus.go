package monitor

import (
	"context"
	"io"
	"sync"
	"time"
)

// QueueLimit is how many events may wait for one subscriber before progress
// events coalesce. At ten batches a second it is a quarter of an hour.
const QueueLimit = 10_000

// TakeLimit is how long a terminated event is waited for. A listener that did
// not take it by then is dead or stuck; a stop must not hang with it.
const TakeLimit = 5 * time.Second

// A Bus carries the events of one session's queries to its listeners.
type Bus struct {
	mu     sync.Mutex
	subs   []*Subscription
	closed bool
	lost   int64 // by subscriptions that have closed
}

// NewBus returns a bus without listeners.
func NewBus() *Bus { return &Bus{} }

// Subscribe adds a listener that receives every event posted from now on.
// On a closed bus the subscription has ended before it began.
func (b *Bus) Subscribe() *Subscription {
	s := &Subscription{bus: b, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		s.end()
		return s
	}
	b.subs = append(b.subs, s)
	return s
}

// Listening tells whether the bus has any listener.
func (b *Bus) Listening() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs) > 0
}

// Coalesced counts the events that listeners lost to full queues (M4).
func (b *Bus) Coalesced() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.lost
	for _, s := range b.subs {
		n += s.Coalesced()
	}
	return n
}

// Post gives the event to every listener's queue and returns at once.
func (b *Bus) Post(e Event) {
	b.post(e)
}

// Close ends every subscription; later posts and subscriptions find it closed.
func (b *Bus) Close() {
	b.mu.Lock()
	subs := b.subs
	b.subs, b.closed = nil, true
	for _, s := range subs {
		b.lost += s.Coalesced()
	}
	b.mu.Unlock()
	for _, s := range subs {
		s.end()
	}
}

func (b *Bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.subs {
		if other == s {
			b.subs = append(b.subs[:i:i], b.subs[i+1:]...)
			b.lost += s.Coalesced()
			return
		}
	}
}

// post returns, for a terminated event, what to wait for.
func (b *Bus) post(e Event) deliveries {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out deliveries
	for _, s := range b.subs {
		taken := s.push(e)
		if taken != nil {
			out = append(out, delivery{s, taken})
		}
	}
	return out
}

// deliveries are the copies of one event on their way to the listeners.
type deliveries []delivery

type delivery struct {
	sub   *Subscription
	taken <-chan struct{}
}

// wait returns when every copy was taken, or after limit (M6). A listener that
// let the limit pass is not waited for again until it takes something.
func (d deliveries) wait(limit time.Duration) {
	if len(d) == 0 {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for i := range d {
		select {
		case <-d[i].taken:
		case <-timer.C:
			for _, late := range d[i:] {
				late.sub.markStuck(late.taken)
			}
			return
		}
	}
}

// A Subscription is one listener's end of a Bus. One goroutine takes events
// from it; any may close it.
type Subscription struct {
	bus   *Bus
	wake  chan struct{} // holds a token when an event may be waiting
	ended chan struct{}

	mu      sync.Mutex
	queue   queue
	current *node // given out by Next, not acknowledged yet
	closed  bool
	stuck   bool // let TakeLimit pass
	lost    int64
}

// Next waits for an event. It returns io.EOF once the subscription has ended,
// at once and whatever was still queued (M5), and ctx's error when ctx ends
// first, which loses nothing. Calling Next acknowledges the event before.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	s.Ack()
	for {
		if n, open := s.pop(); !open {
			return Event{}, io.EOF
		} else if n != nil {
			return n.event, nil
		}
		select {
		case <-s.wake:
		case <-s.ended:
			return Event{}, io.EOF
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Ended is closed when the subscription has ended.
func (s *Subscription) Ended() <-chan struct{} { return s.ended }

// Ack says that the event last returned by Next is on its way to the listener:
// Terminate may return as far as this listener is concerned.
func (s *Subscription) Ack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ack()
}

// ack requires mu.
func (s *Subscription) ack() {
	if s.current == nil {
		return
	}
	if s.current.taken != nil {
		close(s.current.taken)
	}
	s.current, s.stuck = nil, false
}

// Close ends the subscription and drops what was queued (M5).
func (s *Subscription) Close() {
	s.bus.remove(s)
	s.end()
}

// Coalesced counts the events that this listener lost to a full queue.
func (s *Subscription) Coalesced() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// pop makes the oldest event the current one.
func (s *Subscription) pop() (n *node, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.current = s.queue.pop()
	return s.current, true
}

// push returns a channel to wait on when the event is one that must be taken.
func (s *Subscription) push(e Event) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	n := &node{event: e}
	if e.Kind == Terminated && !s.stuck {
		n.taken = make(chan struct{})
	}
	s.lost += int64(s.queue.push(n, QueueLimit))
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return n.taken
}

func (s *Subscription) markStuck(taken <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-taken:
	default:
		s.stuck = true
	}
}

func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.ended)
	s.ack()
	for n := s.queue.pop(); n != nil; n = s.queue.pop() {
		if n.taken != nil {
			close(n.taken)
		}
	}
}
