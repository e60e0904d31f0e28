package sparkconnect

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// Interrupt stops operations and, by tag or all together, streaming queries.
func (s *Server) Interrupt(ctx context.Context, r *pb.InterruptRequest) (*pb.InterruptResponse, error) {
	c, err := s.client(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.InterruptResponse, error) {
		out := &pb.InterruptResponse{SessionId: c.key.id, ServerSideSessionId: c.serverID}
		ids, err := c.interrupt(ctx, r)
		slices.Sort(ids)
		out.InterruptedIds = slices.Compact(ids)
		return out, err
	})
}

// interrupt answers the ids of the operations that it stopped; those of
// queries are the ids of the operations that started them. The listener's
// stream is the client's own plumbing and goes on.
func (c *client) interrupt(ctx context.Context, r *pb.InterruptRequest) ([]string, error) {
	var want func(*operation) bool
	var queries []string
	var err error
	switch r.GetInterruptType() {
	case pb.InterruptRequest_INTERRUPT_TYPE_ALL:
		want = func(*operation) bool { return true }
		queries, err = c.session.InterruptAll(ctx)
	case pb.InterruptRequest_INTERRUPT_TYPE_TAG:
		tag := r.GetOperationTag()
		if err := checkTag(tag); err != nil {
			return nil, err
		}
		want = func(o *operation) bool { return slices.Contains(o.tags, tag) }
		queries, err = c.session.InterruptTag(ctx, tag)
	case pb.InterruptRequest_INTERRUPT_TYPE_OPERATION_ID:
		want = func(o *operation) bool { return o.id == r.GetOperationId() }
	default:
		return nil, plan.Unsupported("An interrupt of kind " + r.GetInterruptType().String())
	}
	c.mu.Lock()
	bus := c.listening
	c.mu.Unlock()
	for _, o := range c.running(func(o *operation) bool { return o != bus && want(o) }) {
		o.interrupt(operationCanceled())
		queries = append(queries, o.id)
	}
	return queries, err
}

// ReleaseSession ends a session. Its queries stop first, their last events go
// out, and the listener's stream ends cleanly before the answer.
func (s *Server) ReleaseSession(ctx context.Context, r *pb.ReleaseSessionRequest,
) (*pb.ReleaseSessionResponse, error) {
	if err := checkUUID(r.GetSessionId()); err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, nil, func() (*pb.ReleaseSessionResponse, error) {
		out := &pb.ReleaseSessionResponse{SessionId: r.GetSessionId()}
		k := key{r.GetUserContext().GetUserId(), r.GetSessionId()}
		c, err := s.sessions.close(ctx, k, r.GetAllowReconnect(), "its session was released")
		if c != nil {
			out.ServerSideSessionId = c.serverID
		}
		return out, err
	})
}

// FetchErrorDetails answers with the whole of an error that was sent short.
func (s *Server) FetchErrorDetails(_ context.Context, r *pb.FetchErrorDetailsRequest,
) (*pb.FetchErrorDetailsResponse, error) {
	c, err := s.client(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.FetchErrorDetailsResponse, error) {
		out := &pb.FetchErrorDetailsResponse{}
		if e := c.errors.get(r.GetErrorId()); e != nil {
			out = details(e)
		}
		out.SessionId, out.ServerSideSessionId = c.key.id, c.serverID
		return out, nil
	})
}

// CloneSession makes a session with copies of settings, views and functions.
func (s *Server) CloneSession(_ context.Context, r *pb.CloneSessionRequest,
) (*pb.CloneSessionResponse, error) {
	c, err := s.known(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.CloneSessionResponse, error) {
		n, err := s.sessions.clone(c, r.GetNewSessionId())
		if err != nil {
			return nil, err
		}
		return &pb.CloneSessionResponse{
			SessionId: c.key.id, ServerSideSessionId: c.serverID,
			NewSessionId: n.key.id, NewServerSideSessionId: n.serverID,
		}, nil
	})
}

func cloneRefused(kind, id, sentence string) error {
	return plan.NewError(plan.ClassSparkSQL, "INVALID_CLONE_SESSION_REQUEST."+kind, sentence,
		"targetSessionId", id)
}

// GetStatus says which operations run.
func (s *Server) GetStatus(_ context.Context, r *pb.GetStatusRequest) (*pb.GetStatusResponse, error) {
	c, err := s.known(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.GetStatusResponse, error) {
		out := &pb.GetStatusResponse{SessionId: c.key.id, ServerSideSessionId: c.serverID}
		if r.OperationStatus == nil {
			return out, nil
		}
		ids := r.GetOperationStatus().GetOperationIds()
		if len(ids) == 0 {
			ids = c.operationIDs()
		}
		for _, id := range ids {
			out.OperationStatuses = append(out.OperationStatuses, &pb.GetStatusResponse_OperationStatus{
				OperationId: id, State: c.stateOf(id),
			})
		}
		return out, nil
	})
}

func (c *client) operationIDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for id := range c.operations {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (c *client) stateOf(id string) pb.GetStatusResponse_OperationStatus_OperationState {
	o := c.operation(id)
	switch {
	case o == nil:
		return pb.GetStatusResponse_OperationStatus_OPERATION_STATE_UNKNOWN
	case o.running():
		return pb.GetStatusResponse_OperationStatus_OPERATION_STATE_RUNNING
	default:
		return pb.GetStatusResponse_OperationStatus_OPERATION_STATE_TERMINATING
	}
}
