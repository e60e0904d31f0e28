package bench

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
)

// client is a session on one connection, without the cost of Python.
type client struct {
	pb.SparkConnectServiceClient
	session string
}

func connect(b *testing.B, s *testkit.Server) *client {
	b.Helper()
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &client{pb.NewSparkConnectServiceClient(conn), uuid.NewString()}
}

// config makes the smallest unary call there is.
func (c *client) config(ctx context.Context) error {
	_, err := c.Config(ctx, &pb.ConfigRequest{SessionId: c.session, Operation: &pb.ConfigRequest_Operation{
		OpType: &pb.ConfigRequest_Operation_Get{Get: &pb.ConfigRequest_Get{
			Keys: []string{"spark.sql.session.timeZone"}}}}})
	return err
}

// execute runs a command and returns its responses.
func (c *client) execute(ctx context.Context, command *pb.Command) ([]*pb.ExecutePlanResponse, error) {
	stream, err := c.ExecutePlan(ctx, &pb.ExecutePlanRequest{
		SessionId: c.session, Plan: &pb.Plan{OpType: &pb.Plan_Command{Command: command}}})
	if err != nil {
		return nil, err
	}
	var out []*pb.ExecutePlanResponse
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
}

// start starts a query and returns its ids.
func (c *client) start(b *testing.B, q *pb.WriteStreamOperationStart) *pb.StreamingQueryInstanceId {
	b.Helper()
	responses, err := c.execute(b.Context(), &pb.Command{CommandType: &pb.Command_WriteStreamOperationStart{
		WriteStreamOperationStart: q}})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range responses {
		if started := r.GetWriteStreamOperationStartResult(); started != nil {
			return started.QueryId
		}
	}
	b.Fatal("no answer to the start")
	return nil
}

// ask sends a command about a query.
func (c *client) ask(b *testing.B, m *pb.StreamingQueryCommand) *pb.StreamingQueryCommandResult {
	b.Helper()
	responses, err := c.execute(b.Context(), &pb.Command{CommandType: &pb.Command_StreamingQueryCommand{
		StreamingQueryCommand: m}})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range responses {
		if result := r.GetStreamingQueryCommandResult(); result != nil {
			return result
		}
	}
	b.Fatal("no answer about the query")
	return nil
}

func (c *client) await(b *testing.B, id *pb.StreamingQueryInstanceId) {
	b.Helper()
	c.ask(b, &pb.StreamingQueryCommand{QueryId: id, Command: &pb.StreamingQueryCommand_AwaitTermination{
		AwaitTermination: &pb.StreamingQueryCommand_AwaitTerminationCommand{}}})
}

func (c *client) stop(b *testing.B, id *pb.StreamingQueryInstanceId) {
	b.Helper()
	c.ask(b, &pb.StreamingQueryCommand{QueryId: id, Command: &pb.StreamingQueryCommand_Stop{Stop: true}})
}

// source is a streaming read of a format.
func source(format, schema string, options map[string]string, paths ...string) *pb.Relation {
	s := &pb.Read_DataSource{Format: &format, Options: options, Paths: paths}
	if schema != "" {
		s.Schema = &schema
	}
	return &pb.Relation{RelType: &pb.Relation_Read{Read: &pb.Read{
		IsStreaming: true, ReadType: &pb.Read_DataSource_{DataSource: s}}}}
}
