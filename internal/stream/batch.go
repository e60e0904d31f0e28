package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

const (
	offsetsName = "offsets"
	commitsName = "commits"
	sourcesName = "sources"
)

// run is the loop of one run of a query; one goroutine owns it.
//
// Naively a batch is: ask the sources how far they are, read up to there, write
// to the sink, remember how far. A crash between the last two repeats the
// batch, and since sources have moved on by then, with other rows under the
// same id: no sink could tell what it has already. So what a batch will read
// is written down first, and what is written down decides.
//
//	trigger:
//	  ranges := admit(ends of the last batch, sources' latest)
//	  if there is nothing to do: idle
//	  write offsets/N {ranges, timestamp, watermark}   durable: Q1
//	  tell the sources that batch N-1 is over          Q4
//	  rows := plan(ranges, timestamp)
//	  sink.Write(N, rows)
//	  watermark := advance(event times seen)
//	  write commits/N {watermark}                      durable: Q2
//	  report progress
//
//	restart: the newest offsets/N has no commits/N? Then the first trigger
//	begins at "rows :=" with what offsets/N says. Else batch N+1.
//
// The subtle part is what may not be decided twice: a replay takes timestamp
// and watermark from the log as well as ranges, asks no source for its latest
// (it may have less by now, or more), and writes no offsets. And commits/N may
// be missing although the sink has the batch: a sink that knows its batches is
// asked before anything is read.
type run struct {
	*Query
	inputs  *inputs
	offsets *batchLog
	commits *batchLog
	// sourceLogs is where sources keep their own logs.
	sourceLogs *lateDirs
	program    *exec.Program
	confs      map[string]string // pinned
	active     bool              // past initialization

	batch     int64  // the one at hand, or to come
	replay    *fixed // of the first trigger after a crash
	watermark watermark
	marks     []*plan.Watermark // of the plan, in its order
	pinned    bool              // AvailableNow with every source able to pin
	ends      []connector.Offset
	held      bool         // the sink may hold batches from an earlier run
	spoilt    bool         // the rows of the batch ended in an error of their own
	purging   <-chan error // of the purge that runs, nil for none
	committal *logEntry    // of the batch at hand, nil when it cannot be known before the end

	// lastWatermark and lastTimestamp are those of the batch before the one at hand.
	lastWatermark, lastTimestamp int64
	memory                       *memory // nil until the plan was compiled
	another                      bool    // the batch before wants one without new data

	profile exec.Profile // of the operators
	status  monitor.Status
	// waitLogged is when it was logged last that a source waits, in seconds.
	waitLogged atomic.Int64

	seen     sync.Mutex        // guards what rows leave behind on their way
	times    []exec.EventTimes // of each mark
	markFrom []*input          // of each mark, the source whose partitions it sees, nil for none
	// partTimes are the newest event times of the batch at hand, by source and its Part.
	partTimes map[*input]map[int]int64
	observed  []monitor.Observation
}

// fixed is what offsets/N says of a batch beside its ranges.
type fixed struct {
	timestampMs, watermarkMs int64
	replay                   bool
	noData                   bool // it runs for the state alone
}

// show replaces the status text and keeps the flags.
func (r *run) show(message string) {
	r.status.Message = message
	r.record.SetStatus(r.status)
}

// loop runs triggers until the query is to end.
func (r *run) loop(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.isDraining() {
			return nil
		}
		if err := r.pinEnds(ctx); err != nil {
			return err
		}
		started := time.Now()
		out, err := r.trigger(ctx, started)
		if err != nil {
			return err
		}
		if r.config.Trigger.finished(out, r.pinned) {
			return nil
		}
		if err := r.pause(ctx, started, out); err != nil {
			return err
		}
	}
}

// pinEnds fixes the ends of an AvailableNow run once; an unfinished batch of an
// earlier run goes first.
func (r *run) pinEnds(ctx context.Context) error {
	if !r.pinned || r.ends != nil || r.replay != nil {
		return nil
	}
	r.ends = make([]connector.Offset, len(r.inputs.list))
	for i, in := range r.inputs.list {
		end, err := in.source.(connector.Pinner).Pin(ctx)
		if err != nil {
			return err
		}
		r.ends[i] = end
	}
	return nil
}

// trigger runs a batch if there is something to do.
func (r *run) trigger(ctx context.Context, started time.Time) (outcome, error) {
	var spent monitor.Durations
	r.status.IsTriggerActive = true
	out := outcome{replay: r.replay != nil}
	at := r.replay
	r.replay = nil
	if at == nil {
		var err error
		if at, err = r.construct(ctx, &spent); err != nil {
			return out, err
		}
	}
	if at == nil {
		err := r.awaitPurge()
		r.idleTrigger(started, &spent)
		return out, err
	}
	out.ran = true
	r.record.Begin(r.batch, started)
	r.status.IsDataAvailable = !at.noData
	if at.noData {
		r.show("No new data but cleaning up state")
	} else {
		r.show("Processing new data")
	}
	wrote, err := r.execute(ctx, at, &spent)
	if err != nil {
		return out, err
	}
	r.manager.crash(StepProgress)
	r.report(started, at, wrote, &spent)
	r.gauges.settle(r.inputs)
	r.inputs.settle()
	r.tellSources(ctx)
	r.another = r.wantsAnother(at.watermarkMs)
	r.lastWatermark = at.watermarkMs
	r.batch++
	r.status.IsTriggerActive = false
	r.show("Waiting for next trigger")
	return out, nil
}

// waits shows that a source waits for the world outside. Any goroutine may call
// it, so it leaves the run's own status alone: the next step shows that again.
func (r *run) waits(source, why string) {
	r.record.SetStatus(monitor.Status{
		Message: "Waiting for source " + source + ": " + why, IsTriggerActive: true,
	})
	const everySeconds = 10
	now := time.Now().Unix()
	if last := r.waitLogged.Load(); now-last >= everySeconds && r.waitLogged.CompareAndSwap(last, now) {
		r.log.Warn("waiting for a source", "source", source, "why", why)
	}
}

// tellSources lets sources tell others how far the query is.
func (r *run) tellSources(ctx context.Context) {
	for _, in := range r.inputs.list {
		f, ok := in.source.(connector.Finisher)
		if !ok {
			continue
		}
		if err := f.Finished(ctx, in.start); err != nil {
			r.log.Warn("a source could not tell how far the query is", "source", in.describe, "err", err)
		}
	}
}

// idleTrigger ends a trigger that found nothing to do.
func (r *run) idleTrigger(started time.Time, spent *monitor.Durations) {
	r.status.IsDataAvailable = false
	r.record.Quiet(started)
	if !r.config.Trigger.gridded() {
		r.show("Waiting for data to arrive")
	}
	r.reportIdle(started, spent)
	r.status.IsTriggerActive = false
	if r.config.Trigger.gridded() {
		r.show("Waiting for next trigger")
	} else {
		r.show("Waiting for data to arrive")
	}
	r.triggerIdles()
}

// construct decides the next batch and fixes it; nil when there is none.
func (r *run) construct(ctx context.Context, spent *monitor.Durations) (*fixed, error) {
	if err := r.checkMarks(); err != nil {
		return nil, err
	}
	r.triggerBegins()
	began := time.Now()
	latest, err := r.askSources(ctx)
	spent.Add(monitor.LatestOffset, time.Since(began))
	if err != nil {
		return nil, err
	}
	a := admit(r.inputs.starts(), latest, r.another)
	if a.lost >= 0 {
		in := r.inputs.list[a.lost]
		return nil, illegalState("%s has nothing, but the checkpoint was read up to %s", in.describe, in.start)
	}
	if !a.run {
		return nil, nil
	}
	for i, in := range r.inputs.list {
		in.end = a.end[i]
	}
	r.manager.crash(StepAdmitted)
	began = time.Now()
	at := &fixed{timestampMs: began.UnixMilli(), watermarkMs: r.watermark.ms, noData: !a.newData}
	if at.timestampMs == r.lastTimestamp {
		at.timestampMs++ // checkOrder tells batches apart by it
	}
	r.lastTimestamp = at.timestampMs
	err = r.fix(ctx, at)
	spent.Add(monitor.WalCommit, time.Since(began))
	return at, err
}

// askSources asks each source how far a batch may go.
func (r *run) askSources(ctx context.Context) ([]connector.Offset, error) {
	latest := make([]connector.Offset, len(r.inputs.list))
	for i, in := range r.inputs.list {
		r.show("Getting offsets from " + in.describe)
		limit := connector.Limit{All: r.config.Trigger.unlimited(r.pinned)}
		if r.ends != nil {
			// A source that pinned "" keeps to its end by itself.
			limit.End = r.ends[i]
		}
		var err error
		if limit.End != "" && limit.End == in.start {
			latest[i] = limit.End
		} else if latest[i], err = in.source.Latest(ctx, in.start, limit); err != nil {
			return nil, err
		}
		if source, ok := in.source.(connector.Reporter); ok {
			if in.latest, err = source.ReportLatest(ctx); err != nil {
				return nil, err
			}
		}
	}
	return latest, nil
}

// fix writes offsets/N, tells the sources that the batch before is over, and
// has the logs purged.
func (r *run) fix(ctx context.Context, at *fixed) error {
	r.show("Writing offsets to log")
	entry := offsetEntry{
		watermarkMs: at.watermarkMs, timestampMs: at.timestampMs,
		confs: r.confs, sources: r.inputs.logged(),
	}
	if err := r.awaitPurge(); err != nil {
		return err
	}
	if err := r.advanceLogs(entry.encode()); err != nil {
		return err
	}
	r.manager.crash(StepAdvancing)
	for _, in := range r.inputs.list {
		if in.start == "" {
			continue
		}
		if err := in.source.Advance(ctx, in.start); err != nil {
			return err
		}
	}
	r.startPurge(r.batch - r.settings.retain)
	return nil
}

// startPurge removes the log files of batches before keep while the batch at
// hand runs: removing a file may take as long as writing one. One purge runs at
// a time, and awaitPurge returns its error.
func (r *run) startPurge(keep int64) {
	offsets, commits := r.offsets.expired(keep), r.commits.expired(keep)
	if len(offsets)+len(commits) == 0 {
		r.manager.crash(StepPurging)
		return
	}
	done := make(chan error, 1)
	r.purging = done
	go func() {
		err := r.offsets.remove(offsets)
		if err == nil {
			r.manager.crash(StepPurging)
			err = r.commits.remove(commits)
		}
		done <- err
	}()
}

// awaitPurge waits for the purge that runs, if one does.
func (r *run) awaitPurge() error {
	if r.purging == nil {
		return nil
	}
	err := <-r.purging
	r.purging = nil
	return err
}

// execute runs the batch at hand into the sink and commits it. It returns the
// sink's number of rows.
func (r *run) execute(ctx context.Context, at *fixed, spent *monitor.Durations) (int64, error) {
	for _, in := range r.inputs.list {
		in.rows.Store(0)
	}
	clear(r.times)
	clear(r.partTimes)
	r.observed = nil
	spent.Add(monitor.GetBatch, 0)
	began := time.Now()
	r.record.Flight().Enter(health.QueryPlanning)
	if err := r.plan(ctx, at); err != nil {
		return 0, err
	}
	spent.Add(monitor.QueryPlanning, time.Since(began))

	began = time.Now()
	r.record.Flight().Enter(health.Compute)
	wrote, err := r.addBatch(ctx, at)
	spent.Add(monitor.AddBatch, time.Since(began))
	if err != nil {
		return 0, err
	}
	// A sink may swallow the interruption; what it was given is not the batch.
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.manager.crash(StepSinkDone)

	began = time.Now()
	r.record.Flight().Enter(health.LogCommit)
	delays := make([]int64, len(r.marks))
	for i, w := range r.marks {
		delays[i] = w.DelayMs
	}
	r.watermark = r.watermark.advance(r.times, delays)
	if err := r.logCommit(); err != nil {
		return 0, err
	}
	spent.Add(monitor.CommitOffsets, time.Since(began))
	r.manager.crash(StepCommitted)
	return wrote, nil
}

// plan compiles the query when the first batch needs it.
func (r *run) plan(ctx context.Context, at *fixed) error {
	if r.program != nil {
		return nil
	}
	if err := r.checkProvider(); err != nil {
		return err
	}
	env := r.eval(at)
	program, err := exec.BuildStream(r.config.Plan, env, exec.Streaming{
		Mode: r.config.Mode, Describe: exec.Describing(ctx, r.config.Python, env.Schema), Placement: r.placement(),
	})
	if err != nil {
		return err
	}
	r.program = program
	if err := r.recollect(); err != nil {
		return err
	}
	r.mu.Lock()
	r.planned = true
	r.mu.Unlock()
	return nil
}

// placement is what the sink makes of partitions.
func (r *run) placement() chunk.Placement {
	if p, ok := r.sink.(connector.Placer); ok {
		return p.Placement()
	}
	return chunk.PartsSeen
}

// eval is the session's environment with the batch's time in it.
func (r *run) eval(at *fixed) *function.Env {
	env := *r.config.Env.Eval
	env.Now = at.timestampMs * int64(time.Millisecond/time.Microsecond)
	env.Planned = time.Now().UnixMicro()
	return &env
}

// addBatch writes the batch, unless the sink holds it already.
func (r *run) addBatch(ctx context.Context, at *fixed) (int64, error) {
	if sink, ok := r.sink.(connector.Skipper); ok && r.held {
		holds, err := sink.Holds(ctx, r.batch)
		if err != nil {
			return 0, err
		}
		if holds && !at.replay {
			return 0, illegalState("%s holds batch %d already, which this checkpoint has not run: it belongs to "+
				"another query or to a lost checkpoint, and writing on would drop rows", r.sink.Describe(), r.batch)
		}
		if holds {
			r.log.Info("the sink holds the replayed batch, it is skipped", "batch", r.batch)
			return monitor.UncountedRows, r.redo(ctx, at)
		}
	}
	r.held = false // from here on the sink holds what this run wrote
	r.spoilt = false
	parts := 0
	wrote, err := r.sink.Write(ctx, connector.Batch{
		ID: r.batch, Rows: r.watched(r.rows(ctx, at, func(n int) { parts = n })),
		Parts: func() int { return max(1, parts) },
	})
	if err == nil && !r.memory.committed(r.batch) {
		err = fmt.Errorf("%s did not read batch %d to its end", r.sink.Describe(), r.batch)
	}
	if err != nil && !r.spoilt { // the rows were well: it is the sink that refused them
		r.record.Flight().Enter(health.SinkWrite)
	}
	return wrote, err
}

// rows runs the program over the batch at hand. parts is told of their partitions.
func (r *run) rows(ctx context.Context, at *fixed, parts func(n int)) chunk.Rows {
	run := &exec.Run{
		Eval: r.eval(at), Open: r.openScan, Observe: r.observe, EventTimes: r.eventTimes,
		Partitions: r.partitions(), Parallelism: r.config.Env.Parallelism, Python: r.config.Python, Parts: parts,
		Profile: &r.profile,
	}
	if len(r.memory.stores) == 0 {
		return r.program.Run(ctx, run)
	}
	run.Stateful = r.memory.begin(r.lastWatermark, at.watermarkMs)
	return r.remembering(r.program.Run(ctx, run))
}

// redo computes a batch that the sink holds already, for the state alone.
func (r *run) redo(ctx context.Context, at *fixed) error {
	if len(r.memory.stores) == 0 {
		return nil
	}
	for _, err := range r.rows(ctx, at, nil) {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watched passes rows on and marks when the first came out.
func (r *run) watched(rows chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err == nil {
				r.manager.crash(StepOperatorDone)
			} else {
				r.spoilt = true
			}
			if !yield(c, err) {
				return
			}
		}
		r.record.Flight().Enter(health.SinkWrite)
	}
}

// openScan yields what a place of the plan reads in the batch at hand: a range
// of a source, or a static relation as it is now.
func (r *run) openScan(ctx context.Context, s *plan.Scan) chunk.Rows {
	if f, ok := r.inputs.feeds[s]; ok {
		return f.rows(ctx, func() { r.manager.crash(StepSourceRead) })
	}
	format, ok := r.config.Format(s.Relation.Format)
	if !ok || format.Scan == nil {
		return chunk.Fail(plan.Unsupported(fmt.Sprintf("reading format %s", s.Relation.Format)))
	}
	return format.Scan(ctx, r.config.Env, s)
}
