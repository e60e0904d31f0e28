package codec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// TextStyle says how values become text: as casts to STRING or as cells of
// show and of the console sink.
type TextStyle struct {
	Zone *Offsets // session time zone

	// Pretty is the form of show: NULL for NULL and [0A FF] for binary, where
	// casts have null (inside of a value) and the bytes themselves.
	Pretty bool

	// Bare is the form of values inside of cells of CSV: binary as in Pretty, and
	// nothing for NULL.
	Bare bool

	// ExpDecimal lets small decimals have an exponent, as casts do when ANSI
	// mode is off.
	ExpDecimal bool
}

// AppendValue writes row i of a vector. A NULL row is NULL or null; casts ask
// before whether the row is NULL.
func (st *TextStyle) AppendValue(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		if st.Pretty {
			return append(dst, "NULL"...)
		}
		return append(dst, "null"...)
	}
	switch v.Type.Kind {
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		return append(dst, v.Bytes(i)...)
	case plan.KindBinary:
		if st.Pretty || st.Bare {
			return appendHexBytes(dst, v.Bytes(i))
		}
		return append(dst, v.Bytes(i)...)
	case plan.KindBoolean:
		if chunk.Values[uint8](v)[i] != 0 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		return appendInt(dst, integer(v, i))
	case plan.KindFloat:
		return AppendFloat(dst, chunk.Values[float32](v)[i])
	case plan.KindDouble:
		return AppendDouble(dst, chunk.Values[float64](v)[i])
	case plan.KindDecimal:
		if st.ExpDecimal && !st.Pretty {
			return AppendDecimalExp(dst, chunk.Values[chunk.Dec](v)[i], v.Type.Scale)
		}
		return AppendDecimal(dst, chunk.Values[chunk.Dec](v)[i], v.Type.Scale)
	case plan.KindArray, plan.KindMap, plan.KindStruct:
		return st.appendNested(dst, v, i)
	case plan.KindVariant:
		return AppendVariant(dst, v.Kids[0].Bytes(i), v.Kids[1].Bytes(i), st.Zone)
	default:
		return st.appendTemporal(dst, v, i)
	}
}

// integer is row i of an integer column of any width.
func integer(v *chunk.Vector, i int) int64 {
	switch v.Type.Kind {
	case plan.KindByte:
		return int64(chunk.Values[int8](v)[i])
	case plan.KindShort:
		return int64(chunk.Values[int16](v)[i])
	case plan.KindInt:
		return int64(chunk.Values[int32](v)[i])
	default:
		return chunk.Values[int64](v)[i]
	}
}

func (st *TextStyle) appendTemporal(dst []byte, v *chunk.Vector, i int) []byte {
	switch v.Type.Kind {
	case plan.KindDate:
		return AppendDate(dst, chunk.Values[int32](v)[i])
	case plan.KindTime:
		return AppendTime(dst, chunk.Values[int64](v)[i])
	case plan.KindTimestamp:
		return AppendTimestamp(dst, chunk.Values[int64](v)[i], st.Zone)
	case plan.KindTimestampNTZ:
		return AppendTimestampNTZ(dst, chunk.Values[int64](v)[i])
	case plan.KindYearMonth:
		return AppendYearMonth(dst, chunk.Values[int32](v)[i], v.Type)
	case plan.KindDayTime:
		return AppendDayTime(dst, chunk.Values[int64](v)[i], v.Type)
	case plan.KindCalendar:
		return AppendInterval(dst, chunk.Values[plan.Interval](v)[i])
	default:
		panic("no text for type " + v.Type.Simple())
	}
}

func (st *TextStyle) appendNested(dst []byte, v *chunk.Vector, i int) []byte {
	switch v.Type.Kind {
	case plan.KindArray:
		dst = append(dst, '[')
		from, to := v.Span(i)
		for e := from; e < to; e++ {
			dst = st.appendPart(dst, v.Kids[0], e, partMark(e > from))
		}
		return append(dst, ']')
	case plan.KindMap:
		dst = append(dst, '{')
		from, to := v.Span(i)
		for e := from; e < to; e++ {
			dst = st.appendPart(dst, v.Kids[0], e, partMark(e > from))
			dst = st.appendPart(dst, v.Kids[1], e, " ->")
		}
		return append(dst, '}')
	default:
		dst = append(dst, '{')
		for k, kid := range v.Kids {
			dst = st.appendPart(dst, kid, i, partMark(k > 0))
		}
		return append(dst, '}')
	}
}

func partMark(more bool) string {
	if more {
		return ","
	}
	return ""
}

// appendPart writes a part of a nested value behind a mark.
func (st *TextStyle) appendPart(dst []byte, v *chunk.Vector, i int, mark string) []byte {
	dst = append(dst, mark...)
	if st.Bare && v.IsNull(i) {
		return dst
	}
	if mark != "" {
		dst = append(dst, ' ')
	}
	return st.AppendValue(dst, v, i)
}

const hexDigits = "0123456789ABCDEF"

func appendHexBytes(dst, b []byte) []byte {
	dst = append(dst, '[')
	for i, x := range b {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, hexDigits[x>>4], hexDigits[x&15])
	}
	return append(dst, ']')
}
