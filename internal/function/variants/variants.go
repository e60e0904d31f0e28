package variants

import (
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

const group = "variant_funcs"

// Defs is the functions of this family.
func Defs() []*fn.Def {
	text, variant := fn.Takes(fn.Str()).Expecting(), fn.Takes(fn.Exactly(plan.Variant)).Expecting()
	return []*fn.Def{
		fn.Scalar("is_variant_null", group, variant.Gives(plan.Boolean).WithNull(fn.Never), fn.Plain(isNull),
			fn.Example{"is_variant_null(parse_json('null'))", "true"},
			fn.Example{"is_variant_null(parse_json('13'))", "false"}),
		fn.Scalar("parse_json", group, text.Gives(plan.Variant), fn.Plain(parser(true)),
			fn.Example{`parse_json('{"a":1,"b":0.8}')`, `{"a":1,"b":0.8}`}),
		fn.Scalar("schema_of_variant", group, variant.Gives(plan.String), fn.Plain(schemaOf),
			fn.Example{`schema_of_variant(parse_json('[{"b":true,"a":0}]'))`,
				"ARRAY<OBJECT<a: BIGINT, b: BOOLEAN>>"}),
		{Name: "to_variant_object", Group: group, Bind: bindObject, Kernel: object,
			Examples: []fn.Example{{"to_variant_object(named_struct('a', 1, 'b', 2))", `{"a":1,"b":2}`}}},
		fn.Scalar("try_parse_json", group, text.Gives(plan.Variant).WithNull(fn.Always), fn.Plain(parser(false)),
			fn.Example{"try_parse_json('{a:1}')", "NULL"}),
		{Name: "try_variant_get", Group: group, Bind: bindGet, Kernel: getter(false),
			Examples: []fn.Example{{`try_variant_get(parse_json('[1, "hello"]'), '$[1]', 'int')`, "NULL"}}},
		{Name: "variant_get", Group: group, Bind: bindGet, Kernel: getter(true),
			Examples: []fn.Example{{`variant_get(parse_json('{"a": 1}'), '$.a', 'int')`, "1"}}},
	}
}

func isNull(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(plan.Boolean, n, nil)
	for _, i := range fn.Active(fn.ValidOf(args, n), sel, n) {
		is := cast.VariantAt(args[0], int(i)).Kind() == variant.Null
		chunk.Values[uint8](out.Vector)[i] = fn.Bit(is)
	}
	return out.Vector, nil
}

// parser reads JSON; a text that is none is an error, or NULL.
func parser(fails bool) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		var b variant.Builder
		return fn.Nested(plan.Variant, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			b.Reset()
			err := b.ParseJSON(args[0].Bytes(i))
			switch {
			case err == nil:
				return cast.AppendVariant(out, &b)
			case !fails:
				out.AppendNull()
				return nil
			}
			text := args[0].Text(i)
			return plan.NewError(plan.ClassSpark, "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
				err.Error()+": "+text, "badRecord", text, "failFastMode", "FAILFAST")
		})(args, sel, n)
	}
}

func bindGet(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	args := b.Args
	if len(args) == 2 {
		args = append(args[:2:2], plan.Lit("variant", plan.String))
	}
	shown := fn.Escaped(b.ShownName()) + "($1, $2)"
	for i, want := range []plan.Type{plan.Variant, plan.String} {
		switch t := args[i].Type(); {
		case t.Kind == plan.KindNull:
			args = append(args[:0:0], args...)
			args[i] = &plan.Cast{Child: args[i], To: want, Implicit: true}
		case t.Kind != want.Kind && !(want.IsString() && t.IsString()):
			c := b.Call(args, plan.Null, true)
			c.Text = shown
			return nil, fn.Unexpected(b, c, i, fn.SqlType(want))
		}
	}
	to, err := typeIn(b, args[2])
	if err != nil {
		return nil, err
	}
	c := b.Call(args, to.AsNullable(), true)
	c.Text = shown
	if !cast.Can(plan.Variant, to, plan.CastANSI) {
		return nil, fn.Mismatch(b, c, "CAST_WITHOUT_SUGGESTION", "a variant is never "+to.SQL()+".",
			"srcType", fn.SqlType(plan.Variant), "targetType", fn.SqlType(to))
	}
	return c, nil
}

// typeIn is the type that the last argument of variant_get names.
func typeIn(b *fn.Binding, e plan.Expr) (plan.Type, error) {
	v, ok := cast.Folded(b, e)
	text, isText := v.(string)
	switch {
	case !ok || !isText:
		return plan.Type{}, plan.AnalysisError("INVALID_SCHEMA.NON_STRING_LITERAL",
			"a type must be a constant text, not "+b.SQL(e)+".", "inputSchema", fn.Quoted(b.SQL(e))).At(b.Origin)
	case b.Env.Schema == nil:
		return plan.Type{}, plan.Unsupported("types in DDL here")
	}
	if strings.TrimSpace(text) == "" {
		return plan.Type{}, plan.NewError(plan.ClassParse, "PARSE_EMPTY_STATEMENT", "No type is named.")
	}
	t, err := b.Env.Schema(text)
	if err != nil && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		name := fn.Quoted(strings.ToUpper(text))
		return t, plan.NewError(plan.ClassParse, "UNSUPPORTED_DATATYPE", "There is no type "+name+".",
			"typeName", name)
	}
	if err == nil && t.Bounded() {
		err = t.CharAsString()
	}
	return t, err
}

// getter takes parts of variants.
func getter(fails bool) func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			g := part{function: c.Name, reader: cast.NewVariantReader(c.Of, env, fails)}
			return fn.Nested(c.Of, g.append)(args[:2], sel, n)
		}, nil
	}
}

// part takes the part of a variant that a path leads to. One goroutine uses it.
type part struct {
	function string
	reader   *cast.VariantReader
	text     string // of path
	path     variant.Path
	read     bool // text was read
}

func (g *part) append(out *chunk.Vector, args []*chunk.Vector, i int) error {
	if text := args[1].Bytes(i); !g.read || string(text) != g.text {
		g.text = string(text)
		if g.path, g.read = variant.ParsePath(g.text); !g.read {
			return badPath(g.function, g.text)
		}
	}
	v, found, err := g.path.Get(cast.VariantAt(args[0], i))
	switch {
	case err != nil:
		return cast.VariantError(err)
	case !found:
		out.AppendNull()
		return nil
	}
	return g.reader.Append(out, v)
}

func badPath(function, path string) error {
	return fn.RuntimeError("INVALID_VARIANT_GET_PATH",
		"The path "+path+" is none: write $, then .name, [0] or ['name'] for each step.",
		"path", path, "functionName", "`"+function+"`")
}

func bindObject(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(1, 1); err != nil {
		return nil, err
	}
	t := b.Args[0].Type()
	c := b.Call(b.Args, plan.Variant, b.Args[0].Nullable())
	nested := t.Kind == plan.KindStruct || t.Kind == plan.KindMap || t.Kind == plan.KindArray
	if !nested || !holds(t) {
		return nil, fn.Mismatch(b, c, "CAST_WITHOUT_SUGGESTION", t.SQL()+" is not made an object.",
			"srcType", fn.SqlType(t), "targetType", fn.SqlType(plan.Variant))
	}
	return c, nil
}

// holds reports whether a variant may hold values of a type.
func holds(t plan.Type) bool {
	switch t.Kind {
	case plan.KindArray:
		return holds(*t.Elem)
	case plan.KindMap:
		return t.Key.IsString() && holds(*t.Elem)
	case plan.KindStruct:
		for _, f := range t.Fields {
			if !holds(f.Type) {
				return false
			}
		}
		return true
	case plan.KindVariant:
		return true
	case plan.KindNull:
		return false
	}
	return cast.Can(t, plan.Variant, plan.CastANSI)
}

func object(_ *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(plan.Variant, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		var b variant.Builder
		b.Reset()
		if err := cast.BuildVariant(&b, args[0], i); err != nil {
			return cast.VariantError(err)
		}
		return cast.AppendVariant(out, &b)
	}), nil
}

// schemaOf prints the types of variants.
func schemaOf(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		v := cast.VariantAt(args[0], i)
		left := len(v.Data)
		s, err := shapeOf(v, 0, &left)
		if err != nil {
			return dst, false, cast.VariantError(err)
		}
		var b strings.Builder
		s.print(&b)
		return append(dst, b.String()...), true, nil
	})(args, sel, n)
}
