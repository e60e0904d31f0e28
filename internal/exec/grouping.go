package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// grouping is a compiled aggregation. It computes keys and arguments over the
// input, folds them into groups, and computes the results over one row for each
// group: the keys, then the values of the aggregate calls, then those of
// grouping() and grouping_id().
type grouping struct {
	in      *eval.Set // keys, then arguments and filters
	keys    int
	types   []plan.Type // of the keys
	calls   []aggregate
	sets    []groupSet // none: plain GROUP BY
	marks   []mark
	results *eval.Set
	// row is the columns that results is computed over.
	row []*plan.Attribute
}

// aggregate is one aggregate call.
type aggregate struct {
	call   *plan.AggregateCall
	def    *function.Def
	args   []int // where its arguments stand in grouping.in
	filter int   // where its filter stands, -1 without one
}

// groupSet is one combination of ROLLUP, CUBE or GROUPING SETS.
type groupSet struct{ has []bool }

// mark is a call of grouping() or grouping_id(): its value for each set.
type mark struct {
	of     plan.Type
	values []int64
}

// groupBuilder collects what a grouping computes.
type groupBuilder struct {
	g     *grouping
	exprs []plan.Expr
	keys  map[string]int // canonical text of a grouping expression → key
	calls map[string]int
	marks map[string]int
	ids   plan.ExprID // the last id given, downwards
	attrs [3][]*plan.Attribute
}

// Columns of the row of a group.
const (
	keyColumn = iota
	callColumn
	markColumn
)

// distinct tells whether a call counts each value once.
func (g *grouping) distinct() bool {
	for _, a := range g.calls {
		if a.call.Distinct {
			return true
		}
	}
	return false
}

// buildGrouping compiles an aggregation and its input.
func (p *planner) buildGrouping(n *plan.Aggregate) (input, *grouping, error) {
	b, results, err := collectGroups(n)
	if err != nil {
		return input{}, nil, err
	}
	in, err := p.build(n.Input, needs(b.exprs...))
	if err != nil {
		return input{}, nil, err
	}
	return in, b.g, b.compile(p, in.attrs, results)
}

// collectGroups finds what an aggregation computes over its input, and
// rewrites its result expressions to read the row of a group.
func collectGroups(n *plan.Aggregate) (b *groupBuilder, results []plan.Expr, err error) {
	b = &groupBuilder{
		g:    &grouping{keys: len(n.Group)},
		keys: map[string]int{}, calls: map[string]int{}, marks: map[string]int{},
	}
	for i, e := range n.Group {
		text := eval.Canonical(e)
		if _, ok := b.keys[text]; !ok {
			b.keys[text] = i
		}
		b.exprs = append(b.exprs, e)
		b.g.types = append(b.g.types, e.Type())
		b.column(keyColumn, e.Type())
	}
	if err := b.groupSets(n); err != nil {
		return nil, nil, err
	}
	results = make([]plan.Expr, len(n.Exprs))
	for i, e := range n.Exprs {
		if results[i], err = b.result(e); err != nil {
			return nil, nil, err
		}
	}
	_, err = rowkey.NewForm(b.g.types)
	return b, results, err
}

// compile finishes the grouping over the columns of its input.
func (b *groupBuilder) compile(p *planner, in []*plan.Attribute, results []plan.Expr) (err error) {
	if b.g.in, err = p.compileSet(b.exprs, in); err != nil {
		return err
	}
	for _, attrs := range b.attrs {
		b.g.row = append(b.g.row, attrs...)
	}
	b.g.results, err = p.compileSet(results, b.g.row)
	return err
}

// column adds a column to the row of a group.
func (b *groupBuilder) column(kind int, t plan.Type) *plan.Attribute {
	b.ids--
	a := &plan.Attribute{Of: t, Null: true, ID: b.ids}
	b.attrs[kind] = append(b.attrs[kind], a)
	return a
}

// result rewrites a result expression so that it reads the row of a group.
func (b *groupBuilder) result(e plan.Expr) (plan.Expr, error) {
	if i, ok := b.keys[eval.Canonical(e)]; ok {
		if alias, ok := e.(*plan.Alias); ok {
			return alias.WithChildren([]plan.Expr{b.attrs[keyColumn][i]}), nil
		}
		return b.attrs[keyColumn][i], nil
	}
	switch n := e.(type) {
	case *plan.AggregateCall:
		if isMark(n.Name) {
			return b.mark(n.Name, n.Args, n.Of)
		}
		return b.call(n)
	case *plan.Call:
		if isMark(n.Name) {
			return b.mark(n.Name, n.Args, n.Of)
		}
	}
	kids := e.Children()
	if len(kids) == 0 {
		return e, nil
	}
	changed := make([]plan.Expr, len(kids))
	for i, k := range kids {
		var err error
		if changed[i], err = b.result(k); err != nil {
			return nil, err
		}
	}
	return e.WithChildren(changed), nil
}

// call registers an aggregate call; equal ones are computed once.
func (b *groupBuilder) call(n *plan.AggregateCall) (plan.Expr, error) {
	text := eval.Canonical(n)
	if i, ok := b.calls[text]; ok {
		return b.attrs[callColumn][i], nil
	}
	d, ok := function.Lookup(n.Name)
	if !ok || d.Accumulate == nil {
		return nil, plan.Unsupported("the aggregate function " + n.Name).At(n.Origin)
	}
	a := aggregate{call: n, def: d, filter: -1}
	for _, arg := range n.Args {
		a.args = append(a.args, len(b.exprs))
		if o, ok := arg.(*plan.SortOrder); ok {
			arg = o.Child // the accumulator knows the direction
		}
		b.exprs = append(b.exprs, arg)
		if !n.Distinct {
			continue
		}
		if err := rowkey.Comparable(arg.Type()); err != nil {
			return nil, err
		}
	}
	if n.Filter != nil {
		a.filter = len(b.exprs)
		b.exprs = append(b.exprs, n.Filter)
	}
	b.calls[text] = len(b.g.calls)
	b.g.calls = append(b.g.calls, a)
	return b.column(callColumn, n.Of), nil
}

// groups is the state of one aggregation.
type groups struct {
	of       *grouping
	ev       *eval.Evaluator
	index    *rowkey.Index // nil for a global aggregation
	keys     []*chunk.Vector
	sets     []int32 // the set of each group
	accs     []function.Accumulator
	distinct []*rowkey.Index // of calls with DISTINCT
	held     *chunk.Lease
	nested   int64 // bytes of arguments kept in collections, about
	ids      []int32
	fresh    []uint16
	// kept numbers the groups that a state keeps, in place of index; else nil.
	kept *keptGroups
}

// start begins an aggregation without rows.
func (g *grouping) start(r *running) (*groups, error) {
	s := &groups{of: g, ev: g.in.Take(r.evaluation()), held: r.lease("aggregation")}
	types := g.types
	if len(g.sets) > 0 {
		types = append(append([]plan.Type(nil), types...), plan.Int)
	}
	if len(types) > 0 {
		index, err := rowkey.NewIndex(types)
		if err != nil {
			return nil, err
		}
		s.index = index
	}
	for _, t := range g.types {
		s.keys = append(s.keys, chunk.New(t, 0))
	}
	for _, a := range g.calls {
		acc, err := a.def.Accumulate(a.call, s.ev.Env())
		if err != nil {
			return nil, eval.At(err, a.call)
		}
		s.accs = append(s.accs, acc)
		if !a.call.Distinct {
			s.distinct = append(s.distinct, nil)
			continue
		}
		seen := []plan.Type{plan.Int}
		for _, arg := range a.call.Args {
			seen = append(seen, arg.Type())
		}
		index, err := rowkey.NewIndex(seen)
		if err != nil {
			return nil, err
		}
		s.distinct = append(s.distinct, index)
	}
	return s, nil
}

// end gives back what the aggregation held.
func (g *groups) end() {
	g.ev.Release()
	g.held.End()
}

// count is the number of groups; a global aggregation has one.
func (g *groups) count() int {
	switch {
	case g.kept != nil:
		return len(g.kept.at)
	case g.index == nil:
		return 1
	}
	return g.index.Count
}

// add folds a chunk.
func (g *groups) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	g.ev.Begin(c)
	keys := make([]*chunk.Vector, g.of.keys)
	for k := range keys {
		v, err := g.ev.Out(k, nil)
		if err != nil {
			return err
		}
		keys[k] = rowkey.Normal(v)
	}
	if len(g.of.sets) == 0 {
		if err := g.fold(keys, -1, c.Rows); err != nil {
			return err
		}
		return g.account()
	}
	for i, set := range g.of.sets {
		if err := g.fold(set.apply(keys, i, c.Rows), i, c.Rows); err != nil {
			return err
		}
	}
	return g.account()
}

// fold folds the rows of the chunk under the given keys.
func (g *groups) fold(keys []*chunk.Vector, set, n int) error {
	if err := g.assign(keys, set, n); err != nil {
		return err
	}
	return g.update()
}

// apply is the keys of a set: NULL for those it leaves out, then its number.
func (s groupSet) apply(keys []*chunk.Vector, number, n int) []*chunk.Vector {
	out := make([]*chunk.Vector, len(keys)+1)
	for k, v := range keys {
		out[k] = v
		if !s.has[k] {
			out[k] = chunk.NullVector(v.Type, n)
		}
	}
	out[len(keys)] = chunk.Repeat(int64(number), plan.Int, n)
	return out
}

// assign finds the group of each row.
func (g *groups) assign(keys []*chunk.Vector, set, n int) error {
	if cap(g.ids) < n {
		g.ids = make([]int32, max(n, chunk.MaxRows))
	}
	g.ids = g.ids[:n]
	g.fresh = g.fresh[:0]
	switch {
	case g.kept != nil:
		var err error
		if g.fresh, err = g.kept.assign(keys, g.ids, g.fresh); err != nil || g.kept.nameless {
			return err
		}
	case g.index == nil:
		clear(g.ids)
		return nil
	default:
		g.fresh = g.index.Insert(keys, nil, g.ids, g.fresh)
	}
	for k, out := range g.keys {
		appendRows(out, keys[k], g.fresh)
	}
	if set >= 0 {
		for range g.fresh {
			g.sets = append(g.sets, int32(set))
		}
	}
	return nil
}

// update folds the rows of the chunk into their groups, call by call.
func (g *groups) update() error {
	for k := range g.of.calls {
		a := &g.of.calls[k]
		sel, err := g.picked(a)
		if err != nil {
			return err
		}
		if sel != nil && len(sel) == 0 {
			continue
		}
		args := make([]*chunk.Vector, len(a.args))
		for i, out := range a.args {
			if args[i], err = g.argument(out, sel); err != nil {
				return err
			}
		}
		if seen := g.distinct[k]; seen != nil {
			if sel = g.unseen(seen, args, sel); len(sel) == 0 {
				continue
			}
		}
		g.nested += keptBytes(g.accs[k], args)
		if err := g.accs[k].Update(g.ids, args, sel, g.count()); err != nil {
			return eval.At(err, a.call)
		}
	}
	return nil
}

// picked is the rows that pass the filter of a call.
func (g *groups) picked(a *aggregate) (chunk.Sel, error) {
	if a.filter < 0 {
		return nil, nil
	}
	return g.ev.Filter(a.filter, nil)
}

// argument computes an argument for the rows that count.
func (g *groups) argument(out int, sel chunk.Sel) (*chunk.Vector, error) {
	if sel == nil {
		return g.ev.Out(out, nil)
	}
	return g.ev.Within(out, sel)
}

// unseen is the rows whose arguments are new to their group. The arguments are
// made normal on the way.
func (g *groups) unseen(seen *rowkey.Index, args []*chunk.Vector, sel chunk.Sel) chunk.Sel {
	cols := make([]*chunk.Vector, 0, len(args)+1)
	cols = append(cols, chunk.Of(plan.Int, g.ids))
	for i, v := range args {
		args[i] = rowkey.Normal(v)
		cols = append(cols, args[i])
	}
	return seen.Insert(cols, sel, make([]int32, len(g.ids)), make(chunk.Sel, 0, sel.Count(len(g.ids))))
}

// keptBytes estimates what an accumulator that keeps its input keeps of it.
func keptBytes(acc function.Accumulator, args []*chunk.Vector) int64 {
	keeps := false
	for _, t := range acc.BufferTypes() {
		keeps = keeps || t.Kind == plan.KindArray || t.Kind == plan.KindMap
	}
	if !keeps {
		return 0
	}
	n := int64(0)
	for _, v := range args {
		n += chunk.SizeOf(v)
	}
	return n
}

// account tells the budget what the groups hold.
func (g *groups) account() error {
	n := g.nested
	switch {
	case g.kept != nil:
		n += g.kept.bytes()
	case g.index != nil:
		n += g.index.Bytes()
	}
	for _, v := range g.keys {
		n += chunk.SizeOf(v)
	}
	for k, acc := range g.accs {
		n += int64(16 * len(acc.BufferTypes()) * g.count())
		if g.distinct[k] != nil {
			n += g.distinct[k].Bytes()
		}
	}
	return g.held.Hold(n)
}

// finish is one row for each group: keys, values of the calls, marks.
func (g *groups) finish() (*chunk.Chunk, error) {
	n := g.count()
	all := &chunk.Chunk{Cols: append([]*chunk.Vector(nil), g.keys...), Rows: n}
	for k, acc := range g.accs {
		a := &g.of.calls[k]
		if err := g.announce(k); err != nil {
			return nil, eval.At(err, a.call)
		}
		v, err := acc.Result()
		if err != nil {
			return nil, eval.At(err, a.call)
		}
		all.Cols = append(all.Cols, v)
	}
	for _, m := range g.of.marks {
		all.Cols = append(all.Cols, m.column(g.sets))
	}
	return all, nil
}

// announce tells an accumulator of all groups: those from which no row reached
// it, and the one of a global aggregation without rows.
func (g *groups) announce(k int) error {
	args := make([]*chunk.Vector, len(g.of.calls[k].args))
	for i, arg := range g.of.calls[k].call.Args {
		args[i] = chunk.New(arg.Type(), 0)
	}
	return g.accs[k].Update(nil, args, chunk.Sel{}, g.count())
}
