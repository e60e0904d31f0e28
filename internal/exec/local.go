package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// localOp yields rows that came with the plan.
type localOp struct {
	chunks []*chunk.Chunk
	total  int
}

func buildLocal(n *plan.LocalData) (input, error) {
	o := &localOp{}
	for _, rec := range n.Rows {
		c, err := chunk.FromArrow(rec, n.Schema)
		if err != nil {
			return input{}, fmt.Errorf("local data: %w", err)
		}
		if c.Rows > 0 {
			o.chunks = append(o.chunks, c)
			o.total += c.Rows
		}
	}
	return input{o, n.Attrs}, nil
}

// parts is Spark's: as many as the parallelism, but none without rows.
func (o *localOp) parts(r *running) int { return min(r.parallelism(), o.total) }

// sliceStart is the first of n rows that slice i of count holds, as Spark's
// parallelize cuts.
func sliceStart(i, count, n int) int { return int(int64(i) * int64(n) / int64(count)) }

func (o *localOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		parts := o.parts(r)
		row, part := 0, 0
		for _, c := range o.chunks {
			for from := 0; from < c.Rows; {
				for row >= sliceStart(part+1, parts, o.total) {
					part++
				}
				to := min(c.Rows, from+chunk.MaxRows, from+sliceStart(part+1, parts, o.total)-row)
				out := c.Slice(from, to)
				if out == c {
					out = &chunk.Chunk{Cols: c.Cols, Rows: c.Rows}
				}
				out.Part = part
				row += to - from
				from = to
				if err := r.stopped(); err != nil {
					yield(nil, err)
					return
				}
				if !yield(out, nil) {
					return
				}
			}
		}
	}
}
