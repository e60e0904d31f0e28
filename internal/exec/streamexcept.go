package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// buildStreamExcept compiles EXCEPT of a stream and a static relation as what Spark
// makes of it once it is found legal: an aggregation by all columns over the rows
// that the other side has not.
func (p *planner) buildStreamExcept(n *plan.SetOp) (input, error) {
	if n.All {
		return p.buildStreamExceptAll(n)
	}
	left := n.Inputs[0]
	for _, right := range n.Inputs[1:] {
		var same []plan.Expr
		theirs := right.Output()
		for i, a := range left.Output() {
			same = append(same, &plan.Call{Name: "<=>", Args: []plan.Expr{a, theirs[i]}, Of: plan.Boolean})
		}
		others := &plan.Join{Left: left, Right: right, Kind: plan.AntiJoin, Cond: conjunction(same)}
		keys := exprsOf(left.Output())
		left = plan.NewAggregate(others, keys, keys)
	}
	return p.buildInstead(n, left)
}

// buildInstead compiles another node for a set operation.
func (p *planner) buildInstead(n *plan.SetOp, by plan.Node) (input, error) {
	p.replace(n, by)
	in, err := p.build(by, nil)
	if err != nil {
		return input{}, err
	}
	return input{op: in.take(by.Output()).op, attrs: n.Attrs}, nil
}

// buildStreamExceptAll counts rows of the stream up and those of the other side
// down: in every batch anew, as Spark does.
func (p *planner) buildStreamExceptAll(n *plan.SetOp) (input, error) {
	in := n.Inputs[0]
	for _, right := range n.Inputs[1:] {
		counted := []plan.Node{p.counting(in, 1), p.counting(right, -1)}
		union := &plan.SetOp{Kind: plan.Union, All: true, Inputs: counted}
		for _, a := range union.Inputs[0].Output() {
			union.Attrs = append(union.Attrs, p.liftedColumn(a.Name, a.Of))
		}
		last := len(union.Attrs) - 1
		p.lifted--
		sum := &plan.Alias{Names: []string{"sum"}, ID: p.lifted, Child: &plan.AggregateCall{
			Name: "sum", Args: []plan.Expr{union.Attrs[last]}, Of: plan.Long, Null: true, ANSI: true,
		}}
		keys := exprsOf(union.Attrs[:last])
		agg := plan.NewAggregate(union, keys, append(keys[:last:last], sum))
		in = &repeated{agg, agg.Output()[:last]}
	}
	return p.buildInstead(n, in)
}

// counting is a relation and a column that says what each row counts.
func (p *planner) counting(in plan.Node, n int64) plan.Node {
	p.lifted--
	count := &plan.Alias{Child: plan.Lit(n, plan.Long), Names: []string{"vcol"}, ID: p.lifted}
	return plan.NewProject(in, append(exprsOf(in.Output()), count)...)
}

// repeated is rows as often as their last column says, without that column. It
// exists while a plan is compiled.
type repeated struct {
	input plan.Node
	attrs []*plan.Attribute
}

func (n *repeated) Children() []plan.Node { return []plan.Node{n.input} }

func (n *repeated) WithChildren(c []plan.Node) plan.Node { return &repeated{c[0], n.attrs} }

func (n *repeated) Output() []*plan.Attribute { return n.attrs }

func (p *planner) buildRepeated(n *repeated) (input, error) {
	in, err := p.build(n.input, nil)
	if err != nil {
		return input{}, err
	}
	return input{op: &repeatOp{in.take(n.input.Output()).op}, attrs: n.attrs}, nil
}

// repeatOp computes repeated.
type repeatOp struct{ in operator }

func (o *repeatOp) parts(r *running) int { return o.in.parts(r) }

func (o *repeatOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		wanted := true
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			// Operators below keep state: they go on when nobody wants more rows.
			wanted = wanted && repeat(r, c, yield)
		}
	}
}

// repeat yields the rows of a chunk. It reports whether more are wanted.
func repeat(r *running, c *chunk.Chunk, yield receiver) bool {
	last := len(c.Cols) - 1
	var rows []int32
	send := func() bool {
		if len(rows) == 0 {
			return true
		}
		out := &chunk.Chunk{Cols: gatherAll(c.Cols[:last], rows), Rows: len(rows), Part: c.Part}
		rows = rows[:0]
		if err := r.stopped(); err != nil {
			yield(nil, err)
			return false
		}
		return yield(out, nil)
	}
	for i, times := range chunk.Values[int64](c.Cols[last]) {
		for ; times > 0; times-- {
			if rows = append(rows, int32(i)); len(rows) == chunk.MaxRows && !send() {
				return false
			}
		}
	}
	return send()
}
