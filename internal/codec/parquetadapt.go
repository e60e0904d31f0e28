package codec

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// adapt is a column as it was read in the type that is wanted, where Spark's
// reader converts: the same values in a wider type, fields of structs by name.
func adapt(v *chunk.Vector, want plan.Type) (*chunk.Vector, bool) {
	if v.Type.EqualIgnoringNull(want) {
		return v, true
	}
	have := v.Type
	switch {
	case have.Kind == want.Kind && have.Kind == plan.KindStruct:
		return adaptStruct(v, want)
	case have.Kind == want.Kind && (have.Kind == plan.KindArray || have.Kind == plan.KindMap):
		return adaptElements(v, want)
	case chunk.IsBytes(have) && chunk.IsBytes(want):
		return retyped(v, want), true
	case have.Kind == plan.KindLong && want.Kind == plan.KindDayTime,
		have.Kind == plan.KindInt && want.Kind == plan.KindYearMonth,
		have.Kind == plan.KindTimestampNTZ && want.Kind == plan.KindTimestamp:
		return retyped(v, want), true
	case have.Kind == plan.KindVariant || want.Kind == plan.KindVariant:
		return nil, false
	default:
		return widenColumn(v, want)
	}
}

// retyped is the same memory under another type.
func retyped(v *chunk.Vector, t plan.Type) *chunk.Vector {
	n := *v
	n.Type = t
	return &n
}

func adaptStruct(v *chunk.Vector, want plan.Type) (*chunk.Vector, bool) {
	out := &chunk.Vector{Type: want, Len: v.Len, Valid: v.Valid}
	for _, f := range want.Fields {
		at := -1
		for k, have := range v.Type.Fields {
			if have.Name == f.Name || at < 0 && strings.EqualFold(have.Name, f.Name) {
				at = k
			}
		}
		if at < 0 {
			out.Kids = append(out.Kids, chunk.NullVector(f.Type, v.Len))
			continue
		}
		kid, ok := adapt(v.Kids[at], f.Type)
		if !ok {
			return nil, false
		}
		out.Kids = append(out.Kids, kid)
	}
	return out, true
}

func adaptElements(v *chunk.Vector, want plan.Type) (*chunk.Vector, bool) {
	types := []plan.Type{*want.Elem}
	if want.Kind == plan.KindMap {
		types = []plan.Type{*want.Key, *want.Elem}
	}
	out := &chunk.Vector{Type: want, Len: v.Len, Valid: v.Valid, Offsets: v.Offsets}
	for i, t := range types {
		kid, ok := adapt(v.Kids[i], t)
		if !ok {
			return nil, false
		}
		out.Kids = append(out.Kids, kid)
	}
	return out, true
}

// widenColumn converts between numbers without loss: integers to wider ones and
// to float, double and decimal, float to double, decimals to wider ones.
func widenColumn(v *chunk.Vector, want plan.Type) (*chunk.Vector, bool) {
	out := chunk.New(want, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			out.AppendNull()
			continue
		}
		x, ok := widenValue(v.Value(i), v.Type, want)
		if !ok {
			return nil, false
		}
		out.AppendValue(x)
	}
	return out, widens(v.Type, want)
}

// widens reports whether Spark's Parquet reader converts between two types.
func widens(have, want plan.Type) bool {
	switch {
	case have.IsIntegral() && want.IsIntegral():
		// Narrower ones too, as Parquet stores tinyint and smallint as int32; but
		// int64 stays what it is.
		return have.Kind != plan.KindLong || want.Kind == plan.KindLong
	case have.IsIntegral() && want.Kind == plan.KindDouble:
		return have.Kind != plan.KindLong
	case have.IsIntegral() && want.Kind == plan.KindDecimal:
		return want.Precision-want.Scale >= plan.DecimalOf(have.Kind).Precision
	case have.Kind == plan.KindFloat && want.Kind == plan.KindDouble:
		return true
	case have.Kind == plan.KindDecimal && want.Kind == plan.KindDecimal:
		return want.Scale >= have.Scale && want.Precision-want.Scale >= have.Precision-have.Scale
	case have.Kind == plan.KindDate && want.Kind == plan.KindTimestampNTZ:
		return true
	default:
		return false
	}
}

func widenValue(x plan.Value, have, want plan.Type) (plan.Value, bool) {
	switch n := x.(type) {
	case int64:
		return widenInteger(n, want)
	case int32:
		return int64(n) * 86_400_000_000, want.Kind == plan.KindTimestampNTZ
	case float32:
		return float64(n), want.Kind == plan.KindDouble
	case chunk.Dec:
		d, err := n.Rescale(int32(have.Scale), int32(want.Scale))
		return d, err == nil && want.Kind == plan.KindDecimal
	default:
		return nil, false
	}
}

func widenInteger(n int64, want plan.Type) (plan.Value, bool) {
	switch want.Kind {
	case plan.KindByte:
		return n, n == int64(int8(n))
	case plan.KindShort:
		return n, n == int64(int16(n))
	case plan.KindInt:
		return n, n == int64(int32(n))
	case plan.KindLong:
		return n, true
	case plan.KindDouble:
		return float64(n), true
	case plan.KindDecimal:
		d, err := decimal128.FromI64(n).Rescale(0, int32(want.Scale))
		return d, err == nil
	default:
		return nil, false
	}
}
