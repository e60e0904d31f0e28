package connector

import (
	"context"
	"math"
	"time"
)

// Gauged is a source that can say, beside the query, what waits in it.
type Gauged interface {
	// Gauge is for another goroutine than the source's own, and used until Close.
	Gauge() Gauge
}

// A Gauge tells what a source holds behind an offset. It never moves the source.
type Gauge interface {
	// Backlog is what waits behind the end of the last committed batch, "" before the
	// first.
	Backlog(ctx context.Context, committed Offset) (Backlog, error)
}

// Backlog is what waits in a source. Amounts that are not known are NaN, instants zero.
type Backlog struct {
	Rows, Bytes, Files float64
	// ReadRows, ReadBytes and ReadFiles are what was committed since the gauge was
	// made, in the same measure: offsets without a row count as rows in both or neither.
	ReadRows, ReadBytes, ReadFiles float64
	// Oldest is when the first row that waits came to the source; zero if none waits.
	Oldest time.Time
	// UntilLoss is in how many seconds the source deletes the first row that waits.
	UntilLoss float64
	// Restarted says that the source began anew since it was last asked.
	Restarted  bool
	Partitions []PartitionBacklog
}

// PartitionBacklog is one part of a source, in the source's own positions.
type PartitionBacklog struct {
	Name              string
	Committed, Latest int64
}

// unmeasured is a backlog of which nothing is known.
func unmeasured() Backlog {
	nan := math.NaN()
	return Backlog{
		Rows: nan, Bytes: nan, Files: nan, ReadRows: nan, ReadBytes: nan, ReadFiles: nan, UntilLoss: nan,
	}
}

// rateGauge counts what its clock has made and no batch has read.
type rateGauge struct {
	rateSettings
	createdMs int64
	now       func() time.Time
}

// Gauge counts rows by the clock.
func (r *rateSource) Gauge() Gauge { return &rateGauge{r.rateSettings, r.createdMs, r.now} }

func (g *rateGauge) Backlog(_ context.Context, committed Offset) (Backlog, error) {
	start, err := secondOf(committed)
	if err != nil {
		return unmeasured(), err
	}
	end := min(max(start, (g.now().UnixMilli()-g.createdMs)/1000), g.maxSeconds())
	b := unmeasured()
	b.Rows, b.ReadRows = float64(g.valueAt(end)-g.valueAt(start)), float64(g.valueAt(start))
	if b.Rows > 0 {
		b.Oldest = time.UnixMilli(g.createdMs + start*1000)
	}
	return b, nil
}
