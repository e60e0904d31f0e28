package collections

import (
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// mapJoinDefs make maps of maps and of entries, and arrays of several.
func mapJoinDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "map_concat", Group: "map_funcs", Bind: bindMapConcat, Kernel: mapConcat,
			Examples: []fn.Example{{"map_concat(map(1, 'a', 2, 'b'), map(3, 'c'))", "{1 -> a, 2 -> b, 3 -> c}"}}},
		fn.Scalar("map_from_entries", "map_funcs", fn.Takes(pairs()).GivesType(func(args []plan.Expr) plan.Type {
			f := args[0].Type().Elem.Fields
			return plan.Map(f[0].Type, f[1].Type, f[1].Nullable)
		}).CheckedNull(func(args []plan.Expr) bool { return args[0].Nullable() || args[0].Type().ContainsNull }),
			mapFromEntries, fn.Example{"map_from_entries(array(struct(1, 'a'), struct(2, 'b')))", "{1 -> a, 2 -> b}"}),
		{Name: "map_contains_key", Group: "map_funcs", Bind: bindContainsKey, Kernel: containsKey,
			Examples: []fn.Example{{"map_contains_key(map(1, 'a', 2, 'b'), 1)", "true"}}},
		{Name: "arrays_zip", Group: "array_funcs", Bind: bindZip, Kernel: zipMaker,
			Examples: []fn.Example{{"arrays_zip(array(1, 2, 3), array('a', 'b'))", "[{1, a}, {2, b}, {3, NULL}]"}}},
	}
}

func bindMapConcat(b *fn.Binding) (*plan.Call, error) {
	for _, a := range b.Args {
		if a.Type().Kind != plan.KindMap {
			return nil, fn.Mismatch(b, b.Written(), "MAP_CONCAT_DIFF_TYPES", "only maps are joined.",
				"functionName", "`map_concat`", "dataType", "["+fn.TypeList(b.Args, ", ")+"]")
		}
	}
	if len(b.Args) == 0 {
		return b.Call(nil, plan.Map(plan.String, plan.String, false), false), nil
	}
	args, same := b.Agree(b.Args, fn.CommonTypeOf)
	c := b.Call(args, plan.Null, fn.AnyNullable(args))
	if !same {
		return nil, fn.DiffTypes(b, c, "map_concat", "("+fn.TypeList(args, " or ")+")")
	}
	c.Of = fn.MergedType(args)
	return c, nil
}

func mapConcat(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from := out.Kids[0].Len
		for _, m := range args {
			first, last := m.Span(i)
			for e := first; e < last; e++ {
				if err := b.put(out, from, entry{m.Kids[0], m.Kids[1], e, e}); err != nil {
					return err
				}
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

// pairs takes arrays of structs of two fields.
func pairs() fn.Input {
	return fn.Input{Text: `"ARRAY" of pair "STRUCT"`, Family: fn.FamilyOther, Concrete: plan.Null,
		Accepts: func(t plan.Type) bool {
			return t.Kind == plan.KindArray && t.Elem.Kind == plan.KindStruct && len(t.Elem.Fields) == 2
		}}
}

// mapFromEntries is NULL where an entry is.
func mapFromEntries(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		first, last := args[0].Span(i)
		entries := args[0].Kids[0]
		for e := first; e < last; e++ {
			if entries.IsNull(e) {
				out.AppendNull()
				return nil
			}
		}
		from := out.Kids[0].Len
		for e := first; e < last; e++ {
			if err := b.put(out, from, entry{entries.Kids[0], entries.Kids[1], e, e}); err != nil {
				return err
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

func bindContainsKey(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	m, key := b.Args[0], b.Args[1]
	t := m.Type()
	if key.Type().Kind == plan.KindNull {
		return nil, fn.Mismatch(b, b.Written(), "NULL_TYPE", "the key must not be NULL.",
			"functionName", "`map_contains_key`")
	}
	if t.Kind == plan.KindMap {
		if common, ok := fn.TightestType(*t.Key, key.Type(), b.Env); ok {
			m, key = b.Cast(m, plan.Map(common, *t.Elem, t.ContainsNull)), b.Cast(key, common)
		}
	}
	c := b.Call([]plan.Expr{m, key}, plan.Boolean, true)
	if t = m.Type(); t.Kind != plan.KindMap || !t.Key.EqualIgnoringNull(key.Type()) {
		return nil, fn.Mismatch(
			b,
			c,
			"MAP_FUNCTION_DIFF_TYPES",
			"the key is of another type than those of the map.",
			"functionName",
			"`map_contains_key`",
			"dataType",
			fn.Quoted("MAP"),
			"leftType",
			fn.SqlType(m.Type()),
			"rightType",
			fn.SqlType(key.Type()),
		)
	}
	return c, nil
}

func containsKey(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(c.Args[1].Type())
	return fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		at, _ := find(order, args, i)
		return fn.Bit(at >= 0), true, nil
	}), nil
}

// bindZip names the fields after the columns, or 0, 1, ….
func bindZip(b *fn.Binding) (*plan.Call, error) {
	fields := make([]plan.Field, len(b.Args))
	for i, a := range b.Args {
		fields[i] = plan.Field{Name: strconv.Itoa(i), Type: plan.Null, Nullable: true}
		switch e := a.(type) {
		case *plan.Attribute:
			fields[i].Name = e.Name
		case *plan.Alias:
			fields[i].Name = e.Names[0]
		case *plan.GetField:
			fields[i].Name = e.Name
		}
		if t := a.Type(); t.Kind == plan.KindArray {
			fields[i].Type = *t.Elem
		}
	}
	c := b.Call(b.Args, plan.Array(plan.Struct(fields...), false), fn.AnyNullable(b.Args))
	for i, a := range b.Args {
		if t := a.Type(); t.Kind != plan.KindArray && t.Kind != plan.KindNull {
			return nil, fn.Unexpected(b, c, i, fn.Quoted("ARRAY"))
		}
	}
	return c, nil
}

func zipMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		rows, most := out.Kids[0], 0
		for _, a := range args {
			from, to := a.Span(i)
			most = max(most, to-from)
		}
		for e := range most {
			for k, a := range args {
				if from, to := a.Span(i); from+e < to {
					fn.AppendAny(rows.Kids[k], a.Kids[0], from+e)
				} else {
					rows.Kids[k].AppendNull()
				}
			}
			rows.AppendRow()
		}
		out.AppendSpan()
		return nil
	}), nil
}
