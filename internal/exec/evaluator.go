package exec

import (
	"errors"
	"slices"

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
	set     *exprSet
	env     function.Env // private: kernels hold its address
	c       *chunk.Chunk
	kernels []function.Kernel
	cells   []cell
	args    [][]*chunk.Vector // scratch of each step
	wide    []*chunk.Vector   // constants, repeated
	scopes  []uint32          // open ones, outermost first
	serial  uint32
	parts   map[partStep]*partState
	run     *running // nil outside of a Program
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
	p := &planner{env: env, alone: true}
	set, err := p.compileSet(exprs, input)
	if err != nil {
		return nil, err
	}
	ev := set.evaluator(nil)
	ev.Reset(env)
	return ev, nil
}

// EvalConst is the value of an expression without columns.
func EvalConst(e plan.Expr, env *function.Env) (plan.Value, error) {
	if l, ok := e.(*plan.Literal); ok {
		return l.Value, nil
	}
	ev, err := Compile(e, nil, env)
	if err != nil {
		return nil, err
	}
	v, err := ev.Eval(&chunk.Chunk{Rows: 1}, nil)
	if err != nil {
		return nil, err
	}
	return v.Value(0), nil
}

// take is an evaluator for a run, to be handed back by release.
func (s *exprSet) take(r *running) *Evaluator {
	ev, ok := s.free.Get().(*Evaluator)
	if !ok {
		ev = s.evaluator(r)
	}
	ev.run = r
	ev.Reset(r.env)
	return ev
}

func (ev *Evaluator) release() {
	ev.run, ev.c = nil, nil
	clear(ev.cells)
	ev.set.free.Put(ev)
}

func (s *exprSet) evaluator(r *running) *Evaluator {
	n := len(s.steps)
	ev := &Evaluator{
		set:     s,
		kernels: make([]function.Kernel, n),
		cells:   make([]cell, n),
		args:    make([][]*chunk.Vector, n),
		wide:    make([]*chunk.Vector, n),
		run:     r,
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
	ev.parts = nil
	for i := range ev.set.steps {
		s := &ev.set.steps[i]
		if s.perRun || s.volatile {
			ev.kernels[i] = nil
		}
		if s.constant && s.literal == nil {
			ev.wide[i] = nil
		}
	}
}

// Eval computes the first expression for the picked rows of a chunk; what the
// result holds in other rows is unspecified.
func (ev *Evaluator) Eval(c *chunk.Chunk, sel chunk.Sel) (*chunk.Vector, error) {
	ev.begin(c)
	return ev.out(0, sel)
}

// EvalAll computes all expressions for the picked rows.
func (ev *Evaluator) EvalAll(c *chunk.Chunk, sel chunk.Sel) ([]*chunk.Vector, error) {
	ev.begin(c)
	out := make([]*chunk.Vector, len(ev.set.outs))
	for k := range out {
		var err error
		if out[k], err = ev.out(k, sel); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// begin turns to a chunk and opens the scope of all its rows.
func (ev *Evaluator) begin(c *chunk.Chunk) {
	ev.c = c
	ev.serial++
	ev.scopes = append(ev.scopes[:0], ev.serial)
}

// out computes expression k.
func (ev *Evaluator) out(k int, sel chunk.Sel) (*chunk.Vector, error) {
	return ev.eval(ev.set.outs[k], sel)
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
	if (w != nil || ev.set.steps[i].literal != nil) && vectorBytes(one) < wideBytes {
		n = max(n, chunk.MaxRows)
	}
	if ev.wide[i], err = repeat("constant", one, make([]int32, n)); err != nil {
		return nil, err
	}
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
	args := ev.args[i]
	for k, kid := range s.kids {
		v, err := ev.eval(kid, sel)
		if err != nil {
			return nil, err
		}
		args[k] = v
	}
	kernel, err := ev.kernel(i)
	if err != nil {
		return nil, at(err, s.expr)
	}
	v, err := kernel(args, sel, ev.c.Rows)
	if err != nil {
		return nil, at(err, s.expr)
	}
	return v, nil
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

// at gives an error its place in the user's program, if it has none.
func at(err error, e plan.Expr) error {
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
		return fieldOf(v, get.Ordinal), nil
	}
	list := *v
	list.Type = s.of
	list.Kids = []*chunk.Vector{fieldOf(v.Kids[0], get.Ordinal)}
	return &list, nil
}

func fieldOf(v *chunk.Vector, ordinal int) *chunk.Vector {
	f := *v.Kids[ordinal]
	f.Valid = f.Valid.And(v.Valid, v.Len)
	return &f
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
	return trueRows(v, sel, ev.c.Rows, make(chunk.Sel, 0, sel.Count(ev.c.Rows))), nil
}

// trueRows appends the picked rows of a condition that are true. It is nil when
// all n rows are.
func trueRows(v *chunk.Vector, sel chunk.Sel, n int, out chunk.Sel) chunk.Sel {
	if v.Type.Kind == plan.KindNull {
		return out
	}
	yes := chunk.Values[uint8](v)
	out = slices.Grow(out, n)[:n]
	k := 0
	switch {
	case sel == nil && v.Valid == nil:
		for i, b := range yes {
			out[k] = uint16(i)
			k += int(b & 1)
		}
	case sel == nil:
		for i, b := range yes {
			out[k] = uint16(i)
			k += int(b & (v.Valid[i>>3] >> (i & 7)) & 1)
		}
	default:
		for _, i := range sel {
			if yes[i]&1 != 0 && v.Valid.Get(int(i)) {
				out[k] = i
				k++
			}
		}
	}
	if k == n {
		return nil
	}
	return out[:k]
}
