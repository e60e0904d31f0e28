package exec

import (
	"context"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Run is what one execution of a Program needs from outside.
type Run struct {
	Eval *function.Env
	// Open yields the rows of a scan, columns in the order of s.Attrs.
	Open func(ctx context.Context, s *plan.Scan) chunk.Rows
	// Partitions is spark.sql.shuffle.partitions.
	Partitions int
	// Parallelism is spark.default.parallelism, the partitions of local data.
	Parallelism int
	// Observe receives the metrics of df.observe when the rows have passed; may
	// be nil.
	Observe func(name string, schema plan.Type, row []plan.Value)
	// MemoryBytes bounds what sorts, joins and aggregations may hold; 0 stands
	// for the default of 2 GiB.
	MemoryBytes int64
}
