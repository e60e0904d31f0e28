package connector

import (
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// csvFormat writes CSV; it does not read it yet.
func csvFormat() *Format {
	k := &fileKind{
		name:  "csv",
		title: "CSV",
		alias: "csv.CSVFileFormat",
		doc:   "values between separators; written only",
		options: []Option{
			{"sep", ",", "what stands between values"},
			{"header", "false", "whether each file begins with the names of the columns"},
			{"quote", `"`, "what stands around values that need it"},
			{"escape", `\`, "what stands before a quote in a value"},
			{"quoteAll", "false", "whether every value is quoted"},
			{"escapeQuotes", "true", "whether values with quotes are quoted"},
			{"nullValue", "", "what NULL becomes"},
			{"emptyValue", `""`, "what the empty string becomes"},
			{"lineSep", `\n`, "what ends a line"},
			{"dateFormat", "", "pattern of dates"},
			{"timestampFormat", "", "pattern of timestamps"},
			{"timestampNTZFormat", "", "pattern of timestamps without time zone"},
			{"timeZone", "", "time zone of timestamps; the session's when it is not given"},
			{"ignoreLeadingWhiteSpace", "true", "whether white space before values is dropped"},
			{"ignoreTrailingWhiteSpace", "true", "whether white space behind values is dropped"},
		},
		writes: func(t plan.Type) bool { return t.IsAtomic() && t.Kind != plan.KindCalendar },
		suffix: func(_ *Env, o plan.Options) (string, error) { return lineSuffix(o, ".csv") },
		encode: encodeCSV,
	}
	return k.format()
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
