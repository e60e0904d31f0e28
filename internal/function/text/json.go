package text

import (
	"errors"
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
	if key := badMapKey(schema); key != nil {
		return nil, plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE",
			"maps of JSON have STRING keys.", "schema", fn.SqlType(*key), "sqlExpr", fn.Quoted("entries")).At(b.Origin)
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

// badMapKey is a map type within t whose keys are not strings.
func badMapKey(t plan.Type) *plan.Type {
	switch t.Kind {
	case plan.KindArray:
		return badMapKey(*t.Elem)
	case plan.KindMap:
		if !t.Key.IsString() {
			return &t
		}
		return badMapKey(*t.Elem)
	}
	for _, f := range t.Fields {
		if bad := badMapKey(f.Type); bad != nil {
			return bad
		}
	}
	return nil
}

// schemaIn is the type that an argument names in DDL or in Spark's JSON.
func schemaIn(b *fn.Binding, e plan.Expr) (plan.Type, error) {
	v, _ := cast.Folded(b, e)
	text, ok := v.(string)
	if !ok {
		return plan.Type{}, plan.AnalysisError("INVALID_SCHEMA.NON_STRING_LITERAL",
			"a schema must be a constant text, not "+b.SQL(e)+".", "inputSchema", fn.Quoted(b.SQL(e))).At(b.Origin)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return plan.ParseTypeJSON(text)
	}
	if b.Env.Schema == nil {
		return plan.Type{}, plan.Unsupported("schemas in DDL here")
	}
	t, err := b.Env.Schema(text)
	var said *plan.Error
	if errors.As(err, &said) {
		at := *said
		at.Origin = b.Origin
		return t, &at
	}
	return t, err
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
