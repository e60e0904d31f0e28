package shelf

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

func ratePerBatchFormat() *connector.Format {
	return &connector.Format{
		Name:    "rate-micro-batch",
		Aliases: []string{"org.apache.spark.sql.execution.streaming.sources.RatePerMicroBatchProvider"},
		Doc:     "numbers from 0 on, equally many in every batch, the same in every run",
		Options: connector.Options([][3]string{
			{"rowsPerBatch", "", "how many numbers a batch has; required"},
			{"numPartitions", "", "partitions of each batch; the default parallelism when it is not given"},
			{"startTimestamp", "0", "time of the first batch's rows, in milliseconds since 1970"},
			{"advanceMillisPerBatch", "1000", "how much later the rows of the next batch are"},
		}),
		Describe: func(_ context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
			if _, err := ratePerBatchOptions(env, r.Options); err != nil {
				return nil, err
			}
			return rateRelation(r, "rate-micro-batch", "RatePerMicroBatchProvider")
		},
		Source: openRatePerBatch,
	}
}

// ratePerBatch yields the same rows in every run: an offset carries the next
// number and the time of the batch that begins with it.
type ratePerBatch struct {
	rows      int64
	partition int64
	startMs   int64
	advanceMs int64
	columns   []int
	pinned    bool
	end       connector.Offset // where AvailableNow ends, found when the start is known
}

func ratePerBatchOptions(env *connector.Env, o plan.Options) (*ratePerBatch, error) {
	r := &ratePerBatch{}
	var err error
	if r.rows, err = connector.LongOption(o, "rowsPerBatch", 0); err != nil {
		return nil, err
	}
	if r.rows <= 0 {
		return nil, connector.RefuseOption("rowsPerBatch", r.rows, "be positive")
	}
	partitions, err := partitionOption(env, o)
	if err != nil {
		return nil, err
	}
	r.partition = int64(partitions)
	if r.startMs, err = connector.LongOption(o, "startTimestamp", 0); err != nil {
		return nil, err
	}
	if r.startMs < 0 {
		return nil, connector.RefuseOption("startTimestamp", r.startMs, "be non-negative")
	}
	advance, err := connector.IntOption(o, "advanceMillisPerBatch", 1000)
	if err != nil {
		return nil, err
	}
	if advance < 0 {
		return nil, connector.RefuseOption("advanceMillisPerBatch", int64(advance), "be non-negative")
	}
	r.advanceMs = int64(advance)
	return r, nil
}

func openRatePerBatch(
	_ context.Context, env *connector.Env, s *plan.Scan, _ connector.Place,
) (connector.Source, error) {
	r, err := ratePerBatchOptions(env, s.Relation.Options)
	if err != nil {
		return nil, err
	}
	r.columns, err = connector.ColumnsOf(s)
	return r, err
}

func (r *ratePerBatch) Describe() string {
	return fmt.Sprintf("RatePerMicroBatchStream[rowsPerBatch=%d, numPartitions=%d, startTimestamp=%d, "+
		"advanceMsPerBatch=%d]", r.rows, r.partition, r.startMs, r.advanceMs)
}

// batchStart is an offset of the source: the next number and its time.
type batchStart struct {
	Offset    int64 `json:"offset"`
	Timestamp int64 `json:"timestamp"`
}

func (r *ratePerBatch) parse(o connector.Offset) (batchStart, error) {
	if o == "" {
		return batchStart{Timestamp: r.startMs}, nil
	}
	var b batchStart
	if err := json.Unmarshal([]byte(o), &b); err != nil || b.Offset < 0 {
		return b, connector.IllegalState("%.60q is no offset of a rate-micro-batch source", string(o))
	}
	return b, nil
}

func (r *ratePerBatch) Latest(
	_ context.Context, start connector.Offset, _ connector.Limit,
) (connector.Offset, error) {
	if r.end != "" {
		return r.end, nil
	}
	at, err := r.parse(start)
	if err != nil {
		return "", err
	}
	if at.Offset > math.MaxInt64-r.rows {
		return start, nil
	}
	next := connector.Offset(fmt.Sprintf(`{"offset":%d,"timestamp":%d}`, at.Offset+r.rows,
		at.Timestamp+r.advanceMs))
	if r.pinned {
		r.end = next
	}
	return next, nil
}

// Pin bounds AvailableNow to one batch. Where that ends depends on where it
// starts, so the bound is found by the next Latest and "" is returned here.
func (r *ratePerBatch) Pin(context.Context) (connector.Offset, error) {
	r.pinned = true
	return "", nil
}

func (r *ratePerBatch) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	start, err := r.parse(from)
	if err != nil {
		return chunk.Fail(err)
	}
	end, err := r.parse(to)
	if err != nil {
		return chunk.Fail(err)
	}
	if end.Offset < start.Offset || end.Timestamp < start.Timestamp {
		return chunk.Fail(connector.IllegalState("a rate-micro-batch source cannot go back from %s to %s", from,
			to))
	}
	n := numbers{first: start.Offset, end: end.Offset, stride: r.partition}
	return n.rows(ctx, r.columns, func(int64) int64 { return start.Timestamp * 1000 })
}

// NextCheck is now: the next batch is always there.
func (r *ratePerBatch) NextCheck(now time.Time) time.Time { return now }

func (r *ratePerBatch) Advance(context.Context, connector.Offset) error { return nil }
func (r *ratePerBatch) Close() error                                    { return nil }
