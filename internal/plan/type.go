package plan

// Kind says which of Spark's data types a Type is.
type Kind uint8

// The kinds, in the order Spark's documentation lists them.
const (
	KindNull Kind = iota
	KindBoolean
	KindByte
	KindShort
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindDecimal
	KindString
	KindChar
	KindVarChar
	KindBinary
	KindDate
	KindTime
	KindTimestamp
	KindTimestampNTZ
	KindYearMonth
	KindDayTime
	KindCalendar
	KindArray
	KindMap
	KindStruct
	KindVariant
)

// Type is a Spark SQL data type. The zero value is the null type (void).
type Type struct {
	Kind Kind

	// Precision and Scale belong to decimals; Precision alone to TIME.
	Precision, Scale int

	// Length is that of CHAR and VARCHAR, in characters.
	Length int

	// Collation is empty for UTF8_BINARY, the only one state keys accept.
	Collation string

	// Start and End are the fields of an interval type.
	Start, End IntervalField

	// Elem is the element of an array and the value of a map, Key the key of a
	// map. ContainsNull says whether Elem may be NULL.
	Key, Elem    *Type
	ContainsNull bool

	Fields []Field
}

// Field is a named part of a struct type, or a column of a schema.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Metadata string // JSON object text, "" when there is none
}

// IntervalField is a unit that bounds an interval type.
type IntervalField uint8

// Fields of year-month and of day-time intervals.
const (
	FieldYear IntervalField = iota
	FieldMonth
	FieldDay
	FieldHour
	FieldMinute
	FieldSecond
)

// The types without parameters.
var (
	Null         = Type{Kind: KindNull}
	Boolean      = Type{Kind: KindBoolean}
	Byte         = Type{Kind: KindByte}
	Short        = Type{Kind: KindShort}
	Int          = Type{Kind: KindInt}
	Long         = Type{Kind: KindLong}
	Float        = Type{Kind: KindFloat}
	Double       = Type{Kind: KindDouble}
	String       = Type{Kind: KindString}
	Binary       = Type{Kind: KindBinary}
	Date         = Type{Kind: KindDate}
	Timestamp    = Type{Kind: KindTimestamp}
	TimestampNTZ = Type{Kind: KindTimestampNTZ}
	Calendar     = Type{Kind: KindCalendar}
	Variant      = Type{Kind: KindVariant}
	DayTime      = Type{Kind: KindDayTime, Start: FieldDay, End: FieldSecond}
	YearMonth    = Type{Kind: KindYearMonth, Start: FieldYear, End: FieldMonth}
)

// MaxPrecision is the widest decimal, in digits.
const MaxPrecision = 38

// Decimal is a decimal type of p digits, s of them after the point.
func Decimal(p, s int) Type { return Type{Kind: KindDecimal, Precision: p, Scale: s} }

// Time is TIME(p), p digits of a second's fraction.
func Time(p int) Type { return Type{Kind: KindTime, Precision: p} }

// Char and VarChar are strings of bounded length.
func Char(n int) Type { return Type{Kind: KindChar, Length: n} }

// VarChar is a string of at most n characters.
func VarChar(n int) Type { return Type{Kind: KindVarChar, Length: n} }

// Array is a list of elem.
func Array(elem Type, containsNull bool) Type {
	return Type{Kind: KindArray, Elem: &elem, ContainsNull: containsNull}
}

// Map maps key to value; keys are never NULL.
func Map(key, value Type, containsNull bool) Type {
	return Type{Kind: KindMap, Key: &key, Elem: &value, ContainsNull: containsNull}
}

// Struct is a row of fields; a schema is a struct.
func Struct(fields ...Field) Type { return Type{Kind: KindStruct, Fields: fields} }

// Col is a nullable field without metadata.
func Col(name string, t Type) Field { return Field{Name: name, Type: t, Nullable: true} }

// IsNumeric reports whether t is an integer, float, double or decimal.
func (t Type) IsNumeric() bool { return t.Kind >= KindByte && t.Kind <= KindDecimal }

// IsIntegral reports whether t is one of the four integer types.
func (t Type) IsIntegral() bool { return t.Kind >= KindByte && t.Kind <= KindLong }

// IsFractional reports whether t is float, double or decimal.
func (t Type) IsFractional() bool { return t.Kind >= KindFloat && t.Kind <= KindDecimal }

// IsString reports whether t is a string, of whatever collation or length.
func (t Type) IsString() bool { return t.Kind >= KindString && t.Kind <= KindVarChar }

// IsAtomic reports whether t has no parts (neither array, map, struct nor variant).
func (t Type) IsAtomic() bool { return t.Kind < KindArray }

// IsInterval reports whether t is one of the three interval types.
func (t Type) IsInterval() bool { return t.Kind >= KindYearMonth && t.Kind <= KindCalendar }

// Equal reports whether two types are the same, nullability and metadata included.
func (t Type) Equal(o Type) bool {
	return t.sameShape(o, true)
}

// EqualIgnoringNull reports whether two types differ at most in nullability and metadata.
func (t Type) EqualIgnoringNull(o Type) bool {
	return t.sameShape(o, false)
}

func (t Type) sameShape(o Type, nulls bool) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || t.Length != o.Length ||
		t.Collation != o.Collation || t.Start != o.Start || t.End != o.End || len(t.Fields) != len(o.Fields) {
		return false
	}
	if nulls && t.ContainsNull != o.ContainsNull {
		return false
	}
	if t.Key != nil && !t.Key.sameShape(*o.Key, nulls) || t.Elem != nil && !t.Elem.sameShape(*o.Elem, nulls) {
		return false
	}
	for i, f := range t.Fields {
		g := o.Fields[i]
		if f.Name != g.Name || nulls && (f.Nullable != g.Nullable || f.Metadata != g.Metadata) ||
			!f.Type.sameShape(g.Type, nulls) {
			return false
		}
	}
	return true
}

// AsNullable is t with every part allowed to be NULL, as Spark reads files.
func (t Type) AsNullable() Type {
	switch t.Kind {
	case KindArray:
		return Array(t.Elem.AsNullable(), true)
	case KindMap:
		return Map(t.Key.AsNullable(), t.Elem.AsNullable(), true)
	case KindStruct:
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = Field{Name: f.Name, Type: f.Type.AsNullable(), Nullable: true, Metadata: f.Metadata}
		}
		return Struct(fields...)
	default:
		return t
	}
}

// DecimalOf is the decimal that holds every value of an integer type exactly.
func DecimalOf(k Kind) Type {
	switch k {
	case KindByte:
		return Decimal(3, 0)
	case KindShort:
		return Decimal(5, 0)
	case KindInt:
		return Decimal(10, 0)
	case KindLong:
		return Decimal(20, 0)
	case KindFloat:
		return Decimal(14, 7)
	default:
		return Decimal(30, 15)
	}
}

// What CREATE TABLE says of a column beside its type stands in its metadata under
// these keys, which are Spark's.
const (
	DefaultMark      = "CURRENT_DEFAULT"       // the text of DEFAULT
	GeneratedMark    = "GENERATION_EXPRESSION" // the text of GENERATED ALWAYS AS
	IdentityStart    = "identity.start"
	IdentityStep     = "identity.step"
	IdentityExplicit = "identity.allowExplicitInsert"
)
