package sparkconnect

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weir-dev/weir/internal/peer"
	"github.com/weir-dev/weir/internal/session"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// leaveWait bounds how long a session that Python code ran in takes to end.
const leaveWait = 10 * time.Second

// callbacks is the way back for Python code of queries: a port of its own on
// loopback, opened when the first query needs it. It admits processes of this
// user only, and each to the sessions that its token was made for, whatever
// tokens and certificates other clients need.
type callbacks struct {
	server *Server

	mu      sync.Mutex
	grpc    *grpc.Server // nil until the first token
	port    int
	closed  bool
	holders map[string]holder // by token
}

// holder is what a token opens.
type holder struct {
	user     string
	sessions []string
}

// Admit makes a session known to clients and a token for it and root.
func (b *callbacks) Admit(root, s *session.Session) (url string, leave func(), err error) {
	k := key{s.UserID(), s.ID()}
	if err := b.server.sessions.adopt(k, s); err != nil {
		return "", nil, err
	}
	token := rand.Text()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil {
		b.server.sessions.remove(k, false)
		return "", nil, err
	}
	b.holders[token] = holder{user: s.UserID(), sessions: []string{root.ID(), s.ID()}}
	return fmt.Sprintf("sc://localhost:%d/;token=%s", b.port, token), func() { b.leave(token, k) }, nil
}

// open opens the port; the lock is held.
func (b *callbacks) open() error {
	switch {
	case b.closed:
		return status.Error(codes.Unavailable, "the server is stopping")
	case b.grpc != nil:
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for Python code: %w", err)
	}
	b.port = l.Addr().(*net.TCPAddr).Port
	b.grpc = grpc.NewServer(append(serverOptions(),
		grpc.UnaryInterceptor(b.unary), grpc.StreamInterceptor(b.stream))...)
	b.server.Register(b.grpc)
	g, guarded := b.grpc, peer.Own(l, b.server.options.Log)
	b.server.running.Add(1)
	go func() {
		defer b.server.running.Done()
		if err := g.Serve(guarded); err != nil {
			b.server.options.Log.Error("the port for Python code ended", "error", err)
		}
	}()
	return nil
}

// leave ends a session and its token.
func (b *callbacks) leave(token string, k key) {
	b.mu.Lock()
	delete(b.holders, token)
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	why := "the query whose Python code it served has ended"
	if _, err := b.server.sessions.close(ctx, k, false, why); err != nil {
		b.server.options.Log.Warn("end of a session of Python code", "session", k.id, "error", err)
	}
}

func (b *callbacks) close() {
	b.mu.Lock()
	g := b.grpc
	b.closed = true
	b.mu.Unlock()
	if g != nil {
		g.Stop()
	}
}

// holder finds who calls.
func (b *callbacks) holder(ctx context.Context) (holder, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, value := range md.Get("authorization") {
		_, token, _ := strings.Cut(value, " ")
		b.mu.Lock()
		h, ok := b.holders[token]
		b.mu.Unlock()
		if ok {
			return h, nil
		}
	}
	return holder{}, status.Error(codes.Unauthenticated, "Invalid authentication token")
}

// admits checks the session of a request and makes its user the token's.
func (h holder) admits(request any) error {
	m, ok := request.(interface {
		proto.Message
		GetSessionId() string
	})
	if !ok {
		return status.Error(codes.PermissionDenied, "a request without a session")
	}
	for _, id := range h.sessions {
		if id != m.GetSessionId() {
			continue
		}
		r := m.ProtoReflect()
		field := r.Descriptor().Fields().ByName("user_context")
		user := r.Mutable(field).Message().Interface().(*pb.UserContext)
		user.UserId = h.user
		return nil
	}
	return status.Error(codes.PermissionDenied, "this token is for the session of its query only")
}

func (b *callbacks) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	h, err := b.holder(ctx)
	if err == nil {
		err = h.admits(req)
	}
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (b *callbacks) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	h, err := b.holder(ss.Context())
	if err != nil {
		return err
	}
	return next(srv, &heldStream{ss, h})
}

// heldStream checks every message that a client sends on a stream.
type heldStream struct {
	grpc.ServerStream
	holder holder
}

// RecvMsg receives a message of an admitted session.
func (s *heldStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.holder.admits(m)
}
