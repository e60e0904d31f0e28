package file

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// reader turns files into the columns of a scan.
type reader struct {
	kind          *kind
	job           readJob
	columns       []readColumn
	parts         []plan.Field
	look          *partLook
	ignoreCorrupt bool
	ignoreMissing bool
}

// readColumn says where a column of the scan comes from: a data column of the
// file, its path, or what is known about the file.
type readColumn struct {
	data int // index in job.want, -1 for none
	part int // index in parts, -1 for none
	meta *plan.Type
}

func newReader(env *connector.Env, k *kind, s *plan.Scan) (*reader, error) {
	rel := &s.Relation
	r := &reader{kind: k, look: newPartLook(env), job: readJob{env: env, options: rel.Options}}
	split := len(rel.Schema.Fields) - len(rel.Partitions)
	r.job.schema, r.parts = plan.Struct(rel.Schema.Fields[:split]...), rel.Schema.Fields[split:]
	r.job.want = plan.Struct()
	for _, a := range s.Attrs {
		at := connector.FieldIndex(rel.Schema, a.Name)
		switch {
		case at >= split:
			r.columns = append(r.columns, readColumn{data: -1, part: at - split})
		case at >= 0:
			r.columns = append(r.columns, readColumn{data: len(r.job.want.Fields), part: -1})
			r.job.want.Fields = append(r.job.want.Fields, rel.Schema.Fields[at])
			r.job.attrs = append(r.job.attrs, a)
		case a.Name == metadataName:
			r.columns = append(r.columns, readColumn{data: -1, part: -1, meta: &a.Of})
		default:
			return nil, fmt.Errorf("open %s files: there is no column %q", k.name, a.Name)
		}
	}
	r.job.filters = dataFilters(s.Filters, r.job.attrs)
	var err error
	corrupt := connector.ConfBool(env, "spark.sql.files.ignoreCorruptFiles", false)
	if r.ignoreCorrupt, err = connector.BoolOption(rel.Options, "ignoreCorruptFiles", corrupt); err != nil {
		return nil, err
	}
	missing := connector.ConfBool(env, "spark.sql.files.ignoreMissingFiles", false)
	r.ignoreMissing, err = connector.BoolOption(rel.Options, "ignoreMissingFiles", missing)
	return r, err
}

// dataFilters are the conditions that are about data columns only.
func dataFilters(filters []plan.Expr, data []*plan.Attribute) []plan.Expr {
	return slices.DeleteFunc(slices.Clone(filters), func(cond plan.Expr) bool {
		columns := plan.References(cond)
		for _, a := range data {
			delete(columns, a.ID)
		}
		return len(columns) > 0
	})
}

// rows reads files. Those without bytes are left out, and as in Spark those
// beside the partition directories of a table that has partitions.
func (r *reader) rows(ctx context.Context, files []dataFile) chunk.Rows {
	files = slices.DeleteFunc(slices.Clone(files), func(f dataFile) bool {
		return f.size == 0 || !isData(f.name()) || len(r.parts) > 0 && len(f.partition()) == 0
	})
	if r.kind.shape != nil {
		if err := r.kind.shape(r.job.schema); err != nil {
			return chunk.Fail(err)
		}
	}
	if r.kind.check != nil {
		if err := r.kind.check(r.job.env, r.job.options); err != nil {
			return chunk.Fail(err)
		}
	}
	return connector.ReadParts(r.job.env, sizesOf(files), func(i int) chunk.Rows {
		return r.file(ctx,
			files[i])
	})
}

func sizesOf(files []dataFile) []int64 {
	sizes := make([]int64, len(files))
	for i, f := range files {
		sizes[i] = f.size
	}
	return sizes
}

// file reads one file. Rows before the place where it is broken are yielded.
func (r *reader) file(ctx context.Context, f dataFile) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		extra, err := r.constants(f)
		if err != nil {
			yield(nil, err)
			return
		}
		file, err := f.loc.FS.Open(f.path)
		if err != nil {
			if err = r.judge(f, err); err != nil {
				yield(nil, err)
			}
			return
		}
		defer file.Close()
		for c, err := range r.kind.decode(ctx, &r.job, f.name(), file) {
			if err == nil && ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if err != nil {
				if err = r.judge(f, err); err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(r.assemble(c, extra), nil) {
				return
			}
		}
	}
}

// mistakes are conditions of a query, not of a file that it reads.
var mistakes = []string{
	onlyCorruptColumn, "INVALID_CORRUPT_RECORD_TYPE",
	"INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
}

// judge is the error of a file that cannot be read, nil when it may be skipped.
func (r *reader) judge(f dataFile, err error) error {
	condition, missing := "FAILED_READ_FILE.NO_HINT", vfs.NotFound(err)
	var known *plan.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &known) &&
		(slices.Contains(mistakes, known.Condition) || known.Class == plan.ClassUpgrade):
		return err // the query is wrong, not the file
	case missing && r.ignoreMissing, !missing && r.ignoreCorrupt:
		r.job.env.Losef("The file %s is skipped: %v", f.uri(), err)
		return nil
	case missing:
		condition = "FAILED_READ_FILE.FILE_NOT_EXIST"
	case known != nil && strings.HasPrefix(known.Condition, "FAILED_READ_FILE."):
		if known.Args["path"] != "" {
			known.Args["path"] = f.uri()
		}
		return err
	}
	why := err.Error()
	if known != nil {
		why = known.Msg // the condition of the error is the file's
	}
	e := plan.NewError(plan.ClassSpark, condition, fmt.Sprintf("The file %s cannot be read: %s", f.uri(), why),
		"path", f.uri())
	e.Cause = err
	return e
}

// constants are the columns that have one value in a whole file.
func (r *reader) constants(f dataFile) ([]*chunk.Vector, error) {
	var values []partValue
	extra := make([]*chunk.Vector, len(r.columns))
	for i, col := range r.columns {
		switch {
		case col.meta != nil:
			extra[i] = metadataOf(f, *col.meta)
		case col.part >= 0:
			if values == nil {
				values = f.partition()
			}
			field, raw := r.parts[col.part], noValue
			for _, v := range values {
				if r.look.same(v.name, field.Name) {
					raw = v.raw
				}
			}
			v, err := r.look.value(raw, field)
			if err != nil {
				return nil, err
			}
			extra[i] = v
		}
	}
	return extra, nil
}

func (r *reader) assemble(c *chunk.Chunk, extra []*chunk.Vector) *chunk.Chunk {
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(r.columns)), Rows: c.Rows}
	for i, col := range r.columns {
		if col.data >= 0 {
			out.Cols[i] = c.Cols[col.data]
			continue
		}
		out.Cols[i] = chunk.Gather(extra[i], make([]int32, c.Rows))
	}
	return out
}

const metadataName = "_metadata"

// metadata is the hidden column that tells about the file of a row.
func metadata() plan.Field {
	must := func(name string, t plan.Type) plan.Field { return plan.Field{Name: name, Type: t} }
	return must(metadataName, plan.Struct(
		must("file_path", plan.String), must("file_name", plan.String), must("file_size", plan.Long),
		must("file_block_start", plan.Long), must("file_block_length", plan.Long),
		must("file_modification_time", plan.Timestamp)))
}

// metadataOf is one row of metadata, with the fields that t has.
func metadataOf(f dataFile, t plan.Type) *chunk.Vector {
	v := chunk.New(t, 1)
	for i, field := range t.Fields {
		var x plan.Value
		switch field.Name {
		case "file_path":
			x = f.uri()
		case "file_name":
			x = f.name()
		case "file_size", "file_block_length":
			x = f.size
		case "file_block_start":
			x = int64(0)
		case "file_modification_time":
			x = f.mtime * 1000
		}
		v.Kids[i].AppendValue(x)
	}
	v.AppendRow()
	return v
}
