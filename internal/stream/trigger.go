package stream

import (
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// Trigger says when a query runs batches. Continuous and RealTime do not reach
// this room.
type Trigger struct {
	Kind  plan.TriggerKind
	Every time.Duration // of ProcessingTime; below a millisecond: back to back
}

// bounded tells whether the query ends by itself, with what there was at its start.
func (t Trigger) bounded() bool { return t.Kind == plan.Once || t.Kind == plan.AvailableNow }

// gridded tells whether triggers fire on a grid rather than back to back.
func (t Trigger) gridded() bool { return t.Kind == plan.ProcessingTime && t.Every >= time.Millisecond }

// due is when the trigger fires that follows one begun at started: the next
// multiple of Every since 1970. A trigger that took longer is followed at once,
// and the ticks it missed are not made up for.
func (t Trigger) due(started time.Time) time.Time {
	if !t.gridded() {
		return started
	}
	every, at := t.Every.Milliseconds(), started.UnixMilli()
	return time.UnixMilli(at - at%every + every)
}

// outcome is what a trigger did.
type outcome struct {
	ran    bool // a batch, new or replayed
	replay bool
}

// finished tells whether the query ends after a trigger. pinned says that every
// source could name its end when AvailableNow began; without it, AvailableNow
// is one batch, as in Spark.
func (t Trigger) finished(o outcome, pinned bool) bool {
	switch t.Kind {
	case plan.Once:
		return true
	case plan.AvailableNow:
		return !pinned || !o.ran
	default:
		return false
	}
}

// unlimited tells whether batches ignore the sources' read limits.
func (t Trigger) unlimited(pinned bool) bool {
	return t.Kind == plan.Once || t.Kind == plan.AvailableNow && !pinned
}
