package chunk

import (
	"math"
	"unsafe"

	"github.com/weir-dev/weir/internal/plan"
)

// Row is the index of a row to copy. Negative rows copy as NULL (the missing
// side of an outer join).
type Row interface{ ~int32 | ~uint16 | ~int }

// AppendFrom copies row i of src, which has the same type; i < 0 adds a NULL.
func (v *Vector) AppendFrom(src *Vector, i int) {
	if i < 0 || src.IsNull(i) {
		v.AppendNull()
		return
	}
	if w := widthOf(v.Type.Kind); w > 0 {
		v.reserve(w)
		v.Data = append(v.Data, src.Data[i*w:(i+1)*w]...)
		v.added()
		return
	}
	switch {
	case isBytes(v.Type.Kind):
		v.AppendBytes(src.Bytes(i))
	case v.Offsets != nil:
		from, to := src.Span(i)
		for k, kid := range v.Kids {
			kid.AppendRange(src.Kids[k], from, to)
		}
		v.AppendSpan()
	default:
		for k, kid := range v.Kids {
			kid.AppendFrom(src.Kids[k], i)
		}
		v.AppendRow()
	}
}

// AppendRange copies rows [from, to) of src, which has the same type.
func (v *Vector) AppendRange(src *Vector, from, to int) {
	w := widthOf(v.Type.Kind)
	switch {
	case w > 0:
		v.reserve((to - from) * w)
		v.Data = append(v.Data, src.Data[from*w:to*w]...)
	case isBytes(v.Type.Kind) && from < to:
		shift := int32(len(v.Data)) - src.Offsets[from]
		v.Data = append(v.Data, src.Data[src.Offsets[from]:src.Offsets[to]]...)
		for _, end := range src.Offsets[from+1 : to+1] {
			v.Offsets = append(v.Offsets, end+shift)
		}
	case v.Type.Kind == plan.KindStruct:
		for k, kid := range v.Kids {
			kid.AppendRange(src.Kids[k], from, to)
		}
	default:
		for i := from; i < to; i++ {
			v.AppendFrom(src, i)
		}
		return
	}
	first := v.Len
	v.Len += to - from
	if v.Valid == nil && src.Valid == nil {
		return
	}
	if v.Valid == nil {
		v.Valid = NewBitmap(first)
	}
	v.Valid = v.Valid.grow(v.Len)
	for i := first; i < v.Len; i++ {
		if src.Valid.Get(from + i - first) {
			v.Valid.Set(i)
		} else {
			v.Valid.Clear(i)
		}
	}
}

// Gather is the given rows of v, in that order.
func Gather[R Row](v *Vector, rows []R) *Vector {
	switch widthOf(v.Type.Kind) {
	case 1:
		return gatherFixed[uint8](v, rows)
	case 2:
		return gatherFixed[int16](v, rows)
	case 4:
		return gatherFixed[int32](v, rows)
	case 8:
		return gatherFixed[int64](v, rows)
	case 16:
		return gatherFixed[Dec](v, rows)
	}
	if v.Type.Kind == plan.KindStruct {
		return gatherStruct(v, rows)
	}
	out := New(v.Type, len(rows))
	for _, r := range rows {
		out.AppendFrom(v, int(r))
	}
	return out
}

// GatherMany is Gather for rows that may occur many times: what comes out can be
// much longer than v, and longer than offsets of 32 bits can tell. operator is
// who asks, for the error.
func GatherMany(operator string, v *Vector, rows []int32) (*Vector, error) {
	if widthOf(v.Type.Kind) == 0 && SizeOf(v)*int64(len(rows)) > math.MaxInt32 {
		n := int64(0)
		for _, i := range rows {
			if i >= 0 {
				n += SizeOfRow(v, int(i))
			}
		}
		if n > math.MaxInt32 {
			return nil, TooLong(operator, n)
		}
	}
	return Gather(v, rows), nil
}

func gatherStruct[R Row](v *Vector, rows []R) *Vector {
	out := &Vector{Type: v.Type, Len: len(rows)}
	for _, k := range v.Kids {
		out.Kids = append(out.Kids, Gather(k, rows))
	}
	for i, r := range rows {
		if r < 0 || !v.Valid.Get(int(r)) {
			out.SetNull(i)
		}
	}
	return out
}

func gatherFixed[T Fixed, R Row](v *Vector, rows []R) *Vector {
	out := &Vector{Type: v.Type, Len: len(rows), Data: aligned(len(rows) * int(unsafe.Sizeof(*new(T))))}
	if len(rows) == 0 {
		return out
	}
	dst := Values[T](out)
	if v.Len == 0 {
		for i := range rows {
			out.SetNull(i)
		}
		return out
	}
	src := unsafe.Slice((*T)(unsafe.Pointer(&v.Data[0])), v.Len)
	if _, always := any(rows).([]uint16); always && v.Valid == nil {
		for i, r := range rows {
			dst[i] = src[r]
		}
		return out
	}
	for i, r := range rows {
		if r < 0 || !v.Valid.Get(int(r)) {
			out.SetNull(i)
			continue
		}
		dst[i] = src[r]
	}
	return out
}

// AppendValue adds a constant in plan.Value's form. It is meant for literals,
// statistics and tests, not for rows by the million.
func (v *Vector) AppendValue(x plan.Value) {
	if x == nil {
		v.AppendNull()
		return
	}
	switch v.Type.Kind {
	case plan.KindBoolean:
		b := uint8(0)
		if x.(bool) {
			b = 1
		}
		Append(v, b)
	case plan.KindByte:
		Append(v, int8(x.(int64)))
	case plan.KindShort:
		Append(v, int16(x.(int64)))
	case plan.KindInt:
		Append(v, int32(x.(int64)))
	case plan.KindDate, plan.KindYearMonth:
		Append(v, x.(int32))
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		Append(v, x.(int64))
	case plan.KindFloat:
		Append(v, x.(float32))
	case plan.KindDouble:
		Append(v, x.(float64))
	case plan.KindDecimal:
		Append(v, x.(Dec))
	case plan.KindCalendar:
		Append(v, x.(plan.Interval))
	case plan.KindBinary:
		v.AppendBytes(x.([]byte))
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		v.AppendText(x.(string))
	default:
		v.appendNested(x)
	}
}

func (v *Vector) appendNested(x plan.Value) {
	switch x := x.(type) {
	case plan.MapValue:
		for i := range x.Keys {
			v.Kids[0].AppendValue(x.Keys[i])
			v.Kids[1].AppendValue(x.Values[i])
		}
		v.AppendSpan()
	case []plan.Value:
		if v.Offsets != nil {
			for _, e := range x {
				v.Kids[0].AppendValue(e)
			}
			v.AppendSpan()
			return
		}
		for i, e := range x {
			v.Kids[i].AppendValue(e)
		}
		v.AppendRow()
	default:
		panic("value of a wrong Go type for " + v.Type.Simple())
	}
}

// Value is row i in plan.Value's form; see AppendValue.
func (v *Vector) Value(i int) plan.Value {
	if v.IsNull(i) {
		return nil
	}
	switch v.Type.Kind {
	case plan.KindBoolean:
		return Values[uint8](v)[i] != 0
	case plan.KindByte:
		return int64(Values[int8](v)[i])
	case plan.KindShort:
		return int64(Values[int16](v)[i])
	case plan.KindInt:
		return int64(Values[int32](v)[i])
	case plan.KindDate, plan.KindYearMonth:
		return Values[int32](v)[i]
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		return Values[int64](v)[i]
	case plan.KindFloat:
		return Values[float32](v)[i]
	case plan.KindDouble:
		return Values[float64](v)[i]
	case plan.KindDecimal:
		return Values[Dec](v)[i]
	case plan.KindCalendar:
		return Values[plan.Interval](v)[i]
	case plan.KindBinary:
		return append([]byte{}, v.Bytes(i)...)
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		return string(v.Bytes(i))
	default:
		return v.nestedValue(i)
	}
}

func (v *Vector) nestedValue(i int) plan.Value {
	if v.Offsets == nil {
		row := make([]plan.Value, len(v.Kids))
		for k, kid := range v.Kids {
			row[k] = kid.Value(i)
		}
		return row
	}
	from, to := v.Span(i)
	lists := make([][]plan.Value, len(v.Kids))
	for k, kid := range v.Kids {
		lists[k] = make([]plan.Value, 0, to-from)
		for e := from; e < to; e++ {
			lists[k] = append(lists[k], kid.Value(e))
		}
	}
	if len(lists) == 2 {
		return plan.MapValue{Keys: lists[0], Values: lists[1]}
	}
	return lists[0]
}

// Repeat is n rows of one constant.
func Repeat(x plan.Value, t plan.Type, n int) *Vector {
	v := New(t, n)
	if n == 0 {
		return v
	}
	v.AppendValue(x)
	rows := make([]int32, n)
	return Gather(v, rows)
}
