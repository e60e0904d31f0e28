package shelf

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

func rateFormat() *connector.Format {
	return &connector.Format{
		Name:    "rate",
		Aliases: []string{"org.apache.spark.sql.execution.streaming.sources.RateStreamProvider"},
		Doc:     "numbers from 0 on, a few each second, with the time they belong to",
		Options: connector.Options([][3]string{
			{"rowsPerSecond", "1", "how many numbers a second"},
			{"rampUpTime", "0s", "how long the speed rises before it is reached"},
			{"numPartitions", "", "partitions of each batch; the default parallelism when it is not given"},
		}),
		Describe: func(_ context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
			if _, err := rateOptions(env, r.Options); err != nil {
				return nil, err
			}
			return rateRelation(r, "rate", "RateStreamProvider")
		},
		Source: openRate,
	}
}

// rateRelation is the relation of both rate sources, whose schema is fixed.
func rateRelation(r *plan.Read, format, provider string) (*plan.Relation, error) {
	if r.Schema != nil {
		return nil, takesNoSchema(provider)
	}
	schema := plan.Struct(plan.Col("timestamp", plan.Timestamp), plan.Col("value", plan.Long))
	return &plan.Relation{Format: format, Schema: schema, Options: r.Options, Paths: r.Paths}, nil
}

// takesNoSchema refuses the user's schema.
func takesNoSchema(provider string) error {
	return plan.NewError(plan.ClassUnsupported, "_LEGACY_ERROR_TEMP_2242",
		fmt.Sprintf("The source %s has a schema of its own and takes none from the user.", provider),
		"provider", provider)
}

// rateSettings are the checked options of a rate source.
type rateSettings struct {
	rowsPerSecond int64
	rampUpSeconds int64
	partitions    int
	described     string // numPartitions as the description shows it
}

func rateOptions(env *connector.Env, o plan.Options) (rateSettings, error) {
	var s rateSettings
	var err error
	if s.rowsPerSecond, err = connector.LongOption(o, "rowsPerSecond", 1); err != nil {
		return s, err
	}
	if s.rowsPerSecond <= 0 {
		return s, connector.RefuseOption("rowsPerSecond", s.rowsPerSecond, "be positive")
	}
	if text, ok := o.Get("rampUpTime"); ok {
		if s.rampUpSeconds, err = connector.Duration(text, "s"); err != nil {
			return s, err
		}
	}
	if s.rampUpSeconds < 0 {
		return s, connector.RefuseOption("rampUpTime", s.rampUpSeconds, "not be negative")
	}
	if s.partitions, err = partitionOption(env, o); err != nil {
		return s, err
	}
	s.described = "default"
	if text, ok := o.Get("numPartitions"); ok {
		s.described = text
	}
	return s, nil
}

func partitionOption(env *connector.Env, o plan.Options) (int, error) {
	n, err := connector.IntOption(o, "numPartitions", max(1, env.Parallelism))
	if err == nil && n <= 0 {
		err = connector.RefuseOption("numPartitions", int64(n), "be positive")
	}
	return n, err
}

// maxSeconds is how long the numbers of a rate fit 64 bits.
func (s rateSettings) maxSeconds() int64 { return math.MaxInt64 / s.rowsPerSecond }

// valueAt is the first number of a second. While the speed rises it grows by
// the same step each second.
func (s rateSettings) valueAt(second int64) int64 {
	step := max(1, s.rowsPerSecond/(s.rampUpSeconds+1))
	if second > s.rampUpSeconds {
		return s.valueAt(s.rampUpSeconds) + (second-s.rampUpSeconds)*s.rowsPerSecond
	}
	// step * second * (second+1) / 2, divided first so that it fits.
	if second%2 == 1 {
		return (second + 1) / 2 * step * second
	}
	return second / 2 * step * (second + 1)
}

// rateSource counts whole seconds since its creation, which its log keeps.
type rateSource struct {
	rateSettings
	columns   []int // 0 is timestamp, 1 value
	now       func() time.Time
	createdMs int64
	lastMs    int64 // the clock's latest, so that Latest never goes back
	connector.Arrivals
}

func openRate(
	_ context.Context, env *connector.Env, s *plan.Scan, log connector.Place,
) (connector.Source, error) {
	settings, err := rateOptions(env, s.Relation.Options)
	if err != nil {
		return nil, err
	}
	if limit := settings.maxSeconds(); settings.rampUpSeconds > limit {
		return nil, plan.NewError(plan.ClassRuntime, "INCORRECT_RAMP_UP_RATE",
			fmt.Sprintf("%d rows a second can be counted for %d seconds, and the speed would rise for %d.",
				settings.rowsPerSecond, limit, settings.rampUpSeconds),
			"rowsPerSecond", strconv.FormatInt(settings.rowsPerSecond, 10),
			"maxSeconds", strconv.FormatInt(limit, 10),
			"rampUpTimeSeconds", strconv.FormatInt(settings.rampUpSeconds, 10))
	}
	text, err := connector.RememberOnce(log, strconv.FormatInt(env.Now().UnixMilli(), 10))
	if err != nil {
		return nil, err
	}
	created, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, connector.UnreadableLog(log.Dir+"/0",
			connector.IllegalState("it is %.80q and should be the time at "+
				"which a rate source began; does the checkpoint belong to a query with another source?", text))
	}
	columns, err := connector.ColumnsOf(s)
	if err != nil {
		return nil, err
	}
	return &rateSource{
		rateSettings: settings, columns: columns, now: env.Now, createdMs: created, lastMs: created,
	}, nil
}

// Describe is Spark's text, whose bracket stays open.
func (r *rateSource) Describe() string {
	return fmt.Sprintf("RateStreamV2[rowsPerSecond=%d, rampUpTimeSeconds=%d, numPartitions=%s",
		r.rowsPerSecond, r.rampUpSeconds, r.described)
}

func (r *rateSource) Latest(context.Context, connector.Offset, connector.Limit) (connector.Offset, error) {
	r.lastMs = max(r.lastMs, r.now().UnixMilli())
	return r.reached(), nil
}

func (r *rateSource) reached() connector.Offset {
	return connector.Offset(strconv.FormatInt((r.lastMs-r.createdMs)/1000, 10))
}

// ReportLatest is the offset that Latest gave last.
func (r *rateSource) ReportLatest(context.Context) (connector.Offset, error) { return r.reached(), nil }

// NextCheck is the next whole second of the source.
func (r *rateSource) NextCheck(now time.Time) time.Time {
	passed := max(0, now.UnixMilli()-r.createdMs)
	return time.UnixMilli(r.createdMs + (passed/1000+1)*1000)
}

func (r *rateSource) Advance(context.Context, connector.Offset) error { return nil }
func (r *rateSource) Close() error                                    { return nil }

func (r *rateSource) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	start, err := secondOf(from)
	if err != nil {
		return chunk.Fail(err)
	}
	end, err := secondOf(to)
	if err != nil {
		return chunk.Fail(err)
	}
	if start > end {
		return chunk.Fail(connector.IllegalState("a rate source cannot go back from second %d to %d", start, end))
	}
	if end > r.maxSeconds() {
		return chunk.Fail(&plan.Error{Class: plan.ClassRuntime, Msg: fmt.Sprintf(
			"%d rows a second can be counted for %d seconds, and second %d is past that.",
			r.rowsPerSecond, r.maxSeconds(), end)})
	}
	// After a restart with a clock that was set back, time goes on from here.
	r.lastMs = max(r.lastMs, r.createdMs+end*1000)
	r.date(start, end)
	n := numbers{first: r.valueAt(start), end: r.valueAt(end), stride: int64(r.partitions)}
	localMs := r.createdMs + start*1000
	msPerValue := float64((end-start)*1000) / float64(n.end-n.first)
	return n.rows(ctx, r.columns, func(value int64) int64 {
		ms := math.Floor(float64(value-n.first)*msPerValue + 0.5)
		return (localMs + int64(ms)) * 1000
	})
}

// date notes when the rows of some seconds were made, at most connector.MostArrivals instants.
func (r *rateSource) date(start, end int64) {
	r.Arrivals.Reset()
	step := max(1, (end-start+connector.MostArrivals-1)/connector.MostArrivals)
	for s := start; s < end; s += step {
		to := min(end, s+step)
		r.Arrivals.Add(time.UnixMilli(r.createdMs+to*1000), float64(r.valueAt(to)-r.valueAt(s)))
	}
}

// secondOf reads an offset of the rate source; "" is the beginning.
func secondOf(o connector.Offset) (int64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 {
		return 0, connector.IllegalState("%.60q is no offset of a rate source", string(o))
	}
	return n, nil
}

// numbers are those of [first, end), dealt out to stride partitions in turn.
type numbers struct{ first, end, stride int64 }

// rows yields the numbers as columns timestamp (0) and value (1), one partition
// after the other. at gives the time of a number in microseconds.
func (n numbers) rows(ctx context.Context, columns []int, at func(value int64) int64) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		if !yield(chunk.Partitions(int(n.stride)), nil) {
			return
		}
		for p := range min(n.stride, n.end-n.first) {
			for value := n.first + p; value < n.end; {
				if ctx.Err() != nil {
					yield(nil, context.Cause(ctx))
					return
				}
				count := min(chunk.MaxRows, (n.end-value+n.stride-1)/n.stride)
				c := n.chunk(value, int(count), columns, at)
				c.Part = int(p)
				if !yield(c, nil) {
					return
				}
				value += count * n.stride
			}
		}
	}
}

func (n numbers) chunk(value int64, count int, columns []int, at func(value int64) int64) *chunk.Chunk {
	c := &chunk.Chunk{Cols: make([]*chunk.Vector, len(columns)), Rows: count}
	for k, column := range columns {
		if column == 0 {
			c.Cols[k] = chunk.Make(plan.Timestamp, count)
			for i, out := 0, chunk.Values[int64](c.Cols[k]); i < count; i++ {
				out[i] = at(value + int64(i)*n.stride)
			}
			continue
		}
		c.Cols[k] = chunk.Make(plan.Long, count)
		for i, out := 0, chunk.Values[int64](c.Cols[k]); i < count; i++ {
			out[i] = value + int64(i)*n.stride
		}
	}
	return c
}

// rateGauge counts what its clock has made and no batch has read.
type rateGauge struct {
	rateSettings
	createdMs int64
	now       func() time.Time
}

// Gauge counts rows by the clock.
func (r *rateSource) Gauge() connector.Gauge { return &rateGauge{r.rateSettings, r.createdMs, r.now} }

func (g *rateGauge) Backlog(_ context.Context, committed connector.Offset) (connector.Backlog, error) {
	start, err := secondOf(committed)
	if err != nil {
		return connector.Unmeasured(), err
	}
	end := min(max(start, (g.now().UnixMilli()-g.createdMs)/1000), g.maxSeconds())
	b := connector.Unmeasured()
	b.Rows, b.ReadRows = float64(g.valueAt(end)-g.valueAt(start)), float64(g.valueAt(start))
	if b.Rows > 0 {
		b.Oldest = time.UnixMilli(g.createdMs + start*1000)
	}
	return b, nil
}
