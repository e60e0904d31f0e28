package sparkconnect

import (
	"context"
	"time"
)

// takenWait bounds how long the next event waits for the client's word that it
// has the one before; clients that never say it get an event this often.
const takenWait = 100 * time.Millisecond

// delivered waits until a stream has taken every response made so far, and then
// a little for the client to say that it has them in its hands: it does so when
// it begins to work on them. A removal of the listener that comes earlier would
// meet an event that is still on its way, and hang the client.
func (o *operation) delivered(ctx context.Context) error {
	if err := o.until(ctx, func() bool { return o.sent >= o.last() }); err != nil || !o.reattachable {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, takenWait)
	defer cancel()
	_ = o.until(bounded, func() bool { return o.released >= o.last() })
	return context.Cause(ctx)
}

// awaitEnd waits until the producer has finished.
func (o *operation) awaitEnd() {
	// The producer ends when its context does, so this needs no bound.
	_ = o.until(context.Background(), func() bool { return o.finished })
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
