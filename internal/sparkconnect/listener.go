package sparkconnect

import (
	"errors"
	"io"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// The client lets go of a response when it asks for the next one. So when it lets
// go of an empty progress report, it has worked on the event before. That is
// waited for so long, after a terminated event and at the end. A session that ends
// waits for its client to let go of the whole stream.
const (
	terminatedWait = time.Second
	removalWait    = 2 * time.Second
	farewellWait   = 5 * time.Second
)

// eventLag is how long the first event after a pause is kept back. Batches end
// just after whole seconds, and programs that sleep whole seconds remove their
// listener right then; with the lag, as with Spark's slower batches, the removal
// comes first.
const eventLag = 50 * time.Millisecond

// listenerBus adds or removes the client's one listener stream.
//
// The stream of the add is never ended by a timer, only cut and attached again.
// On remove the client holds the lock that its event thread needs, and then waits
// for that thread: any event that it has not worked on by then hangs it for ever.
// So the subscription is closed, which drops what is queued, and nothing follows
// but result_complete. An event may have been on its way already; then the removal
// fails and the stream too, which makes the client give up the lock and drop its
// listeners, with two warnings.
func (x *execution) listenerBus(m *pb.StreamingQueryListenerBusCommand) error {
	switch m.GetCommand().(type) {
	case *pb.StreamingQueryListenerBusCommand_AddListenerBusListener:
		return x.listen()
	case *pb.StreamingQueryListenerBusCommand_RemoveListenerBusListener:
		return x.client.endListening()
	default:
		return notSet(m, "COMMAND_NOT_SET")
	}
}

// listen sends events until the subscription ends. A second add while there is
// a stream completes at once.
func (x *execution) listen() error {
	sub := x.client.startListening(x.op, x.session.Subscribe)
	if sub == nil {
		return nil
	}
	defer x.client.stopped(x.op)
	var sent time.Time // of the last event
	added := true
	err := x.send(eventsResponse(&pb.StreamingQueryListenerEventsResult{ListenerBusListenerAdded: &added}))
	for err == nil {
		var e monitor.Event
		if e, err = sub.Next(x.op.ctx); err != nil {
			break
		}
		// A started event travelled in the answer to the start; here the client
		// would not know it and drop every listener.
		if e.Kind != monitor.Started {
			if e.Kind != monitor.Terminated && time.Since(sent) > eventLag && !x.lag(sub) {
				continue
			}
			err, sent = x.sendEvent(e), time.Now()
		}
		sub.Ack()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	settled, err := x.workedOff(removalWait)
	if err == nil && !settled {
		err = plan.NewError(plan.ClassSparkSQL, "OPERATION_CANCELED",
			"An event was on its way to the listener; the listener goes once it has that event.")
	}
	return err
}

// lag waits for eventLag and reports whether events are still wanted then.
func (x *execution) lag(sub *monitor.Subscription) bool {
	timer := time.NewTimer(eventLag)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-sub.Ended():
	case <-x.op.ctx.Done():
	}
	return false
}

// sendEvent sends an event. When it says that a query ended, it waits a little
// until the client has worked on it: then stop() returns, and removing the
// listener is what programs do next.
func (x *execution) sendEvent(e monitor.Event) error {
	err := x.send(eventResponse(e))
	if err == nil && e.Kind == monitor.Terminated {
		_, err = x.workedOff(terminatedWait)
	}
	if err == nil {
		err = x.op.delivered(x.op.ctx)
	}
	return err
}

// workedOff waits until the client has worked on everything that it was sent,
// and reports whether it has within limit. A client that ends its session can no
// longer tell, and holds no lock.
func (x *execution) workedOff(limit time.Duration) (bool, error) {
	if !x.op.reattachable || x.client.isClosing() {
		return true, nil
	}
	err := x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_ExecutionProgress_{
		ExecutionProgress: &pb.ExecutePlanResponse_ExecutionProgress{}}})
	return err != nil || x.op.settled(x.op.ctx, limit), err
}

func eventResponse(e monitor.Event) *pb.ExecutePlanResponse {
	event := &pb.StreamingQueryListenerEvent{
		EventJson: string(e.AppendJSON(nil)), EventType: pb.StreamingQueryEventType(e.Kind),
	}
	events := []*pb.StreamingQueryListenerEvent{event}
	return eventsResponse(&pb.StreamingQueryListenerEventsResult{Events: events})
}

func eventsResponse(r *pb.StreamingQueryListenerEventsResult) *pb.ExecutePlanResponse {
	return &pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_StreamingQueryListenerEventsResult{
		StreamingQueryListenerEventsResult: r,
	}}
}

func (c *client) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// startListening makes o the operation of the session's listener stream, nil
// when there is one already.
func (c *client) startListening(o *operation, subscribe func() *monitor.Subscription) *monitor.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil {
		return nil
	}
	c.listener, c.listening = subscribe(), o
	return c.listener
}

// stopped says that the stream's operation has ended by itself.
func (c *client) stopped(o *operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening == o {
		c.listener.Close()
		c.listener, c.listening = nil, nil
	}
}

// endListening ends the listener stream and waits until its operation has
// nothing more to send than how it ended, which is also the answer.
func (c *client) endListening() error {
	c.mu.Lock()
	sub, o := c.listener, c.listening
	c.listener, c.listening = nil, nil
	c.mu.Unlock()
	if sub == nil {
		return nil
	}
	o.dropUnsent()
	sub.Close()
	return o.awaitEnd()
}

// queryNotFound is the error for a query that the session does not know.
func queryNotFound(id string) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.STREAMING_QUERY_NOT_FOUND",
		"Streaming query "+id+" is not found.", "id", id)
}
