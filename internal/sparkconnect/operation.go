package sparkconnect

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// limits bound operations; the zero value of a field stands for its default.
type limits struct {
	streamDuration time.Duration // a stream is cut after it; default 2 min
	streamBytes    int           // a stream is cut when it sent more; default 1 GiB
	retryBytes     int           // sent responses kept for a reattach; default 10 MiB
	detached       time.Duration // an operation nobody listens to ends after it; default 5 min
}

func (l limits) withDefaults() limits {
	if l.streamDuration == 0 {
		l.streamDuration = 2 * time.Minute
	}
	if l.streamBytes == 0 {
		l.streamBytes = 1 << 30
	}
	if l.retryBytes == 0 {
		l.retryBytes = 10 << 20
	}
	if l.detached == 0 {
		l.detached = 5 * time.Minute
	}
	return l
}

// operation is one ExecutePlan.
//
// The producer calls emit for each response and finish at the end. Streams
// call attach and send what the log holds from their cursor on. The simple way,
// a channel from producer to stream, loses what a broken stream had taken; so
// responses stay in a log, numbered from 1, and three marks move over it:
//
//	released <= sent <= last
//
// Responses up to released are gone: the client said so, or more than
// retryBytes were sent after them. Responses above sent were not sent yet; when
// they exceed retryBytes the producer waits, which is the only brake on it.
//
// The subtle part: a client that reattaches from an earlier response moves sent
// back, and a new attach ends the older stream even if that one still believes
// in its connection; `owner` says whose turn it is.
type operation struct {
	id           string
	reattachable bool
	tags         []string
	request      []byte // deterministic bytes of the plan, to tell a retry from a clash
	limits       limits
	ctx          context.Context
	cancel       context.CancelCauseFunc

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when anything below changes
	log        []*logged
	released   int      // number of the last response that is gone
	gone       []string // ids of the last rememberedIDs responses that are gone
	sent       int      // number of the last response that was sent
	unsent     int      // bytes above sent
	kept       int      // bytes in (released, sent]
	finished   bool
	err        error
	onForget   func() // called once when the client has let go of the operation
	forgotten  bool   // the client has let go of it
	owner      *attachment
	detachedAt time.Time // when the last stream ended; zero while one is attached
}

type logged struct {
	response *pb.ExecutePlanResponse
	bytes    int
}

// attachment is one attached sender; only its identity matters.
type attachment struct{ _ byte }

// rememberedIDs is how many ids of dropped responses an operation knows, to
// tell a late reattach from one with an id that never was.
const rememberedIDs = 1000

func newOperation(parent context.Context, id string, reattachable bool, l limits) *operation {
	ctx, cancel := context.WithCancelCause(parent)
	return &operation{
		id: id, reattachable: reattachable, limits: l.withDefaults(), ctx: ctx, cancel: cancel,
		changed: make(chan struct{}), detachedAt: time.Now(),
	}
}

func (o *operation) last() int { return o.released + len(o.log) }

// wake tells everybody who waits that something changed; the lock is held.
func (o *operation) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// emit appends a response, waiting while too much is unsent. It fails when the
// operation was interrupted.
func (o *operation) emit(r *pb.ExecutePlanResponse) error {
	r.ResponseId = uuid.NewString()
	r.OperationId = o.id
	size := proto.Size(r)
	o.mu.Lock()
	for o.unsent > o.limits.retryBytes && o.ctx.Err() == nil {
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-o.ctx.Done():
		}
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	o.log = append(o.log, &logged{r, size})
	o.unsent += size
	o.wake()
	return nil
}

// finish ends the log; err is what streams end with.
func (o *operation) finish(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished, o.err = true, err
	o.wake()
}

// interrupt asks the producer to stop because of cause.
func (o *operation) interrupt(cause error) { o.cancel(cause) }

// running reports whether the producer has not finished.
func (o *operation) running() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.finished
}

// attach makes s the operation's stream, sending from after the response with
// an id, or from the first kept one when the id is empty.
func (o *operation) attach(s *attachment, lastResponse string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	cursor := 0
	if lastResponse != "" {
		if cursor = o.numberOf(lastResponse); cursor == 0 {
			return cursorNotFound(lastResponse)
		}
	}
	if cursor < o.released {
		return cursorNotAvailable(cursor, lastResponse)
	}
	o.moveSent(cursor)
	o.owner = s
	o.detachedAt = time.Time{}
	o.wake()
	return nil
}

// numberOf is the number of the response with an id, 0 when it is not known.
func (o *operation) numberOf(id string) int {
	for i, g := range o.gone {
		if g == id {
			return o.released - len(o.gone) + i + 1
		}
	}
	for i, l := range o.log {
		if l.response.ResponseId == id {
			return o.released + i + 1
		}
	}
	return 0
}

// moveSent sets the sent mark and recounts the bytes on both sides of it.
func (o *operation) moveSent(to int) {
	o.sent, o.unsent, o.kept = to, 0, 0
	for i, l := range o.log {
		if o.released+i+1 <= to {
			o.kept += l.bytes
		} else {
			o.unsent += l.bytes
		}
	}
}

// detach says that a stream ended.
func (o *operation) detach(s *attachment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owner == s {
		o.owner, o.detachedAt = nil, time.Now()
		o.wake()
	}
}

// attached reports whether a stream sends the responses.
func (o *operation) attached() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owner != nil
}

// abandoned reports whether nobody has listened for too long.
func (o *operation) abandoned(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.detachedAt.IsZero() && now.Sub(o.detachedAt) >= o.limits.detached
}

// releaseUntil drops the responses up to and including the one with an id;
// unknown ids are ignored, since releases arrive late and twice.
func (o *operation) releaseUntil(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.numberOf(id); n > 0 {
		o.drop(n)
		o.wake()
	}
}

// whenForgotten has fn called once the client has let go of the operation.
func (o *operation) whenForgotten(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.onForget = fn
}

// forget says that the client has let go of the whole operation.
func (o *operation) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forgotten = true
	o.wake()
	if fn := o.onForget; fn != nil {
		o.onForget = nil
		fn()
	}
}

// drop forgets the responses up to number n; the lock is held.
func (o *operation) drop(n int) {
	n = min(n, o.sent)
	for o.released < n {
		o.kept -= o.log[0].bytes
		if len(o.gone) == rememberedIDs {
			o.gone = append(o.gone[:0], o.gone[1:]...)
		}
		o.gone = append(o.gone, o.log[0].response.ResponseId)
		o.log[0] = nil
		o.log = o.log[1:]
		o.released++
	}
}

// next is the next response for s, waiting until ctx ends. It returns nil when
// the log has ended cleanly, and an error when it ended with one or when
// another stream took over.
func (o *operation) next(ctx context.Context, s *attachment) (*pb.ExecutePlanResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.owner != s {
			return nil, cursorDisconnected()
		}
		if o.sent < o.last() {
			return o.take(), nil
		}
		if o.finished {
			return nil, o.err
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		o.mu.Lock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// take moves the sent mark over one response and forgets old ones (P2).
func (o *operation) take() *pb.ExecutePlanResponse {
	l := o.log[o.sent-o.released]
	o.sent++
	o.unsent -= l.bytes
	o.kept += l.bytes
	for o.kept-l.bytes > o.limits.retryBytes {
		o.drop(o.released + 1)
	}
	o.wake()
	return l.response
}

// sender is the part of a gRPC stream that serve needs.
type sender interface {
	Send(*pb.ExecutePlanResponse) error
	Context() context.Context
}

// serve sends the operation's responses until it ends or the stream is cut.
// A cut stream ends without an error, and the client attaches again.
func (o *operation) serve(to sender, s *attachment) error {
	defer o.detach(s)
	ctx, cancel := to.Context(), func() {}
	if o.reattachable {
		ctx, cancel = context.WithTimeout(ctx, o.limits.streamDuration)
	}
	defer cancel()
	bytes := 0
	for {
		r, err := o.next(ctx, s)
		switch {
		case err != nil && ctx.Err() != nil && err == ctx.Err():
			return o.cut(to.Context())
		case err != nil:
			return err
		case r == nil:
			return nil
		}
		if err := to.Send(r); err != nil {
			return err
		}
		if bytes += proto.Size(r); bytes > o.limits.streamBytes && o.reattachable {
			return nil
		}
	}
}

// cut ends a stream whose time is up or whose client went away.
func (o *operation) cut(client context.Context) error {
	if o.reattachable {
		return nil
	}
	o.interrupt(operationCanceled())
	return client.Err()
}
