package function_test

import (
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// parameters are those of a lambda around an expression.
type parameters struct {
	names  []string
	vars   []*plan.LambdaVariable
	around *parameters
	depth  int
}

func (r *resolver) lambda(l *plan.Lambda, vars []*plan.LambdaVariable) (plan.Expr, error) {
	inner := *r
	inner.params = &parameters{l.Params, vars, r.params, r.level() + 1}
	return inner.resolve(l.Body)
}

func (r *resolver) level() int {
	if r.params == nil {
		return 0
	}
	return r.params.depth
}

func (r *resolver) parameter(e *plan.UnresolvedAttribute) (plan.Expr, error) {
	for p := r.params; p != nil; p = p.around {
		for i, name := range p.names {
			if !strings.EqualFold(name, e.Parts[0]) {
				continue
			}
			var found plan.Expr = p.vars[i]
			for _, part := range e.Parts[1:] {
				var err error
				if found, err = r.item(found, plan.Lit(part, plan.String), e.Origin); err != nil {
					return nil, err
				}
			}
			return found, nil
		}
	}
	return nil, nil
}

// variable is the level and the index of a lambda's parameter.
type variable struct{ level, index int }

// higher computes a call whose last arguments are lambdas.
func (ev *evaluator) higher(c *plan.Call, d *function.Def, sel chunk.Sel, n int) (*chunk.Vector, error) {
	var args []*chunk.Vector
	var apply []function.Apply
	for _, a := range c.Args {
		if f, ok := a.(*plan.LambdaFunction); ok {
			apply = append(apply, func(rows []int32, params []*chunk.Vector) (*chunk.Vector, error) {
				return ev.inside(f, rows, params)
			})
			continue
		}
		v, err := ev.eval(a, sel, n)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	k, err := d.Higher(c, ev.env)
	if err != nil {
		return nil, err
	}
	return k(args, apply, sel, n)
}

// inside computes a lambda for sets of parameters.
func (ev *evaluator) inside(
	f *plan.LambdaFunction, rows []int32, params []*chunk.Vector,
) (*chunk.Vector, error) {
	inner := &evaluator{env: ev.env, cols: map[plan.ExprID]*chunk.Vector{},
		vars: map[variable]*chunk.Vector{}, aggregates: map[*plan.AggregateCall]*chunk.Vector{}}
	for id, v := range ev.cols {
		inner.cols[id] = chunk.Gather(v, rows)
	}
	for key, v := range ev.vars {
		inner.vars[key] = chunk.Gather(v, rows)
	}
	for call, v := range ev.aggregates {
		inner.aggregates[call] = chunk.Gather(v, rows)
	}
	for i, p := range f.Params {
		inner.vars[variable{p.Level, p.Index}] = params[i]
	}
	return inner.eval(f.Body, nil, len(rows))
}
