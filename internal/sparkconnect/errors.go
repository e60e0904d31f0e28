package sparkconnect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

const (
	// maxMessage bounds the message in the status: it travels twice, in headers.
	// The whole text is in FetchErrorDetails.
	maxMessage = 2048
	// maxParameters is from where on condition and parameters stay out of the
	// trailers, as in Spark.
	maxParameters = 1024
	// maxErrors is how many errors a session keeps for FetchErrorDetails.
	maxErrors = 20
	// maxCauses bounds a chain of causes in FetchErrorDetails.
	maxCauses = 5
)

// errorLog keeps a session's last errors until the client fetches them.
type errorLog struct {
	mu     sync.Mutex
	ids    []string
	errors map[string]*plan.Error
}

func (l *errorLog) add(e *plan.Error) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.errors == nil {
		l.errors = map[string]*plan.Error{}
	}
	if len(l.ids) == maxErrors {
		delete(l.errors, l.ids[0])
		l.ids = append(l.ids[:0], l.ids[1:]...)
	}
	id := uuid.NewString()
	l.ids = append(l.ids, id)
	l.errors[id] = e
	return id
}

// get is the error of an id, nil when it is not known (any more).
func (l *errorLog) get(id string) *plan.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors[id]
}

// asError is any error as one that the client can read. What is not the
// user's mistake is sent as a SparkException, with what the world said.
func asError(err error) *plan.Error {
	var e *plan.Error
	if errors.As(err, &e) {
		return e
	}
	return &plan.Error{Class: plan.ClassSpark, Msg: err.Error()}
}

// bug is the error for a panic: the user sees that it is ours.
func bug(what any) *plan.Error {
	msg := fmt.Sprintf("weir has a bug: %v.", what)
	return plan.NewError(plan.ClassSpark, "INTERNAL_ERROR", msg, "message", msg)
}

// statusOf turns an error into what gRPC sends. Errors that are a status
// already, and the end of the call's own context, pass through. log may be
// nil when there is no session to keep the details.
func statusOf(err error, log *errorLog) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	e := asError(err)
	info := &errdetails.ErrorInfo{Reason: e.Class, Domain: "org.apache.spark", Metadata: map[string]string{}}
	info.Metadata["classes"] = encode(hierarchy(e.Class))
	if log != nil {
		info.Metadata["errorId"] = log.add(e)
	}
	if e.Condition != "" {
		if p := encode(parameters(e)); len(p) <= maxParameters {
			info.Metadata["errorClass"] = e.Condition
			info.Metadata["messageParameters"] = p
		}
		if e.State != "" {
			info.Metadata["sqlState"] = e.State
		}
	}
	s, detailErr := status.New(codes.Internal, abbreviate(e.Error())).WithDetails(info)
	if detailErr != nil {
		panic(detailErr)
	}
	return s.Err()
}

func parameters(e *plan.Error) map[string]string {
	if e.Args == nil {
		return map[string]string{}
	}
	return e.Args
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// abbreviate keeps the head and, twice as long, the tail of a long message:
// the useful line of a traceback is its last.
func abbreviate(msg string) string {
	msg = strings.ToValidUTF8(msg, "\uFFFD")
	if len(msg) <= maxMessage {
		return msg
	}
	const mark = "\n…\n"
	head, tail := (maxMessage-len(mark))/3, len(msg)-(maxMessage-len(mark))*2/3
	return strings.ToValidUTF8(msg[:head], "") + mark + strings.ToValidUTF8(msg[tail:], "")
}

// details is the answer of FetchErrorDetails about an error and its causes.
func details(e *plan.Error) *pb.FetchErrorDetailsResponse {
	root := int32(0)
	r := &pb.FetchErrorDetailsResponse{RootErrorIdx: &root}
	var next error = e
	for next != nil && len(r.Errors) < maxCauses {
		c := asError(next)
		r.Errors = append(r.Errors, errorMessage(c))
		if next = c.Cause; next != nil && len(r.Errors) < maxCauses {
			cause := int32(len(r.Errors))
			r.Errors[cause-1].CauseIdx = &cause
		}
	}
	return r
}

func errorMessage(e *plan.Error) *pb.FetchErrorDetailsResponse_Error {
	m := &pb.FetchErrorDetailsResponse_Error{
		ErrorTypeHierarchy: hierarchy(e.Class),
		Message:            strings.ToValidUTF8(e.Error(), "\uFFFD"),
	}
	if e.Condition == "" {
		return m
	}
	condition := e.Condition
	m.SparkThrowable = &pb.FetchErrorDetailsResponse_SparkThrowable{
		ErrorClass: &condition, MessageParameters: parameters(e),
	}
	if e.State != "" {
		state := e.State
		m.SparkThrowable.SqlState = &state
	}
	if o := e.Origin; o != nil {
		m.SparkThrowable.QueryContexts = []*pb.FetchErrorDetailsResponse_QueryContext{queryContext(o)}
	}
	return m
}

func queryContext(o *plan.Origin) *pb.FetchErrorDetailsResponse_QueryContext {
	if o.SQL == "" {
		return &pb.FetchErrorDetailsResponse_QueryContext{
			ContextType: pb.FetchErrorDetailsResponse_QueryContext_DATAFRAME,
			Fragment:    o.Fragment, CallSite: o.CallSite,
			Summary: fmt.Sprintf("== DataFrame ==\n%q was called from\n%s\n", o.Fragment, o.CallSite),
		}
	}
	start := len([]rune(o.SQL[:o.Start]))
	text := o.Text()
	return &pb.FetchErrorDetailsResponse_QueryContext{
		StartIndex: int32(start), StopIndex: int32(start + len([]rune(text)) - 1), Fragment: text,
		Summary: fmt.Sprintf("== SQL (line %d, position %d) ==\n%s\n", o.Line, o.Pos+1, text),
	}
}
