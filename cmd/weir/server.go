package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/report"
	"github.com/weir-dev/weir/internal/peer"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/session"
	"github.com/weir-dev/weir/internal/sparkconnect"
	"github.com/weir-dev/weir/internal/ui"
)

const (
	sparkVersion = sparkconnect.SparkVersion
	// firstHTTPPort is where the pages are when no address is given; when it is
	// taken the next ones are tried, as Spark does for its own pages.
	firstHTTPPort = 4040
	lastHTTPPort  = 4056
	// addressFile tells other commands where the server of a directory listens.
	addressFile = "server.json"
	// askEnded is for how long pages tell what waits for a query that has ended.
	askEnded = 24 * time.Hour
)

// server is a running weir: engine, Spark Connect and pages.
type server struct {
	log       *slog.Logger
	dir       string
	engine    *session.Engine
	connect   *sparkconnect.Server
	serving   *sparkconnect.Serving
	pages     *http.Server
	python    *pyworker.Host
	reporters *report.Reporters
	alerts    *alert.Alerts
	history   *history.Store // nil when it is off
	grpc      net.Listener
	http      net.Listener
	failed    chan error // a listener ended although nobody asked it to

	started time.Time
	why     string // queries end with it; "" when it was stopped though they were to go on
	memory  int64  // that it may use, in bytes; 0: not known
}

// addresses is the content of addressFile.
type addresses struct {
	PID  int    `json:"pid"`
	GRPC string `json:"grpc"`
	HTTP string `json:"http"`
	// CertSHA256 is what the certificate is known by, "" without TLS.
	CertSHA256 string `json:"certSha256,omitempty"`

	secure bool // there is TLS, by a certificate that others vouch for
}

// startServer opens the data directory and both ports.
func startServer(f serverFlags, grpcAddress string) (*server, error) {
	if err := errors.Join(f.check(), f.absolute()); err != nil {
		return nil, err
	}
	s := &server{
		log: newLogger(f.logLevel), dir: f.dir, failed: make(chan error, 2), started: time.Now(),
		memory: availableMemory(),
	}
	var console io.Writer = os.Stdout
	if f.console != nil {
		console = f.console
	}
	f.user.interpreter = cmp.Or(f.user.interpreter, serverPython(s.log))
	confs, err := parseConfs(f.properties, f.confs)
	if err != nil {
		return nil, err
	}
	crash, err := crashPoint(os.Getenv(crashVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		return nil, exitCode(2)
	}
	if s.python, err = newPython(f, f.user); err != nil {
		return nil, err
	}
	access, err := newAccess(f, grpcAddress, s.log)
	if err != nil {
		return nil, err
	}
	// Before the ports: who holds the directory mostly holds them too, and is what to say.
	s.engine, err = session.Open(session.Options{
		Dir: f.dir, Root: f.root, Confs: confs, Log: s.log, Crash: crash, Console: console,
		Memory: s.memory, Python: s.python, AskEnded: askEnded,
	})
	if err != nil {
		return nil, err
	}
	s.engine.Monitor().Versioned(built)
	if err := s.listen(access, grpcAddress, f.http); err != nil {
		return nil, errors.Join(err, s.engine.Close(context.Background()))
	}
	if err := s.startWatching(access, confs); err != nil {
		s.grpc.Close()
		s.http.Close()
		return nil, errors.Join(err, s.engine.Close(context.Background()))
	}
	s.connect = sparkconnect.New(s.engine, sparkconnect.Options{Log: s.log})
	s.serving = s.connect.Serve(s.grpc, access.connect)
	s.servePages(&f, access)
	go func() { s.failed <- <-s.serving.Ended() }()
	return s, s.writeAddresses(access.certificate())
}

// startWatching starts what tells others of queries: metric sinks and alerts.
func (s *server) startWatching(a *access, confs map[string]string) (err error) {
	s.reporters, err = startReporters(s.engine.Monitor(), s.engine.ApplicationID(), confs, s.log)
	if err != nil {
		return err
	}
	env := alertsIn(s.dir, s.engine.Monitor(), s.log)
	env.Link = pagesAt(a, s.httpAddress())
	if s.alerts, err = alert.Start(env); err != nil {
		s.reporters.Close()
		return err
	}
	if err = s.startHistory(); err != nil {
		s.alerts.Close()
		s.reporters.Close()
	}
	return err
}

func newLogger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// listen opens both ports before anything else, so that a taken one is said at
// once and costs nothing.
func (s *server) listen(a *access, grpcAddress, httpAddress string) error {
	var err error
	if s.grpc, err = net.Listen("tcp", grpcAddress); err != nil {
		return listenError("Spark Connect", "--grpc", grpcAddress, err)
	}
	s.http, err = listenHTTP(httpAddress)
	if err != nil {
		s.grpc.Close()
		return err
	}
	s.grpc = a.guard(s.grpc)
	return nil
}

// listenHTTP listens on the given address, or on the first free port from 4040.
func listenHTTP(address string) (net.Listener, error) {
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, listenError("pages and API", "--http", address, err)
		}
		return l, nil
	}
	for port := firstHTTPPort; ; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || port == lastHTTPPort {
			return nil, listenError("pages and API", "--http", address, err)
		}
	}
}

func listenError(what, flag, address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &takenError{what: what, flag: flag, address: address}
	}
	return fmt.Errorf("listen on %s for %s: %w", address, what, err)
}

// takenError says that another process listens on an address, and which flag
// chooses another.
type takenError struct{ what, flag, address string }

func (e *takenError) Error() string {
	text := fmt.Sprintf("the address %s for %s is taken by another program; "+
		"%s chooses another, port 0 a free one", e.address, e.what, e.flag)
	if e.flag == "--grpc" {
		text += ", and clients then connect to that"
	}
	return text
}

func (s *server) servePages(f *serverFlags, a *access) {
	o := ui.Options{
		Remote: "sc://" + localhost(s.grpcAddress()), Application: s.engine.ApplicationID(),
		Alerts: s.alerts, Environment: func() []ui.Group { return s.environment(f, a) }, Resources: s.resources,
		Stop: s.stopQuery,
		Own:  func() []report.Own { return ownMetrics(s.started, s.history, s.alerts, s.reporters) },
	}
	if s.history != nil {
		o.Past = s.history
	}
	s.pages = newPages(a, s.engine.Monitor(), o, s.log)
	go func() {
		if err := s.pages.Serve(a.overTLS(s.http)); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
}

// stopQuery stops a query for somebody at the pages or a terminal.
func (s *server) stopQuery(ctx context.Context, runID string) error {
	ran, err := s.engine.StopQuery(ctx, runID, "somebody stopped it from outside its program")
	if !ran {
		return ui.ErrEnded
	}
	return err
}

// newPages is the server of the HTTP port.
func newPages(a *access, queries *monitor.Registry, o ui.Options, log *slog.Logger) *http.Server {
	o.Version, o.Hosts, o.Now, o.User = built, a.hosts, time.Now, userName()
	o.Token, o.SameUser, o.Private = a.connect.Token, sameUser, a.private
	if !a.open {
		o.MayHear = sameUser
	}
	// Streams of events go on for ever: a shutdown ends them.
	ctx, end := context.WithCancel(context.Background())
	pages := &http.Server{
		Handler: ui.New(queries, o), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, TLSConfig: a.connect.TLS, ConnContext: keepConn,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	pages.RegisterOnShutdown(end)
	return pages
}

func (s *server) grpcAddress() string { return s.grpc.Addr().String() }
func (s *server) httpAddress() string { return s.http.Addr().String() }

// writeAddresses renames the file into place: another command may read at any
// moment.
func (s *server) writeAddresses(certificate []byte) error {
	at := addresses{PID: os.Getpid(), GRPC: s.grpcAddress(), HTTP: s.httpAddress()}
	if certificate != nil {
		at.CertSHA256 = certificateSum(certificate)
	}
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, addressFile)
	if err := os.WriteFile(file+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

// stop lets running batches finish until ctx ends, then ends everything.
func (s *server) stop(ctx context.Context) error {
	os.Remove(filepath.Join(s.dir, addressFile))
	// Before the sessions: ending one interrupts its queries.
	err := s.engine.Drain(ctx, cmp.Or(s.why, monitor.ServerStopped))
	err = errors.Join(err, s.connect.Close(ctx))
	s.serving.Stop(ctx)
	// Before the queries end: what fires goes on firing when they are started again.
	s.alerts.Close()
	// Before the engine gives the directory up.
	if s.history != nil {
		s.history.Close()
	}
	err = errors.Join(err, s.pages.Shutdown(ctx), s.engine.Close(ctx))
	s.reporters.Close()
	s.python.Close()
	return err
}

// sameUser reports whether the other end of a request's connection is this
// process's user.
func sameUser(r *http.Request) bool {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return false
	}
	uid, err := peer.OwnerUID(conn)
	return err == nil && uid == peer.Self()
}

type connKey struct{}

func keepConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
