package chunk

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-dev/weir/internal/plan"
)

// ArrowOptions say how Spark types become Arrow types at an edge.
type ArrowOptions struct {
	Zone     string // session time zone, written into timestamp types
	LargeVar bool   // large_string and large_binary
}

// metadataKey is where Spark keeps a field's own metadata in Arrow.
const metadataKey = "SPARK::metadata::json"

// ArrowSchema is a schema as Spark Connect sends it.
func ArrowSchema(schema plan.Type, o ArrowOptions) *arrow.Schema {
	fields := make([]arrow.Field, len(schema.Fields))
	for i, f := range schema.Fields {
		fields[i] = o.field(f)
	}
	return arrow.NewSchema(fields, nil)
}

func (o ArrowOptions) field(f plan.Field) arrow.Field {
	af := arrow.Field{Name: f.Name, Type: o.Type(f.Type), Nullable: f.Nullable}
	if f.Metadata != "" {
		af.Metadata = arrow.NewMetadata([]string{metadataKey}, []string{f.Metadata})
	}
	return af
}

// Type is the Arrow type of a Spark type.
func (o ArrowOptions) Type(t plan.Type) arrow.DataType {
	switch t.Kind {
	case plan.KindNull:
		return arrow.Null
	case plan.KindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case plan.KindByte:
		return arrow.PrimitiveTypes.Int8
	case plan.KindShort:
		return arrow.PrimitiveTypes.Int16
	case plan.KindInt:
		return arrow.PrimitiveTypes.Int32
	case plan.KindLong:
		return arrow.PrimitiveTypes.Int64
	case plan.KindFloat:
		return arrow.PrimitiveTypes.Float32
	case plan.KindDouble:
		return arrow.PrimitiveTypes.Float64
	case plan.KindDecimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		if o.LargeVar {
			return arrow.BinaryTypes.LargeString
		}
		return arrow.BinaryTypes.String
	case plan.KindBinary:
		if o.LargeVar {
			return arrow.BinaryTypes.LargeBinary
		}
		return arrow.BinaryTypes.Binary
	default:
		return o.temporalOrNested(t)
	}
}

func (o ArrowOptions) temporalOrNested(t plan.Type) arrow.DataType {
	switch t.Kind {
	case plan.KindDate:
		return arrow.FixedWidthTypes.Date32
	case plan.KindTime:
		return arrow.FixedWidthTypes.Time64ns
	case plan.KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: o.Zone}
	case plan.KindTimestampNTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case plan.KindYearMonth:
		return arrow.FixedWidthTypes.MonthInterval
	case plan.KindDayTime:
		return arrow.FixedWidthTypes.Duration_us
	case plan.KindCalendar:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case plan.KindArray:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: o.Type(*t.Elem), Nullable: t.ContainsNull})
	case plan.KindMap:
		m := arrow.MapOfFields(
			arrow.Field{Name: "key", Type: o.Type(*t.Key)},
			arrow.Field{Name: "value", Type: o.Type(*t.Elem), Nullable: t.ContainsNull})
		return m
	case plan.KindStruct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: o.Type(f.Type), Nullable: f.Nullable}
		}
		return arrow.StructOf(fields...)
	case plan.KindVariant:
		return arrow.StructOf(
			arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary},
			arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary,
				Metadata: arrow.NewMetadata([]string{"variant"}, []string{"true"})})
	default:
		panic(fmt.Sprintf("no Arrow type for %s", t.Simple()))
	}
}

// FromArrowType is the Spark type of an Arrow type, as createDataFrame infers
// it: timestamps with a zone are TIMESTAMP, without one TIMESTAMP_NTZ.
func FromArrowType(t arrow.DataType) (plan.Type, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return plan.Null, nil
	case *arrow.BooleanType:
		return plan.Boolean, nil
	case *arrow.Int8Type:
		return plan.Byte, nil
	case *arrow.Int16Type, *arrow.Uint8Type:
		return plan.Short, nil
	case *arrow.Int32Type, *arrow.Uint16Type:
		return plan.Int, nil
	case *arrow.Int64Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return plan.Long, nil
	case *arrow.Float32Type:
		return plan.Float, nil
	case *arrow.Float64Type:
		return plan.Double, nil
	case *arrow.Decimal128Type:
		return plan.Decimal(int(t.Precision), int(t.Scale)), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return plan.String, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.FixedSizeBinaryType, *arrow.BinaryViewType:
		return plan.Binary, nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return plan.Date, nil
	case *arrow.Time64Type, *arrow.Time32Type:
		return plan.Time(6), nil
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return plan.TimestampNTZ, nil
		}
		return plan.Timestamp, nil
	case *arrow.DurationType:
		return plan.DayTime, nil
	case *arrow.MonthIntervalType:
		return plan.YearMonth, nil
	case *arrow.MonthDayNanoIntervalType:
		return plan.Calendar, nil
	default:
		return fromNestedArrow(t)
	}
}

func fromNestedArrow(t arrow.DataType) (plan.Type, error) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return FromArrowType(t.ValueType)
	case *arrow.MapType:
		key, err := FromArrowType(t.KeyType())
		if err != nil {
			return plan.Type{}, err
		}
		value, err := FromArrowType(t.ItemType())
		return plan.Map(key, value, t.ItemField().Nullable), err
	case arrow.ListLikeType:
		elem, err := FromArrowType(t.Elem())
		return plan.Array(elem, t.ElemField().Nullable), err
	case *arrow.StructType:
		if isVariant(t) {
			return plan.Variant, nil
		}
		fields := make([]plan.Field, t.NumFields())
		for i, f := range t.Fields() {
			ft, err := FromArrowType(f.Type)
			if err != nil {
				return plan.Type{}, fmt.Errorf("field %q: %w", f.Name, err)
			}
			fields[i] = plan.Field{Name: f.Name, Type: ft, Nullable: f.Nullable}
		}
		return plan.Struct(fields...), nil
	default:
		return plan.Type{}, fmt.Errorf("arrow type %s has no Spark type", t)
	}
}

func isVariant(t *arrow.StructType) bool {
	if t.NumFields() != 2 || t.Field(1).Name != "metadata" {
		return false
	}
	v, ok := t.Field(1).Metadata.GetValue("variant")
	return ok && v == "true"
}

// FromArrowSchema is the schema of an Arrow stream. Metadata that Spark left in
// a field is kept.
func FromArrowSchema(s *arrow.Schema) (plan.Type, error) {
	fields := make([]plan.Field, s.NumFields())
	for i, f := range s.Fields() {
		t, err := FromArrowType(f.Type)
		if err != nil {
			return plan.Type{}, fmt.Errorf("column %q: %w", f.Name, err)
		}
		metadata, _ := f.Metadata.GetValue(metadataKey)
		fields[i] = plan.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: metadata}
	}
	return plan.Struct(fields...), nil
}
