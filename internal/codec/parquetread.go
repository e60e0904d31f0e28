package codec

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// ParquetFile is an open file.
type ParquetFile struct {
	name   string
	reader *file.Reader
	arrow  *pqarrow.FileReader
	schema plan.Type // as the file says it, by Spark's own metadata if it is there
	stored plan.Type // as the columns are read
}

// OpenParquet reads the footer of a file of size bytes; name is for errors.
func OpenParquet(r io.ReaderAt, size int64, name string) (f *ParquetFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = brokenFile(name, fmt.Errorf("%v", p))
		}
	}()
	reader, err := file.NewParquetReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, brokenFile(name, err)
	}
	a, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{BatchSize: chunk.MaxRows},
		memory.DefaultAllocator)
	if err != nil {
		return nil, brokenFile(name, err)
	}
	as, err := a.Schema()
	if err != nil {
		return nil, brokenFile(name, err)
	}
	stored, err := chunk.FromArrowSchema(as)
	if err != nil {
		return nil, brokenFile(name, err)
	}
	f = &ParquetFile{name: name, reader: reader, arrow: a, stored: stored, schema: stored}
	if text := reader.MetaData().KeyValueMetadata().FindValue(rowMetadata); text != nil {
		if t, err := plan.ParseTypeJSON(*text); err == nil && sameColumns(t, stored) {
			f.schema = t
		}
	}
	return f, nil
}

func sameColumns(a, b plan.Type) bool {
	if a.Kind != plan.KindStruct || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i, f := range a.Fields {
		if f.Name != b.Fields[i].Name {
			return false
		}
	}
	return true
}

// brokenFile is Spark's error for a file that cannot be read.
func brokenFile(name string, err error) error {
	e := plan.NewError(plan.ClassSpark, "FAILED_READ_FILE.NO_HINT",
		fmt.Sprintf("The Parquet file %s cannot be read: %v.", name, err), "path", name)
	e.Cause = err
	return e
}

// Schema is the file's columns.
func (f *ParquetFile) Schema() plan.Type { return f.schema }

// Rows is the number of rows.
func (f *ParquetFile) Rows() int64 { return f.reader.NumRows() }

// Close releases the file; the reader given to OpenParquet stays the caller's.
func (f *ParquetFile) Close() error { return f.reader.Close() }

// Read yields the columns of want, found by name whatever the case; a column
// that the file does not have is NULL.
func (f *ParquetFile) Read(ctx context.Context, want plan.Type) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		columns := f.match(want)
		next, err := f.open(ctx, columns)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			c, err := next()
			if err == io.EOF {
				return
			}
			if err == nil {
				c, err = f.project(c, columns, want)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// match is the file's column for each wanted one, -1 for those it lacks.
func (f *ParquetFile) match(want plan.Type) []int {
	columns := make([]int, len(want.Fields))
	for i, w := range want.Fields {
		columns[i] = -1
		for k, have := range f.stored.Fields {
			if have.Name == w.Name {
				columns[i] = k
				break
			}
			if columns[i] < 0 && strings.EqualFold(have.Name, w.Name) {
				columns[i] = k
			}
		}
	}
	return columns
}

// open begins reading the matched columns. The returned function yields chunks
// of the distinct matched columns, in the order of the file.
func (f *ParquetFile) open(ctx context.Context, columns []int) (func() (*chunk.Chunk, error), error) {
	wanted := map[int]bool{}
	for _, c := range columns {
		if c >= 0 {
			wanted[c] = true
		}
	}
	if len(wanted) == 0 {
		return f.countOnly(), nil
	}
	var leaves []int
	schema := f.reader.MetaData().Schema
	for leaf := range schema.NumColumns() {
		root := schema.Root().FieldIndexByField(schema.ColumnRoot(leaf))
		if wanted[root] {
			leaves = append(leaves, leaf)
		}
	}
	rr, err := f.reading(ctx, leaves)
	if err != nil {
		return nil, err
	}
	var fields []plan.Field
	for k, field := range f.stored.Fields {
		if wanted[k] {
			fields = append(fields, field)
		}
	}
	part := plan.Struct(fields...)
	return func() (*chunk.Chunk, error) { return f.next(rr, part) }, nil
}

func (f *ParquetFile) reading(ctx context.Context, leaves []int) (rr pqarrow.RecordReader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = brokenFile(f.name, fmt.Errorf("%v", p))
		}
	}()
	rr, err = f.arrow.GetRecordReader(ctx, leaves, nil)
	if err != nil {
		return nil, brokenFile(f.name, err)
	}
	return rr, nil
}

// countOnly yields rows without columns.
func (f *ParquetFile) countOnly() func() (*chunk.Chunk, error) {
	left := f.Rows()
	return func() (*chunk.Chunk, error) {
		if left == 0 {
			return nil, io.EOF
		}
		n := min(left, chunk.MaxRows)
		left -= n
		return &chunk.Chunk{Rows: int(n)}, nil
	}
}

func (f *ParquetFile) next(rr pqarrow.RecordReader, part plan.Type) (c *chunk.Chunk, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = brokenFile(f.name, fmt.Errorf("%v", p))
		}
	}()
	rec, err := rr.Read()
	if err == io.EOF || err == nil && rec == nil {
		rr.Release()
		return nil, io.EOF
	}
	if err != nil {
		return nil, brokenFile(f.name, err)
	}
	if c, err = chunk.FromArrow(rec, part); err != nil {
		return nil, brokenFile(f.name, err)
	}
	return c, nil
}

// project puts the read columns in the wanted order and types.
func (f *ParquetFile) project(read *chunk.Chunk, columns []int, want plan.Type) (*chunk.Chunk, error) {
	position := map[int]int{}
	for k := range f.stored.Fields {
		for _, c := range columns {
			if _, seen := position[k]; c == k && !seen {
				position[k] = len(position)
			}
		}
	}
	out := &chunk.Chunk{Rows: read.Rows, Cols: make([]*chunk.Vector, len(columns))}
	for i, k := range columns {
		t := want.Fields[i].Type
		if k < 0 {
			out.Cols[i] = chunk.NullVector(t, read.Rows)
			continue
		}
		v, ok := adapt(read.Cols[position[k]], t)
		if !ok {
			return nil, typeMismatch(f.name, want.Fields[i], f.stored.Fields[k].Type)
		}
		out.Cols[i] = v
	}
	return out, nil
}

func typeMismatch(name string, want plan.Field, have plan.Type) error {
	return plan.NewError(plan.ClassSpark, "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
		fmt.Sprintf("The column %s of the Parquet file %s has type %s where %s is expected.",
			want.Name, name, have.Simple(), want.Type.Simple()),
		"path", name, "column", "["+want.Name+"]", "expectedType", want.Type.Simple(), "actualType", have.Simple())
}
