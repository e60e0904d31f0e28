package chunk

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/plan"
)

// MaxRows is the most rows a chunk holds: vectors of this size and an
// operator's scratch stay in the second-level cache.
const MaxRows = 1024

// Dec is the value of a decimal: its unscaled integer.
type Dec = decimal128.Num

// Fixed are the element types of fixed-width vectors: int8 tinyint, int16
// smallint, int32 int, date and year-month, int64 bigint, timestamps, time and
// day-time, float32, float64, uint8 boolean (0 or 1), Dec, plan.Interval.
type Fixed interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64 | Dec | plan.Interval
}

// Vector is one column.
type Vector struct {
	Type  plan.Type
	Len   int
	Valid Bitmap

	// Data are the values of a fixed-width type, or the bytes of strings.
	Data []byte
	// Offsets bound the bytes of strings and the elements of arrays and maps:
	// row i is [Offsets[i], Offsets[i+1]).
	Offsets []int32
	// Kids are an array's elements; a map's keys and values; a struct's
	// fields; a variant's value and metadata.
	Kids []*Vector
}

// Width is the number of bytes of one value, 0 for types of varying width.
func Width(t plan.Type) int { return widthOf(t.Kind) }

// widthOf is Width where a type, which is large, is not to be copied for every row.
func widthOf(k plan.Kind) int {
	switch k {
	case plan.KindBoolean, plan.KindByte:
		return 1
	case plan.KindShort:
		return 2
	case plan.KindInt, plan.KindDate, plan.KindYearMonth, plan.KindFloat:
		return 4
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime,
		plan.KindDouble:
		return 8
	case plan.KindDecimal, plan.KindCalendar:
		return 16
	default:
		return 0
	}
}

// IsBytes reports whether values of t are byte strings with offsets.
func IsBytes(t plan.Type) bool { return isBytes(t.Kind) }

func isBytes(k plan.Kind) bool {
	return k >= plan.KindString && k <= plan.KindVarChar || k == plan.KindBinary
}

func hasOffsets(t plan.Type) bool {
	return IsBytes(t) || t.Kind == plan.KindArray || t.Kind == plan.KindMap
}

func kidTypes(t plan.Type) []plan.Type {
	switch t.Kind {
	case plan.KindArray:
		return []plan.Type{*t.Elem}
	case plan.KindMap:
		return []plan.Type{*t.Key, *t.Elem}
	case plan.KindVariant:
		return []plan.Type{plan.Binary, plan.Binary}
	case plan.KindStruct:
		types := make([]plan.Type, len(t.Fields))
		for i, f := range t.Fields {
			types[i] = f.Type
		}
		return types
	default:
		return nil
	}
}

// New is an empty vector with room for n rows.
func New(t plan.Type, n int) *Vector {
	v := &Vector{Type: t}
	if w := Width(t); w > 0 {
		v.Data = aligned(n * w)[:0]
	}
	if hasOffsets(t) {
		v.Offsets = append(make([]int32, 0, n+1), 0)
	}
	for _, k := range kidTypes(t) {
		v.Kids = append(v.Kids, New(k, n))
	}
	return v
}

// Make is a vector of n rows of a fixed-width type, all zero and valid, for a
// kernel to fill.
func Make(t plan.Type, n int) *Vector {
	w := Width(t)
	if w == 0 && t.Kind != plan.KindNull {
		panic(fmt.Sprintf("chunk.Make of type %s", t.Simple()))
	}
	return &Vector{Type: t, Len: n, Data: aligned(n * w)}
}

// NullVector is n rows of NULL.
func NullVector(t plan.Type, n int) *Vector {
	v := New(t, n)
	for range n {
		v.AppendNull()
	}
	return v
}

// aligned is n zero bytes that start at a multiple of eight, which a plain
// []byte of fewer than 16 bytes may not.
func aligned(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// Values is the values of a fixed-width vector as a Go slice that shares its
// memory. T must be the type that Fixed names for the vector's kind; code that
// only moves values may take any type of that width.
func Values[T Fixed](v *Vector) []T {
	if v.Len == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&v.Data[0])), v.Len)
}

// Of is a vector over the memory of a slice.
func Of[T Fixed](t plan.Type, values []T) *Vector {
	v := &Vector{Type: t, Len: len(values)}
	if len(values) > 0 {
		v.Data = unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*Width(t))
	}
	return v
}

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.Len, v.Valid, v.Data = 0, nil, v.Data[:0]
	if v.Offsets != nil {
		v.Offsets = append(v.Offsets[:0], 0)
	}
	for _, k := range v.Kids {
		k.Reset()
	}
}

// IsNull reports whether row i is NULL.
func (v *Vector) IsNull(i int) bool { return v.Type.Kind == plan.KindNull || !v.Valid.Get(i) }

// SetNull makes row i NULL.
func (v *Vector) SetNull(i int) {
	if v.Valid == nil {
		v.Valid = NewBitmap(v.Len)
	}
	v.Valid.Clear(i)
}

// Nulls is the number of NULL rows.
func (v *Vector) Nulls() int {
	if v.Type.Kind == plan.KindNull {
		return v.Len
	}
	return v.Valid.CountNulls(v.Len)
}

// Bytes is the value of row i of a string or binary vector; it shares memory.
func (v *Vector) Bytes(i int) []byte { return v.Data[v.Offsets[i]:v.Offsets[i+1]] }

// Text is the value of row i of a string vector; it shares memory with it.
func (v *Vector) Text(i int) string {
	b := v.Bytes(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Span is the range of elements of row i of an array or a map.
func (v *Vector) Span(i int) (from, to int) { return int(v.Offsets[i]), int(v.Offsets[i+1]) }

// Append adds a value to a fixed-width vector.
func Append[T Fixed](v *Vector, x T) {
	w := int(unsafe.Sizeof(x))
	v.reserve(w)
	v.Data = v.Data[:len(v.Data)+w]
	*(*T)(unsafe.Pointer(&v.Data[len(v.Data)-w])) = x
	v.added()
}

// reserve makes room for w more bytes of values, aligned.
func (v *Vector) reserve(w int) {
	if len(v.Data)+w <= cap(v.Data) {
		return
	}
	grown := aligned(max(64, 2*cap(v.Data), len(v.Data)+w))
	v.Data = grown[:copy(grown, v.Data)]
}

// added counts one more valid row.
func (v *Vector) added() {
	v.Len++
	if v.Valid != nil {
		v.Valid = v.Valid.grow(v.Len)
		v.Valid.Set(v.Len - 1)
	}
}

// AppendRaw adds a value to a fixed-width vector, as the bytes of its Width.
func (v *Vector) AppendRaw(b []byte) {
	v.reserve(len(b))
	v.Data = append(v.Data, b...)
	v.added()
}

// AppendBytes adds a value to a string or binary vector.
func (v *Vector) AppendBytes(b []byte) {
	v.Data = append(v.Data, b...)
	v.Offsets = append(v.Offsets, int32(len(v.Data)))
	v.added()
}

// AppendText adds a value to a string vector.
func (v *Vector) AppendText(s string) {
	v.Data = append(v.Data, s...)
	v.Offsets = append(v.Offsets, int32(len(v.Data)))
	v.added()
}

// AppendSpan ends a row of an array or map whose elements were appended to Kids.
func (v *Vector) AppendSpan() {
	v.Offsets = append(v.Offsets, int32(v.Kids[0].Len))
	v.added()
}

// AppendRow ends a row of a struct or variant whose fields were appended to Kids.
func (v *Vector) AppendRow() { v.added() }

// AppendNull adds a NULL.
func (v *Vector) AppendNull() {
	if w := widthOf(v.Type.Kind); w > 0 {
		v.reserve(w)
		n := len(v.Data)
		v.Data = v.Data[:n+w]
		clear(v.Data[n:])
	}
	switch {
	case isBytes(v.Type.Kind):
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	case v.Offsets != nil:
		v.Offsets = append(v.Offsets, int32(v.Kids[0].Len))
	default:
		for _, k := range v.Kids {
			k.AppendNull()
		}
	}
	v.Len++
	if v.Type.Kind == plan.KindNull {
		return
	}
	if v.Valid == nil {
		v.Valid = NewBitmap(v.Len)
	} else {
		v.Valid = v.Valid.grow(v.Len)
	}
	v.Valid.Clear(v.Len - 1)
}

// Slice is rows [from, to), sharing memory.
func (v *Vector) Slice(from, to int) *Vector {
	if from == 0 && to == v.Len {
		return v
	}
	s := &Vector{Type: v.Type, Len: to - from, Valid: v.Valid.Slice(from, to)}
	w := widthOf(v.Type.Kind)
	switch {
	case w > 0:
		s.Data = v.Data[from*w : to*w]
	case v.Offsets != nil:
		s.Data, s.Offsets, s.Kids = v.Data, v.Offsets[from:to+1], v.Kids
	default:
		for _, k := range v.Kids {
			s.Kids = append(s.Kids, k.Slice(from, to))
		}
	}
	return s
}

// Field is child k of a struct, NULL where the struct is.
func (v *Vector) Field(k int) *Vector {
	f := *v.Kids[k]
	f.Valid = f.Valid.And(v.Valid, v.Len)
	return &f
}
