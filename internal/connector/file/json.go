package file

import (
	"context"
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func JSON() *connector.Format {
	k := &kind{
		name:  "json",
		title: "JSON",
		alias: "json.JsonFileFormat",
		doc:   "one JSON object a line, or a whole file with multiLine",
		options: connector.Options([][3]string{
			{"mode", "PERMISSIVE", "what malformed records become: PERMISSIVE, DROPMALFORMED, FAILFAST"},
			{"columnNameOfCorruptRecord", "_corrupt_record", "the column that holds malformed records"},
			{"multiLine", "false", "whether a file is one record or an array of records"},
			{"lineSep", "", "what ends a line; else \\n, \\r\\n and \\r"},
			{"encoding", "UTF-8", "the character set"},
			{"dateFormat", "", "pattern of dates"},
			{"timestampFormat", "", "pattern of timestamps"},
			{"timestampNTZFormat", "", "pattern of timestamps without time zone"},
			{"timeZone", "", "time zone of timestamps; the session's when it is not given"},
			{"singleVariantColumn", "", "a column of type VARIANT that takes whole records, of any shape"},
			{"primitivesAsString", "false", "inference: whether every value is a string"},
			{"prefersDecimal", "false", "inference: whether fractions are decimals"},
			{"ignoreNullFields", "true", "written files: whether NULL fields are left out"},
		}),
		reads:  jsonHolds,
		writes: jsonHolds,
		stated: singleVariant,
		infer:  inferJSON,
		check: func(env *connector.Env, o plan.Options) error {
			opts, err := jsonOptions(env, o)
			if err == nil {
				_, err = codec.NewJSONReader(plan.Struct(), opts)
			}
			return err
		},
		decode: decodeJSON,
		suffix: func(_ *connector.Env, o plan.Options) (string, error) { return lineSuffix(o, ".json") },
		encode: encodeJSON,
	}
	return k.format()
}

func jsonHolds(t plan.Type) bool {
	return everyPart(t, func(t plan.Type) bool { return t.Kind != plan.KindCalendar })
}

// everyPart reports whether a type and all types within it pass.
func everyPart(t plan.Type, pass func(plan.Type) bool) bool {
	if t.Key != nil && !everyPart(*t.Key, pass) || t.Elem != nil && !everyPart(*t.Elem, pass) {
		return false
	}
	for _, f := range t.Fields {
		if !everyPart(f.Type, pass) {
			return false
		}
	}
	return pass(t)
}

func jsonOptions(env *connector.Env, o plan.Options) (codec.JSONOptions, error) {
	opts, err := codec.JSONOptionsOf(o, env.Eval.Zone, env.Now().UnixMicro())
	if err == nil && opts.CorruptColumn == "" {
		opts.CorruptColumn = env.Conf("spark.sql.columnNameOfCorruptRecord")
	}
	return opts, err
}

const onlyCorruptColumn = "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN"

// onlyCorrupt refuses queries that read nothing but malformed records.
func onlyCorrupt(format, column string) error {
	return plan.AnalysisError(onlyCorruptColumn,
		"A query of "+format+" files cannot read the column "+plan.Quote(column)+" alone: name another column too.")
}

func decodeJSON(_ context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows {
	opts, err := jsonOptions(job.env, job.options)
	if err == nil && connector.ConfBool(job.env, "spark.sql.json.filterPushdown.enabled", true) {
		opts.Filters, err = rowFilters(job)
	}
	if err != nil {
		return chunk.Fail(err)
	}
	if f := job.want.Fields; len(f) == 1 && f[0].Name == opts.CorruptColumn {
		return chunk.Fail(onlyCorrupt("JSON", f[0].Name))
	}
	reader, err := codec.NewJSONReader(job.want, opts)
	if err != nil {
		return chunk.Fail(err)
	}
	return decompressed(name, file, reader.Read)
}

// rowFilters are the conditions that the reader checks, as Spark's does.
func rowFilters(job *readJob) ([]codec.RowFilter, error) {
	if job.env.Condition == nil {
		return nil, nil
	}
	var filters []codec.RowFilter
	for _, cond := range job.filters {
		f := codec.RowFilter{}
		columns := plan.References(cond)
		for i, a := range job.attrs {
			if columns[a.ID] {
				f.Columns = append(f.Columns, i)
			}
		}
		var err error
		if f.True, err = job.env.Condition(cond, job.attrs); err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func inferJSON(_ context.Context, job *readJob, files []dataFile) (plan.Type, bool, error) {
	opts, err := jsonOptions(job.env, job.options)
	if err != nil {
		return plan.Type{}, false, err
	}
	inference, err := codec.NewJSONInference(opts)
	if err != nil {
		return plan.Type{}, false, err
	}
	if err := inferLines(files, inference.Read); err != nil {
		return plan.Type{}, false, err
	}
	schema, err := inference.Schema()
	return schema, len(files) > 0, err
}

// singleVariant is the schema of whole records in one column, if the options ask for that.
func singleVariant(env *connector.Env, o plan.Options, given *plan.Type) (plan.Type, bool, error) {
	opts, err := jsonOptions(env, o)
	switch {
	case err != nil || opts.SingleVariant == "":
		return plan.Type{}, false, err
	case given == nil:
		return plan.Struct(plan.Col(opts.SingleVariant, plan.Variant)), true, nil
	}
	return *given, true, opts.CheckSingleVariant(*given)
}

func encodeJSON(job *writeJob, w io.Writer) (encoder, error) {
	opts, err := jsonOptions(job.env, job.options)
	if err != nil {
		return nil, err
	}
	if _, ok := job.options.Get("ignoreNullFields"); !ok {
		opts.KeepNulls = !connector.ConfBool(job.env, "spark.sql.jsonGenerator.ignoreNullFields", true)
	}
	writer, err := codec.NewJSONWriter(job.schema, opts)
	if err != nil {
		return nil, err
	}
	sep := opts.LineSep
	if sep == "" {
		sep = "\n"
	}
	return newLineEncoder(job.options, w, func(dst []byte, c *chunk.Chunk) ([]byte, error) {
		var err error
		for i := range c.Rows {
			if dst, err = writer.AppendRow(dst, c.Cols, i); err != nil {
				return nil, err
			}
			dst = append(dst, sep...)
		}
		return dst, nil
	})
}
