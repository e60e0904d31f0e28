package collections

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// collectionDefs build arrays, maps and structs, and take them apart.
func collectionDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "array", Group: "array_funcs", Bind: bindArray, Kernel: arrayMaker,
			Examples: []fn.Example{{"array(1, 2, 3)", "[1, 2, 3]"}}},
		{Name: "struct", Group: "struct_funcs", Bind: bindStruct, Kernel: structMaker(1),
			Examples: []fn.Example{{"struct(1, 2)", "{1, 2}"}}},
		{Name: "named_struct", Group: "struct_funcs", Bind: bindNamedStruct, Kernel: structMaker(2),
			Examples: []fn.Example{{"named_struct('a', 1, 'b', 'x')", "{1, x}"}}},
		{Name: "getitem", Hidden: true, Bind: bindGetItem, Kernel: getItem},
		{Name: "element_at", Group: "collection_funcs", Bind: bindElementAt, Kernel: elementAt(false),
			Examples: []fn.Example{{"element_at(array(1, 2, 3), -1)", "3"}, {"element_at(map(1, 'a'), 1)", "a"}}},
		{Name: "try_element_at", Group: "collection_funcs", Bind: fn.Nullable(bindElementAt),
			Kernel:   elementAt(true),
			Examples: []fn.Example{{"try_element_at(array(1), 5)", "NULL"}}},
		fn.Scalar(
			"get",
			"array_funcs",
			fn.Takes(fn.AnyArray(), fn.Exactly(plan.Int)).WithNull(fn.Always).GivesType(elementOf),
			arrayIndex(0, fn.Wrap),
			fn.Example{"get(array(1, 2), 0)", "1"},
		),
		{Name: "size", Aliases: []string{"cardinality"}, ShownAsWritten: true, Group: "collection_funcs",
			Bind:   bindSize,
			Kernel: sizeMaker, Examples: []fn.Example{{"size(array('b', 'd'))", "2"}, {"size(map('a', 1))", "1"}}},
		fn.Scalar("array_size", "array_funcs", fn.Takes(fn.AnyArray()).Gives(plan.Int), fn.Plain(fn.Sizes),
			fn.Example{"array_size(array(1, 2))", "2"}),
		fn.Scalar(
			"array_join",
			"array_funcs",
			fn.Takes(fn.ArrayOf(fn.Str()), fn.Str(), fn.Str()).Optional(1).Gives(plan.String),
			joinMaker,
			fn.Example{"array_join(array('a', NULL, 'b'), ',', '-')", "a,-,b"},
		),
		fn.Scalar(
			"slice",
			"array_funcs",
			fn.Takes(fn.AnyArray(), fn.Exactly(plan.Int), fn.Exactly(plan.Int)).GivesFirst(),
			sliceMaker,
			fn.Example{"slice(array(1, 2, 3, 4), 2, 2)", "[2, 3]"},
		),
		fn.Scalar("flatten", "array_funcs", fn.Takes(arrayOfArrays()).GivesType(flattened).CheckedNull(flattenNull),
			flattenMaker,
			fn.Example{"flatten(array(array(1, 2), array(3)))", "[1, 2, 3]"}),
		fn.Scalar("array_repeat", "array_funcs",
			fn.Takes(fn.Anything(), fn.Exactly(plan.Int)).GivesType(repeated).CheckedNull(repeatNull),
			repeatMaker, fn.Example{"array_repeat('a', 2)", "[a, a]"}),
	}
}

func elementOf(args []plan.Expr) plan.Type { return *args[0].Type().Elem }

func bindArray(b *fn.Binding) (*plan.Call, error) {
	args, same := b.Agree(b.Args, fn.CommonTypeOf)
	c := b.Call(args, plan.Array(plan.Null, false), false)
	if !same {
		return nil, fn.DiffTypes(b, c, "array", "("+fn.TypeList(args, " or ")+")")
	}
	if len(args) > 0 {
		c.Of = plan.Array(fn.MergedType(args), fn.AnyNullable(args))
	}
	return c, nil
}

func arrayMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.New(c.Of, n)
		next := 0
		for _, i := range fn.Picked(sel, n) {
			for ; next < int(i); next++ {
				out.AppendSpan()
			}
			for _, a := range args {
				fn.AppendAny(out.Kids[0], a, int(i))
			}
			out.AppendSpan()
			next++
		}
		for ; next < n; next++ {
			out.AppendSpan()
		}
		return out, nil
	}, nil
}

// bindStruct names its fields after its arguments, or col1, col2, ….
func bindStruct(b *fn.Binding) (*plan.Call, error) {
	fields := make([]plan.Field, len(b.Args))
	for i, a := range b.Args {
		fields[i] = plan.Field{Name: fieldNameOf(a, i), Type: a.Type(), Nullable: a.Nullable()}
	}
	return b.Call(b.Args, plan.Struct(fields...), false), nil
}

func fieldNameOf(e plan.Expr, i int) string {
	switch e := e.(type) {
	case *plan.Alias:
		if len(e.Names) == 1 {
			return e.Names[0]
		}
	case *plan.Attribute:
		return e.Name
	case *plan.GetField:
		return e.Name
	}
	return "col" + fn.Itoa(i+1)
}

func bindNamedStruct(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) == 0 || len(b.Args)%2 != 0 {
		return nil, fn.WrongCount(b, "2n (n > 0)")
	}
	var fields []plan.Field
	c := b.Call(b.Args, plan.Null, false)
	for i := 0; i < len(b.Args); i += 2 {
		name, ok := fn.ConstantText(b.Args[i])
		if !ok {
			return nil, fn.Mismatch(b, c, "CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING",
				"field names must be string constants.",
				"inputExprs", "["+fn.Quoted(b.SQL(b.Args[i]))+"]")
		}
		fields = append(fields, plan.Field{Name: name, Type: b.Args[i+1].Type(), Nullable: b.Args[i+1].Nullable()})
	}
	c.Of = plan.Struct(fields...)
	return c, nil
}

// structMaker puts vectors side by side; of named_struct every second is a name.
func structMaker(step int) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
			out := &chunk.Vector{Type: c.Of, Len: n}
			for i := step - 1; i < len(args); i += step {
				out.Kids = append(out.Kids, args[i])
			}
			return out, nil
		}, nil
	}
}

// bindGetItem binds container[key].
func bindGetItem(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	child, key := b.Args[0], b.Args[1]
	t := child.Type()
	if t.Kind == plan.KindMap {
		key, err := mapKey(b, key, *t.Key)
		if err != nil {
			return nil, err
		}
		return b.Call([]plan.Expr{child, key}, *t.Elem, true), nil
	}
	if !fn.Integral().Accepts(key.Type()) {
		key, _ = fn.CastInput(key, fn.Integral(), b.Env, b.Origin)
	}
	c := b.Call([]plan.Expr{child, key}, *t.Elem, itemNullable(b.Env, child, key))
	if !key.Type().IsIntegral() {
		return nil, fn.Unexpected(b, c, 1, fn.Quoted("INTEGRAL"))
	}
	return c, nil
}

func mapKey(b *fn.Binding, key plan.Expr, t plan.Type) (plan.Expr, error) {
	if key.Type().EqualIgnoringNull(t) {
		return key, nil
	}
	same := &plan.Cast{Child: key, To: t, Mode: b.Env.CastMode(), Implicit: true, Origin: b.Origin}
	return same, cast.Check(same, b.Env)
}

// itemNullable is whether array[key] may be NULL.
func itemNullable(env *fn.Env, child, key plan.Expr) bool {
	at, ok := fn.ConstantInt(key)
	return placeNullable(env, child, key, spot{at, ok})
}

// spot is an index from 0 on, if it is constant.
type spot struct {
	at    int64
	known bool
}

// placeNullable follows Spark: at a constant place it knows the elements of an
// array that is written out, and takes any other array's for nullable. Elsewhere
// a missing element is an error under ANSI.
func placeNullable(env *fn.Env, child, key plan.Expr, p spot) bool {
	if key.Nullable() || !env.ANSI && !p.known {
		return true
	}
	if !p.known {
		return child.Nullable() || child.Type().ContainsNull
	}
	c, isCall := child.(*plan.Call)
	switch {
	case !isCall || c.Name != "array":
		return true
	case p.at < 0 || p.at >= int64(len(c.Args)):
		return !env.ANSI || child.Type().ContainsNull
	default:
		return c.Args[p.at].Nullable()
	}
}

func getItem(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	if c.Args[0].Type().Kind == plan.KindMap {
		return mapLookup(c), nil
	}
	f := fn.Wrap
	if c.ANSI {
		f = fn.Raise
	}
	return arrayIndex(0, f)(c, env)
}

// arrayIndex takes the element at an index that counts from base.
func arrayIndex(base int64, f fn.Faults) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
			from, to := args[0].Span(i)
			at := fn.IntegerAt(args[1], i)
			if at -= base; at >= 0 && at < int64(to-from) {
				return from + int(at), nil
			}
			if f == fn.Raise {
				return -1, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX",
					"the index "+fn.Itoa(int(at))+" is outside an array of "+fn.Itoa(to-from)+" elements.",
					"indexValue", fn.Itoa(int(at)), "arraySize", fn.Itoa(to-from)).At(c.Origin)
			}
			return -1, nil
		}), nil
	}
}

// gatherElements picks one element of the container's last part for each row;
// a negative one stands for NULL.
func gatherElements(c *plan.Call, pick func(args []*chunk.Vector, i int) (int, error)) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = -1
		}
		for _, i := range fn.Active(fn.ValidOf(args, n), sel, n) {
			at, err := pick(args, int(i))
			if err != nil {
				return nil, err
			}
			rows[i] = int32(at)
		}
		if c.Of.Kind == plan.KindNull {
			return chunk.NullVector(c.Of, n), nil
		}
		kids := args[0].Kids
		return chunk.Gather(kids[len(kids)-1], rows), nil
	}
}

// mapLookup finds the value of a key; of equal keys the last one counts.
func mapLookup(c *plan.Call) fn.Kernel {
	order := fn.Compare(c.Args[1].Type())
	return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
		from, to := args[0].Span(i)
		for e := to - 1; e >= from; e-- {
			if order(args[0].Kids[0], e, args[1], i) == 0 {
				return e, nil
			}
		}
		return -1, nil
	})
}

// bindElementAt binds element_at: arrays count from 1, or from the end.
func bindElementAt(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	child, key := b.Args[0], b.Args[1]
	t := child.Type()
	switch t.Kind {
	case plan.KindArray:
		if key.Type().Kind != plan.KindNull {
			key, _ = fn.CastInput(key, fn.Exactly(plan.Int), b.Env, b.Origin)
		}
		c := b.Call([]plan.Expr{child, key}, *t.Elem, elementNullable(b.Env, child, key))
		if key.Type().Kind != plan.KindInt {
			return nil, fn.Unexpected(b, c, 1, fn.SqlType(plan.Int))
		}
		return c, nil
	case plan.KindMap:
		if common, ok := fn.TightestType(*t.Key, key.Type(), b.Env); ok {
			child = b.Cast(child, plan.Map(common, *t.Elem, t.ContainsNull))
			key = b.Cast(key, common)
		}
		c := b.Call([]plan.Expr{child, key}, *t.Elem, true)
		if !key.Type().EqualIgnoringNull(*child.Type().Key) {
			return nil, elementTypes(b, c, "MAP")
		}
		return c, nil
	default:
		c := b.Call(b.Args, plan.Null, true)
		return nil, fn.Unexpected(b, c, 0, `("ARRAY" or "MAP")`)
	}
}

// elementTypes says that a container and what is looked for in it do not go
// together.
func elementTypes(b *fn.Binding, c *plan.Call, container string) *plan.Error {
	l, r := c.Args[0].Type(), c.Args[1].Type()
	return fn.Mismatch(
		b,
		c,
		"MAP_FUNCTION_DIFF_TYPES",
		"values of "+r.SQL()+" are not looked for in "+l.SQL()+".",
		"functionName",
		plan.Quote(b.Def.Name),
		"dataType",
		fn.Quoted(container),
		"leftType",
		fn.SqlType(l),
		"rightType",
		fn.SqlType(r),
	)
}

func elementNullable(env *fn.Env, child, key plan.Expr) bool {
	at, ok := fn.ConstantInt(key)
	if c, isCall := child.(*plan.Call); isCall && at < 0 {
		at += int64(len(c.Args)) + 1
	}
	return placeNullable(env, child, key, spot{at - 1, ok})
}

func elementAt(try bool) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		if c.Args[0].Type().Kind == plan.KindMap {
			return mapLookup(c), nil
		}
		return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
			from, to := args[0].Span(i)
			at, size := int(chunk.Values[int32](args[1])[i]), to-from
			switch {
			case at == 0:
				return -1, fn.RuntimeError("INVALID_INDEX_OF_ZERO", "arrays count from 1, not from 0.").At(c.Origin)
			case at > 0 && at <= size:
				return from + at - 1, nil
			case at < 0 && -at <= size:
				return to + at, nil
			case c.ANSI && !try:
				return -1, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
					"the index "+fn.Itoa(at)+" is outside an array of "+fn.Itoa(size)+" elements.",
					"indexValue", fn.Itoa(at), "arraySize", fn.Itoa(size)).At(c.Origin)
			default:
				return -1, nil
			}
		}), nil
	}
}

// bindSize: without ANSI the size of NULL is -1.
func bindSize(b *fn.Binding) (*plan.Call, error) {
	c, err := fn.Takes(fn.OneOf(fn.AnyArray(), fn.AnyMap())).Gives(plan.Int).Bind(b)
	if err == nil && !b.Env.ANSI && b.Env.Setting("spark.sql.legacy.sizeOfNull") != "false" {
		c.Null = false
	}
	return c, err
}

func sizeMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if c.Null || c.ANSI {
		return fn.Sizes, nil
	}
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.Make(plan.Int, n)
		for i, dst := 0, chunk.Values[int32](out); i < n; i++ {
			dst[i] = -1
			if !args[0].IsNull(i) {
				dst[i] = args[0].Offsets[i+1] - args[0].Offsets[i]
			}
		}
		return out, nil
	}, nil
}

func joinMaker(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		grow := fn.Growth{Env: env}
		var sep []byte
		for e := from; e < to; e++ {
			var part []byte
			switch {
			case !kid.IsNull(e):
				part = kid.Bytes(e)
			case len(args) == 3:
				part = args[2].Bytes(i)
			default:
				continue
			}
			if err := grow.Add(dst, len(sep)+len(part)); err != nil {
				return nil, false, err
			}
			dst = append(append(dst, sep...), part...)
			sep = args[1].Bytes(i)
		}
		return dst, true, nil
	}), nil
}

func sliceMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		start, length := int(chunk.Values[int32](args[1])[i]), int(chunk.Values[int32](args[2])[i])
		switch {
		case start == 0:
			return fn.InvalidParameter("START", "slice", "start", "arrays count from 1, not from 0.")
		case length < 0:
			return fn.InvalidParameter("LENGTH", "slice", "length", "a length cannot be negative.", "length",
				fn.Itoa(length))
		case start > 0:
			start += from - 1
		default:
			start += to
		}
		if start >= from && start < to {
			out.Kids[0].AppendRange(args[0].Kids[0], start, min(to, start+length))
		}
		out.AppendSpan()
		return nil
	}), nil
}

func arrayOfArrays() fn.Input {
	return fn.Input{Text: `"ARRAY" of "ARRAY"`, Family: fn.FamilyOther, Concrete: plan.Null,
		Accepts: func(t plan.Type) bool { return t.Kind == plan.KindArray && t.Elem.Kind == plan.KindArray }}
}

func flattened(args []plan.Expr) plan.Type { return *args[0].Type().Elem }

func flattenNull(args []plan.Expr) bool { return args[0].Nullable() || args[0].Type().ContainsNull }

func flattenMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		inner := args[0].Kids[0]
		for e := from; e < to; e++ {
			if inner.IsNull(e) {
				out.AppendNull()
				return nil
			}
		}
		for e := from; e < to; e++ {
			a, z := inner.Span(e)
			out.Kids[0].AppendRange(inner.Kids[0], a, z)
		}
		out.AppendSpan()
		return nil
	}), nil
}

func repeated(args []plan.Expr) plan.Type { return plan.Array(args[0].Type(), args[0].Nullable()) }

func repeatNull(args []plan.Expr) bool { return args[1].Nullable() }

// repeatMaker repeats a value that may be NULL.
func repeatMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewAppender(c.Of, n)
		for _, i := range fn.Active(args[1].Valid, sel, n) {
			v := out.SkipTo(int(i))
			times := chunk.Values[int32](args[1])[i]
			if err := fn.RoomFor(env, "array_repeat", v.Kids[0], uint64(max(0, times))); err != nil {
				return nil, err
			}
			if size := int64(max(0, times)) * chunk.SizeOfRow(args[0], int(i)); size > fn.LargeResult {
				if err := env.Memory.Fits("array of array_repeat", size); err != nil {
					return nil, err
				}
			}
			for range times {
				fn.AppendAny(v.Kids[0], args[0], int(i))
			}
			v.AppendSpan()
		}
		return out.SkipTo(n), nil
	}, nil
}
