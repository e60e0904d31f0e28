package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// expanded is rows once for each combination of an aggregation: with the grouping
// expressions of the combination, NULL for the others, its number and the values of
// marks in front. So functions in Python, which see their groups one by one, compute
// ROLLUP, CUBE and GROUPING SETS as plain groups. It exists while a plan is compiled.
type expanded struct {
	input plan.Node
	keys  []plan.Expr
	sets  []groupSet
	marks []mark
	made  []*plan.Attribute // of keys, the number and marks
}

func (n *expanded) Children() []plan.Node { return []plan.Node{n.input} }

func (n *expanded) WithChildren(c []plan.Node) plan.Node {
	m := *n
	m.input = c[0]
	return &m
}

func (n *expanded) Output() []*plan.Attribute {
	return append(n.made[:len(n.made):len(n.made)], n.input.Output()...)
}

// expandSets is an aggregation over combinations as a plain one over expanded rows.
func (p *planner) expandSets(n *plan.Aggregate) (*plan.Aggregate, error) {
	numbers, columns := map[string]int{}, map[string]*plan.Attribute{}
	x := &expanded{input: n.Input, keys: n.Group}
	make := func(name string, of plan.Type) *plan.Attribute {
		a := p.liftedColumn(name, of)
		x.made = append(x.made, a)
		return a
	}
	for i, e := range n.Group {
		text := eval.Canonical(e)
		if _, ok := numbers[text]; !ok {
			numbers[text] = i
		}
		if a := make(plan.SQLText(e), e.Type()); columns[text] == nil {
			columns[text] = a
		}
	}
	var err error
	if x.sets, err = groupSetsOf(n, numbers); err != nil {
		return nil, err
	}
	make("set", plan.Int)
	for _, e := range n.Exprs {
		plan.Walk(e, func(e plan.Expr) bool {
			c, ok := e.(*plan.AggregateCall)
			if !ok {
				return true
			}
			if text := eval.Canonical(e); isMark(c.Name) && columns[text] == nil {
				keys := markedKeys(c.Name, c.Args, numbers, len(n.Group))
				x.marks = append(x.marks, mark{of: c.Of, values: markBits(x.sets, keys)})
				columns[text] = make(c.Name, c.Of)
			}
			return false
		})
	}
	m := plan.NewAggregate(x, exprsOf(x.made), nil)
	for _, e := range n.Exprs {
		m.Exprs = append(m.Exprs, overExpanded(e, columns))
	}
	return m, nil
}

// overExpanded is a result in terms of expanded rows. Aggregate functions see the
// columns as they were.
func overExpanded(e plan.Expr, columns map[string]*plan.Attribute) plan.Expr {
	if a := columns[eval.Canonical(e)]; a != nil {
		return a
	}
	if _, ok := e.(*plan.AggregateCall); ok {
		return e
	}
	children := e.Children()
	if len(children) == 0 {
		return e
	}
	list := make([]plan.Expr, len(children))
	for i, c := range children {
		list[i] = overExpanded(c, columns)
	}
	return e.WithChildren(list)
}

// expandOp computes expanded.
type expandOp struct {
	in    operator
	keys  *eval.Set
	sets  []groupSet
	marks []mark
}

func (p *planner) buildExpanded(n *expanded) (input, error) {
	in, err := p.build(n.input, nil)
	if err != nil {
		return input{}, err
	}
	in = in.take(n.input.Output())
	set, err := p.compileSet(n.keys, in.attrs)
	return input{op: &expandOp{in.op, set, n.sets, n.marks}, attrs: n.Output()}, err
}

func (o *expandOp) parts(r *running) int { return o.in.parts(r) }

func (o *expandOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.keys.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			var keys []*chunk.Vector
			if err == nil {
				keys, err = ev.EvalAll(c, nil)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i, s := range o.sets {
				out := *c
				out.Cols = s.apply(keys, i, c.Rows)
				for _, m := range o.marks {
					out.Cols = append(out.Cols, chunk.Repeat(m.values[i], m.of, c.Rows))
				}
				out.Cols = append(out.Cols, c.Cols...)
				if !yield(&out, nil) {
					return
				}
			}
		}
	}
}
