package exec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

// transformOp runs a stateful processor: in its first batch over the relation that
// states begin from, then over the rows of each batch, then over the timers that
// are due. Variables that live for a time are given up at the end of a batch.
//
// Each variable is a table of the operator's store. Groups go to the worker with
// what their variables hold, as long as that is little; of big lists and maps the
// worker asks for what the processor looks at.
type transformOp struct {
	in      operator
	initial operator // nil: states begin empty
	python
	id           int
	volatile     bool // states last as long as a run
	tables       []state.Shape
	keys         []plan.Type
	form         *rowkey.Form
	time         plan.TimeMode
	vars         []Variable // the last one is the timers
	groups       plan.Type  // of a row for each group of a turn
	initialInput plan.Type
	spread       *spreader
	emitted      int // the column of the result that is event time, -1 without
}

// Spark's names of the operator.
const (
	transformPandasName = "transformWithStateInPandasExec"
	transformRowsName   = "transformWithStateInPySparkExec"
)

func (p *planner) buildTransform(n *plan.TransformPython) (input, error) {
	rows := slices.Contains([]int{pyworker.EvalTransformRows, pyworker.EvalTransformRowsInit}, n.Func.EvalType)
	name, shape := transformPandasName, pyworker.Transform
	if rows {
		name, shape = transformRowsName, pyworker.TransformRows
	}
	o := &transformOp{time: n.Time, emitted: -1}
	op := &StateOperator{}
	if o.volatile = !p.streaming; !o.volatile {
		o.id, op = p.operator(n, name)
	}
	processor, err := p.describe(n)
	if err != nil {
		return input{}, err
	}
	op.always, op.evicts = n.Time == plan.ProcessorTime, true
	o.vars = append(slices.Clone(processor.Variables), timersVariable())
	keys := o.declare(n)
	for i := range processor.Variables {
		o.tables = append(o.tables, o.vars[i].table(keys))
	}
	o.tables = append(o.tables, timersTable(keys))
	op.Tables, op.Evolves, op.Deleted, op.rows = o.tables, true, processor.Deleted, countVariables
	op.Properties = propertiesOf(n, processor)
	if n.EventColumn != "" {
		o.emitted = slices.IndexFunc(n.Attrs, (*plan.Attribute).IsEventTime)
	}
	if o.form, err = rowkey.NewForm(o.keys); err != nil {
		return input{}, err
	}
	if o.spread, err = p.spreadBy(keys); err != nil {
		return input{}, err
	}
	if err := o.compile(p, n); err != nil {
		return input{}, err
	}
	o.call.Shape, o.call.Output = shape, plan.SchemaOf(n.Attrs)
	return input{op: o, attrs: n.Attrs}, nil
}

// declare finds the columns of keys and of groups.
func (o *transformOp) declare(n *plan.TransformPython) []state.Column {
	var keys []state.Column
	var fields []plan.Field
	for i, k := range n.Keys {
		o.keys = append(o.keys, k.Type())
		keys = append(keys, state.Column{Name: k.(*plan.Attribute).Name, Type: k.Type()})
		fields = append(fields, plan.Col(columnName(i), k.Type()))
	}
	for i, v := range o.vars {
		of := v.Value
		if v.Kind != ValueState {
			of = plan.Int // how many elements go along
		}
		fields = append(fields, plan.Col(fmt.Sprint("v", i), of))
	}
	o.groups = plan.Struct(fields...)
	return keys
}

// compile builds the inputs and the call.
func (o *transformOp) compile(p *planner, n *plan.TransformPython) error {
	read := func(in plan.Node, keys, args []plan.Expr, late bool) (input, error) {
		return p.build(p.sortedByKey(&keyedRows{
			input: in, id: o.id, late: late, keys: len(keys), exprs: append(append([]plan.Expr{}, keys...), args...),
		}), nil)
	}
	in, err := read(n.Input, n.Keys, n.Func.Args, n.Time == plan.EventTime && !o.volatile)
	if err != nil {
		return err
	}
	o.in = in.op
	args := in.attrs[1+len(n.Keys):]
	if o.python, err = p.framePython(n.Func, exprsOf(args), columnNames(n.Func.Args), args); err != nil {
		return err
	}
	if n.Initial == nil {
		return nil
	}
	if in, err = read(n.Initial, n.InitialKeys, n.InitialArgs, false); err != nil {
		return err
	}
	o.initial = in.op
	names := columnNames(n.InitialArgs)
	fields := make([]plan.Field, len(names))
	for i, name := range names {
		fields[i] = plan.Col(name, n.InitialArgs[i].Type())
	}
	o.initialInput = plan.Struct(fields...)
	return nil
}

// countVariables is the rows of variables as Spark counts them, those that are not
// declared any more too: a list is one, timers are none.
func countVariables(s *state.Store) int64 {
	n := 0
	for _, t := range s.Tables() {
		switch shape := t.Shape(); {
		case shape.Name == timersName:
		case shape.Prefix > 0 && shape.Key[shape.Prefix].Name == elementIndex:
			n += t.Prefixes()
		default:
			n += t.Len()
		}
	}
	return int64(n)
}

func (o *transformOp) parts(r *running) int { return r.partitions() }

func (o *transformOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		w, forget, err := o.remember(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer forget()
		b := &batchOfTransform{working: w, of: o, r: r, yield: yield, held: r.lease("groups of Python")}
		defer b.release()
		if err := b.run(); err != nil {
			yield(nil, err)
		}
	}
}

// batchOfTransform is a transformOp in one batch.
type batchOfTransform struct {
	working
	of     *transformOp
	r      *running
	yield  receiver
	held   *chunk.Lease
	call   *pyworker.Exchange
	turn   transformTurn
	order  int64 // of the last element of a list in this batch
	silent bool
	failed error // of a result
}

// transformTurn is the groups that the processor is at.
type transformTurn struct {
	part int
	keys []*chunk.Vector // normal, one row a group
	n    int             // groups
	due  []int32         // timers
}

func (b *batchOfTransform) release() {
	if b.call != nil {
		b.call.Abandon()
	}
	b.held.End()
}

func (b *batchOfTransform) store() *state.Store { return b.working.of.Stores[b.id] }

func (b *batchOfTransform) now() int64 { return b.r.env.Now / int64(time.Millisecond/time.Microsecond) }

func (b *batchOfTransform) watermark() int64 { return b.working.of.Evict[b.id] }

func (b *batchOfTransform) run() error {
	if b.of.initial != nil && b.store().Version() == 0 {
		if err := b.groups(b.of.initial, b.of.initialInput, "initial"); err != nil {
			return err
		}
	}
	if err := b.groups(b.of.in, b.of.call.Input, "rows"); err != nil {
		return err
	}
	// Timers that the processor set just now may be due already.
	if err := b.settled(); err != nil {
		return err
	}
	b.updated()
	if err := b.timers(); err != nil {
		return err
	}
	if call := b.call; call != nil {
		b.call = nil
		if err := call.End(b.take); err != nil {
			return err
		}
		if b.failed != nil {
			return b.failed
		}
	}
	b.expire()
	b.removed()
	return nil
}

// groups hands over the groups of an input, whose rows are parts of a name.
func (b *batchOfTransform) groups(in operator, schema plan.Type, name string) error {
	limit := b.r.run.Python.batchRows()
	cut := &groupCutter{
		keys: b.of.keys, limit: limit, held: b.held, batch: batcher{schema: schema, limit: limit},
		send: func(t *groupTurn) error {
			calls := make([]transformCall, len(t.counts))
			for i, n := range t.counts {
				calls[i] = transformCall{Group: i, Rows: n}
			}
			var parts []pyworker.Part
			for _, c := range t.rows {
				parts = append(parts, pyworker.Part{Name: "rows", Of: schema, Rows: c})
			}
			turn := transformTurn{part: t.part, keys: t.keys, n: len(t.counts)}
			return b.hand(turn, transformNote{Part: t.part, Do: name, Calls: calls}, parts)
		},
	}
	cut.encoded.Form = b.of.form
	for c, err := range in.rows(b.r) {
		if err == nil {
			err = cut.add(c)
		}
		if err != nil {
			return err
		}
	}
	return cut.flush()
}

// transformTold is what the worker hears of the batch.
type transformTold struct {
	Now       int64           `json:"now"` // ms
	Watermark int64           `json:"watermark"`
	TimeMode  string          `json:"timeMode"`
	Keys      json.RawMessage `json:"keys"`
	Variables []toldVariable  `json:"variables"`
	Initial   json.RawMessage `json:"initial,omitempty"`
	Limit     int             `json:"limit"` // rows of a frame
}

// transformNote is what it hears of a turn.
type transformNote struct {
	Part  int             `json:"part"`
	Do    string          `json:"do"` // initial, rows or timers
	Calls []transformCall `json:"calls"`
}

// transformCall is one call of the processor.
type transformCall struct {
	Group int   `json:"group"`
	Rows  int32 `json:"rows,omitempty"`
	At    int64 `json:"at,omitempty"` // of a timer
}

// open begins the call when the first groups need it.
func (b *batchOfTransform) open() error {
	if b.call != nil {
		return nil
	}
	told := transformTold{
		Now: b.now(), Watermark: b.watermark(), TimeMode: b.of.time.String(), Limit: b.r.run.Python.batchRows(),
		Keys: json.RawMessage(plan.Struct(b.of.groups.Fields[:len(b.of.keys)]...).JSON()),
	}
	if b.of.initial != nil {
		told.Initial = json.RawMessage(b.of.initialInput.JSON())
	}
	call := b.of.call
	call.State = &pyworker.Stateful{Changed: b.changed, Asked: b.asked}
	for i := range b.of.vars {
		told.Variables = append(told.Variables, b.of.vars[i].told())
		call.State.Changes = append(call.State.Changes, b.of.vars[i].change())
	}
	// The last table is counts.
	call.State.Changes = append(call.State.Changes, plan.Struct(plan.Col("updated", plan.Long),
		plan.Col("removed", plan.Long)))
	call.State.Told = told
	var err error
	b.call, err = b.r.run.Python.begin(b.r.ctx, b.of.name, call)
	return err
}

// settled waits until the processor is done with the groups that it has.
func (b *batchOfTransform) settled() error {
	if b.call == nil {
		return nil
	}
	_, err := b.call.Await(b.take)
	if b.failed != nil {
		return b.failed
	}
	if err != nil {
		return err
	}
	b.table(len(b.of.vars) - 1).Keep(b.turn.due)
	b.turn.due = nil
	return b.charge()
}

// hand hands groups over once the processor is done with those before.
func (b *batchOfTransform) hand(turn transformTurn, note transformNote, parts []pyworker.Part) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.settled(); err != nil {
		return err
	}
	cols := slices.Clone(turn.keys)
	turn.keys = normals(turn.keys)
	for i := range b.of.vars {
		col, elements := b.fetch(i, turn)
		cols = append(cols, col)
		if elements != nil && elements.Rows > 0 {
			parts = append(parts, pyworker.Part{
				Name: "elements", Number: i, Of: b.of.vars[i].element(), Rows: elements,
			})
		}
	}
	parts = append(parts, pyworker.Part{
		Name: "groups", Of: b.of.groups, Rows: &chunk.Chunk{Cols: cols, Rows: turn.n},
	})
	b.turn = turn
	return b.call.Hand(pyworker.Turn{Note: note, Parts: parts})
}

// timers hands over the timers that are due.
func (b *batchOfTransform) timers() error {
	until := b.now()
	switch b.of.time {
	case plan.NoTime:
		return nil
	case plan.EventTime:
		if until = b.watermark(); until == noWatermark {
			return nil
		}
	}
	table, last := b.table(len(b.of.vars)-1), len(b.of.keys)
	rows := table.Due(until)
	keys := table.Keys(rows)
	at := chunk.Values[int64](keys[last])
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return int(min(max(at[x]-at[y], -1), 1)) })
	var err error
	keysOf := func(rows []int32) []*chunk.Vector { return gatherAll(keys[:last], rows) }
	spread := b.of.spread.each(b.r, order, keysOf, func(part int, some []int32) bool {
		err = b.timersOf(part, rows, gatherAll(keys, some), some)
		return err == nil
	})
	if err = cmp.Or(spread, err); err != nil {
		return err
	}
	return b.settled()
}

// timersOf hands over timers of one partition. A group may have several.
func (b *batchOfTransform) timersOf(part int, rows []int32, keys []*chunk.Vector, some []int32) error {
	last := len(b.of.keys)
	ids, index := make([]int32, len(some)), b.of.form.NewIndex()
	fresh := index.Insert(keys[:last], nil, ids, make(chunk.Sel, 0, len(some)))
	first := make([]int32, len(fresh))
	for i, k := range fresh {
		first[i] = int32(k)
	}
	turn := transformTurn{part: part, keys: gatherAll(keys[:last], first), n: len(fresh)}
	note := transformNote{Part: part, Do: "timers"}
	at := chunk.Values[int64](keys[last])
	for i, id := range ids {
		note.Calls = append(note.Calls, transformCall{Group: int(id), At: at[i]})
		turn.due = append(turn.due, rows[some[i]])
	}
	return b.hand(turn, note, nil)
}

func gatherAll(cols []*chunk.Vector, rows []int32) []*chunk.Vector {
	out := make([]*chunk.Vector, len(cols))
	for i, v := range cols {
		out[i] = chunk.Gather(v, rows)
	}
	return out
}

// expire gives up what has lived its time.
func (b *batchOfTransform) expire() {
	for i, v := range b.of.vars {
		if v.TTL <= 0 {
			continue
		}
		due := b.table(i).Due(b.now())
		b.table(i).Remove(due)
		b.work().Removed += int64(len(due))
	}
}

// take yields results.
func (b *batchOfTransform) take(c *chunk.Chunk) bool {
	if b.failed = b.tooEarly(c); b.failed != nil {
		return false
	}
	c.Part = b.turn.part
	b.silent = b.silent || !b.yield(c, nil)
	return true
}

// tooEarly refuses results whose event time the watermark has passed: operators
// above would drop them.
func (b *batchOfTransform) tooEarly(c *chunk.Chunk) error {
	if b.of.emitted < 0 {
		return nil
	}
	times, valid := timesOf(c.Cols[b.of.emitted])
	for i, t := range times {
		if valid.Get(i) && t <= b.lateMicros() {
			return emittedEarly(b.working.of.Late[b.id], t/1000)
		}
	}
	return nil
}

func emittedEarly(watermark, emitted int64) error {
	return plan.NewError(plan.ClassRuntime, "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED",
		fmt.Sprintf("the processor yields a row of the event time %d ms, and the watermark is at %d ms already.",
			emitted, watermark),
		"currentWatermark", fmt.Sprint(watermark), "emittedRowEventTime", fmt.Sprint(emitted))
}
