package function

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// mapDefs build maps and take them apart, and the functions that yield rows.
func mapDefs() []*Def {
	keys := func(args []plan.Expr) plan.Type { return plan.Array(*args[0].Type().Key, false) }
	values := func(args []plan.Expr) plan.Type {
		return plan.Array(*args[0].Type().Elem, args[0].Type().ContainsNull)
	}
	return []*Def{
		{Name: "map", Group: "map_funcs", Bind: bindMap, Kernel: mapMaker,
			Examples: []Example{{"map(1.0, '2', 3.0, '4')", "{1.0 -> 2, 3.0 -> 4}"}}},
		scalar("map_keys", "map_funcs", takes(anyMap()).givesType(keys), mapPart(0),
			Example{"map_keys(map(1, 'a', 2, 'b'))", "[1, 2]"}),
		scalar("map_values", "map_funcs", takes(anyMap()).givesType(values), mapPart(1),
			Example{"map_values(map(1, 'a', 2, 'b'))", "[a, b]"}),
		scalar("map_entries", "map_funcs", takes(anyMap()).givesType(entriesType), entriesMaker,
			Example{"map_entries(map(1, 'a'))", "[{1, a}]"}),
		scalar("map_from_arrays", "map_funcs", takes(anyArray(), anyArray()).givesType(mapOfArrays), mapFromArrays,
			Example{"map_from_arrays(array(1, 3), array('2', '4'))", "{1 -> 2, 3 -> 4}"}),
		generator("explode", false), generator("explode_outer", true),
		generator("posexplode", false), generator("posexplode_outer", true),
		generator("inline", false), generator("inline_outer", true),
	}
}

func bindMap(b *Binding) (*plan.Call, error) {
	if len(b.Args)%2 != 0 {
		return nil, wrongCount(b, "2n (n > 0)")
	}
	var keys, values []plan.Expr
	for i := 0; i < len(b.Args); i += 2 {
		keys, values = append(keys, b.Args[i]), append(values, b.Args[i+1])
	}
	keys, sameKeys := b.agree(keys, CommonTypeOf)
	values, sameValues := b.agree(values, CommonTypeOf)
	args := make([]plan.Expr, 0, len(b.Args))
	for i := range keys {
		args = append(args, keys[i], values[i])
	}
	c := b.call(args, plan.Map(plan.Null, plan.Null, false), false)
	switch {
	case !sameKeys:
		return nil, mismatch(b, c, "CREATE_MAP_KEY_DIFF_TYPES", "the keys of a map must share a type.",
			"functionName", "`map`", "dataType", "["+typeList(keys, ", ")+"]")
	case !sameValues:
		return nil, mismatch(b, c, "CREATE_MAP_VALUE_DIFF_TYPES", "the values of a map must share a type.",
			"functionName", "`map`", "dataType", "["+typeList(values, ", ")+"]")
	case len(keys) == 0:
		return c, nil
	}
	key := mergedType(keys)
	if hasMap(key) {
		return nil, mismatch(b, c, "INVALID_MAP_KEY_TYPE", "a map cannot be a key.", "keyType", sqlType(key))
	}
	c.Of = plan.Map(key, mergedType(values), anyNullable(values))
	return c, nil
}

func hasMap(t plan.Type) bool {
	switch t.Kind {
	case plan.KindMap, plan.KindVariant:
		return true
	case plan.KindArray:
		return hasMap(*t.Elem)
	}
	for _, f := range t.Fields {
		if hasMap(f.Type) {
			return true
		}
	}
	return false
}

// mapBuilder appends entries to a map and minds its keys.
type mapBuilder struct {
	order   Comparator
	lastWin bool // spark.sql.mapKeyDedupPolicy
	env     *Env
}

func newMapBuilder(key plan.Type, env *Env) *mapBuilder {
	return &mapBuilder{order: Compare(key), env: env,
		lastWin: equalFold(env.conf("spark.sql.mapKeyDedupPolicy"), "LAST_WIN")}
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
		return runtimeError("NULL_MAP_KEY", "the key of a map cannot be NULL.")
	}
	for e := from; e < out.Kids[0].Len; e++ {
		if m.order(out.Kids[0], e, key, k) != 0 {
			continue
		}
		if !m.lastWin {
			style := codec.TextStyle{Zone: codec.NewOffsets(m.env.Zone)}
			text := string(style.AppendValue(nil, key, k))
			return runtimeError("DUPLICATED_MAP_KEY", "the key "+text+" occurs twice.", "key", text,
				"mapKeyDedupPolicy", `"spark.sql.mapKeyDedupPolicy"`)
		}
		m.replace(out.Kids[1], e, in.value, in.v)
		return nil
	}
	appendAny(out.Kids[0], key, k)
	appendAny(out.Kids[1], in.value, in.v)
	return nil
}

// replace puts another value at entry e, which is among the last few.
func (m *mapBuilder) replace(values *chunk.Vector, e int, src *chunk.Vector, i int) {
	kept := chunk.New(values.Type, values.Len)
	for k := range values.Len {
		if k == e {
			appendAny(kept, src, i)
		} else {
			appendAny(kept, values, k)
		}
	}
	*values = *kept
}

func mapMaker(c *plan.Call, env *Env) (Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := newAppender(c.Of, n)
		for _, i := range picked(sel, n) {
			v := out.skipTo(int(i))
			from := v.Kids[0].Len
			for a := 0; a < len(args); a += 2 {
				if err := b.put(v, from, entry{args[a], args[a+1], int(i), int(i)}); err != nil {
					return nil, err
				}
			}
			v.AppendSpan()
		}
		return out.skipTo(n), nil
	}, nil
}

// mapPart is the keys or the values as an array; they share memory.
func mapPart(part int) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
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

func entriesMaker(c *plan.Call, _ *Env) (Kernel, error) {
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

func mapFromArrays(c *plan.Call, env *Env) (Kernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		k, kEnd := args[0].Span(i)
		v, vEnd := args[1].Span(i)
		if kEnd-k != vEnd-v {
			return runtimeError("_LEGACY_ERROR_TEMP_2128", "there must be as many keys as values.")
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
func generator(name string, outer bool) *Def {
	bind := func(b *Binding) (*plan.Call, error) {
		want := oneOf(anyArray(), anyMap())
		if name == "inline" || name == "inline_outer" {
			want = arrayOfStructs()
		}
		s := takes(want).expecting().withNull(never)
		s.returns = func(args []plan.Expr) plan.Type { return generated(name, args[0].Type(), outer) }
		return s.bind(b)
	}
	return &Def{Name: name, Group: "generator_funcs", Generator: true, Bind: bind}
}

func arrayOfStructs() input {
	return input{text: `"ARRAY<STRUCT>"`, family: familyOther, concrete: plan.Null,
		accepts: func(t plan.Type) bool { return t.Kind == plan.KindArray && t.Elem.Kind == plan.KindStruct }}
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
