package sparkconnect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

const (
	// maxMessageBytes bounds one gRPC message, as Spark and its client do.
	maxMessageBytes = 128 << 20
	// maintenance is how often idle sessions and abandoned operations are
	// looked for.
	maintenance = 30 * time.Second
	// SparkVersion is what clients are told.
	SparkVersion = "4.3.0"
)

// Options say how the server behaves; zero values stand for the settings that
// the engine was started with, whose defaults are Spark's.
type Options struct {
	Log *slog.Logger
	// IdleTimeout ends a session that nobody used for so long; default 1 h.
	IdleTimeout time.Duration
	// StreamDuration and StreamBytes cut response streams, which clients then
	// attach again; defaults 2 min and 1 GiB.
	StreamDuration time.Duration
	StreamBytes    int
	// DetachedTimeout ends an operation nobody listens to; default 5 min.
	DetachedTimeout time.Duration
}

// Settings of the server's start that stand behind Options.
const (
	idleKey     = "spark.connect.session.manager.defaultSessionTimeout"
	durationKey = "spark.connect.execute.reattachable.senderMaxStreamDuration"
	bytesKey    = "spark.connect.execute.reattachable.senderMaxStreamSize"
	detachedKey = "spark.connect.execute.manager.detachedTimeout"
)

// fill takes what is zero from the settings. There, zero and less mean without
// a limit.
func (o *Options) fill(engine *session.Engine) {
	limit := func(key string) int64 {
		if n := engine.Number(key); n > 0 {
			return n
		}
		return math.MaxInt64
	}
	timeout := func(d *time.Duration, key string) {
		if *d == 0 {
			*d = time.Duration(min(limit(key), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
		}
	}
	timeout(&o.IdleTimeout, idleKey)
	timeout(&o.StreamDuration, durationKey)
	timeout(&o.DetachedTimeout, detachedKey)
	if o.StreamBytes == 0 {
		o.StreamBytes = int(limit(bytesKey))
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// Server implements the Spark Connect service on one engine.
type Server struct {
	pb.UnimplementedSparkConnectServiceServer
	engine   *session.Engine
	options  Options
	sessions *sessions
	tables   *tables
	commands map[protoreflect.Name]func(*execution, *pb.Command) error
	unknown  unknownFields
	back     *callbacks

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New makes a server; Register puts it on a gRPC server, Close ends it.
func New(engine *session.Engine, o Options) *Server {
	o.fill(engine)
	s := &Server{
		engine: engine, options: o, sessions: newSessions(engine.NewSession),
		tables: &tables{relations: relationTable(), expressions: expressionTable(), catalog: catalogTable(),
			delta: newDeltaTables()},
		commands: commandTable(),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.back = &callbacks{server: s, holders: map[string]holder{}}
	engine.SetDoor(s.back)
	s.running.Add(1)
	go s.janitor()
	return s
}

// Register puts the service on a gRPC server.
func (s *Server) Register(g *grpc.Server) { pb.RegisterSparkConnectServiceServer(g, s) }

// cancelledWait is how long operations may take to notice that they are cancelled.
const cancelledWait = 2 * time.Second

// Close ends every session and waits for their operations. ctx bounds how long
// queries may take to stop.
func (s *Server) Close(ctx context.Context) error {
	var errs []error
	for _, c := range s.sessions.all() {
		_, err := s.sessions.close(ctx, c.key, true, monitor.ServerStopped)
		errs = append(errs, err)
	}
	s.stop()
	s.back.close()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(cancelledWait):
		errs = append(errs, errors.New("operations still run, although they were cancelled"))
	}
	return errors.Join(errs...)
}

// janitor ends idle sessions and abandoned operations.
func (s *Server) janitor() {
	defer s.running.Done()
	tick := time.NewTicker(maintenance)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			s.clean(now)
		}
	}
}

func (s *Server) clean(now time.Time) {
	for _, c := range s.sessions.all() {
		c.abandon(now)
		if now.Sub(c.idleSince(now)) < s.options.IdleTimeout {
			continue
		}
		why := fmt.Sprintf("its session was idle for %v", s.options.IdleTimeout)
		ended, err := s.sessions.close(s.ctx, c.key, false, why)
		if ended != nil {
			s.options.Log.Info("session ended because it was idle", "session", c.key.id)
		}
		if err != nil {
			s.options.Log.Warn("end of an idle session", "session", c.key.id, "error", err)
		}
	}
}

// identified is what every request says about its session.
type identified interface {
	proto.Message
	GetSessionId() string
	GetUserContext() *pb.UserContext
	GetClientObservedServerSideSessionId() string
}

// client finds the session of a request and makes it if need be.
func (s *Server) client(r identified) (*client, error) {
	s.unknown.note(r, s.options.Log)
	return s.sessions.get(r.GetUserContext().GetUserId(), r.GetSessionId(),
		r.GetClientObservedServerSideSessionId(), true)
}

// known finds the session of a request that must not make one.
func (s *Server) known(r identified) (*client, error) {
	s.unknown.note(r, s.options.Log)
	return s.sessions.get(r.GetUserContext().GetUserId(), r.GetSessionId(),
		r.GetClientObservedServerSideSessionId(), false)
}

// answer turns the outcome of a unary call into what gRPC sends; a panic ends
// the call only (P3).
func answer[T any](s *Server, c *client, call func() (T, error)) (result T, err error) {
	var log *errorLog
	if c != nil {
		log = &c.errors
	}
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("panic in a call", "panic", p, "stack", string(debug.Stack()))
			err = bug(p)
		}
		err = statusOf(err, log)
	}()
	return call()
}

// limits are those of operations under the server's options.
func (s *Server) limits() limits {
	return limits{
		streamDuration: s.options.StreamDuration, streamBytes: s.options.StreamBytes,
		detached: s.options.DetachedTimeout,
	}
}

func (s *Server) decoder(c *client) *decoder {
	return &decoder{
		tables: s.tables, blob: func(hash string) ([]byte, error) { return c.blob(hash) },
		unknown: func(m proto.Message) { s.unknown.note(m, s.options.Log) },
	}
}

// blob finds uploaded data of the session.
func (c *client) blob(hash string) ([]byte, error) {
	data, err := c.session.Artifacts().Cached(hash)
	if err != nil {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.NOT_FOUND_CHUNKED_CACHED_LOCAL_RELATION",
			"The data "+hash+" was not uploaded to this session.", "hash", hash, "sessionUUID", c.key.id)
	}
	return data, nil
}
