package sparkconnect

import (
	"errors"
	"io"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// listenerBus adds or removes the client's one listener stream.
//
// The stream of the add is never ended by a timer, only cut and attached again.
// On remove the client holds the lock that its event thread needs: any event
// sent after the request would hang it for ever. So the subscription is closed,
// which drops what is queued, and nothing follows but result_complete.
func (x *execution) listenerBus(m *pb.StreamingQueryListenerBusCommand) error {
	switch m.GetCommand().(type) {
	case *pb.StreamingQueryListenerBusCommand_AddListenerBusListener:
		return x.listen()
	case *pb.StreamingQueryListenerBusCommand_RemoveListenerBusListener:
		x.client.endListening()
		return nil
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
	added := true
	err := x.send(eventsResponse(&pb.StreamingQueryListenerEventsResult{ListenerBusListenerAdded: &added}))
	for err == nil {
		var e monitor.Event
		if e, err = sub.Next(x.op.ctx); err != nil {
			break
		}
		if e.Kind == monitor.Started {
			// It travelled in the answer to the start; here the client would not
			// know it and drop every listener.
			sub.Ack()
			continue
		}
		if err = x.send(eventResponse(e)); err == nil {
			err = x.op.delivered(x.op.ctx)
			sub.Ack()
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
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
// nothing more to send than its completion.
func (c *client) endListening() {
	c.mu.Lock()
	sub, o := c.listener, c.listening
	c.listener, c.listening = nil, nil
	c.mu.Unlock()
	if sub == nil {
		return
	}
	o.dropUnsent()
	sub.Close()
	o.awaitEnd()
}

// queryNotFound is the error for a query that the session does not know.
func queryNotFound(id string) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.STREAMING_QUERY_NOT_FOUND",
		"Streaming query "+id+" is not found.", "id", id)
}
