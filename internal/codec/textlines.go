package codec

import (
	"bytes"
	"fmt"
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// chunkWriter hands chunks on when they are full.
type chunkWriter struct {
	schema  plan.Type
	chunk   *chunk.Chunk
	yield   func(*chunk.Chunk, error) bool
	stopped bool // the receiver wants no more
}

func newChunkWriter(schema plan.Type, yield func(*chunk.Chunk, error) bool) *chunkWriter {
	return &chunkWriter{schema: schema, chunk: chunk.NewChunk(schema, chunk.MaxRows), yield: yield}
}

// flush hands the rows on, in parts when a single record made more than a
// chunk holds.
func (w *chunkWriter) flush() {
	full := w.chunk
	for from := 0; from < full.Rows && !w.stopped; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, full.Rows)
		part := full
		if from > 0 || to < full.Rows {
			part = &chunk.Chunk{Rows: to - from}
			for _, v := range full.Cols {
				part.Cols = append(part.Cols, v.Slice(from, to))
			}
		}
		w.stopped = !w.yield(part, nil)
	}
	if w.stopped {
		return
	}
	w.chunk = chunk.NewChunk(w.schema, chunk.MaxRows)
	for i, v := range w.chunk.Cols {
		expect(v, full.Cols[i])
	}
}

// expect makes room for as many bytes of strings as the last chunk had, and an
// eighth more.
func expect(v, last *chunk.Vector) {
	if chunk.IsBytes(v.Type) {
		v.Data = make([]byte, 0, len(last.Data)+len(last.Data)/8)
	}
	for i, k := range v.Kids {
		expect(k, last.Kids[i])
	}
}

// lineBuffer is how much of a file is read at a time.
const lineBuffer = 256 << 10

// lineReader splits a file into lines. A line is valid until the next call.
type lineReader struct {
	src        io.Reader
	sep        []byte // nil: \n, \r\n and \r end a line
	buf        []byte
	start, end int
	searched   int // from start to here there is no separator
	newline    int // where the next \n is, -1 when not looked for
	carriage   int // where the next \r is or may be: there is none from start to here
	done       bool
}

func newLineReader(src io.Reader, sep string) *lineReader {
	l := &lineReader{src: src, buf: make([]byte, lineBuffer), newline: -1}
	if sep != "" {
		l.sep = []byte(sep)
	}
	return l
}

// next is the next line without its end, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		if line, ok := l.split(); ok {
			return line, nil
		}
		if l.done {
			if l.start == l.end {
				return nil, io.EOF
			}
			line := l.buf[l.start:l.end]
			l.start = l.end
			if l.sep == nil {
				line = bytes.TrimSuffix(line, []byte("\r"))
			}
			return line, nil
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// split takes a whole line from the buffer.
func (l *lineReader) split() ([]byte, bool) {
	if l.sep != nil {
		i := bytes.Index(l.buf[l.searched:l.end], l.sep)
		if i < 0 {
			l.searched = max(l.start, l.end-len(l.sep)+1)
			return nil, false
		}
		return l.take(l.searched+i, len(l.sep)), true
	}
	if l.newline < l.start {
		l.newline = l.end
		if i := bytes.IndexByte(l.buf[l.searched:l.end], '\n'); i >= 0 {
			l.newline = l.searched + i
		}
	}
	if at := l.carriageReturn(); at < l.newline && at+1 < l.end {
		n := 1
		if at+1 == l.newline {
			n = 2
		}
		return l.take(at, n), true
	}
	if l.newline == l.end {
		l.searched, l.newline = l.end, -1
		return nil, false
	}
	return l.take(l.newline, 1), true
}

// carriageReturn is where the next \r is, at or beyond the end without one. Most
// files have none, so it is looked for in the whole buffer at once.
func (l *lineReader) carriageReturn() int {
	if l.carriage < l.start {
		l.carriage = l.start
	}
	if l.carriage < l.newline && l.buf[l.carriage] != '\r' {
		i := bytes.IndexByte(l.buf[l.carriage:l.end], '\r')
		if i < 0 {
			i = l.end - l.carriage
		}
		l.carriage += i
	}
	return l.carriage
}

// take cuts a line that ends at a separator of n bytes.
func (l *lineReader) take(end, n int) []byte {
	line := l.buf[l.start:end]
	l.start = end + n
	l.searched = l.start
	return line
}

// fill reads more, behind what is left of the buffer.
func (l *lineReader) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.searched -= l.start
		l.carriage -= l.start
		l.start, l.newline = 0, -1
	}
	if l.end == len(l.buf) {
		if len(l.buf) >= maxRecordBytes {
			return fmt.Errorf("a line is longer than %d bytes", maxRecordBytes)
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.src.Read(l.buf[l.end:])
	l.end += n
	if err == io.EOF {
		l.done = true
		return nil
	}
	return err
}
