package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// maxOpenFiles is how many data files are written at a time. Beyond it the one
// that was used least recently is ended.
const maxOpenFiles = 64

// DataSpec says what the rows to write look like.
type DataSpec struct {
	Schema     plan.Type // of the rows, columns in the table's order and as the table has them
	Partitions []string
	Zone       *time.Location // of timestamps in directory names
	// Sorted says that rows of a table with a change feed are on their way, whose
	// files Delta names as those of partitions.
	Sorted bool
}

// Written is what Write made.
type Written struct {
	Adds  []Add
	Rows  int64
	Bytes int64
}

// Write stores rows in new data files, durably, one for each partition of the
// input and of the table. They belong to the table once a Change names them;
// if that fails, Discard removes them.
func (t Table) Write(ctx context.Context, spec DataSpec, rows chunk.Rows) (Written, error) {
	w := newWriter(t, spec)
	for c, err := range rows {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = w.chunk(c)
		}
		if err != nil {
			return Written{}, errors.Join(err, w.abandon())
		}
	}
	if err := w.finish(); err != nil {
		return Written{}, errors.Join(err, w.abandon())
	}
	return w.written(), nil
}

// Discard removes data files that no commit named.
func (t Table) Discard(written Written) error {
	var failed error
	for _, a := range written.Adds {
		name, err := t.dataPath(a.Path)
		if err == nil {
			err = t.FS.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// dataPath is where the file of an add's or a remove's path is: within the table, or
// for a clone anywhere on the same file system.
func (t Table) dataPath(encoded string) (string, error) {
	rel, ok := vfs.DecodePath(encoded)
	if own, local := strings.CutPrefix(rel, "file:"); ok && local {
		rel = "/" + strings.TrimLeft(own, "/")
	}
	switch {
	case !ok || strings.Contains(rel, ":/"):
		return "", plan.Unsupported(fmt.Sprintf("the data file %q on another file system than its table", encoded))
	case path.IsAbs(rel):
		return path.Clean(rel), nil
	}
	return path.Join(t.Dir, rel), nil
}

// isOwn reports whether a data file is within the table.
func isOwn(encoded string) bool {
	rel, ok := vfs.DecodePath(encoded)
	return ok && !strings.Contains(rel, ":/") && !path.IsAbs(rel)
}

// fileKey is where a row goes: the input's partition and the directory.
type fileKey struct {
	part int
	dir  string
}

type dataFile struct {
	key    fileKey
	values map[string]*string
	name   string // relative to the table
	file   vfs.Writer
	buffer *bufio.Writer
	out    *codec.ParquetWriter
	stats  string
	rows   int64
	size   int64
	mtime  int64
	used   int64
}

type writer struct {
	table Table
	spec  DataSpec
	below string // directory of the files below the table's, "" for the table's own
	stem  string // first word of the files' names
	data  []int  // columns that go into the files
	by    []int  // partition columns
	file  plan.Type

	byName []string // of the partition columns, in the log
	mapped bool     // columns have other names in files, so directories are not named after them

	style codec.TextStyle
	open  map[fileKey]*dataFile
	clock int64
	files []*dataFile
}

func newWriter(t Table, spec DataSpec) *writer {
	w := &writer{table: t, spec: spec, stem: "part", file: plan.Struct(), open: map[fileKey]*dataFile{}}
	w.style = codec.TextStyle{Zone: codec.NewOffsets(spec.Zone)}
	inFiles := physical(spec.Schema.Unbounded())
	for i, f := range spec.Schema.Fields {
		w.mapped = w.mapped || inFiles.Fields[i].Name != f.Name
		if !slices.ContainsFunc(spec.Partitions, func(p string) bool { return strings.EqualFold(p, f.Name) }) {
			w.data = append(w.data, i)
			w.file.Fields = append(w.file.Fields, inFiles.Fields[i])
		}
	}
	for _, p := range spec.Partitions {
		at := columnIndex(spec.Schema, p)
		w.by = append(w.by, at)
		w.byName = append(w.byName, inFiles.Fields[at].Name)
	}
	return w
}

func (w *writer) chunk(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	for i, f := range w.spec.Schema.Fields {
		if err := checkNulls(f, f.Name, c.Cols[i]); err != nil {
			return err
		}
	}
	data := &chunk.Chunk{Cols: make([]*chunk.Vector, len(w.data)), Rows: c.Rows}
	for i, at := range w.data {
		data.Cols[i] = relabel(c.Cols[at], w.file.Fields[i].Type)
	}
	if len(w.by) == 0 {
		return w.append(fileKey{part: c.Part}, nil, data)
	}
	var dirs []string
	rows := map[string]chunk.Sel{}
	for r := range c.Rows {
		dir := w.dir(c, r)
		if rows[dir] == nil {
			dirs = append(dirs, dir)
		}
		rows[dir] = append(rows[dir], uint16(r))
	}
	for _, dir := range dirs {
		values := map[string]*string{}
		for i, at := range w.by {
			values[w.byName[i]] = partText(c.Cols[at], int(rows[dir][0]))
		}
		if err := w.append(fileKey{c.Part, dir}, values, data.Take(rows[dir])); err != nil {
			return err
		}
	}
	return nil
}

// checkNulls refuses NULL in a column, or in a field of a struct, that takes none.
// As in Delta, a NULL struct breaks the rule of its fields too.
func checkNulls(f plan.Field, name string, v *chunk.Vector) error {
	if !f.Nullable && v.Nulls() > 0 {
		return Refused("DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
			fmt.Sprintf("The column %s takes no NULL.", name), "columnName", name)
	}
	for i, inner := range f.Type.Fields {
		if !inner.Nullable && v.Nulls() > 0 {
			return checkNulls(inner, name+"."+inner.Name, chunk.NullVector(v.Kids[i].Type, 1))
		}
		if err := checkNulls(inner, name+"."+inner.Name, v.Kids[i]); err != nil {
			return err
		}
	}
	return nil
}

// dir is the directory of a row, named as Hive would.
func (w *writer) dir(c *chunk.Chunk, row int) string {
	var b strings.Builder
	for i, at := range w.by {
		if i > 0 {
			b.WriteByte('/')
		}
		v, value := c.Cols[at], noValue
		if text := partText(v, row); text != nil {
			value = *text
			if v.Type.Kind == plan.KindTimestamp {
				value = string(w.style.AppendValue(nil, v, row))
			}
			value = escapePart(value)
		}
		b.WriteString(escapePart(w.spec.Partitions[i]) + "=" + value)
	}
	return b.String()
}

func (w *writer) append(key fileKey, values map[string]*string, c *chunk.Chunk) error {
	f := w.open[key]
	if f == nil {
		var err error
		if f, err = w.begin(key, values); err != nil {
			return err
		}
	}
	w.clock++
	f.used = w.clock
	f.rows += int64(c.Rows)
	if err := f.out.Append(c); err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	return nil
}

func (w *writer) begin(key fileKey, values map[string]*string) (*dataFile, error) {
	if len(w.open) >= maxOpenFiles {
		var oldest *dataFile
		for _, f := range w.open {
			if oldest == nil || f.used < oldest.used {
				oldest = f
			}
		}
		if err := w.end(oldest); err != nil {
			return nil, err
		}
	}
	dash := "-"
	if key.dir != "" || w.spec.Sorted {
		dash = "."
	}
	base := fmt.Sprintf("%s-%05d-%s%sc000.snappy.parquet", w.stem, key.part, uuid.NewString(), dash)
	f := &dataFile{key: key, values: values, name: path.Join(w.below, key.dir, base)}
	if w.mapped {
		f.name = path.Join(w.below, base)
	}
	full := path.Join(w.table.Dir, f.name)
	err := vfs.MkdirDurable(w.table.FS, path.Dir(full))
	if err == nil {
		f.file, err = w.table.FS.CreateNew(full)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", f.name, err)
	}
	w.files = append(w.files, f)
	f.buffer = bufio.NewWriterSize(f.file, 64<<10)
	if f.out, err = codec.NewParquetWriter(f.buffer, w.file, codec.ParquetOptions{}); err != nil {
		return nil, err
	}
	w.open[key] = f
	return f, nil
}

// end makes a file durable and takes its statistics.
func (w *writer) end(f *dataFile) error {
	delete(w.open, f.key)
	summary, err := f.out.Close()
	if err == nil {
		err = f.buffer.Flush()
	}
	if err == nil {
		err = f.file.Sync()
	}
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	f.file = nil
	if err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	info, err := w.table.FS.Stat(path.Join(w.table.Dir, f.name))
	if err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	f.size, f.mtime, f.stats = info.Size, info.ModTime.UnixMilli(), statsText(w.file, summary)
	return nil
}

// finish ends every file and makes their names durable (D2).
func (w *writer) finish() error {
	dirs := map[string]bool{}
	for _, f := range w.files {
		if f.file != nil {
			if err := w.end(f); err != nil {
				return err
			}
		}
		dirs[path.Join(w.table.Dir, path.Dir(f.name))] = true
	}
	for _, dir := range sortedKeys(dirs) {
		if err := w.table.FS.SyncDir(dir); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	return nil
}

func (w *writer) written() Written {
	slices.SortStableFunc(w.files, func(a, b *dataFile) int {
		if a.key.part != b.key.part {
			return a.key.part - b.key.part
		}
		return strings.Compare(a.key.dir, b.key.dir)
	})
	var out Written
	for _, f := range w.files {
		values := f.values
		if values == nil {
			values = map[string]*string{}
		}
		out.Adds = append(out.Adds, Add{
			Path: vfs.EncodePath(f.name), PartitionValues: values, Size: f.size,
			ModificationTime: f.mtime, DataChange: true, Stats: f.stats,
		})
		out.Rows += f.rows
		out.Bytes += f.size
	}
	return out
}

// abandon closes and removes what was written.
func (w *writer) abandon() error {
	var failed error
	for _, f := range w.files {
		if f.file != nil {
			failed = errors.Join(failed, f.file.Close())
		}
		err := w.table.FS.Remove(path.Join(w.table.Dir, f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
