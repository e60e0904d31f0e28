package chunk

import "github.com/weir-dev/weir/internal/plan"

// SizeOf is the memory that the rows of a vector take.
func SizeOf(v *Vector) int64 {
	n := int64(len(v.Valid))
	if w := widthOf(v.Type.Kind); w > 0 {
		return n + int64(v.Len*w)
	}
	if v.Offsets != nil {
		n += int64(4 * len(v.Offsets))
		if isBytes(v.Type.Kind) {
			return n + int64(v.Offsets[v.Len]-v.Offsets[0])
		}
	}
	for _, k := range v.Kids {
		n += SizeOf(k)
	}
	return n
}

// SizeOfRow is about the memory of one row.
func SizeOfRow(v *Vector, i int) int64 {
	if w := widthOf(v.Type.Kind); w > 0 || v.Type.Kind == plan.KindNull {
		return int64(w)
	}
	if isBytes(v.Type.Kind) {
		return int64(v.Offsets[i+1] - v.Offsets[i])
	}
	n, from, to := int64(0), i, i+1
	if v.Offsets != nil {
		from, to = v.Span(i)
	}
	for _, k := range v.Kids {
		for e := from; e < to; e++ {
			n += SizeOfRow(k, e)
		}
	}
	return n
}

// Size is the memory that the rows of a chunk take.
func (c *Chunk) Size() int64 {
	n := int64(0)
	for _, v := range c.Cols {
		n += SizeOf(v)
	}
	return n
}
