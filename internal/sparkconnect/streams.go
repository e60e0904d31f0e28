package sparkconnect

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/stream"
)

// startStream starts a query. The started event travels in the answer, and
// only when the client has a listener; later events are held back until the
// client has let go of the answer, so that they cannot overtake it.
func (x *execution) startStream(m *pb.WriteStreamOperationStart) error {
	c, err := x.decoder().streamStart(m)
	if err != nil {
		return err
	}
	q, err := x.session.StartStream(x.op.ctx, c, x.jobTags(), x.op.id)
	if err != nil {
		return err
	}
	result := &pb.WriteStreamOperationStartResult{QueryId: instanceID(q), Name: q.Name()}
	if x.client.hasListener() {
		event := string(q.Record().StartedEvent().AppendJSON(nil))
		result.QueryStartedEventJson = &event
	}
	err = x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_WriteStreamOperationStartResult{
		WriteStreamOperationStartResult: result,
	}})
	announce := q.Record().Announce
	x.op.whenForgotten(func() { time.AfterFunc(startedLead, announce) })
	return err
}

// startedLead is how long a client may take from letting go of the answer to
// telling its listeners of the start.
const startedLead = 50 * time.Millisecond

// jobTags are the tags of the operation as Spark's started event lists them.
func (x *execution) jobTags() []string {
	prefix := "User_" + x.client.key.user + "_Session_" + x.client.key.id
	tags := []string{"SparkConnect_OperationTag_" + prefix + "_Operation_" + x.op.id}
	for _, t := range x.op.tags {
		tags = append(tags, "SparkConnect_SessionTag_"+prefix+"_Tag_"+t)
	}
	return tags
}

func (c *client) hasListener() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listener != nil
}

func instanceID(q *stream.Query) *pb.StreamingQueryInstanceId {
	return &pb.StreamingQueryInstanceId{Id: q.ID(), RunId: q.RunID()}
}

// queryCommand asks or tells one query.
func (x *execution) queryCommand(m *pb.StreamingQueryCommand) error {
	q, ok := x.session.StreamRun(m.GetQueryId().GetId(), m.GetQueryId().GetRunId())
	if !ok {
		return queryNotFound(m.GetQueryId().GetId())
	}
	result := &pb.StreamingQueryCommandResult{QueryId: m.GetQueryId()}
	var err error
	switch c := m.GetCommand().(type) {
	case *pb.StreamingQueryCommand_Status:
		result.ResultType = &pb.StreamingQueryCommandResult_Status{Status: statusResult(q)}
	case *pb.StreamingQueryCommand_LastProgress:
		var last []*monitor.Progress
		if p := q.Record().Last(); p != nil {
			last = append(last, p)
		}
		result.ResultType = &pb.StreamingQueryCommandResult_RecentProgress{RecentProgress: progressResult(last)}
	case *pb.StreamingQueryCommand_RecentProgress:
		result.ResultType = &pb.StreamingQueryCommandResult_RecentProgress{
			RecentProgress: progressResult(q.Record().Recent())}
	case *pb.StreamingQueryCommand_Stop:
		err = q.Stop(x.op.ctx)
	case *pb.StreamingQueryCommand_ProcessAllAvailable:
		err = q.ProcessAllAvailable(x.op.ctx)
	case *pb.StreamingQueryCommand_Explain:
		result.ResultType = &pb.StreamingQueryCommandResult_Explain{
			Explain: &pb.StreamingQueryCommandResult_ExplainResult{Result: q.Explain(c.Explain.GetExtended())}}
	case *pb.StreamingQueryCommand_Exception:
		if e := q.Err(); e != nil && !c.Exception {
			err = e
		}
		result.ResultType = &pb.StreamingQueryCommandResult_Exception{Exception: exceptionResult(q)}
	case *pb.StreamingQueryCommand_AwaitTermination:
		ended, waitErr := x.await(c.AwaitTermination.TimeoutMs, q.Await)
		err = waitErr
		result.ResultType = &pb.StreamingQueryCommandResult_AwaitTermination{
			AwaitTermination: &pb.StreamingQueryCommandResult_AwaitTerminationResult{Terminated: ended}}
	default:
		err = notSet(m, "COMMAND_NOT_SET")
	}
	if err != nil {
		return err
	}
	return x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_StreamingQueryCommandResult{
		StreamingQueryCommandResult: result,
	}})
}

func statusResult(q *stream.Query) *pb.StreamingQueryCommandResult_StatusResult {
	s := q.Record().Snapshot()
	return &pb.StreamingQueryCommandResult_StatusResult{
		StatusMessage: s.Status.Message, IsDataAvailable: s.Status.IsDataAvailable,
		IsTriggerActive: s.Status.IsTriggerActive,
		IsActive:        s.State == monitor.Active || s.State == monitor.Initializing,
	}
}

func progressResult(list []*monitor.Progress) *pb.StreamingQueryCommandResult_RecentProgressResult {
	r := &pb.StreamingQueryCommandResult_RecentProgressResult{}
	for _, p := range list {
		r.RecentProgressJson = append(r.RecentProgressJson, string(p.AppendCommandJSON(nil)))
	}
	return r
}

// exceptionResult is empty when the query has not failed. The client keeps what
// follows the first ": " of the message.
func exceptionResult(q *stream.Query) *pb.StreamingQueryCommandResult_ExceptionResult {
	e := q.Err()
	if e == nil {
		return &pb.StreamingQueryCommandResult_ExceptionResult{}
	}
	condition := e.Condition
	message := plan.ClassStreamingQuery + ": " + errors.Unwrap(e).Error() + q.Detail()
	trace := message
	return &pb.StreamingQueryCommandResult_ExceptionResult{
		ExceptionMessage: &message, ErrorClass: &condition, StackTrace: &trace,
	}
}

// await waits for wait to end, at most timeoutMs when it is given. It reports
// whether it ended in time.
func (x *execution) await(timeoutMs *int64, wait func(context.Context) error) (bool, error) {
	ctx := x.op.ctx
	if timeoutMs != nil {
		if *timeoutMs <= 0 {
			return false, plan.IllegalArgument("Timeout has to be positive")
		}
		limited, cancel := context.WithTimeout(ctx, time.Duration(*timeoutMs)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	err := wait(ctx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && x.op.ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// managerCommand asks about the session's queries.
func (x *execution) managerCommand(m *pb.StreamingQueryManagerCommand) error {
	result := &pb.StreamingQueryManagerCommandResult{}
	switch c := m.GetCommand().(type) {
	case *pb.StreamingQueryManagerCommand_Active:
		active := &pb.StreamingQueryManagerCommandResult_ActiveResult{}
		for _, q := range x.session.Streams() {
			active.ActiveQueries = append(active.ActiveQueries, instance(q))
		}
		result.ResultType = &pb.StreamingQueryManagerCommandResult_Active{Active: active}
	case *pb.StreamingQueryManagerCommand_GetQuery:
		if _, err := uuid.Parse(c.GetQuery); err != nil || len(c.GetQuery) != 36 {
			return plan.IllegalArgument("Invalid UUID string: %s", c.GetQuery)
		}
		if q, ok := x.session.Stream(strings.ToLower(c.GetQuery)); ok {
			result.ResultType = &pb.StreamingQueryManagerCommandResult_Query{Query: instance(q)}
		}
	case *pb.StreamingQueryManagerCommand_AwaitAnyTermination:
		ended, err := x.await(c.AwaitAnyTermination.TimeoutMs, x.session.AwaitAny)
		if err != nil {
			return err
		}
		result.ResultType = &pb.StreamingQueryManagerCommandResult_AwaitAnyTermination{
			AwaitAnyTermination: &pb.StreamingQueryManagerCommandResult_AwaitAnyTerminationResult{Terminated: ended}}
	case *pb.StreamingQueryManagerCommand_ResetTerminated:
		x.session.ResetTerminated()
		result.ResultType = &pb.StreamingQueryManagerCommandResult_ResetTerminated{ResetTerminated: true}
	case nil:
		return notSet(m, "COMMAND_NOT_SET")
	default:
		return plan.Unsupported("A listener that runs on the server, as clients before 4.0 send it,")
	}
	return x.send(&pb.ExecutePlanResponse{
		ResponseType: &pb.ExecutePlanResponse_StreamingQueryManagerCommandResult{
			StreamingQueryManagerCommandResult: result,
		}})
}

// instance names a query; unnamed ones leave the name unset.
func instance(q *stream.Query) *pb.StreamingQueryManagerCommandResult_StreamingQueryInstance {
	i := &pb.StreamingQueryManagerCommandResult_StreamingQueryInstance{Id: instanceID(q)}
	if name := q.Name(); name != "" {
		i.Name = &name
	}
	return i
}
