package session

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/artifact"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/session/spool"
	"github.com/weir-dev/weir/internal/stream"
)

// Session is the state of one client. Any goroutine may call it.
type Session struct {
	engine    *Engine
	user, id  string
	conf      *settings.Conf
	bus       *monitor.Bus
	artifacts *artifact.Store
	queries   queryList
	output    *monitor.Output // of the query whose function runs in it, else nil

	mu        sync.Mutex
	catalog   string // current names
	schema    string
	views     map[string]*view // by lower-case name
	cached    map[string]plan.Node
	marked    map[string]bool // tables that CACHE TABLE named
	functions map[string]*plan.PythonUDF
	memories  map[string]*stream.Query // of memory sinks with a view, by run id
	spools    map[string]*spool.Spool  // of the batch that a foreachBatch is at
	writes    *batchWrites             // of that batch, where it shall be written once
	told      map[string]bool          // notes that are in the log, at most mostTold
}

// mostTold bounds what a session remembers of its notes.
const mostTold = 1000

// tell logs notes, each once.
func (s *Session) tell(notes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, note := range notes {
		if !s.told[note] && len(s.told) < mostTold {
			s.told[note] = true
			s.engine.log.Warn(note, "session", s.id)
		}
	}
}

// NewSession makes a session with the server's settings.
func (e *Engine) NewSession(userID, sessionID string) *Session {
	s := &Session{
		engine: e, user: userID, id: sessionID, conf: settings.New(e.base), bus: monitor.NewBus(),
		artifacts: artifact.New(e.fs, e.tempDir("artifacts")),
		catalog:   catalog.SparkCatalog, schema: catalog.DefaultSchema,
		views: map[string]*view{}, cached: map[string]plan.Node{}, marked: map[string]bool{},
		functions: map[string]*plan.PythonUDF{}, memories: map[string]*stream.Query{},
		spools: map[string]*spool.Spool{}, told: map[string]bool{},
	}
	if name := s.conf.Value(settings.DefaultCatalog); e.catalog.HasCatalog(name) {
		s.catalog = name
	}
	e.enter(s)
	return s
}

func (e *Engine) enter(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s] = true
}

// Clone makes a session that begins with this one's settings, current names,
// temporary views, functions, cached frames and artifacts, and shares none.
func (s *Session) Clone(sessionID string) *Session {
	c := s.engine.NewSession(s.user, sessionID)
	c.conf = s.conf.Clone()
	c.artifacts.Inherit(s.artifacts)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.catalog, c.schema = s.catalog, s.schema
	c.views, c.cached = maps.Clone(s.views), maps.Clone(s.cached)
	c.marked, c.functions = maps.Clone(s.marked), maps.Clone(s.functions)
	c.memories = maps.Clone(s.memories)
	return c
}

// Release ends the session: its queries are stopped, unless
// weir.session.onRelease says detach, its bus ends and its files are removed.
// why is what the pages say of the queries that ended with it.
func (s *Session) Release(ctx context.Context, why string) error {
	var errs []error
	if s.conf.Value(settings.OnReleaseKey) != "detach" {
		for _, q := range s.Streams() {
			q.Record().Because(why)
			errs = append(errs, q.Stop(ctx))
		}
	}
	s.bus.Close()
	errs = append(errs, s.artifacts.Remove())
	s.engine.mu.Lock()
	delete(s.engine.sessions, s)
	s.engine.mu.Unlock()
	return errors.Join(errs...)
}

// ID is the id that the client gave the session.
func (s *Session) ID() string { return s.id }

// UserID is the user of the session.
func (s *Session) UserID() string { return s.user }

// Conf is the session's settings.
func (s *Session) Conf() *settings.Conf { return s.conf }

// Bus carries the events of the session's queries to its listeners.
func (s *Session) Bus() *monitor.Bus { return s.bus }

// Subscribe adds a listener to the bus.
func (s *Session) Subscribe() *monitor.Subscription { return s.bus.Subscribe() }

// Artifacts is the files that the client sent.
func (s *Session) Artifacts() *artifact.Store { return s.artifacts }

// current is the names that unqualified tables are looked for in.
func (s *Session) current() (catalogName, schema string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog, s.schema
}

func (s *Session) setCurrent(catalogName, schema string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.schema = catalogName, schema
}

// RegisterFunction gives a Python function a name in SQL and expr(), one of tables in FROM.
func (s *Session) RegisterFunction(f *plan.PythonUDF) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[fold(f.Name)] = f
}

// PutCached keeps a frame that is not analysed under a new id, for a client
// that will ask by it. Its names keep the meaning that they have now.
func (s *Session) PutCached(n plan.Node) (id string) {
	id, n = newID(), newBinder(s, true).node(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cached[id] = n
	return id
}

// DropCached forgets a frame; an unknown id is fine.
func (s *Session) DropCached(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cached, id)
}
