package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// open opens sources and logs and finds out where the run begins.
func (r *run) open(ctx context.Context) error {
	r.show("Initializing sources")
	if err := r.openLogs(); err != nil {
		return err
	}
	facts, err := r.find()
	if err != nil {
		return err
	}
	r.sourceLogs = &lateDirs{
		FS: r.config.Checkpoint.FS, owed: logDirs(r.config.Checkpoint, len(r.inputs.list)),
	}
	if err := r.inputs.open(ctx, &r.config, r.sourceLogs, r.waits); err != nil {
		return err
	}
	if r.config.Refuse != nil {
		if err := r.config.Refuse(); err != nil {
			return err
		}
	}
	if s, ok := r.sink.(connector.Beginner); ok {
		if err := s.Begin(); err != nil {
			return err
		}
	}
	r.pinned = r.config.Trigger.Kind == plan.AvailableNow && r.canPin()
	r.active = true
	r.record.Activate(r.inputs.descriptions(), r.sink.Describe())
	for _, f := range r.inputs.feeds {
		f.flight = r.record.Flight()
	}
	r.record.Resumes(facts.commits)
	from, refused := resume(facts, r.inputs.names())
	if refused != nil {
		return explained(r.config.Checkpoint, refused)
	}
	if from.warn != "" {
		r.log.Warn("the commit log has a gap", "why", from.warn)
	}
	if err := r.startFrom(from); err != nil {
		return err
	}
	if s, ok := r.sink.(connector.Following); ok {
		next, err := resumedAt(r.config.Checkpoint)
		if err != nil {
			return err
		}
		if err := s.Follow(facts.commits, next); err != nil {
			return err
		}
	}
	r.gauges.open(r.inputs)
	opened := time.Now()
	r.profile.Moved = r.record.Flight().Step
	r.profile.Now = func() int64 { return int64(time.Since(opened)) }
	r.log.Info("query runs", "batch", r.batch, "replay", from.replay)
	return nil
}

// startFrom puts the run where it begins.
func (r *run) startFrom(from resumption) error {
	session := map[string]string{partitionsKey: strconv.Itoa(r.config.Partitions)}
	for key, value := range r.config.Pinned {
		session[key] = value
	}
	if r.config.Partitions > 0 {
		session[partitionsKey] = strconv.Itoa(r.config.Partitions)
	}
	r.confs = pin(session, from.confs)
	r.marks = watermarks(r.config.Plan)
	r.times = make([]exec.EventTimes, len(r.marks))
	r.markFrom = make([]*input, len(r.marks))
	for i, w := range r.marks {
		r.markFrom[i] = r.inputs.markSource(w)
	}
	r.partTimes = map[*input]map[int]int64{}
	r.watermark = newWatermark(r.confs[policyKey], len(r.marks), from.watermarkMs)
	r.batch, r.held, r.lastWatermark = from.batch, true, from.beforeMs
	r.lastTimestamp = from.timestampMs
	if from.replay {
		r.replay = &fixed{timestampMs: from.timestampMs, watermarkMs: from.watermarkMs, replay: true}
	}
	return r.inputs.restore(from.start, from.end)
}

func (r *run) openLogs() error {
	if _, err := vfs.CleanTemps(r.config.Checkpoint.FS, r.config.Checkpoint.Dir); err != nil {
		return fmt.Errorf("clean %s: %w", r.config.Checkpoint.Dir, err)
	}
	offsets, commits := below(r.config.Checkpoint, offsetsName), below(r.config.Checkpoint, commitsName)
	offsets.FS = r.manager.stepped(offsets.FS, fileSteps{
		written: StepOffsetsTemp, synced: StepOffsetsSynced, named: StepOffsetsNamed, durable: StepOffsetsDone,
	}.all)
	var err error
	if r.offsets, err = openBatchLog(offsets); err != nil {
		return err
	}
	r.commits, err = openBatchLog(commits)
	return err
}

// find reads what resume needs.
func (r *run) find() (found, error) {
	f, err := findIn(r.config.Checkpoint, r.offsets, r.commits)
	if err == nil && f.state && keepsState(r.config.Plan) {
		err = checkState(below(r.config.Checkpoint, stateName))
	}
	return f, err
}

// findIn reads the ends of the logs, and whether there is state.
func findIn(checkpoint connector.Place, offsets, commits *batchLog) (found, error) {
	f := found{newest: offsets.latest(), commits: commits.latest()}
	var err error
	if f.newest >= 0 {
		if f.offsets, err = readOffsets(offsets, f.newest); err != nil {
			return f, err
		}
	}
	for id, entry := range map[int64]**offsetEntry{f.newest - 1: &f.before, f.newest - 2: &f.earlier} {
		if !offsets.has(id) {
			continue
		}
		if *entry, err = readOffsets(offsets, id); err != nil {
			return f, err
		}
	}
	if f.commits >= 0 {
		data, err := commits.read(f.commits)
		if err != nil {
			return f, fmt.Errorf("read commits/%d: %w", f.commits, err)
		}
		if f.commit, err = parseCommit(commits.path(f.commits), data); err != nil {
			return f, err
		}
	}
	f.state, err = hasFiles(below(checkpoint, stateName))
	return f, err
}

func readOffsets(log *batchLog, id int64) (*offsetEntry, error) {
	data, err := log.read(id)
	if err != nil {
		return nil, fmt.Errorf("read offsets/%d: %w", id, err)
	}
	return parseOffsets(log.path(id), data)
}

func hasFiles(place connector.Place) (bool, error) {
	infos, err := place.FS.List(place.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list %s: %w", place.Dir, err)
	}
	return len(infos) > 0, nil
}

// canPin tells whether every source can name its end.
func (r *run) canPin() bool {
	for _, in := range r.inputs.list {
		if _, ok := in.source.(connector.Pinner); !ok {
			return false
		}
	}
	return true
}

func (r *run) partitions() int {
	n, err := strconv.Atoi(r.confs[partitionsKey])
	if err != nil || n < 1 {
		return r.config.Partitions
	}
	return n
}

// pause waits for the next trigger.
func (r *run) pause(ctx context.Context, started time.Time, out outcome) error {
	now := time.Now()
	gridded := r.config.Trigger.gridded()
	if gridded && now.Sub(started) > r.config.Trigger.Every {
		r.log.Warn("a batch took longer than the trigger's interval",
			"batch", r.batch-1, "tookMs", now.Sub(started).Milliseconds(),
			"intervalMs", r.config.Trigger.Every.Milliseconds())
	}
	if !gridded && out.ran {
		return nil
	}
	next := r.config.Trigger.due(started)
	if !gridded {
		next = r.nextCheck(now)
	}
	timer := time.NewTimer(next.Sub(now))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
			if !gridded || r.isDraining() {
				return nil
			}
		}
	}
}

// nextCheck is when idle sources are asked again: when the first of them says,
// but in time for the next idle event.
func (r *run) nextCheck(now time.Time) time.Time {
	next := now.Add(r.settings.idleEvery)
	for _, in := range r.inputs.list {
		at := now.Add(r.settings.pollEvery)
		if source, ok := in.source.(connector.Waker); ok {
			at = source.NextCheck(now)
		}
		if at.Before(next) {
			next = at
		}
	}
	// A source that names a past instant would make the loop spin.
	if soonest := now.Add(time.Millisecond); next.Before(soonest) {
		return soonest
	}
	return next
}
