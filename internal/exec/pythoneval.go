package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// evalPythonOp puts the results of functions beside the rows that they were
// called on.
type evalPythonOp struct {
	in operator
	python
	keep    []int // of the input's columns
	results []int // of the functions' columns
}

func (p *planner) buildEvalPython(n *evalPython, want need) (input, error) {
	columns, functions := pythonArguments(n.results)
	below := want
	if below != nil {
		below = need{}
		for id := range want {
			below[id] = true
		}
		for _, r := range n.results {
			delete(below, r.attr.ID)
		}
	}
	in, err := p.build(n.input, below.with(columns...))
	if err != nil {
		return input{}, err
	}
	set, schema, err := p.columnsFor(columns, nil, in.attrs)
	if err != nil {
		return input{}, err
	}
	first := n.results[0].f
	o := &evalPythonOp{in: in.op, python: python{name: first.Name, args: set, call: pyworker.Call{
		Shape: pyworker.Scalar, Functions: functions, Version: first.PythonVersion, Input: schema,
	}}}
	if first.EvalType == pyworker.EvalScalarIterator {
		o.call.Shape = pyworker.ScalarIterator
	}
	attrs := below.only(in.attrs)
	o.keep = ordinalsOf(in.attrs, attrs)
	out := make([]plan.Field, len(n.results))
	for i, r := range n.results {
		out[i] = plan.Field{Name: columnName(i), Type: r.attr.Of, Nullable: true}
		if want.has(r.attr) {
			o.results = append(o.results, i)
			attrs = append(attrs, r.attr)
		}
	}
	o.call.Output = plan.Struct(out...)
	return input{op: o, attrs: attrs}, nil
}

// pythonArguments is the distinct columns that go to functions, and the
// functions over them: behind the columns they see the results before theirs.
func pythonArguments(results []pythonResult) ([]plan.Expr, []pyworker.Function) {
	own := map[plan.ExprID]int{}
	for i, r := range results {
		own[r.attr.ID] = i
	}
	var columns []plan.Expr
	at := map[string]int{}
	for _, r := range results {
		for _, e := range r.f.Args {
			if a, ok := e.(*plan.Attribute); ok {
				if _, ok := own[a.ID]; ok {
					continue
				}
			}
			if key := eval.Canonical(e); at[key] == 0 {
				columns = append(columns, e)
				at[key] = len(columns)
			}
		}
	}
	functions := make([]pyworker.Function, len(results))
	for i, r := range results {
		functions[i] = functionOf(r.f, func(e plan.Expr) int {
			if a, ok := e.(*plan.Attribute); ok {
				if k, ok := own[a.ID]; ok {
					return len(columns) + k
				}
			}
			return at[eval.Canonical(e)] - 1
		})
	}
	return columns, functions
}

func (o *evalPythonOp) parts(r *running) int { return o.in.parts(r) }

func (o *evalPythonOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		e := &pythonEval{op: o, r: r, yield: yield, ev: o.args.Take(r.evaluation())}
		e.held = r.lease("call of Python")
		e.batch = batcher{schema: o.call.Input, limit: r.run.Python.batchRows()}
		defer e.release()
		for c, err := range o.in.rows(r) {
			if err == nil {
				err = e.add(c)
			}
			if err != nil {
				e.fail(err)
				return
			}
			if e.enough {
				return
			}
		}
		if err := e.flush(); err != nil {
			e.fail(err)
		}
	}
}

// pythonEval is a run of an evalPythonOp. Rows wait until the results for all of
// them are there.
type pythonEval struct {
	op      *evalPythonOp
	r       *running
	yield   receiver
	ev      *eval.Evaluator
	held    *chunk.Lease
	batch   batcher
	call    *pyworker.Exchange
	part    int
	waiting []*chunk.Chunk // rows without results, in order
	results []*chunk.Chunk // results without rows; the first is cut where it was used
	have    int            // rows of results
	enough  bool           // nobody wants more
}

func (e *pythonEval) release() {
	if e.call != nil {
		e.call.Abandon()
	}
	e.held.End()
	e.ev.Release()
}

func (e *pythonEval) fail(err error) {
	if !e.enough {
		e.enough = true
		e.yield(nil, err)
	}
}

// add sends a chunk on its way, with those before it when the batch is full.
func (e *pythonEval) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	if c.Part != e.part {
		if err := e.flush(); err != nil {
			return err
		}
		e.part = c.Part
	}
	args, err := e.ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	if err := e.held.Add(c.Size()); err != nil {
		return err
	}
	e.waiting = append(e.waiting, c)
	full := e.batch.add(&chunk.Chunk{Cols: args, Rows: c.Rows, Part: c.Part})
	for full && !e.enough {
		if err := e.send(); err != nil {
			return err
		}
		full = e.batch.rows >= e.batch.limit
	}
	return nil
}

// send hands the batch over.
func (e *pythonEval) send() error {
	b := e.batch.take()
	if b == nil {
		return nil
	}
	if e.call == nil {
		call := e.op.call
		call.Partition = e.part
		var err error
		if e.call, err = e.r.run.Python.begin(e.r.ctx, e.op.name, call); err != nil {
			return err
		}
	}
	_, err := e.call.Put(e.take, b)
	return err
}

// flush sends what is left of a partition, ends its call and waits for the
// results.
func (e *pythonEval) flush() error {
	for e.batch.rows > 0 && !e.enough {
		if err := e.send(); err != nil {
			return err
		}
	}
	if e.call == nil || e.enough {
		return nil
	}
	err := e.call.End(e.take)
	e.call = nil
	return err
}

// take joins results to the rows that wait for them.
func (e *pythonEval) take(c *chunk.Chunk) bool {
	e.results = append(e.results, c)
	e.have += c.Rows
	for len(e.waiting) > 0 && e.have >= e.waiting[0].Rows && !e.enough {
		in := e.waiting[0]
		e.waiting = e.waiting[1:]
		_ = e.held.Add(-in.Size())
		got := e.next(in.Rows)
		out := pick(in, e.op.keep)
		for _, k := range e.op.results {
			out.Cols = append(out.Cols, got.Cols[k])
		}
		e.enough = !e.yield(out, nil)
	}
	return !e.enough
}

// next is the results of the next n rows.
func (e *pythonEval) next(n int) *chunk.Chunk {
	var parts []*chunk.Chunk
	e.have -= n
	for n > 0 {
		first := e.results[0]
		if first.Rows > n {
			parts = append(parts, first.Slice(0, n))
			e.results[0] = first.Slice(n, first.Rows)
			break
		}
		parts = append(parts, first)
		e.results = e.results[1:]
		n -= first.Rows
	}
	return chunk.Concat(e.op.call.Output, parts...)
}
