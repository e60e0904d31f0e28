package collections

import (
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// higherSortDefs order the elements of arrays.
func higherSortDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "array_sort", Group: "lambda_funcs", Bind: bindArraySort, Kernel: sortUpMaker, Higher: sortByMaker,
			Examples: []fn.Example{{"array_sort(array('b', 'd', NULL, 'c', 'a'))", "[a, b, c, d, NULL]"},
				{"array_sort(array(5, 6, 1), (l, r) -> r - l)", "[6, 5, 1]"}}},
	}
}

// usualOrder is a template of how Spark writes an array_sort without a
// comparator, whose elements are called l and r.
func usualOrder(l, r string) string {
	return fmt.Sprintf("array_sort($1, lambdafunction((IF(((%[1]s IS NULL) AND (%[2]s IS NULL)), 0, "+
		"(IF((%[1]s IS NULL), 1, (IF((%[2]s IS NULL), -1, (IF((%[1]s < %[2]s), -1, "+
		"(IF((%[1]s > %[2]s), 1, 0)))))))))), %[1]s, %[2]s))", l, r)
}

// bindArraySort binds array_sort(array[, comparator]).
func bindArraySort(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) == 1 {
		return bindSortUp(b)
	}
	c, err := fn.Taking(1, 1).Or(nil).Bind(b, fn.AnyArray())
	if err != nil {
		return nil, err
	}
	elem := fn.ElementOf(c.Args[0].Type())
	f, err := b.Resolve(c, 1, elem, elem)
	if err != nil {
		return nil, err
	}
	c.Of, c.Null = c.Args[0].Type(), c.Args[0].Nullable()
	if f.Type().Kind != plan.KindInt {
		return nil, fn.Mismatch(b, c, "UNEXPECTED_RETURN_TYPE", "a comparator gives an INT.",
			"functionName", "`lambdafunction`", "expectedType", fn.SqlType(plan.Int),
			"actualType", fn.SqlType(f.Type()))
	}
	return c, nil
}

func bindSortUp(b *fn.Binding) (*plan.Call, error) {
	const variable = "namedlambdavariable()"
	c := b.Call(b.Args, b.Args[0].Type(), b.Args[0].Nullable())
	c.Text = usualOrder("left", "right")
	if c.Of.Kind != plan.KindArray {
		return nil, fn.Unexpected(b, c, 0, fn.AnyArray().Text)
	}
	if !fn.Orderable(*c.Of.Elem) {
		e := fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", c.Of.Elem.SQL()+" values cannot be compared.",
			"functionName", "`<`", "dataType", fn.SqlType(*c.Of.Elem))
		e.Args["sqlExpr"] = fn.Quoted("(" + variable + " < " + variable + ")")
		return nil, e
	}
	c.Text = usualOrder(variable, variable)
	return c, nil
}

// sortUpMaker sorts ascending, NULLs last.
func sortUpMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(*c.Of.Elem)
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		rows := make([]int32, 0, to-from)
		for e := from; e < to; e++ {
			if !kid.IsNull(e) {
				rows = append(rows, int32(e))
			}
		}
		slices.SortStableFunc(rows, func(x, y int32) int { return order(kid, int(x), kid, int(y)) })
		for _, r := range rows {
			fn.AppendAny(out.Kids[0], kid, int(r))
		}
		for range to - from - len(rows) {
			out.Kids[0].AppendNull()
		}
		out.AppendSpan()
		return nil
	}), nil
}

func sortByMaker(c *plan.Call, env *fn.Env) (fn.HigherKernel, error) {
	nullIsEqual := env.Setting("spark.sql.legacy.allowNullComparisonResultInArraySort") == "true"
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		list := args[0]
		e := elementsIn(list, sel, n)
		s := &comparing{kid: list.Kids[0], compare: apply[0], nullIsEqual: nullIsEqual,
			zone: codec.NewOffsets(env.Zone), rows: e.rows, from: e.at, to: make([]int32, len(e.at))}
		if err := s.sort(); err != nil {
			return nil, err
		}
		return listsOf(c.Of, list.Valid, e.lengths(n), chunk.Gather(s.kid, s.from)), nil
	}, nil
}

// comparing is a merge sort of many lists at once whose comparisons are made by
// a lambda: those of one round, one of each pair of runs, are computed together.
type comparing struct {
	kid         *chunk.Vector
	compare     fn.Apply
	nullIsEqual bool
	zone        *codec.Offsets
	rows        []int32 // of each element
	from, to    []int32 // the elements of all lists, in runs of this round and the next
}

// run is two neighbouring runs of one list on their way to become one:
// [a, middle) and [b, end) are left, at is where the next element goes.
type run struct{ a, middle, b, end, at int }

func (s *comparing) sort() error {
	for width := 1; ; width *= 2 {
		open := s.runs(width)
		if len(open) == 0 {
			return nil
		}
		for len(open) > 0 {
			var err error
			if open, err = s.round(open); err != nil {
				return err
			}
		}
		s.from, s.to = s.to, s.from
	}
}

// runs pairs the runs of a width; those that have nothing beside them move on.
func (s *comparing) runs(width int) []run {
	var open []run
	copy(s.to, s.from)
	for start := 0; start < len(s.rows); {
		end := start
		for end < len(s.rows) && s.rows[end] == s.rows[start] {
			end++
		}
		for a := start; a+width < end; a += 2 * width {
			open = append(open, run{a: a, middle: a + width, b: a + width, end: min(end, a+2*width), at: a})
		}
		start = end
	}
	return open
}

// round compares the first elements of each pair of runs and moves the lesser
// one; of equals the one that came first.
func (s *comparing) round(open []run) ([]run, error) {
	rows, later, earlier := make([]int32, len(open)), make([]int32, len(open)), make([]int32, len(open))
	for i, r := range open {
		rows[i], later[i], earlier[i] = s.rows[r.a], s.from[r.b], s.from[r.a]
	}
	params := []*chunk.Vector{chunk.Gather(s.kid, later), chunk.Gather(s.kid, earlier)}
	order, err := s.compare(rows, params)
	if err != nil {
		return nil, err
	}
	values := chunk.Values[int32](order)
	left := open[:0]
	for i, r := range open {
		if order.IsNull(i) && !s.nullIsEqual {
			return nil, s.undecided(params[0], i)
		}
		if values[i] < 0 && !order.IsNull(i) {
			s.to[r.at] = s.from[r.b]
			r.b++
		} else {
			s.to[r.at] = s.from[r.a]
			r.a++
		}
		r.at++
		if r.a < r.middle && r.b < r.end {
			left = append(left, r)
			continue
		}
		r.at += copy(s.to[r.at:], s.from[r.a:r.middle])
		copy(s.to[r.at:r.end], s.from[r.b:r.end])
	}
	return left, nil
}

// undecided says that the comparator gave NULL; Spark names the first value
// twice.
func (s *comparing) undecided(first *chunk.Vector, i int) error {
	text := "null"
	if !first.IsNull(i) {
		style := codec.TextStyle{Zone: s.zone}
		text = string(style.AppendValue(nil, first, i))
	}
	return plan.NewError(plan.ClassSpark, "COMPARATOR_RETURNS_NULL",
		"the comparator of array_sort gave NULL for "+text+".", "firstValue", text, "secondValue", text)
}
