package session

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

// rate is a stream of ten rows a second.
func rate() plan.Node {
	return &plan.Read{Format: "rate", Streaming: true, Options: plan.Options{"rowsPerSecond": "10"}}
}

func start(t *testing.T, s *Session, c *plan.StartStream, tags ...string) *stream.Query {
	t.Helper()
	q, err := s.StartStream(t.Context(), c, tags, "operation of "+c.QueryName)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestMemorySinkIsAViewOfTheQuerysName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, vfs.NewMemory())
		s := e.NewSession("u", "s")
		q := start(t, s, &plan.StartStream{Input: rate(), Format: "memory", QueryName: "mem"})
		time.Sleep(3500 * time.Millisecond)
		rows := must(t, s, "SELECT count(*) > 9, min(value) FROM mem")
		if rows[0] != "[true,0]" {
			t.Errorf("got %v", rows)
		}
		if got := must(t, s, "SHOW TABLES"); got[0] != `["","mem",true]` {
			t.Errorf("got %v", got)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The rows stay when the query has ended.
		if rows := must(t, s, "SELECT count(*) > 9 FROM mem"); rows[0] != "[true]" {
			t.Errorf("after stop: got %v", rows)
		}
	})
}

// Spark takes the name from the option, too; options that nobody knows are accepted.
func TestOptionsOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, vfs.NewMemory())
		s := e.NewSession("u", "s")
		c := &plan.StartStream{Input: rate(), Format: "memory",
			Options: plan.Options{"queryname": "mem", "trncate": "false"}}
		q := start(t, s, c)
		if q.Name() != "mem" {
			t.Errorf("the query is called %q", q.Name())
		}
		const note = "the option trncate has no effect: memory does not know it"
		told := 0
		for _, m := range q.Record().Marks() {
			if m.Text == note {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%q was told %d times", note, told)
		}
		c.Options["weir.memory.size"] = "1"
		if _, err := s.StartStream(t.Context(), c, nil, ""); err == nil ||
			!strings.Contains(err.Error(), "weir.memory.size is no option of memory") {
			t.Errorf("got %v", err)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestMissingPathOfAStreamIsToldWhereItWasLookedFor(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	schema := plan.Struct(plan.Col("a", plan.Int))
	_, err := s.StartStream(t.Context(), &plan.StartStream{Format: "noop",
		Input: &plan.Read{Format: "json", Streaming: true, Schema: &schema, Paths: []string{"not/there"}}}, nil, "")
	if want := "path not/there. It was looked for at file:/here/not/there."; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

// Without a checkpointLocation nobody can resume: nothing is made durable.
func TestOnlyChosenCheckpointsAreSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var syncs atomic.Int64
		e := openEngine(t, vfs.NewFaulty(vfs.NewMemory(), func(c vfs.Call) vfs.Fault {
			if c.Op == vfs.OpSync || c.Op == vfs.OpSyncDir {
				syncs.Add(1)
			}
			return vfs.Fault{}
		}))
		s := e.NewSession("u", "s")
		for _, c := range []struct {
			options plan.Options
			synced  bool
		}{{plan.Options{}, false}, {plan.Options{"checkpointLocation": "/here/ck"}, true}} {
			syncs.Store(0)
			q := start(t, s, &plan.StartStream{Input: rate(), Format: "noop", Options: c.options})
			time.Sleep(2500 * time.Millisecond)
			if q.Record().Snapshot().LastBatch == nil {
				t.Fatal("no batch ran")
			}
			if err := q.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := syncs.Load(); got > 0 != c.synced {
				t.Errorf("%v: %d syncs", c.options, got)
			}
		}
	})
}

func TestStartStreamRefusals(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	s := e.NewSession("u", "s")
	must(t, s, "CREATE TEMP VIEW v AS SELECT 1 AS a")
	batch := &plan.Range{End: 3, Step: 1}
	tests := []struct {
		name, condition string
		start           plan.StartStream
	}{
		{"a batch frame", "WRITE_STREAM_NOT_ALLOWED", plan.StartStream{Input: batch, Format: "noop"}},
		{"an unknown mode", "STREAMING_OUTPUT_MODE.INVALID",
			plan.StartStream{Input: rate(), Format: "noop", OutputMode: "upsert"}},
		{"an unknown format", "DATA_SOURCE_NOT_FOUND", plan.StartStream{Input: rate(), Format: "nosuch"}},
		{"a format without a sink", "_LEGACY_ERROR_TEMP_2049", plan.StartStream{Input: rate(), Format: "rate"}},
		{"memory without a name", "_LEGACY_ERROR_TEMP_1194", plan.StartStream{Input: rate(), Format: "memory"}},
		{"an unknown partition column", "_LEGACY_ERROR_TEMP_1196",
			plan.StartStream{Input: rate(), Format: "noop", Partitions: []string{"nope"}}},
		{"complete without an aggregation", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
			plan.StartStream{Input: rate(), Format: "noop", OutputMode: "complete"}},
		{"an interval that is none", "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER",
			plan.StartStream{Input: rate(), Format: "noop", Interval: "soon"}},
		{"months", "", plan.StartStream{Input: rate(), Format: "noop", Interval: "1 month"}},
		{"a view as table", "_LEGACY_ERROR_TEMP_1191", plan.StartStream{Input: rate(), Table: []string{"v"}}},
		{"a table of no schema", "REQUIRES_SINGLE_PART_NAMESPACE",
			plan.StartStream{Input: rate(), Table: []string{"nosuch", "db", "t"}}},
		{"foreachBatch", "", plan.StartStream{Input: rate(), ForeachAll: &plan.PythonFunction{}}},
	}
	for _, test := range tests {
		_, err := s.StartStream(t.Context(), &test.start, nil, "")
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != test.condition {
			t.Errorf("%s: got %v, want %s", test.name, err, test.condition)
		}
	}
	if len(s.Streams()) != 0 {
		t.Error("a refused query is active")
	}
}

func TestQueryNamesAreUniqueInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, vfs.NewMemory())
		a, b := e.NewSession("u", "a"), e.NewSession("u", "b")
		c := &plan.StartStream{Input: rate(), Format: "noop", QueryName: "q"}
		start(t, a, c)
		if _, err := a.StartStream(t.Context(), c, nil, ""); err == nil ||
			!strings.Contains(err.Error(), "already active") {
			t.Errorf("got %v", err)
		}
		start(t, b, c)
		if len(a.Streams()) != 1 || len(b.Streams()) != 1 {
			t.Errorf("got %d and %d queries", len(a.Streams()), len(b.Streams()))
		}
	})
}

func TestReleaseStopsTheSessionsQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, vfs.NewMemory())
		a, b := e.NewSession("u", "a"), e.NewSession("u", "b")
		q := start(t, a, &plan.StartStream{Input: rate(), Format: "noop"})
		other := start(t, b, &plan.StartStream{Input: rate(), Format: "noop"})
		sub := a.Subscribe()
		if err := a.Release(t.Context(), "its session was idle"); err != nil {
			t.Fatal(err)
		}
		<-q.Done()
		if got := q.Record().Snapshot().EndReason; got != "its session was idle" {
			t.Errorf("the query ended because %q", got)
		}
		select {
		case <-other.Done():
			t.Error("the query of another session has ended")
		default:
		}
		if _, ok := a.Stream(q.ID()); ok {
			t.Error("the query is still active")
		}
		if _, ok := a.StreamRun(q.ID(), q.RunID()); !ok {
			t.Error("the ended run is not known any more")
		}
		sub.Close()
	})
}

func TestDetachedQueriesOutliveTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		if err := s.Conf().Set(settings.OnReleaseKey, "detach"); err != nil {
			t.Fatal(err)
		}
		q := start(t, s, &plan.StartStream{Input: rate(), Format: "noop"})
		if err := s.Release(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		select {
		case <-q.Done():
			t.Error("the query has ended")
		default:
		}
	})
}

func TestInterruptStopsTaggedQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		start(t, s, &plan.StartStream{Input: rate(), Format: "noop", QueryName: "one"}, "tag")
		start(t, s, &plan.StartStream{Input: rate(), Format: "noop", QueryName: "two"})
		got, err := s.InterruptTag(t.Context(), "tag")
		if err != nil || len(got) != 1 || got[0] != "operation of one" {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err := s.InterruptTag(t.Context(), "tag"); err != nil || len(got) != 0 {
			t.Errorf("again: got %v, %v", got, err)
		}
		got, err = s.InterruptAll(t.Context())
		if err != nil || len(got) != 1 || got[0] != "operation of two" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestAwaitAnyEndsWithTheFirstQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		q := start(t, s, &plan.StartStream{Input: rate(), Format: "noop"})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.AwaitAny(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it runs: got %v", err)
		}
		go func() { _ = q.Stop(t.Context()) }()
		if err := s.AwaitAny(t.Context()); err != nil {
			t.Errorf("got %v", err)
		}
		// It stays so until the session forgets.
		if err := s.AwaitAny(t.Context()); err != nil {
			t.Errorf("again: got %v", err)
		}
		s.ResetTerminated()
		short, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.AwaitAny(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after reset: got %v", err)
		}
	})
}

func TestCheckpointLocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		s := openEngine(t, fsys).NewSession("u", "a")
		start(t, s, &plan.StartStream{Input: rate(), Format: "noop",
			Options: plan.Options{"checkpointLocation": "/own"}})
		if err := s.Conf().Set(settings.CheckpointKey, "/root"); err != nil {
			t.Fatal(err)
		}
		start(t, s, &plan.StartStream{Input: rate(), Format: "noop", QueryName: "named"})
		start(t, s, &plan.StartStream{Input: rate(), Format: "noop"})
		for _, dir := range []string{"/own/metadata", "/root/named/metadata"} {
			if _, err := fsys.Stat(dir); err != nil {
				t.Error(err)
			}
		}
		if infos, err := fsys.List("/root"); err != nil || len(infos) != 2 {
			t.Errorf("got %v, %v", infos, err)
		}
	})
}

func TestTemporaryCheckpointsGoWithTheQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		s := openEngine(t, fsys).NewSession("u", "a")
		q := start(t, s, &plan.StartStream{Input: rate(), Format: "noop"})
		if infos, err := fsys.List("/data/tmp"); err != nil || len(infos) != 1 {
			t.Errorf("while it runs: got %v, %v", infos, err)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if infos, err := fsys.List("/data/tmp"); err != nil || len(infos) != 0 {
			t.Errorf("got %v, %v", infos, err)
		}
	})
}

// What a sink refuses failed in writing to it, what the rows run into in computing them.
func TestAFailureIsSaidOfWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
		must(t, s, "CREATE TABLE main.default.other (a ARRAY<INT>) USING delta")
		divide, err := s.SQL(t.Context(), "SELECT 1 / (value - value) AS a FROM input", nil, nil,
			map[string]plan.Node{"input": rate()})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			start plan.StartStream
			want  string
		}{
			{plan.StartStream{Input: rate(), Table: []string{"main", "default", "other"},
				Options: plan.Options{"checkpointLocation": "/c"}}, "writing to the sink."},
			{plan.StartStream{Input: divide, Format: "noop"}, "computing."},
		} {
			q := start(t, s, &c.start)
			time.Sleep(3500 * time.Millisecond)
			a := q.Record().Health()
			if a.State != health.Failed || !strings.HasSuffix(a.Sentence, c.want) {
				t.Errorf("%s: %s %s, want %q", c.start.Format, a.State, a.Sentence, c.want)
			}
		}
	})
}
