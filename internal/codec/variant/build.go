package variant

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

const (
	// MaxSize is how many bytes a value or its dictionary has at most.
	MaxSize = 128 << 20
	// MaxDepth bounds how many values stand within each other.
	MaxDepth = 1000

	maxShortText = 63
	maxPrecision = 38
)

// ErrTooLarge is the error of a variant of more than MaxSize bytes, or with more than MaxDepth values
// within each other.
var ErrTooLarge = errors.New("variant is too large")

// DuplicateError says that an object has a name twice.
type DuplicateError struct{ Name string }

func (e *DuplicateError) Error() string { return "the name " + e.Name + " occurs twice in an object" }

// Builder makes variants, one after the other. One goroutine uses it.
type Builder struct {
	buf   []byte
	ids   map[string]int
	names []string
	text  int // bytes of names
}

// Reset begins a variant.
func (b *Builder) Reset() {
	b.buf, b.names, b.text = b.buf[:0], b.names[:0], 0
	if b.ids == nil {
		b.ids = map[string]int{}
	}
	clear(b.ids)
}

// Value is the variant that was built, valid until Reset.
func (b *Builder) Value() (Value, error) {
	size := widthOf(max(b.text, len(b.names)))
	m := make([]byte, 0, 1+(len(b.names)+2)*size+b.text)
	m = append(m, 1|byte(size-1)<<6)
	m = appendUint(m, len(b.names), size)
	at := 0
	for _, n := range b.names {
		m = appendUint(m, at, size)
		at += len(n)
	}
	m = appendUint(m, at, size)
	for _, n := range b.names {
		m = append(m, n...)
	}
	if len(b.buf) > MaxSize || len(m) > MaxSize {
		return Value{}, ErrTooLarge
	}
	return Value{b.buf, m}, nil
}

// id is the number of a name in the dictionary.
func (b *Builder) id(name string) int {
	id, ok := b.ids[name]
	if !ok {
		id = len(b.names)
		b.ids[name] = id
		b.names = append(b.names, name)
		b.text += len(name)
	}
	return id
}

func (b *Builder) header(kind int) { b.buf = append(b.buf, byte(kind<<2)) }

// Null adds the null of JSON.
func (b *Builder) Null() { b.header(typeNull) }

// Bool adds a truth value.
func (b *Builder) Bool(x bool) {
	if x {
		b.header(typeTrue)
	} else {
		b.header(typeFalse)
	}
}

// Long adds a whole number in as few bytes as it needs.
func (b *Builder) Long(x int64) {
	width, kind := 8, typeInt64
	switch {
	case x == int64(int8(x)):
		width, kind = 1, typeInt8
	case x == int64(int16(x)):
		width, kind = 2, typeInt16
	case x == int64(int32(x)):
		width, kind = 4, typeInt32
	}
	b.header(kind)
	b.buf = appendUint(b.buf, int(x), width)
}

// Double adds a number of 64 bits.
func (b *Builder) Double(x float64) {
	if x != x {
		x = math.Float64frombits(0x7ff8 << 48) // the only NaN that Java writes
	}
	b.header(typeDouble)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, math.Float64bits(x))
}

// Float adds a number of 32 bits.
func (b *Builder) Float(x float32) {
	if x != x {
		x = math.Float32frombits(0x7fc0 << 16)
	}
	b.header(typeFloat)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, math.Float32bits(x))
}

// Decimal adds x / 10^scale.
func (b *Builder) Decimal(x decimal128.Num, scale int) {
	digits := Digits(x)
	switch {
	case scale <= 9 && digits <= 9:
		b.header(typeDecimal4)
		b.buf = appendUint(append(b.buf, byte(scale)), int(x.LowBits()), 4)
	case scale <= 18 && digits <= 18:
		b.header(typeDecimal8)
		b.buf = appendUint(append(b.buf, byte(scale)), int(x.LowBits()), 8)
	default:
		b.header(typeDecimal16)
		b.buf = binary.LittleEndian.AppendUint64(append(b.buf, byte(scale)), x.LowBits())
		b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(x.HighBits()))
	}
}

// Digits is how many digits a number has, 1 for 0.
func Digits(x decimal128.Num) int {
	return len(new(big.Int).Abs(x.BigInt()).String())
}

// Text adds a text.
func (b *Builder) Text(s []byte) {
	if len(s) <= maxShortText {
		b.buf = append(b.buf, byte(len(s)<<2|basicText))
	} else {
		b.header(typeText)
		b.buf = appendUint(b.buf, len(s), 4)
	}
	b.buf = append(b.buf, s...)
}

// Binary adds bytes.
func (b *Builder) Binary(s []byte) {
	b.header(typeBinary)
	b.buf = append(appendUint(b.buf, len(s), 4), s...)
}

// Date adds days since 1970.
func (b *Builder) Date(days int32) {
	b.header(typeDate)
	b.buf = appendUint(b.buf, int(days), 4)
}

// Timestamp adds µs since 1970.
func (b *Builder) Timestamp(micros int64) {
	b.header(typeTimestamp)
	b.buf = appendUint(b.buf, int(micros), 8)
}

// TimestampNTZ adds µs since 1970 of a clock without time zone.
func (b *Builder) TimestampNTZ(micros int64) {
	b.header(typeTimestampNTZ)
	b.buf = appendUint(b.buf, int(micros), 8)
}

// Items is an array or object that is being built: At is called before each element, which is then added.
type Items struct {
	start int
	fills []field
}

type field struct {
	name string
	id   int
	off  int
}

// Open begins an array or an object.
func (b *Builder) Open() Items { return Items{start: len(b.buf)} }

// Next says that an element of an array follows.
func (b *Builder) Next(l *Items) { l.fills = append(l.fills, field{off: len(b.buf) - l.start}) }

// Field says that the value of a field follows.
func (b *Builder) Field(l *Items, name string) {
	l.fills = append(l.fills, field{name, b.id(name), len(b.buf) - l.start})
}

// CloseArray ends an array.
func (b *Builder) CloseArray(l *Items) {
	b.close(l, 0, func(size int, large byte) byte { return (large<<2|byte(size-1))<<2 | basicArray })
}

// CloseObject ends an object.
func (b *Builder) CloseObject(l *Items) error {
	slices.SortStableFunc(l.fills, func(x, y field) int { return javaCompare(x.name, y.name) })
	most := 0
	for i, f := range l.fills {
		if i > 0 && l.fills[i-1].name == f.name {
			return &DuplicateError{f.name}
		}
		most = max(most, f.id)
	}
	ids := widthOf(most)
	b.close(l, ids, func(size int, large byte) byte {
		return (large<<4|byte(ids-1)<<2|byte(size-1))<<2 | basicObject
	})
	return nil
}

// close puts the head before the elements.
func (b *Builder) close(l *Items, ids int, header func(size int, large byte) byte) {
	data, n := len(b.buf)-l.start, len(l.fills)
	size, counts, large := widthOf(data), 1, byte(0)
	if n > math.MaxUint8 {
		counts, large = 4, 1
	}
	head := make([]byte, 0, 1+counts+n*ids+(n+1)*size)
	head = append(head, header(size, large))
	head = appendUint(head, n, counts)
	for _, f := range l.fills {
		head = appendUint(head, f.id, ids)
	}
	for _, f := range l.fills {
		head = appendUint(head, f.off, size)
	}
	head = appendUint(head, data, size)
	b.buf = slices.Insert(b.buf, l.start, head...)
}

// Append adds a variant, with the names that it uses and no others.
func (b *Builder) Append(v Value) error { return b.append(v, 0, len(b.buf)+len(v.Data)) }

// append: a copy is never longer than what it is of, unless elements of that share their bytes.
func (b *Builder) append(v Value, depth, most int) error {
	k := v.Kind()
	switch {
	case depth > MaxDepth:
		return ErrTooLarge
	case len(b.buf) > most:
		return ErrMalformed
	}
	if k != Object && k != Array {
		n, err := v.size()
		if err == nil {
			b.buf = append(b.buf, v.Data[:n]...)
		}
		return err
	}
	list, err := v.List()
	if err != nil {
		return err
	}
	items := b.Open()
	for i := range list.Len {
		if k == Object {
			name, err := list.Name(i)
			if err != nil {
				return err
			}
			b.Field(&items, string(name))
		} else {
			b.Next(&items)
		}
		e, err := list.At(i)
		if err == nil {
			err = b.append(e, depth+1, most)
		}
		if err != nil {
			return err
		}
	}
	if k == Object {
		return b.CloseObject(&items)
	}
	b.CloseArray(&items)
	return nil
}

// widthOf is how many bytes a number takes that is not negative.
func widthOf(n int) int {
	switch {
	case n <= math.MaxUint8:
		return 1
	case n <= math.MaxUint16:
		return 2
	case n <= 1<<24-1:
		return 3
	}
	return 4
}

func appendUint(dst []byte, x, width int) []byte {
	for range width {
		dst = append(dst, byte(x))
		x >>= 8
	}
	return dst
}

// javaCompare orders texts by their UTF-16 units, as Java does.
func javaCompare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i] < 0x80 && b[i] < 0x80 {
				return int(a[i]) - int(b[i])
			}
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return len(a) - len(b)
}
