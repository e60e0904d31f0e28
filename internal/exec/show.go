package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/exec/show"
	"github.com/weir-dev/weir/internal/plan"
)

// showOp renders the first rows of its input as one text.
type showOp struct {
	in   operator
	node *plan.ShowString
}

func (p *planner) buildShow(n *plan.ShowString) (input, error) {
	in, err := p.build(n.Input, nil)
	if err != nil {
		return input{}, err
	}
	return input{op: &showOp{in.take(n.Input.Output()).op, n}, attrs: n.Output()}, nil
}

func (o *showOp) parts(*running) int { return 1 }

func (o *showOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		t := show.New(o.node, r.env.Zone)
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !t.Add(c) {
				break
			}
		}
		out := chunk.New(plan.String, 1)
		out.AppendText(t.Text())
		yield(&chunk.Chunk{Cols: []*chunk.Vector{out}, Rows: 1}, nil)
	}
}
