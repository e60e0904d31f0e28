package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Build compiles a resolved plan. It refuses what cannot run, by name; nothing
// is read. describe is needed for plans with stateful processors.
func Build(n plan.Node, env *function.Env, describe Describe) (*Program, error) {
	p := &planner{env: env, known: map[subqueryKey]bool{}, describe: describe}
	return p.program(n)
}

// compileSet compiles expressions over the columns of an input.
func (p *planner) compileSet(exprs []plan.Expr, input []*plan.Attribute) (*eval.Set, error) {
	return eval.NewSet(exprs, input, p.env, p.subquery)
}

func (p *planner) program(n plan.Node) (*Program, error) {
	in, err := p.build(n, nil)
	if err != nil {
		return nil, err
	}
	root := in.take(n.Output()).op
	return &Program{
		plan: n, schema: plan.SchemaOf(n.Output()), root: root, subs: p.subs, env: p.env, operators: p.operators,
		steps: p.steps, replaced: p.replaced,
	}, nil
}

// planner turns nodes into operators.
type planner struct {
	env   *function.Env
	subs  []*subquery // those inside others first
	known map[subqueryKey]bool

	// Of plans that run batch by batch.
	streaming bool
	mode      plan.OutputMode
	operators []*StateOperator
	replaced  map[plan.Node]plan.Node
	steps     []Step

	placements placements
	// fixed says that shuffles have all their partitions, as in a plan with state;
	// else adaptive execution joins those that are small.
	fixed bool

	describe Describe
	lifted   plan.ExprID // the last id of a column that Python functions became
}

// keeps says that a node needs state between batches.
func (p *planner) keeps(n plan.Node) bool { return p.streaming && plan.Streaming(n) }

// input is an operator and the columns it yields: those of its node that
// somebody above asked for, at least.
type input struct {
	op    operator
	attrs []*plan.Attribute
	// local marks rows that are not cut into partitions yet; see spreadOp.
	local bool
}

// need is the columns that the operators above read; nil is all of them.
type need map[plan.ExprID]bool

// with adds the columns that expressions read.
func (n need) with(exprs ...plan.Expr) need {
	if n == nil {
		return nil
	}
	all := need(plan.References(exprs...))
	for id := range n {
		all[id] = true
	}
	return all
}

func (n need) has(a *plan.Attribute) bool { return n == nil || n[a.ID] }

// only is the attributes that are needed.
func (n need) only(attrs []*plan.Attribute) []*plan.Attribute {
	if n == nil {
		return attrs
	}
	out := make([]*plan.Attribute, 0, len(attrs))
	for _, a := range attrs {
		if n.has(a) {
			out = append(out, a)
		}
	}
	return out
}

func needs(exprs ...plan.Expr) need { return need(plan.References(exprs...)) }

// build compiles a node that must yield the needed columns.
func (p *planner) build(n plan.Node, want need) (input, error) {
	in, err := p.chain(n, want)
	return in.spread(), err
}

// chain is build for the operators that Spark evaluates over local data while
// it optimizes.
func (p *planner) chain(n plan.Node, want need) (input, error) {
	in, err := p.compile(n, want)
	if err != nil {
		return input{}, err
	}
	return p.timed(n, in), nil
}

// compile is chain without the time being told.
func (p *planner) compile(n plan.Node, want need) (input, error) {
	m, err := p.withoutPython(n)
	if err != nil {
		return input{}, err
	}
	p.replace(n, m)
	switch n := m.(type) {
	case *plan.Scan:
		return buildScan(n, want), nil
	case *plan.LocalData:
		return buildLocal(n)
	case *plan.Range:
		return input{op: &rangeOp{n}, attrs: n.Output()}, nil
	case *plan.OneRow:
		return input{op: oneRow{}}, nil
	case *plan.Project:
		return p.buildProject(n, want)
	case *plan.Filter:
		return p.buildFilter(n, want)
	case *plan.Aggregate:
		if p.keeps(n) {
			return p.buildStreamAggregate(n)
		}
		return p.buildAggregate(n)
	case *plan.Join:
		if p.streaming && plan.Streaming(n.Left) && plan.Streaming(n.Right) {
			return p.buildStreamJoin(n, want)
		}
		return p.buildJoin(n, want)
	case *plan.SetOp:
		if p.keeps(n) && n.Kind == plan.Except {
			return p.buildStreamExcept(n)
		}
		return p.buildSetOp(n, want)
	case *plan.Sort:
		return p.buildSort(n, nil, want)
	case *plan.Limit:
		if p.keeps(n) && (p.mode == plan.AppendMode || !aggregatesStream(n.Input)) {
			return p.buildStreamLimit(n, want)
		}
		return p.buildLimit(n, want)
	case *plan.Dedup:
		if p.keeps(n) {
			return p.buildStreamDedup(n, want)
		}
		return p.buildDedup(n, want)
	case *plan.Generate:
		return p.buildGenerate(n, want)
	case *plan.Repartition:
		return p.buildRepartition(n, want)
	case *plan.Window:
		return p.buildWindow(n, want)
	case *plan.Observe:
		return p.buildObserve(n, want)
	case *plan.Watermark:
		return p.buildWatermark(n, want)
	case *plan.TimeWindow:
		return p.buildTimeWindow(n, want)
	case *plan.ShowString:
		return p.buildShow(n)
	case *plan.SubqueryAlias:
		return p.chain(n.Input, want)
	case *plan.Hint:
		return p.chain(n.Input, want)
	default:
		return p.functions(n, want)
	}
}

// replace notes that another node stands for a node of the plan.
func (p *planner) replace(n, by plan.Node) {
	if p.streaming && n != by {
		p.replaced[n] = by
	}
}

// functions is chain for nodes that run Python.
func (p *planner) functions(n plan.Node, want need) (input, error) {
	switch n := n.(type) {
	case *plan.MapPython:
		return p.buildMapPython(n)
	case *plan.GroupPython:
		return p.buildGroupPython(n)
	case *plan.TablePython:
		return p.buildTablePython(n, want)
	case *plan.StatePython:
		return p.buildStatePython(n)
	case *plan.TransformPython:
		return p.buildTransform(n)
	case *keyedRows:
		return p.buildKeyedRows(n)
	case *evalPython:
		return p.buildEvalPython(n, want)
	case *expanded:
		return p.buildExpanded(n)
	case *repeated:
		return p.buildRepeated(n)
	default:
		panic(fmt.Sprintf("%T reached execution", n))
	}
}

// take is the input with exactly these columns, in this order.
func (in input) take(attrs []*plan.Attribute) input {
	ordinals := make([]int, len(attrs))
	same := len(attrs) == len(in.attrs)
	for i, a := range attrs {
		ordinals[i] = position(in.attrs, a.ID)
		same = same && ordinals[i] == i
	}
	if same {
		return input{op: in.op, attrs: attrs}
	}
	return input{op: &pickOp{in.op, ordinals}, attrs: attrs}
}

func position(attrs []*plan.Attribute, id plan.ExprID) int {
	for i, a := range attrs {
		if a.ID == id {
			return i
		}
	}
	panic(fmt.Sprintf("column #%d is not among the input", id))
}

// pickOp keeps some columns of its input.
type pickOp struct {
	in       operator
	ordinals []int
}

func (o *pickOp) parts(r *running) int { return o.in.parts(r) }

func (o *pickOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(pick(c, o.ordinals), nil) {
				return
			}
		}
	}
}

func pick(c *chunk.Chunk, ordinals []int) *chunk.Chunk {
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(ordinals)), Rows: c.Rows, Part: c.Part}
	for i, k := range ordinals {
		out.Cols[i] = c.Cols[k]
	}
	return out
}

// exprsOf is orders or attributes as expressions.
func exprsOf[E plan.Expr](list []E) []plan.Expr {
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}
