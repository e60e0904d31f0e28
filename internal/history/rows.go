package history

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

// rows are chunks of one table in the making.
type rows struct {
	schema plan.Type
	chunks []*chunk.Chunk
}

func (r *rows) add(values ...plan.Value) {
	n := len(r.chunks)
	if n == 0 || r.chunks[n-1].Rows == chunk.MaxRows {
		r.chunks = append(r.chunks, chunk.NewChunk(r.schema, chunk.MaxRows))
		n++
	}
	r.chunks[n-1].AppendValues(values)
}

func day(at time.Time) plan.Value { return int32(at.Unix() / 86_400) }

func instant(at time.Time) plan.Value {
	if at.IsZero() {
		return nil
	}
	return at.UnixMicro()
}

func text(s string) plan.Value {
	if s == "" {
		return nil
	}
	return s
}

// ms is a time in seconds, NULL when it is not known.
func ms(seconds float64) plan.Value {
	if !health.Known(seconds) {
		return nil
	}
	return seconds * 1000
}

func number(x float64) plan.Value {
	if !health.Known(x) {
		return nil
	}
	return x
}

func whole(x float64) plan.Value {
	if !health.Known(x) {
		return nil
	}
	return int64(x)
}

// head begins a row of a query.
func (i *ident) head(at time.Time, more ...plan.Value) []plan.Value {
	return append([]plan.Value{day(at), at.UnixMicro(), i.id, i.runID, text(i.name)}, more...)
}

// addBatch adds the rows of a batch to four tables.
func (m *made) addBatch(b *batch) {
	head := b.head(b.end, b.last, b.batches)
	head = head[:len(head):len(head)]
	out, in := plan.Value(b.out), plan.Value(b.inRate)
	if b.out == monitor.UncountedRows {
		out = nil
	}
	if b.batches > 1 || !health.Known(b.inRate) {
		in = nil
	}
	values := append(head, b.first, instant(b.start), b.rows, out, in,
		number(float64(b.rows)*1000/float64(max(1, b.durationMs))), b.durationMs)
	for _, seconds := range b.phases {
		values = append(values, ms(seconds))
	}
	m[progressTable].add(append(values, b.late, whole(b.stateBytes), instant(b.watermark), b.capped,
		b.noData)...)
	for i, s := range b.sources {
		m[sourcesTable].add(append(head, int64(i), s.Description, text(s.StartOffset), text(s.EndOffset),
			text(s.LatestOffset), s.NumInputRows)...)
	}
	for i, s := range b.state {
		m[stateTable].add(append(head, int64(i), s.Name, s.NumRowsTotal, s.NumRowsUpdated, s.NumRowsRemoved,
			s.NumRowsDroppedByWatermark, s.MemoryUsedBytes, s.AllUpdatesTimeMs, s.AllRemovalsTimeMs,
			s.CommitTimeMs)...)
	}
	for i, o := range b.operators {
		slowest := health.Unmeasured().Rows
		for _, seconds := range o.Partitions {
			slowest = worse(slowest, seconds)
		}
		m[operatorsTable].add(append(head, int64(i), o.Name, text(o.Text), ms(o.Seconds), whole(o.Rows),
			int64(len(o.Partitions)), ms(slowest))...)
	}
}

func (m *made) addLife(l *lifeRow) {
	of := ident{l.run.ID, l.run.RunID, l.run.Name}
	state, condition, message := "running", "", ""
	if !l.run.EndedAt.IsZero() {
		state = string(l.run.State)
	}
	if f := l.run.Failure; f != nil {
		condition, message = f.Condition, f.Message
	}
	m[runsTable].add(of.head(l.at, state, instant(l.run.StartedAt), instant(l.run.EndedAt),
		text(l.run.EndReason), text(condition), text(message))...)
}

func (m *made) addQuery(run *monitor.Snapshot, at time.Time) {
	of := ident{run.ID, run.RunID, run.Name}
	m[queriesTable].add(of.head(at, text(run.Application), text(strings.Join(run.Sources, "\n")),
		text(run.Sink))...)
}

func (m *made) addMinute(f *minute) {
	buckets := [][2]float64{}
	f.sketch.Each(func(seconds, rows float64) { buckets = append(buckets, [2]float64{seconds, rows}) })
	sketch, err := json.Marshal(buckets)
	if err != nil {
		panic(err) // ages are finite
	}
	m[freshnessTable].add(f.head(f.begin, int64(f.sketch.Rows()), ms(f.sketch.Quantile(.5)),
		ms(f.sketch.Quantile(.95)), ms(f.sketch.Quantile(.99)), ms(f.sketch.Max()), string(sketch), ms(f.newest),
		ms(f.oldest), number(f.backlog), number(f.arrivalRate))...)
}

func (m *made) addChange(c *change) {
	evidence, err := json.Marshal(map[string][]string{"why": c.cause.Why, "todo": c.cause.Todo})
	if err != nil {
		panic(err) // texts
	}
	m[healthTable].add(c.head(c.at, text(string(c.from)), string(c.to), text(c.cause.Sentence),
		string(evidence))...)
}

func (m *made) addAlert(v *alert.View, at time.Time) {
	m[alertsTable].add(day(at), at.UnixMicro(), v.ID, v.State, string(v.Severity), v.Rule, v.QueryID,
		text(v.QueryName), text(v.Application), text(v.Text), instant(v.HeldAt), instant(v.FiredAt),
		instant(v.Ended))
}
