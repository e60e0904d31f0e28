package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// scanOp yields what the run opens for a relation.
type scanOp struct {
	scan     *plan.Scan
	ordinals []int // of the needed columns; nil when all are
}

func buildScan(n *plan.Scan, want need) input {
	attrs := want.only(n.Attrs)
	o := &scanOp{scan: n}
	if len(attrs) < len(n.Attrs) {
		o.ordinals = make([]int, 0, len(attrs))
		for i, a := range n.Attrs {
			if want.has(a) {
				o.ordinals = append(o.ordinals, i)
			}
		}
	}
	return input{op: o, attrs: attrs}
}

// parts is what the source has numbered so far.
func (o *scanOp) parts(r *running) int { return r.counted[o] }

func (o *scanOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range r.run.Open(r.ctx, o.scan) {
			if err == nil {
				err = r.stopped()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			r.counted[o] = max(r.counted[o], c.Part+1)
			if c.Rows == 0 {
				continue
			}
			if o.ordinals != nil {
				c = pick(c, o.ordinals)
			}
			if !yieldSlices(c, yield) {
				return
			}
		}
	}
}

// yieldSlices yields a chunk in parts of at most MaxRows.
func yieldSlices(c *chunk.Chunk, yield receiver) bool {
	if c.Rows <= chunk.MaxRows {
		return yield(c, nil)
	}
	for from := 0; from < c.Rows; from += chunk.MaxRows {
		if !yield(c.Slice(from, min(from+chunk.MaxRows, c.Rows)), nil) {
			return false
		}
	}
	return true
}
