package exec

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

// streamAggregate keeps the groups of an aggregation between batches.
//
// The state of a group is fetched when its first row of the batch arrives, so
// that the batch is folded in behind what came before. Update mode then yields
// the groups that the batch touched, complete mode all there are, append mode
// those whose window the watermark has closed; append and update give closed
// groups up. Rows of closed groups come too late, except in complete mode, which
// never gives anything up.
type streamAggregate struct {
	in   operator
	agg  *grouping
	id   int
	mode plan.OutputMode
	// timeAt is where the event time of a group stands in the input, -1 without.
	timeAt  int
	buffers [][]plan.Type // of each call
	// session is the place of a session window among the keys, -1 without one. Its
	// windows are not part of the state's key, but the first column of the value.
	session int
	spread  *spreader
}

const (
	aggregateName = "stateStoreSave"
	sessionName   = "sessionWindowStateStoreSaveExec"
)

func (p *planner) buildStreamAggregate(n *plan.Aggregate) (input, error) {
	if len(pythonCalls(n)) > 0 {
		return input{}, plan.AnalysisError("_LEGACY_ERROR_TEMP_3067",
			"Streaming aggregation doesn't support group aggregate pandas UDF")
	}
	session, name := sessionKey(n.Group), aggregateName
	if session >= 0 {
		name = sessionName
	}
	if p.mode == plan.AppendMode && !slices.ContainsFunc(n.Group, isEventTime) {
		return input{}, withoutWatermark()
	}
	id, op := p.operator(n, name)
	op.Single, op.evicts = len(n.Group) == 0, p.mode != plan.CompleteMode
	in, agg, err := p.buildGrouping(n)
	if err != nil {
		return input{}, err
	}
	o := &streamAggregate{in: in.op, agg: agg, id: id, mode: p.mode, timeAt: -1, session: session}
	if session >= 0 && len(agg.sets) > 0 {
		return input{}, plan.Unsupported("session windows with grouping sets")
	}
	shape := state.Shape{Name: "default"}
	for i, e := range n.Group {
		name := fmt.Sprint("_", i)
		if a, ok := unaliased(e).(*plan.Attribute); ok {
			name = a.Name
			if a.EventTime != nil && o.timeAt < 0 {
				o.timeAt, shape.ExpiryKey = position(in.attrs, a.ID), i+1
			}
		}
		shape.Key = append(shape.Key, state.Column{Name: name, Type: e.Type()})
	}
	if len(agg.sets) > 0 {
		shape.Key = append(shape.Key, state.Column{Name: "spark_grouping_id", Type: plan.Int})
	}
	if shape.Value, err = o.valueColumns(p.env); err != nil {
		return input{}, err
	}
	if session >= 0 {
		if shape.ExpiryKey > 0 {
			shape.ExpiryKey, shape.Expiry = 0, 1
		}
		shape.Value = inserted(shape.Value, 0, shape.Key[session])
		shape.Key, shape.Many = without(shape.Key, session), true
	}
	if p.mode == plan.CompleteMode {
		if session >= 0 {
			op.StoresPerPartition = 0
		}
		o.timeAt, shape.ExpiryKey, shape.Expiry = -1, 0, 0
	}
	op.Tables = []state.Shape{shape}
	o.spread, err = p.spreadBy(shape.Key)
	return input{op: o, attrs: n.Output()}, err
}

func unaliased(e plan.Expr) plan.Expr {
	if a, ok := e.(*plan.Alias); ok {
		return a.Child
	}
	return e
}

// valueColumns are the buffers of the calls, one behind the other.
func (o *streamAggregate) valueColumns(env *function.Env) ([]state.Column, error) {
	var out []state.Column
	for _, a := range o.agg.calls {
		acc, err := a.def.Accumulate(a.call, env)
		if err != nil {
			return nil, eval.At(err, a.call)
		}
		o.buffers = append(o.buffers, acc.BufferTypes())
		names := bufferNames[a.call.Name]
		for k, t := range acc.BufferTypes() {
			name := a.call.Name
			if k < len(names) {
				name = names[k]
			} else if k > 0 {
				name += fmt.Sprint("_", k)
			}
			out = append(out, state.Column{Name: name, Type: t})
		}
	}
	return out, nil
}

// withoutWatermark refuses an aggregation that only the rewriting of a plan has
// brought to light, as Spark does it when the first batch runs.
func withoutWatermark() error {
	return plan.AnalysisError("UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK",
		"in append mode groups have to be closed by a watermark, and no column of this aggregation has one.",
		"outputMode", "Append", "statefulOperator", "aggregations")
}

// bufferNames are Spark's names of buffers that are not just the function's.
var bufferNames = map[string][]string{
	"avg": {"sum", "count"}, "mean": {"sum", "count"}, "try_avg": {"sum", "count"}, "sum": {"sum", "isEmpty"},
	"try_sum": {"sum", "isEmpty"}, "first": {"first", "valueSet"}, "last": {"last", "valueSet"},
	"any_value": {"first", "valueSet"}, "max_by": {"valueWithExtremumOrdering", "extremumOrdering"},
	"min_by": {"valueWithExtremumOrdering", "extremumOrdering"}, "stddev": {"n", "avg", "m2"},
	"stddev_samp": {"n", "avg", "m2"}, "stddev_pop": {"n", "avg", "m2"}, "variance": {"n", "avg", "m2"},
	"var_samp": {"n", "avg", "m2"}, "var_pop": {"n", "avg", "m2"},
}

func (o *streamAggregate) parts(r *running) int {
	if len(o.agg.types) == 0 {
		return 1
	}
	return r.partitions()
}

func (o *streamAggregate) rows(r *running) chunk.Rows {
	if o.session >= 0 && o.agg.keys == 1 {
		// Spark finds out as late as this, so its checkpoint has the batch.
		return chunk.Fail(plan.NewError(plan.ClassAnalysis, "", "Global aggregation with session window in "+
			"streaming query is not supported."))
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		b := &batchOfGroups{of: o, r: r, working: r.working(o.id)}
		if err := b.run(yield); err != nil {
			yield(nil, err)
		}
	}
}

// batchOfGroups is a streamAggregate in one batch.
type batchOfGroups struct {
	working
	of   *streamAggregate
	r    *running
	g    *groups
	late *lateGroups
}

func (b *batchOfGroups) run(yield receiver) error {
	g, err := b.of.agg.start(b.r)
	if err != nil {
		return err
	}
	defer g.end()
	b.g = g
	if b.of.session < 0 {
		if g.kept, err = b.keep(); err != nil {
			return err
		}
	}
	for c, err := range b.of.in.rows(b.r) {
		if err == nil {
			c, err = b.onTime(c)
		}
		if err == nil {
			err = g.add(c)
		}
		if err != nil {
			return err
		}
	}
	if b.of.session >= 0 {
		err = b.storeSessions()
	} else {
		err = b.store()
	}
	if err != nil {
		return err
	}
	b.updated()
	return b.emit(yield)
}

// onTime takes the rows out of a chunk whose group is closed, and counts their
// groups: Spark groups the rows of a partition before it looks at the time.
func (b *batchOfGroups) onTime(c *chunk.Chunk) (*chunk.Chunk, error) {
	if b.of.timeAt < 0 {
		return c, nil
	}
	onTime, late := splitLate(c.Cols[b.of.timeAt], b.lateMicros())
	if len(late) == 0 {
		return c, nil
	}
	if b.late == nil {
		var err error
		if b.late, err = newLateGroups(b.of.agg, b.r); err != nil {
			return nil, err
		}
	}
	fresh, err := b.late.add(c.Take(late))
	b.work().Dropped += int64(fresh)
	return c.Take(onTime), err
}

// keep makes the batch's groups those of the state, which get in first what the
// state has of them.
func (b *batchOfGroups) keep() (*keptGroups, error) {
	k := &keptGroups{table: b.table(0), nameless: b.of.mode != plan.UpdateMode}
	k.known = func(ids, rows []int32) error {
		return mergeBuffers(b.g, b.of.buffers, ids, k.table.Values(rows))
	}
	if b.g.index != nil {
		return k, nil
	}
	// The one group of a global aggregation is there without rows too.
	b.g.kept = k
	_, err := k.number(nil, make([]int32, 1), nil)
	return k, err
}

// mergeBuffers folds the buffers of groups into the accumulators.
func mergeBuffers(g *groups, types [][]plan.Type, ids []int32, buffers []*chunk.Vector) error {
	for k, acc := range g.accs {
		n := len(types[k])
		if err := acc.Merge(ids, buffers[:n], g.count()); err != nil {
			return eval.At(err, g.of.calls[k].call)
		}
		buffers = buffers[n:]
	}
	return nil
}

// keys is the state keys of groups.
func (b *batchOfGroups) keys(from, to int) []*chunk.Vector {
	out := make([]*chunk.Vector, 0, len(b.g.keys)+1)
	for _, v := range b.g.keys {
		out = append(out, v.Slice(from, to))
	}
	if len(b.of.agg.sets) > 0 {
		out = append(out, chunk.Of(plan.Int, b.g.sets[from:to]))
	}
	return out
}

// store writes the groups of the batch into the state.
func (b *batchOfGroups) store() error {
	n := b.g.count()
	buffers, err := b.g.partial()
	if err != nil {
		return err
	}
	for from := 0; from < n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, n)
		values := make([]*chunk.Vector, len(buffers))
		for i, v := range buffers {
			values[i] = v.Slice(from, to)
		}
		b.table(0).Update(b.g.kept.at[from:to], values)
	}
	b.work().Updated += int64(n)
	return b.r.stopped()
}

// emit yields what the output mode asks for and gives up closed groups.
func (b *batchOfGroups) emit(yield receiver) error {
	var closed []int32
	if b.of.timeAt >= 0 {
		closed = b.table(0).Due(b.evictMicros())
	}
	defer b.removed()
	switch b.of.mode {
	case plan.UpdateMode:
		if err := b.touched(yield); err != nil {
			return err
		}
	case plan.CompleteMode:
		all := make([]int32, 0, b.table(0).Len())
		err := b.table(0).Each(func(rows []int32) error {
			all = append(all, rows...)
			return nil
		})
		if err != nil {
			return err
		}
		return b.fromState(all, yield)
	default:
		if err := b.fromState(closed, yield); err != nil {
			return err
		}
	}
	b.table(0).Remove(closed)
	b.work().Removed += int64(len(closed))
	return nil
}

// touched yields the groups of the batch.
func (b *batchOfGroups) touched(yield receiver) error {
	all, err := b.g.finish()
	if err != nil {
		return err
	}
	ev := b.of.agg.results.Take(b.r.evaluation())
	defer ev.Release()
	order, err := b.of.spread.order(b.r, all.Rows, b.keys)
	if err != nil {
		return err
	}
	order.each(func(part int, rows []int32) bool {
		c := &chunk.Chunk{Cols: make([]*chunk.Vector, len(all.Cols)), Rows: len(rows), Part: part}
		for i, v := range all.Cols {
			c.Cols[i] = chunk.Gather(v, rows)
		}
		return present(b.r, ev, c, yield)
	})
	return nil
}

// fromState yields groups as the state has them.
func (b *batchOfGroups) fromState(rows []int32, yield receiver) error {
	if len(rows) == 0 {
		return nil
	}
	table := b.table(0)
	ev := b.of.agg.results.Take(b.r.evaluation())
	defer ev.Release()
	var err error
	spread := b.of.spread.each(b.r, rows, table.Keys, func(part int, some []int32) bool {
		var c *chunk.Chunk
		if c, err = b.groupsOf(some); err != nil {
			return false
		}
		c.Part = part
		return present(b.r, ev, c, yield)
	})
	return cmp.Or(spread, err)
}

// groupsOf is the keys, values of calls and marks of groups in the state.
func (b *batchOfGroups) groupsOf(rows []int32) (*chunk.Chunk, error) {
	table := b.table(0)
	g, err := b.of.agg.start(b.r)
	if err != nil {
		return nil, err
	}
	defer g.end()
	keys, buffers := table.Keys(rows), table.Values(rows)
	if b.of.session >= 0 {
		keys, buffers = inserted(keys, b.of.session, buffers[0]), buffers[1:]
	}
	if g.index != nil {
		g.index.Count = len(rows)
	}
	if len(b.of.agg.sets) > 0 {
		g.sets = chunk.Values[int32](keys[len(keys)-1])
		keys = keys[:len(keys)-1]
	}
	g.keys = keys
	ids := make([]int32, len(rows))
	for i := range ids {
		ids[i] = int32(i)
	}
	if err := mergeBuffers(g, b.of.buffers, ids, buffers); err != nil {
		return nil, err
	}
	return g.finish()
}

// lateGroups counts the groups of rows that came too late, partition by
// partition of the input.
type lateGroups struct {
	of   *grouping
	r    *running
	seen *rowkey.Index
}

func newLateGroups(of *grouping, r *running) (*lateGroups, error) {
	types := append([]plan.Type{plan.Int, plan.Int}, of.types...)
	seen, err := rowkey.NewIndex(types)
	return &lateGroups{of, r, seen}, err
}

// add counts the groups of a chunk that were not seen before.
func (l *lateGroups) add(c *chunk.Chunk) (fresh int, err error) {
	ev := l.of.in.Take(l.r.evaluation())
	defer ev.Release()
	ev.Begin(c)
	keys := make([]*chunk.Vector, l.of.keys)
	for k := range keys {
		v, err := ev.Out(k, nil)
		if err != nil {
			return 0, err
		}
		keys[k] = rowkey.Normal(v)
	}
	part := chunk.Repeat(int64(min(c.Part, math.MaxInt32)), plan.Int, c.Rows)
	sets := l.of.sets
	if len(sets) == 0 {
		cols := append([]*chunk.Vector{part, chunk.Repeat(int64(0), plan.Int, c.Rows)}, keys...)
		return len(l.seen.Insert(cols, nil, make([]int32, c.Rows), nil)), nil
	}
	for i, set := range sets {
		with := set.apply(keys, i, c.Rows)
		cols := append([]*chunk.Vector{part, with[len(keys)]}, with[:len(keys)]...)
		fresh += len(l.seen.Insert(cols, nil, make([]int32, c.Rows), nil))
	}
	return fresh, nil
}
