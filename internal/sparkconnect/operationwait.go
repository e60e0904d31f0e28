package sparkconnect

import "context"

// delivered waits until a stream has taken every response made so far.
func (o *operation) delivered(ctx context.Context) error {
	return o.until(ctx, func() bool { return o.sent >= o.last() })
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
