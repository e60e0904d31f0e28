package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

const (
	// keptRuns is how many runs are remembered besides those of the registry, the newest.
	keptRuns = 2000
	// mostRead is how many rows of a table a reader gets, the newest.
	mostRead = 20_000
	// readWithin is how long a reader may take.
	readWithin = 15 * time.Second
)

// running is the state of a run whose end nobody told.
const running = "running"

// A Run is one that the tables tell of. Zero values are not known.
type Run struct {
	ID, RunID, Name, Application string
	Engine                       string // with its version
	Sources, Sink, Plan          string // sources and operators one a line
	Settings                     []monitor.Setting
	// Ended says that its end was told. A run whose server was killed has none.
	Ended              bool
	State              monitor.State // Active, Stopped or Failed
	StartedAt, EndedAt time.Time
	EndReason          string
	Condition, Message string // of its failure
	DismissedAt        time.Time
}

// engineOf is what runs a query, with its version.
func engineOf(run *monitor.Snapshot) string {
	if run.Engine != "" {
		return run.Engine
	}
	return strings.TrimSpace("weir " + run.Version)
}

func settingsText(list []monitor.Setting) string {
	if len(list) == 0 {
		return ""
	}
	byName := make(map[string]string, len(list))
	for _, s := range list {
		byName[s.Name] = s.Value
	}
	text, err := json.Marshal(byName)
	if err != nil {
		panic(err) // texts
	}
	return string(text)
}

func readSettings(text string) []monitor.Setting {
	var byName map[string]string
	if json.Unmarshal([]byte(text), &byName) != nil {
		return nil
	}
	var out []monitor.Setting
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, monitor.Setting{Name: name, Value: byName[name]})
	}
	return out
}

// RunOf is what the tables will tell of a run.
func RunOf(run *monitor.Snapshot) Run {
	r := Run{
		ID: run.ID, RunID: run.RunID, Name: run.Name, Application: run.Application, Engine: engineOf(run),
		Sources: strings.Join(run.Sources, "\n"), Sink: run.Sink, Plan: run.Plan, Settings: run.Settings,
		Ended: !run.EndedAt.IsZero(), State: run.State, StartedAt: run.StartedAt, EndedAt: run.EndedAt,
		EndReason: run.EndReason,
	}
	if f := run.Failure; f != nil {
		r.Condition, r.Message = f.Condition, f.Message
	}
	return r
}

// Runs are the runs that are remembered, those of earlier servers included, the newest
// start first. Runs that have not ended on this server are not among them.
func (s *Store) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Run, 0, len(s.past))
	for _, r := range s.past {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Run) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return out
}

// remember keeps a run. It requires mu.
func (s *Store) remember(r Run) {
	s.past[r.RunID] = &r
	for len(s.past) > keptRuns {
		oldest := ""
		for id, one := range s.past {
			if oldest == "" || one.StartedAt.Before(s.past[oldest].StartedAt) {
				oldest = id
			}
		}
		delete(s.past, oldest)
	}
}

// recall reads the runs of earlier servers.
func (s *Store) recall() {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	found := map[string]*Run{}
	err := s.scan(ctx, runsTable, span{}, func(r *row) bool {
		one := found[r.text("run_id")]
		if one == nil {
			one = &Run{ID: r.text("query_id"), RunID: r.text("run_id"), Name: r.text("query_name"),
				State: monitor.Active}
			found[one.RunID] = one
		}
		one.StartedAt = r.instant("started_at")
		if state := r.text("state"); state != running {
			one.Ended, one.State, one.EndedAt = true, monitor.State(state), r.instant("ended_at")
			one.EndReason, one.Condition = r.text("end_reason"), r.text("error_condition")
			one.Message = r.text("error_message")
		}
		if at := r.instant("dismissed_at"); !at.IsZero() {
			one.DismissedAt = at
		}
		return true
	})
	if err == nil {
		err = s.scan(ctx, queriesTable, span{}, func(r *row) bool {
			if one := found[r.text("run_id")]; one != nil {
				one.Application, one.Sources = r.text("application"), r.text("sources")
				one.Sink, one.Engine = r.text("sink"), r.text("engine")
				one.Plan, one.Settings = r.text("plan"), readSettings(r.text("settings"))
			}
			return true
		})
	}
	if err != nil {
		s.failed(err)
	}
	for id, one := range found {
		s.floors[id] = &floor{batch: beforeAll(), known: true, ended: one.Ended, plan: one.Plan != ""}
	}
	s.closeLeft(found)
	s.recallQueries(found)
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, one := range found {
		if s.past[id] == nil && !s.live[id] {
			s.remember(*one)
		}
	}
}

// forgetRuns drops the runs that ended too long ago.
func (s *Store) forgetRuns(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := now.Add(-s.options.Keep)
	for id, r := range s.past {
		if last := r.EndedAt; last.Before(oldest) && r.StartedAt.Before(oldest) {
			delete(s.past, id)
		}
	}
}

// Stretch is what the tables have of a run between two instants, up to its newest
// mostRead rows. What was committed in the last minute is not there yet.
func (s *Store) Stretch(ctx context.Context, runID string, from, to time.Time) (health.Stretch, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	out := health.Stretch{From: from, To: to}
	within := span{runID: runID, from: from, to: to}
	err := s.scan(ctx, progressTable, within, func(r *row) bool {
		out.Batches = append(out.Batches, r.several())
		if len(out.Batches) > 2*mostRead {
			out.Batches = newest(out.Batches)
		}
		return true
	})
	if err != nil {
		return out, err
	}
	if out.Batches = newest(out.Batches); len(out.Batches) == mostRead {
		out.Since = out.Batches[0].Start
	}
	err = s.scan(ctx, freshnessTable, within, func(r *row) bool {
		out.Minutes = append(out.Minutes, r.minute())
		return len(out.Minutes) < mostRead
	})
	slices.SortFunc(out.Minutes, func(a, b health.Minute) int { return a.At.Compare(b.At) })
	return out, err
}

func newest(list []health.Several) []health.Several {
	slices.SortFunc(list, func(a, b health.Several) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.ID, b.ID))
	})
	return list[max(0, len(list)-mostRead):]
}

// several is a row of progress.
func (r *row) several() health.Several {
	n := max(1, r.long("batches"))
	each := func(name string) float64 { return r.number(name) / float64(n) }
	b := health.Several{Count: n, Batch: health.Batch{
		ID: r.long("batch_id"), End: r.instant("ended_at"), Rows: float64(r.long("input_rows")) / float64(n),
		Capped: r.bool("capped"), NoData: r.bool("no_data"), Watermark: r.instant("watermark"),
		Dropped: float64(r.long("late_rows")) / float64(n), StateBytes: r.whole("state_bytes"),
	}}
	took := float64(r.long("duration_ms")) / float64(n)
	b.Start = b.End.Add(-time.Duration(took * float64(time.Millisecond)))
	for p, column := range phaseColumns {
		b.Phases[p] = each(column) / 1000
	}
	return b
}

// phaseColumns are the columns of the phases in progress.
var phaseColumns = [health.PhaseCount]string{
	"latest_offset_ms", "query_planning_ms", "read_ms", "compute_ms", "state_commit_ms", "sink_write_ms",
	"log_commit_ms",
}

// minute is a row of freshness_1m.
func (r *row) minute() health.Minute {
	m := health.Minute{
		At: r.instant("minute"), Newest: r.number("newest_age_ms") / 1000,
		OldestUnread: r.number("oldest_unread_age_ms") / 1000, Backlog: r.number("backlog_rows"),
		Arrival: r.number("arrival_rows_per_second"), Delivery: &health.Sketch{},
	}
	var buckets [][2]float64
	if json.Unmarshal([]byte(r.text("sketch")), &buckets) == nil {
		for _, b := range buckets {
			m.Delivery.Add(b[0], uint64(max(0, b[1])))
		}
	}
	return m
}

// span says which rows are looked for: those of a run, "" for all, between two instants;
// which of their columns, nil for all; and whether the newest files come first.
type span struct {
	runID       string
	from, to    time.Time
	columns     []string
	newestFirst bool
}

// may tells by its statistics whether a file can hold such rows.
func (w span) may(f *delta.Add) bool {
	if w.runID == "" {
		return true
	}
	var stats struct{ MinValues, MaxValues map[string]json.RawMessage }
	if json.Unmarshal([]byte(f.Stats), &stats) != nil {
		return true
	}
	bound := func(of map[string]json.RawMessage, column string) string {
		var text string
		if json.Unmarshal(of[column], &text) != nil {
			return ""
		}
		return text
	}
	low, high := bound(stats.MinValues, "run_id"), bound(stats.MaxValues, "run_id")
	first, last := w.from.UTC().Format(time.DateOnly), w.to.UTC().Format(time.DateOnly)
	return (low == "" || low <= w.runID) && (high == "" || high >= w.runID) &&
		bound(stats.MinValues, "day") <= last && bound(stats.MaxValues, "day") >= first
}

// scan visits the rows of a table in the order of its files, until visit is false.
func (s *Store) scan(ctx context.Context, table int, w span, visit func(*row) bool) error {
	t := &s.tables[table]
	place := delta.Table{FS: s.options.Files, Dir: s.dir(t)}
	snapshot, err := place.Load(ctx)
	if delta.IsNotTable(err) {
		return nil // it could not be made yet
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	// A table that waits for its new columns has fewer.
	have := snapshot.Schema.Fields
	names := make([]string, 0, len(have))
	r := &row{at: map[string]int{}}
	for _, f := range have {
		if w.columns == nil || slices.Contains(w.columns, f.Name) {
			r.at[f.Name] = len(names)
			names = append(names, f.Name)
		}
	}
	files := snapshot.Files()
	slices.SortFunc(files, func(a, b *delta.Add) int {
		return cmp.Compare(a.ModificationTime,
			b.ModificationTime)
	})
	if w.newestFirst {
		slices.Reverse(files)
	}
	for _, f := range files {
		if !w.may(f) {
			continue
		}
		for c, err := range snapshot.ReadFile(ctx, f, names) {
			if err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
			if !r.visit(c, w, visit) {
				return nil
			}
		}
	}
	return nil
}

// row is one of a chunk, read by the names of columns; those that are not there are NULL.
type row struct {
	at map[string]int
	c  *chunk.Chunk
	i  int
}

func (r *row) visit(c *chunk.Chunk, w span, visit func(*row) bool) bool {
	r.c = c
	for r.i = range c.Rows {
		if w.runID != "" && (r.text("run_id") != w.runID || !w.holds(r.when())) {
			continue
		}
		if !visit(r) {
			return false
		}
	}
	return true
}

func (w span) holds(at time.Time) bool { return !at.Before(w.from) && !at.After(w.to) }

// when is the instant of a row, its second column.
func (r *row) when() time.Time { return time.UnixMicro(chunk.Values[int64](r.c.Cols[1])[r.i]) }

// column is the column of a name, nil where it has no value.
func (r *row) column(name string) *chunk.Vector {
	at, ok := r.at[name]
	if !ok || r.c.Cols[at].IsNull(r.i) {
		return nil
	}
	return r.c.Cols[at]
}

func (r *row) text(name string) string {
	if v := r.column(name); v != nil {
		return string(v.Bytes(r.i)) // the chunk goes
	}
	return ""
}

func (r *row) long(name string) int64 {
	if v := r.column(name); v != nil {
		return chunk.Values[int64](v)[r.i]
	}
	return 0
}

func (r *row) whole(name string) float64 {
	if r.column(name) == nil {
		return health.Unmeasured().Rows
	}
	return float64(r.long(name))
}

func (r *row) number(name string) float64 {
	if v := r.column(name); v != nil {
		return chunk.Values[float64](v)[r.i]
	}
	return health.Unmeasured().Rows
}

func (r *row) bool(name string) bool {
	v := r.column(name)
	return v != nil && v.Data[r.i] != 0
}

func (r *row) instant(name string) time.Time {
	if v := r.column(name); v != nil && v.Type.Kind == plan.KindTimestamp {
		return time.UnixMicro(chunk.Values[int64](v)[r.i])
	}
	return time.Time{}
}
