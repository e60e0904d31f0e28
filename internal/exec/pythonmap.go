package exec

import (
	"bytes"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/rowkey"
)

// mapPythonOp gives the rows of each partition to a function and yields its
// results.
type mapPythonOp struct {
	in operator
	python
}

var mapShapes = map[int]pyworker.Shape{
	pyworker.EvalMapPandas: pyworker.MapPandas, pyworker.EvalMapArrow: pyworker.MapArrow,
}

func (p *planner) buildMapPython(n *plan.MapPython) (input, error) {
	shape, ok := mapShapes[n.Func.EvalType]
	if !ok {
		return input{}, unknownShape(n.Func)
	}
	below, args, err := p.liftPython(n.Input, n.Func.Args...)
	if err != nil {
		return input{}, err
	}
	in, err := p.build(below, needs(args...))
	if err != nil {
		return input{}, err
	}
	o := &mapPythonOp{in: in.op}
	o.python, err = p.framePython(n.Func, args, columnNames(n.Func.Args), in.attrs)
	o.call.Shape, o.call.Output = shape, plan.SchemaOf(n.Attrs)
	return input{op: o, attrs: n.Attrs}, err
}

// framePython is a function of frames whose columns have names.
func (p *planner) framePython(f *plan.PythonUDF, columns []plan.Expr, names []string, in []*plan.Attribute,
) (python, error) {
	set, schema, err := p.columnsFor(columns, names, in)
	return python{name: f.Name, args: set, call: pyworker.Call{
		Functions: []pyworker.Function{{Pickle: f.Command, Eval: f.EvalType}}, Version: f.PythonVersion,
		Input: schema,
	}}, err
}

func unknownShape(f *plan.PythonUDF) error {
	return plan.Unsupported("The Python function " + f.Name + " in this place")
}

func (o *mapPythonOp) parts(r *running) int { return o.in.parts(r) }

// rows calls the function for every partition, those without rows included as
// far as their number is known.
func (o *mapPythonOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		m := &pythonMap{op: o, r: r, yield: yield, ev: o.args.Take(r.evaluation())}
		m.batch = batcher{schema: o.call.Input, limit: r.run.Python.batchRows()}
		defer m.release()
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = m.add(c)
			}
			if err != nil {
				m.fail(err)
				return
			}
			if m.enough {
				return
			}
		}
		if err := m.turn(o.in.parts(r)); err != nil {
			m.fail(err)
		}
	}
}

// pythonMap is a run of a mapPythonOp.
type pythonMap struct {
	op     *mapPythonOp
	r      *running
	yield  receiver
	ev     *eval.Evaluator
	batch  batcher
	call   *pyworker.Exchange
	part   int // at hand, or the first that had no turn
	enough bool
}

func (m *pythonMap) release() {
	if m.call != nil {
		m.call.Abandon()
	}
	m.ev.Release()
}

func (m *pythonMap) fail(err error) {
	if !m.enough {
		m.enough = true
		m.yield(nil, err)
	}
}

func (m *pythonMap) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	if m.call == nil || c.Part != m.part {
		if err := m.turn(c.Part); err != nil {
			return err
		}
		m.part = c.Part
		if err := m.open(); err != nil {
			return err
		}
	}
	args, err := m.ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	full := m.batch.add(&chunk.Chunk{Cols: args, Rows: c.Rows, Part: c.Part})
	for full && !m.enough {
		if _, err := m.call.Put(m.take, m.batch.take()); err != nil {
			return err
		}
		full = m.batch.rows >= m.batch.limit
	}
	return nil
}

// turn ends the partition at hand and gives those before part that have no rows
// their turn.
func (m *pythonMap) turn(part int) error {
	if m.call != nil {
		if err := m.end(); err != nil {
			return err
		}
		m.part++
	}
	for ; m.part < part && !m.enough; m.part++ {
		if err := m.open(); err != nil {
			return err
		}
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func (m *pythonMap) open() error {
	call := m.op.call
	call.Partition = m.part
	var err error
	m.call, err = m.r.run.Python.begin(m.r.ctx, m.op.name, call)
	return err
}

func (m *pythonMap) end() error {
	call := m.call
	for m.batch.rows > 0 && !m.enough {
		if _, err := call.Put(m.take, m.batch.take()); err != nil {
			return err
		}
	}
	m.batch.chunks, m.batch.rows, m.batch.bytes = nil, 0, 0
	if m.enough {
		return nil
	}
	m.call = nil
	return call.End(m.take)
}

func (m *pythonMap) take(c *chunk.Chunk) bool {
	c.Part = m.part
	m.enough = !m.yield(c, nil)
	return !m.enough
}

// groupPythonOp gives each group of its input, which is sorted by the keys, to a
// function.
type groupPythonOp struct {
	in operator
	python
	keys int
	form *rowkey.Form
	// spread says that the rows are sorted by partition and key, and that the
	// number of the partition is the first column of the input.
	spread bool
}

var groupShapes = map[int]pyworker.Shape{
	pyworker.EvalGroupPandas: pyworker.GroupPandas, pyworker.EvalGroupArrow: pyworker.GroupArrow,
	pyworker.EvalGroupPandasFrames: pyworker.GroupPandas, pyworker.EvalGroupArrowBatches: pyworker.GroupArrow,
	pyworker.EvalCogroupPandas: pyworker.CogroupPandas, pyworker.EvalCogroupArrow: pyworker.CogroupArrow,
}

func (p *planner) buildGroupPython(n *plan.GroupPython) (input, error) {
	shape, ok := groupShapes[n.Func.EvalType]
	if !ok {
		return input{}, unknownShape(n.Func)
	}
	columns := slices.Clone(n.Keys)
	if n.Side != nil {
		columns = append(columns, n.Side)
	}
	sorted := len(columns)
	grouped := groupedRows{
		in: n.Input, keys: len(n.Keys), sorted: sorted, columns: append(columns, n.Func.Args...),
	}
	grouped.spread = p.fixed && p.placements.of(n) != chunk.PartsUnseen && sorted == grouped.keys
	o, err := p.groupedPython(grouped)
	if err != nil {
		return input{}, err
	}
	o.name, o.call.Version = n.Func.Name, n.Func.PythonVersion
	o.call.Functions = []pyworker.Function{{Pickle: n.Func.Command, Eval: n.Func.EvalType}}
	o.call.Shape, o.call.First, o.call.Output = shape, n.First, plan.SchemaOf(n.Attrs)
	return input{op: o, attrs: n.Attrs}, nil
}

// groupedRows is what a function of groups reads: columns, of which the first are
// keys. Rows come sorted by the first ones; with spread by Spark's partition of
// their key before.
type groupedRows struct {
	in           plan.Node
	columns      []plan.Expr
	keys, sorted int
	spread       bool
}

// order is the input sorted, and its columns.
func (p *planner) order(g groupedRows) (plan.Node, []plan.Expr, error) {
	below, lifted, err := p.liftPython(g.in, g.columns...)
	if err != nil || g.sorted == 0 {
		return below, lifted, err
	}
	if g.spread {
		n := &keyedRows{input: below, keys: g.keys, exprs: lifted}
		below = p.sortedByKey(n)
		return below, exprsOf(n.attrs[1:]), nil
	}
	orders := make([]*plan.SortOrder, g.sorted)
	for i, k := range lifted[:g.sorted] {
		orders[i] = &plan.SortOrder{Child: k, NullsFirst: true}
	}
	return plan.NewSort(below, true, orders...), lifted, nil
}

func (p *planner) groupedPython(g groupedRows) (*groupPythonOp, error) {
	below, lifted, err := p.order(g)
	if err != nil {
		return nil, err
	}
	types := make([]plan.Type, g.keys)
	for i, k := range lifted[:g.keys] {
		types[i] = k.Type()
	}
	form, err := rowkey.NewForm(types)
	if err != nil {
		return nil, err
	}
	read := needs(lifted...)
	if g.spread {
		read = nil
	}
	source, err := p.build(below, read)
	if err != nil {
		return nil, err
	}
	o := &groupPythonOp{in: source.op, keys: g.keys, form: form, spread: g.spread}
	o.call.Keys = g.keys
	o.args, o.call.Input, err = p.columnsFor(lifted, columnNames(g.columns), source.attrs)
	return o, err
}

func (o *groupPythonOp) parts(r *running) int {
	if o.spread {
		return r.partitions()
	}
	return 1
}

func (o *groupPythonOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		g := &pythonGroups{op: o, r: r, yield: yield, ev: o.args.Take(r.evaluation())}
		g.held, g.encoded.Form = r.lease("group of Python"), o.form
		defer g.release()
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = g.add(c)
			}
			if err != nil {
				g.fail(err)
				return
			}
			if g.enough {
				return
			}
		}
		if err := g.end(); err != nil {
			g.fail(err)
		}
	}
}

// pythonGroups is a run of a groupPythonOp.
type pythonGroups struct {
	op      *groupPythonOp
	r       *running
	yield   receiver
	ev      *eval.Evaluator
	held    *chunk.Lease
	encoded rowkey.Encoded
	call    *pyworker.Exchange
	key     []byte // of the group at hand
	group   []*chunk.Chunk
	part    int // of the group at hand
	handed  int // the partition of the group that the function is at
	enough  bool
}

func (g *pythonGroups) release() {
	if g.call != nil {
		g.call.Abandon()
	}
	g.held.End()
	g.ev.Release()
}

func (g *pythonGroups) fail(err error) {
	if !g.enough {
		g.enough = true
		g.yield(nil, err)
	}
}

// add cuts a chunk where the key changes.
func (g *pythonGroups) add(c *chunk.Chunk) error {
	cols, err := g.ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	args := &chunk.Chunk{Cols: cols, Rows: c.Rows}
	if g.op.keys == 0 {
		return g.hold(args)
	}
	keys := make([]*chunk.Vector, g.op.keys)
	for i := range keys {
		keys[i] = rowkey.Normal(cols[i])
	}
	g.encoded.Encode(keys, nil, c.Rows)
	from := 0
	for i := range c.Rows {
		row := g.encoded.Row(i)
		if g.group == nil && i == from {
			g.partOf(c, i)
		}
		if g.group == nil && i == from || bytes.Equal(row, g.key) {
			g.key = append(g.key[:0], row...)
			continue
		}
		if err := g.hold(args.Slice(from, i)); err != nil {
			return err
		}
		if err := g.send(); err != nil || g.enough {
			return err
		}
		from = i
		g.key = append(g.key[:0], row...)
		g.partOf(c, i)
	}
	return g.hold(args.Slice(from, c.Rows))
}

// partOf notes the partition of a group by one of its rows.
func (g *pythonGroups) partOf(c *chunk.Chunk, i int) {
	if g.op.spread {
		g.part = int(chunk.Values[int32](c.Cols[0])[i])
	}
}

// hold adds rows to the group at hand.
func (g *pythonGroups) hold(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	g.group = append(g.group, c)
	return g.held.Add(c.Size())
}

// send hands the group over.
func (g *pythonGroups) send() error {
	if len(g.group) == 0 {
		return nil
	}
	if g.call == nil {
		var err error
		if g.call, err = g.r.run.Python.begin(g.r.ctx, g.op.name, g.op.call); err != nil {
			return err
		}
	}
	_, err := g.call.Put(g.take, g.batches()...)
	g.group, g.handed = nil, g.part
	g.held.End()
	return err
}

// batches is the group in the batches that a function sees one by one.
func (g *pythonGroups) batches() []*chunk.Chunk {
	b := batcher{schema: g.op.call.Input, limit: g.r.run.Python.batchRows()}
	var out []*chunk.Chunk
	for _, c := range g.group {
		for full := b.add(c); full; full = b.rows >= b.limit {
			out = append(out, b.take())
		}
	}
	if rest := b.take(); rest != nil {
		out = append(out, rest)
	}
	return out
}

func (g *pythonGroups) end() error {
	if err := g.send(); err != nil || g.call == nil || g.enough {
		return err
	}
	call := g.call
	g.call = nil
	return call.End(g.take)
}

func (g *pythonGroups) take(c *chunk.Chunk) bool {
	c.Part = g.handed
	g.enough = !g.yield(c, nil)
	return !g.enough
}
