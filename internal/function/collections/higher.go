package collections

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// higherDefs compute lambdas over the elements of arrays.
func higherDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "transform", Group: "lambda_funcs", Bind: bindTransform, Higher: transformMaker,
			Examples: []fn.Example{{"transform(array(1, 2, 3), x -> x + 1)", "[2, 3, 4]"},
				{"transform(array(1, 2, 3), (x, i) -> x + i)", "[1, 3, 5]"}}},
		{Name: "filter", Group: "lambda_funcs", Bind: bindFilter, Higher: filterMaker,
			Examples: []fn.Example{{"filter(array(1, 2, 3), x -> x % 2 == 1)", "[1, 3]"},
				{"filter(array(0, 2, 3), (x, i) -> x > i)", "[2, 3]"}}},
		{Name: "exists", Group: "lambda_funcs", Bind: bindSome, Higher: someMaker(1),
			Examples: []fn.Example{{"exists(array(1, 2, 3), x -> x % 2 == 0)", "true"}}},
		{Name: "forall", Group: "lambda_funcs", Bind: bindSome, Higher: someMaker(0),
			Examples: []fn.Example{{"forall(array(1, 2, 3), x -> x % 2 == 0)", "false"}}},
		{Name: "zip_with", Group: "lambda_funcs", Bind: bindZipWith, Higher: zipWithMaker,
			Examples: []fn.Example{{"zip_with(array(1, 2), array(3, 4), (x, y) -> x + y)", "[4, 6]"}}},
	}
}

// elements are the elements of some lists, one after the other.
type elements struct {
	lists []uint16 // the rows of the lists, ascending
	rows  []int32  // of each element
	at    []int32  // its place among the elements of all lists
}

// elementsIn is the elements of the picked lists that are not NULL.
func elementsIn(list *chunk.Vector, sel chunk.Sel, n int) *elements {
	e := &elements{lists: fn.Active(list.Valid, sel, n)}
	total := 0
	for _, i := range e.lists {
		from, to := list.Span(int(i))
		total += to - from
	}
	e.rows, e.at = make([]int32, 0, total), make([]int32, 0, total)
	for _, i := range e.lists {
		from, to := list.Span(int(i))
		for k := from; k < to; k++ {
			e.rows, e.at = append(e.rows, int32(i)), append(e.at, int32(k))
		}
	}
	return e
}

// of is the elements as a vector; the memory of the lists' own when that holds
// just them.
func (e *elements) of(kid *chunk.Vector) *chunk.Vector {
	if n := len(e.at); n > 0 && int(e.at[n-1]-e.at[0]) == n-1 {
		return kid.Slice(int(e.at[0]), int(e.at[0])+n)
	}
	return chunk.Gather(kid, e.at)
}

// index is the place of each element in its list.
func (e *elements) index(list *chunk.Vector) *chunk.Vector {
	out := chunk.Make(plan.Int, len(e.at))
	for k, values := 0, chunk.Values[int32](out); k < len(values); k++ {
		values[k] = e.at[k] - list.Offsets[e.rows[k]]
	}
	return out
}

// params is what a lambda of an element, and perhaps its place, is given.
func (e *elements) params(list *chunk.Vector, count int) []*chunk.Vector {
	params := []*chunk.Vector{e.of(list.Kids[0])}
	if count == 2 {
		params = append(params, e.index(list))
	}
	return params
}

// listsOf are n lists with these children, NULL where valid says so. counts is
// how many elements each row has.
func listsOf(of plan.Type, valid chunk.Bitmap, counts []int32, kids ...*chunk.Vector) *chunk.Vector {
	out := &chunk.Vector{Type: of, Len: len(counts), Valid: valid, Kids: kids,
		Offsets: make([]int32, len(counts)+1)}
	for i, n := range counts {
		out.Offsets[i+1] = out.Offsets[i] + n
	}
	return out
}

// lengths is how many elements each of n rows has.
func (e *elements) lengths(n int) []int32 {
	counts := make([]int32, n)
	for _, i := range e.rows {
		counts[i]++
	}
	return counts
}

// bindElements binds a call whose lambda is given an element, and when placed
// says so and the lambda asks for it, the element's place.
func bindElements(b *fn.Binding, placed bool) (*plan.Call, *plan.LambdaFunction, error) {
	c, err := fn.Taking(1, 1).Bind(b, fn.AnyArray())
	if err != nil {
		return nil, nil, err
	}
	array := c.Args[0].Type()
	params := []fn.Param{fn.ElementOf(array)}
	if l, ok := c.Args[1].(*plan.Lambda); ok && placed && len(l.Params) == 2 {
		params = append(params, fn.Param{Of: plan.Int})
	}
	f, err := b.Resolve(c, 1, params...)
	c.Null = c.Args[0].Nullable()
	return c, f, err
}

func bindTransform(b *fn.Binding) (*plan.Call, error) {
	c, f, err := bindElements(b, true)
	if err != nil {
		return nil, err
	}
	c.Of = plan.Array(f.Type(), f.Nullable())
	return c, nil
}

// paramsOf is how many parameters the lambda in argument i has.
func paramsOf(c *plan.Call, i int) int { return len(c.Args[i].(*plan.LambdaFunction).Params) }

func transformMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		list := args[0]
		e := elementsIn(list, sel, n)
		made, err := apply[0](e.rows, e.params(list, paramsOf(c, 1)))
		if err != nil {
			return nil, err
		}
		return listsOf(c.Of, list.Valid, e.lengths(n), made), nil
	}, nil
}

func bindFilter(b *fn.Binding) (*plan.Call, error) {
	c, _, err := bindElements(b, true)
	if err != nil {
		return nil, err
	}
	c.Of = c.Args[0].Type()
	return c, b.Yields(c, 1, plan.Boolean)
}

func filterMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		list := args[0]
		e := elementsIn(list, sel, n)
		keep, err := apply[0](e.rows, e.params(list, paramsOf(c, 1)))
		if err != nil {
			return nil, err
		}
		kept := e.where(keep)
		return listsOf(c.Of, list.Valid, kept.lengths(n), kept.of(list.Kids[0])), nil
	}, nil
}

// where is the elements for which a condition is true.
func (e *elements) where(cond *chunk.Vector) *elements {
	yes := chunk.Values[uint8](cond)
	kept := &elements{lists: e.lists}
	for k := range e.at {
		if yes[k] != 0 && cond.Valid.Get(k) {
			kept.rows, kept.at = append(kept.rows, e.rows[k]), append(kept.at, e.at[k])
		}
	}
	return kept
}

func bindSome(b *fn.Binding) (*plan.Call, error) {
	c, f, err := bindElements(b, false)
	if err != nil {
		return nil, err
	}
	c.Of, c.Null = plan.Boolean, c.Null || f.Nullable()
	return c, b.Yields(c, 1, plan.Boolean)
}

// someMaker asks the elements of a list in turn until one decides: a true one
// for exists (1), a false one for forall (0). So it is seen whether a later
// element fails, which is why all are asked at once only while none does.
func someMaker(decides uint8) func(*plan.Call, *fn.Env) (fn.HigherKernel, error) {
	return func(*plan.Call, *fn.Env) (fn.HigherKernel, error) {
		return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
			s := newSome(args[0], sel, n, decides)
			e := elementsIn(args[0], sel, n)
			if cond, err := apply[0](e.rows, e.params(args[0], 1)); err == nil {
				s.see(e.rows, cond)
				return s.out, nil
			}
			return s.inTurn(args[0], apply[0])
		}, nil
	}
}

// some is whether an element of each list decides.
type some struct {
	decides uint8
	lists   []uint16
	out     *chunk.Vector
	yes     []uint8
}

func newSome(list *chunk.Vector, sel chunk.Sel, n int, decides uint8) *some {
	s := &some{decides: decides, lists: fn.Active(list.Valid, sel, n), out: chunk.Make(plan.Boolean, n)}
	s.yes = chunk.Values[uint8](s.out)
	for i := range s.yes {
		s.yes[i] = 1 - decides
	}
	s.out.Valid = slices.Clone(list.Valid)
	return s
}

// see takes what a condition says of elements of these rows.
func (s *some) see(rows []int32, cond *chunk.Vector) {
	values := chunk.Values[uint8](cond)
	for k, row := range rows {
		switch i := int(row); {
		case s.yes[i] == s.decides:
		case !cond.Valid.Get(k):
			s.out.SetNull(i)
		case values[k] == s.decides:
			s.yes[i] = s.decides
			if s.out.Valid != nil {
				s.out.Valid.Set(i)
			}
		}
	}
}

// inTurn asks the first element of every list, then the second of those that
// are not decided, and so on.
func (s *some) inTurn(list *chunk.Vector, apply fn.Apply) (*chunk.Vector, error) {
	for k := 0; ; k++ {
		var rows, at []int32
		for _, i := range s.lists {
			if from, to := list.Span(int(i)); from+k < to && s.yes[i] != s.decides {
				rows, at = append(rows, int32(i)), append(at, int32(from+k))
			}
		}
		if len(rows) == 0 {
			return s.out, nil
		}
		cond, err := apply(rows, []*chunk.Vector{chunk.Gather(list.Kids[0], at)})
		if err != nil {
			return nil, err
		}
		s.see(rows, cond)
	}
}

func bindZipWith(b *fn.Binding) (*plan.Call, error) {
	c, err := fn.Taking(2, 1).Bind(b, fn.AnyArray(), fn.AnyArray())
	if err != nil {
		return nil, err
	}
	f, err := b.Resolve(c, 2, fn.Param{Of: *c.Args[0].Type().Elem, Null: true},
		fn.Param{Of: *c.Args[1].Type().Elem, Null: true})
	if err != nil {
		return nil, err
	}
	c.Of, c.Null = plan.Array(f.Type(), f.Nullable()), fn.AnyNullable(c.Args[:2])
	return c, nil
}

// zipWithMaker pairs the elements of two lists; the shorter one goes on with
// NULLs.
func zipWithMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		valid := args[0].Valid.And(args[1].Valid, n)
		counts := make([]int32, n)
		var rows []int32
		var at [2][]int32
		for _, i := range fn.Active(valid, sel, n) {
			for side, list := range args {
				from, to := list.Span(int(i))
				counts[i] = max(counts[i], int32(to-from))
				for k := from; k < to; k++ {
					at[side] = append(at[side], int32(k))
				}
			}
			for range counts[i] {
				rows = append(rows, int32(i))
			}
			for side := range at {
				for len(at[side]) < len(rows) {
					at[side] = append(at[side], -1)
				}
			}
		}
		made, err := apply[0](rows, []*chunk.Vector{
			chunk.Gather(args[0].Kids[0], at[0]), chunk.Gather(args[1].Kids[0], at[1])})
		if err != nil {
			return nil, err
		}
		return listsOf(c.Of, valid, counts, made), nil
	}, nil
}
