package monitor

import "time"

// A Progress tells what one trigger of a query did. The engine fills it and
// gives it to Query.Record, which completes the fields marked "by Record";
// from then on it never changes (M1).
type Progress struct {
	ID, RunID string // by Record
	Name      string // by Record; "" is a query without a name

	Timestamp       time.Time // by Record: start of the trigger
	BatchID         int64     // of an idle entry: the batch that comes next
	BatchDurationMs int64     // by Record: whole trigger, building this entry included

	Durations      Durations
	EventTime      *EventTime // nil: no watermark in the plan
	StateOperators []StateOperator
	Sources        []Source
	Sink           Sink
	Observed       []Observation

	// Told says that the rates of the sources are those of another engine, which counts
	// otherwise: Record leaves them.
	Told bool
	// Idle marks an entry of a trigger that ran no batch.
	Idle bool
}

// NumInputRows is the sum over the sources.
func (p *Progress) NumInputRows() int64 {
	var n int64
	for i := range p.Sources {
		n += p.Sources[i].NumInputRows
	}
	return n
}

// InputRowsPerSecond is the sum over the sources, not rounded.
func (p *Progress) InputRowsPerSecond() float64 {
	var sum float64
	for i := range p.Sources {
		sum += p.Sources[i].InputRowsPerSecond
	}
	return sum
}

// ProcessedRowsPerSecond is the sum over the sources, not rounded.
func (p *Progress) ProcessedRowsPerSecond() float64 {
	var sum float64
	for i := range p.Sources {
		sum += p.Sources[i].ProcessedRowsPerSecond
	}
	return sum
}

// A Source is one input of a query as a trigger saw it. Offsets are JSON texts;
// "" is an offset that is not set.
type Source struct {
	Description                          string
	StartOffset, EndOffset, LatestOffset string

	NumInputRows           int64
	InputRowsPerSecond     float64 // by Record
	ProcessedRowsPerSecond float64 // by Record

	Metrics []TextMetric
}

// A Sink is the output of a query as a trigger saw it.
type Sink struct {
	Description string
	// NumOutputRows is UncountedRows for sinks that do not count.
	NumOutputRows int64
	Metrics       []TextMetric
}

// UncountedRows is the number of output rows of a sink that does not count.
const UncountedRows = -1

// A TextMetric is a metric of a source or a sink; its value is a text even
// when it is a number.
type TextMetric struct{ Name, Value string }

// A StateOperator tells what one stateful operator did. The times are sums
// over its tasks.
type StateOperator struct {
	Name                      string
	NumRowsTotal              int64
	NumRowsUpdated            int64
	AllUpdatesTimeMs          int64
	NumRowsRemoved            int64
	AllRemovalsTimeMs         int64
	CommitTimeMs              int64
	MemoryUsedBytes           int64
	NumRowsDroppedByWatermark int64
	NumShufflePartitions      int64
	NumStateStoreInstances    int64
	CustomMetrics             []StateMetric
}

// A StateMetric is a custom metric of a state operator.
type StateMetric struct {
	Name  string
	Value int64
	// Snapshot marks a level rather than a count of one batch: an idle entry
	// repeats it, and sets the others to zero.
	Snapshot bool
}

// idle is the operator in an entry of a trigger that ran no batch: what it
// holds stays, what it did is zero.
func (s StateOperator) idle() StateOperator {
	s.NumRowsUpdated, s.NumRowsRemoved, s.NumRowsDroppedByWatermark = 0, 0, 0
	s.AllUpdatesTimeMs, s.AllRemovalsTimeMs, s.CommitTimeMs = 0, 0, 0
	metrics := make([]StateMetric, len(s.CustomMetrics))
	copy(metrics, s.CustomMetrics)
	for i := range metrics {
		if !metrics[i].Snapshot {
			metrics[i].Value = 0
		}
	}
	s.CustomMetrics = metrics
	return s
}

// EventTime is the event time of a batch, in Unix milliseconds.
type EventTime struct {
	// WatermarkMs is the one in force during the batch.
	WatermarkMs int64
	// Rows is nil when the batch had no rows.
	Rows *EventTimeRange
}

// An EventTimeRange sums up the event times of a batch's rows.
type EventTimeRange struct{ MinMs, AvgMs, MaxMs int64 }

// A Phase is one part of a trigger whose time is told apart. The order is the
// one in which Spark's command form lists them.
type Phase uint8

// The phases.
const (
	TriggerExecution Phase = iota // the whole trigger
	QueryPlanning
	GetBatch
	CommitOffsets // the commit log
	LatestOffset
	AddBatch // execution, state and sink
	WalCommit
	phaseCount
)

var phaseNames = [phaseCount]string{
	"triggerExecution", "queryPlanning", "getBatch", "commitOffsets",
	"latestOffset", "addBatch", "walCommit",
}

// phasesByName is the order of the event form.
var phasesByName = [phaseCount]Phase{
	AddBatch, CommitOffsets, GetBatch, LatestOffset, QueryPlanning,
	TriggerExecution, WalCommit,
}

// String is the phase's key in durationMs.
func (p Phase) String() string { return phaseNames[p] }

// Durations holds the time of each phase that a trigger went through.
type Durations struct {
	spent [phaseCount]time.Duration
	seen  [phaseCount]bool
}

// Add counts d into a phase. Parts of one phase add up; a negative part (the
// clock stepped back) counts as nothing.
func (d *Durations) Add(p Phase, spent time.Duration) {
	d.spent[p] += max(0, spent)
	d.seen[p] = true
}

// Ms is the time of a phase in whole milliseconds; ok is false when the
// trigger did not go through it.
func (d *Durations) Ms(p Phase) (ms int64, ok bool) {
	return d.spent[p].Milliseconds(), d.seen[p]
}

func (d *Durations) empty() bool { return d.seen == [phaseCount]bool{} }
