package delta

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
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

// ReadFile yields the named columns of one data file, without the rows that its
// deletion vector names.
func (s *Snapshot) ReadFile(ctx context.Context, f *Add, columns []string) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		fields, err := s.fields(columns)
		var take pick
		if err == nil {
			take, err = s.undeleted(f.DeletionVector)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		data := dataOf{path: f.Path, values: f.PartitionValues, take: take}
		if err := s.readData(ctx, data, fields, yield); err != nil {
			yield(nil, err)
		}
	}
}

// fields are the table's columns of these names.
func (s *Snapshot) fields(columns []string) ([]plan.Field, error) {
	fields := make([]plan.Field, len(columns))
	for i, name := range columns {
		at := columnIndex(s.Schema, name)
		if at < 0 {
			return nil, fmt.Errorf("read %s: it has no column %q", s.Dir, name)
		}
		fields[i] = s.Schema.Fields[at]
	}
	return fields, nil
}

// dataOf says what is read of a file: a data file, or a file of changes.
type dataOf struct {
	path   string // as the log has it
	values map[string]*string
	take   pick
}

// fileColumn is a column of the result: read from the file, or the same value
// in every row.
type fileColumn struct {
	at    int       // among the columns that are read, -1 for a constant
	as    plan.Type // the type with the table's names, unless the file has these
	value *chunk.Vector
}

func (s *Snapshot) readData(
	ctx context.Context, d dataOf, fields []plan.Field, yield func(*chunk.Chunk, error) bool,
) error {
	want := plan.Struct()
	layout := make([]fileColumn, len(fields))
	for i, field := range fields {
		field.Type = field.Type.Unbounded()
		if !s.Partitioned(field.Name) {
			layout[i].at = len(want.Fields)
			if s.Metadata.mapping() != "none" {
				layout[i].as = field.Type
			}
			want.Fields = append(want.Fields, field)
			continue
		}
		value, err := partValue(partitionOf(d.values, physicalName(field)), field)
		if err != nil {
			return fmt.Errorf("read %s: %w", d.path, err)
		}
		layout[i] = fileColumn{at: -1, value: value}
	}
	name, err := s.dataPath(d.path)
	if err != nil {
		return err
	}
	file, err := s.FS.Open(name)
	if vfs.NotFound(err) {
		return fileGone(name, err)
	}
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
	if want, err = s.inFile(parquet, want, name); err != nil {
		return err
	}
	for c, err := range picked(parquet.Read(ctx, want), d.take) {
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

// inFile is columns of the table as a file calls them.
func (s *Snapshot) inFile(f *codec.ParquetFile, want plan.Type, name string) (plan.Type, error) {
	mode := s.Metadata.mapping()
	if mode == "none" {
		return want, nil
	}
	want = physical(want)
	if mode == "name" {
		return want, nil
	}
	named, ok := f.NamesByID(want)
	if !ok && len(want.Fields) > 0 {
		return want, damaged(name, "its columns have no ids, and the table finds columns by id")
	}
	return named, nil
}

// fileGone is Spark's error for a data file that is not there any more.
func fileGone(name string, cause error) *plan.Error {
	e := plan.NewError(plan.ClassSpark, "FAILED_READ_FILE.FILE_NOT_EXIST",
		fmt.Sprintf("The data file %s is gone. Vacuum removes the files of old versions of a table: read a newer "+
			"version, or keep files longer (delta.deletedFileRetentionDuration).", name),
		"path", "file:"+name)
	e.Cause = cause
	return e
}

// PartitionValue is the value that a file has in a partition column, as the log
// writes it; nil for NULL.
func (s *Snapshot) PartitionValue(f *Add, column string) *string {
	if at := columnIndex(s.Schema, column); at >= 0 {
		column = physicalName(s.Schema.Fields[at])
	}
	return partitionOf(f.PartitionValues, column)
}

// partitionOf is a partition value of a file; writers differ in the case of names.
func partitionOf(values map[string]*string, name string) *string {
	if v, ok := values[name]; ok {
		return v
	}
	for key, v := range values {
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
			out.Cols[i] = relabel(c.Cols[col.at], col.as)
			continue
		}
		out.Cols[i] = chunk.Gather(col.value, make([]int32, c.Rows))
	}
	return out
}
