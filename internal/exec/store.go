package exec

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// rowStore holds rows of many chunks as single columns, so that a row has one
// number and rows can be taken in any order.
type rowStore struct {
	cols []*chunk.Vector
	rows int
	held *chunk.Lease
}

func newRowStore(attrs []*plan.Attribute, held *chunk.Lease) *rowStore {
	s := &rowStore{cols: make([]*chunk.Vector, len(attrs)), held: held}
	for i, a := range attrs {
		s.cols[i] = chunk.New(a.Of, 0)
	}
	return s
}

// add copies the rows of a chunk.
func (s *rowStore) add(c *chunk.Chunk) error {
	if err := s.held.Add(c.Size()); err != nil {
		return err
	}
	for i, v := range s.cols {
		// Offsets count bytes and elements in 32 bits.
		if grown := int64(len(v.Data)) + chunk.SizeOf(c.Cols[i]); v.Offsets != nil && grown > math.MaxInt32 {
			return chunk.TooLong(s.held.Operator, grown)
		}
		appendAll(v, c.Cols[i])
	}
	s.rows += c.Rows
	return nil
}

// addAll reads a stream to its end.
func (s *rowStore) addAll(rows chunk.Rows) error {
	for c, err := range rows {
		if err == nil {
			err = s.add(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pickRows is some columns of the given rows; a negative row is NULL throughout.
func pickRows(operator string, cols []*chunk.Vector, ordinals []int, rows []int32) ([]*chunk.Vector, error) {
	out := make([]*chunk.Vector, len(ordinals))
	for i, k := range ordinals {
		var err error
		if out[i], err = chunk.GatherMany(operator, cols[k], rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// chunk is all columns of the given rows.
func (s *rowStore) chunk(rows []int32) *chunk.Chunk {
	c := &chunk.Chunk{Cols: make([]*chunk.Vector, len(s.cols)), Rows: len(rows)}
	for i, v := range s.cols {
		c.Cols[i] = chunk.Gather(v, rows)
	}
	return c
}

// appendAll adds all rows of src to v.
func appendAll(v, src *chunk.Vector) { v.AppendRange(src, 0, src.Len) }

// appendRows adds some rows of src to v.
func appendRows(v, src *chunk.Vector, rows []uint16) {
	if v.Offsets != nil || len(rows) == 0 {
		for _, i := range rows {
			v.AppendFrom(src, int(i))
		}
		return
	}
	if len(rows) == src.Len {
		appendAll(v, src) // rows ascend
		return
	}
	appendAll(v, chunk.Gather(src, rows))
}
