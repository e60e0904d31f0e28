package fn

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Comparator orders row i of a against row j of b, neither NULL: negative,
// zero, positive.
type Comparator func(a *chunk.Vector, i int, b *chunk.Vector, j int) int

// Orderable reports whether Spark can order values of a type.
func Orderable(t plan.Type) bool {
	switch t.Kind {
	case plan.KindMap, plan.KindVariant, plan.KindCalendar:
		return false
	case plan.KindArray:
		return Orderable(*t.Elem)
	case plan.KindStruct:
		for _, f := range t.Fields {
			if !Orderable(f.Type) {
				return false
			}
		}
	}
	return true
}

// Compare is the order of a type: NaN is the greatest number and equals itself,
// -0.0 equals 0.0, bytes are unsigned, NULLs inside of values come first.
func Compare(t plan.Type) Comparator {
	switch t.Kind {
	case plan.KindNull:
		return func(*chunk.Vector, int, *chunk.Vector, int) int { return 0 }
	case plan.KindBoolean:
		return compareFixed[uint8]
	case plan.KindByte:
		return compareFixed[int8]
	case plan.KindShort:
		return compareFixed[int16]
	case plan.KindInt, plan.KindDate, plan.KindYearMonth:
		return compareFixed[int32]
	case plan.KindFloat:
		return compareFloat[float32]
	case plan.KindDouble:
		return compareFloat[float64]
	case plan.KindDecimal:
		return func(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
			return chunk.Values[chunk.Dec](a)[i].Cmp(chunk.Values[chunk.Dec](b)[j])
		}
	case plan.KindString, plan.KindChar, plan.KindVarChar, plan.KindBinary:
		return func(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
			return bytes.Compare(a.Bytes(i), b.Bytes(j))
		}
	case plan.KindArray:
		return compareArrays(Compare(*t.Elem))
	case plan.KindStruct:
		return compareStructs(t)
	case plan.KindMap:
		return compareMaps(t)
	case plan.KindCalendar:
		return compareIntervals
	default:
		return compareFixed[int64]
	}
}

func compareFixed[T uint8 | int8 | int16 | int32 | int64](a *chunk.Vector, i int, b *chunk.Vector,
	j int) int {
	return cmp.Compare(chunk.Values[T](a)[i], chunk.Values[T](b)[j])
}

func compareFloat[T Float](a *chunk.Vector, i int, b *chunk.Vector, j int) int {
	return OrderFloats(chunk.Values[T](a)[i], chunk.Values[T](b)[j])
}

// OrderFloats: cmp.Compare has NaN first, Spark has it last.
func OrderFloats[T Float](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case x == x:
		return -1
	case y == y:
		return 1
	default:
		return 0
	}
}

// compareIntervals only tells equal from unequal; the order is of no meaning.
func compareIntervals(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
	x, y := chunk.Values[plan.Interval](a)[i], chunk.Values[plan.Interval](b)[j]
	return cmp.Or(cmp.Compare(x.Months, y.Months), cmp.Compare(x.Days, y.Days), cmp.Compare(x.Micros, y.Micros))
}

// NullsFirst extends an order to NULLs.
func NullsFirst(order Comparator, a *chunk.Vector, i int, b *chunk.Vector, j int) int {
	x, y := a.IsNull(i), b.IsNull(j)
	switch {
	case x && y:
		return 0
	case x:
		return -1
	case y:
		return 1
	default:
		return order(a, i, b, j)
	}
}

func compareArrays(elem Comparator) Comparator {
	return func(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
		x, xEnd := a.Span(i)
		y, yEnd := b.Span(j)
		for ; x < xEnd && y < yEnd; x, y = x+1, y+1 {
			if c := NullsFirst(elem, a.Kids[0], x, b.Kids[0], y); c != 0 {
				return c
			}
		}
		return cmp.Compare(xEnd-x, yEnd-y)
	}
}

func compareStructs(t plan.Type) Comparator {
	orders := make([]Comparator, len(t.Fields))
	for k, f := range t.Fields {
		orders[k] = Compare(f.Type)
	}
	return func(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
		for k, order := range orders {
			if c := NullsFirst(order, a.Kids[k], i, b.Kids[k], j); c != 0 {
				return c
			}
		}
		return 0
	}
}

// compareMaps compares entry by entry in their order; Spark only does so for
// maps it has sorted by key.
func compareMaps(t plan.Type) Comparator {
	key, value := Compare(*t.Key), Compare(*t.Elem)
	return func(a *chunk.Vector, i int, b *chunk.Vector, j int) int {
		x, xEnd := a.Span(i)
		y, yEnd := b.Span(j)
		for ; x < xEnd && y < yEnd; x, y = x+1, y+1 {
			c := cmp.Or(key(a.Kids[0], x, b.Kids[0], y), NullsFirst(value, a.Kids[1], x, b.Kids[1], y))
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(xEnd-x, yEnd-y)
	}
}

// AppendKey writes a value so that two are equal exactly when their bytes are:
// NaNs are one, zeros are one.
func AppendKey(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.Type.Kind {
	case plan.KindFloat, plan.KindDouble:
		f := 0.0
		if v.Type.Kind == plan.KindFloat {
			f = float64(chunk.Values[float32](v)[i])
		} else {
			f = chunk.Values[float64](v)[i]
		}
		if f != f {
			f = math.NaN()
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f+0))
	case plan.KindStruct, plan.KindVariant:
		for _, kid := range v.Kids {
			dst = AppendKey(dst, kid, i)
		}
		return dst
	}
	if w := chunk.Width(v.Type); w > 0 {
		return append(dst, v.Data[i*w:(i+1)*w]...)
	}
	if chunk.IsBytes(v.Type) {
		dst = binary.AppendUvarint(dst, uint64(len(v.Bytes(i))))
		return append(dst, v.Bytes(i)...)
	}
	from, to := v.Span(i)
	dst = binary.AppendUvarint(dst, uint64(to-from))
	for e := from; e < to; e++ {
		for _, kid := range v.Kids {
			dst = AppendKey(dst, kid, e)
		}
	}
	return dst
}
