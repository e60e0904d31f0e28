package function

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// collectionDefs build arrays, maps and structs, and take them apart.
func collectionDefs() []*Def {
	return []*Def{
		{Name: "array", Group: "array_funcs", Bind: bindArray, Kernel: arrayMaker,
			Examples: []Example{{"array(1, 2, 3)", "[1, 2, 3]"}}},
		{Name: "struct", Group: "struct_funcs", Bind: bindStruct, Kernel: structMaker(1),
			Examples: []Example{{"struct(1, 2)", "{1, 2}"}}},
		{Name: "named_struct", Group: "struct_funcs", Bind: bindNamedStruct, Kernel: structMaker(2),
			Examples: []Example{{"named_struct('a', 1, 'b', 'x')", "{1, x}"}}},
		{Name: "getitem", Hidden: true, Bind: bindGetItem, Kernel: getItem},
		{Name: "element_at", Group: "collection_funcs", Bind: bindElementAt, Kernel: elementAt(false),
			Examples: []Example{{"element_at(array(1, 2, 3), -1)", "3"}, {"element_at(map(1, 'a'), 1)", "a"}}},
		{Name: "try_element_at", Group: "collection_funcs", Bind: nullableBind(bindElementAt),
			Kernel:   elementAt(true),
			Examples: []Example{{"try_element_at(array(1), 5)", "NULL"}}},
		scalar("get", "array_funcs", takes(anyArray(), exactly(plan.Int)).withNull(always).givesType(elementOf),
			arrayIndex(0, wrap), Example{"get(array(1, 2), 0)", "1"}),
		{Name: "size", Aliases: []string{"cardinality"}, ShownAsWritten: true, Group: "collection_funcs",
			Bind:   bindSize,
			Kernel: sizeMaker, Examples: []Example{{"size(array('b', 'd'))", "2"}, {"size(map('a', 1))", "1"}}},
		scalar("array_size", "array_funcs", takes(anyArray()).gives(plan.Int), plain(sizes),
			Example{"array_size(array(1, 2))", "2"}),
		scalar("array_join", "array_funcs", takes(arrayOf(str()), str(), str()).optional(1).gives(plan.String),
			plain(arrayJoin), Example{"array_join(array('a', NULL, 'b'), ',', '-')", "a,-,b"}),
		scalar("slice", "array_funcs", takes(anyArray(), exactly(plan.Int), exactly(plan.Int)).givesFirst(),
			sliceMaker,
			Example{"slice(array(1, 2, 3, 4), 2, 2)", "[2, 3]"}),
		scalar("flatten", "array_funcs", takes(arrayOfArrays()).givesType(flattened).checkedNull(flattenNull),
			flattenMaker,
			Example{"flatten(array(array(1, 2), array(3)))", "[1, 2, 3]"}),
		scalar("array_repeat", "array_funcs",
			takes(anything(), exactly(plan.Int)).givesType(repeated).checkedNull(repeatNull),
			repeatMaker, Example{"array_repeat('a', 2)", "[a, a]"}),
	}
}

// checkedNull sets a result's nullability by a rule of the function's own.
func (s sig) checkedNull(rule func(args []plan.Expr) bool) sig {
	s.nullRule = rule
	return s
}

func elementOf(args []plan.Expr) plan.Type { return *args[0].Type().Elem }

func bindArray(b *Binding) (*plan.Call, error) {
	args, same := b.agree(b.Args, CommonTypeOf)
	c := b.call(args, plan.Array(plan.Null, false), false)
	if !same {
		return nil, diffTypes(b, c, "array", "("+typeList(args, " or ")+")")
	}
	if len(args) > 0 {
		c.Of = plan.Array(mergedType(args), anyNullable(args))
	}
	return c, nil
}

func arrayMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.New(c.Of, n)
		next := 0
		for _, i := range picked(sel, n) {
			for ; next < int(i); next++ {
				out.AppendSpan()
			}
			for _, a := range args {
				appendAny(out.Kids[0], a, int(i))
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

// appendAny copies row i; vectors of the null type have only NULLs.
func appendAny(dst, src *chunk.Vector, i int) {
	if src.IsNull(i) {
		dst.AppendNull()
		return
	}
	dst.AppendFrom(src, i)
}

// bindStruct names its fields after its arguments, or col1, col2, ….
func bindStruct(b *Binding) (*plan.Call, error) {
	fields := make([]plan.Field, len(b.Args))
	for i, a := range b.Args {
		fields[i] = plan.Field{Name: fieldNameOf(a, i), Type: a.Type(), Nullable: a.Nullable()}
	}
	return b.call(b.Args, plan.Struct(fields...), false), nil
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
	return "col" + itoa(i+1)
}

func bindNamedStruct(b *Binding) (*plan.Call, error) {
	if len(b.Args) == 0 || len(b.Args)%2 != 0 {
		return nil, wrongCount(b, "2n (n > 0)")
	}
	var fields []plan.Field
	c := b.call(b.Args, plan.Null, false)
	for i := 0; i < len(b.Args); i += 2 {
		name, ok := constantText(b.Args[i])
		if !ok {
			return nil, mismatch(b, c, "CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING",
				"field names must be string constants.",
				"inputExprs", "["+quoted(b.sql(b.Args[i]))+"]")
		}
		fields = append(fields, plan.Field{Name: name, Type: b.Args[i+1].Type(), Nullable: b.Args[i+1].Nullable()})
	}
	c.Of = plan.Struct(fields...)
	return c, nil
}

// structMaker puts vectors side by side; of named_struct every second is a name.
func structMaker(step int) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
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
func bindGetItem(b *Binding) (*plan.Call, error) {
	if err := b.between(2, 2); err != nil {
		return nil, err
	}
	child, key := b.Args[0], b.Args[1]
	t := child.Type()
	if t.Kind == plan.KindMap {
		key, err := b.mapKey(key, *t.Key)
		if err != nil {
			return nil, err
		}
		return b.call([]plan.Expr{child, key}, *t.Elem, true), nil
	}
	if !integral().accepts(key.Type()) {
		key, _ = castInput(key, integral(), b.Env, b.Origin)
	}
	c := b.call([]plan.Expr{child, key}, *t.Elem, itemNullable(child, key))
	if !key.Type().IsIntegral() {
		return nil, unexpected(b, c, 1, quoted("INTEGRAL"))
	}
	return c, nil
}

func (b *Binding) mapKey(key plan.Expr, t plan.Type) (plan.Expr, error) {
	if key.Type().EqualIgnoringNull(t) {
		return key, nil
	}
	cast := &plan.Cast{Child: key, To: t, Mode: b.Env.castMode(), Implicit: true, Origin: b.Origin}
	return cast, CheckCast(cast, b.Env)
}

// itemNullable: of an array that is written out and an index that is constant
// Spark knows the element.
func itemNullable(child, key plan.Expr) bool {
	at, ok := constantInt(key)
	c, isCall := child.(*plan.Call)
	if !ok || !isCall || c.Name != "array" || at < 0 || at >= int64(len(c.Args)) {
		return true
	}
	return c.Args[at].Nullable()
}

func getItem(c *plan.Call, env *Env) (Kernel, error) {
	if c.Args[0].Type().Kind == plan.KindMap {
		return mapLookup(c), nil
	}
	f := wrap
	if c.ANSI {
		f = raise
	}
	return arrayIndex(0, f)(c, env)
}

// arrayIndex takes the element at an index that counts from base.
func arrayIndex(base int64, f faults) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
		return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
			from, to := args[0].Span(i)
			at := integerAt(args[1], i)
			if at -= base; at >= 0 && at < int64(to-from) {
				return from + int(at), nil
			}
			if f == raise {
				return -1, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX",
					"the index "+itoa(int(at))+" is outside an array of "+itoa(to-from)+" elements.",
					"indexValue", itoa(int(at)), "arraySize", itoa(to-from)).At(c.Origin)
			}
			return -1, nil
		}), nil
	}
}

// gatherElements picks one element of the container's last part for each row;
// a negative one stands for NULL.
func gatherElements(c *plan.Call, pick func(args []*chunk.Vector, i int) (int, error)) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = -1
		}
		for _, i := range active(validOf(args, n), sel, n) {
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
func mapLookup(c *plan.Call) Kernel {
	order := Compare(c.Args[1].Type())
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
func bindElementAt(b *Binding) (*plan.Call, error) {
	if err := b.between(2, 2); err != nil {
		return nil, err
	}
	child, key := b.Args[0], b.Args[1]
	t := child.Type()
	switch t.Kind {
	case plan.KindArray:
		if key.Type().Kind != plan.KindNull {
			key, _ = castInput(key, exactly(plan.Int), b.Env, b.Origin)
		}
		c := b.call([]plan.Expr{child, key}, *t.Elem, elementNullable(child, key))
		if key.Type().Kind != plan.KindInt {
			return nil, unexpected(b, c, 1, sqlType(plan.Int))
		}
		return c, nil
	case plan.KindMap:
		if common, ok := TightestType(*t.Key, key.Type(), b.Env); ok {
			child = b.cast(child, plan.Map(common, *t.Elem, t.ContainsNull))
			key = b.cast(key, common)
		}
		c := b.call([]plan.Expr{child, key}, *t.Elem, true)
		if !key.Type().EqualIgnoringNull(*child.Type().Key) {
			return nil, elementTypes(b, c, "MAP")
		}
		return c, nil
	default:
		c := b.call(b.Args, plan.Null, true)
		return nil, unexpected(b, c, 0, `("ARRAY" or "MAP")`)
	}
}

// elementTypes says that a container and what is looked for in it do not go
// together.
func elementTypes(b *Binding, c *plan.Call, container string) *plan.Error {
	l, r := c.Args[0].Type(), c.Args[1].Type()
	return mismatch(b, c, "MAP_FUNCTION_DIFF_TYPES", "values of "+r.SQL()+" are not looked for in "+l.SQL()+".",
		"functionName", plan.Quote(b.Def.Name), "dataType", quoted(container), "leftType", sqlType(l),
		"rightType", sqlType(r))
}

func elementNullable(child, key plan.Expr) bool {
	at, ok := constantInt(key)
	c, isCall := child.(*plan.Call)
	if !ok || !isCall || c.Name != "array" {
		return true
	}
	n := int64(len(c.Args))
	if at < 0 {
		at += n + 1
	}
	return at < 1 || at > n || c.Args[at-1].Nullable()
}

func elementAt(try bool) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
		if c.Args[0].Type().Kind == plan.KindMap {
			return mapLookup(c), nil
		}
		return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
			from, to := args[0].Span(i)
			at, size := int(chunk.Values[int32](args[1])[i]), to-from
			switch {
			case at == 0:
				return -1, runtimeError("INVALID_INDEX_OF_ZERO", "arrays count from 1, not from 0.").At(c.Origin)
			case at > 0 && at <= size:
				return from + at - 1, nil
			case at < 0 && -at <= size:
				return to + at, nil
			case c.ANSI && !try:
				return -1, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
					"the index "+itoa(at)+" is outside an array of "+itoa(size)+" elements.",
					"indexValue", itoa(at), "arraySize", itoa(size)).At(c.Origin)
			default:
				return -1, nil
			}
		}), nil
	}
}

// bindSize: without ANSI the size of NULL is -1.
func bindSize(b *Binding) (*plan.Call, error) {
	c, err := takes(oneOf(anyArray(), anyMap())).gives(plan.Int).bind(b)
	if err == nil && !b.Env.ANSI && b.Env.conf("spark.sql.legacy.sizeOfNull") != "false" {
		c.Null = false
	}
	return c, err
}

func sizeMaker(c *plan.Call, _ *Env) (Kernel, error) {
	if c.Null || c.ANSI {
		return sizes, nil
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

func sizes(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	out := newColumn(plan.Int, n, validOf(args, n))
	dst := chunk.Values[int32](out.Vector)
	for _, i := range active(out.Valid, sel, n) {
		dst[i] = args[0].Offsets[i+1] - args[0].Offsets[i]
	}
	return out.Vector, nil
}

var arrayJoin = text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	from, to := args[0].Span(i)
	kid := args[0].Kids[0]
	first := true
	for e := from; e < to; e++ {
		null := kid.IsNull(e)
		if null && len(args) < 3 {
			continue
		}
		if !first {
			dst = append(dst, args[1].Bytes(i)...)
		}
		first = false
		if null {
			dst = append(dst, args[2].Bytes(i)...)
		} else {
			dst = append(dst, kid.Bytes(e)...)
		}
	}
	return dst, true, nil
})

func sliceMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		start, length := int(chunk.Values[int32](args[1])[i]), int(chunk.Values[int32](args[2])[i])
		switch {
		case start == 0:
			return invalidParameter("START", "slice", "start", "arrays count from 1, not from 0.")
		case length < 0:
			return invalidParameter("LENGTH", "slice", "length", "a length cannot be negative.", "length",
				itoa(length))
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

func arrayOfArrays() input {
	return input{text: `"ARRAY" of "ARRAY"`, family: familyOther, concrete: plan.Null,
		accepts: func(t plan.Type) bool { return t.Kind == plan.KindArray && t.Elem.Kind == plan.KindArray }}
}

func flattened(args []plan.Expr) plan.Type { return *args[0].Type().Elem }

func flattenNull(args []plan.Expr) bool { return args[0].Nullable() || args[0].Type().ContainsNull }

func flattenMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
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
func repeatMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := newAppender(c.Of, n)
		for _, i := range active(args[1].Valid, sel, n) {
			v := out.skipTo(int(i))
			times := chunk.Values[int32](args[1])[i]
			if v.Kids[0].Len+int(times) > maxElements {
				return nil, tooManyElements("array_repeat", uint64(v.Kids[0].Len)+uint64(times))
			}
			for range times {
				appendAny(v.Kids[0], args[0], int(i))
			}
			v.AppendSpan()
		}
		return out.skipTo(n), nil
	}, nil
}
