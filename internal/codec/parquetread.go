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
		s, err := f.scan(ctx, want)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.close()
		for s.left > 0 {
			c, err := s.next()
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// parquetScan reads some columns of a file from its first row to its last.
type parquetScan struct {
	f    *ParquetFile
	want plan.Type
	left int64

	// places say where each wanted column comes from.
	places []columnPlace
	rr     pqarrow.RecordReader // nil when the library reads no column
	part   plan.Type            // what rr yields
}

// columnPlace is where a wanted column comes from: a column of the batches
// that the library yields, an own reader, or nowhere.
type columnPlace struct {
	file    int // column of the file, -1 when it is not there
	batch   int
	special *int96Column
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

// scan begins reading the columns of want.
func (f *ParquetFile) scan(ctx context.Context, want plan.Type) (*parquetScan, error) {
	s := &parquetScan{f: f, want: want, left: f.Rows()}
	wanted := map[int]int{} // column of the file to column of the batches
	for _, k := range f.match(want) {
		place := columnPlace{file: k}
		if k >= 0 {
			if leaf := f.int96Leaf(k); leaf >= 0 {
				place.special = newInt96Column(f.reader, leaf)
			} else {
				wanted[k] = 0
			}
		}
		s.places = append(s.places, place)
	}
	var fields []plan.Field
	for k, field := range f.stored.Fields {
		if _, ok := wanted[k]; ok {
			wanted[k] = len(fields)
			fields = append(fields, field)
		}
	}
	for i, p := range s.places {
		s.places[i].batch = wanted[p.file]
	}
	if len(fields) == 0 {
		return s, nil
	}
	var leaves []int
	schema := f.reader.MetaData().Schema
	for leaf := range schema.NumColumns() {
		root := schema.Root().FieldIndexByField(schema.ColumnRoot(leaf))
		if _, ok := wanted[root]; ok {
			leaves = append(leaves, leaf)
		}
	}
	s.part = plan.Struct(fields...)
	var err error
	s.rr, err = f.reading(ctx, leaves)
	return s, err
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

func (s *parquetScan) close() {
	if s.rr != nil {
		s.rr.Release()
	}
}

// next is the next rows in the wanted order and types.
func (s *parquetScan) next() (out *chunk.Chunk, err error) {
	f := s.f
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, brokenFile(f.name, fmt.Errorf("%v", p))
		}
	}()
	read, err := s.batch()
	if err != nil {
		return nil, brokenFile(f.name, err)
	}
	s.left -= int64(read.Rows)
	out = &chunk.Chunk{Rows: read.Rows, Cols: make([]*chunk.Vector, len(s.places))}
	for i, place := range s.places {
		t := s.want.Fields[i].Type
		if place.file < 0 {
			out.Cols[i] = chunk.NullVector(t, read.Rows)
			continue
		}
		var v *chunk.Vector
		if place.special != nil {
			if v, err = place.special.read(read.Rows); err != nil {
				return nil, brokenFile(f.name, err)
			}
		} else {
			v = read.Cols[place.batch]
		}
		var ok bool
		if out.Cols[i], ok = adapt(v, t); !ok {
			return nil, typeMismatch(f.name, s.want.Fields[i], f.stored.Fields[place.file].Type)
		}
	}
	return out, nil
}

// batch is the next rows of the columns that the library reads.
func (s *parquetScan) batch() (*chunk.Chunk, error) {
	if s.rr == nil {
		return &chunk.Chunk{Rows: int(min(s.left, chunk.MaxRows))}, nil
	}
	rec, err := s.rr.Read()
	if err == io.EOF || err == nil && (rec == nil || rec.NumRows() == 0) {
		return nil, fmt.Errorf("%d rows are missing", s.left)
	}
	if err != nil {
		return nil, err
	}
	if rec.NumRows() > s.left {
		return nil, fmt.Errorf("there are more rows than the footer says")
	}
	return chunk.FromArrow(rec, s.part)
}

func typeMismatch(name string, want plan.Field, have plan.Type) error {
	return plan.NewError(plan.ClassSpark, "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
		fmt.Sprintf("The column %s of the Parquet file %s has type %s where %s is expected.",
			want.Name, name, have.Simple(), want.Type.Simple()),
		"path", name, "column", "["+want.Name+"]", "expectedType", want.Type.Simple(), "actualType", have.Simple())
}
