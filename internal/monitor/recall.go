package monitor

import (
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// Why a query ended that nobody meant to end: the reasons of runs that ran when their
// server was killed, or told to stop.
const (
	ServerGone    = "the server ended while it ran"
	ServerStopped = "the server was stopped"
)

// mostRecalled is how many runs of earlier servers a registry has besides its own.
const mostRecalled = 500

// A Recalled is a run of an earlier server that somebody has to be told of: it failed, or
// it ran when its server ended, and was not started again.
type Recalled struct {
	Run
	Sources   []string
	Sink      string
	EndedAt   time.Time
	Failure   *Failure // nil for one that did not fail
	EndReason string
	Cause     health.Cause // what was said of its end, for one that failed
	// Checkpointed says that a later start goes on where the run ended.
	Checkpointed bool
}

// Recall adds runs of earlier servers, unless their queries were started again. They are
// among the queries until that happens, or until they are dismissed; a Tap does not hear
// of them, nor does a listener.
func (r *Registry) Recall(list []Recalled) {
	for i := range list {
		q := recalled(&list[i])
		r.mu.Lock()
		again := slices.ContainsFunc(r.runs, func(other *Query) bool { return q.replacedBy(other) })
		if !again && r.recalled < mostRecalled {
			r.recalled++
			r.runs = slices.Insert(r.runs, r.recalled-1, q)
		}
		q.tap = r.tap
		r.mu.Unlock()
	}
}

// recalled makes a run that has ended.
func recalled(x *Recalled) *Query {
	q := newQuery(x.Run, NewBus(), func(*Query) {})
	q.recalled = true
	q.sources, q.sink, q.endedAt, q.failure = x.Sources, x.Sink, x.EndedAt, x.Failure
	q.reason, q.state, q.status = x.EndReason, Stopped, Status{Message: "Stopped"}
	message := ""
	if x.Failure != nil {
		message = x.Failure.Message
		q.state, q.status.Message = Failed, "Terminated with exception: "+message
	}
	q.follow(nil)
	w := &q.watched
	w.watch.End(x.EndedAt, message)
	w.last = w.watch.Assess(x.EndedAt)
	w.past.track.Note(&w.last, nil)
	w.past.mark(health.Mark{At: x.EndedAt, Kind: string(q.state), Text: w.last.State.Word()})
	q.checkpointed = x.Checkpointed
	a := &w.last
	if x.Failure == nil {
		a.Score = health.LeftScore
		a.Cause = health.LeftCause(x.EndReason, x.EndedAt)
	} else if x.Cause.Sentence != "" {
		reason := a.Reason
		a.Cause = x.Cause
		a.Reason = reason
	}
	return q
}

// replacedBy tells whether another run makes a recalled one no news: it is of the same
// query, or of the same name in the same program with another checkpoint.
func (q *Query) replacedBy(other *Query) bool {
	if other.recalled && other.run.ID != q.run.ID {
		return false
	}
	return other.run.ID == q.run.ID || q.run.Name != "" && other.run.Name == q.run.Name &&
		other.run.Application == q.run.Application
}

// supersede drops the recalled runs that a new one replaces. It requires mu.
func (r *Registry) supersede(by *Query) {
	r.runs = slices.DeleteFunc(r.runs, func(q *Query) bool {
		gone := q.recalled && q.replacedBy(by)
		if gone {
			r.recalled--
		}
		return gone
	})
}

// Recalled tells whether the run is one of an earlier server.
func (q *Query) Recalled() bool { return q.recalled }

// Dismiss takes a query that has ended out of those that are shown, until it is started
// again; false says that it runs, or is dismissed already.
func (q *Query) Dismiss(at time.Time) bool {
	q.mu.Lock()
	if !q.state.ended() || !q.dismissedAt.IsZero() {
		q.mu.Unlock()
		return false
	}
	q.dismissedAt = at
	q.dismissed.Store(true)
	q.mu.Unlock()
	q.Mark(health.Mark{At: at, Kind: "dismissed", Text: "Dismissed"})
	if q.tap != nil {
		q.tap.Dismissed(q)
	}
	return true
}
