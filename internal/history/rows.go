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

// rows are chunks of one table in the making. A row is begun with row, and then gets its
// columns one after the other, which box nothing: there are thousands a second.
type rows struct {
	schema plan.Type
	chunks []*chunk.Chunk  // those behind used are empty
	used   int             // chunks with rows
	cols   []*chunk.Vector // of the row in the making
	left   int             // how many of them, the last ones, have no value yet
}

func (r *rows) row() *rows {
	if r.used == 0 || r.chunks[r.used-1].Rows == chunk.MaxRows {
		if r.used++; r.used > len(r.chunks) {
			r.chunks = append(r.chunks, chunk.NewChunk(r.schema, chunk.MaxRows))
		}
	}
	if r.left > 0 {
		panic("history: a row has fewer values than columns")
	}
	last := r.chunks[r.used-1]
	last.Rows++
	r.cols, r.left = last.Cols, len(last.Cols)
	return r
}

// filled are the chunks with rows.
func (r *rows) filled() []*chunk.Chunk { return r.chunks[:r.used] }

// empty takes the rows out and keeps as many chunks as they were in.
func (r *rows) empty() {
	r.chunks = r.chunks[:r.used]
	for _, c := range r.chunks {
		c.Reset()
	}
	r.used = 0
}

// next is the column that is to be written.
func (r *rows) next() *chunk.Vector {
	r.left--
	return r.cols[len(r.cols)-1-r.left]
}

func (r *rows) null() *rows {
	r.next().AppendNull()
	return r
}

func (r *rows) long(x int64) *rows {
	chunk.Append(r.next(), x)
	return r
}

func (r *rows) int(x int) *rows {
	chunk.Append(r.next(), int32(x))
	return r
}

func (r *rows) bool(x bool) *rows {
	b := uint8(0)
	if x {
		b = 1
	}
	chunk.Append(r.next(), b)
	return r
}

// text adds a text, NULL when there is none.
func (r *rows) text(s string) *rows {
	if s == "" {
		return r.null()
	}
	r.next().AppendText(s)
	return r
}

func (r *rows) instant(at time.Time) *rows {
	if at.IsZero() {
		return r.null()
	}
	return r.long(at.UnixMicro())
}

// ms adds a time in seconds, NULL when it is not known.
func (r *rows) ms(seconds float64) *rows { return r.number(seconds * 1000) }

func (r *rows) number(x float64) *rows {
	if !health.Known(x) {
		return r.null()
	}
	chunk.Append(r.next(), x)
	return r
}

func (r *rows) whole(x float64) *rows {
	if !health.Known(x) {
		return r.null()
	}
	return r.long(int64(x))
}

// when begins a row with the day and the instant.
func (r *rows) when(at time.Time) *rows {
	chunk.Append(r.row().next(), int32(at.Unix()/86_400))
	return r.long(at.UnixMicro())
}

// of begins a row of a query.
func (r *rows) of(i *ident, at time.Time) *rows {
	return r.when(at).text(i.id).text(i.runID).text(i.name)
}

// part begins a row of a part of a batch.
func (m *made) part(table int, b *batch) *rows {
	return m[table].of(&b.ident, b.end).long(b.last).long(b.batches)
}

// addBatch adds the rows of a batch to four tables, those that do not have it.
func (m *made) addBatch(b *batch, f *floor) {
	if b.last > f.batch[progressTable] {
		m.addProgress(b)
	}
	if b.last > f.batch[sourcesTable] {
		m.addSources(b)
	}
	if b.last > f.batch[stateTable] {
		m.addState(b)
	}
	if b.last > f.batch[operatorsTable] {
		m.addOperators(b)
	}
}

func (m *made) addProgress(b *batch) {
	r := m.part(progressTable, b).long(b.first).instant(b.start).long(b.rows)
	if b.out == monitor.UncountedRows {
		r.null()
	} else {
		r.long(b.out)
	}
	if b.batches > 1 {
		r.null()
	} else {
		r.number(b.inRate)
	}
	r.number(float64(b.rows) * 1000 / float64(max(1, b.durationMs))).long(b.durationMs)
	for _, seconds := range b.phases {
		r.ms(seconds)
	}
	r.long(b.late).whole(b.stateBytes).instant(b.watermark).bool(b.capped).bool(b.noData)
}

func (m *made) addSources(b *batch) {
	for i := range b.sources {
		s := &b.sources[i]
		m.part(sourcesTable, b).int(i).text(s.Description).text(s.StartOffset).text(s.EndOffset).
			text(s.LatestOffset).long(s.NumInputRows)
	}
}

func (m *made) addState(b *batch) {
	for i := range b.state {
		s := &b.state[i]
		m.part(stateTable, b).int(i).text(s.Name).long(s.NumRowsTotal).long(s.NumRowsUpdated).
			long(s.NumRowsRemoved).long(s.NumRowsDroppedByWatermark).long(s.MemoryUsedBytes).
			long(s.AllUpdatesTimeMs).long(s.AllRemovalsTimeMs).long(s.CommitTimeMs)
	}
}

func (m *made) addOperators(b *batch) {
	for i := range b.operators {
		o := &b.operators[i]
		slowest := health.Unmeasured().Rows
		for _, seconds := range o.Partitions {
			slowest = worse(slowest, seconds)
		}
		m.part(operatorsTable, b).int(i).text(o.Name).text(o.Text).ms(o.Seconds).whole(o.Rows).
			int(len(o.Partitions)).ms(slowest)
	}
}

func (m *made) addLife(l *lifeRow) {
	of := ident{l.run.ID, l.run.RunID, l.run.Name}
	state, condition, message := running, "", ""
	if !l.run.EndedAt.IsZero() {
		state = string(l.run.State)
	}
	if f := l.run.Failure; f != nil {
		condition, message = f.Condition, f.Message
	}
	m[runsTable].of(&of, l.at).text(state).instant(l.run.StartedAt).instant(l.run.EndedAt).
		text(l.run.EndReason).text(condition).text(message).instant(l.run.DismissedAt)
}

func (m *made) addQuery(run *monitor.Snapshot, at time.Time) {
	of := ident{run.ID, run.RunID, run.Name}
	m[queriesTable].of(&of, at).text(run.Application).text(strings.Join(run.Sources, "\n")).
		text(run.Sink).text(engineOf(run)).text(settingsText(run.Settings)).text(run.Plan)
}

func (m *made) addMinute(f *minute) {
	buckets := [][2]float64{}
	f.sketch.Each(func(seconds, rows float64) { buckets = append(buckets, [2]float64{seconds, rows}) })
	sketch, err := json.Marshal(buckets)
	if err != nil {
		panic(err) // ages are finite
	}
	m[freshnessTable].of(&f.ident, f.begin).long(int64(f.sketch.Rows())).ms(f.sketch.Quantile(.5)).
		ms(f.sketch.Quantile(.95)).ms(f.sketch.Quantile(.99)).ms(f.sketch.Max()).text(string(sketch)).
		ms(f.newest).ms(f.oldest).number(f.backlog).number(f.arrivalRate)
}

func (m *made) addChange(c *change) {
	evidence, err := json.Marshal(map[string][]string{"why": c.cause.Why, "todo": c.cause.Todo})
	if err != nil {
		panic(err) // texts
	}
	m[healthTable].of(&c.ident, c.at).text(string(c.from)).text(string(c.to)).
		text(health.Plain(c.cause.Sentence)).text(string(evidence))
}

func (m *made) addAlert(v *alert.View, at time.Time) {
	m[alertsTable].when(at).text(v.ID).text(v.State).text(string(v.Severity)).text(v.Rule).text(v.QueryID).
		text(v.QueryName).text(v.Application).text(health.Plain(v.Text)).instant(v.HeldAt).instant(v.FiredAt).
		instant(v.Ended)
}
