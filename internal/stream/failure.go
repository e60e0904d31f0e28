package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
)

// run is the query's goroutine.
func (q *Query) run(ctx context.Context) {
	defer close(q.done)
	defer q.interrupt()
	r := &run{Query: q, inputs: &inputs{}}
	err := r.guarded(ctx)
	if err != nil && q.isStopping() {
		if !errors.Is(err, context.Canceled) {
			q.log.Warn("the query was stopped while a batch failed", "batch", r.batch, "err", err)
		}
		err = nil
	}
	var told *monitor.Failure
	if err != nil {
		told = q.fail(r, err)
	} else {
		q.log.Info("query ended")
	}
	q.manager.leave(q)
	q.record.Terminate(time.Now(), told)
	if q.config.Temporary && err == nil {
		q.manager.discard(q.config.Checkpoint)
	}
}

// guarded runs the loop. A panic is a bug of ours or of a connector's: it ends
// this query and no other.
func (r *run) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic in a query", "batch", r.batch, "panic", p, "stack", string(debug.Stack()))
			err = plan.NewError(plan.ClassSpark, "INTERNAL_ERROR",
				fmt.Sprintf("the query ran into a bug of weir: %v.", p), "message", fmt.Sprint(p))
		}
	}()
	defer r.close()
	r.inputs = findInputs(r.config.Plan)
	if err := r.open(ctx); err != nil {
		return err
	}
	if err := r.loop(ctx); err != nil {
		return err
	}
	return r.awaitPurge()
}

// fail keeps a failure and returns what listeners are told.
func (q *Query) fail(r *run, err error) *monitor.Failure {
	cause := causeOf(err)
	message := cause.Error()
	failed := plan.NewError(plan.ClassStreamingQuery, "STREAM_FAILED",
		fmt.Sprintf("Query [id = %s, runId = %s] terminated with exception: %s", q.id, q.runID, message),
		"id", q.id, "runId", q.runID, "message", message)
	failed.Cause = cause
	q.mu.Lock()
	q.failure, q.detail = failed, r.describe()
	q.mu.Unlock()
	q.log.Error("query failed", "batch", r.batch, "err", err)
	return &monitor.Failure{
		Message: message, Trace: cause.Class + ": " + message, Condition: cause.Condition,
	}
}

// causeOf is an error as Spark would class it.
func causeOf(err error) *plan.Error {
	var known *plan.Error
	if errors.As(err, &known) {
		return known
	}
	class := plan.ClassSpark
	var onPath *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		class = "java.io.FileNotFoundException"
	case errors.As(err, &onPath):
		class = "java.io.IOException"
	case errors.Is(err, context.DeadlineExceeded):
		class = "java.util.concurrent.TimeoutException"
	}
	return &plan.Error{Class: class, Msg: err.Error(), Cause: err}
}

// describe is Query.Detail of a run that just failed.
func (r *run) describe() string {
	var b strings.Builder
	b.WriteString("\n=== Streaming Query ===\nIdentifier: ")
	if r.config.Name != "" {
		b.WriteString(r.config.Name + " ")
	}
	state := "INITIALIZING"
	if r.active {
		state = "ACTIVE"
	}
	fmt.Fprintf(&b, "[id = %s, runId = %s]\n", r.id, r.runID)
	committed := r.offsetText(func(in *input) connector.Offset { return in.start })
	available := r.offsetText(func(in *input) connector.Offset { return in.end })
	fmt.Fprintf(&b, "Current Committed Offsets: %s\nCurrent Available Offsets: %s\n", committed, available)
	fmt.Fprintf(&b, "\nCurrent State: %s\nThread State: RUNNABLE", state)
	if text := r.planText(); r.active && text != "" {
		b.WriteString("\n\nLogical Plan:\n" + text + "\n")
	}
	return b.String()
}

// planText is the plan for the text of a failure, which a bug in printing it
// must not swallow.
func (r *run) planText() (text string) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic while printing a plan", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if r.config.Explain == nil {
		return ""
	}
	return r.config.Explain(r.config.Plan, false)
}

func (r *run) offsetText(of func(*input) connector.Offset) string {
	var parts []string
	for _, in := range r.inputs.list {
		if at := of(in); at != "" {
			parts = append(parts, in.describe+": "+string(at))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// close closes sources and sink. What they did for batches is done: an error
// here is litter, not loss.
func (r *run) close() {
	if err := r.awaitPurge(); err != nil {
		r.log.Warn("purge logs", "err", err)
	}
	r.dropCommittal()
	if err := r.memory.close(); err != nil {
		r.log.Warn("the state was not closed", "err", err)
	}
	if !r.rest() {
		r.gauges.close()
		var sources []connector.Source
		for _, in := range r.inputs.list {
			if in.source != nil {
				sources = append(sources, in.source)
			}
		}
		r.closeSources(sources)
	}
	r.closeSink()
}

func (q *Query) closeSources(list []connector.Source) {
	for _, s := range list {
		if err := s.Close(); err != nil {
			q.log.Warn("close source", "source", s.Describe(), "err", err)
		}
	}
}

func (q *Query) closeSink() {
	if err := q.sink.Close(); err != nil {
		q.log.Warn("close sink", "sink", q.sink.Describe(), "err", err)
	}
}
