package delta

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// ChangeKind is what a row of the change feed says of itself.
type ChangeKind string

// The kinds of changes.
const (
	Inserted ChangeKind = "insert"
	Deleted  ChangeKind = "delete"
	Before   ChangeKind = "update_preimage"
	After    ChangeKind = "update_postimage"
)

const (
	changeDir    = "_change_data"
	changeColumn = "_change_type"
)

// HasFeed reports whether the table has a change feed.
func (s *Snapshot) HasFeed() bool { return s.Metadata.HasFeed() }

// HasFeed reports whether a table of this description has a change feed.
func (m *Metadata) HasFeed() bool { return enabled("delta.enableChangeDataFeed")(m, plan.Type{}) }

// Rewriter writes the rows of a statement that changes rows: data files, and
// files of changes for a table with a change feed. Rows have the table's columns.
// Nobody sees the files before a Change names them.
type Rewriter struct {
	data *writer
	feed *writer // nil without a change feed
}

// Rewritten is what a Rewriter made.
type Rewritten struct {
	Written
	ChangeData []CDC
}

// NewRewriter writes rows of a schema, that of the table or a wider one. A feed is
// for tables that have one; a commit that only adds files, or only removes whole
// ones, needs none.
func (s *Snapshot) NewRewriter(schema plan.Type, zone *time.Location, feed bool) *Rewriter {
	spec := DataSpec{Schema: schema, Partitions: s.Metadata.PartitionColumns, Zone: zone, Sorted: feed}
	w := &Rewriter{data: newWriter(s.Table, spec)}
	if !feed {
		return w
	}
	spec.Schema = plan.Struct(append(slices.Clone(schema.AsNullable().Fields),
		plan.Col(changeColumn, plan.String))...)
	w.feed = newWriter(s.Table, spec)
	w.feed.below, w.feed.stem = changeDir, "cdc"
	return w
}

// Keep writes rows of the table.
func (w *Rewriter) Keep(c *chunk.Chunk) error { return w.data.chunk(c) }

// Changed tells the feed of rows, if there is one.
func (w *Rewriter) Changed(kind ChangeKind, c *chunk.Chunk) error {
	if w.feed == nil || c.Rows == 0 {
		return nil
	}
	kinds := chunk.New(plan.String, c.Rows)
	for range c.Rows {
		kinds.AppendText(string(kind))
	}
	out := *c
	out.Cols = append(slices.Clone(c.Cols), kinds)
	return w.feed.chunk(&out)
}

// HasFeed reports whether Changed wants rows.
func (w *Rewriter) HasFeed() bool { return w.feed != nil }

// Finish makes the files durable.
func (w *Rewriter) Finish() (Rewritten, error) {
	if err := w.data.finish(); err != nil {
		return Rewritten{}, errors.Join(err, w.Abandon())
	}
	out := Rewritten{Written: w.data.written()}
	if w.feed == nil {
		return out, nil
	}
	if err := w.feed.finish(); err != nil {
		return Rewritten{}, errors.Join(err, w.Abandon())
	}
	for _, a := range w.feed.written().Adds {
		out.ChangeData = append(out.ChangeData, CDC{Path: a.Path, PartitionValues: a.PartitionValues, Size: a.Size})
	}
	return out, nil
}

// Abandon removes what was written.
func (w *Rewriter) Abandon() error {
	if w.feed == nil {
		return w.data.abandon()
	}
	return errors.Join(w.data.abandon(), w.feed.abandon())
}

// DiscardRewritten removes files that no commit named.
func (t Table) DiscardRewritten(r Rewritten) error {
	written := r.Written
	written.Adds = slices.Clone(r.Adds)
	for _, c := range r.ChangeData {
		written.Adds = append(written.Adds, Add{Path: c.Path})
	}
	return t.Discard(written)
}

// PartitionRows are the partition values of files, a row for each, in the columns
// asked for.
func (s *Snapshot) PartitionRows(files []*Add, columns []*plan.Attribute) (*chunk.Chunk, error) {
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(columns)), Rows: len(files)}
	for i, a := range columns {
		field := plan.Field{Name: a.Name, Type: a.Of.Unbounded(), Nullable: true}
		v := chunk.New(field.Type, len(files))
		for _, f := range files {
			value, err := partValue(s.PartitionValue(f, a.Name), field)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", f.Path, err)
			}
			v.AppendFrom(value, 0)
		}
		out.Cols[i] = v
	}
	return out, nil
}

// CheckWritable refuses a table that cannot be written rightly from here.
func (s *Snapshot) CheckWritable() error { return s.checkWritable() }
