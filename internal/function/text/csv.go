package text

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// csvDefs read and write CSV. Bound calls are as those of jsonDefs.
func csvDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "from_csv", Group: "csv_funcs", Bind: bindFromCSV, Kernel: fromCSV,
			Examples: []fn.Example{{"from_csv('1, 0.8', 'a INT, b DOUBLE')", "{1, 0.8}"}}},
		{Name: "schema_of_csv", Group: "csv_funcs", Bind: bindSchemaOfCSV, Kernel: schemaOfCSV,
			Examples: []fn.Example{{"schema_of_csv('1,abc')", "STRUCT<_c0: INT, _c1: STRING>"}}},
		{Name: "to_csv", Group: "csv_funcs", Bind: bindToCSV, Kernel: toCSV,
			Examples: []fn.Example{{"to_csv(named_struct('a', 1, 'b', 2))", "1,2"}}},
	}
}

func bindFromCSV(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	schema, err := schemaIn(b, b.Args[1])
	if err != nil {
		return nil, err
	}
	if schema.Kind != plan.KindStruct {
		return nil, plan.AnalysisError("INVALID_SCHEMA.NON_STRUCT_TYPE",
			"a record of CSV is a struct, not "+schema.SQL()+".",
			"inputSchema", fn.Quoted(b.SQL(b.Args[1])), "dataType", fn.SqlType(schema)).At(b.Origin)
	}
	c, err := withOptions(b, b.Args[0], b.Args[2:])
	if err != nil {
		return nil, err
	}
	c.Null = c.Args[0].Nullable()
	if c.Args[0].Type().Kind == plan.KindNull {
		c.Args[0] = plan.Lit(nil, plan.String)
	}
	if t := c.Args[0].Type(); !t.IsString() {
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("STRING"))
	}
	c.Of = schema.AsNullable()
	return c, nil
}

func csvOptions(c *plan.Call, env *fn.Env) (codec.CSVReadOptions, error) {
	o, err := codec.CSVReadOptionsOf(optionsOf(c), env.Zone, env.Now)
	if o.CorruptColumn == "" {
		o.CorruptColumn = env.Setting("spark.sql.columnNameOfCorruptRecord")
	}
	return o, err
}

func fromCSV(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := csvOptions(c, env)
	if err != nil {
		return nil, err
	}
	if o.Mode == codec.DropMalformed {
		return nil, plan.AnalysisError("PARSE_MODE_UNSUPPORTED", "from_csv does not drop records.",
			"funcName", "`from_csv`", "mode", "DROPMALFORMED")
	}
	for _, f := range c.Of.Fields {
		switch f.Type.Kind {
		case plan.KindArray, plan.KindMap, plan.KindStruct, plan.KindNull:
			return nil, plan.NewError(plan.ClassJavaUnsupported, "UNSUPPORTED_DATATYPE",
				"a cell of CSV is no "+f.Type.SQL()+".", "typeName", fn.SqlType(f.Type))
		}
	}
	if _, err := codec.NewCSVReader(c.Of, c.Of, o); err != nil {
		return nil, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		// A reader belongs to one goroutine.
		reader, err := codec.NewCSVReader(c.Of, c.Of, o)
		if err != nil {
			return nil, err
		}
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			return reader.AppendValue(args[0].Bytes(i), out)
		})(args[:1], sel, n)
	}, nil
}

func bindToCSV(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	c, err := withOptions(b, b.Args[0], b.Args[1:])
	if err != nil {
		return nil, err
	}
	t := b.Args[0].Type()
	if t.Kind == plan.KindNull {
		c.Args[0] = plan.Lit(nil, plan.Struct())
		return c, nil
	}
	if t.Kind != plan.KindStruct || !csvPrints(t) {
		return nil, fn.Mismatch(b, c, "UNSUPPORTED_INPUT_TYPE", "to_csv cannot write "+t.SQL()+".",
			"functionName", "`to_csv`", "dataType", fn.SqlType(t))
	}
	return c, nil
}

// csvPrints reports whether to_csv can write a type.
func csvPrints(t plan.Type) bool {
	switch t.Kind {
	case plan.KindVariant:
		return false
	case plan.KindArray:
		return csvPrints(*t.Elem)
	case plan.KindMap:
		return csvPrints(*t.Key) && csvPrints(*t.Elem)
	}
	for _, f := range t.Fields {
		if !csvPrints(f.Type) {
			return false
		}
	}
	return true
}

// csvWriteOptions are those of to_csv, which also refuses what only readers obey.
func csvWriteOptions(c *plan.Call, env *fn.Env) (codec.CSVOptions, error) {
	given := optionsOf(c)
	if _, err := csvOptions(c, env); err != nil {
		return codec.CSVOptions{}, err
	}
	if err := codec.CheckCSVLineSep(given); err != nil {
		return codec.CSVOptions{}, err
	}
	return codec.CSVOptionsOf(given, env.Zone)
}

func toCSV(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := csvWriteOptions(c, env)
	if err != nil {
		return nil, err
	}
	o.Function = true
	t := c.Args[0].Type()
	if _, err := codec.NewCSVWriter(t, o); err != nil {
		return nil, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		writer, err := codec.NewCSVWriter(t, o)
		if err != nil {
			return nil, err
		}
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			out, err := writer.AppendRow(dst, args[0].Kids, i)
			return out, len(out) > len(dst), err
		})(args[:1], sel, n)
	}, nil
}

func bindSchemaOfCSV(b *fn.Binding) (*plan.Call, error) {
	return bindSchemaOf(b, "csv")
}

func schemaOfCSV(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	o, err := csvOptions(c, env)
	if err != nil {
		return nil, err
	}
	text, _ := fn.ConstantText(c.Args[0])
	t, err := codec.SchemaOfCSV([]byte(text), o)
	if err != nil {
		return nil, err
	}
	return always(t.SQL()), nil
}

// bindSchemaOf binds a function that finds the schema of a constant text.
func bindSchemaOf(b *fn.Binding, format string) (*plan.Call, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	c, err := withOptions(b, b.Args[0], b.Args[1:])
	if err != nil {
		return nil, err
	}
	t := b.Args[0].Type()
	v, ok := cast.Folded(b, b.Args[0])
	switch {
	case t.Kind == plan.KindNull || ok && t.IsString() && v == nil:
		return nil, fn.Mismatch(b, c, "UNEXPECTED_NULL", "the text must not be NULL.", "exprName", format)
	case !t.IsString():
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("STRING"))
	case !ok:
		return nil, fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the text must be a constant.",
			"inputName", "`"+format+"`", "inputType", fn.SqlType(plan.String),
			"inputExpr", fn.Quoted(b.SQL(b.Args[0])))
	}
	c.Text = fn.Escaped(b.SQL(c))
	c.Args[0] = plan.Lit(v, plan.String)
	c.Null = false
	return c, nil
}
