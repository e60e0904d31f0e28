package eval

import (
	"fmt"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Set is expressions over one input, compiled together so that common parts
// are computed once. It is immutable; each run takes an Evaluator of it.
type Set struct {
	steps []step
	outs  []int // the step of each expression
	env   *function.Env
	free  *sync.Pool // evaluators that no run uses
}

func newSet(env *function.Env) *Set { return &Set{env: env, free: &sync.Pool{}} }

// step computes one part of an expression from earlier ones.
type step struct {
	eval evalFunc
	expr plan.Expr
	kids []int
	of   plan.Type

	// column is the input ordinal of a column, -1 for everything else.
	column int
	// literal is the one row of a constant known when compiled.
	literal *chunk.Vector
	// constant says that the value is the same for all rows of a run.
	constant bool
	// perRun says that the kernel must be made anew for each run.
	perRun bool
	// bodies are the lambdas of a higher-order function.
	bodies []*body
	// volatile says that the kernel keeps state along the rows of a partition.
	volatile bool
	def      *function.Def
}

// evalFunc computes step i for the picked rows of the evaluator's chunk.
type evalFunc func(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error)

// compiler adds expressions to a set.
type compiler struct {
	set   *Set
	input map[plan.ExprID]int
	vars  map[variable]int // of lambdas: the columns that parameters are
	seen  map[int]int      // steps, by the number of the expression
	same  *Numbers
	sub   func(*plan.Subquery) error
}

// NewSet compiles expressions over the columns of an input. sub is told of each
// subquery, which the Answers of a run must know; nil refuses them.
func NewSet(
	exprs []plan.Expr, input []*plan.Attribute, env *function.Env, sub func(*plan.Subquery) error,
) (*Set, error) {
	c := &compiler{
		set:   newSet(env),
		input: map[plan.ExprID]int{},
		seen:  map[int]int{},
		same:  &Numbers{},
		sub:   sub,
	}
	for i, a := range input {
		if _, ok := c.input[a.ID]; !ok {
			c.input[a.ID] = i
		}
	}
	for _, e := range exprs {
		i, err := c.add(e)
		if err != nil {
			return nil, err
		}
		c.set.outs = append(c.set.outs, i)
	}
	return c.set, nil
}

// add compiles an expression and returns its step.
func (c *compiler) add(e plan.Expr) (int, error) {
	key := c.same.Of(e)
	if i, ok := c.seen[key]; ok {
		return i, nil
	}
	s, err := c.step(e)
	if err != nil {
		return 0, err
	}
	if s.eval == nil && s.literal == nil && s.column < 0 {
		// The expression stands for its only part (an alias).
		c.seen[key] = s.kids[0]
		return s.kids[0], nil
	}
	c.set.steps = append(c.set.steps, s)
	c.seen[key] = len(c.set.steps) - 1
	return c.seen[key], nil
}

// column is where a column stands in the chunk.
func (c *compiler) column(a *plan.Attribute) int {
	i, ok := c.input[a.ID]
	if !ok {
		panic(fmt.Sprintf("column %s#%d is not among the input", a.Name, a.ID))
	}
	return i
}

func (c *compiler) step(e plan.Expr) (step, error) {
	s := step{expr: e, column: -1}
	switch n := e.(type) {
	case *plan.Attribute:
		s.column, s.of = c.column(n), n.Of
		return s, nil
	case *plan.LambdaVariable:
		i, ok := c.vars[variable{n.Level, n.Index}]
		if !ok {
			panic("a parameter stands outside of its lambda")
		}
		s.column, s.of = i, n.Of
		return s, nil
	case *plan.Literal:
		s.literal, s.of, s.constant = chunk.Repeat(n.Value, n.Of, 1), n.Of, true
		return s, nil
	case *plan.PythonUDF:
		return s, plan.Unsupported("The Python function " + n.Name + " in this place")
	case *plan.AggregateCall, *plan.SortOrder:
		panic(fmt.Sprintf("%T outside of its node", e))
	}
	s.of = e.Type()
	kids := e.Children()
	parts := make([]plan.Expr, len(kids))
	copy(parts, kids)
	if call, ok := e.(*plan.Call); ok {
		kids = withoutLambdas(call)
	}
	s.constant = true
	for i, k := range kids {
		at, err := c.add(k)
		if err != nil {
			return s, err
		}
		part := &c.set.steps[at]
		s.kids = append(s.kids, at)
		parts[i] = part.expr
		s.constant = s.constant && part.constant
	}
	if _, ok := e.(*plan.Alias); ok {
		return s, nil
	}
	if len(parts) > 0 {
		s.expr = e.WithChildren(parts)
	}
	return s, c.operate(&s)
}

// operate gives a step that has parts its way to be computed.
func (c *compiler) operate(s *step) error {
	switch n := s.expr.(type) {
	case *plan.Cast:
		s.eval = evalKernel
		// A time without a date means today.
		s.perRun = n.Child.Type().IsString() && n.To.Kind == plan.KindTimestamp
		c.fold(s)
		return nil
	case *plan.GetField:
		s.eval = evalField
		return nil
	case *plan.Subquery:
		return c.subqueryStep(s, n)
	case *plan.Call:
		return c.callStep(s, n)
	default:
		panic(fmt.Sprintf("%T reached execution", s.expr))
	}
}

func (c *compiler) callStep(s *step, n *plan.Call) error {
	if own, ok := ownFunctions[n.Name]; ok {
		s.eval, s.volatile, s.constant = own, true, false
		return nil
	}
	if lazy, ok := lazyFunctions[n.Name]; ok {
		s.eval = lazy
		return nil
	}
	d, ok := function.Lookup(n.Name)
	if !ok || d.Kernel == nil && d.Higher == nil {
		return plan.Unsupported("the function " + n.Name).At(n.Origin)
	}
	s.def, s.eval = d, evalKernel
	if len(s.kids) < len(n.Args) {
		return c.higherStep(s, n)
	}
	s.volatile = d.Volatile
	s.constant = s.constant && !s.volatile
	s.perRun = s.constant
	if len(n.Args) > 0 {
		c.fold(s)
	}
	return nil
}

func (c *compiler) subqueryStep(s *step, n *plan.Subquery) error {
	if c.sub == nil {
		return plan.Unsupported("a subquery in this place").At(n.Origin)
	}
	s.eval = evalSubquery
	return c.sub(n)
}

// evalSubquery looks a subquery's answer up.
func evalSubquery(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	values := ev.args[i]
	for k, kid := range s.kids {
		v, err := ev.eval(kid, sel)
		if err != nil {
			return nil, err
		}
		values[k] = v
	}
	return ev.answers.Answer(s.expr.(*plan.Subquery), values, sel, ev.c.Rows)
}

// fold computes a step of literals while compiling. One that fails is left as
// it is: it fails when a row asks for it.
func (c *compiler) fold(s *step) {
	if call, ok := s.expr.(*plan.Call); ok && (s.volatile || call.Name == "current_time") {
		return
	}
	args := make([]*chunk.Vector, len(s.kids))
	for i, k := range s.kids {
		if args[i] = c.set.steps[k].literal; args[i] == nil {
			return
		}
	}
	if _, cast := s.expr.(*plan.Cast); cast && s.perRun {
		return
	}
	kernel, err := s.kernel(s.expr, c.set.env)
	if err != nil {
		return
	}
	if s.foresee(args, c.set.env) != nil {
		return // a row that asks for it fails
	}
	v, err := kernel(args, nil, 1)
	if err != nil || chunk.SizeOf(v) > largeLiteral {
		return
	}
	lit := plan.Lit(v.Value(0), s.of)
	*s = step{expr: lit, of: s.of, column: -1, literal: v, constant: true}
}

// largeLiteral is the size up to which a constant is kept in the plan.
const largeLiteral = 16 << 20

// perByte is how much of a collection may come of a byte of text: an element, its
// offset, and as much again while it grows.
const perByte = 8

// foresee refuses what a call may make of large texts, such as the parts of one, before
// it is made.
func (s *step) foresee(args []*chunk.Vector, env *function.Env) error {
	if s.of.Kind != plan.KindArray && s.of.Kind != plan.KindMap {
		return nil
	}
	n := int64(0)
	for _, a := range args {
		if a.Type.IsString() || a.Type.Kind == plan.KindBinary {
			n += chunk.SizeOf(a)
		}
	}
	if n < largeBytes {
		return nil
	}
	return env.Memory.Fits("value of "+nameOf(s.expr), perByte*n)
}

// kernel makes the kernel of a step that is a cast or a call of the shelf.
func (s *step) kernel(e plan.Expr, env *function.Env) (function.Kernel, error) {
	if cast, ok := e.(*plan.Cast); ok {
		return function.CastKernelOf(cast, env)
	}
	return s.def.Kernel(e.(*plan.Call), env)
}
