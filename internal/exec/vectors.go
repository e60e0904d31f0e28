package exec

import (
	"math"
	"unsafe"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// valuesAs is the values of a fixed-width vector as any type of that width:
// code that only moves values need not know what they mean.
func valuesAs[T chunk.Fixed](v *chunk.Vector) []T {
	if v.Len == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&v.Data[0])), v.Len)
}

// scatter writes the values of a vector into dst, one every stride bytes.
func scatter[T chunk.Fixed](dst []byte, v *chunk.Vector, stride int) {
	for i, x := range valuesAs[T](v) {
		*(*T)(unsafe.Pointer(&dst[i*stride])) = x
	}
}

// appendRows adds some rows of src to v.
func appendRows(v, src *chunk.Vector, rows []uint16) {
	for _, i := range rows {
		v.AppendFrom(src, int(i))
	}
}

// repeat is chunk.Gather for rows that may occur many times: what comes out can
// be much longer than v, and longer than offsets of 32 bits can tell.
func repeat(operator string, v *chunk.Vector, rows []int32) (*chunk.Vector, error) {
	if chunk.Width(v.Type) == 0 && vectorBytes(v)*int64(len(rows)) > math.MaxInt32 {
		n := int64(0)
		for _, i := range rows {
			if i >= 0 {
				n += rowBytes(v, int(i))
			}
		}
		if n > math.MaxInt32 {
			return nil, outOfMemory(operator, n, &budget{limit: math.MaxInt32})
		}
	}
	return chunk.Gather(v, rows), nil
}

// rowBytes is about the memory of one row.
func rowBytes(v *chunk.Vector, i int) int64 {
	if w := chunk.Width(v.Type); w > 0 || v.Type.Kind == plan.KindNull {
		return int64(w)
	}
	if chunk.IsBytes(v.Type) {
		return int64(v.Offsets[i+1] - v.Offsets[i])
	}
	n, from, to := int64(0), i, i+1
	if v.Offsets != nil {
		from, to = v.Span(i)
	}
	for _, k := range v.Kids {
		for e := from; e < to; e++ {
			n += rowBytes(k, e)
		}
	}
	return n
}
