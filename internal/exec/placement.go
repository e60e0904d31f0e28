package exec

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// placements is what is made of the partitions of each node's rows.
type placements map[plan.Node]chunk.Placement

// of is the placement of a node. One that compilation made is asked for the most.
func (m placements) of(n plan.Node) chunk.Placement {
	if how, ok := m[n]; ok {
		return how
	}
	return chunk.PartsGrouped
}

// place notes what is made of the rows of a node, and of those below it.
func (m placements) place(n plan.Node, how chunk.Placement) {
	m[n] = max(m[n], how)
	how = wantedBelow(n, m[n])
	for i, c := range n.Children() {
		below := how
		if j, ok := n.(*plan.Join); ok && (i == leftSide) == (j.Kind == plan.RightJoin) {
			below = chunk.PartsUnseen // the side that every partition of the other gets
		}
		m.place(c, below)
	}
}

// wantedBelow is what a node makes of the partitions of its input.
func wantedBelow(n plan.Node, how chunk.Placement) chunk.Placement {
	switch n := n.(type) {
	case *plan.Aggregate:
		if slices.ContainsFunc(n.Group, isEventTime) {
			return chunk.PartsSeen // late groups are counted by partition
		}
		return chunk.PartsUnseen
	case *plan.Join:
		if plan.Streaming(n.Left) && plan.Streaming(n.Right) {
			return chunk.PartsUnseen
		}
	case *plan.Dedup, *plan.Limit, *plan.Window, *plan.GroupPython, *plan.StatePython, *plan.TransformPython:
		return chunk.PartsUnseen
	case *plan.Sort:
		if n.Global {
			return chunk.PartsUnseen
		}
	case *plan.Repartition:
		return max(how, chunk.PartsSeen)
	case *plan.MapPython, *plan.TablePython:
		return chunk.PartsGrouped
	}
	return max(how, wantedByExprs(n))
}

// wantedByExprs is what the expressions of a node make of partitions: functions in
// Python see one after the other, others its number.
func wantedByExprs(n plan.Node) chunk.Placement {
	how := chunk.PartsUnseen
	var exprs []plan.Expr
	switch n := n.(type) {
	case *plan.Project:
		exprs = n.Exprs
	case *plan.Filter:
		exprs = []plan.Expr{n.Cond}
	case *plan.Generate:
		exprs = []plan.Expr{n.Generator}
	case *plan.Join:
		if n.Cond != nil {
			exprs = []plan.Expr{n.Cond}
		}
	}
	for _, e := range exprs {
		switch {
		case callsPython(e):
			return chunk.PartsGrouped
		case plan.Contains(e, isVolatile):
			how = chunk.PartsSeen
		}
	}
	return how
}

// keepsState tells whether a plan that runs batch by batch has stateful operators.
func keepsState(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		switch m := m.(type) {
		case *plan.TransformPython:
			return false
		case *plan.Join:
			return !plan.Streaming(m.Left) || !plan.Streaming(m.Right)
		case *plan.SetOp:
			return m.Kind != plan.Except || !plan.Streaming(m)
		case *plan.Aggregate, *plan.Dedup, *plan.Limit, *plan.StatePython:
			return !plan.Streaming(m)
		default:
			return true
		}
	})
}

// placer puts the rows that an operator yields into the partitions of their keys.
// Without a spreader all are in one.
type placer struct {
	how    chunk.Placement
	attrs  []*plan.Attribute
	spread *spreader
}

// placing is a placer in a run.
type placing struct {
	of     *placer
	r      *running
	yield  receiver
	stores []*rowStore
	part   [chunk.MaxRows]int32
	silent bool // nobody wants more rows
}

func (p *placer) start(r *running, yield receiver) *placing {
	return &placing{of: p, r: r, yield: yield}
}

func (p *placing) release() {
	for _, s := range p.stores {
		if s != nil {
			s.held.End()
		}
	}
}

// add takes rows; keys gives their keys, normal.
func (p *placing) add(c *chunk.Chunk, keys func() ([]*chunk.Vector, error)) error {
	if p.silent || c.Rows == 0 {
		return nil
	}
	parts := p.r.partitions()
	if p.of.how == chunk.PartsUnseen || parts == 1 {
		c.Part = 0
		p.silent = !p.yield(c, nil)
		return nil
	}
	cols, err := keys()
	if err != nil {
		return err
	}
	part := p.part[:c.Rows]
	if err := p.of.spread.parts(p.r, cols, part); err != nil {
		return err
	}
	sels := make([]chunk.Sel, parts)
	for i, to := range part {
		sels[to] = append(sels[to], uint16(i))
	}
	if p.stores == nil {
		p.stores = make([]*rowStore, parts)
	}
	for to, sel := range sels {
		if len(sel) > 0 {
			if err := p.keep(to, c.Take(sel)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep holds rows of a partition until there are enough of them.
func (p *placing) keep(part int, c *chunk.Chunk) error {
	if p.stores[part] == nil {
		p.stores[part] = newRowStore(p.of.attrs, p.r.lease("rows of a partition"))
	}
	if err := p.stores[part].add(c); err != nil {
		return err
	}
	if p.of.how == chunk.PartsSeen && p.stores[part].rows >= chunk.MaxRows {
		p.flush(part)
	}
	return nil
}

func (p *placing) flush(part int) {
	s := p.stores[part]
	if s == nil {
		return
	}
	p.stores[part] = nil
	p.silent = p.silent || !emitAll(p.r, s, part, p.yield)
	s.held.End()
}

// end yields what is held, partition by partition.
func (p *placing) end() {
	for part := range p.stores {
		p.flush(part)
	}
}
