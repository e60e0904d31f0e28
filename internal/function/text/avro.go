package text

import (
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec/avro"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// avroDefs read and write Avro. A bound call of from_avro holds the bytes, the
// schema, then the options as literals.
func avroDefs() []*fn.Def {
	const record = `{"type":"record","name":"r","fields":[{"name":"x","type":"int"},` +
		`{"name":"y","type":["null","string"]}]}`
	return []*fn.Def{
		{Name: "from_avro", Group: "misc_funcs", Bind: bindFromAvro, Kernel: fromAvro,
			Examples: []fn.Example{{"from_avro(X'0202027a', '" + record + "')", "{1, z}"}}},
		{Name: "to_avro", Group: "misc_funcs", Bind: bindToAvro, Kernel: toAvro,
			Examples: []fn.Example{{"hex(to_avro(named_struct('x', 1, 'y', 'z'), '" + record + "'))", "0202027A"}}},
		{Name: "schema_of_avro", Group: "misc_funcs", Bind: bindSchemaOfAvro, Kernel: schemaOfAvro,
			Examples: []fn.Example{{"schema_of_avro('" + record + "')", "STRUCT<x: INT NOT NULL, y: STRING>"}}},
	}
}

// avroHint is how Spark refuses an argument of these functions.
func avroHint(b *fn.Binding, why string) error {
	c := b.Call(b.Args, plan.Binary, true)
	return fn.Mismatch(b, c, "TYPE_CHECK_FAILURE_WITH_HINT", why+".", "msg", why, "hint", "")
}

// constantSchema is the schema of an argument, which must be a constant text.
func constantSchema(b *fn.Binding, e plan.Expr, which, direction string) (*avro.Schema, error) {
	v, ok := cast.Folded(b, e)
	text, isText := v.(string)
	t := e.Type()
	if !ok || !isText && (v != nil || !t.IsString() && t.Kind != plan.KindNull) {
		return nil, avroHint(b, "The "+which+" argument of the "+strings.ToUpper(b.Def.Name)+
			" SQL function must be a constant string containing the JSON representation of the schema to use for "+
			"converting the value "+direction+" AVRO format")
	}
	return avro.ParseSchema(text)
}

// avroText is how a call of n arguments shows: those that were not given are NULL.
func avroText(b *fn.Binding, n int) string {
	text := fn.Escaped(b.ShownName()) + "($1"
	for i := 1; i < n; i++ {
		shown := "NULL"
		if i < len(b.Args) {
			shown = b.SQL(b.Args[i])
		}
		text += ", " + fn.Escaped(shown)
	}
	return text + ")"
}

// avroOptions are the options of an argument, as the literals of a bound call.
func avroOptions(b *fn.Binding, rest []plan.Expr, which string) ([]plan.Expr, error) {
	if len(rest) == 0 {
		return nil, nil
	}
	m, ok := rest[0].(*plan.Call)
	if ok && m.Name == "map" && m.Of.Key.IsString() && m.Of.Elem.IsString() {
		c, err := withOptions(b, plan.Lit(nil, plan.String), rest)
		if err != nil {
			return nil, err
		}
		return c.Args[1:], nil
	}
	if v, ok := cast.Folded(b, rest[0]); ok && v == nil {
		return nil, nil
	}
	return nil, avroHint(b, "The "+which+" argument of the "+strings.ToUpper(b.Def.Name)+
		" SQL function must be a constant map of strings to strings containing the options to use for "+
		"converting the value from AVRO format")
}

func avroTypes(o plan.Options) (avro.TypeOptions, error) {
	var t avro.TypeOptions
	if text, ok := o.Get("enableStableIdentifiersForUnionType"); ok {
		t.StableUnions = strings.EqualFold(text, "true")
	}
	t.Prefix, _ = o.Get("stableIdentifierPrefixForUnionType")
	if text, ok := o.Get("recursiveFieldMaxDepth"); ok {
		n, ok := parseDepth(text)
		if !ok {
			return t, plan.AnalysisError("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE",
				"The option recursiveFieldMaxDepth is a number of at most 15, not "+text+".",
				"optionName", "recursiveFieldMaxDepth", "message", "Should not be greater than 15.")
		}
		t.Depth = n
	}
	return t, nil
}

func parseDepth(text string) (int, bool) {
	n := 0
	if text == "-1" {
		return -1, true
	}
	for _, r := range text {
		if r < '0' || r > '9' || n > avro.MaxDepth {
			return 0, false
		}
		n = 10*n + int(r-'0')
	}
	return n, n <= avro.MaxDepth && text != ""
}

// avroSeen is the schema that values are read as: that of the option, or the writer's.
func avroSeen(written *avro.Schema, o plan.Options) (*avro.Schema, error) {
	if _, ok := o.Get("avroSchemaUrl"); ok {
		return nil, plan.Unsupported("the option avroSchemaUrl (the schema itself goes into avroSchema)")
	}
	if text, ok := o.Get("avroSchema"); ok {
		return avro.ParseSchema(text)
	}
	return written, nil
}

func bindFromAvro(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	written, err := constantSchema(b, b.Args[1], "second", "from")
	if err != nil {
		return nil, err
	}
	options, err := avroOptions(b, b.Args[2:], "third")
	if err != nil {
		return nil, err
	}
	c := b.Call(append([]plan.Expr{b.Args[0], plan.Lit(written.Text(), plan.String)}, options...),
		plan.Binary, true)
	c.Text = avroText(b, 3)
	o := avroCallOptions(c)
	if mode, _ := o.Get("mode"); strings.EqualFold(mode, "DROPMALFORMED") {
		return nil, plan.AnalysisError("PARSE_MODE_UNSUPPORTED", "from_avro does not drop records.",
			"funcName", "`from_avro`", "mode", "DROPMALFORMED").At(b.Origin)
	}
	seen, err := avroSeen(written, o)
	if err != nil {
		return nil, err
	}
	types, err := avroTypes(o)
	if err != nil {
		return nil, err
	}
	if c.Of, _, err = seen.Type(types); err != nil {
		return nil, err
	}
	c.Of = c.Of.AsNullable()
	if c.Args[0].Type().Kind == plan.KindNull {
		c.Args[0] = plan.Lit(nil, plan.Binary)
	}
	if c.Args[0].Type().Kind != plan.KindBinary {
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("BINARY"))
	}
	return c, nil
}

// avroCallOptions are those of a bound call of from_avro.
func avroCallOptions(c *plan.Call) plan.Options { return optionsOf(&plan.Call{Args: c.Args[1:]}) }

func fromAvro(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	text, _ := fn.ConstantText(c.Args[1])
	written, err := avro.ParseSchema(text)
	if err != nil {
		return nil, err
	}
	o := avroCallOptions(c)
	seen, err := avroSeen(written, o)
	if err != nil {
		return nil, err
	}
	// As in Spark, a mode that is none of the known ones is PERMISSIVE.
	mode, given := o.Get("mode")
	strict := !given || strings.EqualFold(mode, "FAILFAST")
	rebase, ok := o.Get("datetimeRebaseMode")
	if !ok {
		rebase = env.Setting("spark.sql.avro.datetimeRebaseModeInRead")
	}
	read := avro.ReadOptions{Schema: seen, Zone: env.Zone, Rebase: avro.Rebase(strings.ToUpper(rebase))}
	if _, err := avro.NewValueReader(written, c.Of, read); err != nil {
		return nil, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		// A reader belongs to one goroutine.
		reader, err := avro.NewValueReader(written, c.Of, read)
		if err != nil {
			return nil, err
		}
		one := chunk.New(c.Of, 1)
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			one.Reset()
			err := reader.AppendValue(args[0].Bytes(i), one)
			switch {
			case err == nil:
				out.AppendFrom(one, 0)
			case strict:
				return malformedAvro(err)
			default:
				appendBlank(out)
			}
			return nil
		})(args[:1], sel, n)
	}, nil
}

// appendBlank is the value of a malformed record: a struct of NULLs, or NULL.
func appendBlank(v *chunk.Vector) {
	if v.Type.Kind != plan.KindStruct {
		v.AppendNull()
		return
	}
	for _, kid := range v.Kids {
		kid.AppendNull()
	}
	v.AppendRow()
}

func malformedAvro(err error) error {
	return &plan.Error{Class: plan.ClassSpark, Cause: err, Msg: "A value of from_avro is malformed: " +
		err.Error() +
		". Set the option mode to PERMISSIVE to get NULL for it."}
}

func bindToAvro(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	arg := b.Args[0]
	schema, err := avro.SchemaOf(arg.Type(), false, "", "")
	if len(b.Args) == 2 {
		if schema, err = constantSchema(b, b.Args[1], "second", "to"); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	c := b.Call([]plan.Expr{arg, plan.Lit(schema.Text(), plan.String)}, plan.Binary, arg.Nullable())
	c.Text = avroText(b, 2)
	_, err = avro.NewValueWriter(schema, arg.Type(), false)
	return c, err
}

func toAvro(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	text, _ := fn.ConstantText(c.Args[1])
	schema, err := avro.ParseSchema(text)
	if err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		writer, err := avro.NewValueWriter(schema, t, false)
		if err != nil {
			return nil, err
		}
		var buf []byte
		return fn.Nested(plan.Binary, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			var err error
			if buf, err = writer.AppendValue(buf[:0], args[0], i); err == nil {
				out.AppendBytes(buf)
			}
			return err
		})(args[:1], sel, n)
	}, nil
}

func bindSchemaOfAvro(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	schema, err := constantSchema(b, b.Args[0], "first", "from")
	if err != nil {
		return nil, err
	}
	options, err := avroOptions(b, b.Args[1:], "second")
	if err != nil {
		return nil, err
	}
	c := b.Call(append([]plan.Expr{plan.Lit(schema.Text(), plan.String)}, options...), plan.String, false)
	c.Text = fn.Escaped(b.SQL(&plan.Call{Name: b.Def.Name, Args: append(b.Args[:len(b.Args):len(b.Args)],
		plan.Lit(nil, plan.Null))[:2]}))
	_, err = avroSchemaText(c)
	return c, err
}

func avroSchemaText(c *plan.Call) (string, error) {
	text, _ := fn.ConstantText(c.Args[0])
	o := optionsOf(c)
	schema, err := avro.ParseSchema(text)
	if err == nil {
		schema, err = avroSeen(schema, o)
	}
	if err != nil {
		return "", err
	}
	types, err := avroTypes(o)
	if err != nil {
		return "", err
	}
	t, _, err := schema.Type(types)
	return t.SQL(), err
}

func schemaOfAvro(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	text, err := avroSchemaText(c)
	return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		return chunk.Repeat(text, plan.String, n), nil
	}, err
}
