package chunk

import (
	"iter"

	"github.com/weir-dev/weir/internal/plan"
)

// Chunk is a few rows: vectors of one length. Rows is set even when there are
// no columns (SELECT count(*)).
type Chunk struct {
	Cols []*Vector
	Rows int
	// Part is the logical partition the rows belong to, as Spark would number
	// it: users see it in file counts, in foreach and in the borders of results.
	Part int
}

// Placement is what whoever takes rows makes of their partitions.
type Placement uint8

// Placements, each stricter than the one before.
const (
	PartsUnseen  Placement = iota // any partition will do
	PartsSeen                     // Part is Spark's
	PartsGrouped                  // and a partition's rows come one behind the other
)

// Rows is a stream of chunks that ends with the first error.
type Rows = iter.Seq2[*Chunk, error]

// Sel picks rows of a chunk, ascending. A nil Sel picks all.
type Sel []uint16

// Count is the number of picked rows of n.
func (s Sel) Count(n int) int {
	if s == nil {
		return n
	}
	return len(s)
}

// Empty is a chunk without rows of a schema.
func Empty(schema plan.Type) *Chunk {
	c := &Chunk{}
	for _, f := range schema.Fields {
		c.Cols = append(c.Cols, New(f.Type, 0))
	}
	return c
}

// Partitions is a chunk that a source yields before its rows: they have n
// partitions, of which some may be empty. It has neither rows nor columns.
func Partitions(n int) *Chunk { return &Chunk{Part: n - 1} }

// NewChunk is an empty chunk of a schema with room for n rows.
func NewChunk(schema plan.Type, n int) *Chunk {
	c := &Chunk{Cols: make([]*Vector, len(schema.Fields))}
	for i, f := range schema.Fields {
		c.Cols[i] = New(f.Type, n)
	}
	return c
}

// FromRows is a chunk of constants, for commands and tests.
func FromRows(schema plan.Type, rows ...[]plan.Value) *Chunk {
	c := NewChunk(schema, len(rows))
	for _, row := range rows {
		c.AppendValues(row)
	}
	return c
}

// AppendValues adds a row of constants.
func (c *Chunk) AppendValues(row []plan.Value) {
	for i, x := range row {
		c.Cols[i].AppendValue(x)
	}
	c.Rows++
}

// AppendFrom adds row i of a chunk of the same schema.
func (c *Chunk) AppendFrom(src *Chunk, i int) {
	for k, col := range c.Cols {
		col.AppendFrom(src.Cols[k], i)
	}
	c.Rows++
}

// Reset empties the chunk and keeps its memory.
func (c *Chunk) Reset() {
	for _, col := range c.Cols {
		col.Reset()
	}
	c.Rows = 0
}

// Slice is rows [from, to), sharing memory.
func (c *Chunk) Slice(from, to int) *Chunk {
	s := &Chunk{Cols: make([]*Vector, len(c.Cols)), Rows: to - from, Part: c.Part}
	for i, col := range c.Cols {
		s.Cols[i] = col.Slice(from, to)
	}
	return s
}

// Take is the picked rows of the chunk.
func (c *Chunk) Take(sel Sel) *Chunk {
	if sel == nil || len(sel) == c.Rows {
		return c
	}
	t := &Chunk{Cols: make([]*Vector, len(c.Cols)), Rows: len(sel), Part: c.Part}
	for i, col := range c.Cols {
		t.Cols[i] = Gather(col, sel)
	}
	return t
}

// Row is row i as constants.
func (c *Chunk) Row(i int) []plan.Value {
	row := make([]plan.Value, len(c.Cols))
	for k, col := range c.Cols {
		row[k] = col.Value(i)
	}
	return row
}

// One is a stream of the given chunks.
func One(chunks ...*Chunk) Rows {
	return func(yield func(*Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Fail is a stream that only fails.
func Fail(err error) Rows {
	return func(yield func(*Chunk, error) bool) { yield(nil, err) }
}

// Collect reads a stream to its end. What tells of partitions is left out.
func Collect(rows Rows) ([]*Chunk, error) {
	var out []*Chunk
	for c, err := range rows {
		if err != nil {
			return nil, err
		}
		if c.Rows > 0 || len(c.Cols) > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}
