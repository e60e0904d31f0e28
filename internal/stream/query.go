package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

// A Query is one run of a streaming query, active or ended. Any goroutine may
// call it.
type Query struct {
	id, runID string
	config    Config
	settings  settings
	manager   *Manager
	sink      connector.Sink
	record    *monitor.Query
	recorded  atomic.Bool // record is set; the run is active a moment before
	log       *slog.Logger
	gauges    gauges

	displaced string // the query of another name that was stopped for this one

	interrupt context.CancelFunc
	done      chan struct{} // closed when the goroutine is gone
	wake      chan struct{} // holds a token when the loop should look up

	mu       sync.Mutex
	stopping bool // the running batch is interrupted
	draining bool // the running batch is the last
	failure  *plan.Error
	detail   string
	planned  bool // a batch was planned
	// Triggers are numbered from 1. begun is the newest that asked its sources,
	// idle the newest that found nothing to do.
	begun, idle int64
	moved       chan struct{} // closed and replaced when idle changes
}

// ID is the query's id, the same over restarts.
func (q *Query) ID() string { return q.id }

// RunID is the id of this run.
func (q *Query) RunID() string { return q.runID }

// Name is the query's name, "" for none.
func (q *Query) Name() string { return q.config.Name }

// SessionID is the session that started the run.
func (q *Query) SessionID() string { return q.config.SessionID }

// JobTags are the tags of the request that started the run.
func (q *Query) JobTags() []string { return q.config.JobTags }

// Record is the run's status, progress and events.
func (q *Query) Record() *monitor.Query { return q.record }

// Memory is what the run may hold.
func (q *Query) Memory() *chunk.Budget { return q.config.Env.Eval.Memory }

// Done is closed when the run has ended and its terminated event is out.
func (q *Query) Done() <-chan struct{} { return q.done }

// begin registers the run, which posts its started event.
func (q *Query) begin() {
	bus := q.config.Bus
	if bus == nil {
		bus = monitor.NewBus()
	}
	q.record = q.manager.registry.Start(monitor.Run{
		ID: q.id, RunID: q.runID, Name: q.config.Name, SessionID: q.config.SessionID,
		JobTags: q.config.JobTags, StartedAt: time.Now(), Hold: q.config.Hold,
		IdleEvery: max(1, q.settings.idleEvery), Recent: q.settings.recent, Health: q.healthConfig(),
		Application: applicationOf(q.config.Env.Conf("spark.app.name")), Metrics: q.settings.metrics,
		Output: q.config.Output, Displaced: q.displaced, Plan: q.planText(), Settings: q.config.Settings,
	}, bus)
	q.recorded.Store(true)
	for _, note := range q.config.Notes {
		q.record.Mark(health.Mark{At: time.Now(), Kind: "note", Text: note})
		q.log.Warn(note)
	}
}

// exprID is the number of a column in a plan, another one at each start.
var exprID = regexp.MustCompile(`#\d+L?`)

// mostPlan is how much of a plan's text is kept, in bytes.
const mostPlan = 32 << 10

// planText is the plan as it is compared with that of other runs.
func (q *Query) planText() string {
	if q.config.Explain == nil {
		return ""
	}
	_, text, _ := strings.Cut(q.config.Explain(q.config.Plan, false), "\n") // without its heading
	text = strings.TrimSpace(exprID.ReplaceAllString(text, ""))
	return strings.ToValidUTF8(text[:min(len(text), mostPlan)], "")
}

// actingSinks are those that may have acted on a part of a batch, by what they call
// themselves, in the words of health.Config.
var actingSinks = map[string]string{
	"ForeachBatchSink": "foreachBatch", "ForeachWriterTable(": "foreach",
	"org.apache.spark.sql.kafka010.": "kafka",
}

// healthConfig is what judging the query needs to know of its program.
func (q *Query) healthConfig() health.Config {
	t := q.config.Trigger
	c := health.Config{
		Bounded:   t.bounded(),
		Objective: q.settings.objective, CapName: capName(findInputs(q.config.Plan)),
	}
	if t.gridded() {
		c.TriggerEvery = t.Every
	}
	for prefix, kind := range actingSinks {
		if strings.HasPrefix(q.sink.Describe(), prefix) {
			c.Sink = kind
		}
	}
	if held := q.Memory(); held != nil {
		c.StateLimit = float64(held.Limit())
	}
	for _, w := range watermarks(q.config.Plan) {
		c.WatermarkDelay = max(c.WatermarkDelay, time.Duration(w.DelayMs)*time.Millisecond)
	}
	return c
}

// halt interrupts the run.
func (q *Query) halt() {
	q.mu.Lock()
	q.stopping = true
	q.mu.Unlock()
	q.interrupt()
}

// drain ends the run after the batch at hand.
func (q *Query) drain() {
	q.mu.Lock()
	q.draining = true
	q.mu.Unlock()
	q.nudge()
}

func (q *Query) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Query) isStopping() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopping
}

func (q *Query) isDraining() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.draining
}

// Stop interrupts the batch at hand and returns when the run has ended and its
// terminated event is out. An ended query stops at once, whatever its end.
// After spark.sql.streaming.stopTimeout the error is a TimeoutException and the
// run ends later.
func (q *Query) Stop(ctx context.Context) error {
	q.halt()
	q.manager.crash(StepStopping)
	if q.settings.stopWithin > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.settings.stopWithin, errStopTimeout)
		defer cancel()
	}
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
	}
	if context.Cause(ctx) != errStopTimeout {
		return ctx.Err()
	}
	return &plan.Error{
		Class: "java.util.concurrent.TimeoutException",
		Msg: fmt.Sprintf("query %s did not stop within %d ms (spark.sql.streaming.stopTimeout)",
			q.id, q.settings.stopWithin.Milliseconds()),
	}
}

var errStopTimeout = errors.New("stop timeout")

// Await waits for the end of the run. Nil is a stop or the end of its work, a
// *plan.Error its failure, ctx's error that it still runs.
func (q *Query) Await(ctx context.Context) error {
	select {
	case <-q.done:
		return q.result()
	default:
	}
	select {
	case <-q.done:
		return q.result()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// result is Err as an error.
func (q *Query) result() error {
	if err := q.Err(); err != nil {
		return err
	}
	return nil
}

// Err is STREAM_FAILED with its cause, nil while the run is active and when it
// did not fail.
func (q *Query) Err() *plan.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failure
}

// Detail is what Spark appends to the text of a failure: identity, offsets and
// plan, beginning with a line break. "" when the run did not fail.
func (q *Query) Detail() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.detail
}

// ProcessAllAvailable returns when a trigger that began after the call found
// nothing more to do: all that sources had at the call is committed. On an
// ended query it returns at once, with the failure if there is one.
func (q *Query) ProcessAllAvailable(ctx context.Context) error {
	q.mu.Lock()
	want := q.begun + 1
	q.mu.Unlock()
	q.nudge()
	for {
		q.mu.Lock()
		reached, moved := q.idle >= want, q.moved
		q.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-q.done:
			return q.result()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// triggerBegins notes that sources are about to be asked.
func (q *Query) triggerBegins() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begun++
}

// triggerIdles notes that the trigger found nothing to do.
func (q *Query) triggerIdles() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle = q.begun
	close(q.moved)
	q.moved = make(chan struct{})
}

// Explain prints the plan of the last batch.
func (q *Query) Explain(extended bool) string {
	q.mu.Lock()
	planned := q.planned
	q.mu.Unlock()
	if !planned {
		return "No physical plan. Waiting for data."
	}
	if q.config.Explain == nil {
		return ""
	}
	return q.config.Explain(q.config.Plan, extended) + q.watermarkLine()
}

// watermarkLine is where time has come to, for plans that speak of it.
func (q *Query) watermarkLine() string {
	last := q.record.Last()
	if last == nil || last.EventTime == nil {
		return ""
	}
	at := time.UnixMilli(last.EventTime.WatermarkMs).UTC()
	return "Watermark of the last batch: " + at.Format("2006-01-02T15:04:05.000Z") + "\n"
}

// Contents is what a memory sink holds.
func (q *Query) Contents() ([]*chunk.Chunk, bool) {
	sink, ok := q.sink.(connector.Readable)
	if !ok {
		return nil, false
	}
	return sink.Contents(), true
}
