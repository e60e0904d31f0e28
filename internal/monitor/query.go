package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// HoldLimit is how long events of a run may be held back while the client has
// yet to learn that the query started.
const HoldLimit = 5 * time.Second

// holdEvents is how many events may be held back.
const holdEvents = 1000

// A State is where a run is in its life.
type State string

// The states.
const (
	Initializing State = "initializing"
	Active       State = "active"
	Stopped      State = "stopped" // stopped or finished
	Failed       State = "failed"
)

// ended tells whether the run is over.
func (s State) ended() bool { return s == Stopped || s == Failed }

// Status is what status() of a query answers.
type Status struct {
	Message         string
	IsDataAvailable bool
	IsTriggerActive bool
}

// Run describes a run when it begins. Of IdleEvery and Recent the zero value
// means the default.
type Run struct {
	ID, RunID string
	Name      string // "" is a query without a name
	SessionID string
	JobTags   []string
	// Application is the program's name, Engine what runs it, "" for weir; Tags are
	// words that queries are grouped by.
	Application, Engine string
	Tags                []string
	// Metrics says that the query has gauges under Spark's names.
	Metrics   bool
	StartedAt time.Time

	IdleEvery time.Duration // between idle entries; default 10 s
	Recent    int           // numRecentProgressUpdates; default 100, which keeps 99

	// Plan is what the query does, a line for each operator, and Settings what it was
	// started with, by name; both are for telling runs apart, and empty when not known.
	// Version is that of weir, by Registry.Start.
	Plan     string
	Settings []Setting
	Version  string

	// Health is what judging the query needs to know of its program.
	Health health.Config

	// Displaced is the query of another name that was stopped because this run uses its
	// checkpoint; "" for none.
	Displaced string

	// Output takes what the run's Python functions print; nil when it has none.
	Output *Output

	// Hold keeps events back until Announce, HoldLimit at most, so that the
	// client hears of the start before it hears of the first batch.
	Hold bool
}

// A Query is one run of a streaming query: what is known about it, and the
// only thing of this package that an engine talks to. Record, Idle and
// Terminate are called by one goroutine, everything else by any.
type Query struct {
	run Run
	bus *Bus
	end func(*Query) // tells the registry
	tap Tap          // nil for none; never changes once the run is registered
	// recalled says that it is a run of an earlier server (Recall), checkpointed that it
	// had a checkpoint of its user's.
	recalled, checkpointed bool

	mu      sync.Mutex
	state   State
	status  Status
	sources []string
	sink    string
	endedAt time.Time
	failure *Failure
	reason  string // see Because
	// dismissedAt is when somebody said that the run need not be told of any more.
	dismissedAt time.Time
	dismissed   atomic.Bool
	recent      history
	executed    *Progress // of the last batch of this run
	commitAt    time.Time // when that batch ended
	pace        pace
	held        []Event
	holding     chan struct{} // closed when the hold ends; nil without one
	holdExpiry  *time.Timer

	watched watched
}

func newQuery(r Run, bus *Bus, end func(*Query)) *Query {
	if r.IdleEvery == 0 {
		r.IdleEvery = 10 * time.Second
	}
	if r.Recent == 0 {
		r.Recent = 100
	}
	q := &Query{
		run: r, bus: bus, end: end,
		state:  Initializing,
		status: Status{Message: "Initializing StreamExecution"},
		recent: newHistory(r.Recent),
		pace:   pace{idleEvery: r.IdleEvery},
	}
	if r.Hold {
		q.holding = make(chan struct{})
		q.holdExpiry = time.AfterFunc(HoldLimit, q.Announce)
	}
	return q
}

// ID is the query's id, the same over restarts.
func (q *Query) ID() string { return q.run.ID }

// RunID is the id of this run.
func (q *Query) RunID() string { return q.run.RunID }

// StartedEvent is the event for the answer to the start.
func (q *Query) StartedEvent() Event {
	return Event{
		Kind: Started, ID: q.run.ID, RunID: q.run.RunID,
		Name: q.run.Name, At: q.run.StartedAt, JobTags: q.run.JobTags,
	}
}

// Announce says that the client knows of the start: events that were held back
// go out, later ones go straight.
func (q *Query) Announce() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.announce()
}

// announce requires mu.
func (q *Query) announce() {
	if q.holding == nil {
		return
	}
	q.holdExpiry.Stop()
	for _, e := range q.held {
		q.bus.Post(e)
	}
	q.held = nil
	close(q.holding)
	q.holding = nil
}

// post requires mu, which keeps the order of events (M3).
func (q *Query) post(e Event) {
	if q.holding != nil && len(q.held) < holdEvents {
		q.held = append(q.held, e)
		return
	}
	q.announce()
	q.bus.Post(e)
}

// Activate says that the query is planned and runs.
func (q *Query) Activate(sources []string, sink string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sources, q.sink = sources, sink
	if !q.state.ended() {
		q.state = Active
	}
}

// Describe says what the query does and what it was started with, where that was not known
// when it started. Again, it does nothing.
func (q *Query) Describe(plan string, settings []Setting) {
	q.mu.Lock()
	known := q.run.Plan != ""
	if !known {
		q.run.Plan, q.run.Settings = plan, settings
	}
	q.mu.Unlock()
	if q.tap != nil && !known {
		q.tap.Described(q)
	}
}

// SetStatus replaces the status, unless the run has ended.
func (q *Query) SetStatus(s Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.state.ended() {
		q.status = s
	}
}

// Record completes the progress of an executed batch, keeps it and posts it.
// The caller gives p away (M1).
func (q *Query) Record(p *Progress, t Trigger) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mustRun()
	q.complete(p, t)
	q.executed, q.commitAt = p, t.End
	q.recent.add(p)
	q.post(Event{Kind: Progressed, ID: q.run.ID, RunID: q.run.RunID, Progress: p})
}

// An IdleTrigger is a trigger that ran no batch.
type IdleTrigger struct {
	Trigger
	BatchID     int64 // of the batch that comes next
	Durations   Durations
	WatermarkMs int64
	Sources     []IdleSource
	Sink        string
}

// An IdleSource is an input without new data. The offsets are JSON texts, ""
// when not set.
type IdleSource struct {
	Description string
	Committed   string // up to where batches have read
	Latest      string
	Metrics     []TextMetric
}

// IdleDue tells whether an idle trigger that ends now would make an entry.
// An engine that polls asks before it gathers the facts.
func (q *Query) IdleDue(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pace.idleDue(now)
}

// Idle notes a trigger that ran no batch. It makes an entry, and posts an idle
// event, only when IdleEvery has passed since the last entry; the first
// trigger of a run makes an entry without an event.
func (q *Query) Idle(t IdleTrigger) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mustRun()
	if !q.pace.idleDue(t.End) {
		return
	}
	first := !q.pace.counted
	p := q.idleEntry(t)
	q.complete(p, t.Trigger)
	q.recent.add(p)
	if !first {
		q.post(Event{Kind: Idle, ID: q.run.ID, RunID: q.run.RunID, At: t.Start})
	}
}

// idleEntry requires mu. Watermark, state and the zero of the sink appear only
// after a batch of this run: before it, the plan is not known.
func (q *Query) idleEntry(t IdleTrigger) *Progress {
	p := &Progress{
		BatchID: t.BatchID, Durations: t.Durations, Idle: true,
		Sources: make([]Source, len(t.Sources)),
		Sink:    Sink{Description: t.Sink, NumOutputRows: UncountedRows},
	}
	for i, s := range t.Sources {
		p.Sources[i] = Source{
			Description: s.Description, LatestOffset: s.Latest,
			StartOffset: s.Committed, EndOffset: s.Committed, Metrics: s.Metrics,
		}
	}
	last := q.executed
	if last == nil {
		return p
	}
	if last.Sink.NumOutputRows != UncountedRows {
		p.Sink.NumOutputRows = 0
	}
	if last.EventTime != nil {
		p.EventTime = &EventTime{WatermarkMs: t.WatermarkMs}
	}
	for _, s := range last.StateOperators {
		p.StateOperators = append(p.StateOperators, s.idle())
	}
	return p
}

// complete requires mu. It counts the trigger.
func (q *Query) complete(p *Progress, t Trigger) {
	p.ID, p.RunID, p.Name = q.run.ID, q.run.RunID, q.run.Name
	p.Timestamp = t.Start
	spent, _ := p.Durations.Ms(TriggerExecution)
	p.BatchDurationMs = max(t.tookMs(), spent)
	since, first := q.pace.count(t)
	if p.Told {
		return
	}
	for i := range p.Sources {
		s := &p.Sources[i]
		s.InputRowsPerSecond, s.ProcessedRowsPerSecond =
			Rates(s.NumInputRows, since, p.BatchDurationMs, first)
	}
}

// mustRun requires mu.
func (q *Query) mustRun() {
	if q.state.ended() {
		panic("monitor: a run that has ended made progress: " + q.run.RunID)
	}
}

// Terminate ends the run; f is nil when it was stopped or finished. It returns
// after every listener took the terminated event (M6). Again, it does nothing.
func (q *Query) Terminate(at time.Time, f *Failure) {
	q.mu.Lock()
	if q.state.ended() {
		q.mu.Unlock()
		return
	}
	q.state, q.status, q.endedAt, q.failure = Stopped, Status{Message: "Stopped"}, at, f
	if f != nil {
		q.state, q.status.Message = Failed, "Terminated with exception: "+f.Message
	}
	holding := q.holding
	q.mu.Unlock()

	q.finish(at, f)
	q.end(q)
	if q.tap != nil {
		q.tap.Ended(q)
	}
	if holding != nil {
		<-holding
	}
	q.bus.post(Event{Kind: Terminated, ID: q.run.ID, RunID: q.run.RunID, Failure: f}).wait(TakeLimit)
}

// Because says why the query is about to be stopped, when that is not its user's
// wish alone; the first word counts.
func (q *Query) Because(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reason == "" && !q.state.ended() {
		q.reason = reason
	}
}

// Last is the newest progress, nil before the first.
func (q *Query) Last() *Progress {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.recent.last()
}

// Recent copies the list of kept progress, oldest first.
func (q *Query) Recent() []*Progress {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.recent.all()
}

// A Snapshot is what is known about a run at one moment.
type Snapshot struct {
	Run
	State     State
	Status    Status
	Sources   []string
	Sink      string
	EndedAt   time.Time // zero while it runs
	Failure   *Failure
	EndReason string // why it was stopped, if somebody said so; "" while it runs
	// Left says that the query ran when an earlier server ended, and was not started again.
	Left bool
	// Checkpointed says of such a one that a start goes on with its checkpoint.
	Checkpointed bool
	DismissedAt  time.Time // zero unless Dismiss was called
	LastBatch    *Progress // of this run; nil before the first, never an idle entry
	CommitAt     time.Time // when LastBatch ended
}

// ShownName is what people call the query: one without a name by the beginning of its id.
func (s *Snapshot) ShownName() string {
	if s.Name != "" {
		return s.Name
	}
	return "query " + s.ID[:min(8, len(s.ID))]
}

// Snapshot reads the run.
func (q *Query) Snapshot() Snapshot {
	q.mu.Lock()
	defer q.mu.Unlock()
	reason := q.reason
	if !q.state.ended() {
		reason = ""
	}
	return Snapshot{
		Run: q.run, State: q.state, Status: q.status,
		Sources: q.sources, Sink: q.sink,
		EndedAt: q.endedAt, Failure: q.failure, EndReason: reason,
		Left: q.recalled && q.failure == nil, Checkpointed: q.checkpointed, DismissedAt: q.dismissedAt,
		LastBatch: q.executed, CommitAt: q.commitAt,
	}
}
