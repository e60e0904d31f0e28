package exec

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// limitOp keeps the first rows of all partitions in order, after skipping some.
type limitOp struct {
	in          operator
	skip, count int64
}

func (p *planner) buildLimit(n *plan.Limit, want need) (input, error) {
	skip, err := p.rowCount(n.Skip, 0)
	if err != nil {
		return input{}, err
	}
	count, err := p.rowCount(n.Count, math.MaxInt64)
	if err != nil {
		return input{}, err
	}
	if sort, ok := n.Input.(*plan.Sort); ok && sort.Global && !n.Tail && count <= maxTop && skip <= maxTop {
		top := skip + count
		in, err := p.buildSort(sort, &top, want)
		return input{op: &limitOp{in.op, skip, count}, attrs: in.attrs}, err
	}
	in, err := p.chain(n.Input, want)
	if err != nil {
		return input{}, err
	}
	local := in.local && n.Skip == nil && !n.Tail
	if !local {
		in = in.spread()
	}
	if n.Tail {
		return input{op: &tailOp{in.op, count}, attrs: in.attrs}, nil
	}
	return input{op: &limitOp{in.op, skip, count}, attrs: in.attrs, local: local}, nil
}

// rowCount is the value of a limit's expression; NULL counts as 0.
func (p *planner) rowCount(e plan.Expr, absent int64) (int64, error) {
	if e == nil {
		return absent, nil
	}
	v, err := eval.Const(e, p.env)
	if err != nil {
		return 0, err
	}
	n, _ := v.(int64)
	return max(0, n), nil
}

func (o *limitOp) parts(*running) int { return 1 }

func (o *limitOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		skip, left := o.skip, o.count
		if left == 0 {
			return
		}
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if int64(c.Rows) <= skip {
				skip -= int64(c.Rows)
				continue
			}
			out := *c.Slice(int(skip), int(min(int64(c.Rows), skip+min(left, math.MaxInt32))))
			skip, left, out.Part = 0, left-int64(out.Rows), 0
			if !yield(&out, nil) || left == 0 {
				return
			}
		}
	}
}

// tailOp keeps the last rows.
type tailOp struct {
	in    operator
	count int64
}

func (o *tailOp) parts(*running) int { return 1 }

func (o *tailOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("tail")
		defer held.End()
		last, err := o.last(r, held)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, c := range last {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// last is the chunks that hold the last rows, cut to them.
func (o *tailOp) last(r *running, held *chunk.Lease) ([]*chunk.Chunk, error) {
	if o.count == 0 {
		return nil, nil
	}
	var last []*chunk.Chunk
	rows := int64(0)
	for c, err := range o.in.rows(r) {
		if err == nil {
			err = held.Add(c.Size())
		}
		if err != nil {
			return nil, err
		}
		last = append(last, c)
		rows += int64(c.Rows)
		for rows-int64(last[0].Rows) >= o.count {
			rows -= int64(last[0].Rows)
			if err := held.Add(-last[0].Size()); err != nil {
				return nil, err
			}
			last = last[1:]
		}
	}
	for i, c := range last {
		from := 0
		if i == 0 {
			from = int(max(0, rows-o.count))
		}
		out := *c.Slice(from, c.Rows)
		out.Part = 0
		last[i] = &out
	}
	return last, nil
}
