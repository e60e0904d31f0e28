package eval

import (
	"errors"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Evaluator computes compiled expressions chunk by chunk. One goroutine uses
// it.
//
// The value of a part is kept while the chunk lasts, together with the scope it
// was computed in. A scope is a selection of rows, and inner scopes pick from
// outer ones: what an outer scope computed serves all scopes inside.
type Evaluator struct {
	set     *Set
	env     function.Env // private: kernels hold its address
	c       *chunk.Chunk
	kernels []function.Kernel
	lambdas []*lambdas // of steps that are higher-order functions
	cells   []cell
	args    [][]*chunk.Vector // scratch of each step
	wide    []*chunk.Vector   // constants, repeated
	scopes  []uint32          // open ones, outermost first
	serial  uint32
	parts   map[partStep]*partState
	answers Answers     // nil outside of a Program
	held    chunk.Lease // large values of the chunk at hand
}

// cell is a kept value and the scope it belongs to.
type cell struct {
	v      *chunk.Vector
	depth  int
	serial uint32
}

// Compile compiles an expression over columns, for callers that evaluate
// outside of a Program.
func Compile(e plan.Expr, input []*plan.Attribute, env *function.Env) (*Evaluator, error) {
	return CompileAll([]plan.Expr{e}, input, env)
}

// CompileAll compiles several expressions that share their common parts.
func CompileAll(exprs []plan.Expr, input []*plan.Attribute, env *function.Env) (*Evaluator, error) {
	set, err := NewSet(exprs, input, env, nil)
	if err != nil {
		return nil, err
	}
	ev := set.evaluator()
	ev.Reset(env)
	return ev, nil
}

// Condition compiles a test of rows: it picks those for which a condition is
// true. One goroutine uses it.
func Condition(
	cond plan.Expr, input []*plan.Attribute, env *function.Env,
) (func(*chunk.Chunk) (chunk.Sel, error), error) {
	ev, err := Compile(cond, input, env)
	if err != nil {
		return nil, err
	}
	return func(c *chunk.Chunk) (chunk.Sel, error) {
		ev.Begin(c)
		return ev.Filter(0, nil)
	}, nil
}

// Const is the value of an expression without columns.
func Const(e plan.Expr, env *function.Env) (plan.Value, error) {
	if l, ok := e.(*plan.Literal); ok {
		return l.Value, nil
	}
	ev, err := Compile(e, nil, env)
	if err != nil {
		return nil, err
	}
	defer ev.held.End()
	v, err := ev.Eval(&chunk.Chunk{Rows: 1}, nil)
	if err != nil {
		return nil, err
	}
	return v.Value(0), nil
}

// Run is the execution for which a set is evaluated.
type Run struct {
	Env     *function.Env
	Memory  *chunk.Budget // instead of the one of Env
	Answers Answers
}

// Answers knows what the subqueries of a run found.
type Answers interface {
	// Answer is the value of a subquery for the picked rows of n; values is the
	// left side of IN.
	Answer(s *plan.Subquery, values []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error)
}

// Take is an evaluator for a run, to be handed back by Release.
func (s *Set) Take(r Run) *Evaluator {
	ev, ok := s.free.Get().(*Evaluator)
	if !ok {
		ev = s.evaluator()
	}
	env := *r.Env
	env.Memory = r.Memory
	ev.answers = r.Answers
	ev.Reset(&env)
	return ev
}

// Release hands the evaluator back.
func (ev *Evaluator) Release() {
	ev.forget()
	ev.answers, ev.held.Of = nil, nil
	ev.set.free.Put(ev)
}

// forget drops what is held of the last chunk.
func (ev *Evaluator) forget() {
	ev.held.End()
	ev.c = nil
	clear(ev.cells)
	for _, l := range ev.lambdas {
		if l != nil {
			l.forget()
		}
	}
}

func (s *Set) evaluator() *Evaluator {
	n := len(s.steps)
	ev := &Evaluator{
		set:     s,
		kernels: make([]function.Kernel, n),
		lambdas: make([]*lambdas, n),
		cells:   make([]cell, n),
		args:    make([][]*chunk.Vector, n),
		wide:    make([]*chunk.Vector, n),
	}
	for i := range s.steps {
		ev.args[i] = make([]*chunk.Vector, len(s.steps[i].kids))
	}
	return ev
}

// Reset begins a new batch: env may have another Now, and functions that count
// along the rows start over.
func (ev *Evaluator) Reset(env *function.Env) {
	ev.env = *env
	ev.held.Of = env.Memory
	ev.parts = nil
	for i := range ev.set.steps {
		s := &ev.set.steps[i]
		if s.perRun || s.volatile {
			ev.kernels[i] = nil
		}
		if s.constant && s.literal == nil {
			ev.wide[i] = nil
		}
		if ev.lambdas[i] != nil {
			ev.lambdas[i].reset(env)
		}
	}
}

// Eval computes the first expression for the picked rows of a chunk; what the
// result holds in other rows is unspecified.
func (ev *Evaluator) Eval(c *chunk.Chunk, sel chunk.Sel) (*chunk.Vector, error) {
	ev.Begin(c)
	return ev.Out(0, sel)
}

// EvalAll computes all expressions for the picked rows.
func (ev *Evaluator) EvalAll(c *chunk.Chunk, sel chunk.Sel) ([]*chunk.Vector, error) {
	ev.Begin(c)
	out := make([]*chunk.Vector, len(ev.set.outs))
	for k := range out {
		var err error
		if out[k], err = ev.Out(k, sel); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Begin turns to a chunk and opens the scope of all its rows.
func (ev *Evaluator) Begin(c *chunk.Chunk) {
	ev.c = c
	ev.held.End()
	ev.serial++
	ev.scopes = append(ev.scopes[:0], ev.serial)
}

// largeBytes is the size from which values count: less is in use for a chunk
// anyway.
const largeBytes = 1 << 20

// charge takes the memory of a value, if it is large, until the next chunk.
func (ev *Evaluator) charge(s *step, v *chunk.Vector) error {
	if chunk.Width(v.Type) > 0 {
		return nil
	}
	n := chunk.SizeOf(v)
	if n < largeBytes {
		return nil
	}
	ev.held.Operator = "value of " + nameOf(s.expr)
	return ev.held.Add(n)
}

// arguments computes those of a call.
func (ev *Evaluator) arguments(i int, sel chunk.Sel) ([]*chunk.Vector, error) {
	args := ev.args[i]
	for k, kid := range ev.set.steps[i].kids {
		v, err := ev.eval(kid, sel)
		if err != nil {
			return nil, err
		}
		args[k] = v
	}
	return args, nil
}

// charged is the value of a call with its memory taken, or the error with its place.
func (ev *Evaluator) charged(s *step, v *chunk.Vector, err error) (*chunk.Vector, error) {
	if err == nil {
		err = ev.charge(s, v)
	}
	if err != nil {
		return nil, At(err, s.expr)
	}
	return v, nil
}

// nameOf is what errors call a computed value.
func nameOf(e plan.Expr) string {
	switch e := e.(type) {
	case *plan.Call:
		return e.Name
	case *plan.Cast:
		return "cast to " + e.To.Simple()
	default:
		return "expression"
	}
}

// Env is the environment of the run.
func (ev *Evaluator) Env() *function.Env { return &ev.env }

// Out computes expression k for the picked rows.
func (ev *Evaluator) Out(k int, sel chunk.Sel) (*chunk.Vector, error) {
	return ev.eval(ev.set.outs[k], sel)
}

// Within is Out for rows that were picked from those of the chunk: what it
// computes is not taken for the value of the others.
func (ev *Evaluator) Within(k int, sel chunk.Sel) (*chunk.Vector, error) {
	return ev.within(ev.set.outs[k], sel)
}

// within computes a step for the rows of a narrower selection.
func (ev *Evaluator) within(i int, sel chunk.Sel) (*chunk.Vector, error) {
	ev.serial++
	ev.scopes = append(ev.scopes, ev.serial)
	v, err := ev.eval(i, sel)
	ev.scopes = ev.scopes[:len(ev.scopes)-1]
	return v, err
}

func (ev *Evaluator) eval(i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	if s.column >= 0 {
		return ev.c.Cols[s.column], nil
	}
	if s.constant {
		return ev.constant(i)
	}
	if k := &ev.cells[i]; k.v != nil && k.depth < len(ev.scopes) && ev.scopes[k.depth] == k.serial {
		return k.v, nil
	}
	v, err := s.eval(ev, i, sel)
	if err != nil {
		return nil, err
	}
	depth := len(ev.scopes) - 1
	ev.cells[i] = cell{v, depth, ev.scopes[depth]}
	return v, nil
}

// constant is the value of a constant step for all rows of the chunk.
func (ev *Evaluator) constant(i int) (*chunk.Vector, error) {
	n := ev.c.Rows
	w := ev.wide[i]
	if w != nil && w.Len >= n {
		return w.Slice(0, n), nil
	}
	one, err := ev.oneRow(i)
	if err != nil {
		return nil, err
	}
	if (w != nil || ev.set.steps[i].literal != nil) && chunk.SizeOf(one) < wideBytes {
		n = max(n, chunk.MaxRows)
	}
	wide, err := chunk.GatherMany("constant", one, make([]int32, n))
	if err == nil {
		err = ev.charge(&ev.set.steps[i], wide)
	}
	if err != nil {
		return nil, err
	}
	ev.wide[i] = wide
	return ev.wide[i].Slice(0, ev.c.Rows), nil
}

// wideBytes is the size up to which a constant is repeated for more rows than
// are needed at once.
const wideBytes = 256

func (ev *Evaluator) oneRow(i int) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	if s.literal != nil {
		return s.literal, nil
	}
	c := ev.c
	defer func() { ev.c = c }()
	ev.c = &chunk.Chunk{Rows: 1, Part: c.Part}
	ev.serial++
	ev.scopes = append(ev.scopes, ev.serial)
	v, err := s.eval(ev, i, nil)
	ev.scopes = ev.scopes[:len(ev.scopes)-1]
	return v, err
}

// evalKernel computes a call of the shelf or a cast.
func evalKernel(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	args, err := ev.arguments(i, sel)
	if err != nil {
		return nil, err
	}
	kernel, err := ev.kernel(i)
	if err != nil {
		return nil, At(err, s.expr)
	}
	if err := s.foresee(args, &ev.env); err != nil {
		return nil, At(err, s.expr)
	}
	v, err := kernel(args, sel, ev.c.Rows)
	return ev.charged(s, v, err)
}

func (ev *Evaluator) kernel(i int) (function.Kernel, error) {
	s := &ev.set.steps[i]
	if s.volatile {
		return ev.partKernel(i)
	}
	if ev.kernels[i] == nil {
		kernel, err := s.kernel(s.expr, &ev.env)
		if err != nil {
			return nil, err
		}
		ev.kernels[i] = kernel
	}
	return ev.kernels[i], nil
}

// At gives an error its place in the user's program, if it has none.
func At(err error, e plan.Expr) error {
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Origin != nil {
		return err
	}
	switch n := e.(type) {
	case *plan.Call:
		mistake.Origin = n.Origin
	case *plan.Cast:
		mistake.Origin = n.Origin
	}
	return err
}

// evalField takes a field out of a struct, or of each struct in an array.
func evalField(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	v, err := ev.eval(s.kids[0], sel)
	if err != nil {
		return nil, err
	}
	get := s.expr.(*plan.GetField)
	if v.Type.Kind == plan.KindNull {
		return chunk.NullVector(s.of, v.Len), nil
	}
	if !get.Each {
		return v.Field(get.Ordinal), nil
	}
	list := *v
	list.Type = s.of
	list.Kids = []*chunk.Vector{v.Kids[0].Field(get.Ordinal)}
	return &list, nil
}

// Filter narrows sel to the rows for which expression k, a condition, is true.
func (ev *Evaluator) Filter(k int, sel chunk.Sel) (chunk.Sel, error) {
	return ev.filter(ev.set.outs[k], sel)
}

// filter narrows sel to the rows for which a condition is true. The parts of an
// AND are asked one after the other, each only for the rows that are left.
func (ev *Evaluator) filter(i int, sel chunk.Sel) (chunk.Sel, error) {
	s := &ev.set.steps[i]
	if call, ok := s.expr.(*plan.Call); ok && call.Name == "and" && !s.constant {
		for _, kid := range s.kids {
			var err error
			if sel, err = ev.filter(kid, sel); err != nil {
				return nil, err
			}
			if sel != nil && len(sel) == 0 {
				return sel, nil
			}
		}
		return sel, nil
	}
	var v *chunk.Vector
	var err error
	if sel == nil {
		v, err = ev.eval(i, nil)
	} else {
		v, err = ev.within(i, sel)
	}
	if err != nil {
		return nil, err
	}
	return chunk.TrueRows(v, sel, ev.c.Rows, make(chunk.Sel, 0, sel.Count(ev.c.Rows))), nil
}
