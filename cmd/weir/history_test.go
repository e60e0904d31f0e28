package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// What a query did is read in SQL after the server has ended, and by nobody changed.
func TestHistoryOutlivesTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off",
		logLevel: slog.LevelError + 4}, grpcFree)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	q := s.engine.Monitor().Start(monitor.Run{ID: "an-id", RunID: "a-run", Name: "orders", StartedAt: now},
		monitor.NewBus())
	q.Activate([]string{"a source"}, "a sink")
	p := &monitor.Progress{Sources: []monitor.Source{{Description: "a source", NumInputRows: 42}}}
	q.Record(p, monitor.Trigger{Start: now, End: now})
	q.Committed(monitor.BatchOf(p, now, now))
	q.Terminate(now, &monitor.Failure{Message: "it broke", Condition: "DIVIDE_BY_ZERO"})
	if err := s.stop(context.Background()); err != nil {
		t.Fatal(err)
	}

	for statement, want := range map[string]string{
		"SELECT query_name, input_rows FROM system.streaming.progress":                        "42",
		"SELECT error_condition FROM system.streaming.runs WHERE state = 'failed'":            "DIVIDE_BY_ZERO",
		"SHOW TABLES IN system.streaming":                                                     "health_events",
		"SELECT count(*) AS n FROM system.streaming.alerts WHERE rule = 'no such rule'":       "0",
		"SELECT sink FROM system.streaming.queries JOIN system.streaming.runs USING (run_id)": "a sink",
	} {
		if out := must(t, sqlCommand(), "--dir", dir, statement); !strings.Contains(out, want) {
			t.Errorf("%s: %s, want %s", statement, out, want)
		}
	}
	place := filepath.Join(dir, "history", "progress")
	for _, statement := range []string{
		"DELETE FROM system.streaming.progress WHERE input_rows = 42",
		"UPDATE system.streaming.progress SET input_rows = 1",
		"INSERT INTO system.streaming.runs (run_id) VALUES ('x')",
		"INSERT INTO delta.`" + place + "` (run_id) VALUES ('x')",
		"TRUNCATE TABLE system.streaming.progress",
		"ALTER TABLE system.streaming.progress SET TBLPROPERTIES ('a' = 'b')",
		"ALTER TABLE system.streaming.progress RENAME TO system.streaming.other",
		"DROP TABLE system.streaming.progress",
		"CREATE TABLE system.streaming.mine (a INT) USING delta",
		"CREATE OR REPLACE TABLE system.streaming.progress (a INT) USING delta",
		"DROP SCHEMA system.streaming CASCADE",
		"CREATE SCHEMA system.mine",
		"DROP CATALOG system CASCADE",
	} {
		if out, err := command(t, sqlCommand(), "--dir", dir, statement); err == nil ||
			!strings.Contains(err.Error(), "system") {
			t.Errorf("%s: %v %s, want a refusal that names system", statement, err, out)
		}
	}
	if out := must(t, sqlCommand(), "--dir", dir, "SELECT sum(input_rows) AS n FROM system.streaming.progress"); !strings.
		Contains(out, "42") {
		t.Error(out)
	}
}

// A server that is killed cannot tell of its queries. The next one on its directory does,
// at the pages and in the terminal, until somebody dismisses them.
func TestQueriesOfAKilledServerAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	begin := func() *server {
		s, err := startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off",
			logLevel: slog.LevelError + 4}, grpcFree)
		if err != nil {
			t.Fatal(err)
		}
		s.history.Ready()
		return s
	}
	end := func(s *server) {
		if err := s.stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	s := begin()
	s.engine.Monitor().Start(monitor.Run{ID: "an-id", RunID: "a-run", Name: "orders", StartedAt: time.Now()},
		monitor.NewBus())
	end(s) // its end is not told: to the next server it is as after kill -9
	s = begin()
	if out := must(t, statusCommand(), "--dir", dir); !strings.Contains(out, "Stopped") ||
		!strings.Contains(out, "orders") || !strings.Contains(out, "its program has not started it again") {
		t.Errorf("weir status: %s", out)
	}
	s.engine.Monitor().Find("an-id").Dismiss(time.Now())
	end(s)
	s = begin()
	defer end(s)
	if out := must(t, statusCommand(), "--dir", dir); !strings.Contains(out, "No query has been started yet.") {
		t.Errorf("weir status after it was dismissed: %s", out)
	}
	out := must(t, sqlCommand(), "--dir", dir, "SELECT state, end_reason FROM system.streaming.runs ORDER BY at")
	if strings.Count(out, monitor.ServerGone) != 2 || strings.Count(out, "running") != 1 {
		t.Errorf("closed once and dismissed once: %s", out)
	}
}
