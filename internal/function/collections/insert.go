package collections

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// insertDefs put elements into arrays and take NULLs out.
func insertDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "array_append", Group: "array_funcs", Bind: bindInsert, Kernel: insertMaker(atEnd),
			Examples: []fn.Example{{"array_append(array('b', 'd'), 'c')", "[b, d, c]"}}},
		{Name: "array_prepend", Group: "array_funcs", Bind: bindInsert, Kernel: insertMaker(atStart),
			Examples: []fn.Example{{"array_prepend(array('b', 'd'), 'c')", "[c, b, d]"}}},
		{Name: "array_insert", Group: "array_funcs", Bind: bindInsert, Kernel: insertMaker(atPosition),
			Examples: []fn.Example{{"array_insert(array(1, 2), -5, 9)", "[9, NULL, NULL, 1, 2]"}}},
		fn.Scalar(
			"array_compact",
			"array_funcs",
			fn.Takes(fn.AnyArray()).GivesType(func(args []plan.Expr) plan.Type {
				return plan.Array(*args[0].Type().Elem, false)
			}),
			compactMaker,
			fn.Example{"array_compact(array(1, NULL, 2, 1))", "[1, 2, 1]"},
		),
	}
}

// bindInsert brings an array and the last argument, a value for it, together.
// In between stands the position of array_insert.
func bindInsert(b *fn.Binding) (*plan.Call, error) {
	count := 2
	if b.Def.Name == "array_insert" {
		count = 3
	}
	if err := b.Between(count, count); err != nil {
		return nil, err
	}
	list, value := b.Args[0], b.Args[count-1]
	if t := list.Type(); t.Kind == plan.KindArray {
		if common, ok := fn.TightestType(*t.Elem, value.Type(), b.Env); ok {
			list, value = b.Cast(list, plan.Array(common, t.ContainsNull)), b.Cast(value, common)
		}
	}
	args := append([]plan.Expr{list}, b.Args[1:]...)
	args[count-1] = value
	if count == 3 {
		args[1], _ = fn.CastInput(args[1], fn.Exactly(plan.Int), b.Env, b.Origin)
	}
	t := list.Type()
	c := b.Call(args, t, list.Nullable() || count == 3 && args[1].Nullable())
	if t.Kind == plan.KindNull && count == 2 {
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("ARRAY"))
	}
	if t.Kind != plan.KindArray || !t.Elem.EqualIgnoringNull(value.Type()) {
		return nil, fn.Mismatch(b, c, "ARRAY_FUNCTION_DIFF_TYPES",
			"values of "+value.Type().SQL()+" do not go into "+t.SQL()+".",
			"functionName", plan.Quote(b.Def.Name), "dataType", fn.Quoted("ARRAY"),
			"leftType", fn.SqlType(t), "rightType", fn.SqlType(value.Type()))
	}
	if count == 3 && args[1].Type().Kind != plan.KindInt {
		return nil, fn.Unexpected(b, c, 1, fn.SqlType(plan.Int))
	}
	c.Of = plan.Array(*t.Elem, t.ContainsNull || value.Nullable())
	return c, nil
}

// place says where a value goes into an array of n elements: before element at,
// which may lie after the end, or before the first with some NULLs between; ok
// is false for position 0.
type place func(args []*chunk.Vector, i, n int) (at, nulls int, ok bool)

func atEnd(_ []*chunk.Vector, _, n int) (at, nulls int, ok bool)   { return n, 0, true }
func atStart(_ []*chunk.Vector, _, _ int) (at, nulls int, ok bool) { return 0, 0, true }

// atPosition counts from 1, or from the end and -1.
func atPosition(args []*chunk.Vector, i, n int) (at, nulls int, ok bool) {
	switch position := int(chunk.Values[int32](args[1])[i]); {
	case position == 0:
		return 0, 0, false
	case position > 0:
		return position - 1, 0, true
	case n+position+1 >= 0:
		return n + position + 1, 0, true
	default:
		return 0, -position - 1 - n, true
	}
}

func insertMaker(where place) fn.Maker {
	return func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
		in := inserter{where: where, env: env, origin: c.Origin}
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			out := fn.NewAppender(c.Of, n)
			for _, i := range fn.Active(fn.ValidOf(args[:len(args)-1], n), sel, n) {
				if err := in.row(out.SkipTo(int(i)), args, int(i)); err != nil {
					return nil, err
				}
			}
			return out.SkipTo(n), nil
		}, nil
	}
}

// inserter puts a value into each row's array.
type inserter struct {
	where  place
	env    *fn.Env
	origin *plan.Origin
}

func (in *inserter) row(out *chunk.Vector, args []*chunk.Vector, i int) error {
	from, to := args[0].Span(i)
	at, nulls, ok := in.where(args, i, to-from)
	if !ok {
		return fn.RuntimeError("INVALID_INDEX_OF_ZERO", "positions count from 1 or from -1.").At(in.origin)
	}
	elements := out.Kids[0]
	missing := max(nulls, at-(to-from))
	if err := fn.RoomFor(in.env, "array_insert", elements, uint64(missing)+uint64(to-from)+1); err != nil {
		return err
	}
	kid, value := args[0].Kids[0], args[len(args)-1]
	for e := from; e < min(from+at, to); e++ {
		fn.AppendAny(elements, kid, e)
	}
	for range at - (to - from) {
		elements.AppendNull()
	}
	fn.AppendAny(elements, value, i)
	for range nulls {
		elements.AppendNull()
	}
	for e := from + at; e < to; e++ {
		fn.AppendAny(elements, kid, e)
	}
	out.AppendSpan()
	return nil
}

func compactMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		for e := from; e < to; e++ {
			if !args[0].Kids[0].IsNull(e) {
				out.Kids[0].AppendFrom(args[0].Kids[0], e)
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}
