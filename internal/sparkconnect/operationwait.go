package sparkconnect

import (
	"context"
	"slices"
	"time"
)

// takenWait bounds how long the next event waits for the client's word that it
// has the one before; clients that never say it get an event this often.
const takenWait = 100 * time.Millisecond

// delivered waits until a stream has taken every response made so far, and then
// a little for the client to let go of them. So hardly more than one event is on
// its way at a time, and the others can still be taken back.
func (o *operation) delivered(ctx context.Context) error {
	err := o.until(ctx, func() bool { return o.sent >= o.last() })
	if err == nil && o.reattachable {
		o.settled(ctx, takenWait)
	}
	return err
}

// settled waits at most limit until the client has let go of every response made
// so far, and reports whether it has. Clients that never let go count as settled.
func (o *operation) settled(ctx context.Context, limit time.Duration) bool {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := o.until(bounded, func() bool { return o.released >= o.last() })
	o.mu.Lock()
	defer o.mu.Unlock()
	return err == nil || ctx.Err() != nil || o.released == 0
}

// awaitEnd waits until the producer has finished and returns its error.
func (o *operation) awaitEnd() error {
	// The producer ends when its context does, so this needs no bound.
	_ = o.until(context.Background(), func() bool { return o.finished })
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// awaitTaken waits until the producer has finished and, at most limit, until the
// client has everything: what was sent may still be under way, so a client that
// can say so lets go of the operation first.
func (o *operation) awaitTaken(limit time.Duration) {
	_ = o.awaitEnd()
	bounded, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = o.until(bounded, func() bool { return o.forgotten || o.owner == nil && !o.reattachable })
}

// until waits for a condition over the log, which is checked under the lock.
func (o *operation) until(ctx context.Context, done func() bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !done() {
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		o.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// dropUnsent takes back the responses that no stream has taken, except the
// completion.
func (o *operation) dropUnsent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.sent - o.released
	o.log = append(o.log[:sent], slices.DeleteFunc(o.log[sent:], func(l *logged) bool {
		return l.response.GetResultComplete() == nil
	})...)
	o.moveSent(o.sent)
	o.wake()
}
