package delta

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// Read yields the named columns of the table, file after file; Part is the
// number of the file.
func (s *Snapshot) Read(ctx context.Context, columns []string) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for i, f := range s.Files() {
			for c, err := range s.ReadFile(ctx, f, columns) {
				if err == nil {
					c.Part = i
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// ReadFile yields the named columns of one data file.
func (s *Snapshot) ReadFile(ctx context.Context, f *Add, columns []string) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		if err := s.readFile(ctx, f, columns, yield); err != nil {
			yield(nil, err)
		}
	}
}

// fileColumn is a column of the result: read from the file, or the same value
// in every row.
type fileColumn struct {
	at    int // among the columns that are read, -1 for a constant
	value *chunk.Vector
}

func (s *Snapshot) readFile(
	ctx context.Context, f *Add, columns []string, yield func(*chunk.Chunk, error) bool,
) error {
	want := plan.Struct()
	layout := make([]fileColumn, len(columns))
	for i, name := range columns {
		at := columnIndex(s.Schema, name)
		if at < 0 {
			return fmt.Errorf("read %s: it has no column %q", s.Dir, name)
		}
		field := s.Schema.Fields[at]
		field.Type = field.Type.Unbounded()
		if !s.Partitioned(name) {
			layout[i].at = len(want.Fields)
			want.Fields = append(want.Fields, field)
			continue
		}
		value, err := partValue(partitionOf(f, field.Name), field)
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Path, err)
		}
		layout[i] = fileColumn{-1, value}
	}
	name, err := s.dataPath(f.Path)
	if err != nil {
		return err
	}
	file, err := s.FS.Open(name)
	if err != nil {
		return fmt.Errorf("read the Delta table in %s: %w", s.Dir, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read the Delta table in %s: %w", s.Dir, err)
	}
	parquet, err := codec.OpenParquet(file, info.Size, "file:"+name)
	if err != nil {
		return err
	}
	defer parquet.Close()
	for c, err := range parquet.Read(ctx, want) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if !yield(assemble(c, layout), nil) {
			return nil
		}
	}
	return nil
}

// partitionOf is a partition value of a file; writers differ in the case of names.
func partitionOf(f *Add, name string) *string {
	if v, ok := f.PartitionValues[name]; ok {
		return v
	}
	for key, v := range f.PartitionValues {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

func assemble(c *chunk.Chunk, layout []fileColumn) *chunk.Chunk {
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(layout)), Rows: c.Rows}
	for i, col := range layout {
		if col.at >= 0 {
			out.Cols[i] = c.Cols[col.at]
			continue
		}
		out.Cols[i] = chunk.Gather(col.value, make([]int32, c.Rows))
	}
	return out
}
