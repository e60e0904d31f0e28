package delta

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Columns of the change feed beside those of the table.
const (
	FeedType    = changeColumn
	FeedVersion = "_commit_version"
	FeedTime    = "_commit_timestamp"
)

// FeedColumns are what the change feed has beside the columns of the table.
var FeedColumns = []plan.Field{
	plan.Col(FeedType, plan.String), plan.Col(FeedVersion, plan.Long), plan.Col(FeedTime, plan.Timestamp),
}

// Feed is what one commit tells the change feed.
type Feed struct {
	Version int64
	// Pieces are read whole or not at all.
	Pieces []FeedPiece
	// Files says that the commit tells its changes in files of their own. Without them
	// they follow from the data files that came and went.
	Files    bool
	Metadata *Metadata // nil when it stayed
}

// FeedPiece is changes that belong together.
type FeedPiece []*FeedFile

// Size is the number of files of a piece, and their bytes.
func (p FeedPiece) Size() (files, bytes int64) {
	for _, f := range p {
		bytes += f.Size
	}
	return int64(len(p)), bytes
}

// FeedFile is rows of a file that changed in one way.
type FeedFile struct {
	Path    string // as the log has it
	Values  map[string]*string
	Size    int64
	Kind    ChangeKind // "" where each row tells its own
	Version int64
	// Of the file's rows those that of names, all without it, but for those that but
	// names.
	of, but *DeletionVector
}

// Insert is the rows of a data file as changes of a version.
func Insert(f *Add, version int64) *FeedFile {
	return &FeedFile{Path: f.Path, Values: f.PartitionValues, Size: f.Size, Kind: Inserted, Version: version,
		but: f.DeletionVector}
}

// FeedOf reads what a commit tells the change feed. A missing one is fs.ErrNotExist.
func (t Table) FeedOf(version int64) (*Feed, error) {
	actions, err := t.readCommit(version)
	if err != nil {
		return nil, err
	}
	feed := &Feed{Version: version}
	var told, changed []*FeedFile
	for _, a := range actions {
		switch {
		case a.Metadata != nil:
			feed.Metadata = a.Metadata
		case a.CDC != nil:
			told = append(told, &FeedFile{Path: a.CDC.Path, Values: a.CDC.PartitionValues, Size: a.CDC.Size,
				Version: version})
		case a.Add != nil && a.Add.DataChange:
			changed = append(changed, Insert(a.Add, version))
		case a.Remove != nil && a.Remove.DataChange:
			r := a.Remove
			changed = append(changed, &FeedFile{Path: r.Path, Values: r.PartitionValues, Size: r.Size,
				Kind: Deleted, Version: version, but: r.DeletionVector})
		}
	}
	switch {
	case len(told) > 0:
		feed.Files, feed.Pieces = true, apart(told)
	case slices.ContainsFunc(changed, func(f *FeedFile) bool { return f.but != nil }):
		feed.Pieces = []FeedPiece{paired(changed)}
	default:
		feed.Pieces = apart(changed)
	}
	return feed, nil
}

// apart is each file as a piece.
func apart(files []*FeedFile) []FeedPiece {
	pieces := make([]FeedPiece, len(files))
	for i, f := range files {
		pieces[i] = FeedPiece{f}
	}
	return pieces
}

// paired is the changes of a commit with deletion vectors: a file that came and went
// has changed in the rows by which the vectors differ.
func paired(files []*FeedFile) FeedPiece {
	gone := map[string]*FeedFile{}
	for _, f := range files {
		if f.Kind == Deleted {
			gone[f.Path] = f
		}
	}
	var out FeedPiece
	stayed := map[string]bool{}
	for _, f := range files {
		was := gone[f.Path]
		if f.Kind != Inserted || was == nil {
			continue
		}
		stayed[f.Path] = true
		now, before := *f, *f
		now.Kind, now.of, now.but = Deleted, f.but, was.but
		before.Kind, before.of, before.but = Inserted, was.but, f.but
		for _, half := range []*FeedFile{&now, &before} {
			if half.of != nil {
				out = append(out, half)
			}
		}
	}
	for _, f := range files {
		if !stayed[f.Path] {
			out = append(out, f)
		}
	}
	return out
}

// ReadFeed yields columns of the table and of the feed for the rows that changed;
// committed is when, for the column that tells.
func (s *Snapshot) ReadFeed(
	ctx context.Context, f *FeedFile, columns []string, committed time.Time,
) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		take, err := s.changedRows(f)
		var fields []plan.Field
		var filled []*chunk.Vector
		if err == nil {
			fields, filled, err = s.feedFields(f, columns, committed)
		}
		if err == nil && f.Values == nil && len(s.Metadata.PartitionColumns) > 0 {
			err = damaged(s.logPath(commitName(f.Version)),
				fmt.Sprintf("it does not tell the partition of %s, which it removes", f.Path))
		}
		if err != nil {
			yield(nil, err)
			return
		}
		err = s.readData(ctx, dataOf{f.Path, f.Values, take}, fields, func(c *chunk.Chunk, err error) bool {
			return yield(widened(c, filled), err)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// feedFields are the columns that the file has, and at the places of the others their
// values.
func (s *Snapshot) feedFields(f *FeedFile, columns []string, committed time.Time,
) (fields []plan.Field, filled []*chunk.Vector, err error) {
	filled = make([]*chunk.Vector, len(columns))
	constant := func(t plan.Type, x plan.Value) *chunk.Vector {
		v := chunk.New(t, 1)
		v.AppendValue(x)
		return v
	}
	for i, name := range columns {
		switch {
		case name == FeedVersion:
			filled[i] = constant(plan.Long, f.Version)
		case name == FeedTime:
			filled[i] = constant(plan.Timestamp, committed.UnixMicro())
		case name == FeedType && f.Kind != "":
			filled[i] = constant(plan.String, string(f.Kind))
		case name == FeedType:
			fields = append(fields, FeedColumns[0])
		default:
			own, err := s.fields([]string{name})
			if err != nil {
				return nil, nil, err
			}
			fields = append(fields, own...)
		}
	}
	return fields, filled, nil
}

// widened is a chunk with constants at the places where there are some.
func widened(c *chunk.Chunk, filled []*chunk.Vector) *chunk.Chunk {
	if c == nil {
		return nil
	}
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(filled)), Rows: c.Rows, Part: c.Part}
	next := 0
	for i, v := range filled {
		if v != nil {
			out.Cols[i] = chunk.Gather(v, make([]int32, c.Rows))
			continue
		}
		out.Cols[i] = c.Cols[next]
		next++
	}
	return out
}

// changedRows picks the rows of a file that a change is about; nil for all.
func (t Table) changedRows(f *FeedFile) (pick, error) {
	if f.of == nil {
		return t.undeleted(f.but)
	}
	rows, err := t.deletedRows(f.of)
	if err != nil || f.but == nil {
		return rows.only, err
	}
	less, err := t.deletedRows(f.but)
	if err != nil {
		return nil, err
	}
	for upper, m := range rows.maps {
		if other := less.maps[upper]; other != nil {
			rows.maps[upper] = roaring.AndNot(m, other)
		}
	}
	return rows.only, nil
}

// only are the rows that are in the set.
func (s *rowSet) only(from int64, n int) chunk.Sel {
	keep := chunk.Sel{}
	s.each(from, from+int64(n), func(row int64) { keep = append(keep, uint16(row-from)) })
	return keep
}
