package eval

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// lazyFunctions are the calls whose arguments are computed only for the rows
// that need them (EV1).
var lazyFunctions = map[string]evalFunc{
	"and":      evalAnd,
	"or":       evalOr,
	"when":     evalWhen,
	"if":       evalWhen,
	"coalesce": evalCoalesce,
	"nanvl":    evalNanvl,
}

// evalAnd asks each argument only for the rows that are not false yet.
func evalAnd(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	return evalLogic(ev, i, sel, 0)
}

// evalOr asks each argument only for the rows that are not true yet.
func evalOr(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	return evalLogic(ev, i, sel, 1)
}

// evalLogic is AND (decides: 0) and OR (decides: 1) over three values: an
// argument that equals decides settles the row, else one NULL makes it NULL.
func evalLogic(ev *Evaluator, i int, sel chunk.Sel, decides uint8) (*chunk.Vector, error) {
	kids := ev.set.steps[i].kids
	acc, err := ev.eval(kids[0], sel)
	if err != nil {
		return nil, err
	}
	rest := sel
	for _, kid := range kids[1:] {
		rest = undecided(acc, rest, ev.c.Rows, decides)
		if rest != nil && len(rest) == 0 {
			return acc, nil
		}
		next, err := ev.narrow(kid, sel, rest)
		if err != nil {
			return nil, err
		}
		acc = combine(acc, next, rest, decides)
	}
	return acc, nil
}

// narrow computes a step for rest, a part of sel.
func (ev *Evaluator) narrow(i int, sel, rest chunk.Sel) (*chunk.Vector, error) {
	if rest.Count(ev.c.Rows) == sel.Count(ev.c.Rows) {
		return ev.eval(i, sel)
	}
	return ev.within(i, rest)
}

// undecided is the picked rows of v that do not hold the deciding value; nil
// when these are all rows.
func undecided(v *chunk.Vector, sel chunk.Sel, n int, decides uint8) chunk.Sel {
	if v.Type.Kind == plan.KindNull {
		return sel
	}
	values := chunk.Values[uint8](v)
	out := make(chunk.Sel, 0, sel.Count(n))
	sel.Each(n, func(i int) {
		if values[i]&1 != decides || !v.Valid.Get(i) {
			out = append(out, uint16(i))
		}
	})
	if len(out) == n {
		return nil
	}
	return out
}

// combine folds b into a for the rows of rest, which a does not decide.
func combine(a, b *chunk.Vector, rest chunk.Sel, decides uint8) *chunk.Vector {
	n := a.Len
	out := chunk.Make(plan.Boolean, n)
	dst := chunk.Values[uint8](out)
	known := a.Type.Kind != plan.KindNull
	if known {
		copy(dst, chunk.Values[uint8](a))
		out.Valid = append(chunk.Bitmap(nil), a.Valid...)
	} else {
		out.Valid = make(chunk.Bitmap, (n+7)/8)
	}
	var right []uint8
	if b.Type.Kind != plan.KindNull {
		right = chunk.Values[uint8](b)
	}
	rest.Each(n, func(i int) {
		switch {
		case right == nil || !b.Valid.Get(i):
			out.SetNull(i)
		case right[i]&1 == decides:
			dst[i] = decides
			if out.Valid != nil {
				out.Valid.Set(i)
			}
		}
	})
	return out
}

// evalWhen is CASE WHEN: condition, value, …, and perhaps a value for the rest.
func evalWhen(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	n := ev.c.Rows
	out := newMerge(s.of, sel, n)
	rest := sel
	k := 0
	for ; k+1 < len(s.kids); k += 2 {
		cond, err := ev.narrow(s.kids[k], sel, rest)
		if err != nil {
			return nil, err
		}
		yes, no := chunk.Split(cond, rest, n)
		if err := out.branch(ev, s.kids[k+1], yes); err != nil {
			return nil, err
		}
		if rest = no; len(rest) == 0 {
			return out.done(), nil
		}
	}
	if k < len(s.kids) {
		if err := out.branch(ev, s.kids[k], rest); err != nil {
			return nil, err
		}
	}
	return out.done(), nil
}

// evalCoalesce is the first argument that is not NULL.
func evalCoalesce(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	n := ev.c.Rows
	out := newMerge(s.of, sel, n)
	rest := sel
	for _, kid := range s.kids {
		v, err := ev.narrow(kid, sel, rest)
		if err != nil {
			return nil, err
		}
		if v.Type.Kind != plan.KindNull && v.Valid == nil {
			out.put(v, rest)
			break
		}
		got, missing := chunk.Split(validity(v), rest, n)
		out.put(v, got)
		if rest = missing; len(rest) == 0 {
			break
		}
	}
	return out.done(), nil
}

// validity is a condition: the value is not NULL.
func validity(v *chunk.Vector) *chunk.Vector {
	out := chunk.Make(plan.Boolean, v.Len)
	for i, values := 0, chunk.Values[uint8](out); i < v.Len; i++ {
		if !v.IsNull(i) {
			values[i] = 1
		}
	}
	return out
}

// evalNanvl is the first argument unless it is NaN, then the second.
func evalNanvl(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	s := &ev.set.steps[i]
	v, err := ev.eval(s.kids[0], sel)
	if err != nil {
		return nil, err
	}
	nan := chunk.Make(plan.Boolean, v.Len)
	flags := chunk.Values[uint8](nan)
	sel.Each(v.Len, func(i int) {
		if !v.IsNull(i) && isNaN(v, i) {
			flags[i] = 1
		}
	})
	out := newMerge(s.of, sel, ev.c.Rows)
	yes, no := chunk.Split(nan, sel, ev.c.Rows)
	out.put(v, no)
	if err := out.branch(ev, s.kids[1], yes); err != nil {
		return nil, err
	}
	return out.done(), nil
}

func isNaN(v *chunk.Vector, i int) bool {
	if v.Type.Kind == plan.KindFloat {
		return math.IsNaN(float64(chunk.Values[float32](v)[i]))
	}
	return v.Type.Kind == plan.KindDouble && math.IsNaN(chunk.Values[float64](v)[i])
}
