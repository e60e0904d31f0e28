package codec

import (
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// TextSchema is that of text files: one column of lines.
func TextSchema() plan.Type { return plan.Struct(plan.Col("value", plan.String)) }

// TextOptions are those of Spark's text source.
type TextOptions struct {
	WholeText bool   // a file is one value
	LineSep   string // default: \n, \r\n and \r
}

// ReadText reads a file into chunks of the one column.
func ReadText(src io.Reader, o TextOptions) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		out := newChunkWriter(TextSchema(), yield)
		if err := readText(src, o, out); err != nil {
			yield(nil, err)
			return
		}
		if !out.stopped {
			out.flush()
		}
	}
}

func readText(src io.Reader, o TextOptions, out *chunkWriter) error {
	if o.WholeText {
		b, err := readWhole(src)
		if err == nil {
			out.chunk.Cols[0].AppendBytes(b)
			out.chunk.Rows++
		}
		return err
	}
	lines := newLineReader(src, o.LineSep)
	for first := true; !out.stopped; first = false {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if first && len(line) >= 3 && string(line[:3]) == string(byteOrderMark) {
			line = line[3:]
		}
		out.chunk.Cols[0].AppendBytes(line)
		out.chunk.Rows++
		if out.chunk.Rows == chunk.MaxRows {
			out.flush()
		}
	}
	return nil
}

// AppendTextLines prints rows of the one column, each with its separator; NULL
// is an empty line, as in Spark.
func AppendTextLines(dst []byte, c *chunk.Chunk, sep string) []byte {
	if sep == "" {
		sep = "\n"
	}
	v := c.Cols[0]
	for i := range c.Rows {
		if !v.IsNull(i) {
			dst = append(dst, v.Bytes(i)...)
		}
		dst = append(dst, sep...)
	}
	return dst
}
