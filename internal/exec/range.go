package exec

import (
	"math/bits"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// rangeOp yields the numbers of spark.range.
type rangeOp struct{ n *plan.Range }

// count is how many numbers there are; up to 2^64-1 of them.
func (o *rangeOp) count() uint64 {
	n := o.n
	switch {
	case n.Step > 0 && n.End > n.Start:
		return (uint64(n.End)-uint64(n.Start)-1)/uint64(n.Step) + 1
	case n.Step < 0 && n.End < n.Start:
		return (uint64(n.Start)-uint64(n.End)-1)/(-uint64(n.Step)) + 1
	default:
		return 0
	}
}

func (o *rangeOp) parts(r *running) int {
	switch {
	case o.count() == 0:
		return 0
	case o.n.Partitions > 0:
		return o.n.Partitions
	default:
		return r.parallelism()
	}
}

// rows cuts the range as Spark does: partition i holds the numbers from
// i*count/parts up to (i+1)*count/parts.
func (o *rangeOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		parts, count := uint64(o.parts(r)), o.count()
		for part := range parts {
			end := mulDiv(part+1, count, parts)
			for at := mulDiv(part, count, parts); at < end; {
				rows := int(min(end-at, chunk.MaxRows))
				if err := r.stopped(); err != nil {
					yield(nil, err)
					return
				}
				c := &chunk.Chunk{Cols: []*chunk.Vector{o.numbers(at, rows)}, Rows: rows, Part: int(part)}
				if !yield(c, nil) {
					return
				}
				at += uint64(rows)
			}
		}
	}
}

// numbers are n numbers from the at-th on. They lie within the range, so the
// arithmetic ends where it should even if it wraps around on the way.
func (o *rangeOp) numbers(at uint64, n int) *chunk.Vector {
	v := chunk.Make(plan.Long, n)
	x := uint64(o.n.Start) + at*uint64(o.n.Step)
	for i, values := 0, chunk.Values[int64](v); i < n; i++ {
		values[i] = int64(x)
		x += uint64(o.n.Step)
	}
	return v
}

// mulDiv is a*b/c without overflow, for a <= c.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// oneRow is the relation of a SELECT without FROM.
type oneRow struct{}

func (oneRow) parts(*running) int { return 1 }

func (oneRow) rows(*running) chunk.Rows { return chunk.One(&chunk.Chunk{Rows: 1}) }
