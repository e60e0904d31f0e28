package rowkey

import (
	"unsafe"

	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Form is how the values of some columns become bytes that are equal when
// the values are. Fixed-width columns give rows of one stride, a multiple of
// eight: a mask of NULLs, then the values. Structs of such columns are taken
// apart first. If any column's width varies, a row is the columns one after the
// other with the lengths of texts.
type Form struct {
	Types  []plan.Type // of the columns, structs taken apart
	nested bool        // there are structs to take apart
	stride int         // 0: rows of varying length
	at     []int
}

// NewForm is the form of keys of these types; it refuses what is not Comparable.
func NewForm(types []plan.Type) (*Form, error) {
	for _, t := range types {
		if err := Comparable(t); err != nil {
			return nil, err
		}
	}
	f := &Form{}
	for _, t := range types {
		f.nested = f.nested || isFixedStruct(t)
		f.Types = appendParts(f.Types, t)
	}
	types = f.Types
	f.stride = (len(types) + 7) / 8
	for _, t := range types {
		w := chunk.Width(t)
		if w == 0 && t.Kind != plan.KindNull {
			f.stride = 0
			return f, nil
		}
		f.at = append(f.at, f.stride)
		f.stride += w
	}
	f.stride = (f.stride + 7) &^ 7
	return f, nil
}

// isFixedStruct reports structs all of whose values have a fixed width.
func isFixedStruct(t plan.Type) bool {
	if t.Kind != plan.KindStruct || len(t.Fields) == 0 {
		return false
	}
	for _, f := range t.Fields {
		if chunk.Width(f.Type) == 0 && !isFixedStruct(f.Type) {
			return false
		}
	}
	return true
}

// appendParts is the types that a column is taken apart into: a struct becomes a
// boolean, which is NULL where the struct is, and its fields.
func appendParts(types []plan.Type, t plan.Type) []plan.Type {
	if !isFixedStruct(t) {
		return append(types, t)
	}
	types = append(types, plan.Boolean)
	for _, f := range t.Fields {
		types = appendParts(types, f.Type)
	}
	return types
}

// parts is columns with the structs taken apart.
func (f *Form) parts(cols []*chunk.Vector) []*chunk.Vector {
	if !f.nested {
		return cols
	}
	out := make([]*chunk.Vector, 0, len(f.Types))
	for _, v := range cols {
		out = appendColumns(out, v)
	}
	return out
}

func appendColumns(cols []*chunk.Vector, v *chunk.Vector) []*chunk.Vector {
	if !isFixedStruct(v.Type) {
		return append(cols, v)
	}
	there := chunk.Make(plan.Boolean, v.Len)
	there.Valid = v.Valid
	cols = append(cols, there)
	for k := range v.Kids {
		cols = appendColumns(cols, v.Field(k))
	}
	return cols
}

// Comparable refuses types whose equality is not that of their bytes.
func Comparable(t plan.Type) error {
	switch {
	case t.Collation != "" && t.Collation != "UTF8_BINARY":
		return plan.Unsupported("comparing text of the collation " + t.Collation)
	case t.Kind == plan.KindVariant:
		return plan.Unsupported("comparing values of type VARIANT")
	}
	for _, f := range t.Fields {
		if err := Comparable(f.Type); err != nil {
			return err
		}
	}
	for _, part := range []*plan.Type{t.Key, t.Elem} {
		if part == nil {
			continue
		}
		if err := Comparable(*part); err != nil {
			return err
		}
	}
	return nil
}

// Encoded is the keys of a chunk's rows as bytes, with their hashes. Its memory
// is used again for the next chunk.
type Encoded struct {
	Form   *Form
	data   []byte
	ends   []int // of rows of varying length
	hashes []uint32
}

// Row is the bytes of row i.
func (e *Encoded) Row(i int) []byte {
	if s := e.Form.stride; s > 0 {
		return e.data[i*s : i*s+s]
	}
	from := 0
	if i > 0 {
		from = e.ends[i-1]
	}
	return e.data[from:e.ends[i]]
}

// Encode takes the keys of n rows. Rows outside of sel may come out as
// anything.
func (e *Encoded) Encode(cols []*chunk.Vector, sel chunk.Sel, n int) {
	cols = e.Form.parts(cols)
	if cap(e.hashes) < n {
		e.hashes = make([]uint32, max(n, chunk.MaxRows))
	}
	e.hashes = e.hashes[:n]
	if e.Form.stride > 0 {
		e.fixed(cols, n)
		return
	}
	e.varying(cols, sel, n)
}

func (e *Encoded) fixed(cols []*chunk.Vector, n int) {
	s := e.Form.stride
	if cap(e.data) < n*s {
		e.data = make([]byte, max(n, chunk.MaxRows)*s)
	}
	e.data = e.data[:n*s]
	clear(e.data)
	for k, v := range cols {
		e.column(k, v, n)
	}
	if s == 16 {
		for i := range n {
			row := e.data[i*16 : i*16+16]
			e.hashes[i] = mix(binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:]))
		}
		return
	}
	for i := range n {
		e.hashes[i] = uint32(xxh3.Hash(e.data[i*s:i*s+s]) >> 32)
	}
}

// mix hashes two words by multiplying and folding.
func mix(a, b uint64) uint32 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
	h := hi ^ lo
	h = (h ^ h>>32) * 0x8ebc6af09c88c6e3
	return uint32(h >> 32)
}

// column writes column k of n rows of one stride.
func (e *Encoded) column(k int, v *chunk.Vector, n int) {
	s, at := e.Form.stride, e.Form.at[k]
	switch chunk.Width(v.Type) {
	case 1:
		scatter[uint8](e.data[at:], v, s)
	case 2:
		scatter[int16](e.data[at:], v, s)
	case 4:
		scatter[int32](e.data[at:], v, s)
	case 8:
		scatter[int64](e.data[at:], v, s)
	case 16:
		scatter[chunk.Dec](e.data[at:], v, s)
	}
	if v.Valid == nil && v.Type.Kind != plan.KindNull {
		return
	}
	w := chunk.Width(v.Type)
	for i := range n {
		if v.IsNull(i) {
			row := e.data[i*s : i*s+s]
			row[k/8] |= 1 << (k % 8)
			clear(row[at : at+w])
		}
	}
}

// varying writes rows of texts and nested values.
func (e *Encoded) varying(cols []*chunk.Vector, sel chunk.Sel, n int) {
	e.data = e.data[:0]
	if cap(e.ends) < n {
		e.ends = make([]int, max(n, chunk.MaxRows))
	}
	e.ends = e.ends[:n]
	next := 0
	sel.Each(n, func(i int) {
		for ; next < i; next++ {
			e.ends[next] = len(e.data)
		}
		from := len(e.data)
		for _, v := range cols {
			e.data = Append(e.data, v, i)
		}
		e.ends[i] = len(e.data)
		next = i + 1
		e.hashes[i] = uint32(xxh3.Hash(e.data[from:]) >> 32)
	})
	for ; next < n; next++ {
		e.ends[next] = len(e.data)
	}
}

// Append writes one value: 0 for NULL, else 1 and its bytes.
func Append(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	if w := chunk.Width(v.Type); w > 0 {
		return append(dst, v.Data[i*w:(i+1)*w]...)
	}
	if chunk.IsBytes(v.Type) {
		b := v.Bytes(i)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	}
	return appendOrdered(dst, v, i)
}

// appendOrdered writes a value that is not NULL so that bytes compare as the
// values do in Spark. Entries of maps, which have no order, are sorted.
func appendOrdered(dst []byte, v *chunk.Vector, i int) []byte {
	switch v.Type.Kind {
	case plan.KindStruct:
		for _, k := range v.Kids {
			dst = appendPart(dst, k, i)
		}
		return dst
	case plan.KindArray:
		from, to := v.Span(i)
		for e := from; e < to; e++ {
			dst = appendPart(append(dst, 1), v.Kids[0], e)
		}
		return append(dst, 0)
	case plan.KindMap:
		return appendMap(dst, v, i)
	default:
		return appendOrderedAtom(dst, v, i)
	}
}

// appendPart writes a part of a nested value, NULL first.
func appendPart(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	return appendOrdered(append(dst, 1), v, i)
}

func appendMap(dst []byte, v *chunk.Vector, i int) []byte {
	from, to := v.Span(i)
	entries := make([][]byte, 0, to-from)
	for e := from; e < to; e++ {
		entries = append(entries, appendPart(appendPart(nil, v.Kids[0], e), v.Kids[1], e))
	}
	sortBytes(entries)
	for _, e := range entries {
		dst = append(append(dst, 1), e...)
	}
	return append(dst, 0)
}

// appendOrderedAtom writes a value without parts.
func appendOrderedAtom(dst []byte, v *chunk.Vector, i int) []byte {
	switch v.Type.Kind {
	case plan.KindBoolean:
		return append(dst, chunk.Values[uint8](v)[i]&1)
	case plan.KindByte:
		return append(dst, uint8(chunk.Values[int8](v)[i])^0x80)
	case plan.KindShort:
		return binary.BigEndian.AppendUint16(dst, uint16(chunk.Values[int16](v)[i])^1<<15)
	case plan.KindInt, plan.KindDate, plan.KindYearMonth:
		return binary.BigEndian.AppendUint32(dst, uint32(chunk.Values[int32](v)[i])^1<<31)
	case plan.KindFloat:
		return binary.BigEndian.AppendUint32(dst, orderedFloat(chunk.Values[float32](v)[i]))
	case plan.KindDouble:
		return binary.BigEndian.AppendUint64(dst, orderedDouble(chunk.Values[float64](v)[i]))
	case plan.KindDecimal:
		d := chunk.Values[chunk.Dec](v)[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.HighBits())^1<<63)
		return binary.BigEndian.AppendUint64(dst, d.LowBits())
	case plan.KindCalendar:
		x := chunk.Values[plan.Interval](v)[i]
		dst = binary.BigEndian.AppendUint32(dst, uint32(x.Months)^1<<31)
		dst = binary.BigEndian.AppendUint32(dst, uint32(x.Days)^1<<31)
		return binary.BigEndian.AppendUint64(dst, uint64(x.Micros)^1<<63)
	}
	switch {
	case chunk.Width(v.Type) == 8:
		return binary.BigEndian.AppendUint64(dst, uint64(chunk.Values[int64](v)[i])^1<<63)
	case chunk.IsBytes(v.Type):
		return appendText(dst, v.Bytes(i))
	default:
		panic(fmt.Sprintf("no order for %s", v.Type.Simple()))
	}
}

// scatter writes the values of a vector into dst, one every stride bytes.
func scatter[T chunk.Fixed](dst []byte, v *chunk.Vector, stride int) {
	for i, x := range chunk.Values[T](v) {
		*(*T)(unsafe.Pointer(&dst[i*stride])) = x
	}
}
