package sparkconnect

import (
	"context"
	"time"
)

// delivered waits until a stream has taken every response made so far.
func (o *operation) delivered(ctx context.Context) error {
	return o.until(ctx, func() bool { return o.sent >= o.last() })
}

// settled waits at most limit until the client has let go of every response made
// so far, and reports whether it has. Clients that never let go count as settled.
func (o *operation) settled(ctx context.Context, limit time.Duration) bool {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// A client that is gone, or attaches again at the moment, is not waited for.
	err := o.until(bounded, func() bool { return o.released >= o.last() || o.owner == nil })
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

// dropUnsent takes back the responses that no stream has taken.
func (o *operation) dropUnsent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = o.log[:o.sent-o.released]
	o.unsent = 0
	o.wake()
}
