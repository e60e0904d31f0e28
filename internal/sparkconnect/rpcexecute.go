package sparkconnect

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// execution is an operation at work: what its producer knows.
type execution struct {
	server  *Server
	client  *client
	session *session.Session
	op      *operation
}

// ExecutePlan starts an operation, or finds the one that the same request
// started before, and sends its responses.
func (s *Server) ExecutePlan(r *pb.ExecutePlanRequest, to grpc.ServerStreamingServer[pb.ExecutePlanResponse],
) error {
	c, err := s.client(r)
	if err != nil {
		return statusOf(err, nil)
	}
	o, err := s.start(c, r)
	if err != nil {
		return statusOf(err, &c.errors)
	}
	me := &attachment{}
	if err := o.attach(me, ""); err != nil {
		return statusOf(err, &c.errors)
	}
	return c.serve(o, to, me)
}

// serve sends an operation's responses; an operation that cannot be attached
// again is forgotten afterwards.
func (c *client) serve(o *operation, to sender, me *attachment) error {
	err := o.serve(to, me)
	if !o.reattachable {
		c.end(o.id)
	}
	return statusOf(err, &c.errors)
}

// start registers the operation of a request and runs its producer, unless an
// equal request did so before.
func (s *Server) start(c *client, r *pb.ExecutePlanRequest) (*operation, error) {
	id := uuid.NewString()
	if r.OperationId != nil {
		id = r.GetOperationId()
		if err := checkUUID(id); err != nil {
			return nil, err
		}
	}
	for _, tag := range r.GetTags() {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
	}
	p, err := s.plan(r.GetPlan())
	if err != nil {
		return nil, err
	}
	request, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.GetPlan())
	if err != nil {
		return nil, err
	}
	o := newOperation(s.ctx, id, reattachable(r), s.limits())
	o.tags, o.request = r.GetTags(), request
	existing, fresh, err := c.begin(o)
	if err != nil || !fresh {
		return existing, err
	}
	x := &execution{server: s, client: c, session: c.session, op: o}
	s.running.Add(1)
	go x.produce(p)
	return o, nil
}

func checkTag(tag string) error {
	switch {
	case tag == "":
		return plan.IllegalArgument("Spark Connect tag cannot be an empty string.")
	case strings.Contains(tag, ","):
		return plan.IllegalArgument("Spark Connect tag cannot contain ','.")
	default:
		return nil
	}
}

func reattachable(r *pb.ExecutePlanRequest) bool {
	for _, o := range r.GetRequestOptions() {
		if o.GetReattachOptions().GetReattachable() {
			return true
		}
	}
	return false
}

// produce runs the plan to its end and closes the log.
func (x *execution) produce(p *pb.Plan) {
	defer x.server.running.Done()
	err := x.run(p)
	if err == nil && x.op.reattachable {
		err = x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_ResultComplete_{
			ResultComplete: &pb.ExecutePlanResponse_ResultComplete{}}})
	}
	// What a cancelled context made fail is reported as the cancellation.
	if err != nil && x.op.ctx.Err() != nil {
		if cause := context.Cause(x.op.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		} else {
			err = operationCanceled()
		}
	}
	x.op.finish(err)
}

func (x *execution) run(p *pb.Plan) (err error) {
	defer func() {
		if r := recover(); r != nil {
			x.server.options.Log.Error("panic in an operation", "operation", x.op.id, "panic", r,
				"stack", string(debug.Stack()))
			err = bug(r)
		}
	}()
	switch t := p.GetOpType().(type) {
	case *pb.Plan_Root:
		return x.relation(t.Root)
	case *pb.Plan_Command:
		f := arm(t.Command, "command_type")
		if f == nil {
			return notSet(t.Command, "COMMANDTYPE_NOT_SET")
		}
		run := x.server.commands[f.Name()]
		if run == nil {
			return notSupported(t.Command, f)
		}
		return run(x, t.Command)
	default:
		return notSet(&pb.Plan{}, "OPTYPE_NOT_SET")
	}
}

func (x *execution) decoder() *decoder { return x.server.decoder(x.client) }

// send emits a response with the session's ids.
func (x *execution) send(r *pb.ExecutePlanResponse) error {
	r.SessionId, r.ServerSideSessionId = x.client.key.id, x.client.serverID
	return x.op.emit(r)
}

// ReattachExecute continues an operation's responses after the last one that
// the client has.
func (s *Server) ReattachExecute(r *pb.ReattachExecuteRequest,
	to grpc.ServerStreamingServer[pb.ExecutePlanResponse],
) error {
	c, err := s.known(r)
	if err != nil {
		return statusOf(err, nil)
	}
	o, err := s.reattach(c, r)
	if err != nil {
		return statusOf(err, &c.errors)
	}
	me := &attachment{}
	if err := o.attach(me, r.GetLastResponseId()); err != nil {
		return statusOf(err, &c.errors)
	}
	return c.serve(o, to, me)
}

func (s *Server) reattach(c *client, r *pb.ReattachExecuteRequest) (*operation, error) {
	if err := checkUUID(r.GetOperationId()); err != nil {
		return nil, err
	}
	o := c.operation(r.GetOperationId())
	switch {
	case o == nil:
		return nil, operationNotFound(r.GetOperationId())
	case !o.reattachable:
		return nil, plan.NewError(plan.ClassSparkSQL, "INVALID_CURSOR.NOT_REATTACHABLE",
			"The cursor is invalid: the operation was not started as reattachable.")
	}
	return o, nil
}

// ReleaseExecute lets go of responses, or of the whole operation. Releases
// arrive late and twice; what is gone already is not an error.
func (s *Server) ReleaseExecute(_ context.Context, r *pb.ReleaseExecuteRequest,
) (*pb.ReleaseExecuteResponse, error) {
	c := s.sessions.departing(r.GetUserContext().GetUserId(), r.GetSessionId())
	if c == nil {
		var err error
		if c, err = s.known(r); err != nil {
			return nil, statusOf(err, nil)
		}
	}
	return answer(s, c, func() (*pb.ReleaseExecuteResponse, error) {
		out := &pb.ReleaseExecuteResponse{SessionId: c.key.id, ServerSideSessionId: c.serverID}
		o := c.operation(r.GetOperationId())
		if o == nil {
			return out, nil
		}
		switch rel := r.GetRelease().(type) {
		case *pb.ReleaseExecuteRequest_ReleaseAll_:
			c.end(o.id)
		case *pb.ReleaseExecuteRequest_ReleaseUntil_:
			o.releaseUntil(rel.ReleaseUntil.GetResponseId())
		default:
			return nil, notSet(r, "RELEASE_NOT_SET")
		}
		out.OperationId = &o.id
		return out, nil
	})
}
