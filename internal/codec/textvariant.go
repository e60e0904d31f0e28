package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// maxVariantDepth bounds the nesting of a variant that is printed.
const maxVariantDepth = 1000

// AppendVariant writes a variant as JSON, as Spark casts and shows it. Bytes
// that are no variant are printed as null.
func AppendVariant(dst, value, metadata []byte, zone *Offsets) []byte {
	p := variantPrinter{metadata: metadata, zone: zone, left: len(value)}
	out, err := p.append(dst, value, 0)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

var errVariant = errors.New("bytes are not a variant")

type variantPrinter struct {
	metadata []byte
	zone     *Offsets
	// left is how many bytes were not printed: elements of a damaged variant may share theirs.
	left int
}

func (p *variantPrinter) append(dst, v []byte, depth int) ([]byte, error) {
	if len(v) == 0 || depth > maxVariantDepth || p.left <= 0 {
		return dst, errVariant
	}
	p.left--
	info, body := int(v[0]>>2), v[1:]
	switch v[0] & 3 {
	case 1:
		if len(body) < info {
			return dst, errVariant
		}
		p.left -= info
		return appendJSONString(dst, body[:info]), nil
	case 2:
		return p.object(dst, body, info, depth)
	case 3:
		return p.array(dst, body, info, depth)
	default:
		return p.primitive(dst, body, info)
	}
}

// variantWidths is the number of bytes behind each primitive type.
var variantWidths = [...]int{0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16}

func (p *variantPrinter) primitive(dst, b []byte, kind int) ([]byte, error) {
	if kind >= len(variantWidths) || len(b) < variantWidths[kind] {
		return dst, errVariant
	}
	switch kind {
	case 0:
		return append(dst, "null"...), nil
	case 1:
		return append(dst, "true"...), nil
	case 2:
		return append(dst, "false"...), nil
	case 3, 4, 5, 6:
		return appendInt(dst, littleInt(b, 1<<(kind-3))), nil
	case 7:
		return appendJSONFloat(dst, AppendDouble, math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case 14:
		return appendJSONFloat(dst, AppendFloat, math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
	case 8, 9:
		x := littleInt(b[1:], 4<<(kind-8))
		return appendShortDecimal(dst, decimal128.FromI64(x), int(b[0])), nil
	case 10:
		x := decimal128.New(littleInt(b[9:], 8), binary.LittleEndian.Uint64(b[1:]))
		return appendShortDecimal(dst, x, int(b[0])), nil
	case 15, 16:
		n := int(binary.LittleEndian.Uint32(b))
		if n < 0 || len(b)-4 < n {
			return dst, errVariant
		}
		p.left -= n
		if kind == 16 {
			return appendJSONString(dst, b[4:4+n]), nil
		}
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, b[4:4+n])
		return append(dst, '"'), nil
	default:
		return p.quoted(dst, b, kind)
	}
}

// appendShortDecimal writes a decimal without zeros at its end.
func appendShortDecimal(dst []byte, x decimal128.Num, scale int) []byte {
	n := len(dst)
	dst = AppendDecimal(dst, x, scale)
	if bytes.IndexByte(dst[n:], '.') >= 0 {
		dst = bytes.TrimRight(dst, "0")
		dst = bytes.TrimSuffix(dst, []byte("."))
	}
	return dst
}

// quoted writes the primitives that JSON has no form for.
func (p *variantPrinter) quoted(dst, b []byte, kind int) ([]byte, error) {
	dst = append(dst, '"')
	switch kind {
	case 11:
		dst = AppendDate(dst, int32(littleInt(b, 4)))
	case 12:
		micros := littleInt(b, 8)
		dst = AppendTimestamp(dst, micros, p.zone)
		offset := int(p.zone.At(floorDiv(micros, microsPerSecond)))
		dst = appendOffset(dst, offset, "+HH:MM")
	case 13:
		dst = AppendTimestampNTZ(dst, littleInt(b, 8))
	case 17:
		dst = appendClock(dst, floorMod(littleInt(b, 8), microsPerDay))
	case 20:
		for i, cut := range [...]int{0, 4, 6, 8, 10} {
			if i > 0 {
				dst = append(dst, '-')
			}
			dst = hex.AppendEncode(dst, b[cut:[...]int{4, 6, 8, 10, 16}[i]])
		}
	default:
		return dst, errVariant
	}
	return append(dst, '"'), nil
}

// littleInt is a little-endian signed integer of n bytes.
func littleInt(b []byte, n int) int64 {
	var x uint64
	for i := n - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	shift := 64 - 8*n
	return int64(x<<shift) >> shift
}

// littleUint is an unsigned one; false when b is too short.
func littleUint(b []byte, at, n int) (int, bool) {
	if at < 0 || at+n > len(b) {
		return 0, false
	}
	x := 0
	for i := n - 1; i >= 0; i-- {
		x = x<<8 | int(b[at+i])
	}
	return x, true
}

// variantList is the head of an object or an array: sizes of its numbers and
// where they begin.
type variantList struct {
	body          []byte
	count         int
	idSize, ids   int
	offSize, offs int
	values        int
}

func newVariantList(body []byte, info int, object bool) (variantList, bool) {
	l := variantList{body: body, offSize: info&3 + 1}
	large := info>>2&1 == 1
	if object {
		l.idSize = info>>2&3 + 1
		large = info>>4&1 == 1
	}
	l.ids = 1
	if large {
		l.ids = 4
	}
	n, ok := littleUint(body, 0, l.ids)
	if !ok || n > len(body) {
		return l, false
	}
	l.count = n
	l.offs = l.ids + n*l.idSize
	l.values = l.offs + (n+1)*l.offSize
	return l, l.values <= len(body)
}

// value is the bytes from the start of element i on.
func (l *variantList) value(i int) ([]byte, bool) {
	off, ok := littleUint(l.body, l.offs+i*l.offSize, l.offSize)
	if !ok || l.values+off >= len(l.body) {
		return nil, false
	}
	return l.body[l.values+off:], true
}

func (p *variantPrinter) array(dst, body []byte, info, depth int) ([]byte, error) {
	l, ok := newVariantList(body, info, false)
	if !ok {
		return dst, errVariant
	}
	dst = append(dst, '[')
	for i := range l.count {
		if i > 0 {
			dst = append(dst, ',')
		}
		v, ok := l.value(i)
		if !ok {
			return dst, errVariant
		}
		var err error
		if dst, err = p.append(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (p *variantPrinter) object(dst, body []byte, info, depth int) ([]byte, error) {
	l, ok := newVariantList(body, info, true)
	if !ok {
		return dst, errVariant
	}
	dst = append(dst, '{')
	for i := range l.count {
		if i > 0 {
			dst = append(dst, ',')
		}
		id, ok := littleUint(l.body, l.ids+i*l.idSize, l.idSize)
		name, ok2 := p.name(id)
		v, ok3 := l.value(i)
		if !ok || !ok2 || !ok3 {
			return dst, errVariant
		}
		dst = appendJSONString(dst, name)
		dst = append(dst, ':')
		var err error
		if dst, err = p.append(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// name is a key of the metadata's dictionary.
func (p *variantPrinter) name(id int) ([]byte, bool) {
	m := p.metadata
	if len(m) == 0 {
		return nil, false
	}
	size := int(m[0]>>6) + 1
	count, ok := littleUint(m, 1, size)
	if !ok || id >= count {
		return nil, false
	}
	from, ok := littleUint(m, 1+(id+1)*size, size)
	to, ok2 := littleUint(m, 1+(id+2)*size, size)
	start := 1 + (count+2)*size
	if !ok || !ok2 || from > to || start+to > len(m) {
		return nil, false
	}
	return m[start+from : start+to], true
}
