package text

import (
	"errors"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// jsonDefs read and write JSON. A bound call holds the text or value, then the
// options as literals: a key, its value, the next key. Names of columns show
// the first argument only.
func jsonDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "from_json", Group: "json_funcs", Bind: bindFromJSON, Kernel: fromJSON,
			Examples: []fn.Example{{"from_json('{\"a\":1, \"b\":0.8}', 'a INT, b DOUBLE')", "{1, 0.8}"}}},
		{Name: "to_json", Group: "json_funcs", Bind: bindToJSON, Kernel: toJSON,
			Examples: []fn.Example{{"to_json(named_struct('a', 1, 'b', 2))", `{"a":1,"b":2}`}}},
		{Name: "schema_of_json", Group: "json_funcs", Bind: bindSchemaOfJSON, Kernel: schemaOfJSON,
			Examples: []fn.Example{{`schema_of_json('[{"col":0}]')`, "ARRAY<STRUCT<col: BIGINT>>"}}},
	}
}

func bindFromJSON(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	schema, err := schemaIn(b, b.Args[1])
	if err != nil {
		return nil, err
	}
	c, err := withOptions(b, b.Args[0], b.Args[2:])
	if err != nil {
		return nil, err
	}
	switch schema.Kind {
	case plan.KindStruct, plan.KindArray, plan.KindMap, plan.KindVariant:
	default:
		return nil, badJSONSchema(b, c, schema)
	}
	if c.Args[0].Type().Kind == plan.KindNull {
		c.Args[0] = plan.Lit(nil, plan.String)
	}
	if t := c.Args[0].Type(); !t.IsString() {
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("STRING"))
	}
	if badMapKey(schema) {
		const why = "maps of JSON have STRING keys."
		if schema.Kind != plan.KindMap {
			return nil, fn.Mismatch(b, c, "INVALID_JSON_MAP_KEY_TYPE", why, "schema", fn.SqlType(schema))
		}
		return nil, plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE", why,
			"schema", fn.SqlType(schema), "sqlExpr", fn.Quoted("entries")).At(b.Origin)
	}
	c.Of, c.Null = schema.AsNullable(), true
	if schema.Kind == plan.KindMap {
		c.Text = "entries"
	}
	return c, nil
}

func badJSONSchema(b *fn.Binding, c *plan.Call, t plan.Type) error {
	return fn.Mismatch(b, c, "INVALID_JSON_SCHEMA", t.SQL()+" is not a struct, an array or a map.",
		"schema", fn.SqlType(t))
}

// badMapKey tells whether keys of a map within t are not strings.
func badMapKey(t plan.Type) bool {
	return within(t, func(t plan.Type) bool { return t.Kind == plan.KindMap && !t.Key.IsString() })
}

// within tells whether a type or one within it is such, keys of maps apart.
func within(t plan.Type, such func(plan.Type) bool) bool {
	switch {
	case such(t):
		return true
	case t.Kind == plan.KindArray || t.Kind == plan.KindMap:
		return within(*t.Elem, such)
	}
	return slices.ContainsFunc(t.Fields, func(f plan.Field) bool { return within(f.Type, such) })
}

// schemaIn is the type that an argument names in DDL or in Spark's JSON.
func schemaIn(b *fn.Binding, e plan.Expr) (plan.Type, error) {
	v, _ := cast.Folded(b, e)
	text, ok := v.(string)
	if !ok {
		return plan.Type{}, plan.AnalysisError("INVALID_SCHEMA.NON_STRING_LITERAL",
			"a schema must be a constant text, not "+b.SQL(e)+".", "inputSchema", fn.Quoted(b.SQL(e))).At(b.Origin)
	}
	t, err := readSchema(b, text)
	if err == nil {
		err = unreadable(t)
	}
	var said *plan.Error
	if errors.As(err, &said) {
		at := *said
		at.Origin = b.Origin
		return t, &at
	}
	return t, err
}

func readSchema(b *fn.Binding, text string) (plan.Type, error) {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, `"`) {
		if t, err := plan.ParseTypeJSON(text); err == nil {
			return t, nil
		}
	}
	if b.Env.Schema == nil {
		return plan.Type{}, plan.Unsupported("schemas in DDL here")
	}
	return b.Env.Schema(text)
}

// unreadable refuses types that no text is read as.
func unreadable(t plan.Type) error {
	switch {
	case t.Bounded():
		return t.CharAsString()
	case within(t, fn.OfKind(plan.KindTime)):
		return plan.AnalysisError("UNSUPPORTED_TIME_TYPE", "a text is not read as TIME.")
	}
	return nil
}

// withOptions is a call of an argument and of options, which are written as a
// call of map.
func withOptions(b *fn.Binding, arg plan.Expr, options []plan.Expr) (*plan.Call, error) {
	args := []plan.Expr{arg}
	for _, o := range options {
		m, ok := o.(*plan.Call)
		if !ok || m.Name != "map" {
			return nil, plan.AnalysisError("INVALID_OPTIONS.NON_MAP_FUNCTION",
				"options are written as map('key', 'value').").At(b.Origin)
		}
		if t := m.Of; !t.Key.IsString() || !t.Elem.IsString() {
			return nil, plan.AnalysisError("INVALID_OPTIONS.NON_STRING_TYPE",
				"options are texts, but these are "+t.SQL()+".", "mapType", fn.SqlType(t)).At(b.Origin)
		}
		for _, e := range m.Args {
			v, ok := cast.Folded(b, e)
			if !ok {
				return nil, plan.Unsupported("options that are not constant")
			}
			args = append(args, plan.Lit(v, plan.String))
		}
	}
	c := b.Call(args, plan.String, true)
	c.Text = fn.Escaped(b.ShownName()) + "($1)"
	return c, nil
}

// optionsOf are those of a bound call.
func optionsOf(c *plan.Call) plan.Options {
	given := plan.Options{}
	for i := 1; i+1 < len(c.Args); i += 2 {
		k, _ := fn.ConstantText(c.Args[i])
		v, _ := fn.ConstantText(c.Args[i+1])
		given[k] = v
	}
	return given
}

func jsonOptions(c *plan.Call, env *fn.Env) (codec.JSONOptions, error) {
	o, err := codec.JSONOptionsOf(optionsOf(c), env.Zone, env.Now)
	if o.CorruptColumn == "" {
		o.CorruptColumn = env.Setting("spark.sql.columnNameOfCorruptRecord")
	}
	o.Function = true
	return o, err
}

func fromJSON(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := jsonOptions(c, env)
	if err != nil {
		return nil, err
	}
	if o.Mode == codec.DropMalformed {
		return nil, plan.AnalysisError("PARSE_MODE_UNSUPPORTED", "from_json does not drop records.",
			"funcName", "`from_json`", "mode", "DROPMALFORMED")
	}
	if c.Of.Kind == plan.KindStruct {
		if err := o.CheckSingleVariant(c.Of); err != nil {
			return nil, err
		}
	}
	if _, err := codec.NewJSONReader(c.Of, o); err != nil {
		return nil, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		// A reader belongs to one goroutine.
		reader, err := codec.NewJSONReader(c.Of, o)
		if err != nil {
			return nil, err
		}
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			return reader.AppendValue(args[0].Bytes(i), out)
		})(args[:1], sel, n)
	}, nil
}

func bindToJSON(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	c, err := withOptions(b, b.Args[0], b.Args[1:])
	if err != nil {
		return nil, err
	}
	switch t := b.Args[0].Type(); t.Kind {
	case plan.KindStruct, plan.KindArray, plan.KindMap, plan.KindVariant, plan.KindNull:
		return c, nil
	default:
		return nil, badJSONSchema(b, c, t)
	}
}

func toJSON(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := jsonOptions(c, env)
	if err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	if _, err := codec.NewJSONWriter(t, o); err != nil {
		return nil, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		writer, err := codec.NewJSONWriter(t, o)
		if err != nil {
			return nil, err
		}
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			out, err := writer.AppendValue(dst, args[0], i)
			return out, true, err
		})(args[:1], sel, n)
	}, nil
}

func bindSchemaOfJSON(b *fn.Binding) (*plan.Call, error) {
	return bindSchemaOf(b, "json")
}

func schemaOfJSON(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := jsonOptions(c, env)
	if err != nil {
		return nil, err
	}
	text, _ := fn.ConstantText(c.Args[0])
	t, err := codec.SchemaOfJSON([]byte(text), o)
	if err != nil {
		return nil, err
	}
	return always(t.SQL()), nil
}

// always gives one text for every row.
func always(text string) fn.Kernel {
	return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		return chunk.Repeat(text, plan.String, n), nil
	}
}
