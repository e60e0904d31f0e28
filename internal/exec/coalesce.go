package exec

import (
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// coalesceOp joins neighbouring partitions where there are more than count.
type coalesceOp struct {
	in    operator
	count int
	attrs []*plan.Attribute
}

func (o *coalesceOp) parts(r *running) int { return min(o.count, o.in.parts(r)) }

// rows waits for all rows, since only then it is known how many partitions they
// have.
func (o *coalesceOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		if o.count == 1 {
			gatherInto(r, o.in, yield)
			return
		}
		held := r.lease("coalesce")
		defer held.End()
		stores := map[int]*rowStore{}
		for c, err := range o.in.rows(r) {
			if err == nil {
				if stores[c.Part] == nil {
					stores[c.Part] = newRowStore(o.attrs, held)
				}
				err = stores[c.Part].add(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		parts := slices.Sorted(maps.Keys(stores))
		before := o.in.parts(r)
		if len(parts) > 0 {
			before = max(before, parts[len(parts)-1]+1)
		}
		for _, part := range parts {
			if !emitAll(r, stores[part], coalesced(part, before, o.count), yield) {
				return
			}
		}
	}
}

// coalesced is where a partition of so many goes when there are to be count at most.
func coalesced(part, of, count int) int {
	if of <= count {
		return part
	}
	// The first partitions that go to i are i*of/count and later.
	to := part * count / of
	for (to+1)*of/count <= part {
		to++
	}
	return to
}
