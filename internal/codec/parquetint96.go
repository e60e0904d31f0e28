package codec

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// int96Column reads a top-level column of INT96 timestamps, the form Spark
// writes unless told otherwise. The Arrow library would turn them into
// nanoseconds since 1970, which end in 2262: 9999-12-31 would not be readable.
type int96Column struct {
	reader *file.Reader
	leaf   int
	group  int // the next row group
	levels int16
	chunk  *file.Int96ColumnChunkReader

	values []parquet.Int96
	defs   []int16
}

// int96Leaf is the leaf of a top-level column when it holds INT96, else -1.
func (f *ParquetFile) int96Leaf(column int) int {
	schema := f.reader.MetaData().Schema
	for leaf := range schema.NumColumns() {
		c := schema.Column(leaf)
		if schema.Root().FieldIndexByField(schema.ColumnRoot(leaf)) != column {
			continue
		}
		if c.PhysicalType() == parquet.Types.Int96 && c.MaxRepetitionLevel() == 0 && len(c.ColumnPath()) == 1 {
			return leaf
		}
		return -1
	}
	return -1
}

func newInt96Column(r *file.Reader, leaf int) *int96Column {
	return &int96Column{
		reader: r, leaf: leaf, levels: r.MetaData().Schema.Column(leaf).MaxDefinitionLevel(),
		values: make([]parquet.Int96, chunk.MaxRows), defs: make([]int16, chunk.MaxRows),
	}
}

// read is the next n rows.
func (c *int96Column) read(n int) (*chunk.Vector, error) {
	out := chunk.New(plan.Timestamp, n)
	for out.Len < n {
		if c.chunk == nil || !c.chunk.HasNext() {
			if c.chunk != nil && c.chunk.Err() != nil {
				return nil, c.chunk.Err()
			}
			if err := c.nextGroup(); err != nil {
				return nil, err
			}
			continue
		}
		want := min(n-out.Len, len(c.values))
		total, got, err := c.chunk.ReadBatch(int64(want), c.values, c.defs, nil)
		if err != nil {
			return nil, err
		}
		if total == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		c.take(out, int(total), got)
	}
	return out, nil
}

// take appends what a batch held: values for rows whose level says so.
func (c *int96Column) take(out *chunk.Vector, rows, values int) {
	next := 0
	for i := range rows {
		if c.levels > 0 && c.defs[i] < c.levels || next == values {
			out.AppendNull()
			continue
		}
		chunk.Append(out, int96Micros(c.values[next]))
		next++
	}
}

func (c *int96Column) nextGroup() error {
	if c.group >= c.reader.NumRowGroups() {
		return io.ErrUnexpectedEOF
	}
	column, err := c.reader.RowGroup(c.group).Column(c.leaf)
	if err != nil {
		return err
	}
	typed, ok := column.(*file.Int96ColumnChunkReader)
	if !ok {
		return fmt.Errorf("column %d is not of type INT96", c.leaf)
	}
	c.chunk = typed
	c.group++
	return nil
}

// julianEpoch is 1970-01-01 as a Julian day.
const julianEpoch = 2_440_588

// int96Micros is an INT96 timestamp, nanoseconds of a day and its Julian day,
// in µs since 1970.
func int96Micros(x parquet.Int96) int64 {
	nanos := int64(binary.LittleEndian.Uint64(x[:8]))
	day := int64(int32(binary.LittleEndian.Uint32(x[8:])))
	return (day-julianEpoch)*microsPerDay + floorDiv(nanos, 1000)
}
