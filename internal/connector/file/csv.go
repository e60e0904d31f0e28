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

func CSV() *connector.Format {
	k := &kind{
		name:  "csv",
		title: "CSV",
		alias: "csv.CSVFileFormat",
		doc:   "one record a line, its cells between separators",
		options: connector.Options([][3]string{
			{"sep", ",", "what stands between cells, of one character or more; delimiter is another name"},
			{"header", "false", "whether each file begins with the names of the columns"},
			{"quote", `"`, "what stands around cells that need it"},
			{"escape", `\`, "what stands before a quote in a cell"},
			{"charToEscapeQuoteEscaping", "", "what stands before an escape that is meant itself; else the escape"},
			{"nullValue", "", "what NULL is written as"},
			{"emptyValue", "", "what the empty string is written as; two quotes when files are written"},
			{"lineSep", "", "what ends a line; else \\n, \\r\\n and \\r, and \\n when files are written"},
			{"encoding", "UTF-8", "the character set; charset is another name"},
			{"dateFormat", "", "pattern of dates"},
			{"timestampFormat", "", "pattern of timestamps"},
			{"timestampNTZFormat", "", "pattern of timestamps without time zone"},
			{"timeZone", "", "time zone of timestamps; the session's when it is not given"},
			{"ignoreLeadingWhiteSpace", "false", "whether white space before cells is dropped; written: true"},
			{"ignoreTrailingWhiteSpace", "false", "whether white space behind cells is dropped; written: true"},
			{"mode", "PERMISSIVE", "what malformed records become: PERMISSIVE, DROPMALFORMED, FAILFAST"},
			{"columnNameOfCorruptRecord", "_corrupt_record", "the column that holds malformed records"},
			{"multiLine", "false", "whether cells in quotes may hold line ends"},
			{"comment", "", "what a line that is none begins with"},
			{"enforceSchema", "true", "whether the schema holds whatever names a header has"},
			{"inferSchema", "false", "whether types are found by reading; else all columns are strings"},
			{"preferDate", "true", "inference: whether dates are looked for"},
			{"nanValue", "NaN", "the number that is none"},
			{"positiveInf", "Inf", "the infinite number"},
			{"negativeInf", "-Inf", "the negative infinite number"},
			{"locale", "en-US", "language tag that says how decimals are written"},
			{"maxColumns", "20480", "most cells of a record"},
			{"maxCharsPerColumn", "-1", "most characters of a cell, -1 for any number"},
			{"unescapedQuoteHandling", "STOP_AT_DELIMITER", "what a quote in quotes that is not escaped does"},
			{"quoteAll", "false", "written files: whether every value is quoted"},
			{"escapeQuotes", "true", "written files: whether values with quotes are quoted"},
		}),
		reads: csvHolds,
		shape: csvShape,
		infer: inferCSV,
		check: func(env *connector.Env, o plan.Options) error {
			_, err := csvOptions(env, o)
			return err
		},
		decode: decodeCSV,
		writes: csvHolds,
		suffix: func(_ *connector.Env, o plan.Options) (string, error) { return lineSuffix(o, ".csv") },
		encode: encodeCSV,
	}
	return k.format()
}

func csvHolds(t plan.Type) bool { return t.IsAtomic() && t.Kind != plan.KindCalendar }

// csvShape refuses columns that CSV has in Spark and not here.
func csvShape(schema plan.Type) error {
	for _, f := range schema.Fields {
		switch f.Type.Kind {
		case plan.KindDayTime, plan.KindYearMonth, plan.KindVariant, plan.KindTime:
			return plan.Unsupported(f.Type.SQL() + " in CSV")
		}
	}
	return nil
}

func csvOptions(env *connector.Env, o plan.Options) (codec.CSVReadOptions, error) {
	opts, err := codec.CSVReadOptionsOf(o, env.Eval.Zone, env.Now().UnixMicro())
	if err == nil {
		err = codec.CheckCSVLineSep(o)
	}
	if err == nil && opts.CorruptColumn == "" {
		opts.CorruptColumn = env.Conf("spark.sql.columnNameOfCorruptRecord")
	}
	opts.CaseSensitive = connector.ConfBool(env, "spark.sql.caseSensitive", false)
	opts.ColumnPruning = opts.ColumnPruning && connector.ConfBool(env,
		"spark.sql.csv.parser.columnPruning.enabled", true)
	return opts, err
}

func decodeCSV(_ context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows {
	opts, err := csvOptions(job.env, job.options)
	if err == nil && connector.ConfBool(job.env, "spark.sql.csv.filterPushdown.enabled", true) {
		opts.Filters, err = rowFilters(job)
	}
	if err != nil {
		return chunk.Fail(err)
	}
	if f := job.want.Fields; len(f) == 1 && f[0].Name == opts.CorruptColumn {
		return chunk.Fail(onlyCorrupt("CSV", f[0].Name))
	}
	reader, err := codec.NewCSVReader(job.want, job.schema, opts)
	if err != nil {
		return chunk.Fail(err)
	}
	return decompressed(name, file, reader.Read)
}

func inferCSV(_ context.Context, job *readJob, files []dataFile) (plan.Type, bool, error) {
	opts, err := csvOptions(job.env, job.options)
	if err != nil {
		return plan.Type{}, false, err
	}
	inference, err := codec.NewCSVInference(opts)
	if err != nil {
		return plan.Type{}, false, err
	}
	if err := inferLines(files, inference.Read); err != nil {
		return plan.Type{}, false, err
	}
	schema, _ := inference.Schema()
	return schema, len(files) > 0, nil
}

func encodeCSV(job *writeJob, w io.Writer) (encoder, error) {
	opts, err := codec.CSVOptionsOf(job.options, job.env.Eval.Zone)
	if err != nil {
		return nil, err
	}
	writer, err := codec.NewCSVWriter(job.schema, opts)
	if err != nil {
		return nil, err
	}
	e, err := newLineEncoder(job.options, w, func(dst []byte, c *chunk.Chunk) ([]byte, error) {
		var err error
		for i := range c.Rows {
			if dst, err = writer.AppendRow(dst, c.Cols, i); err != nil {
				return nil, err
			}
		}
		return dst, nil
	})
	if err != nil {
		return nil, err
	}
	_, err = e.out.Write(writer.AppendHeader(nil))
	return e, err
}
