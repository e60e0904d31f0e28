package eval

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// merge builds a vector whose rows come from several others of its length:
// the branches of a CASE.
type merge struct {
	of    plan.Type
	sel   chunk.Sel
	n     int
	from  []*chunk.Vector
	which []uint8 // the source of each row: 0 none, k+1 from[k]
	many  []int32 // the same when there are more sources than a byte counts
}

// newMerge begins a vector of n rows of which those of sel matter.
func newMerge(of plan.Type, sel chunk.Sel, n int) *merge { return &merge{of: of, sel: sel, n: n} }

// branch computes a step for some rows and puts them.
func (m *merge) branch(ev *Evaluator, i int, sel chunk.Sel) error {
	if sel != nil && len(sel) == 0 {
		return nil
	}
	v, err := ev.narrow(i, m.sel, sel)
	if err != nil {
		return err
	}
	m.put(v, sel)
	return nil
}

// put says that the rows of sel are those of v.
func (m *merge) put(v *chunk.Vector, sel chunk.Sel) {
	if sel != nil && len(sel) == 0 {
		return
	}
	m.from = append(m.from, v)
	if len(m.from) == 1 && sel.Count(m.n) == m.sel.Count(m.n) {
		return
	}
	if m.which == nil && m.many == nil {
		m.which = make([]uint8, m.n)
	}
	if len(m.from) == 256 {
		m.widen()
	}
	k := len(m.from)
	if m.many != nil {
		sel.Each(m.n, func(i int) { m.many[i] = int32(k) })
		return
	}
	sel.Each(m.n, func(i int) { m.which[i] = uint8(k) })
}

func (m *merge) widen() {
	m.many = make([]int32, m.n)
	for i, k := range m.which {
		m.many[i] = int32(k)
	}
}

// source is the vector of row i, nil for NULL.
func (m *merge) source(i int) *chunk.Vector {
	k := 0
	if m.many != nil {
		k = int(m.many[i])
	} else {
		k = int(m.which[i])
	}
	if k == 0 {
		return nil
	}
	return m.from[k-1]
}

// done is the vector; rows that nothing was put into are NULL.
func (m *merge) done() *chunk.Vector {
	switch {
	case len(m.from) == 0:
		return chunk.NullVector(m.of, m.n)
	case m.which == nil && m.many == nil && m.from[0].Type.Kind == m.of.Kind:
		return m.from[0]
	case m.which == nil && m.many == nil:
		return chunk.NullVector(m.of, m.n)
	}
	switch chunk.Width(m.of) {
	case 1:
		return mergeFixed[uint8](m)
	case 2:
		return mergeFixed[int16](m)
	case 4:
		return mergeFixed[int32](m)
	case 8:
		return mergeFixed[int64](m)
	case 16:
		return mergeFixed[chunk.Dec](m)
	}
	out := chunk.New(m.of, m.n)
	for i := range m.n {
		src := m.source(i)
		if src == nil || src.IsNull(i) {
			out.AppendNull()
			continue
		}
		out.AppendFrom(src, i)
	}
	return out
}

func mergeFixed[T chunk.Fixed](m *merge) *chunk.Vector {
	out := chunk.Make(m.of, m.n)
	dst := chunk.Values[T](out)
	values := make([][]T, len(m.from))
	nulls := make([]bool, len(m.from))
	for k, v := range m.from {
		if v.Type.Kind == plan.KindNull {
			nulls[k] = true
			continue
		}
		values[k] = chunk.Values[T](v)
		nulls[k] = v.Valid != nil
	}
	for i := range m.n {
		k := 0
		if m.many != nil {
			k = int(m.many[i])
		} else {
			k = int(m.which[i])
		}
		if k == 0 || nulls[k-1] && m.from[k-1].IsNull(i) {
			out.SetNull(i)
			continue
		}
		dst[i] = values[k-1][i]
	}
	return out
}
