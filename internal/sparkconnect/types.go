package sparkconnect

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

// firstField is the number of the first field in raw protobuf bytes.
func firstField(raw []byte) int {
	number, _, n := protowire.ConsumeTag(raw)
	if n < 0 {
		return 0
	}
	return int(number)
}

// simpleKinds are the types without parameters, by the arm that stands for them.
var simpleKinds = map[string]plan.Type{
	"null": plan.Null, "binary": plan.Binary, "boolean": plan.Boolean, "byte": plan.Byte,
	"short": plan.Short, "integer": plan.Int, "long": plan.Long, "float": plan.Float,
	"double": plan.Double, "date": plan.Date, "timestamp": plan.Timestamp,
	"timestamp_ntz": plan.TimestampNTZ, "calendar_interval": plan.Calendar, "variant": plan.Variant,
}

// dataType decodes a type.
func (d *decoder) dataType(t *pb.DataType) (plan.Type, error) {
	if t == nil {
		return plan.Type{}, emptyField("spark.connect.DataType", "kind")
	}
	if err := d.enter(); err != nil {
		return plan.Type{}, err
	}
	defer d.leave()
	f := arm(t, "kind")
	if f == nil {
		return plan.Type{}, notSet(t, "KIND_NOT_SET")
	}
	if simple, ok := simpleKinds[string(f.Name())]; ok {
		return simple, nil
	}
	switch k := t.Kind.(type) {
	case *pb.DataType_Decimal_:
		return decimalOf(k.Decimal)
	case *pb.DataType_String_:
		return stringOf(k.String_.GetCollation()), nil
	case *pb.DataType_Char_:
		return plan.Char(int(k.Char.GetLength())), nil
	case *pb.DataType_VarChar_:
		return plan.VarChar(int(k.VarChar.GetLength())), nil
	case *pb.DataType_Time_:
		if k.Time.Precision == nil {
			return plan.Time(6), nil
		}
		return plan.Time(int(k.Time.GetPrecision())), nil
	case *pb.DataType_YearMonthInterval_:
		m := k.YearMonthInterval
		return intervalOf(plan.YearMonth, m.StartField, m.EndField, 0)
	case *pb.DataType_DayTimeInterval_:
		m := k.DayTimeInterval
		return intervalOf(plan.DayTime, m.StartField, m.EndField, plan.FieldDay)
	case *pb.DataType_Unparsed_:
		return sql.ParseType(k.Unparsed.GetDataTypeString())
	case *pb.DataType_Udt:
		return d.dataType(k.Udt.GetSqlType())
	default:
		return d.nestedType(t)
	}
}

func (d *decoder) nestedType(t *pb.DataType) (plan.Type, error) {
	switch k := t.Kind.(type) {
	case *pb.DataType_Array_:
		elem, err := d.dataType(k.Array.GetElementType())
		return plan.Array(elem, k.Array.GetContainsNull()), err
	case *pb.DataType_Map_:
		key, err := d.dataType(k.Map.GetKeyType())
		if err != nil {
			return plan.Type{}, err
		}
		value, err := d.dataType(k.Map.GetValueType())
		return plan.Map(key, value, k.Map.GetValueContainsNull()), err
	case *pb.DataType_Struct_:
		fields := make([]plan.Field, 0, len(k.Struct.GetFields()))
		for _, f := range k.Struct.GetFields() {
			ft, err := d.dataType(f.GetDataType())
			if err != nil {
				return plan.Type{}, err
			}
			metadata := f.GetMetadata()
			if metadata == "{}" {
				metadata = ""
			}
			fields = append(fields, plan.Field{
				Name: f.GetName(), Type: ft, Nullable: f.GetNullable(), Metadata: metadata,
			})
		}
		return plan.Struct(fields...), nil
	default:
		return plan.Type{}, notSupported(t, arm(t, "kind"))
	}
}

func stringOf(collation string) plan.Type {
	if collation == "UTF8_BINARY" {
		collation = ""
	}
	return plan.Type{Kind: plan.KindString, Collation: collation}
}

func decimalOf(d *pb.DataType_Decimal) (plan.Type, error) {
	if d.Precision == nil {
		return plan.Decimal(10, int(d.GetScale())), nil
	}
	p, s := int(d.GetPrecision()), int(d.GetScale())
	if p < 1 || p > plan.MaxPrecision || s < 0 || s > p {
		return plan.Type{}, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
			fmt.Sprintf("A decimal cannot have precision %d and scale %d.", p, s),
			"errorMsg", fmt.Sprintf("decimal(%d,%d)", p, s))
	}
	return plan.Decimal(p, s), nil
}

// intervalOf applies the fields that a message gives; first is the field
// number that it counts as zero.
func intervalOf(t plan.Type, start, end *int32, first plan.IntervalField) (plan.Type, error) {
	from, to := t.Start, t.End
	if start != nil {
		from = first + plan.IntervalField(*start)
		to = from
	}
	if end != nil {
		to = first + plan.IntervalField(*end)
	}
	if from < t.Start || to > t.End || from > to {
		return plan.Type{}, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
			"An interval type names fields that it cannot have.", "errorMsg", "interval fields")
	}
	t.Start, t.End = from, to
	return t, nil
}

// mostMessages is how deep messages of a schema may nest: readers of Protocol Buffers
// stop at a hundred, and answers have a few around it. Arrow stops at 64 types, which is
// farther.
const mostMessages = 94

// encodeSchema is the schema of a result, or why no client could read it.
func encodeSchema(schema plan.Type) (*pb.DataType, error) {
	for _, f := range schema.Fields {
		if messages(f.Type) <= mostMessages {
			continue
		}
		return nil, &plan.Error{
			Class: plan.ClassJavaUnsupported,
			Msg:   "The types of column " + f.Name + " nest deeper than a client can read, about 45 levels.",
			Hint:  "Take the values apart with explode, or turn the inner ones into text with to_json.",
		}
	}
	return encodeType(schema), nil
}

// messages is how deep the messages of a type nest.
func messages(t plan.Type) int {
	switch t.Kind {
	case plan.KindArray:
		return 2 + messages(*t.Elem)
	case plan.KindMap:
		return 2 + max(messages(*t.Key), messages(*t.Elem))
	}
	most := 0
	for _, f := range t.Fields {
		most = max(most, 1+messages(f.Type))
	}
	return 2 + most
}

// encodeType is a type as the client reads it in schemas.
func encodeType(t plan.Type) *pb.DataType {
	switch t.Kind {
	case plan.KindDecimal:
		p, s := int32(t.Precision), int32(t.Scale)
		return &pb.DataType{Kind: &pb.DataType_Decimal_{Decimal: &pb.DataType_Decimal{Precision: &p, Scale: &s}}}
	case plan.KindString:
		c := t.Collation
		if c == "" {
			c = "UTF8_BINARY"
		}
		return &pb.DataType{Kind: &pb.DataType_String_{String_: &pb.DataType_String{Collation: c}}}
	case plan.KindChar:
		return &pb.DataType{Kind: &pb.DataType_Char_{Char: &pb.DataType_Char{Length: int32(t.Length)}}}
	case plan.KindVarChar:
		return &pb.DataType{Kind: &pb.DataType_VarChar_{VarChar: &pb.DataType_VarChar{Length: int32(t.Length)}}}
	case plan.KindTime:
		p := int32(t.Precision)
		return &pb.DataType{Kind: &pb.DataType_Time_{Time: &pb.DataType_Time{Precision: &p}}}
	case plan.KindYearMonth:
		a, b := int32(t.Start), int32(t.End)
		return &pb.DataType{Kind: &pb.DataType_YearMonthInterval_{
			YearMonthInterval: &pb.DataType_YearMonthInterval{StartField: &a, EndField: &b}}}
	case plan.KindDayTime:
		a, b := int32(t.Start-plan.FieldDay), int32(t.End-plan.FieldDay)
		return &pb.DataType{Kind: &pb.DataType_DayTimeInterval_{
			DayTimeInterval: &pb.DataType_DayTimeInterval{StartField: &a, EndField: &b}}}
	case plan.KindArray:
		return &pb.DataType{Kind: &pb.DataType_Array_{Array: &pb.DataType_Array{
			ElementType: encodeType(*t.Elem), ContainsNull: t.ContainsNull}}}
	case plan.KindMap:
		return &pb.DataType{Kind: &pb.DataType_Map_{Map: &pb.DataType_Map{
			KeyType: encodeType(*t.Key), ValueType: encodeType(*t.Elem), ValueContainsNull: t.ContainsNull}}}
	case plan.KindStruct:
		return &pb.DataType{Kind: &pb.DataType_Struct_{Struct: encodeFields(t)}}
	default:
		return encodeSimple(t.Kind)
	}
}

func encodeFields(t plan.Type) *pb.DataType_Struct {
	s := &pb.DataType_Struct{}
	for _, f := range t.Fields {
		field := &pb.DataType_StructField{Name: f.Name, DataType: encodeType(f.Type), Nullable: f.Nullable}
		if f.Metadata != "" {
			metadata := f.Metadata
			field.Metadata = &metadata
		}
		s.Fields = append(s.Fields, field)
	}
	return s
}

func encodeSimple(k plan.Kind) *pb.DataType {
	switch k {
	case plan.KindNull:
		return &pb.DataType{Kind: &pb.DataType_Null{Null: &pb.DataType_NULL{}}}
	case plan.KindBinary:
		return &pb.DataType{Kind: &pb.DataType_Binary_{Binary: &pb.DataType_Binary{}}}
	case plan.KindBoolean:
		return &pb.DataType{Kind: &pb.DataType_Boolean_{Boolean: &pb.DataType_Boolean{}}}
	case plan.KindByte:
		return &pb.DataType{Kind: &pb.DataType_Byte_{Byte: &pb.DataType_Byte{}}}
	case plan.KindShort:
		return &pb.DataType{Kind: &pb.DataType_Short_{Short: &pb.DataType_Short{}}}
	case plan.KindInt:
		return &pb.DataType{Kind: &pb.DataType_Integer_{Integer: &pb.DataType_Integer{}}}
	case plan.KindLong:
		return &pb.DataType{Kind: &pb.DataType_Long_{Long: &pb.DataType_Long{}}}
	case plan.KindFloat:
		return &pb.DataType{Kind: &pb.DataType_Float_{Float: &pb.DataType_Float{}}}
	case plan.KindDouble:
		return &pb.DataType{Kind: &pb.DataType_Double_{Double: &pb.DataType_Double{}}}
	case plan.KindDate:
		return &pb.DataType{Kind: &pb.DataType_Date_{Date: &pb.DataType_Date{}}}
	case plan.KindTimestamp:
		return &pb.DataType{Kind: &pb.DataType_Timestamp_{Timestamp: &pb.DataType_Timestamp{}}}
	case plan.KindTimestampNTZ:
		return &pb.DataType{Kind: &pb.DataType_TimestampNtz{TimestampNtz: &pb.DataType_TimestampNTZ{}}}
	case plan.KindCalendar:
		return &pb.DataType{Kind: &pb.DataType_CalendarInterval_{
			CalendarInterval: &pb.DataType_CalendarInterval{}}}
	default:
		return &pb.DataType{Kind: &pb.DataType_Variant_{Variant: &pb.DataType_Variant{}}}
	}
}
