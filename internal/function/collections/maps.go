package collections

import (
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// mapDefs build maps and take them apart, and the functions that yield rows.
func mapDefs() []*fn.Def {
	keys := func(args []plan.Expr) plan.Type { return plan.Array(*args[0].Type().Key, false) }
	values := func(args []plan.Expr) plan.Type {
		return plan.Array(*args[0].Type().Elem, args[0].Type().ContainsNull)
	}
	return []*fn.Def{
		{Name: "map", Group: "map_funcs", Bind: bindMap, Kernel: mapMaker,
			Examples: []fn.Example{{"map(1.0, '2', 3.0, '4')", "{1.0 -> 2, 3.0 -> 4}"}}},
		fn.Scalar("map_keys", "map_funcs", fn.Takes(fn.AnyMap()).GivesType(keys), mapPart(0),
			fn.Example{"map_keys(map(1, 'a', 2, 'b'))", "[1, 2]"}),
		fn.Scalar("map_values", "map_funcs", fn.Takes(fn.AnyMap()).GivesType(values), mapPart(1),
			fn.Example{"map_values(map(1, 'a', 2, 'b'))", "[a, b]"}),
		fn.Scalar("map_entries", "map_funcs", fn.Takes(fn.AnyMap()).GivesType(entriesType), entriesMaker,
			fn.Example{"map_entries(map(1, 'a'))", "[{1, a}]"}),
		fn.Scalar(
			"map_from_arrays",
			"map_funcs",
			fn.Takes(fn.AnyArray(), fn.AnyArray()).GivesType(mapOfArrays),
			mapFromArrays,
			fn.Example{"map_from_arrays(array(1, 3), array('2', '4'))", "{1 -> 2, 3 -> 4}"},
		),
		{Name: "stack", Group: "generator_funcs", Generator: true, Bind: bindStack},
		generator("explode", false), generator("explode_outer", true),
		generator("posexplode", false), generator("posexplode_outer", true),
		generator("inline", false), generator("inline_outer", true),
	}
}

func bindMap(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args)%2 != 0 {
		return nil, fn.WrongCount(b, "2n (n > 0)")
	}
	var keys, values []plan.Expr
	for i := 0; i < len(b.Args); i += 2 {
		keys, values = append(keys, b.Args[i]), append(values, b.Args[i+1])
	}
	keys, sameKeys := b.Agree(keys, fn.CommonTypeOf)
	values, sameValues := b.Agree(values, fn.CommonTypeOf)
	args := make([]plan.Expr, 0, len(b.Args))
	for i := range keys {
		args = append(args, keys[i], values[i])
	}
	c := b.Call(args, plan.Map(plan.Null, plan.Null, false), false)
	switch {
	case !sameKeys:
		return nil, fn.Mismatch(b, c, "CREATE_MAP_KEY_DIFF_TYPES", "the keys of a map must share a type.",
			"functionName", "`map`", "dataType", "["+fn.TypeList(keys, ", ")+"]")
	case !sameValues:
		return nil, fn.Mismatch(b, c, "CREATE_MAP_VALUE_DIFF_TYPES", "the values of a map must share a type.",
			"functionName", "`map`", "dataType", "["+fn.TypeList(values, ", ")+"]")
	case len(keys) == 0:
		return c, nil
	}
	key := fn.MergedType(keys)
	if fn.HasMap(key) || fn.HasVariant(key) {
		return nil, fn.Mismatch(b, c, "INVALID_MAP_KEY_TYPE", "a map cannot be a key.", "keyType", fn.SqlType(key))
	}
	c.Of = plan.Map(key, fn.MergedType(values), fn.AnyNullable(values))
	return c, nil
}

// mapBuilder appends entries to a map and minds its keys.
type mapBuilder struct {
	order   fn.Comparator
	lastWin bool // spark.sql.mapKeyDedupPolicy
	env     *fn.Env
}

func newMapBuilder(key plan.Type, env *fn.Env) *mapBuilder {
	return &mapBuilder{order: fn.Compare(key), env: env,
		lastWin: fn.EqualFold(env.Setting("spark.sql.mapKeyDedupPolicy"), "LAST_WIN")}
}

// entry is a key and a value, each a row of a vector.
type entry struct {
	key, value *chunk.Vector
	k, v       int
}

// put adds an entry to the row that began at entry from.
func (m *mapBuilder) put(out *chunk.Vector, from int, in entry) error {
	key, k := in.key, in.k
	if key.IsNull(k) {
		return fn.RuntimeError("NULL_MAP_KEY", "the key of a map cannot be NULL.")
	}
	for e := from; e < out.Kids[0].Len; e++ {
		if m.order(out.Kids[0], e, key, k) != 0 {
			continue
		}
		if !m.lastWin {
			style := codec.TextStyle{Zone: codec.NewOffsets(m.env.Zone)}
			text := string(style.AppendValue(nil, key, k))
			return fn.RuntimeError("DUPLICATED_MAP_KEY", "the key "+text+" occurs twice.", "key", text,
				"mapKeyDedupPolicy", `"spark.sql.mapKeyDedupPolicy"`)
		}
		m.replace(out.Kids[1], e, in.value, in.v)
		return nil
	}
	fn.AppendAny(out.Kids[0], key, k)
	dropSign(out.Kids[0])
	fn.AppendAny(out.Kids[1], in.value, in.v)
	return nil
}

// replace puts another value at entry e, which is among the last few.
func (m *mapBuilder) replace(values *chunk.Vector, e int, src *chunk.Vector, i int) {
	kept := chunk.New(values.Type, values.Len)
	for k := range values.Len {
		if k == e {
			fn.AppendAny(kept, src, i)
		} else {
			fn.AppendAny(kept, values, k)
		}
	}
	*values = *kept
}

func mapMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewAppender(c.Of, n)
		for _, i := range fn.Picked(sel, n) {
			v := out.SkipTo(int(i))
			from := v.Kids[0].Len
			for a := 0; a < len(args); a += 2 {
				if err := b.put(v, from, entry{args[a], args[a+1], int(i), int(i)}); err != nil {
					return nil, err
				}
			}
			v.AppendSpan()
		}
		return out.SkipTo(n), nil
	}, nil
}

// mapPart is the keys or the values as an array; they share memory.
func mapPart(part int) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
			m := args[0]
			return &chunk.Vector{Type: c.Of, Len: n, Valid: m.Valid, Offsets: m.Offsets,
				Kids: m.Kids[part : part+1]}, nil
		}, nil
	}
}

func entriesType(args []plan.Expr) plan.Type {
	t := args[0].Type()
	return plan.Array(plan.Struct(plan.Field{Name: "key", Type: *t.Key},
		plan.Field{Name: "value", Type: *t.Elem, Nullable: t.ContainsNull}), false)
}

func entriesMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		m := args[0]
		entries := &chunk.Vector{Type: *c.Of.Elem, Len: m.Kids[0].Len, Kids: m.Kids}
		return &chunk.Vector{Type: c.Of, Len: n, Valid: m.Valid, Offsets: m.Offsets,
			Kids: []*chunk.Vector{entries}}, nil
	}, nil
}

func mapOfArrays(args []plan.Expr) plan.Type {
	k, v := args[0].Type(), args[1].Type()
	return plan.Map(*k.Elem, *v.Elem, v.ContainsNull)
}

func mapFromArrays(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		k, kEnd := args[0].Span(i)
		v, vEnd := args[1].Span(i)
		if kEnd-k != vEnd-v {
			return fn.RuntimeError("_LEGACY_ERROR_TEMP_2128", "there must be as many keys as values.")
		}
		from := out.Kids[0].Len
		for ; k < kEnd; k, v = k+1, v+1 {
			if err := b.put(out, from, entry{args[0].Kids[0], args[1].Kids[0], k, v}); err != nil {
				return err
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

// generator is a function that yields rows. Its type is a struct with a field
// for each column; the rows are made where the query runs.
func generator(name string, outer bool) *fn.Def {
	bind := func(b *fn.Binding) (*plan.Call, error) {
		want := fn.OneOf(fn.AnyArray(), fn.AnyMap())
		if name == "inline" || name == "inline_outer" {
			want = arrayOfStructs()
		}
		if len(b.Args) == 1 && b.Args[0].Type().Kind == plan.KindNull {
			c := b.Call(b.Args, plan.Null, true)
			c.Text = fn.Escaped(strings.TrimSuffix(name, "_outer") + "(" + b.SQL(b.Args[0]) + ")")
			return nil, fn.Unexpected(b, c, 0, want.Text)
		}
		s := fn.Takes(want).Expecting().WithNull(fn.Never)
		s.Returns = func(args []plan.Expr) plan.Type { return generated(name, args[0].Type(), outer) }
		return s.Bind(b)
	}
	return &fn.Def{Name: name, Group: "generator_funcs", Generator: true, Bind: bind}
}

func arrayOfStructs() fn.Input {
	return fn.Input{Text: `"ARRAY<STRUCT>"`, Family: fn.FamilyOther, Concrete: plan.Null,
		Accepts: func(t plan.Type) bool { return t.Kind == plan.KindArray && t.Elem.Kind == plan.KindStruct }}
}

// generated is the columns that a generator yields.
func generated(name string, t plan.Type, outer bool) plan.Type {
	var fields []plan.Field
	switch {
	case name == "inline" || name == "inline_outer":
		for _, f := range t.Elem.Fields {
			f.Nullable = f.Nullable || t.ContainsNull || outer
			fields = append(fields, f)
		}
		return plan.Struct(fields...)
	case name == "posexplode" || name == "posexplode_outer":
		fields = append(fields, plan.Field{Name: "pos", Type: plan.Int, Nullable: outer})
	}
	if t.Kind == plan.KindMap {
		return plan.Struct(append(fields, plan.Field{Name: "key", Type: *t.Key, Nullable: outer},
			plan.Field{Name: "value", Type: *t.Elem, Nullable: t.ContainsNull || outer})...)
	}
	return plan.Struct(append(fields, plan.Field{Name: "col", Type: *t.Elem, Nullable: t.ContainsNull ||
		outer})...)
}

// bindStack lays values out in rows, of which the first argument says how many.
func bindStack(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1")
	}
	args := slices.Clone(b.Args)
	c := b.Call(args, plan.Null, true)
	rows, known := fn.ConstantInt(args[0])
	switch {
	case args[0].Type().Kind != plan.KindInt:
		return nil, fn.Unexpected(b, c, 0, fn.SqlType(plan.Int))
	case !known:
		return nil, fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the number of rows must be a constant.",
			"inputName", "`n`", "inputType", fn.SqlType(plan.Int), "inputExpr", fn.Quoted(b.SQL(args[0])))
	case rows < 1:
		return nil, fn.Mismatch(b, c, "VALUE_OUT_OF_RANGE", "stack makes one row at least.", "exprName", "`n`",
			"valueRange", "(0, 2147483647]", "currentValue", fn.Itoa(int(rows)))
	}
	width := (len(args) - 2 + int(rows)) / int(rows)
	types := make([]plan.Type, width)
	for i := len(args) - 1; i > 0; i-- {
		if t := args[i].Type(); t.Kind != plan.KindNull {
			types[(i-1)%width] = t
		}
	}
	for i := 1; i < len(args); i++ {
		t, of := args[i].Type(), types[(i-1)%width]
		if t.Kind == plan.KindNull {
			args[i] = b.Cast(args[i], of)
			continue
		}
		if !t.EqualIgnoringNull(of) {
			return nil, fn.Mismatch(b, c, "STACK_COLUMN_DIFF_TYPES", "a column of stack has values of two types.",
				"columnIndex", fn.Itoa((i-1)%width), "leftParamIndex", fn.Itoa((i-1)%width+1),
				"leftType", fn.SqlType(of), "rightParamIndex", fn.Itoa(i), "rightType", fn.SqlType(t))
		}
	}
	fields := make([]plan.Field, width)
	for k := range fields {
		fields[k] = plan.Col("col"+fn.Itoa(k), types[k])
	}
	args[0] = plan.Lit(rows, plan.Int)
	return b.Call(args, plan.Struct(fields...), false), nil
}
