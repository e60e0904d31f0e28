package sparkconnect

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// maxStreams bounds the calls of one connection that run at a time. A client
	// uses one for each thread, one for its listener and one for each release.
	maxStreams = 1000
	// maxHeaderBytes bounds the metadata of a call.
	maxHeaderBytes = 64 << 10
	// connectTimeout bounds the handshake of a connection.
	connectTimeout = 20 * time.Second
)

// ListenOptions say who may connect.
type ListenOptions struct {
	Token string      // "" asks for none
	TLS   *tls.Config // nil speaks plaintext
}

// Serve answers on a listener until Stop is called on what it returns.
func (s *Server) Serve(l net.Listener, o ListenOptions) *Serving {
	options := append(serverOptions(), grpc.UnaryInterceptor(o.unary), grpc.StreamInterceptor(o.stream))
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	g := grpc.NewServer(options...)
	s.Register(g)
	v := &Serving{grpc: g, ended: make(chan error, 1)}
	go func() { v.ended <- g.Serve(l) }()
	return v
}

// serverOptions are those of every port.
func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}

// Serving is a gRPC server at work.
type Serving struct {
	grpc  *grpc.Server
	ended chan error
}

// Ended yields the error with which serving ended, nil after Stop.
func (v *Serving) Ended() <-chan error { return v.ended }

// Stop lets running calls finish until ctx ends, then cuts them off.
func (v *Serving) Stop(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		v.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		v.grpc.Stop()
		<-done
	}
}

func (o ListenOptions) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	if err := o.authenticate(ctx); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (o ListenOptions) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	if err := o.authenticate(ss.Context()); err != nil {
		return err
	}
	return next(srv, ss)
}

// authenticate compares the bearer token in constant time. The sentences are
// those that Spark's clients know.
func (o ListenOptions) authenticate(ctx context.Context) error {
	if o.Token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get("authorization")
	if len(values) == 0 {
		return status.Error(codes.Unauthenticated, "No authentication token provided")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(token), []byte(o.Token)) != 1 {
		return status.Error(codes.Unauthenticated, "Invalid authentication token")
	}
	return nil
}
