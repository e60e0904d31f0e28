package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// tape is data outside the machine: it survives crashes and never forgets.
type tape struct {
	mu     sync.Mutex
	values []int64
	gone   int64 // Advance said that values below may be forgotten
}

func (t *tape) put(values ...int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values = append(t.values, values...)
}

func (t *tape) len() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.values))
}

// countSource reads a tape by position, as the memory source of Spark does.
type countSource struct {
	tape  *tape
	name  string
	of    plan.Type
	limit int64
	asked func()                     // at each Latest
	fail  func(from, to int64) error // nil or what Read answers
}

func at(o connector.Offset) int64 {
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func position(n int64) connector.Offset {
	if n == 0 {
		return ""
	}
	return connector.Offset(strconv.FormatInt(n, 10))
}

func (s *countSource) Describe() string { return "Tape[" + s.name + "]" }

func (s *countSource) Latest(
	_ context.Context, start connector.Offset, limit connector.Limit,
) (connector.Offset, error) {
	if s.asked != nil {
		s.asked()
	}
	end := s.tape.len()
	if limit.End != "" {
		end = min(end, at(limit.End))
	}
	if s.limit > 0 && !limit.All {
		end = min(end, at(start)+s.limit)
	}
	return position(end), nil
}

func (s *countSource) Read(_ context.Context, from, to connector.Offset) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		s.tape.mu.Lock()
		values := slices.Clone(s.tape.values)
		gone := s.tape.gone
		s.tape.mu.Unlock()
		if at(from) < gone {
			yield(nil, fmt.Errorf("position %s was advanced over", from))
			return
		}
		if s.fail != nil {
			if err := s.fail(at(from), at(to)); err != nil {
				yield(nil, err)
				return
			}
		}
		for _, v := range values[at(from):at(to)] {
			if !yield(column(s.of, v), nil) {
				return
			}
		}
	}
}

func (s *countSource) Advance(_ context.Context, upTo connector.Offset) error {
	s.tape.mu.Lock()
	defer s.tape.mu.Unlock()
	s.tape.gone = max(s.tape.gone, at(upTo))
	return nil
}

func (s *countSource) Pin(context.Context) (connector.Offset, error) {
	return position(s.tape.len()), nil
}

func (s *countSource) Close() error { return nil }

// noPin hides Pin.
type noPin struct{ connector.Source }

// logSource keeps its own log of ranges, as the file source does: offset k
// stands for log file k, which is written before the batch's offsets.
type logSource struct {
	countSource
	log  connector.Place
	ends []int64 // of each log file
}

func openLogSource(c countSource, log connector.Place) (*logSource, error) {
	s := &logSource{countSource: c, log: log}
	if err := vfs.MkdirDurable(log.FS, log.Dir); err != nil {
		return nil, err
	}
	ids, err := connector.BatchIDs(log)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		data, err := vfs.ReadFile(log.FS, path.Join(log.Dir, strconv.FormatInt(id, 10)))
		if err != nil {
			return nil, err
		}
		end, err := strconv.ParseInt(strings.TrimPrefix(string(data), "v1\n"), 10, 64)
		if err != nil || int64(i) != id || len(s.ends) > 0 && end <= s.ends[i-1] {
			return nil, &plan.Error{Class: plan.ClassJavaState, Msg: fmt.Sprintf("source log %d is damaged", id)}
		}
		s.ends = append(s.ends, end)
	}
	return s, nil
}

func logOffset(o connector.Offset) int {
	if o == "" {
		return -1
	}
	var v struct{ LogOffset *int }
	if json.Unmarshal([]byte(o), &v) != nil || v.LogOffset == nil {
		return -2
	}
	return *v.LogOffset
}

func (s *logSource) check(o connector.Offset) error {
	if k := logOffset(o); k < -1 || k >= len(s.ends) {
		return &plan.Error{Class: plan.ClassJavaState, Msg: fmt.Sprintf("batch %d doesn't exist", k)}
	}
	return nil
}

func (s *logSource) Latest(
	_ context.Context, start connector.Offset, limit connector.Limit,
) (connector.Offset, error) {
	if err := s.check(start); err != nil {
		return "", err
	}
	k := logOffset(start)
	if k+1 == len(s.ends) {
		from, end := int64(0), s.tape.len()
		if k >= 0 {
			from = s.ends[k]
		}
		if s.limit > 0 && !limit.All {
			end = min(end, from+s.limit)
		}
		if end == from {
			return start, nil
		}
		name := path.Join(s.log.Dir, strconv.Itoa(k+1))
		if err := vfs.WriteNew(s.log.FS, name, fmt.Appendf(nil, "v1\n%d", end)); err != nil {
			return "", err
		}
		s.ends = append(s.ends, end)
	}
	return connector.Offset(fmt.Sprintf(`{"logOffset":%d}`, k+1)), nil
}

func (s *logSource) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	if err := errors.Join(s.check(from), s.check(to)); err != nil {
		return chunk.Fail(err)
	}
	return s.countSource.Read(ctx, s.position(from), s.position(to))
}

func (s *logSource) position(o connector.Offset) connector.Offset {
	if k := logOffset(o); k >= 0 {
		return position(s.ends[k])
	}
	return ""
}

func (s *logSource) Advance(ctx context.Context, upTo connector.Offset) error {
	return s.countSource.Advance(ctx, s.position(upTo))
}

// null stands for NULL on a tape.
const null = math.MinInt64

func column(of plan.Type, values ...int64) *chunk.Chunk {
	v := chunk.New(of, len(values))
	for _, x := range values {
		if x == null {
			v.AppendNull()
			continue
		}
		chunk.Append(v, x)
	}
	return &chunk.Chunk{Cols: []*chunk.Vector{v}, Rows: len(values)}
}

// fileSink keeps each batch in a file of its own, once (C4, C5).
type fileSink struct {
	place    connector.Place
	hold     chan struct{}
	stubborn chan struct{}
	wrote    *[]wrote
}

// wrote is a batch that a sink was given, whether or not it got to keep it.
type wrote struct {
	id   int64
	rows string
}

func (s *fileSink) Describe() string { return "Files[" + s.place.Dir + "]" }

func (s *fileSink) Write(ctx context.Context, b connector.Batch) (int64, error) {
	var out []byte
	rows := int64(0)
	for c, err := range b.Rows {
		if err != nil {
			return 0, err
		}
		for _, v := range chunk.Values[int64](c.Cols[0]) {
			out = strconv.AppendInt(append(out, '\n'), v, 10)
		}
		rows += int64(c.Rows)
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if s.stubborn != nil {
		<-s.stubborn
	}
	if s.wrote != nil {
		*s.wrote = append(*s.wrote, wrote{b.ID, string(out)})
	}
	if err := vfs.MkdirDurable(s.place.FS, s.place.Dir); err != nil {
		return 0, err
	}
	err := vfs.WriteNew(s.place.FS, path.Join(s.place.Dir, strconv.FormatInt(b.ID, 10)), out)
	if errors.Is(err, fs.ErrExist) {
		return rows, nil
	}
	return rows, err
}

func (s *fileSink) Close() error { return nil }

// skipSink is a fileSink that knows what it holds.
type skipSink struct{ *fileSink }

func (s skipSink) Holds(_ context.Context, id int64) (bool, error) {
	_, err := s.place.FS.Stat(path.Join(s.place.Dir, strconv.FormatInt(id, 10)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// contents lists what the sink holds, batch by batch.
func contents(t testing.TB, place connector.Place) [][]int64 {
	t.Helper()
	out, err := heldBatches(place)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func heldBatches(place connector.Place) ([][]int64, error) {
	ids, err := connector.BatchIDs(place)
	if err != nil {
		return nil, err
	}
	var out [][]int64
	for i, id := range ids {
		if int64(i) != id {
			return nil, fmt.Errorf("the sink has a gap: %v", ids)
		}
		data, err := vfs.ReadFile(place.FS, path.Join(place.Dir, strconv.FormatInt(id, 10)))
		if err != nil {
			return nil, err
		}
		batch := []int64{}
		for line := range strings.SplitSeq(string(data), "\n") {
			if n, err := strconv.ParseInt(line, 10, 64); err == nil {
				batch = append(batch, n)
			}
		}
		out = append(out, batch)
	}
	return out, nil
}

var ids plan.IDs

func scanOf(name string) *plan.Scan {
	return &plan.Scan{
		Relation: plan.Relation{Format: name}, Streaming: true,
		Attrs: []*plan.Attribute{{Name: "v", Of: plan.Long, ID: ids.Next()}},
	}
}

func unionOf(scans ...*plan.Scan) plan.Node {
	attrs := []*plan.Attribute{{Name: "v", Of: plan.Long, ID: ids.Next()}}
	u := &plan.SetOp{Kind: plan.Union, All: true, Attrs: attrs}
	for _, s := range scans {
		u.Inputs = append(u.Inputs, s)
	}
	return u
}

// rig is a machine with one query on it.
type rig struct {
	fs       vfs.FS
	tapes    map[string]*tape
	limit    int64
	logged   bool // sources keep logs of their own
	noPin    bool
	open     func(countSource) connector.Source // another source over the tape
	skips    bool
	hold     chan struct{}
	stubborn chan struct{} // the sink waits for it, whatever the context says
	wrote    *[]wrote
	asked    func()
	tune     func(*Config) // last word on the configuration
	fail     func(from, to int64) error
	plan     plan.Node
	trigger  Trigger
	conf     map[string]string
	crash    func(step string)
	name     string
	explain  func(plan.Node, bool) string
	bus      *monitor.Bus

	manager  *Manager
	log      *slog.Logger // nil logs nowhere
	registry *monitor.Registry
}

func newRig(fsys vfs.FS) *rig {
	return &rig{
		fs: fsys, tapes: map[string]*tape{"a": {}}, plan: scanOf("a"),
		conf: map[string]string{}, bus: monitor.NewBus(),
	}
}

var (
	checkpointDir = "/ck"
	sinkDir       = "/out"
)

func (r *rig) checkpoint() connector.Place { return connector.Place{FS: r.fs, Dir: checkpointDir} }

func (r *rig) out() connector.Place { return connector.Place{FS: r.fs, Dir: sinkDir} }

func (r *rig) source(
	_ context.Context, _ *connector.Env, s *plan.Scan, log connector.Place,
) (connector.Source, error) {
	c := countSource{
		tape: r.tapes[s.Relation.Format], name: s.Relation.Format, of: s.Attrs[0].Of,
		limit: r.limit, asked: r.asked, fail: r.fail,
	}
	if r.open != nil {
		return r.open(c), nil
	}
	if r.logged {
		return openLogSource(c, log)
	}
	if r.noPin {
		return noPin{&c}, nil
	}
	return &c, nil
}

// scan reads a tape whole, as a static relation.
func (r *rig) scan(_ context.Context, _ *connector.Env, s *plan.Scan) chunk.Rows {
	t := r.tapes[s.Relation.Format]
	return chunk.One(column(s.Attrs[0].Of, t.values...))
}

// config describes a query as the rig stands now; later changes do not reach it.
func (r *rig) config() Config {
	was, conf := *r, maps.Clone(r.conf)
	r = &was
	format := &connector.Format{Source: r.source, Scan: r.scan}
	c := Config{
		Name: r.name, Plan: r.plan, Trigger: r.trigger, Checkpoint: r.checkpoint(),
		OpenSink: func(context.Context, string) (connector.Sink, error) {
			sink := &fileSink{place: r.out(), hold: r.hold, stubborn: r.stubborn, wrote: r.wrote}
			if r.skips {
				return skipSink{sink}, nil
			}
			return sink, nil
		},
		Format: func(string) (*connector.Format, bool) { return format, true },
		Env: &connector.Env{
			Eval: &function.Env{ANSI: true, Zone: time.UTC, Conf: func(string) string { return "" }},
			Conf: func(key string) string { return conf[key] },
		},
		Partitions: 4, SessionID: "s", Bus: r.bus, Explain: r.explain,
	}
	if r.tune != nil {
		r.tune(&c)
	}
	return c
}

func (r *rig) start() (*Query, error) {
	if r.manager == nil {
		r.registry = monitor.NewRegistry()
		r.manager = NewManager(r.registry, Options{
			Log: cmp.Or(r.log, slog.New(slog.DiscardHandler)), Crash: r.crash,
		})
	}
	return r.manager.Start(context.Background(), r.config())
}

// mustStart starts a query that the test does not expect to be refused.
func (r *rig) mustStart(t testing.TB) *Query {
	t.Helper()
	q, err := r.start()
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// listen collects the events of the rig's bus until it is closed.
func (r *rig) listen() *ear {
	e := &ear{sub: r.bus.Subscribe()}
	go func() {
		for {
			event, err := e.sub.Next(context.Background())
			if err == io.EOF {
				return
			}
			e.mu.Lock()
			e.events = append(e.events, event)
			e.mu.Unlock()
			e.sub.Ack()
		}
	}()
	return e
}

type ear struct {
	sub    *monitor.Subscription
	mu     sync.Mutex
	events []monitor.Event
}

// take returns the events since the last take.
func (e *ear) take() []monitor.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.events
	e.events = nil
	return out
}

// file is the content of a file, or the error of reading it.
func (r *rig) file(name string) string {
	data, err := vfs.ReadFile(r.fs, name)
	if err != nil {
		return "! " + err.Error()
	}
	return string(data)
}
