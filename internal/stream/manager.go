package stream

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// A Manager starts queries and knows the active ones. A server has one.
type Manager struct {
	registry *monitor.Registry
	log      *slog.Logger
	crash    func(step string)
	askEnded time.Duration

	mu       sync.Mutex
	active   map[string]*Query  // by query id
	sampling bool               // the sampler runs
	names    map[queryName]bool // of active and starting queries
	closed   bool
	rested   map[string]*rested // by query id

	left chan struct{} // holds a token when the last active query may have ended
}

// queryName is a name, which is unique among the active queries of a session.
type queryName struct{ session, name string }

// NewManager returns a manager without queries.
func NewManager(reg *monitor.Registry, o Options) *Manager {
	m := &Manager{
		registry: reg, log: o.Log, crash: o.Crash, askEnded: o.AskEnded, rested: map[string]*rested{},
		active: map[string]*Query{}, names: map[queryName]bool{}, left: make(chan struct{}, 1),
	}
	if m.log == nil {
		m.log = slog.Default()
	}
	if m.crash == nil {
		m.crash = func(string) {}
	}
	return m
}

// Start begins a run: the plan and the name are checked, the checkpoint and
// the sink are opened, an active run of the same query is stopped or, without
// spark.sql.streaming.stopActiveRunOnRestart, refuses the start. It returns
// when the query's goroutine runs; what fails later fails the query.
func (m *Manager) Start(ctx context.Context, c Config) (*Query, error) {
	if err := refuseStateful(c.Plan); err != nil {
		return nil, err
	}
	if err := m.reserve(c.SessionID, c.Name); err != nil {
		return nil, err
	}
	q, err := m.prepare(ctx, c)
	if err != nil {
		m.refused(c)
		return nil, err
	}
	// The query outlives the request that started it.
	running, interrupt := context.WithCancel(context.Background())
	q.interrupt = interrupt
	if err := m.enter(ctx, q); err != nil {
		interrupt()
		q.closeSink()
		m.refused(c)
		return nil, err
	}
	m.release(q.id)
	q.begin()
	m.startSampling()
	go q.run(running)
	return q, nil
}

// prepare opens the checkpoint and the sink.
func (m *Manager) prepare(ctx context.Context, c Config) (*Query, error) {
	set := readSettings(c.Env.Conf)
	m.crash(StepStart)
	place := c.Checkpoint
	place.FS = m.stepped(place.FS, fileSteps{synced: StepMetadataTemp}.all)
	id, err := openMetadata(place, set.verify)
	if err != nil {
		return nil, err
	}
	if err := refuseResume(c); err != nil {
		return nil, err
	}
	sink, err := c.OpenSink(ctx, id)
	if err != nil {
		return nil, err
	}
	q := &Query{
		id: id, runID: uuid.NewString(), config: c, settings: set, manager: m, sink: sink,
		done: make(chan struct{}), wake: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	env := *c.Env
	env.Lost = func(text string) { q.record.Lost(time.Now(), text) }
	q.config.Env = &env
	q.log = m.log.With("query", id, "run", q.runID)
	if c.Name != "" {
		q.log = q.log.With("name", c.Name)
	}
	return q, nil
}

// refuseResume refuses offsets under a sink that forgot what it held.
func refuseResume(c Config) error {
	if !c.NoResume {
		return nil
	}
	offsets := below(c.Checkpoint, offsetsName)
	ids, err := connector.BatchIDs(offsets)
	if err != nil || len(ids) == 0 {
		return err
	}
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1299",
		fmt.Sprintf("this sink cannot go on from a checkpoint. Delete %s to start over.", offsets.Dir),
		"checkpointPath", offsets.Dir)
}

func (m *Manager) stepped(fsys vfs.FS, steps func(file string) fileSteps) vfs.FS {
	return steppedFS{fsys, m.crash, steps}
}

func (m *Manager) reserve(session, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return illegalState("the server is stopping")
	}
	if name == "" {
		return nil
	}
	key := queryName{session, name}
	if m.names[key] {
		return plan.IllegalArgument("a query named %s is already active in this session", name)
	}
	m.names[key] = true
	return nil
}

// refused undoes what a start did that came to nothing.
func (m *Manager) refused(c Config) {
	m.mu.Lock()
	delete(m.names, queryName{c.SessionID, c.Name})
	m.mu.Unlock()
	if c.Temporary {
		m.discard(c.Checkpoint)
	}
}

// enter makes q the active run of its id. Of two that come at once, the later
// stops the earlier.
func (m *Manager) enter(ctx context.Context, q *Query) error {
	for {
		old, err := m.tryEnter(q)
		if old == nil || err != nil {
			return err
		}
		if !q.settings.replace {
			return illegalState("query %s is already active: stop it, or set "+
				"spark.sql.streaming.stopActiveRunOnRestart to true", q.id)
		}
		q.log.Info("stopping the active run of this query for a new one", "stopped", old.runID)
		q.displace(old)
		if err := old.Stop(ctx); err != nil {
			return err
		}
	}
}

// displace says of the run that is stopped for q why it is.
func (q *Query) displace(old *Query) {
	if q.config.Name == old.config.Name {
		old.record.Because("it was started again")
		return
	}
	old.record.Because("its checkpoint was taken over by " + q.called())
	q.displaced = old.called()
}

// called is what people call a query.
func (q *Query) called() string {
	if q.config.Name != "" {
		return q.config.Name
	}
	return "a query without a name"
}

func (m *Manager) tryEnter(q *Query) (old *Query, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, illegalState("the server is stopping")
	}
	if old = m.active[q.id]; old == nil {
		m.active[q.id] = q
	}
	return old, nil
}

func (m *Manager) startSampling() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.sampling {
		m.sampling = true
		go m.sample()
	}
}

// leave is told that a run has ended.
func (m *Manager) leave(q *Query) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.active, q.id)
	delete(m.names, queryName{q.config.SessionID, q.config.Name})
	if len(m.active) == 0 {
		m.wakeSampler()
	}
}

// wakeSampler has the sampler see whether there is nothing to look at any more.
func (m *Manager) wakeSampler() {
	select {
	case m.left <- struct{}{}:
	default:
	}
}

// Active lists the active queries, in no order.
func (m *Manager) Active() []*Query {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Query, 0, len(m.active))
	for _, q := range m.active {
		out = append(out, q)
	}
	return out
}

// interruptLimit is how long StopAll waits for queries that it interrupted.
const interruptLimit = 5 * time.Second

// StopAll refuses further starts and ends every query: running batches finish
// while ctx lasts and are interrupted then. The error is that of a query that
// did not end even so.
func (m *Manager) StopAll(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	queries := m.Active()
	for _, q := range queries {
		q.drain()
	}
	for _, q := range queries {
		select {
		case <-q.done:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptLimit)
	defer cancel()
	for _, q := range queries {
		q.halt()
	}
	for _, q := range queries {
		select {
		case <-q.done:
		case <-last.Done():
			return fmt.Errorf("stop query %s: %w", q.id, last.Err())
		}
	}
	m.releaseAll()
	return nil
}

// discard removes a temporary checkpoint; what stays is litter, not harm.
func (m *Manager) discard(place connector.Place) {
	if err := place.FS.RemoveAll(path.Clean(place.Dir)); err != nil {
		m.log.Warn("remove temporary checkpoint", "dir", place.Dir, "err", err)
	}
}
