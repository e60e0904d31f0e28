package connector

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Computed are expressions over the columns of a table, ready to be computed.
type Computed struct {
	Exprs []plan.Expr // resolved
	// Eval computes them for the rows of a chunk with the columns of the table. The
	// results are nobody else's. One goroutine uses it.
	Eval func(c *chunk.Chunk) ([]*chunk.Vector, error)
}
