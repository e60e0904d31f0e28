package exec

import (
	"bytes"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// keyedRows is what a function of groups with a state reads of the rows that are
// in time: the partition in which Spark would keep their state, the keys, and
// the arguments. It exists while a plan is compiled.
type keyedRows struct {
	input plan.Node
	id    int         // of the stateful operator
	late  bool        // rows may come too late
	keys  int         // so many of exprs are keys
	exprs []plan.Expr // keys, then arguments
	attrs []*plan.Attribute
}

func (n *keyedRows) Children() []plan.Node { return []plan.Node{n.input} }

func (n *keyedRows) WithChildren(c []plan.Node) plan.Node {
	m := *n
	m.input = c[0]
	return &m
}

func (n *keyedRows) Output() []*plan.Attribute { return n.attrs }

// sortedByKey is keyedRows over a node, sorted by partition and key.
func (p *planner) sortedByKey(n *keyedRows) plan.Node {
	add := func(name string, t plan.Type) {
		p.lifted--
		n.attrs = append(n.attrs, &plan.Attribute{Name: name, Of: t, Null: true, ID: p.lifted})
	}
	add("partition", plan.Int)
	for i, e := range n.exprs {
		add(columnName(i), e.Type())
	}
	orders := make([]*plan.SortOrder, 1+n.keys)
	for i, a := range n.attrs[:1+n.keys] {
		orders[i] = &plan.SortOrder{Child: a, NullsFirst: true}
	}
	return plan.NewSort(n, true, orders...)
}

// keyedRowsOp computes keyedRows.
type keyedRowsOp struct {
	in     operator
	id     int
	timeAt int // the event time among the input; -1: no row comes too late
	keys   int
	cols   *eval.Set
	spread *spreader
}

func (p *planner) buildKeyedRows(n *keyedRows) (input, error) {
	reads := needs(n.exprs...)
	o := &keyedRowsOp{id: n.id, timeAt: -1, keys: n.keys}
	time := -1
	if n.late {
		var err error
		if time, err = eventColumn(n.input.Output()); err != nil {
			return input{}, err
		}
	}
	if time >= 0 {
		reads = reads.with(n.input.Output()[time])
	}
	in, err := p.build(n.input, reads)
	if err != nil {
		return input{}, err
	}
	o.in = in.op
	if time >= 0 {
		o.timeAt = position(in.attrs, n.input.Output()[time].ID)
	}
	if o.cols, err = p.compileSet(n.exprs, in.attrs); err != nil {
		return input{}, err
	}
	o.spread, err = p.spreadBy(keyColumns(n.attrs[1 : 1+n.keys]))
	return input{op: o, attrs: n.attrs}, err
}

func (o *keyedRowsOp) parts(r *running) int { return r.partitions() }

func (o *keyedRowsOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.cols.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			if err == nil {
				c, err = o.keyed(r, ev, o.onTime(r, c))
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// onTime takes out the rows that come too late, and counts them.
func (o *keyedRowsOp) onTime(r *running, c *chunk.Chunk) *chunk.Chunk {
	if o.timeAt < 0 {
		return c
	}
	w := r.working(o.id)
	onTime, late := splitLate(c.Cols[o.timeAt], w.lateMicros())
	w.work().Dropped += int64(len(late))
	if len(late) == 0 {
		return c
	}
	return c.Take(onTime)
}

func (o *keyedRowsOp) keyed(r *running, ev *eval.Evaluator, c *chunk.Chunk) (*chunk.Chunk, error) {
	cols, err := ev.EvalAll(c, nil)
	if err != nil {
		return nil, err
	}
	part := make([]int32, c.Rows)
	if err := o.spread.parts(r, normals(cols[:o.keys]), part); err != nil {
		return nil, err
	}
	out := append([]*chunk.Vector{chunk.Of(plan.Int, part)}, cols...)
	return &chunk.Chunk{Cols: out, Rows: c.Rows}, nil
}

func normals(cols []*chunk.Vector) []*chunk.Vector {
	out := make([]*chunk.Vector, len(cols))
	for i, v := range cols {
		out[i] = rowkey.Normal(v)
	}
	return out
}

// groupTurn is groups of one partition that a function sees in one turn: at most
// chunk.MaxRows groups, in batches of rows one behind the other.
type groupTurn struct {
	part   int
	keys   []*chunk.Vector // as they came, a row for each group
	counts []int32         // rows of each group
	rows   []*chunk.Chunk
}

// groupCutter cuts sorted keyedRows into groups, and these into turns.
type groupCutter struct {
	keys    []plan.Type
	encoded rowkey.Encoded
	limit   int // rows of a turn, but for groups that are bigger
	held    *chunk.Lease
	batch   batcher
	full    []*chunk.Chunk // batches of the turn at hand
	turn    *groupTurn
	key     []byte // of the group at hand
	rows    int    // of the turn
	bytes   int64
	send    func(*groupTurn) error
}

// add takes rows in the order of their partitions and keys.
func (g *groupCutter) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	keys := c.Cols[1 : 1+len(g.keys)]
	args := &chunk.Chunk{Cols: c.Cols[1+len(g.keys):], Rows: c.Rows}
	g.encoded.Encode(normals(keys), nil, c.Rows)
	parts := chunk.Values[int32](c.Cols[0])
	from := 0
	for i := range c.Rows {
		row := g.encoded.Row(i)
		if g.turn != nil && bytes.Equal(row, g.key) {
			continue
		}
		if err := g.take(args.Slice(from, i)); err != nil {
			return err
		}
		from = i
		if err := g.begin(int(parts[i]), keys, i); err != nil {
			return err
		}
		g.key = append(g.key[:0], row...)
	}
	return g.take(args.Slice(from, c.Rows))
}

// begin starts a group, in a new turn when the one at hand is full.
func (g *groupCutter) begin(part int, keys []*chunk.Vector, i int) error {
	if t := g.turn; t != nil && (t.part != part || len(t.counts) == chunk.MaxRows || g.rows >= g.limit ||
		g.bytes >= maxBatchBytes) {
		if err := g.flush(); err != nil {
			return err
		}
	}
	if g.turn == nil {
		g.turn = &groupTurn{part: part}
		for _, t := range g.keys {
			g.turn.keys = append(g.turn.keys, chunk.New(t, 0))
		}
	}
	for k, v := range g.turn.keys {
		v.AppendFrom(keys[k], i)
	}
	g.turn.counts = append(g.turn.counts, 0)
	return nil
}

// take adds rows to the group at hand.
func (g *groupCutter) take(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	n := c.Size()
	if err := g.held.Add(n); err != nil {
		return err
	}
	g.turn.counts[len(g.turn.counts)-1] += int32(c.Rows)
	g.rows += c.Rows
	g.bytes += n
	for full := g.batch.add(c); full; full = g.batch.rows >= g.batch.limit {
		g.full = append(g.full, g.batch.take())
	}
	return nil
}

// flush sends the turn at hand.
func (g *groupCutter) flush() error {
	t := g.turn
	if t == nil {
		return nil
	}
	if rest := g.batch.take(); rest != nil {
		g.full = append(g.full, rest)
	}
	t.rows = g.full
	g.turn, g.full, g.rows, g.bytes = nil, nil, 0, 0
	err := g.send(t)
	g.held.End()
	return err
}
