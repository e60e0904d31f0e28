//lint:file-ignore SA1019 clients of 4.0 still send and read the deprecated fields

package sparkconnect

import (
	"math/big"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// encodeLiteral is a value as the client reads observed metrics.
func encodeLiteral(v plan.Value, t plan.Type) *pb.Expression_Literal {
	if v == nil {
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Null{Null: encodeType(t)}}
	}
	switch t.Kind {
	case plan.KindBoolean:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Boolean{Boolean: v.(bool)}}
	case plan.KindByte:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Byte{Byte: int32(v.(int64))}}
	case plan.KindShort:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Short{Short: int32(v.(int64))}}
	case plan.KindInt:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Integer{Integer: int32(v.(int64))}}
	case plan.KindLong:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Long{Long: v.(int64)}}
	case plan.KindFloat:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Float{Float: v.(float32)}}
	case plan.KindDouble:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Double{Double: v.(float64)}}
	case plan.KindDecimal:
		return encodeDecimal(v.(chunk.Dec).BigInt(), t)
	case plan.KindBinary:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Binary{Binary: v.([]byte)}}
	case plan.KindDate:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Date{Date: v.(int32)}}
	case plan.KindTimestamp:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Timestamp{Timestamp: v.(int64)}}
	case plan.KindTimestampNTZ:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_TimestampNtz{TimestampNtz: v.(int64)}}
	case plan.KindYearMonth:
		return &pb.Expression_Literal{
			LiteralType: &pb.Expression_Literal_YearMonthInterval{YearMonthInterval: v.(int32)}}
	case plan.KindDayTime:
		return &pb.Expression_Literal{
			LiteralType: &pb.Expression_Literal_DayTimeInterval{DayTimeInterval: v.(int64)}}
	case plan.KindArray, plan.KindMap, plan.KindStruct:
		return encodeNested(v, t)
	default:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_String_{String_: v.(string)}}
	}
}

func encodeDecimal(unscaled *big.Int, t plan.Type) *pb.Expression_Literal {
	digits := new(big.Int).Abs(unscaled).String()
	if pad := t.Scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	text := digits
	if t.Scale > 0 {
		text = digits[:len(digits)-t.Scale] + "." + digits[len(digits)-t.Scale:]
	}
	if unscaled.Sign() < 0 {
		text = "-" + text
	}
	p, s := int32(t.Precision), int32(t.Scale)
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Decimal_{
		Decimal: &pb.Expression_Literal_Decimal{Value: text, Precision: &p, Scale: &s}}}
}

func encodeNested(v plan.Value, t plan.Type) *pb.Expression_Literal {
	list := func(values []plan.Value, t plan.Type) []*pb.Expression_Literal {
		out := make([]*pb.Expression_Literal, len(values))
		for i, x := range values {
			out[i] = encodeLiteral(x, t)
		}
		return out
	}
	switch t.Kind {
	case plan.KindArray:
		a := &pb.Expression_Literal_Array{
			ElementType: encodeType(*t.Elem), Elements: list(v.([]plan.Value), *t.Elem)}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Array_{Array: a}}
	case plan.KindMap:
		m := v.(plan.MapValue)
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Map_{Map: &pb.Expression_Literal_Map{
			KeyType: encodeType(*t.Key), ValueType: encodeType(*t.Elem),
			Keys: list(m.Keys, *t.Key), Values: list(m.Values, *t.Elem)}}}
	default:
		s := &pb.Expression_Literal_Struct{StructType: encodeType(t)}
		for i, x := range v.([]plan.Value) {
			s.Elements = append(s.Elements, encodeLiteral(x, t.Fields[i].Type))
		}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Struct_{Struct: s}}
	}
}
