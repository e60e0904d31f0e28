package eval

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// variable is a parameter of a lambda: its level and its index.
type variable struct{ level, index int }

// body is a compiled lambda: an expression over a chunk of its own, whose rows
// are the calls of the lambda. The columns are what it reads from around it,
// then its parameters.
type body struct {
	set      *Set
	captured []int // columns of the chunk around it
}

// withoutLambdas is the arguments of a call before its lambdas.
func withoutLambdas(call *plan.Call) []plan.Expr {
	for i, a := range call.Args {
		if _, ok := a.(*plan.LambdaFunction); ok {
			return call.Args[:i]
		}
	}
	return call.Args
}

// higherStep compiles a call whose last arguments are lambdas.
func (c *compiler) higherStep(s *step, n *plan.Call) error {
	s.eval, s.perRun = evalHigher, true
	for _, a := range n.Args[len(s.kids):] {
		b, err := c.body(a.(*plan.LambdaFunction))
		if err != nil {
			return err
		}
		s.bodies = append(s.bodies, b)
		s.constant = s.constant && len(b.captured) == 0
		for i := range b.set.steps {
			s.constant = s.constant && !b.set.steps[i].volatile
		}
	}
	return nil
}

// body compiles a lambda.
func (c *compiler) body(f *plan.LambdaFunction) (*body, error) {
	b := &body{}
	inner := &compiler{set: newSet(c.set.env), input: map[plan.ExprID]int{}, vars: map[variable]int{},
		seen: map[int]int{}, same: &Numbers{}}
	own := func(v *plan.LambdaVariable) bool {
		return v.Index < len(f.Params) && f.Params[v.Index].Level == v.Level
	}
	plan.Walk(f.Body, func(e plan.Expr) bool {
		switch e := e.(type) {
		case *plan.Attribute:
			if _, ok := inner.input[e.ID]; !ok {
				inner.input[e.ID] = len(b.captured)
				b.captured = append(b.captured, c.column(e))
			}
		case *plan.LambdaVariable:
			key := variable{e.Level, e.Index}
			from, around := c.vars[key]
			if _, ok := inner.vars[key]; !ok && around && !own(e) {
				inner.vars[key] = len(b.captured)
				b.captured = append(b.captured, from)
			}
		}
		return true
	})
	for i, p := range f.Params {
		inner.vars[variable{p.Level, p.Index}] = len(b.captured) + i
	}
	at, err := inner.add(f.Body)
	if err != nil {
		return nil, err
	}
	inner.set.outs = []int{at}
	b.set = inner.set
	return b, nil
}

// lambdas is what an evaluator keeps of a higher-order function.
type lambdas struct {
	kernel function.HigherKernel
	bodies []*Evaluator
	apply  []function.Apply
}

// reset begins a new batch.
func (l *lambdas) reset(env *function.Env) {
	l.kernel = nil
	for _, ev := range l.bodies {
		ev.Reset(env)
	}
}

// forget drops what the evaluators of the lambdas hold of a chunk.
func (l *lambdas) forget() {
	for _, ev := range l.bodies {
		ev.forget()
	}
}

// evalHigher computes a call of a higher-order function.
func evalHigher(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	args, err := ev.arguments(i, sel)
	if err != nil {
		return nil, err
	}
	l, err := ev.lambdasOf(i)
	if err != nil {
		return nil, At(err, s.expr)
	}
	v, err := l.kernel(args, l.apply, sel, ev.c.Rows)
	return ev.charged(s, v, err)
}

func (ev *Evaluator) lambdasOf(i int) (*lambdas, error) {
	s := &ev.set.steps[i]
	l := ev.lambdas[i]
	if l == nil {
		l = &lambdas{}
		for _, b := range s.bodies {
			inner := b.set.evaluator()
			inner.Reset(&ev.env)
			l.bodies = append(l.bodies, inner)
			l.apply = append(l.apply, func(rows []int32, params []*chunk.Vector) (*chunk.Vector, error) {
				return ev.apply(b, inner, rows, params)
			})
		}
		ev.lambdas[i] = l
	}
	if l.kernel == nil {
		kernel, err := s.def.Higher(s.expr.(*plan.Call), &ev.env)
		if err != nil {
			return nil, err
		}
		l.kernel = kernel
	}
	return l, nil
}

// apply computes a lambda for sets of parameters, a chunk of them at a time.
func (ev *Evaluator) apply(
	b *body, inner *Evaluator, rows []int32, params []*chunk.Vector,
) (*chunk.Vector, error) {
	defer inner.held.End()
	grown := chunk.Lease{Of: ev.env.Memory, Operator: "values of a lambda"}
	defer grown.End()
	var all *chunk.Vector
	for from := 0; from < len(rows) || all == nil; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, len(rows))
		c := &chunk.Chunk{Rows: to - from, Part: ev.c.Part}
		for _, at := range b.captured {
			v, err := chunk.GatherMany("lambda", ev.c.Cols[at], rows[from:to])
			if err != nil {
				return nil, err
			}
			c.Cols = append(c.Cols, v)
		}
		for _, p := range params {
			c.Cols = append(c.Cols, p.Slice(from, to))
		}
		v, err := inner.Eval(c, nil)
		switch {
		case err != nil:
			return nil, err
		case all == nil && to == len(rows):
			return v, nil
		case all == nil:
			all = chunk.New(v.Type, len(rows))
		}
		if err := grown.Add(chunk.SizeOf(v)); err != nil {
			return nil, err
		}
		all.AppendRange(v, 0, v.Len)
	}
	return all, nil
}
