package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// localOp yields rows that came with the plan, all in partition 0.
type localOp struct{ chunks []*chunk.Chunk }

func buildLocal(n *plan.LocalData) (input, error) {
	o := &localOp{}
	for _, rec := range n.Rows {
		c, err := chunk.FromArrow(rec, n.Schema)
		if err != nil {
			return input{}, fmt.Errorf("local data: %w", err)
		}
		if c.Rows > 0 {
			o.chunks = append(o.chunks, c)
		}
	}
	return input{op: o, attrs: n.Attrs, local: true}, nil
}

func (o *localOp) parts(*running) int { return 1 }

func (o *localOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for _, c := range o.chunks {
			if err := r.stopped(); err != nil {
				yield(nil, err)
				return
			}
			if !yieldSlices(c, yield) {
				return
			}
		}
	}
}

// spreadOp cuts local rows into partitions. Spark's optimizer evaluates
// projections, filters and limits over local data itself, as one partition, and
// only what is left of the rows is cut; so this stands above all of them.
type spreadOp struct{ in operator }

// spread is the input as other operators see it.
func (in input) spread() input {
	if !in.local {
		return in
	}
	return input{op: &spreadOp{in.op}, attrs: in.attrs}
}

func (o *spreadOp) parts(r *running) int { return r.counted[o] }

func (o *spreadOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("local data")
		defer held.End()
		var chunks []*chunk.Chunk
		total := 0
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = held.Add(c.Size())
			}
			if err != nil {
				yield(nil, err)
				return
			}
			chunks = append(chunks, c)
			total += c.Rows
		}
		r.counted[o] = min(r.parallelism(), total)
		cut(chunks, total, r.counted[o], yield)
	}
}

// sliceStart is the first of n rows that slice i of count holds, as Spark's
// parallelize cuts.
func sliceStart(i, count, n int) int { return int(int64(i) * int64(n) / int64(count)) }

// cut yields rows in slices, a partition each. None of them is empty, since
// there are no more of them than rows.
func cut(chunks []*chunk.Chunk, total, parts int, yield receiver) {
	row, part := 0, 0
	for _, c := range chunks {
		for from := 0; from < c.Rows; {
			if row == sliceStart(part+1, parts, total) {
				part++
			}
			to := min(c.Rows, from+sliceStart(part+1, parts, total)-row)
			out := *c.Slice(from, to)
			out.Part = part
			row, from = row+to-from, to
			if !yield(&out, nil) {
				return
			}
		}
	}
}
