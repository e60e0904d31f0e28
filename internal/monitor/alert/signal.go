package alert

import (
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// kind is what a signal is measured in.
type kind uint8

const (
	inWords kind = iota
	inCount
	inMs
	inBytes
	inShare
)

var kindNames = [...]string{"text", "number", "time", "size", "share"}

func (k kind) String() string { return kindNames[k] }

// facts are what rules look at: a query at one moment.
type facts struct {
	now      time.Time
	left     time.Time // since when a server runs without the query; see Alerts.left
	query    *monitor.Query
	snapshot monitor.Snapshot
	health   health.Assessment
	ended    bool
	lately   lately
	failures int // in the last ten minutes
	lastDay  int
}

// signal is something that a rule may name.
type signal struct {
	name   string
	kind   kind
	doc    string
	number func(f *facts) float64 // nil for texts
	text   func(f *facts) string
}

// text is a signal in words.
func text(name, doc string, of func(f *facts) string) signal {
	return signal{name, inWords, doc, nil, of}
}

// always is a number that an ended query has as well.
func always(name string, k kind, doc string, of func(f *facts) float64) signal {
	return signal{name, k, doc, of, nil}
}

// running is a number of a query that runs; of an ended one it says nothing.
func running(name string, k kind, doc string, of func(f *facts) float64) signal {
	return signal{name, k, doc, func(f *facts) float64 {
		if f.ended {
			return unknown()
		}
		return of(f)
	}, nil}
}

// signals are all of them. Names and meanings are those of the HTTP API.
var signals = []signal{
	text("state", "how the query does, as the pages say it",
		func(f *facts) string { return string(f.health.State) }),
	text("name", "the query's name; its id without one", func(f *facts) string { return nameOf(&f.snapshot) }),
	text("id", "the query's id", func(f *facts) string { return f.snapshot.ID }),
	text("application", "the program's name",
		func(f *facts) string { return f.snapshot.Application }),
	text("checkpoint", "of a query of an earlier server: yes when its program named one, else no", checkpoint),
	text("engine", "weir, or the Spark whose event log is read",
		func(f *facts) string { return engineOf(&f.snapshot) }),
	always("sinceMs", inMs, "how long the query has been in its state",
		func(f *facts) float64 { return ms(f.now.Sub(f.health.Since).Seconds()) }),
	always("ranMs", inMs, "how long the run has lasted, or lasted", ran),
	always("leftMs", inMs,
		"how long a server runs without a query that ran when an earlier one ended; of others not known", left),
	always("restartsIn10Min", inCount, "failures in the last ten minutes",
		func(f *facts) float64 { return float64(f.failures) }),
	always("restartsLastDay", inCount, "failures in the last 24 hours",
		func(f *facts) float64 { return float64(f.lastDay) }),
	always("dataLosses", inCount, "times in ten minutes that rows were gone and the query went on without",
		func(f *facts) float64 { return f.lately.losses }),
	always("droppedEvents", inCount, "events for listeners that were dropped in the last ten minutes",
		func(f *facts) float64 { return f.lately.events }),
	running("backlogMs", inMs, "how long ago the oldest unread row came",
		func(f *facts) float64 { return ms(f.health.BacklogSeconds) }),
	running("backlogRows", inCount, "rows that wait",
		func(f *facts) float64 { return f.health.Backlog.Rows }),
	running("backlogBytes", inBytes, "bytes that wait",
		func(f *facts) float64 { return f.health.Backlog.Bytes }),
	running("backlogFiles", inCount, "files that wait",
		func(f *facts) float64 { return f.health.Backlog.Files }),
	running("oldestUnreadAgeMs", inMs, "the same as backlogMs, where it is exact",
		func(f *facts) float64 { return ms(f.health.OldestUnreadAge) }),
	running("newestAgeMs", inMs, "age of the newest committed row",
		func(f *facts) float64 {
			return ms(f.health.NewestAge + f.now.Sub(f.health.At).Seconds())
		}),
	running("freshnessP50Ms", inMs, "age of rows at their commit: half of them",
		func(f *facts) float64 { return ms(f.health.DeliveryP50) }),
	running("freshnessP95Ms", inMs, "the same: 95 of 100",
		func(f *facts) float64 { return ms(f.health.DeliveryP95) }),
	running("freshnessP99Ms", inMs, "the same: 99 of 100",
		func(f *facts) float64 { return ms(f.health.DeliveryP99) }),
	running("freshnessSloMs", inMs, "the objective, weir.query.freshnessObjective", objective),
	running("arrivalRowsPerSecond", inCount, "rows that come to the sources",
		func(f *facts) float64 { return f.health.ArrivalRowsPerSecond }),
	running("processedRowsPerSecond", inCount, "rows that are committed",
		func(f *facts) float64 { return f.health.ProcessedPerSecond }),
	running("shortRatio", inShare, "share of what arrives that the query is short by",
		func(f *facts) float64 { return f.health.Short }),
	running("busyRatio", inShare, "share of what it can take that it has to",
		func(f *facts) float64 { return f.health.Busy }),
	running("batchMs", inMs, "median batch", func(f *facts) float64 { return ms(f.health.BatchSeconds) }),
	running("sinceCommitMs", inMs, "how long ago a batch was committed", sinceCommit),
	running("watermarkLagMs", inMs, "watermark behind the last batch, beyond its delay",
		func(f *facts) float64 { return ms(f.health.WatermarkLag) }),
	running("watermarkStuckMs", inMs, "for how long the watermark has not moved while rows came",
		func(f *facts) float64 { return ms(f.health.WatermarkStuck) }),
	running("latePartitionMs", inMs,
		"by how much the newest row of a partition is behind the watermark, while rows come",
		func(f *facts) float64 { return ms(f.health.LatePartition) }),
	running("droppedRatio", inShare, "rows that came after the watermark, of those read of late",
		func(f *facts) float64 { return f.health.DroppedRatio }),
	running("stateBytes", inBytes, "memory of stateful operators",
		func(f *facts) float64 { return f.health.StateBytes }),
	running("stateRatio", inShare, "the same, of what the query may hold", stateShare),
	running("stateGrowthBytesPerHour", inBytes, "how fast it grows, where that is clear",
		func(f *facts) float64 { return f.health.StatePerHour }),
	running("stateLimitMs", inMs, "how long until it reaches what the query may hold",
		func(f *facts) float64 { return ms(f.health.UntilStateLimit) }),
	running("retentionLeftMs", inMs, "how long until a source deletes what is unread",
		func(f *facts) float64 { return ms(f.health.UntilLoss) }),
}

func ms(seconds float64) float64 { return seconds * 1000 }

func checkpoint(f *facts) string {
	switch {
	case !f.snapshot.Left:
		return ""
	case f.snapshot.Checkpointed:
		return "yes"
	default:
		return "no"
	}
}

func ran(f *facts) float64 {
	end := f.now
	if f.ended {
		end = f.snapshot.EndedAt
	}
	return ms(end.Sub(f.snapshot.StartedAt).Seconds())
}

func left(f *facts) float64 {
	if !f.snapshot.Left {
		return unknown()
	}
	return ms(f.now.Sub(f.left).Seconds())
}

func objective(f *facts) float64 {
	if o := f.snapshot.Health.Objective; o > 0 {
		return ms(o.Seconds())
	}
	return unknown()
}

func sinceCommit(f *facts) float64 {
	if f.health.LastCommit.IsZero() {
		return unknown()
	}
	return ms(f.now.Sub(f.health.LastCommit).Seconds())
}

func stateShare(f *facts) float64 {
	if limit := f.snapshot.Health.StateLimit; limit > 0 {
		return f.health.StateBytes / limit
	}
	return unknown()
}

func nameOf(s *monitor.Snapshot) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

func engineOf(s *monitor.Snapshot) string {
	if s.Engine != "" {
		return s.Engine
	}
	return "weir"
}

// states are the words that the signal state may be.
var states = []health.State{
	health.Failed, health.Stalled, health.Breach, health.Behind, health.Lagging, health.CatchingUp,
	health.Restarting, health.Starting, health.Healthy, health.Idle, health.Stopped,
}

// signalNamed finds a signal.
func signalNamed(name string) (*signal, bool) {
	for i := range signals {
		if signals[i].name == name {
			return &signals[i], true
		}
	}
	return nil, false
}

// lately counts what happened in the last ten minutes.
type lately struct{ losses, events float64 }

const (
	latelySpan  = 10 * time.Minute
	latelyCells = 11 // one for each minute that has begun
)

// counted remembers sums that only rise, by the minute, to tell what is new in them.
type counted struct {
	minutes []countedMinute // oldest first, at most latelyCells
}

type countedMinute struct {
	at  time.Time
	sum lately // at its beginning
}

// rise is what came on top of the sums in the last ten minutes.
func (c *counted) rise(now time.Time, sum lately) lately {
	if n := len(c.minutes); n == 0 || now.Sub(c.minutes[n-1].at) >= time.Minute ||
		now.Before(c.minutes[n-1].at) {
		if n == 0 { // what was there at first is new
			c.minutes = append(c.minutes, countedMinute{now, lately{}})
		} else {
			c.minutes = append(c.minutes, countedMinute{now, sum})
		}
	}
	for len(c.minutes) > latelyCells || len(c.minutes) > 1 && now.Sub(c.minutes[0].at) > latelySpan {
		c.minutes = c.minutes[1:]
	}
	from := c.minutes[0]
	if now.Sub(from.at) > latelySpan {
		from.sum = sum
	}
	return lately{sum.losses - from.sum.losses, sum.events - from.sum.events}
}
