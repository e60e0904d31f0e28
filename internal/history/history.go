package history

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// commitEvery is how often rows become visible.
const commitEvery = time.Minute

// Options say what is followed and how much is kept.
type Options struct {
	Registry *monitor.Registry
	Files    vfs.FS
	Dir      string        // of the tables
	Keep     time.Duration // how long rows are kept
	Bytes    int64         // how much the tables may have
	Log      *slog.Logger
	// Mark, when there is one, is called before what waits is taken, and what it returns
	// once that is committed: whoever reads runs from elsewhere notes there how far it is.
	// What was told twice, because that note was lost, is kept once.
	Mark func() (noted func())
}

// A Table is what sessions need to read one.
type Table struct {
	Name, Comment, Dir string
	Schema             plan.Type
}

// Use is how the history does.
type Use struct {
	Bytes, Dropped int64
	CommittedAt    time.Time // zero before the first
	Problem        string    // why the last commit failed, "" when it did not
}

// made is what a flush writes, by table.
type made [tableCount]rows

// Store follows a registry and writes what it hears.
type Store struct {
	options Options
	began   time.Time
	tables  [tableCount]live // the writer's own, as are verdicts and alertStates

	verdicts    map[string]health.State
	alertStates map[string]string
	maintained  time.Time
	committed   time.Time
	spare       *made             // of the last flush, without its rows: its memory is used again
	floors      map[string]*floor // of runs that earlier processes told of
	floored     bool              // their batches were looked for

	wake  chan struct{}
	ready chan struct{} // closed when the tables are there, or cannot be made
	end   context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	alerts  func() []alert.View
	waiting []*batch // nil ones were summed up
	lives   []lifeRow
	again   []lifeRow        // of runs that the tables have: see tellAgain
	plans   []*monitor.Query // of which the plan is new
	changes []change
	minutes map[minuteKey]*minute
	seconds map[string]*second // by run
	taken   int64              // how often waiting was taken away
	past    map[string]*Run    // that ended, by run
	live    map[string]bool    // runs that this server has or had
	dropped int64
	use     Use
}

// live is a table that is written.
type live struct {
	table
	schema   plan.Type
	snapshot *delta.Snapshot // nil until it could be read
	pending  delta.Written   // files that no commit names yet
}

// Start begins to follow runs that start from now on. The tables are made by the
// writer, so that a server does not wait for them.
func Start(o Options) *Store {
	s := newStore(o)
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	o.Registry.Follow(s)
	go s.run(ctx)
	return s
}

func newStore(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		options: o, began: time.Now(), wake: make(chan struct{}, 1), ready: make(chan struct{}),
		done: make(chan struct{}), minutes: map[minuteKey]*minute{}, seconds: map[string]*second{},
		past: map[string]*Run{}, live: map[string]bool{}, floors: map[string]*floor{},
	}
	for i, t := range tables() {
		s.tables[i] = live{table: t, schema: t.schema()}
	}
	return s
}

// Tables are the tables, whether they are made yet or not (Ready).
func (s *Store) Tables() []Table {
	out := make([]Table, tableCount)
	for i := range s.tables {
		t := &s.tables[i]
		out[i] = Table{t.name, t.comment, s.dir(t), t.schema}
	}
	return out
}

func (s *Store) dir(t *live) string { return path.Join(s.options.Dir, t.name) }

// Ready waits until the tables can be read, and runs of earlier servers are known.
func (s *Store) Ready() { <-s.ready }

// Alerts says where the alerts are.
func (s *Store) Alerts(list func() []alert.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alerts = list
}

// Use is how the history does now.
func (s *Store) Use() Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.use
	u.Dropped = s.dropped
	return u
}

// Close writes what waits and ends the writer.
func (s *Store) Close() {
	s.end()
	<-s.done
}

func (s *Store) run(ctx context.Context) {
	defer close(s.done)
	s.open()
	s.found()
	s.recall()
	close(s.ready)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	s.committed = time.Now()
	for {
		select {
		case <-ctx.Done():
			now := time.Now()
			s.look(now)
			s.flush(now, true)
			if s.crowded(now) || s.bytes() > s.options.Bytes {
				s.maintain(now) // servers that never live for a minute fill the disk too
			}
			return
		case <-s.wake:
			s.spill()
		case now := <-tick.C:
			s.look(now)
			if now.Sub(s.committed) >= commitEvery {
				s.committed = now
				s.flush(now, false)
				s.maintain(now)
			}
		}
	}
}

// open reads the tables, making those that are missing. A table that cannot be opened
// is tried again with each commit.
func (s *Store) open() {
	for i := range s.tables {
		if err := s.openTable(&s.tables[i]); err != nil {
			s.failed(err)
		}
	}
}

// found notes what earlier servers have left.
func (s *Store) found() {
	newest := int64(0)
	for i := range s.tables {
		if snapshot := s.tables[i].snapshot; snapshot != nil {
			for _, f := range snapshot.Files() {
				newest = max(newest, f.ModificationTime)
			}
		}
	}
	bytes := s.bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use.Bytes = bytes
	if newest > 0 {
		s.use.CommittedAt = time.UnixMilli(newest)
	}
}

func (s *Store) openTable(t *live) error {
	if t.snapshot != nil {
		return nil
	}
	ctx := context.Background()
	place := delta.Table{FS: s.options.Files, Dir: s.dir(t)}
	snapshot, err := place.Load(ctx)
	if delta.IsNotTable(err) {
		snapshot, err = place.Create(ctx, delta.CreateSpec{
			Schema: t.schema, Name: "system.streaming." + t.name, Description: t.comment, Now: time.Now(),
			Properties: map[string]string{"delta.deletedFileRetentionDuration": "interval 1 hours",
				"delta.checkpointInterval": "100"},
		})
	}
	if err == nil && !snapshot.Schema.EqualIgnoringNull(t.schema) {
		err = s.widen(snapshot, t)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	t.snapshot = snapshot
	return nil
}

// widen adds the columns that an earlier version of weir did not have yet, which come
// last in a table.
func (s *Store) widen(snapshot *delta.Snapshot, t *live) error {
	have := snapshot.Schema.Fields
	want := t.schema.Fields
	if n := min(len(have), len(want)); n == len(want) ||
		!snapshot.Schema.EqualIgnoringNull(plan.Struct(want[:n]...)) {
		return fmt.Errorf("its columns are those of another version of weir; remove or rename %s", s.dir(t))
	}
	var more []plan.NewColumn
	for _, f := range want[len(have):] {
		more = append(more, plan.NewColumn{Path: []string{f.Name}, Field: f})
	}
	change, err := snapshot.AddColumns(more, time.Now())
	if err == nil {
		_, err = snapshot.Commit(context.Background(), change)
	}
	return err
}

// failed notes that something could not be written (Y1).
func (s *Store) failed(err error) {
	s.mu.Lock()
	first := s.use.Problem == ""
	s.use.Problem = err.Error()
	s.mu.Unlock()
	if first {
		s.options.Log.Warn("the history of queries is not written; queries go on", "err", err)
	}
}

// take empties what waits into rows; everything says that open minutes are over too.
func (s *Store) take(now time.Time, everything bool) *made {
	alerts := s.alertChanges()
	s.mu.Lock()
	lives, again, changes, plans := s.lives, s.again, s.changes, s.plans
	s.lives, s.again, s.changes, s.plans = nil, nil, nil, nil
	var over []*minute
	for key, m := range s.minutes {
		if everything || key.unix != now.Truncate(time.Minute).Unix() {
			over = append(over, m)
			delete(s.minutes, key)
		}
	}
	s.mu.Unlock()
	m := s.rowsOf(s.takeBatches())
	begun := map[string]bool{} // runs whose row has all that is known now
	for i := range lives {
		if s.floorOf(lives[i].run.RunID).told(&lives[i]) {
			continue
		}
		m.addLife(&lives[i])
		if q := s.options.Registry.Find(lives[i].run.RunID); q != nil && lives[i].run.EndedAt.IsZero() {
			run := q.Snapshot()
			m.addQuery(&run, now)
			begun[run.RunID] = true
		}
	}
	for _, q := range plans {
		if !begun[q.RunID()] && !s.floorOf(q.RunID()).plan {
			run := q.Snapshot()
			m.addQuery(&run, now)
		}
	}
	for i := range again {
		m.addLife(&again[i])
	}
	for i := range changes {
		m.addChange(&changes[i])
	}
	for _, one := range over {
		if one.begin.After(s.floorOf(one.runID).minute) {
			m.addMinute(one)
		}
	}
	for i := range alerts {
		m.addAlert(&alerts[i], now)
	}
	return m
}

// takeBatches takes the batches that wait.
func (s *Store) takeBatches() []*batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.waiting
	s.waiting = nil
	s.taken++
	return list
}

func (s *Store) rowsOf(list []*batch) *made {
	m := s.spare
	if s.spare = nil; m == nil {
		m = &made{}
		for i := range s.tables {
			m[i].schema = s.tables[i].schema
		}
	}
	for _, b := range list {
		if b != nil {
			m.addBatch(b, s.floorOf(b.runID))
		}
	}
	return m
}

// spill writes files that the next commit names.
func (s *Store) spill() { s.write(s.rowsOf(s.takeBatches())) }

// relieve spills when enough waits.
func (s *Store) relieve() {
	s.mu.Lock()
	full := len(s.waiting) >= spillAt
	s.mu.Unlock()
	if full {
		s.spill()
	}
}

// flush writes what waits and commits it.
func (s *Store) flush(now time.Time, everything bool) {
	noted := func() {}
	if s.options.Mark != nil {
		noted = s.options.Mark()
	}
	all := s.write(s.take(now, everything))
	for i := range s.tables {
		t := &s.tables[i]
		if err := s.commit(t, now); err != nil {
			all = false
			s.drop(t.pending.Rows, err)
			t.pending = delta.Written{}
			t.snapshot = nil // somebody may have changed or removed the table: read it anew
		}
	}
	noted() // also when something was dropped: that is counted, and is not to be had again
	bytes := s.bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use.Bytes = bytes
	if all {
		s.use.CommittedAt, s.use.Problem = now, ""
	}
}

// write makes data files of rows, and tells whether it could.
func (s *Store) write(m *made) bool {
	all := true
	for i := range s.tables {
		t, r := &s.tables[i], &m[i]
		if r.used == 0 {
			r.empty()
			continue
		}
		count := int64(0)
		for _, c := range r.filled() {
			count += int64(c.Rows)
		}
		written, err := s.writeTable(t, r)
		r.empty()
		if err != nil {
			s.drop(count, err)
			all = false
			continue
		}
		t.pending.Adds = append(t.pending.Adds, written.Adds...)
		t.pending.Rows += written.Rows
		t.pending.Bytes += written.Bytes
	}
	s.spare = m
	return all
}

func (s *Store) writeTable(t *live, r *rows) (delta.Written, error) {
	if err := s.openTable(t); err != nil {
		return delta.Written{}, err
	}
	spec := delta.DataSpec{Schema: t.schema, Zone: time.UTC}
	written, err := t.snapshot.Write(context.Background(), spec, chunk.One(r.filled()...))
	if err != nil {
		return written, fmt.Errorf("table %s: %w", t.name, err)
	}
	return written, nil
}

// drop counts rows that could not be kept.
func (s *Store) drop(rows int64, err error) {
	s.mu.Lock()
	s.dropped += rows
	s.mu.Unlock()
	s.failed(err)
}

// commit makes the files of a table visible. Those of a commit that certainly failed
// are removed; whatever else it left is found by the daily round.
func (s *Store) commit(t *live, now time.Time) error {
	if len(t.pending.Adds) == 0 {
		return nil
	}
	done, err := t.snapshot.Commit(context.Background(), delta.Change{
		Operation: "WRITE", Params: []delta.Param{delta.Text("mode", "Append")}, Adds: t.pending.Adds,
		Metrics: []delta.Param{delta.Number("numFiles", int64(len(t.pending.Adds))),
			delta.Number("numOutputRows", t.pending.Rows), delta.Number("numOutputBytes", t.pending.Bytes)},
		Now: now,
	})
	if err == nil && done {
		t.pending = delta.Written{}
		return nil
	}
	return fmt.Errorf("table %s: %w", t.name, cmp.Or(err, context.Canceled))
}

// bytes is how much the data files of all tables have.
func (s *Store) bytes() int64 {
	sum := int64(0)
	for i := range s.tables {
		if snapshot := s.tables[i].snapshot; snapshot != nil {
			_, n := snapshot.NumFiles()
			sum += n
		}
	}
	return sum
}
