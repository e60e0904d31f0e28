package codec

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// RowFilter is a condition on rows. As in Spark it is asked while a record is
// read, when its last column has come: a record in which one is missing or
// wrong passes, and so does one with broken syntax.
type RowFilter struct {
	Columns []int // of the schema
	// True picks the rows of a chunk for which the condition is true; nil is all.
	True func(c *chunk.Chunk) (chunk.Sel, error)
}

// maxRowFilters is how many filters a reader asks; the others let all pass.
const maxRowFilters = 8

// filterGate lets the rows of a reader through that pass its filters.
type filterGate struct {
	filters  []RowFilter
	exempted exemptions
}

// add takes a filter; false when there are too many.
func (g *filterGate) add(f RowFilter) bool {
	if len(g.filters) == maxRowFilters {
		return false
	}
	g.filters = append(g.filters, f)
	return true
}

// exemptions notes for each row of a chunk, as a bit, the filters it passes
// unasked.
type exemptions struct {
	rows  []uint8
	given int // of rows, how many were handed on

	passed []uint8 // scratch of pass
}

// watch compiles the filters: which of them a missing field is an exemption
// from.
func (r *JSONReader) watch(filters []RowFilter) {
	for _, f := range filters {
		if slices.Contains(f.Columns, r.corrupt) || !r.gate.add(f) {
			continue
		}
		for _, field := range r.d.root.fields {
			if slices.Contains(f.Columns, field.index) {
				field.watched |= 1 << (len(r.gate.filters) - 1)
			}
		}
	}
}

// exempt notes what is known about the rows that a record became.
func (g *filterGate) exempt(rows int, bits uint8) {
	for range rows {
		g.exempted.rows = append(g.exempted.rows, bits)
	}
}

// forget takes back what was noted about the last rows.
func (g *filterGate) forget(rows int) {
	g.exempted.rows = g.exempted.rows[:len(g.exempted.rows)-rows]
}

// pass is the rows of a chunk that pass the filters, in the order they came.
func (g *filterGate) pass(c *chunk.Chunk) (*chunk.Chunk, error) {
	if len(g.filters) == 0 {
		return c, nil
	}
	bits := g.exempted.rows[g.exempted.given:][:c.Rows]
	if g.exempted.given += c.Rows; g.exempted.given == len(g.exempted.rows) {
		g.exempted.rows, g.exempted.given = g.exempted.rows[:0], 0 // bits stay until the next record
	}
	// Most filters let nearly all rows pass or nearly none: a row's bits are put
	// together only where it matters.
	all := uint8(1)<<(len(g.filters)-1)<<1 - 1
	always, passed := uint8(0), g.exempted.passed[:0]
	for k, f := range g.filters {
		sel, err := f.True(c)
		if err != nil {
			return nil, err
		}
		if sel.Count(c.Rows) == c.Rows {
			always |= 1 << k
			continue
		}
		if len(passed) == 0 {
			passed = append(passed, bits...)
		}
		for _, row := range sel {
			passed[row] |= 1 << k
		}
	}
	if always == all {
		return c, nil
	}
	g.exempted.passed = passed
	keep := make(chunk.Sel, 0, c.Rows)
	for row, p := range passed {
		if (p|always)&all == all {
			keep = append(keep, uint16(row))
		}
	}
	if len(keep) == c.Rows {
		return c, nil
	}
	return c.Take(keep), nil
}

// rows are the chunks that read fills, without the rows that do not pass.
func (g *filterGate) rows(schema plan.Type, read func(out *chunkWriter) error) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		out := newChunkWriter(schema, func(c *chunk.Chunk, err error) bool {
			if err == nil {
				c, err = g.pass(c)
			}
			return yield(c, err) && err == nil
		})
		err := read(out)
		switch {
		case out.stopped:
		case err != nil:
			yield(nil, err)
		default:
			out.flush()
		}
	}
}
