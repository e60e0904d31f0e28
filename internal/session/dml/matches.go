package dml

import "github.com/weir-dev/weir/internal/chunk"

// bits is a set of numbers.
type bits []uint64

func (b bits) has(i int64) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bits) set(i int64) { b[i>>6] |= 1 << (i & 63) }

// matches is which rows the first join of a MERGE paired, a bit for a row.
type matches struct {
	memory *chunk.Budget
	source bits
	files  []bits // of the rows of each file of the table
	// several says that a row of the table has more than one match.
	several bool
}

func newMatches(memory *chunk.Budget, files int, sourceRows int64) *matches {
	return &matches{memory: memory, source: make(bits, sourceRows>>6+1), files: make([]bits, files)}
}

// meet notes a match of a row of the table.
func (m *matches) meet(file int32, row int64) error {
	b := m.files[file]
	if need := row>>6 + 1; int64(len(b)) < need {
		need = max(need, int64(2*len(b)))
		if err := m.memory.Take("rows that a MERGE matched", 8*(need-int64(len(b)))); err != nil {
			return err
		}
		b = append(b, make(bits, need-int64(len(b)))...)
		m.files[file] = b
	}
	m.several = m.several || b.has(row)
	b.set(row)
	return nil
}

// unmatched are those of n rows of the source from one on that have no match.
func (m *matches) unmatched(from int64, n int) chunk.Sel {
	var out chunk.Sel
	for i := range n {
		if !m.source.has(from + int64(i)) {
			out = append(out, uint16(i))
		}
	}
	return out
}

func (m *matches) close() { m.memory.Close() }
