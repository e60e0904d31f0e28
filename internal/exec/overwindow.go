package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// windowOp adds to each row what functions make of the rows around it. It reads
// all rows, brings those of a partition together and in order, and computes the
// functions one after the other over the ordered rows.
type windowOp struct {
	in     operator
	attrs  []*plan.Attribute // of the input
	set    *eval.Set         // partition keys, order keys, then what functions read
	groups int               // partition keys
	orders []*plan.SortOrder // of all keys
	extra  []*plan.Attribute // the columns of set behind the keys
	fns    []windowFn        // in the order of the node
	keep   []int             // the columns of the input that are read above
}

// windowFn is one function of a window. Its columns are numbered among extra.
type windowFn struct {
	call   plan.Expr // *plan.Call or *plan.AggregateCall
	def    *function.Def
	python *overPython // instead of def
	args   []int
	filter int // of an aggregate, -1 without one
	frame  frameForm
}

// frameForm is a compiled frame: for ROWS how far away its ends are.
type frameForm struct {
	plan.WindowFrame
	from, to           int64
	fromLimit, toLimit int // columns of a RANGE with offsets, -1 without
}

func (p *planner) buildWindow(n *plan.Window, want need) (input, error) {
	o := &windowOp{groups: len(n.Partition)}
	keys := append([]plan.Expr(nil), n.Partition...)
	for _, e := range n.Partition {
		o.orders = append(o.orders, &plan.SortOrder{Child: e, NullsFirst: true})
	}
	for _, k := range n.Order {
		keys = append(keys, k.Child)
		o.orders = append(o.orders, k)
	}
	for _, k := range keys {
		if err := rowkey.Comparable(k.Type()); err != nil {
			return input{}, err
		}
	}
	var made []*plan.Attribute
	for _, a := range n.Exprs {
		if out := plan.ToAttribute(a); want.has(out) {
			fn, err := p.windowFn(o, a.Child.(*plan.Windowed), &keys)
			if err != nil {
				return input{}, err
			}
			o.fns = append(o.fns, fn)
			made = append(made, out)
		}
	}
	in, err := p.build(n.Input, want.with(keys...))
	if err != nil {
		return input{}, err
	}
	if o.set, err = p.compileSet(keys, in.attrs); err != nil {
		return input{}, err
	}
	kept := want.only(in.attrs)
	o.in, o.attrs, o.keep = in.op, in.attrs, ordinalsOf(in.attrs, kept)
	return input{op: o, attrs: append(append([]*plan.Attribute(nil), kept...), made...)}, nil
}

// windowFn compiles a function; what it reads is added to exprs.
func (p *planner) windowFn(o *windowOp, w *plan.Windowed, exprs *[]plan.Expr) (windowFn, error) {
	column := func(e plan.Expr) int {
		if e == nil {
			return -1
		}
		*exprs = append(*exprs, e)
		o.extra = append(o.extra, &plan.Attribute{Of: e.Type(), Null: true})
		return len(o.extra) - 1
	}
	fn := windowFn{call: w.Function, filter: -1}
	name, args, known := "", []plan.Expr(nil), false
	switch c := w.Function.(type) {
	case *plan.AggregateCall:
		name, args = c.Name, c.Args
		fn.filter = column(c.Filter)
		fn.python = pythonOver(c, w.Frame)
		known = fn.python != nil
	case *plan.Call:
		name, args = c.Name, c.Args
	}
	fn.def, _ = function.Lookup(name)
	if !known && (fn.def == nil || fn.def.Window == nil && fn.def.Accumulate == nil) {
		return fn, plan.Unsupported("the function " + name + " over a window").At(w.Origin)
	}
	for _, e := range args {
		if s, ok := e.(*plan.SortOrder); ok {
			e = s.Child // the accumulator knows the direction
		}
		fn.args = append(fn.args, column(e))
	}
	fn.frame = frameForm{WindowFrame: w.Frame}
	fn.frame.fromLimit, fn.frame.toLimit = column(w.Frame.From.Limit), column(w.Frame.To.Limit)
	var err error
	if w.Frame.Rows {
		if fn.frame.from, err = p.distance(&w.Frame.From); err == nil {
			fn.frame.to, err = p.distance(&w.Frame.To)
		}
	}
	return fn, err
}

// distance is how many rows behind the current one an end of ROWS lies.
func (p *planner) distance(b *plan.FrameBound) (int64, error) {
	if b.Offset == nil {
		return 0, nil
	}
	v, err := eval.Const(b.Offset, p.env)
	n, _ := v.(int64)
	if b.Kind == plan.Preceding {
		n = -n
	}
	return n, err
}

// parts is one: what is shuffled into few rows fits one partition.
func (o *windowOp) parts(*running) int { return 1 }

func (o *windowOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("window")
		defer held.End()
		w, err := o.collect(r, held)
		if err != nil {
			yield(nil, err)
			return
		}
		made := make([]*chunk.Vector, len(o.fns))
		for i := range o.fns {
			if made[i], err = w.compute(&o.fns[i]); err == nil {
				err = held.Add(chunk.SizeOf(made[i]))
			}
			if err != nil {
				yield(nil, eval.At(err, o.fns[i].call))
				return
			}
		}
		w.emit(made, yield)
	}
}

// emit yields the rows in order, with the columns made.
func (w *windowRows) emit(made []*chunk.Vector, yield receiver) {
	for from := 0; from < w.n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, w.n)
		cols, err := pickRows("window", w.store.cols, w.op.keep, w.order[from:to])
		if err == nil {
			err = w.r.stopped()
		}
		c := &chunk.Chunk{Cols: cols, Rows: to - from}
		for _, v := range made {
			c.Cols = append(c.Cols, v.Slice(from, to))
		}
		if !yield(c, err) || err != nil {
			return
		}
	}
}

// windowRows is all rows of a window, ordered. Places count ordered rows.
type windowRows struct {
	r     *running
	op    *windowOp
	held  *chunk.Lease
	env   *function.Env
	n     int
	store *rowStore        // the input, as it came
	order []int32          // the row of each place
	parts []int32          // where partitions begin, then n
	cols  []*chunk.Vector  // what functions read, by place
	keys  *rowkey.SortKeys // of the order alone, by row; nil without ORDER BY
	peers []int32          // where rows of equal keys begin, then n
}

// collect reads and orders all rows.
func (o *windowOp) collect(r *running, held *chunk.Lease) (*windowRows, error) {
	ev := o.set.Take(r.evaluation())
	defer ev.Release()
	w := &windowRows{r: r, op: o, held: held, env: r.env, store: newRowStore(o.attrs, held)}
	read := newRowStore(o.extra, held)
	var all rowkey.SortKeys
	if len(o.orders) > o.groups {
		w.keys = &rowkey.SortKeys{}
	}
	var groups *rowkey.Index
	var ids []int32
	if o.groups > 0 {
		types := make([]plan.Type, o.groups)
		for i, k := range o.orders[:o.groups] {
			types[i] = k.Type()
		}
		var err error
		if groups, err = rowkey.NewIndex(types); err != nil {
			return nil, err
		}
	}
	for c, err := range o.in.rows(r) {
		if err != nil {
			return nil, err
		}
		cols, err := ev.EvalAll(c, nil)
		if err != nil {
			return nil, err
		}
		keys := cols[:len(o.orders)]
		if err := w.store.add(c); err != nil {
			return nil, err
		}
		if err := read.add(&chunk.Chunk{Cols: cols[len(keys):], Rows: c.Rows}); err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			all.Add(keys, o.orders)
		}
		if w.keys != nil {
			w.keys.Add(keys[o.groups:], o.orders[o.groups:])
		}
		if groups != nil {
			ids = append(ids, make([]int32, c.Rows)...)
			normals := make([]*chunk.Vector, o.groups)
			for i := range normals {
				normals[i] = rowkey.Normal(keys[i])
			}
			groups.Insert(normals, nil, ids[len(ids)-c.Rows:], nil)
		}
	}
	return w, w.arrange(&all, ids, read)
}

// arrange orders the rows and finds where partitions and equal keys begin.
func (w *windowRows) arrange(all *rowkey.SortKeys, ids []int32, read *rowStore) error {
	w.n = w.store.rows
	bytes := all.Bytes() + int64(12*w.n)
	if w.keys != nil {
		bytes += w.keys.Bytes()
	}
	if err := w.held.Add(bytes); err != nil {
		return err
	}
	if len(w.op.orders) > 0 {
		all.Sort()
		w.order = all.Rows(0, w.n, make([]int32, 0, w.n))
	} else {
		w.order = make([]int32, w.n)
		for i := range w.order {
			w.order[i] = int32(i)
		}
	}
	for i, row := range w.order {
		fresh := i == 0 || ids != nil && ids[row] != ids[w.order[i-1]]
		if fresh {
			w.parts = append(w.parts, int32(i))
		}
		if fresh || w.keys != nil && rowkey.Compare(w.keys, row, w.keys, w.order[i-1]) != 0 {
			w.peers = append(w.peers, int32(i))
		}
	}
	w.parts, w.peers = append(w.parts, int32(w.n)), append(w.peers, int32(w.n))
	for _, v := range read.cols {
		sorted, err := chunk.GatherMany("window", v, w.order)
		if err != nil {
			return err
		}
		w.cols = append(w.cols, sorted)
	}
	return nil
}

// compute is the value of a function for every place.
func (w *windowRows) compute(fn *windowFn) (*chunk.Vector, error) {
	switch {
	case fn.python != nil:
		return w.callPython(fn)
	case fn.def.Accumulate != nil:
		return w.aggregate(fn)
	}
	return windowFunctions[fn.def.Name](w, fn)
}
