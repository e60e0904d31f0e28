package variant

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ErrMalformed is what reading bytes that are no variant gives.
var ErrMalformed = errors.New("bytes are not a variant")

// Kind is what a variant holds.
type Kind uint8

// The kinds of variants. Integers of all widths are Long.
const (
	Unknown Kind = iota
	Null
	Boolean
	Long
	Double
	Decimal
	Date      // days since 1970
	Timestamp // µs since 1970
	TimestampNTZ
	Time // µs of a day
	Float
	Binary
	Text
	UUID
	Object
	Array
)

// Value is a variant, or a part of one. Its bytes belong to whom they were taken from; those of Data may
// be followed by others.
type Value struct{ Data, Metadata []byte }

// What the two lowest bits of a value say.
const (
	basicPrimitive = iota
	basicText
	basicObject
	basicArray
)

// Numbers of primitive types, as they stand in a header.
const (
	typeNull = iota
	typeTrue
	typeFalse
	typeInt8
	typeInt16
	typeInt32
	typeInt64
	typeDouble
	typeDecimal4
	typeDecimal8
	typeDecimal16
	typeDate
	typeTimestamp
	typeTimestampNTZ
	typeFloat
	typeBinary
	typeText
	typeTime
	typeUUID = 20
)

// primitives tells of each type of primitives its kind and how many bytes follow the header.
var primitives = [...]struct {
	kind  Kind
	width int
}{
	typeNull:         {Null, 0},
	typeTrue:         {Boolean, 0},
	typeFalse:        {Boolean, 0},
	typeInt8:         {Long, 1},
	typeInt16:        {Long, 2},
	typeInt32:        {Long, 4},
	typeInt64:        {Long, 8},
	typeDouble:       {Double, 8},
	typeDecimal4:     {Decimal, 5},
	typeDecimal8:     {Decimal, 9},
	typeDecimal16:    {Decimal, 17},
	typeDate:         {Date, 4},
	typeTimestamp:    {Timestamp, 8},
	typeTimestampNTZ: {TimestampNTZ, 8},
	typeFloat:        {Float, 4},
	typeBinary:       {Binary, 4},
	typeText:         {Text, 4},
	typeTime:         {Time, 8},
	typeUUID:         {UUID, 16},
}

// Kind says what v holds; Unknown for bytes that are no variant.
func (v Value) Kind() Kind {
	if len(v.Data) == 0 {
		return Unknown
	}
	switch v.Data[0] & 3 {
	case basicText:
		return Text
	case basicObject:
		return Object
	case basicArray:
		return Array
	}
	t := int(v.Data[0] >> 2)
	if t >= len(primitives) || len(v.Data) < 1+primitives[t].width {
		return Unknown
	}
	return primitives[t].kind
}

// Bool is the value of a Boolean.
func (v Value) Bool() bool { return v.Data[0]>>2 == typeTrue }

// Int is the value of a Long, a Date, a Time or a timestamp.
func (v Value) Int() int64 { return signed(v.Data[1 : 1+primitives[v.Data[0]>>2].width]) }

// Double is the value of a Double.
func (v Value) Double() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v.Data[1:])) }

// Float is the value of a Float.
func (v Value) Float() float32 { return math.Float32frombits(binary.LittleEndian.Uint32(v.Data[1:])) }

// Decimal is the value of a Decimal with its scale.
func (v Value) Decimal() (decimal128.Num, int) {
	b := v.Data[2:]
	switch v.Data[0] >> 2 {
	case typeDecimal4:
		return decimal128.FromI64(signed(b[:4])), int(v.Data[1])
	case typeDecimal8:
		return decimal128.FromI64(signed(b[:8])), int(v.Data[1])
	}
	return decimal128.New(signed(b[8:16]), binary.LittleEndian.Uint64(b)), int(v.Data[1])
}

// Bytes is the content of a Text, a Binary or a UUID.
func (v Value) Bytes() ([]byte, error) {
	from, n := 1, 16
	switch {
	case v.Data[0]&3 == basicText:
		n = int(v.Data[0] >> 2)
	case v.Data[0]>>2 != typeUUID:
		from, n = 5, int(binary.LittleEndian.Uint32(v.Data[1:]))
	}
	if n < 0 || n > len(v.Data)-from {
		return nil, ErrMalformed
	}
	return v.Data[from : from+n], nil
}

// size is how many bytes a primitive takes.
func (v Value) size() (int, error) {
	switch k := v.Kind(); k {
	case Unknown, Object, Array:
		return 0, ErrMalformed
	case Text, Binary:
		b, err := v.Bytes()
		if v.Data[0]&3 == basicText {
			return 1 + len(b), err
		}
		return 5 + len(b), err
	}
	return 1 + primitives[v.Data[0]>>2].width, nil
}

// signed is a little-endian integer with a sign.
func signed(b []byte) int64 {
	var x uint64
	for i := len(b) - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	shift := 64 - 8*len(b)
	return int64(x<<shift) >> shift
}

// unsigned is the little-endian integer of n bytes at a place; false when b is too short.
func unsigned(b []byte, at, n int) (int, bool) {
	if at < 0 || at+n > len(b) {
		return 0, false
	}
	x := 0
	for i := n - 1; i >= 0; i-- {
		x = x<<8 | int(b[at+i])
	}
	return x, true
}

// List is the elements of an Array or the fields of an Object.
type List struct {
	Len      int
	body     []byte
	metadata []byte
	idSize   int // 0 for arrays
	ids      int // where they begin
	offSize  int
	offs     int
	data     int
}

// List opens an Array or an Object.
func (v Value) List() (List, error) {
	info, body := int(v.Data[0]>>2), v.Data[1:]
	l := List{body: body, metadata: v.Metadata, offSize: info&3 + 1, ids: 1}
	large := info>>2&1 == 1
	if v.Data[0]&3 == basicObject {
		l.idSize = info>>2&3 + 1
		large = info>>4&1 == 1
	}
	if large {
		l.ids = 4
	}
	n, ok := unsigned(body, 0, l.ids)
	if !ok || n > len(body) {
		return l, ErrMalformed
	}
	l.Len = n
	l.offs = l.ids + n*l.idSize
	l.data = l.offs + (n+1)*l.offSize
	if l.data > len(body) {
		return l, ErrMalformed
	}
	return l, nil
}

// At is an element or the value of a field, counted from 0.
func (l *List) At(i int) (Value, error) {
	off, ok := unsigned(l.body, l.offs+i*l.offSize, l.offSize)
	if !ok || l.data+off >= len(l.body) {
		return Value{}, ErrMalformed
	}
	return Value{l.body[l.data+off:], l.metadata}, nil
}

// Name is the name of a field.
func (l *List) Name(i int) ([]byte, error) {
	id, ok := unsigned(l.body, l.ids+i*l.idSize, l.idSize)
	if !ok || len(l.metadata) == 0 {
		return nil, ErrMalformed
	}
	m := l.metadata
	size := int(m[0]>>6) + 1
	count, ok := unsigned(m, 1, size)
	if !ok || id >= count {
		return nil, ErrMalformed
	}
	from, ok := unsigned(m, 1+(id+1)*size, size)
	to, ok2 := unsigned(m, 1+(id+2)*size, size)
	start := 1 + (count+2)*size
	if !ok || !ok2 || from > to || start+to > len(m) {
		return nil, ErrMalformed
	}
	return m[start+from : start+to], nil
}

// Field is the value of the field of that name; false when there is none.
func (l *List) Field(name string) (Value, bool, error) {
	for i := range l.Len {
		b, err := l.Name(i)
		if err != nil {
			return Value{}, false, err
		}
		if string(b) == name {
			v, err := l.At(i)
			return v, true, err
		}
	}
	return Value{}, false, nil
}
