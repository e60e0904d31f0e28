//lint:file-ignore SA1019 clients of 4.0 still send and read the deprecated fields

package sparkconnect

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// literal decodes a constant.
func (d *decoder) literal(l *pb.Expression_Literal) (*plan.Literal, error) {
	if l == nil || l.LiteralType == nil {
		return nil, notSet(&pb.Expression_Literal{}, "LITERALTYPE_NOT_SET")
	}
	switch v := l.LiteralType.(type) {
	case *pb.Expression_Literal_Null:
		t, err := d.dataType(v.Null)
		return plan.Lit(nil, t), err
	case *pb.Expression_Literal_Binary:
		return plan.Lit(v.Binary, plan.Binary), nil
	case *pb.Expression_Literal_Boolean:
		return plan.Lit(v.Boolean, plan.Boolean), nil
	case *pb.Expression_Literal_Byte:
		return plan.Lit(int64(int8(v.Byte)), plan.Byte), nil
	case *pb.Expression_Literal_Short:
		return plan.Lit(int64(int16(v.Short)), plan.Short), nil
	case *pb.Expression_Literal_Integer:
		return plan.Lit(int64(v.Integer), plan.Int), nil
	case *pb.Expression_Literal_Long:
		return plan.Lit(v.Long, plan.Long), nil
	case *pb.Expression_Literal_Float:
		return plan.Lit(v.Float, plan.Float), nil
	case *pb.Expression_Literal_Double:
		return plan.Lit(v.Double, plan.Double), nil
	case *pb.Expression_Literal_Decimal_:
		return decimalLiteral(v.Decimal)
	case *pb.Expression_Literal_String_:
		return plan.Lit(v.String_, plan.String), nil
	case *pb.Expression_Literal_Date:
		return plan.Lit(v.Date, plan.Date), nil
	case *pb.Expression_Literal_Timestamp:
		return plan.Lit(v.Timestamp, plan.Timestamp), nil
	case *pb.Expression_Literal_TimestampNtz:
		return plan.Lit(v.TimestampNtz, plan.TimestampNTZ), nil
	case *pb.Expression_Literal_YearMonthInterval:
		return plan.Lit(v.YearMonthInterval, plan.YearMonth), nil
	case *pb.Expression_Literal_DayTimeInterval:
		return plan.Lit(v.DayTimeInterval, plan.DayTime), nil
	case *pb.Expression_Literal_CalendarInterval_:
		c := v.CalendarInterval
		return plan.Lit(plan.Interval{Months: c.GetMonths(), Days: c.GetDays(), Micros: c.GetMicroseconds()},
			plan.Calendar), nil
	case *pb.Expression_Literal_Time_:
		return plan.Lit(v.Time.GetNano(), plan.Time(int(v.Time.GetPrecision()))), nil
	default:
		return d.nestedLiteral(l)
	}
}

// maxExponent bounds the exponent of a decimal's text, so that no short text
// asks for a huge number.
const maxExponent = 1000

// decimalLiteral reads the digits of the value. Precision and scale of the
// message can widen the type that the digits need, never narrow it: clients say
// (10,0) for every decimal whose type they do not know.
func decimalLiteral(m *pb.Expression_Literal_Decimal) (*plan.Literal, error) {
	text := m.GetValue()
	digits, s, ok := decimalDigits(text)
	if !ok {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
			"The decimal literal "+text+" is not a number that a decimal can hold.", "errorMsg", text)
	}
	given := int(m.GetScale())
	unscaled := digits
	if given > s && given <= plan.MaxPrecision {
		unscaled = new(big.Int).Mul(digits, pow10(given-s))
		s = given
	}
	p := max(len(new(big.Int).Abs(unscaled).String()), s, int(m.GetPrecision()))
	if p = max(p, given); p > plan.MaxPrecision {
		return nil, plan.NewError(plan.ClassArithmetic, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
			"A decimal has at most 38 digits, not "+strconv.Itoa(p)+".",
			"precision", strconv.Itoa(p), "maxPrecision", strconv.Itoa(plan.MaxPrecision))
	}
	return plan.Lit(decimal128.FromBigInt(unscaled), plan.Decimal(p, s)), nil
}

// ownDecimal is a decimal that is bound to a parameter: it has the type that its digits
// need, whatever the message says.
func ownDecimal(given *pb.Expression, e plan.Expr) plan.Expr {
	m := given.GetLiteral().GetDecimal()
	if m == nil {
		return e
	}
	own, err := decimalLiteral(&pb.Expression_Literal_Decimal{Value: m.GetValue()})
	if err != nil {
		return e
	}
	return own
}

// decimalDigits is the number that the text of a BigDecimal says, as an integer
// and the count of its digits after the point, which is never negative.
func decimalDigits(text string) (unscaled *big.Int, scale int, ok bool) {
	mantissa, exponent, cut := text, 0, strings.IndexAny(text, "eE")
	if cut >= 0 {
		n, err := strconv.Atoi(text[cut+1:])
		if err != nil || max(n, -n) > maxExponent {
			return nil, 0, false
		}
		mantissa, exponent = text[:cut], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unsigned := strings.TrimPrefix(strings.TrimPrefix(whole, "-"), "+") + fraction
	if len(whole)+len(fraction) > maxExponent || unsigned == "" || strings.Trim(unsigned, "0123456789") != "" {
		return nil, 0, false
	}
	unscaled, ok = new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, 0, false
	}
	scale = len(fraction) - exponent
	if scale < 0 {
		unscaled.Mul(unscaled, pow10(-scale))
		scale = 0
	}
	return unscaled, scale, true
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (d *decoder) nestedLiteral(l *pb.Expression_Literal) (*plan.Literal, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	switch v := l.LiteralType.(type) {
	case *pb.Expression_Literal_Array_:
		return d.arrayLiteral(l, v.Array)
	case *pb.Expression_Literal_Map_:
		return d.mapLiteral(l, v.Map)
	case *pb.Expression_Literal_Struct_:
		return d.structLiteral(l, v.Struct)
	case *pb.Expression_Literal_SpecializedArray_:
		return specializedArray(v.SpecializedArray)
	default:
		return nil, notSupported(l, arm(l, "literal_type"))
	}
}

// declared is the type that a literal says it has: in data_type, or in the
// older field of its own message.
func (d *decoder) declared(l *pb.Expression_Literal) (plan.Type, bool, error) {
	if l.DataType == nil {
		return plan.Type{}, false, nil
	}
	t, err := d.dataType(l.DataType)
	return t, true, err
}

// values decodes the parts of a nested literal and their common type.
func (d *decoder) values(list []*pb.Expression_Literal) ([]plan.Value, plan.Type, error) {
	values, t := make([]plan.Value, 0, len(list)), plan.Null
	for _, e := range list {
		x, err := d.literal(e)
		if err != nil {
			return nil, t, err
		}
		if t.Kind == plan.KindNull {
			t = x.Of
		}
		values = append(values, x.Value)
	}
	return values, t, nil
}

func (d *decoder) arrayLiteral(l *pb.Expression_Literal, m *pb.Expression_Literal_Array,
) (*plan.Literal, error) {
	values, elem, err := d.values(m.GetElements())
	if err != nil {
		return nil, err
	}
	t, ok, err := d.declared(l)
	if err == nil && !ok && m.GetElementType() != nil {
		elem, err = d.dataType(m.GetElementType())
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		t = plan.Array(elem, true)
	}
	return plan.Lit(values, t), nil
}

func (d *decoder) mapLiteral(l *pb.Expression_Literal, m *pb.Expression_Literal_Map) (*plan.Literal, error) {
	keys, key, err := d.values(m.GetKeys())
	if err != nil {
		return nil, err
	}
	values, value, err := d.values(m.GetValues())
	if err != nil {
		return nil, err
	}
	if len(keys) != len(values) {
		return nil, emptyField("spark.connect.Expression.Literal.Map", "values")
	}
	t, ok, err := d.declared(l)
	if err == nil && !ok && m.GetKeyType() != nil {
		if key, err = d.dataType(m.GetKeyType()); err == nil {
			value, err = d.dataType(m.GetValueType())
		}
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		t = plan.Map(key, value, true)
	}
	return plan.Lit(plan.MapValue{Keys: keys, Values: values}, t), nil
}

func (d *decoder) structLiteral(l *pb.Expression_Literal, m *pb.Expression_Literal_Struct,
) (*plan.Literal, error) {
	values, _, err := d.values(m.GetElements())
	if err != nil {
		return nil, err
	}
	t, ok, err := d.declared(l)
	if err == nil && !ok {
		t, err = d.dataType(m.GetStructType())
	}
	if err != nil {
		return nil, err
	}
	if t.Kind != plan.KindStruct || len(t.Fields) != len(values) {
		return nil, emptyField("spark.connect.Expression.Literal.Struct", "struct_type")
	}
	return plan.Lit(values, t), nil
}

// specializedArray is an array of one primitive type in packed form.
func specializedArray(m *pb.Expression_Literal_SpecializedArray) (*plan.Literal, error) {
	var values []plan.Value
	var elem plan.Type
	switch a := m.GetValueType().(type) {
	case *pb.Expression_Literal_SpecializedArray_Bools:
		values, elem = boxed(a.Bools.GetValues(), func(x bool) plan.Value { return x }), plan.Boolean
	case *pb.Expression_Literal_SpecializedArray_Ints:
		values, elem = boxed(a.Ints.GetValues(), func(x int32) plan.Value { return int64(x) }), plan.Int
	case *pb.Expression_Literal_SpecializedArray_Longs:
		values, elem = boxed(a.Longs.GetValues(), func(x int64) plan.Value { return x }), plan.Long
	case *pb.Expression_Literal_SpecializedArray_Floats:
		values, elem = boxed(a.Floats.GetValues(), func(x float32) plan.Value { return x }), plan.Float
	case *pb.Expression_Literal_SpecializedArray_Doubles:
		values, elem = boxed(a.Doubles.GetValues(), func(x float64) plan.Value { return x }), plan.Double
	case *pb.Expression_Literal_SpecializedArray_Strings:
		values, elem = boxed(a.Strings.GetValues(), func(x string) plan.Value { return x }), plan.String
	default:
		return nil, notSet(m, "VALUETYPE_NOT_SET")
	}
	return plan.Lit(values, plan.Array(elem, elem.Kind == plan.KindString)), nil
}

func boxed[T any](list []T, box func(T) plan.Value) []plan.Value {
	out := make([]plan.Value, len(list))
	for i, x := range list {
		out[i] = box(x)
	}
	return out
}
