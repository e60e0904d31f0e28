package chunk

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/plan"
)

// FromArrow is a record batch as a chunk of a schema, columns by position. The
// Arrow types must be those of the schema up to width and unit (int32 for a
// bigint is widened); anything else is an error that names the column. Memory
// is shared where it can be.
func FromArrow(rec arrow.RecordBatch, schema plan.Type) (*Chunk, error) {
	if int(rec.NumCols()) != len(schema.Fields) {
		return nil, fmt.Errorf("arrow batch has %d columns, the schema %d", rec.NumCols(), len(schema.Fields))
	}
	c := &Chunk{Rows: int(rec.NumRows())}
	for i, f := range schema.Fields {
		v, err := importArray(rec.Column(i), f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		c.Cols = append(c.Cols, v)
	}
	return c, nil
}

func importArray(a arrow.Array, t plan.Type) (*Vector, error) {
	if a.DataType().ID() == arrow.NULL || a.NullN() == a.Len() && a.Len() > 0 {
		return NullVector(t, a.Len()), checkReadable(a.DataType(), t)
	}
	if a.Len() == 0 {
		// Buffers of an empty array may be absent.
		return New(t, 0), checkReadable(a.DataType(), t)
	}
	if d, ok := a.(*array.Dictionary); ok {
		return importDictionary(d, t)
	}
	v := &Vector{Type: t, Len: a.Len()}
	if a.NullN() > 0 {
		v.Valid = Bitmap(a.Data().Buffers()[0].Bytes()).Slice(a.Data().Offset(), a.Data().Offset()+a.Len())
	}
	var err error
	switch {
	case t.Kind == plan.KindNull:
		v.Valid = nil
	case Width(t) > 0:
		err = v.importFixed(a)
	case IsBytes(t):
		err = v.importBytes(a)
	default:
		err = v.importNested(a)
	}
	return v, err
}

// checkReadable reports whether values of an Arrow type can become a Spark type
// at all, for arrays that hold none.
func checkReadable(from arrow.DataType, t plan.Type) error {
	got, err := FromArrowType(from)
	if err != nil {
		return err
	}
	ok := got.Kind == t.Kind || from.ID() == arrow.NULL || got.IsNumeric() && t.IsNumeric() ||
		IsBytes(got) && IsBytes(t) || got.Kind == plan.KindStruct && t.Kind == plan.KindVariant ||
		got.Kind == plan.KindTimestamp && t.Kind == plan.KindTimestampNTZ ||
		got.Kind == plan.KindTimestampNTZ && t.Kind == plan.KindTimestamp
	if !ok {
		return fmt.Errorf("arrow type %s cannot be read as %s", from, t.Simple())
	}
	return nil
}

func importDictionary(d *array.Dictionary, t plan.Type) (*Vector, error) {
	values, err := importArray(d.Dictionary(), t)
	if err != nil {
		return nil, err
	}
	rows := make([]int32, d.Len())
	for i := range rows {
		rows[i] = -1
		if d.IsValid(i) {
			rows[i] = int32(d.GetValueIndex(i))
		}
	}
	return Gather(values, rows), nil
}

// sameLayout are the Arrow types whose values are exactly those of a kind.
func sameLayout(id arrow.Type, k plan.Kind) bool {
	switch k {
	case plan.KindByte:
		return id == arrow.INT8
	case plan.KindShort:
		return id == arrow.INT16
	case plan.KindInt:
		return id == arrow.INT32
	case plan.KindDate:
		return id == arrow.DATE32
	case plan.KindYearMonth:
		return id == arrow.INTERVAL_MONTHS
	case plan.KindLong:
		return id == arrow.INT64
	case plan.KindFloat:
		return id == arrow.FLOAT32
	case plan.KindDouble:
		return id == arrow.FLOAT64
	default:
		return false
	}
}

func (v *Vector) importFixed(a arrow.Array) error {
	w := widthOf(v.Type.Kind)
	data, at := a.Data().Buffers()[1], a.Data().Offset()
	switch src := a.(type) {
	case *array.Boolean:
		if v.Type.Kind != plan.KindBoolean {
			break
		}
		v.Data = aligned(v.Len)
		for i := range v.Len {
			if src.Value(i) {
				v.Data[i] = 1
			}
		}
		return nil
	case *array.Decimal128:
		if v.Type.Kind == plan.KindDecimal {
			return v.importDecimal(src)
		}
	case *array.Timestamp:
		if k := v.Type.Kind; k == plan.KindTimestamp || k == plan.KindTimestampNTZ {
			return v.importMicros(data.Bytes()[at*8:], src.DataType().(*arrow.TimestampType).Unit)
		}
	case *array.Duration:
		if v.Type.Kind == plan.KindDayTime {
			return v.importMicros(data.Bytes()[at*8:], src.DataType().(*arrow.DurationType).Unit)
		}
	case *array.MonthDayNanoInterval:
		if v.Type.Kind == plan.KindCalendar {
			v.Data = aligned(v.Len * w)
			dst := Values[plan.Interval](v)
			for i := range dst {
				x := src.Value(i)
				dst[i] = plan.Interval{Months: x.Months, Days: x.Days, Micros: x.Nanoseconds / 1000}
			}
			return nil
		}
	case *array.Time64:
		if v.Type.Kind == plan.KindTime {
			unit := src.DataType().(*arrow.Time64Type).Unit
			return v.importScaled(data.Bytes()[at*8:], int64(unit.Multiplier()))
		}
	}
	if sameLayout(a.DataType().ID(), v.Type.Kind) {
		v.Data = shareAligned(data.Bytes()[at*w : (at+v.Len)*w])
		return nil
	}
	return v.importWidened(a)
}

// shareAligned is b itself, or a copy when b does not start where eight-byte
// values may.
func shareAligned(b []byte) []byte {
	if len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%8 == 0 {
		return b
	}
	c := aligned(len(b))
	copy(c, b)
	return c
}

func (v *Vector) importMicros(b []byte, unit arrow.TimeUnit) error {
	switch unit {
	case arrow.Microsecond:
		v.Data = shareAligned(b[:v.Len*8])
		return nil
	case arrow.Nanosecond:
		if err := v.importScaled(b, 1); err != nil {
			return err
		}
		for i, x := range Values[int64](v) {
			Values[int64](v)[i] = floorDiv(x, 1000)
		}
		return nil
	case arrow.Millisecond:
		return v.importScaled(b, 1000)
	default:
		return v.importScaled(b, 1_000_000)
	}
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// importScaled copies int64 values and multiplies them.
func (v *Vector) importScaled(b []byte, factor int64) error {
	v.Data = aligned(v.Len * 8)
	copy(v.Data, b[:v.Len*8])
	for i, x := range Values[int64](v) {
		Values[int64](v)[i] = x * factor
	}
	return nil
}

func (v *Vector) importDecimal(src *array.Decimal128) error {
	from := src.DataType().(*arrow.Decimal128Type)
	v.Data = aligned(v.Len * 16)
	dst := Values[Dec](v)
	for i := range dst {
		if src.IsNull(i) {
			continue
		}
		x, err := src.Value(i).Rescale(from.Scale, int32(v.Type.Scale))
		if err != nil || !x.FitsInPrecision(int32(v.Type.Precision)) {
			return fmt.Errorf("decimal %s does not fit %s", src.Value(i).ToString(from.Scale), v.Type.Simple())
		}
		dst[i] = x
	}
	return nil
}

// importWidened converts between number types when every value fits.
func (v *Vector) importWidened(a arrow.Array) error {
	get := numberGetter(a)
	if get == nil {
		return fmt.Errorf("arrow type %s cannot be read as %s", a.DataType(), v.Type.Simple())
	}
	out := New(v.Type, v.Len)
	for i := range v.Len {
		if a.IsNull(i) {
			out.AppendNull()
			continue
		}
		if err := out.appendNumber(get(i)); err != nil {
			return err
		}
	}
	v.Data, v.Valid = out.Data, out.Valid
	return nil
}

func numberGetter(a arrow.Array) func(i int) int64 {
	switch s := a.(type) {
	case *array.Int8:
		return func(i int) int64 { return int64(s.Value(i)) }
	case *array.Int16:
		return func(i int) int64 { return int64(s.Value(i)) }
	case *array.Int32:
		return func(i int) int64 { return int64(s.Value(i)) }
	case *array.Int64:
		return s.Value
	case *array.Uint8:
		return func(i int) int64 { return int64(s.Value(i)) }
	case *array.Uint16:
		return func(i int) int64 { return int64(s.Value(i)) }
	case *array.Uint32:
		return func(i int) int64 { return int64(s.Value(i)) }
	default:
		return nil
	}
}

func (v *Vector) appendNumber(x int64) error {
	fits := true
	switch v.Type.Kind {
	case plan.KindByte:
		fits = x == int64(int8(x))
		Append(v, int8(x))
	case plan.KindShort:
		fits = x == int64(int16(x))
		Append(v, int16(x))
	case plan.KindInt:
		fits = x == int64(int32(x))
		Append(v, int32(x))
	case plan.KindLong:
		Append(v, x)
	case plan.KindFloat:
		Append(v, float32(x))
	case plan.KindDouble:
		Append(v, float64(x))
	case plan.KindDecimal:
		d, err := decimal128.FromI64(x).Rescale(0, int32(v.Type.Scale))
		fits = err == nil && d.FitsInPrecision(int32(v.Type.Precision))
		Append(v, d)
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("number %d does not fit %s", x, v.Type.Simple())
	}
	return nil
}

func (v *Vector) importBytes(a arrow.Array) error {
	switch s := a.(type) {
	case *array.String:
		v.Offsets, v.Data = s.ValueOffsets(), bytesOf(s.Data().Buffers()[2].Bytes())
	case *array.Binary:
		v.Offsets, v.Data = s.ValueOffsets(), bytesOf(s.Data().Buffers()[2].Bytes())
	case *array.LargeString:
		return v.copyBytes(a, func(i int) []byte { return []byte(s.Value(i)) })
	case *array.LargeBinary:
		return v.copyBytes(a, s.Value)
	case *array.FixedSizeBinary:
		return v.copyBytes(a, s.Value)
	case *array.StringView:
		return v.copyBytes(a, func(i int) []byte { return []byte(s.Value(i)) })
	case *array.BinaryView:
		return v.copyBytes(a, s.Value)
	default:
		return fmt.Errorf("arrow type %s cannot be read as %s", a.DataType(), v.Type.Simple())
	}
	if len(v.Offsets) == 0 {
		v.Offsets = []int32{0}
	}
	return nil
}

func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (v *Vector) copyBytes(a arrow.Array, get func(i int) []byte) error {
	out := New(v.Type, v.Len)
	for i := range v.Len {
		if a.IsNull(i) {
			out.AppendNull()
		} else {
			out.AppendBytes(get(i))
		}
	}
	*v = *out
	return nil
}

func (v *Vector) importNested(a arrow.Array) error {
	switch s := a.(type) {
	case *array.Map:
		if v.Type.Kind != plan.KindMap {
			break
		}
		v.Offsets = offsetsOf(s.Offsets(), s.Data().Offset(), v.Len)
		return v.importKids([]arrow.Array{s.Keys(), s.Items()})
	case *array.List:
		if v.Type.Kind != plan.KindArray {
			break
		}
		v.Offsets = offsetsOf(s.Offsets(), s.Data().Offset(), v.Len)
		return v.importKids([]arrow.Array{s.ListValues()})
	case *array.Struct:
		if v.Type.Kind != plan.KindStruct && v.Type.Kind != plan.KindVariant {
			break
		}
		kids := make([]arrow.Array, s.NumField())
		for i := range kids {
			kids[i] = s.Field(i)
		}
		return v.importKids(kids)
	}
	return fmt.Errorf("arrow type %s cannot be read as %s", a.DataType(), v.Type.Simple())
}

func offsetsOf(all []int32, at, n int) []int32 {
	if n == 0 {
		return []int32{0}
	}
	if len(all) == n+1 {
		return all
	}
	return all[at : at+n+1]
}

func (v *Vector) importKids(arrays []arrow.Array) error {
	types := kidTypes(v.Type)
	if len(types) != len(arrays) {
		return fmt.Errorf("arrow value has %d parts, %s has %d", len(arrays), v.Type.Simple(), len(types))
	}
	for i, a := range arrays {
		k, err := importArray(a, types[i])
		if err != nil {
			return err
		}
		v.Kids = append(v.Kids, k)
	}
	return nil
}
