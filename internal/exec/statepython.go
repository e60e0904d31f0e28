package exec

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

// statePython gives each group of a batch and its state to a function, and then
// the states whose time is over.
//
// A function that updates a state without setting its timeout again takes the
// timeout away; one that does neither leaves both as they were. So a state that
// was timed out and left alone is timed out again in the next batch, as in
// Spark.
type statePython struct {
	in operator
	python
	id      int
	keys    []plan.Type
	form    *rowkey.Form
	timeout plan.GroupTimeout
	value   plan.Type // of a state
	heads   plan.Type // of a row for each group
	// watermarked says that the input has event time.
	watermarked bool
	spread      *spreader
}

const applyName = "applyInPandasWithState"

func (p *planner) buildStatePython(n *plan.StatePython) (input, error) {
	id, op := p.operator(n, applyName)
	op.evicts = n.Timeout == plan.EventTimeTimeout
	op.always = n.Timeout == plan.ProcessingTimeTimeout
	o := &statePython{id: id, timeout: n.Timeout, value: n.State}
	o.watermarked = slices.ContainsFunc(n.Input.Output(), (*plan.Attribute).IsEventTime)
	shape := state.Shape{Name: "default", Value: []state.Column{{Name: "groupState", Type: n.State}}}
	fields := make([]plan.Field, 0, len(n.Keys)+2)
	for i, k := range n.Keys {
		o.keys = append(o.keys, k.Type())
		shape.Key = append(shape.Key, state.Column{Name: k.(*plan.Attribute).Name, Type: k.Type()})
		fields = append(fields, plan.Field{Name: columnName(i), Type: k.Type(), Nullable: true})
	}
	if n.Timeout != plan.NoTimeout {
		shape.Value = append(shape.Value, state.Column{Name: "timeoutTimestamp", Type: plan.Long})
		shape.Expiry, shape.Millis = 2, true
	}
	op.Tables = []state.Shape{shape}
	fields = append(fields, plan.Col("rows", plan.Int), plan.Col("state", n.State))
	o.heads = plan.Struct(fields...)
	keyed := &keyedRows{
		input: n.Input, id: id, late: n.Timeout == plan.EventTimeTimeout, keys: len(n.Keys),
		exprs: append(append([]plan.Expr{}, n.Keys...), n.Func.Args...),
	}
	in, err := p.build(p.sortedByKey(keyed), nil)
	if err != nil {
		return input{}, err
	}
	o.in = in.op
	if o.form, err = rowkey.NewForm(o.keys); err != nil {
		return input{}, err
	}
	if o.spread, err = p.spreadBy(shape.Key); err != nil {
		return input{}, err
	}
	o.python, err = p.stateCall(n, in.attrs[1+len(n.Keys):])
	return input{op: o, attrs: n.Attrs}, err
}

// stateCall is the call of a function that keeps a state.
func (p *planner) stateCall(n *plan.StatePython, args []*plan.Attribute) (python, error) {
	f, err := p.framePython(n.Func, exprsOf(args), columnNames(n.Func.Args), args)
	f.call.Shape, f.call.Output = pyworker.StatePandas, plan.SchemaOf(n.Attrs)
	return f, err
}

// parts is one partition a call: chunks say which.
func (o *statePython) parts(r *running) int { return r.partitions() }

func (o *statePython) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		b := &batchOfStates{working: r.working(o.id), of: o, r: r, yield: yield, held: r.lease("groups of Python")}
		defer b.release()
		if err := b.run(); err != nil {
			yield(nil, err)
		}
	}
}

// batchOfStates is a statePython in one batch.
type batchOfStates struct {
	working
	of     *statePython
	r      *running
	yield  receiver
	held   *chunk.Lease
	call   *pyworker.Exchange
	turn   stateTurn
	silent bool // nobody wants more rows
}

// stateTurn is the groups that the function is at.
type stateTurn struct {
	part int
	keys []*chunk.Vector // normal
	at   []int32         // their rows in the state, -1 without
	due  bool            // they are timed out
}

func (b *batchOfStates) release() {
	if b.call != nil {
		b.call.Abandon()
	}
	b.held.End()
}

func (b *batchOfStates) run() error {
	cut := &groupCutter{
		keys: b.of.keys, limit: b.r.run.Python.batchRows(), held: b.held, send: b.withRows,
		batch: batcher{schema: b.of.call.Input, limit: b.r.run.Python.batchRows()},
	}
	cut.encoded.Form = b.of.form
	for c, err := range b.of.in.rows(b.r) {
		if err == nil {
			err = cut.add(c)
		}
		if err != nil {
			return err
		}
	}
	if err := cut.flush(); err != nil {
		return err
	}
	// Timeouts that the function set just now may be over already.
	if err := b.settled(); err != nil {
		return err
	}
	b.updated()
	if err := b.timedOut(); err != nil {
		return err
	}
	if call := b.call; call != nil {
		b.call = nil
		if err := call.End(b.take); err != nil {
			return err
		}
	}
	b.removed()
	return nil
}

// stateTold is what the worker hears of the batch.
type stateTold struct {
	Timeout   string `json:"timeout"`
	Now       int64  `json:"now"` // ms
	Watermark int64  `json:"watermark"`
	// Watermarked says that there is a watermark.
	Watermarked bool            `json:"watermarked"`
	Keys        json.RawMessage `json:"keys"`
	Value       json.RawMessage `json:"value"`
}

// stateNote is what it hears of a turn.
type stateNote struct {
	Part     int  `json:"part"`
	TimedOut bool `json:"timedOut"`
}

// Columns of the changes to states, beside the state itself.
const (
	changeGroup = iota // the number of the group in its turn
	changeWhat
	changeTimeout
	changeState
)

// stateRemoved stands in the column changeWhat, else 0.
const stateRemoved = 1

func changesOf(value plan.Type) plan.Type {
	return plan.Struct(plan.Col("group", plan.Int), plan.Col("what", plan.Int), plan.Col("timeout", plan.Long),
		plan.Col("state", value))
}

// open begins the call when the first groups need it.
func (b *batchOfStates) open() error {
	if b.call != nil {
		return nil
	}
	call := b.of.call
	call.State = &pyworker.Stateful{
		Told: stateTold{
			Timeout: b.of.timeout.String(), Now: b.now(), Watermark: b.watermark(), Watermarked: b.of.watermarked,
			Keys:  json.RawMessage(plan.Struct(b.of.heads.Fields[:len(b.of.keys)]...).JSON()),
			Value: json.RawMessage(b.of.value.JSON()),
		},
		Changes: []plan.Type{changesOf(b.of.value)},
		Changed: b.changed,
	}
	var err error
	b.call, err = b.r.run.Python.begin(b.r.ctx, b.of.name, call)
	return err
}

// now is the time of the batch, watermark that up to which state is given up, in ms.
func (b *batchOfStates) now() int64       { return b.r.env.Now / 1000 }
func (b *batchOfStates) watermark() int64 { return b.working.of.Evict[b.id] }

// withRows hands groups with rows over.
func (b *batchOfStates) withRows(t *groupTurn) error {
	at := make([]int32, len(t.counts))
	return b.hand(stateTurn{part: t.part, keys: normals(t.keys), at: at}, t)
}

// timedOut hands over the groups whose time is over.
func (b *batchOfStates) timedOut() error {
	var until int64
	switch b.of.timeout {
	case plan.ProcessingTimeTimeout:
		until = b.now()
	case plan.EventTimeTimeout:
		until = b.watermark()
	default:
		return nil
	}
	rows, table := b.table(0).Due(until-1), b.table(0)
	var err error
	spread := b.of.spread.each(b.r, rows, table.Keys, func(part int, some []int32) bool {
		keys := table.Keys(some)
		turn := stateTurn{part: part, keys: keys, at: some, due: true}
		err = b.hand(turn, &groupTurn{keys: keys, counts: make([]int32, len(some))})
		return err == nil
	})
	if err = cmp.Or(spread, err); err != nil {
		return err
	}
	return b.settled()
}

// hand hands groups over once the function is done with those before.
func (b *batchOfStates) hand(turn stateTurn, t *groupTurn) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.settled(); err != nil {
		return err
	}
	if !turn.due {
		b.table(0).Find(turn.keys, turn.at)
	}
	heads := append(slices.Clone(t.keys), chunk.Of(plan.Int, t.counts), b.states(turn.at))
	parts := []pyworker.Part{{
		Name: "heads", Of: b.of.heads, Rows: &chunk.Chunk{Cols: heads, Rows: len(t.counts)},
	}}
	for _, c := range t.rows {
		parts = append(parts, pyworker.Part{Name: "rows", Of: b.of.call.Input, Rows: c})
	}
	b.turn = turn
	return b.call.Hand(pyworker.Turn{Note: stateNote{turn.part, turn.due}, Parts: parts})
}

// states is the state of groups by their rows, NULL where there is none.
func (b *batchOfStates) states(at []int32) *chunk.Vector {
	there, place := make([]int32, 0, len(at)), make([]int32, len(at))
	for i, row := range at {
		place[i] = -1
		if row >= 0 {
			place[i] = int32(len(there))
			there = append(there, row)
		}
	}
	if len(there) == 0 {
		return chunk.NullVector(b.of.value, len(at))
	}
	return chunk.Gather(b.table(0).Values(there)[0], place)
}

// settled waits until the function is done with the groups that it has.
func (b *batchOfStates) settled() error {
	if b.call == nil {
		return nil
	}
	_, err := b.call.Await(b.take)
	if err == nil && b.turn.due {
		b.table(0).Keep(b.turn.at)
		b.turn.due = false
	}
	return err
}

// changed puts what became of states into the store.
func (b *batchOfStates) changed(_ int, c *chunk.Chunk) error {
	var gone, kept, at, groups []int32
	what := chunk.Values[int32](c.Cols[changeWhat])
	for i, group := range chunk.Values[int32](c.Cols[changeGroup]) {
		switch row := b.turn.at[group]; {
		case what[i] != stateRemoved:
			kept, groups, at = append(kept, int32(i)), append(groups, group), append(at, row)
		case row >= 0:
			gone = append(gone, row)
		}
	}
	b.work().Removed += int64(c.Rows - len(kept))
	b.work().Updated += int64(len(kept))
	b.table(0).Remove(gone)
	if len(kept) == 0 {
		return b.r.stopped()
	}
	keys := make([]*chunk.Vector, len(b.turn.keys))
	for k, v := range b.turn.keys {
		keys[k] = chunk.Gather(v, groups)
	}
	values := []*chunk.Vector{chunk.Gather(c.Cols[changeState], kept)}
	if b.of.timeout != plan.NoTimeout {
		values = append(values, chunk.Gather(c.Cols[changeTimeout], kept))
	}
	if err := b.table(0).Put(keys, values, at); err != nil {
		return err
	}
	return b.r.stopped()
}

// take yields results.
func (b *batchOfStates) take(c *chunk.Chunk) bool {
	c.Part = b.turn.part
	b.silent = b.silent || !b.yield(c, nil)
	return true
}
