package exec

import (
	"unsafe"

	"github.com/weir-dev/weir/internal/chunk"
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
