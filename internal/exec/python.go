package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// Python is how functions of the user run.
type Python struct {
	Host     *pyworker.Host
	Launch   pyworker.Launch
	Settings pyworker.Settings
	// BatchRows is spark.sql.execution.arrow.maxRecordsPerBatch: how many rows of
	// a partition a function sees at once; 0 or less is all.
	BatchRows int
}

// begin starts a call, or refuses it by name.
func (p *Python) begin(ctx context.Context, name string, c pyworker.Call) (*pyworker.Exchange, error) {
	if p == nil {
		return nil, (*pyworker.Host)(nil).Allowed("The function " + name)
	}
	if err := p.Host.Allowed("The function " + name); err != nil {
		return nil, err
	}
	c.Launch, c.Settings = p.Launch, p.Settings
	return p.Host.Begin(ctx, &c)
}

// maxBatchBytes bounds what a function sees at once, whatever BatchRows is.
const maxBatchBytes = 64 << 20

func (p *Python) batchRows() int {
	if p == nil || p.BatchRows <= 0 {
		return int(^uint(0) >> 1)
	}
	return p.BatchRows
}

// python is functions in one place of a plan, compiled: the columns that go to
// them and what they are called as.
type python struct {
	name string // of the first, for errors
	args *eval.Set
	call pyworker.Call
}

// columnsFor compiles what goes to functions. Input fields are named by fields,
// which may be nil.
func (p *planner) columnsFor(exprs []plan.Expr, fields []string, in []*plan.Attribute,
) (*eval.Set, plan.Type, error) {
	set, err := p.compileSet(exprs, in)
	if err != nil {
		return nil, plan.Type{}, err
	}
	out := make([]plan.Field, len(exprs))
	for i, e := range exprs {
		out[i] = plan.Field{Name: columnName(i), Type: e.Type(), Nullable: true}
		if fields != nil {
			out[i].Name = fields[i]
		}
	}
	return set, plan.Struct(out...), nil
}

// columnName is that of a column that nobody sees.
func columnName(i int) string { return fmt.Sprintf("_%d", i) }

// columnNames are the names that a function of frames sees.
func columnNames(args []plan.Expr) []string {
	names := make([]string, len(args))
	for i, e := range args {
		if a, ok := e.(*plan.Attribute); ok {
			names[i] = a.Name
		} else {
			names[i] = plan.SQLText(e)
		}
	}
	return names
}

// batcher gathers chunks of a partition into batches of the size that functions
// are to see.
type batcher struct {
	schema plan.Type
	limit  int
	chunks []*chunk.Chunk
	rows   int
	bytes  int64
}

// add takes a chunk and tells whether the batch is full.
func (b *batcher) add(c *chunk.Chunk) bool {
	b.chunks = append(b.chunks, c)
	b.rows += c.Rows
	b.bytes += c.Size()
	return b.rows >= b.limit || b.bytes >= maxBatchBytes
}

// take is the batch, at most limit rows; the rest stays. It is nil when there is
// nothing.
func (b *batcher) take() *chunk.Chunk {
	if b.rows == 0 {
		return nil
	}
	whole := chunk.Concat(b.schema, b.chunks...)
	b.chunks, b.rows, b.bytes = nil, 0, 0
	if whole.Rows <= b.limit {
		return whole
	}
	rest := whole.Slice(b.limit, whole.Rows)
	whole = whole.Slice(0, b.limit)
	b.chunks, b.rows, b.bytes = []*chunk.Chunk{rest}, rest.Rows, rest.Size()
	return whole
}

// functionOf is a function as a call names it. args is where each argument
// stands among the columns that are sent.
func functionOf(f *plan.PythonUDF, columns func(plan.Expr) int) pyworker.Function {
	out := pyworker.Function{Pickle: f.Command, Eval: f.EvalType, Args: []pyworker.Argument{}}
	for i, a := range f.Args {
		out.Args = append(out.Args, pyworker.Argument{Column: columns(a), Name: f.Keyword(i)})
	}
	return out
}

// pythonResult is a function that stands in an expression and the column that
// its results become.
type pythonResult struct {
	f    *plan.PythonUDF
	attr *plan.Attribute
}

// evalPython computes functions over its input: its output is the input's and a
// column for each. It exists while a plan is compiled.
type evalPython struct {
	input   plan.Node
	results []pythonResult
}

func (n *evalPython) Children() []plan.Node { return []plan.Node{n.input} }

func (n *evalPython) WithChildren(c []plan.Node) plan.Node { return &evalPython{c[0], n.results} }

func (n *evalPython) Output() []*plan.Attribute {
	out := slices.Clone(n.input.Output())
	for _, r := range n.results {
		out = append(out, r.attr)
	}
	return out
}

// lifter takes Python functions out of expressions. Each becomes a column of a
// node below, so that it sees batches of rows; expressions keep the column.
// Functions that others are called on come first, in the same node where their
// results go to them as they are.
type lifter struct {
	p      *planner
	stages []*evalPython
	known  map[string]*plan.Attribute
	stage  map[plan.ExprID]int // of results
}

// liftPython is expressions without Python functions, and the input with them.
func (p *planner) liftPython(in plan.Node, exprs ...plan.Expr) (plan.Node, []plan.Expr, error) {
	if !slices.ContainsFunc(exprs, callsPython) {
		return in, exprs, nil
	}
	l := &lifter{p: p, known: map[string]*plan.Attribute{}, stage: map[plan.ExprID]int{}}
	out := make([]plan.Expr, len(exprs))
	for i, e := range exprs {
		var err error
		if out[i], err = plan.Transform(e, l.lift); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range l.stages {
		s.input = in
		in = s
	}
	return in, out, nil
}

func callsPython(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool { _, ok := p.(*plan.PythonUDF); return ok })
}

func (l *lifter) lift(e plan.Expr) (plan.Expr, error) {
	f, ok := e.(*plan.PythonUDF)
	if !ok {
		return e, nil
	}
	key := eval.Canonical(f)
	if a := l.known[key]; a != nil {
		return a, nil
	}
	switch f.EvalType {
	case pyworker.EvalBatched, pyworker.EvalArrowBatched, pyworker.EvalScalarPandas, pyworker.EvalScalarArrow,
		pyworker.EvalScalarIterator:
	default:
		return nil, plan.Unsupported(fmt.Sprintf("The Python function %s (eval type %d)", f.Name, f.EvalType))
	}
	a := l.p.liftedColumn(f.Name, f.Returns)
	at := l.place(f)
	for at >= len(l.stages) {
		l.stages = append(l.stages, &evalPython{})
	}
	l.stages[at].results = append(l.stages[at].results, pythonResult{f, a})
	l.known[key], l.stage[a.ID] = a, at
	return a, nil
}

// place is the stage of a function: where the results that it needs are, or one
// above.
func (l *lifter) place(f *plan.PythonUDF) int {
	at := 0
	for _, arg := range f.Args {
		_, plain := arg.(*plan.Attribute)
		for id := range plan.References(arg) {
			s, lifted := l.stage[id]
			switch {
			case lifted && (!plain || l.alone(s)):
				at = max(at, s+1)
			case lifted:
				at = max(at, s)
			}
		}
	}
	// A function of iterators runs by itself.
	iterates := f.EvalType == pyworker.EvalScalarIterator
	for at < len(l.stages) && (iterates || l.alone(at)) {
		at++
	}
	return at
}

// alone says that a stage is a function of iterators.
func (l *lifter) alone(stage int) bool {
	return l.stages[stage].results[0].f.EvalType == pyworker.EvalScalarIterator
}

// buildPythonFilter computes functions only for the rows that the other parts of
// the condition leave.
func (p *planner) buildPythonFilter(n *plan.Filter, want need) (input, error) {
	var plain, called []plan.Expr
	for _, part := range conjuncts(n.Cond) {
		if callsPython(part) {
			called = append(called, part)
		} else {
			plain = append(plain, part)
		}
	}
	below := n.Input
	if len(plain) > 0 {
		below = plan.NewFilter(below, conjunction(plain))
	}
	below, conds, err := p.liftPython(below, conjunction(called))
	if err != nil {
		return input{}, err
	}
	return p.buildFilter(plan.NewFilter(below, conds[0]), want)
}

func conjunction(parts []plan.Expr) plan.Expr {
	e := parts[0]
	for _, p := range parts[1:] {
		e = &plan.Call{Name: "and", Args: []plan.Expr{e, p}, Of: plan.Boolean, Null: e.Nullable() || p.Nullable()}
	}
	return e
}

// withoutPython is a node whose expressions call no functions, for nodes whose
// operators do not take them out themselves.
func (p *planner) withoutPython(n plan.Node) (plan.Node, error) {
	switch n := n.(type) {
	case *plan.Aggregate:
		return p.liftAggregate(n)
	case *plan.Join:
		return p.liftJoin(n)
	case *plan.Generate:
		in, exprs, err := p.liftPython(n.Input, n.Generator)
		if err != nil || in == n.Input {
			return n, err
		}
		m := n.WithChildren([]plan.Node{in}).(*plan.Generate)
		m.Generator = exprs[0]
		return m, nil
	default:
		return n, nil
	}
}

// liftAggregate takes functions out of the arguments of aggregates.
func (p *planner) liftAggregate(n *plan.Aggregate) (plan.Node, error) {
	in, exprs, err := p.liftPython(n.Input, n.Exprs...)
	if err != nil || in == n.Input {
		return n, err
	}
	m := n.WithChildren([]plan.Node{in}).(*plan.Aggregate)
	m.Exprs = exprs
	return m, nil
}

// liftJoin moves the parts of an inner join's condition that call functions
// above it. Other joins cannot have them, as in Spark.
func (p *planner) liftJoin(n *plan.Join) (plan.Node, error) {
	if n.Cond == nil || !callsPython(n.Cond) {
		return n, nil
	}
	if n.Kind != plan.InnerJoin && n.Kind != plan.CrossJoin {
		return nil, plan.AnalysisError("UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE",
			"a Python function stands in the ON clause of a "+n.Kind.String()+" join.", "joinType", n.Kind.String())
	}
	var plain, called []plan.Expr
	for _, part := range conjuncts(n.Cond) {
		if callsPython(part) {
			called = append(called, part)
		} else {
			plain = append(plain, part)
		}
	}
	m := *n
	m.Cond = nil
	if len(plain) > 0 {
		m.Cond = conjunction(plain)
	}
	return plan.NewFilter(&m, conjunction(called)), nil
}

func (p *planner) buildPythonSort(n *plan.Sort, top *int64, want need) (input, error) {
	below, orders, err := p.liftPython(n.Input, exprsOf(n.Orders)...)
	if err != nil {
		return input{}, err
	}
	lifted := make([]*plan.SortOrder, len(orders))
	for i, o := range orders {
		lifted[i] = o.(*plan.SortOrder)
	}
	if want == nil {
		want = needs(exprsOf(n.Output())...)
	}
	return p.buildSort(plan.NewSort(below, n.Global, lifted...), top, want)
}
