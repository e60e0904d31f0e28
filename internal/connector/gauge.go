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

// Resting is a source that can answer after its query has ended.
type Resting interface {
	Gauged
	// Rest lets go of what only reading needs. The Gauge is used until Close, nothing else.
	Rest()
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

// Unmeasured is a backlog of which nothing is known.
func Unmeasured() Backlog {
	nan := math.NaN()
	return Backlog{
		Rows: nan, Bytes: nan, Files: nan, ReadRows: nan, ReadBytes: nan, ReadFiles: nan, UntilLoss: nan,
	}
}
