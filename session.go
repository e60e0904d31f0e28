package weir

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	pb "github.com/weir-dev/weir/internal/sparkpb"
)

const (
	clientType  = "weir"
	defaultPort = "15002"
)

// A Session is a session of a Spark Connect server: weir's, or Apache Spark's.
// Any goroutine may use it.
type Session struct {
	wire *wire
	user *pb.UserContext
	id   string
}

// Connect begins a session at sc://HOST:PORT/;KEY=VALUE;…, where the keys are token,
// use_ssl, user_id and session_id, as in PySpark. Nothing is sent before the first
// statement.
func Connect(remote string) (*Session, error) {
	s := &Session{id: uuid.NewString(), user: &pb.UserContext{}}
	if err := s.parse(remote); err != nil {
		return nil, fmt.Errorf("%s: %w", remote, err)
	}
	return s, nil
}

func (s *Session) parse(remote string) error {
	rest, ok := strings.CutPrefix(remote, "sc://")
	if !ok {
		return errors.New("write the address as sc://HOST:PORT")
	}
	address, rest, _ := strings.Cut(rest, "/")
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), defaultPort)
	}
	scheme, token := "http", ""
	for pair := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "":
		case "token":
			token = value
		case "use_ssl":
			if value == "true" {
				scheme = "https"
			}
		case "user_id":
			s.user.UserId = value
		case "session_id":
			if uuid.Validate(value) != nil {
				return errors.New("session_id is to be a UUID")
			}
			s.id = value
		default:
			return fmt.Errorf("there is no parameter %q; there are token, use_ssl, user_id and session_id", key)
		}
	}
	s.wire = newWire(scheme+"://"+address, token)
	return nil
}

// WithToken shows a bearer token with every request.
func (s *Session) WithToken(token string) *Session {
	s.wire.token = token
	return s
}

// WithTLS decides which certificates a server may show at an address with use_ssl.
func (s *Session) WithTLS(known *tls.Config) *Session {
	s.wire.trust(known)
	return s
}

// Close ends the session and the connection. The server stops the session's queries.
func (s *Session) Close(ctx context.Context) error {
	defer s.wire.close()
	client := clientType
	return s.wire.call(ctx, "ReleaseSession", &pb.ReleaseSessionRequest{
		SessionId: s.id, UserContext: s.user, ClientType: &client,
	}, func([]byte) error { return nil })
}

// execute runs a plan and gives each part of its answer to take.
func (s *Session) execute(ctx context.Context, p *pb.Plan, take func(*pb.ExecutePlanResponse) error) error {
	client := clientType
	return s.wire.call(ctx, "ExecutePlan", &pb.ExecutePlanRequest{
		SessionId: s.id, UserContext: s.user, ClientType: &client, Plan: p,
	}, func(data []byte) error {
		var part pb.ExecutePlanResponse
		if err := proto.Unmarshal(data, &part); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		return take(&part)
	})
}

// A Frame is a relation that the server computes when it is asked for.
type Frame struct {
	session  *Session
	relation *pb.Relation
}

// SQL runs a statement. What it changes is done when SQL returns; what it selects is
// computed when the frame is asked for.
func (s *Session) SQL(ctx context.Context, text string) (*Frame, error) {
	f := &Frame{session: s}
	command := &pb.SqlCommand{Input: &pb.Relation{RelType: &pb.Relation_Sql{Sql: &pb.SQL{Query: text}}}}
	err := s.execute(ctx, &pb.Plan{OpType: &pb.Plan_Command{Command: &pb.Command{
		CommandType: &pb.Command_SqlCommand{SqlCommand: command},
	}}}, func(r *pb.ExecutePlanResponse) error {
		if result := r.GetSqlCommandResult(); result != nil {
			f.relation = result.Relation
		}
		return nil
	})
	if err == nil && f.relation == nil {
		err = errors.New("the server answered a statement without a relation")
	}
	return f, err
}

// Read is what a format reads at a path.
func (s *Session) Read(format, path string, options map[string]string) *Frame {
	return &Frame{session: s, relation: &pb.Relation{RelType: &pb.Relation_Read{Read: &pb.Read{
		ReadType: &pb.Read_DataSource_{DataSource: &pb.Read_DataSource{
			Format: &format, Paths: []string{path}, Options: options,
		}},
	}}}}
}

// Empty tells whether the frame is the answer to a statement that answers nothing.
func (f *Frame) Empty() bool {
	local := f.relation.GetLocalRelation()
	if local == nil {
		return false
	}
	if len(local.Data) == 0 {
		return local.GetSchema() == ""
	}
	r, err := ipc.NewReader(bytes.NewReader(local.Data))
	if err != nil {
		return false
	}
	defer r.Release()
	return r.Schema().NumFields() == 0
}

// A Look says how rows are shown.
type Look struct {
	Rows     int  // at most
	Width    int  // to which cells are cut, in letters; 0 cuts nothing
	Vertical bool // a line for each value
}

// Show is the first rows as a table of text, as Spark's show writes it.
func (f *Frame) Show(ctx context.Context, l Look) (string, error) {
	table := ""
	relation := &pb.Relation{RelType: &pb.Relation_ShowString{ShowString: &pb.ShowString{
		Input: f.relation, NumRows: int32(l.Rows), Truncate: int32(l.Width), Vertical: l.Vertical,
	}}}
	for text, err := range (&Frame{f.session, relation}).texts(ctx) {
		if err != nil {
			return "", err
		}
		table += text
	}
	return table, nil
}

// JSON is each row as a JSON object, nulls included.
func (f *Frame) JSON(ctx context.Context) iter.Seq2[string, error] {
	star := &pb.Expression{ExprType: &pb.Expression_UnresolvedStar_{
		UnresolvedStar: &pb.Expression_UnresolvedStar{},
	}}
	options := function("map", literal("ignoreNullFields"), literal("false"))
	row := function("to_json", function("struct", star), options)
	return (&Frame{f.session, &pb.Relation{RelType: &pb.Relation_Project{Project: &pb.Project{
		Input: f.relation, Expressions: []*pb.Expression{row},
	}}}}).texts(ctx)
}

func function(name string, args ...*pb.Expression) *pb.Expression {
	return &pb.Expression{ExprType: &pb.Expression_UnresolvedFunction_{
		UnresolvedFunction: &pb.Expression_UnresolvedFunction{FunctionName: name, Arguments: args},
	}}
}

func literal(text string) *pb.Expression {
	return &pb.Expression{ExprType: &pb.Expression_Literal_{Literal: &pb.Expression_Literal{
		LiteralType: &pb.Expression_Literal_String_{String_: text},
	}}}
}

// errStopped is how a loop over rows ends an execution early.
var errStopped = errors.New("no more rows are wanted")

// texts are the values of a frame of one column of text.
func (f *Frame) texts(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		plan := &pb.Plan{OpType: &pb.Plan_Root{Root: f.relation}}
		err := f.session.execute(ctx, plan, func(r *pb.ExecutePlanResponse) error {
			if r.GetArrowBatch() == nil {
				return nil
			}
			return eachText(r.GetArrowBatch().Data, func(text string) bool { return yield(text, nil) })
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield("", err)
		}
	}
}

// eachText gives the values of the only column of an Arrow stream.
func eachText(data []byte, yield func(string) bool) error {
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	defer r.Release()
	for r.Next() {
		column, ok := r.RecordBatch().Column(0).(*array.String)
		if !ok {
			return fmt.Errorf("read the answer: its column is %s", r.RecordBatch().Column(0).DataType())
		}
		for i := range column.Len() {
			if !yield(column.Value(i)) {
				return errStopped
			}
		}
	}
	return r.Err()
}
