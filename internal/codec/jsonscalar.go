package codec

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// textOf is b as a string that shares its memory.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func (d *jsonDecoder) text(n *jsonNode, i int) (int, jsonResult) {
	b := d.b
	if b[i] == '"' {
		from := i + 1
		end := from + plain(b, from, '"')
		if end < len(b) && b[end] == '"' {
			n.out.AppendBytes(b[from:end])
			return end + 1, jsonWhole
		}
	} else if b[i] != '\'' {
		return d.anyText(n, i)
	}
	content, next := d.str(i)
	if next >= 0 {
		n.out.AppendBytes(content)
	}
	return next, jsonWhole
}

func (d *jsonDecoder) boolean(n *jsonNode, i int) (int, jsonResult) {
	switch d.b[i] {
	case 't':
		if i = d.word(i, "true"); i >= 0 {
			chunk.Append(n.out, uint8(1))
		}
	case 'f':
		if i = d.word(i, "false"); i >= 0 {
			chunk.Append(n.out, uint8(0))
		}
	default:
		return d.wrong(i)
	}
	return i, jsonWhole
}

func (d *jsonDecoder) bigint(n *jsonNode, i int) (int, jsonResult) {
	if c := d.b[i]; c != '-' && c-'0' > 9 {
		return d.wrong(i)
	}
	v, next, ok := d.long(i)
	if next < 0 || !ok {
		return next, jsonWrong
	}
	chunk.Append(n.out, v)
	return next, jsonWhole
}

// long reads an integer; whole is false when it is none or overflows.
func (d *jsonDecoder) long(i int) (v int64, next int, whole bool) {
	b, start := d.b, i
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	if i+8 <= len(b) {
		var n int
		v, n = digits8(binary.LittleEndian.Uint64(b[i:]))
		i += n
	}
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + int64(b[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 || digits > 18 || digits > 1 && b[first] == '0' ||
		i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return d.longSlow(start)
	}
	if negative {
		v = -v
	}
	return v, i, true
}

// digits8 is the number that the digits at the start of eight bytes of text make,
// and how many they are.
func digits8(w uint64) (v int64, n int) {
	n = digitsOf(w)
	// The digits move to the end, with zeros before them; then pairs of neighbours
	// are added, three times.
	w = w << (64 - 8*n) & (lowBits * 0x0f)
	w = (w*10 + w>>8) & 0x00ff00ff00ff00ff
	w = (w*100 + w>>16) & 0x0000ffff0000ffff
	return int64((w*10000 + w>>32) & 0xffffffff), n
}

func (d *jsonDecoder) longSlow(i int) (v int64, next int, whole bool) {
	next, whole = d.number(i)
	if next < 0 || !whole {
		return 0, d.skip(i), false
	}
	v, err := strconv.ParseInt(textOf(d.b[i:next]), 10, 64)
	return v, next, err == nil
}

func (d *jsonDecoder) integer(n *jsonNode, i int) (int, jsonResult) {
	if c := d.b[i]; c != '-' && c-'0' > 9 {
		return d.wrong(i)
	}
	v, next, ok := d.long(i)
	if next < 0 || !ok {
		return next, jsonWrong
	}
	switch n.typ.Kind {
	case plan.KindInt:
		if v != int64(int32(v)) {
			return next, jsonWrong
		}
		chunk.Append(n.out, int32(v))
	case plan.KindShort:
		if v != int64(int16(v)) {
			return next, jsonWrong
		}
		chunk.Append(n.out, int16(v))
	default:
		// A byte may be given without a sign: 128 to 255 wrap around.
		if v < math.MinInt8 || v > math.MaxUint8 {
			return next, jsonWrong
		}
		chunk.Append(n.out, int8(v))
	}
	return next, jsonWhole
}

func (d *jsonDecoder) seconds(n *jsonNode, i int) (int, jsonResult) {
	v, next, ok := d.long(i)
	if next < 0 || !ok {
		return next, jsonWrong
	}
	chunk.Append(n.out, v*microsPerSecond)
	return next, jsonWhole
}

func appendFloatTo(v *chunk.Vector, f float64) {
	if v.Type.Kind == plan.KindFloat {
		chunk.Append(v, float32(f))
		return
	}
	chunk.Append(v, f)
}

// quotedFloat takes the names of what JSON numbers cannot say.
func (d *jsonDecoder) quotedFloat(n *jsonNode, i int) (int, jsonResult) {
	content, next := d.str(i)
	if next < 0 {
		return -1, jsonWrong
	}
	f, ok := namedFloat(textOf(content))
	if !ok || !d.nonNumeric {
		return next, jsonWrong
	}
	appendFloatTo(n.out, f)
	return next, jsonWhole
}

func namedFloat(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "+INF", "INF", "+Infinity", "Infinity":
		return math.Inf(1), true
	case "-INF", "-Infinity":
		return math.Inf(-1), true
	default:
		return 0, false
	}
}

func (d *jsonDecoder) float(n *jsonNode, i int) (int, jsonResult) {
	c := d.b[i]
	if isQuote(c) {
		return d.quotedFloat(n, i)
	}
	if c != '-' && c != '+' && c-'0' > 9 {
		if c != 'N' && c != 'I' {
			return d.wrong(i)
		}
		next := d.nonNumber(i)
		if next >= 0 {
			f, _ := namedFloat(textOf(d.b[i:next]))
			appendFloatTo(n.out, f)
		}
		return next, jsonWhole
	}
	if n.typ.Kind == plan.KindDouble {
		if f, next, ok := d.exactDouble(i); ok {
			chunk.Append(n.out, f)
			return next, jsonWhole
		}
	}
	next, whole := d.number(i)
	if next < 0 {
		return -1, jsonWrong
	}
	text := textOf(d.b[i:next])
	if whole && text == "-0" {
		text = "0"
	}
	f, named := namedFloat(text)
	if !named {
		bits := 64
		if n.typ.Kind == plan.KindFloat {
			bits = 32
		}
		f, _ = strconv.ParseFloat(text, bits) // out of range is an infinity
	}
	appendFloatTo(n.out, f)
	return next, jsonWhole
}

// exactDouble reads a number of at most 15 digits without an exponent, of which
// one division gives the nearest double.
func (d *jsonDecoder) exactDouble(i int) (f float64, next int, ok bool) {
	b := d.b
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	v := uint64(0)
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	digits, scale := i-first, 0
	if digits == 0 || digits > 1 && b[first] == '0' {
		return 0, 0, false
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			v = v*10 + uint64(b[i]-'0')
			scale++
		}
		if scale == 0 {
			return 0, 0, false
		}
	}
	if digits+scale > 15 || i < len(b) && b[i]|0x20 == 'e' {
		return 0, 0, false
	}
	f = float64(v) / float64(pow10[scale])
	if negative && (v > 0 || scale > 0) { // -0 is an integer, which has no sign
		f = -f
	}
	return f, i, true
}

func (d *jsonDecoder) decimal(n *jsonNode, i int) (int, jsonResult) {
	var text string
	next := -1
	switch c := d.b[i]; {
	case isQuote(c):
		var content []byte
		content, next = d.str(i)
		text = textOf(content)
	case c == '-' || c-'0' <= 9:
		if next, _ = d.number(i); next >= 0 {
			text = textOf(d.b[i:next])
		}
	default:
		return d.wrong(i)
	}
	if next < 0 {
		return -1, jsonWrong
	}
	x, fault := parseJSONDecimal(text, n.typ)
	if fault != DecimalOK {
		return next, jsonWrong
	}
	chunk.Append(n.out, x)
	return next, jsonWhole
}

// parseJSONDecimal is ParseDecimal without blanks around the number.
func parseJSONDecimal(text string, t plan.Type) (chunk.Dec, DecimalFault) {
	n, ok := scanNumber(asciiDigits(text))
	if !ok {
		return chunk.Dec{}, DecimalNotANum
	}
	return n.toDecimal(t)
}

// quoted is the content of a value that JSON gives as a string.
func (d *jsonDecoder) quoted(i int) (content []byte, next int, ok bool) {
	if !isQuote(d.b[i]) {
		return nil, d.skip(i), false
	}
	content, next = d.str(i)
	return content, next, next >= 0
}

func (d *jsonDecoder) binary(n *jsonNode, i int) (int, jsonResult) {
	content, next, ok := d.quoted(i)
	if !ok {
		return next, jsonWrong
	}
	out, err := base64.StdEncoding.AppendDecode(nil, content)
	if err != nil {
		return next, jsonWrong
	}
	n.out.AppendBytes(out)
	return next, jsonWhole
}

func (d *jsonDecoder) date(n *jsonNode, i int) (int, jsonResult) {
	content, next, ok := d.quoted(i)
	if !ok {
		return next, jsonWrong
	}
	days, ok := d.parseDate(textOf(content))
	if !ok {
		return next, jsonWrong
	}
	chunk.Append(n.out, days)
	return next, jsonWhole
}

func (d *jsonDecoder) timestamp(n *jsonNode, i int) (int, jsonResult) {
	if c := d.b[i]; c == '-' || c-'0' <= 9 {
		return d.seconds(n, i)
	}
	content, next, ok := d.quoted(i)
	if !ok {
		return next, jsonWrong
	}
	micros, ok := d.parseTimestamp(textOf(content))
	if !ok {
		return next, jsonWrong
	}
	chunk.Append(n.out, micros)
	return next, jsonWhole
}

func (d *jsonDecoder) timestampNTZ(n *jsonNode, i int) (int, jsonResult) {
	content, next, ok := d.quoted(i)
	if !ok {
		return next, jsonWrong
	}
	micros, ok := d.parseTimestampNTZ(textOf(content))
	if !ok {
		return next, jsonWrong
	}
	chunk.Append(n.out, micros)
	return next, jsonWhole
}

// parseDate reads a date, or days since 1970, which Spark 1.5 wrote.
func (d *jsonDecoder) parseDate(text string) (int32, bool) {
	if days, ok := d.calendarDate(text); ok || d.datePattern != nil && !d.fallback {
		return days, ok
	}
	days, err := strconv.ParseInt(text, 10, 32)
	return int32(days), err == nil
}

func (d *jsonDecoder) calendarDate(text string) (int32, bool) {
	if text == "" {
		return 0, false
	}
	if d.datePattern != nil {
		days, err := d.datePattern.ParseDate(text)
		if err == nil || !d.fallback {
			return days, err == nil
		}
	} else if days, ok := ParseDate(text); ok {
		return days, true
	}
	return ParseDate(strings.ReplaceAll(text, "GMT", ""))
}

func (d *jsonDecoder) parseTimestamp(text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	if d.stampPattern != nil {
		micros, err := d.stampPattern.ParseTimestamp(text, d.zone)
		if err == nil || !d.fallback {
			return micros, err == nil
		}
	} else if micros, ok := d.minute.parse(text, d.zone); ok {
		return micros, true
	} else if micros, ok := ParseTimestamp(text, d.zone, d.now); ok {
		return micros, true
	}
	if d.stampPattern == nil && !strings.Contains(text, "GMT") {
		return 0, false
	}
	return ParseTimestamp(strings.ReplaceAll(text, "GMT", ""), d.zone, d.now)
}

func (d *jsonDecoder) parseTimestampNTZ(text string) (int64, bool) {
	if d.ntzPattern != nil {
		micros, err := d.ntzPattern.ParseTimestampNTZ(text, false)
		return micros, err == nil
	}
	return ParseTimestampNTZ(text, false)
}
