package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// dedupOp keeps the first row of each key.
type dedupOp struct {
	in   operator
	keys []int // ordinals
	form *rowkey.Form
	keep []int
}

func (p *planner) buildDedup(n *plan.Dedup, want need) (input, error) {
	keys := n.Keys
	if len(keys) == 0 && len(n.Columns) == 0 {
		keys = n.Input.Output()
	}
	in, err := p.build(n.Input, want.with(exprsOf(keys)...))
	if err != nil {
		return input{}, err
	}
	attrs := want.only(in.attrs)
	return newDedup(in, keys, attrs)
}

func newDedup(in input, keys, attrs []*plan.Attribute) (input, error) {
	types := make([]plan.Type, len(keys))
	for i, a := range keys {
		types[i] = a.Of
	}
	form, err := rowkey.NewForm(types)
	if err != nil {
		return input{}, err
	}
	o := &dedupOp{in: in.op, keys: ordinalsOf(in.attrs, keys), form: form, keep: ordinalsOf(in.attrs, attrs)}
	return input{op: o, attrs: attrs}, nil
}

func (o *dedupOp) parts(*running) int { return 1 }

func (o *dedupOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("removal of duplicates")
		defer held.End()
		index := o.form.NewIndex()
		ids := make([]int32, 0, chunk.MaxRows)
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			c = normalized(c, o.keys)
			ids = grow(ids, c.Rows)
			fresh := index.Insert(pick(c, o.keys).Cols, nil, ids, make(chunk.Sel, 0, c.Rows))
			if err := held.Hold(index.Bytes()); err != nil {
				yield(nil, err)
				return
			}
			if len(fresh) == 0 {
				continue
			}
			out := *pick(c, o.keep).Take(fresh)
			out.Part = 0
			if !yield(&out, nil) {
				return
			}
		}
	}
}

// normalized is a chunk whose key columns are normal.
func normalized(c *chunk.Chunk, keys []int) *chunk.Chunk {
	out := &chunk.Chunk{Cols: append([]*chunk.Vector(nil), c.Cols...), Rows: c.Rows, Part: c.Part}
	for _, k := range keys {
		out.Cols[k] = rowkey.Normal(c.Cols[k])
	}
	return out
}

// grow is a slice of n elements that uses the memory of s if it can.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, chunk.MaxRows))
	}
	return s[:n]
}
