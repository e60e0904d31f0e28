package collections

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// setDefs take two arrays for sets.
func setDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "array_union", Group: "array_funcs", Bind: bindSets, Kernel: setMaker(true, both),
			Examples: []fn.Example{{"array_union(array(1, 2, 2, NULL), array(2, 3, NULL))", "[1, 2, NULL, 3]"}}},
		{Name: "array_intersect", Group: "array_funcs", Bind: bindSets, Kernel: setMaker(false, inRight),
			Examples: []fn.Example{{"array_intersect(array(1, 2, 3), array(1, 3, 5))", "[1, 3]"}}},
		{Name: "array_except", Group: "array_funcs", Bind: bindSets, Kernel: setMaker(false, notInRight),
			Examples: []fn.Example{{"array_except(array(1, 2, 3), array(1, 3, 5))", "[2]"}}},
		{Name: "arrays_overlap", Group: "array_funcs", Bind: bindSets, Kernel: overlapMaker,
			Examples: []fn.Example{{"arrays_overlap(array(1, 2, 3), array(3, 4, 5))", "true"}}},
	}
}

// bindSets brings the elements of two arrays to one type.
func bindSets(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	l, r := b.Args[0], b.Args[1]
	lt, rt := l.Type(), r.Type()
	if lt.Kind == plan.KindArray && rt.Kind == plan.KindArray {
		if t, ok := fn.TightestType(*lt.Elem, *rt.Elem, b.Env); ok {
			l, r = b.Cast(l, plan.Array(t, lt.ContainsNull)), b.Cast(r, plan.Array(t, rt.ContainsNull))
		}
	}
	c := b.Call([]plan.Expr{l, r}, plan.Boolean, l.Nullable() || r.Nullable())
	lt, rt = l.Type(), r.Type()
	if lt.Kind != plan.KindArray || !lt.EqualIgnoringNull(rt) {
		return nil, fn.Mismatch(b, c, "BINARY_ARRAY_DIFF_TYPES",
			b.Def.Name+" needs two arrays of one type, not "+lt.SQL()+" and "+rt.SQL()+".",
			"functionName", plan.Quote(b.Def.Name), "arrayType", fn.Quoted("ARRAY"),
			"leftType", fn.SqlType(lt), "rightType", fn.SqlType(rt))
	}
	if !fn.Orderable(*lt.Elem) {
		return nil, fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", lt.Elem.SQL()+" values cannot be compared.",
			"functionName", plan.Quote(b.Def.Name), "dataType", fn.SqlType(*lt.Elem))
	}
	switch b.Def.Name {
	case "array_union":
		c.Of = plan.Array(*lt.Elem, lt.ContainsNull || rt.ContainsNull)
	case "array_intersect":
		c.Of = plan.Array(*lt.Elem, lt.ContainsNull && rt.ContainsNull)
	case "array_except":
		c.Of = lt
	default:
		c.Null = c.Null || lt.ContainsNull || rt.ContainsNull
	}
	return c, nil
}

// Which elements of the left array a set has, by whether the right one has them.
func both(bool) bool          { return true }
func inRight(in bool) bool    { return in }
func notInRight(in bool) bool { return !in }

// setMaker keeps the first of equal elements of the left array that are wanted,
// then, for a union, those of the right.
func setMaker(union bool, wanted func(inRight bool) bool) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			right, kept := elementsOf(args[1], i), map[string]struct{}{}
			fits := func(key string) bool {
				_, in := right[key]
				return wanted(in)
			}
			appendNew(out.Kids[0], args[0], i, kept, fits)
			if union {
				appendNew(out.Kids[0], args[1], i, kept, fits)
			}
			out.AppendSpan()
			return nil
		}), nil
	}
}

// appendNew appends the elements of a row's array that fit and were not kept.
func appendNew(out, v *chunk.Vector, i int, kept map[string]struct{}, fits func(key string) bool) {
	from, to := v.Span(i)
	var key []byte
	for e := from; e < to; e++ {
		key = fn.AppendKey(key[:0], v.Kids[0], e)
		if _, ok := kept[string(key)]; ok || !fits(string(key)) {
			continue
		}
		kept[string(key)] = struct{}{}
		fn.AppendAny(out, v.Kids[0], e)
		dropSign(out)
	}
}

// elementsOf is the keys of the elements of a row's array.
func elementsOf(v *chunk.Vector, i int) map[string]struct{} {
	from, to := v.Span(i)
	set := make(map[string]struct{}, to-from)
	var key []byte
	for e := from; e < to; e++ {
		key = fn.AppendKey(key[:0], v.Kids[0], e)
		set[string(key)] = struct{}{}
	}
	return set
}

// overlapMaker tells whether two arrays share an element; where they do not, a
// NULL in one of them makes the answer unknown unless the other is empty.
func overlapMaker(*plan.Call, *fn.Env) (fn.Kernel, error) {
	return fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		right, null := elementsOf(args[1], i), false
		from, to := args[0].Span(i)
		var key []byte
		for e := from; e < to; e++ {
			if args[0].Kids[0].IsNull(e) {
				null = true
				continue
			}
			key = fn.AppendKey(key[:0], args[0].Kids[0], e)
			if _, ok := right[string(key)]; ok {
				return 1, true, nil
			}
		}
		first, last := args[1].Span(i)
		for e := first; e < last; e++ {
			null = null || args[1].Kids[0].IsNull(e)
		}
		return 0, !null || from == to || first == last, nil
	}), nil
}
