package exec

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// tablePythonOp calls a table function for the rows of each partition. What it yields
// says by the first column which row of the batch at hand it is for.
type tablePythonOp struct {
	in operator
	python
	schema plan.Type // of all columns
	width  int       // how many columns go to the function; behind them are those that stay
	beside bool      // the columns of the input stay
	outer  bool
	made   []*plan.Attribute
}

func (p *planner) buildTablePython(n *plan.TablePython, want need) (input, error) {
	columns := append(append([]plan.Expr(nil), n.Keys...), n.Func.Args...)
	below, columns, err := p.liftPython(n.Input, columns...)
	if err != nil {
		return input{}, err
	}
	read := needs(columns...)
	if n.Beside {
		read = want.with(columns...)
	}
	in, err := p.build(below, read)
	if err != nil {
		return input{}, err
	}
	o := &tablePythonOp{in: in.op, width: len(columns), beside: n.Beside, outer: n.Outer, made: n.Attrs}
	var kept []*plan.Attribute
	if n.Beside {
		kept = want.only(n.Input.Output())
	}
	set, schema, err := p.columnsFor(append(columns, exprsOf(kept)...), nil, in.attrs)
	if err != nil {
		return input{}, err
	}
	o.schema, o.python = schema, python{name: n.Func.Name, args: set, call: tableCall(n, schema)}
	return input{op: o, attrs: append(append([]*plan.Attribute(nil), kept...), n.Attrs...)}, nil
}

// tableCall is the call of a function over a partition.
func tableCall(n *plan.TablePython, schema plan.Type) pyworker.Call {
	f := pyworker.Function{Pickle: n.Func.Command, Eval: n.Func.EvalType, Args: []pyworker.Argument{}}
	for i := range n.Func.Args {
		f.Args = append(f.Args, pyworker.Argument{Column: len(n.Keys) + i, Name: n.Func.Keyword(i)})
	}
	fields := append([]plan.Field{plan.Col("row", plan.Int)}, n.Func.Returns.Fields...)
	c := pyworker.Call{
		Shape: pyworker.Table, Functions: []pyworker.Function{f}, Version: n.Func.PythonVersion,
		Input: schema, Output: plan.Struct(fields...), Keys: len(n.Keys),
		Table: &pyworker.TableCall{Name: n.Func.Name, Argument: n.Table},
	}
	c.Input.Fields = schema.Fields[:len(n.Keys)+len(n.Func.Args)]
	if n.Analysis != nil {
		c.Functions = append(c.Functions, pyworker.Function{Pickle: n.Analysis, Args: []pyworker.Argument{}})
	}
	return c
}

func (o *tablePythonOp) parts(r *running) int { return o.in.parts(r) }

func (o *tablePythonOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		t := &tableRun{op: o, r: r, yield: yield, ev: o.args.Take(r.evaluation())}
		t.batch = batcher{schema: o.schema, limit: r.run.Python.batchRows()}
		defer t.release()
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = t.add(c)
			}
			if err != nil {
				t.fail(err)
				return
			}
			if t.enough {
				return
			}
		}
		if err := t.end(); err != nil {
			t.fail(err)
		}
	}
}

// tableRun is a run of a tablePythonOp.
type tableRun struct {
	op     *tablePythonOp
	r      *running
	yield  receiver
	ev     *eval.Evaluator
	batch  batcher
	call   *pyworker.Exchange
	part   int
	kept   *chunk.Chunk // columns that stay, of the batch that the function is at
	next   int          // the first row of it that nothing came for yet
	enough bool
}

func (t *tableRun) release() {
	if t.call != nil {
		t.call.Abandon()
	}
	t.ev.Release()
}

func (t *tableRun) fail(err error) {
	if !t.enough {
		t.enough = true
		t.yield(nil, err)
	}
}

func (t *tableRun) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	if t.call == nil || c.Part != t.part {
		if err := t.open(c.Part); err != nil {
			return err
		}
	}
	cols, err := t.ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	full := t.batch.add(&chunk.Chunk{Cols: cols, Rows: c.Rows, Part: c.Part})
	for full && !t.enough {
		if err := t.send(); err != nil {
			return err
		}
		full = t.batch.rows >= t.batch.limit
	}
	return nil
}

// open ends the partition at hand and begins another.
func (t *tableRun) open(part int) error {
	if err := t.end(); err != nil {
		return err
	}
	call := t.op.call
	call.Partition, t.part = part, part
	var err error
	t.call, err = t.r.run.Python.begin(t.r.ctx, t.op.name, call)
	return err
}

// send hands the batch over. What the function yields until it wants the next one
// is for the rows of this one.
func (t *tableRun) send() error {
	b := t.batch.take()
	if b == nil {
		return nil
	}
	args := &chunk.Chunk{Cols: b.Cols[:t.op.width:t.op.width], Rows: b.Rows}
	more, err := t.call.Put(t.take, args)
	if err != nil || !more || t.enough {
		return err
	}
	t.finish()
	t.kept = &chunk.Chunk{Cols: b.Cols[t.op.width:], Rows: b.Rows, Part: t.part}
	return nil
}

// end tells the function that the partition has no more rows.
func (t *tableRun) end() error {
	if t.call == nil {
		return nil
	}
	for t.batch.rows > 0 && !t.enough {
		if err := t.send(); err != nil {
			return err
		}
	}
	if t.enough {
		return nil
	}
	call := t.call
	t.call = nil
	if err := call.End(t.take); err != nil {
		return err
	}
	t.finish()
	return nil
}

// take passes on what the function yields, beside the columns that stay.
func (t *tableRun) take(c *chunk.Chunk) bool {
	out := &chunk.Chunk{Cols: c.Cols[1:], Rows: c.Rows, Part: t.part}
	if t.op.beside {
		rows := chunk.Values[int32](c.Cols[0])[:c.Rows]
		for i, row := range rows {
			if t.op.outer && int(row) > t.next {
				// Rows before it that nothing came for.
				return t.emit(rows[:i], c.Slice(0, i)) && t.gap(int(row)) && t.take(c.Slice(i, c.Rows))
			}
			t.next = max(t.next, int(row)+1)
		}
		return t.emit(rows, c)
	}
	t.enough = !t.yield(out, nil)
	return !t.enough
}

// emit yields results beside rows of the batch.
func (t *tableRun) emit(rows []int32, results *chunk.Chunk) bool {
	if len(rows) == 0 || t.enough {
		return !t.enough
	}
	cols := make([]*chunk.Vector, len(t.kept.Cols))
	for i, v := range t.kept.Cols {
		var err error
		if cols[i], err = chunk.GatherMany("table function", v, rows); err != nil {
			t.fail(err)
			return false
		}
	}
	out := &chunk.Chunk{Cols: append(cols, results.Cols[1:]...), Rows: len(rows), Part: t.part}
	t.enough = !t.yield(out, nil)
	return !t.enough
}

// gap yields the rows of the batch from next to before, for which nothing came.
func (t *tableRun) gap(before int) bool {
	for t.next < before && !t.enough {
		n := min(before-t.next, chunk.MaxRows)
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(t.next + i)
		}
		nothing := &chunk.Chunk{Cols: []*chunk.Vector{nil}, Rows: n}
		for _, a := range t.op.made {
			nothing.Cols = append(nothing.Cols, chunk.NullVector(a.Of, n))
		}
		t.next += n
		t.emit(rows, nothing)
	}
	return !t.enough
}

// finish ends with the batch that the function was at.
func (t *tableRun) finish() {
	if t.op.outer && t.kept != nil {
		t.gap(t.kept.Rows)
	}
	t.kept, t.next = nil, 0
}

// AskTable asks the method analyze of a table function about a call of it.
func AskTable(ctx context.Context, py *Python, env *function.Env, c *plan.TableCall,
) (*plan.TableAnalysis, error) {
	fields := make([]plan.Field, len(c.Args))
	f := pyworker.Function{Pickle: c.Func.Command, Eval: c.Func.EvalType, Args: []pyworker.Argument{}}
	for i, e := range c.Args {
		fields[i] = plan.Field{Name: columnName(i), Type: e.Type(), Nullable: true}
		f.Args = append(f.Args, pyworker.Argument{Column: i, Name: c.Func.Keyword(i)})
	}
	call := pyworker.Call{
		Shape: pyworker.AnalyzeTable, Functions: []pyworker.Function{f}, Version: c.Func.PythonVersion,
		Input:  plan.Struct(fields...),
		Output: plan.Struct(plan.Col("said", plan.String), plan.Col("result", plan.Binary)),
		Table:  &pyworker.TableCall{Name: c.Func.Name, Constant: c.Constant, Table: c.Table},
	}
	ev, err := eval.CompileAll(c.Args, nil, env)
	if err != nil {
		return nil, err
	}
	row := &chunk.Chunk{Rows: 1}
	if row.Cols, err = ev.EvalAll(row, nil); err != nil {
		return nil, err
	}
	x, err := py.begin(ctx, c.Func.Name, call)
	if err != nil {
		return nil, err
	}
	var said *plan.TableAnalysis
	take := func(c *chunk.Chunk) bool {
		said, err = parseAnalysis(c)
		return true
	}
	if _, err := x.Put(take, row); err != nil {
		return nil, err
	}
	if err := x.End(take); err != nil {
		return nil, err
	}
	return said, err
}

// parseAnalysis reads the answer of an analyze.
func parseAnalysis(c *chunk.Chunk) (*plan.TableAnalysis, error) {
	var told struct {
		Schema    json.RawMessage
		Single    bool
		Partition []string
		Order     []struct {
			Expr       string
			Ascending  bool
			NullsFirst *bool
		}
		Select []plan.TableColumn
	}
	if err := json.Unmarshal(c.Cols[0].Bytes(0), &told); err != nil {
		return nil, err
	}
	a := &plan.TableAnalysis{
		Result: bytes.Clone(c.Cols[1].Bytes(0)),
		Single: told.Single, Partition: told.Partition, Select: told.Select,
	}
	for _, o := range told.Order {
		order := plan.TableOrder{Expr: o.Expr, Descending: !o.Ascending, NullsFirst: o.NullsFirst}
		a.Order = append(a.Order, order)
	}
	var err error
	a.Schema, err = plan.ParseTypeJSON(string(told.Schema))
	return a, err
}
