package sparkconnect

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-dev/weir/internal/session"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/vfs"
)

// TestCallbackTokenOpensItsSessionsOnly stands for the worker of a foreachBatch.
func TestCallbackTokenOpensItsSessionsOnly(t *testing.T) {
	engine, err := session.Open(session.Options{Dir: "/data", WorkDir: "/", Files: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	s := New(engine, Options{})
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	const rootID, cloneID = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	root, err := s.sessions.get("ann", rootID, "", true)
	if err != nil {
		t.Fatal(err)
	}
	address, leave, err := s.back.Admit(root.session, root.session.Clone(cloneID))
	if err != nil {
		t.Fatal(err)
	}
	client, token := dial(t, address)
	call := func(token, id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		_, err := client.Config(ctx, &pb.ConfigRequest{
			SessionId: id, UserContext: &pb.UserContext{UserId: "somebody else"},
			Operation: &pb.ConfigRequest_Operation{OpType: &pb.ConfigRequest_Operation_GetAll{
				GetAll: &pb.ConfigRequest_GetAll{}}},
		})
		return err
	}
	for _, c := range []struct {
		name, token, session string
		want                 codes.Code
	}{
		{"the copy", token, cloneID, codes.OK},
		{"the client's session", token, rootID, codes.OK},
		{"another session", token, "00000000-0000-0000-0000-000000000003", codes.PermissionDenied},
		{"a wrong token", "wrong", cloneID, codes.Unauthenticated},
		{"no token", "", cloneID, codes.Unauthenticated},
	} {
		if err := call(c.token, c.session); status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if len(s.sessions.all()) != 2 {
		t.Errorf("%d sessions, want those of ann only", len(s.sessions.all()))
	}
	s.clean(time.Now().Add(1000 * time.Hour))
	if s.sessions.clients[key{"ann", cloneID}] == nil {
		t.Error("the copy ended because it was idle, although its query runs")
	}
	leave()
	if err := call(token, cloneID); status.Code(err) != codes.Unauthenticated {
		t.Errorf("after the query: %v", err)
	}
}

func dial(t *testing.T, remote string) (pb.SparkConnectServiceClient, string) {
	t.Helper()
	u, err := url.Parse(remote)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("127.0.0.1:"+u.Port(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, token, ok := strings.Cut(remote, "token=")
	if !ok {
		t.Fatalf("no token in %s", remote)
	}
	return pb.NewSparkConnectServiceClient(conn), token
}
