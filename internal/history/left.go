package history

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	// tracedWithin is how long the last records of runs whose server was killed are looked for.
	tracedWithin = 5 * time.Second
	// newsFor is how long a failure is news over restarts of the server, and the end of a
	// query that was young and without a checkpoint.
	newsFor = 24 * time.Hour
	// worthSpan is how long a query must have run to be missed later than that.
	worthSpan = 10 * time.Minute
)

// ownEngine tells whether a run ended with its server: one that runs elsewhere goes on.
func (r *Run) ownEngine() bool { return r.Engine == "" || strings.HasPrefix(r.Engine, "weir") }

// Left tells whether the run ran when its server ended.
func (r *Run) Left() bool {
	return r.Ended && r.State == monitor.Stopped && r.ownEngine() &&
		(r.EndReason == monitor.ServerGone || strings.HasPrefix(r.EndReason, monitor.ServerStopped))
}

// checkpointed tells whether the run had a checkpoint of its user's, so that a later start
// goes on with it.
func (r *Run) checkpointed() bool {
	return slices.ContainsFunc(r.Settings, func(s monitor.Setting) bool {
		return s.Name == "checkpoint" && s.Value != "" && s.Value != monitor.NoCheckpoint
	})
}

// tellAgain writes a row of a run of which the tables have some.
func (s *Store) tellAgain(row lifeRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.past[row.run.RunID]; old != nil {
		old.DismissedAt = row.run.DismissedAt
	}
	if len(s.again) >= mostWaiting {
		s.dropped++
		return
	}
	s.again = append(s.again, row)
}

// closeLeft ends the runs whose end nobody told, since their server was killed: at the
// time of their last record. The next server finds that written.
func (s *Store) closeLeft(found map[string]*Run) {
	if s.options.Mark != nil { // what is read from elsewhere goes on there
		return
	}
	open := map[string]*Run{}
	s.mu.Lock()
	for id, r := range found {
		if !r.Ended && !s.live[id] && r.ownEngine() {
			open[id] = r
		}
	}
	s.mu.Unlock()
	if len(open) == 0 {
		return
	}
	s.trace(open)
	now := time.Now()
	last := time.Time{} // they ended together, and the server lived when the newest was told of
	for _, r := range open {
		last = latest(last, latest(r.EndedAt, r.StartedAt))
	}
	for _, r := range open {
		r.Ended, r.State, r.EndReason = true, monitor.Stopped, monitor.ServerGone
		r.EndedAt = last
		s.tellAgain(lifeRow{now, monitor.Snapshot{
			Run: monitor.Run{ID: r.ID, RunID: r.RunID, Name: r.Name, StartedAt: r.StartedAt}, State: r.State,
			EndedAt: r.EndedAt, EndReason: r.EndReason,
		}})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// trace fills in when there was a record of runs last, as far as that is found in time.
func (s *Store) trace(open map[string]*Run) {
	ctx, cancel := context.WithTimeout(context.Background(), tracedWithin)
	defer cancel()
	for table, column := range map[int]string{progressTable: "ended_at", freshnessTable: "minute"} {
		missing := len(open)
		seen := map[string]bool{}
		w := span{columns: []string{"run_id", column}, newestFirst: true}
		err := s.scan(ctx, table, w, func(row *row) bool {
			id := row.text("run_id")
			r := open[id]
			if r == nil {
				return missing > 0
			}
			if !seen[id] {
				seen[id] = true
				missing--
			}
			r.EndedAt = latest(r.EndedAt, row.instant(column))
			return true
		})
		if err != nil && ctx.Err() == nil {
			s.failed(err)
		}
	}
}

// recallQueries tells the registry of queries of earlier servers that failed, or ran when
// their server ended, and were not started again.
func (s *Store) recallQueries(found map[string]*Run) {
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b *Run) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	seen := map[string]bool{}
	var missed []*Run
	for _, r := range list {
		named := "\x00" + r.Application + "\x00" + r.Name
		again := seen[r.ID] || r.Name != "" && seen[named]
		seen[r.ID], seen[named] = true, true
		if !again && s.missed(r) {
			missed = append(missed, r)
		}
	}
	if len(missed) == 0 {
		return
	}
	causes := s.causesOf(missed)
	slices.Reverse(missed)
	var out []monitor.Recalled
	for _, r := range missed {
		out = append(out, r.recalled(causes[r.RunID]))
	}
	s.options.Registry.Recall(out)
}

// missed tells whether somebody has to be told of a run of an earlier server.
func (s *Store) missed(r *Run) bool {
	if !r.Ended || !r.DismissedAt.IsZero() || !r.ownEngine() {
		return false
	}
	recent := s.began.Sub(r.EndedAt) < newsFor
	if r.State == monitor.Failed {
		return recent
	}
	return r.Left() && (recent || r.checkpointed() || r.EndedAt.Sub(r.StartedAt) >= worthSpan)
}

// recalled is the run for the registry.
func (r *Run) recalled(cause health.Cause) monitor.Recalled {
	out := monitor.Recalled{
		Run: monitor.Run{ID: r.ID, RunID: r.RunID, Name: r.Name, Application: r.Application,
			StartedAt: r.StartedAt, Plan: r.Plan, Settings: r.Settings},
		Sink: r.Sink, EndedAt: r.EndedAt, EndReason: r.EndReason, Cause: cause,
		Checkpointed: r.checkpointed(),
	}
	if r.Sources != "" {
		out.Sources = strings.Split(r.Sources, "\n")
	}
	if r.State == monitor.Failed {
		out.Failure = &monitor.Failure{Condition: r.Condition, Message: r.Message}
	}
	return out
}

// causesOf is what was said of runs when they failed.
func (s *Store) causesOf(list []*Run) map[string]health.Cause {
	out := map[string]health.Cause{}
	wanted := map[string]bool{}
	for _, r := range list {
		if r.State == monitor.Failed {
			wanted[r.RunID] = true
		}
	}
	if len(wanted) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracedWithin)
	defer cancel()
	w := span{newestFirst: true}
	err := s.scan(ctx, healthTable, w, func(row *row) bool {
		id := row.text("run_id")
		if !wanted[id] || row.text("to_state") != string(health.Failed) {
			return len(out) < len(wanted)
		}
		c := health.Cause{Sentence: row.text("reason")}
		var evidence struct{ Why, Todo []string }
		if json.Unmarshal([]byte(row.text("evidence")), &evidence) == nil {
			c.Why, c.Todo = evidence.Why, evidence.Todo
		}
		out[id] = c
		return true
	})
	if err != nil && ctx.Err() == nil {
		s.failed(err)
	}
	return out
}
