package file

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func Text() *connector.Format {
	schema := codec.TextSchema()
	k := &kind{
		name:  "text",
		title: "Text",
		alias: "text.TextFileFormat",
		doc:   "lines, as one column of strings",
		options: connector.Options([][3]string{
			{"wholetext", "false", "whether a file is one value"},
			{"lineSep", "", "what ends a line; else \\n, \\r\\n and \\r"},
		}),
		fixed:  &schema,
		reads:  plan.Type.IsString,
		writes: plan.Type.IsString,
		shape: func(schema plan.Type) error {
			if n := len(schema.Fields); n != 1 {
				return plan.AnalysisError("_LEGACY_ERROR_TEMP_1290",
					fmt.Sprintf("Text files hold one column, and there are %d.", n), "schemaSize", strconv.Itoa(n))
			}
			return nil
		},
		decode: func(_ context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows {
			whole, err := connector.BoolOption(job.options, "wholetext", false)
			if err != nil {
				return chunk.Fail(err)
			}
			sep, _ := job.options.Get("lineSep")
			rows := decompressed(name, file, func(in io.Reader) chunk.Rows {
				return codec.ReadText(in, codec.TextOptions{WholeText: whole, LineSep: sep})
			})
			if len(job.want.Fields) == 0 {
				return withoutColumns(rows)
			}
			return rows
		},
		suffix: func(_ *connector.Env, o plan.Options) (string, error) { return lineSuffix(o, ".txt") },
		encode: func(job *writeJob, w io.Writer) (encoder, error) {
			sep, _ := job.options.Get("lineSep")
			return newLineEncoder(job.options, w, func(dst []byte, c *chunk.Chunk) ([]byte, error) {
				return codec.AppendTextLines(dst, c, sep), nil
			})
		},
	}
	return k.format()
}

// withoutColumns keeps only the number of rows.
func withoutColumns(rows chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err == nil {
				c = &chunk.Chunk{Rows: c.Rows}
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
