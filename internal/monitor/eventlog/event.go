package eventlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const listenerClass = "org.apache.spark.sql.streaming.StreamingQueryListener$"

// event is a line of a log, as far as it is read. Everything may be missing.
type event struct {
	Event   string
	Version string `json:"Spark Version"`
	AppName string `json:"App Name"`
	AppID   string `json:"App ID"`

	ID        string          `json:"id"`
	RunID     string          `json:"runId"`
	Name      *string         `json:"name"`
	Timestamp json.RawMessage `json:"timestamp"`
	Progress  *progress       `json:"progress"`
	Exception *string         `json:"exception"`
	Condition *string         `json:"errorClassOnException"`

	Properties map[string]string `json:"Spark Properties"`
}

// progress is Spark's progress as the event log has it: offsets are texts with JSON
// inside, totals are missing.
type progress struct {
	ID            string             `json:"id"`
	RunID         string             `json:"runId"`
	Name          *string            `json:"name"`
	Timestamp     string             `json:"timestamp"`
	BatchID       int64              `json:"batchId"`
	BatchDuration *int64             `json:"batchDuration"`
	DurationMs    map[string]float64 `json:"durationMs"`
	EventTime     map[string]string  `json:"eventTime"`
	Sources       []struct {
		Description string            `json:"description"`
		Start       json.RawMessage   `json:"startOffset"`
		End         json.RawMessage   `json:"endOffset"`
		Latest      json.RawMessage   `json:"latestOffset"`
		Rows        int64             `json:"numInputRows"`
		Arriving    rate              `json:"inputRowsPerSecond"`
		Processed   rate              `json:"processedRowsPerSecond"`
		Metrics     map[string]string `json:"metrics"`
	} `json:"sources"`
	StateOperators []struct {
		Name      string `json:"operatorName"`
		Rows      int64  `json:"numRowsTotal"`
		Updated   int64  `json:"numRowsUpdated"`
		CommitMs  int64  `json:"commitTimeMs"`
		Bytes     int64  `json:"memoryUsedBytes"`
		Dropped   int64  `json:"numRowsDroppedByWatermark"`
		LateInput int64  `json:"numLateInputs"` // as Spark 3.1 calls it
	} `json:"stateOperators"`
	Sink struct {
		Description string `json:"description"`
		Rows        *int64 `json:"numOutputRows"`
	} `json:"sink"`
}

// rate is a number that Spark may write as a text: NaN, Infinity. One that is none, or not
// there, is 0.
type rate float64

func (r *rate) UnmarshalJSON(data []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
		*r = rate(x)
	}
	return nil
}

// application tells a registry what the queries of one application do.
type application struct {
	registry *monitor.Registry
	log      *slog.Logger
	id, name string
	version  string
	runs     map[string]*spark
	workbook workbook
	settings map[string]string // of Spark, those that say how queries run
	last     time.Time         // of the newest event
	damaged  int               // lines that could not be read
}

// spark is a run of a query.
type spark struct {
	*monitor.Query
	first map[string]float64 // where each source was first seen, by its number
	read  float64            // rows of the batches so far
	batch int64              // the newest that was committed, -1 before the first
	// running is the batch that was begun and is not committed, -1 when none is known.
	running int64
}

func newApplication(r *monitor.Registry, log *slog.Logger, id string) *application {
	return &application{registry: r, log: log, id: id, name: id, runs: map[string]*spark{},
		workbook: newWorkbook()}
}

// line takes in one line of the log.
func (a *application) line(data []byte) {
	if known, err := a.work(kindOf(data), data); known {
		if err != nil {
			a.damaged++
		}
		return
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		a.damaged++
		return
	}
	switch strings.TrimPrefix(e.Event, listenerClass) {
	case "SparkListenerLogStart":
		a.version = e.Version
	case "SparkListenerApplicationStart":
		a.name = e.AppName
	case "SparkListenerEnvironmentUpdate":
		a.settings = telling(e.Properties)
	case "SparkListenerApplicationEnd":
		a.endAll("its application ended")
	case "QueryStartedEvent":
		if a.runs[e.RunID] == nil { // it may be told again by a compacted log
			a.start(e.ID, e.RunID, e.Name, instantOf(e.Timestamp))
		}
	case "QueryProgressEvent":
		if e.Progress != nil {
			a.progress(e.Progress)
		}
	case "QueryIdleEvent":
		a.idle(&e)
	case "QueryTerminatedEvent":
		a.terminate(&e)
	}
}

func (a *application) idle(e *event) {
	if q := a.runs[e.RunID]; q != nil {
		at := instantOf(e.Timestamp)
		a.saw(at)
		q.Quiet(at)
		q.Sample(at, nil)
	}
}

func (a *application) saw(at time.Time) {
	if at.After(a.last) {
		a.last = at
	}
}

func (a *application) start(id, runID string, name *string, at time.Time) *spark {
	a.saw(at)
	run := monitor.Run{
		ID: id, RunID: runID, StartedAt: at, Application: a.name,
		Engine: strings.TrimSpace("Spark " + a.version), Health: health.Config{Afterwards: true},
	}
	if name != nil {
		run.Name = cut(*name, mostName)
	}
	q := &spark{Query: a.registry.Start(run, monitor.NewBus()), first: map[string]float64{}, batch: -1,
		running: -1}
	a.runs[runID] = q
	return q
}

// endAll ends the queries that were not ended.
func (a *application) endAll(why string) {
	for _, q := range a.runs {
		q.Because(why)
		q.Terminate(a.last, nil)
	}
	clear(a.runs)
	a.workbook = newWorkbook()
}

// remembered is what another process needs to go on.
func (a *application) remembered() stateful {
	s := stateful{Name: a.name, Version: a.version, Last: a.last, Settings: a.settings}
	for _, q := range a.runs {
		run := q.Snapshot()
		s.Runs = append(s.Runs, rememberedRun{
			ID: run.ID, RunID: run.RunID, Name: run.Name, StartedAt: run.StartedAt, First: maps.Clone(q.first),
			Read: q.read, Batch: q.batch, Plan: run.Plan, Settings: run.Settings,
		})
	}
	slices.SortFunc(s.Runs, func(a, b rememberedRun) int { return cmp.Compare(a.RunID, b.RunID) })
	return s
}

// restore goes on where another process was.
func (a *application) restore(s *stateful) {
	if s.Name == "" && s.Version == "" && len(s.Runs) == 0 {
		return
	}
	a.name, a.version, a.settings = s.Name, s.Version, s.Settings
	for _, r := range s.Runs {
		q := a.start(r.ID, r.RunID, &r.Name, r.StartedAt)
		q.read, q.batch = r.Read, r.Batch
		if r.First != nil {
			q.first = r.First
		}
		if r.Plan != "" {
			q.Describe(r.Plan, r.Settings)
		}
	}
	a.last = s.Last
}

func (a *application) terminate(e *event) {
	q := a.runs[e.RunID]
	if q == nil {
		return
	}
	delete(a.runs, e.RunID)
	a.workbook.forget(e.RunID)
	var f *monitor.Failure
	if e.Exception != nil {
		f = &monitor.Failure{Message: health.Gist(*e.Exception), Trace: *e.Exception}
		if e.Condition != nil {
			f.Condition = *e.Condition
		}
	}
	q.Terminate(a.last, f)
}

func (a *application) progress(p *progress) {
	start, err := time.Parse(time.RFC3339Nano, p.Timestamp)
	if err != nil {
		a.damaged++
		return
	}
	q := a.runs[p.RunID]
	if q == nil { // the start was compacted away
		q = a.start(p.ID, p.RunID, p.Name, start)
	}
	took := p.DurationMs["triggerExecution"]
	if p.BatchDuration != nil {
		took = float64(*p.BatchDuration)
	}
	end := start.Add(time.Duration(min(max(0, took), longestBatch) * float64(time.Millisecond)))
	a.saw(end)
	if !p.ran() { // nothing was there to do
		q.running = -1
		q.Quiet(end)
		q.Sample(end, nil)
		return
	}
	if p.BatchID <= q.batch { // told before
		return
	}
	q.batch = p.BatchID
	m := p.record()
	q.Activate(descriptions(m), m.Sink.Description)
	before, after := q.readings(p, start, end)
	q.Sample(start, before)
	q.Begin(p.BatchID, start)
	q.running = -1
	q.Record(m, monitor.Trigger{Start: start, End: end})
	b := monitor.BatchOf(m, start, end)
	b.NoData = m.NumInputRows() == 0
	if w := a.workbook.end(p.RunID, p.BatchID); w != nil {
		b.Operators = w.operators()
	}
	q.read += b.Rows
	q.Committed(b)
	q.Sample(end, after)
}

// ran tells whether there was a batch.
func (p *progress) ran() bool {
	_, ran := p.DurationMs["addBatch"]
	return ran
}

// longestBatch is how long a batch is believed to have taken, in ms: a year.
const longestBatch = 365 * 24 * 3.6e6

func descriptions(m *monitor.Progress) []string {
	var out []string
	for i := range m.Sources {
		out = append(out, m.Sources[i].Description)
	}
	return out
}

// record is the progress as weir's own queries have it.
func (p *progress) record() *monitor.Progress {
	m := &monitor.Progress{BatchID: p.BatchID, Sink: monitor.Sink{
		Description: p.Sink.Description, NumOutputRows: monitor.UncountedRows}}
	if p.Sink.Rows != nil {
		m.Sink.NumOutputRows = *p.Sink.Rows
	}
	for phase := range monitor.WalCommit + 1 {
		if ms, ok := p.DurationMs[phase.String()]; ok {
			m.Durations.Add(phase, time.Duration(min(max(0, ms), longestBatch)*float64(time.Millisecond)))
		}
	}
	for _, s := range p.Sources {
		m.Sources = append(m.Sources, monitor.Source{
			Description: s.Description, StartOffset: offset(s.Start), EndOffset: offset(s.End),
			LatestOffset: offset(s.Latest), NumInputRows: s.Rows,
			InputRowsPerSecond: float64(s.Arriving), ProcessedRowsPerSecond: float64(s.Processed),
		})
		m.Told = m.Told || s.Arriving != 0 || s.Processed != 0
	}
	for _, s := range p.StateOperators {
		m.StateOperators = append(m.StateOperators, monitor.StateOperator{
			Name: s.Name, NumRowsTotal: s.Rows, NumRowsUpdated: s.Updated, CommitTimeMs: s.CommitMs,
			MemoryUsedBytes: s.Bytes, NumRowsDroppedByWatermark: max(s.Dropped, s.LateInput),
		})
	}
	if mark, ok := eventTime(p.EventTime["watermark"]); ok {
		m.EventTime = &monitor.EventTime{WatermarkMs: mark}
		low, ok1 := eventTime(p.EventTime["min"])
		mean, ok2 := eventTime(p.EventTime["avg"])
		high, ok3 := eventTime(p.EventTime["max"])
		if ok1 && ok2 && ok3 {
			m.EventTime.Rows = &monitor.EventTimeRange{MinMs: low, AvgMs: mean, MaxMs: high}
		}
	}
	return m
}

func eventTime(text string) (ms int64, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixMilli(), err == nil
}

// offset is an offset's JSON, which the log has as a text or as it is; "" for none.
func offset(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// readings are where the sources stood when a batch began and when it ended, as far as
// the progress tells: for offsets that are numbers by partition, as Kafka's.
func (q *spark) readings(p *progress, start, end time.Time) (before, after *health.Reading) {
	before, after = &health.Reading{At: start}, &health.Reading{At: end}
	for i, s := range p.Sources {
		key := strconv.Itoa(i)
		b, a := unread(s.Description), unread(s.Description)
		from, ok1 := positions(offset(s.Start))
		to, ok2 := positions(offset(s.End))
		latest, ok3 := positions(offset(s.Latest))
		if ok1 && ok2 && ok3 {
			at := sum(from)
			if _, seen := q.first[key]; !seen || at < q.first[key] {
				b.Restarted = seen
				q.first[key] = at
			}
			b.Read.Rows, b.Unread.Rows = at-q.first[key], behind(from, latest)
			a.Read.Rows, a.Unread.Rows = sum(to)-q.first[key], behind(to, latest)
			for name, position := range to {
				a.Partitions = append(a.Partitions, health.Partition{
					Name: name, Committed: position, Latest: latest[name],
				})
			}
		}
		if bytes, err := strconv.ParseFloat(s.Metrics["numBytesOutstanding"], 64); err == nil {
			a.Unread.Bytes = bytes
		}
		before.Sources, after.Sources = append(before.Sources, b), append(after.Sources, a)
	}
	return before, after
}

func unread(name string) health.Source {
	return health.Source{
		Name: name, Read: health.Unmeasured(), Unread: health.Unmeasured(), UntilLoss: math.NaN(),
	}
}

// positions reads offsets of the form {"topic":{"partition":offset}}.
func positions(text string) (map[string]float64, bool) {
	var topics map[string]map[string]float64
	if text == "" || json.Unmarshal([]byte(text), &topics) != nil || len(topics) == 0 {
		return nil, false
	}
	out := map[string]float64{}
	for topic, partitions := range topics {
		for partition, at := range partitions {
			out[topic+"-"+partition] = at
		}
	}
	return out, true
}

func sum(of map[string]float64) (total float64) {
	for _, x := range of {
		total += x
	}
	return total
}

func behind(at, latest map[string]float64) (total float64) {
	for name, end := range latest {
		total += max(0, end-at[name])
	}
	return total
}

// instantOf is a time as events write it: a text, or a number of milliseconds.
func instantOf(raw json.RawMessage) time.Time {
	var text string
	var ms int64
	if json.Unmarshal(raw, &text) == nil {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err == nil {
			return t
		}
	} else if json.Unmarshal(raw, &ms) == nil {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}
