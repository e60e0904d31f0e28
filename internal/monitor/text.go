package monitor

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// The appenders below write JSON as the Jackson library does, because clients
// compare texts: what it escapes, how it spells a double, which digits it keeps.

const hexDigits = "0123456789ABCDEF"

// appendString escapes quotes, backslashes and control characters only;
// everything else, U+007F and U+2028 included, is written as it is. Bytes that
// are not UTF-8 become U+FFFD, as they would when Java decodes them.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 0x20 && r < 0x80:
			dst = append(dst, byte(r))
		case r >= 0x80:
			if r == 0xFFFD {
				dst = append(dst, "\uFFFD"...)
			} else {
				dst = append(dst, s[i:i+runeLen(r)]...)
			}
		default:
			dst = appendControl(dst, byte(r))
		}
	}
	return append(dst, '"')
}

func runeLen(r rune) int {
	switch {
	case r < 0x800:
		return 2
	case r < 0x10000:
		return 3
	}
	return 4
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendOptional writes null for the empty text.
func appendOptional(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

// appendKey writes a member name; first tells whether it opens the object.
func appendKey(dst []byte, first bool, name string) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}

// appendField writes a comma, a name known to need no escaping, and a colon.
func appendField(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendDouble spells f as Java's Double.toString; NaN and the infinities
// become JSON strings.
func appendDouble(dst []byte, f float64) []byte {
	return appendFloat(dst, f, 64)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
		return appendFraction(dst, from)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'E', -1, bits)
	mantissa, exponent := splitExponent(text)
	from := len(dst)
	dst = appendFraction(append(dst, mantissa...), from)
	return append(append(dst, 'E'), exponent...)
}

// appendFraction adds ".0" when the number that begins at from has no point.
func appendFraction(dst []byte, from int) []byte {
	for _, c := range dst[from:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// splitExponent takes Go's "d.ddE+0x" apart: Java writes neither the plus sign
// nor leading zeros.
func splitExponent(text []byte) (mantissa, exponent []byte) {
	for i, c := range text {
		if c != 'E' {
			continue
		}
		mantissa, exponent = text[:i], text[i+1:]
		break
	}
	negative := exponent[0] == '-'
	digits := exponent[1:]
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	if negative {
		return mantissa, append([]byte{'-'}, digits...)
	}
	return mantissa, digits
}

// appendRate rounds f to one decimal, half up, on the digits of its shortest
// decimal text: 0.25 is 0.3 and 4.85 is 4.9, which rounding the binary value
// would miss. Never in scientific notation. f is finite and not negative.
func appendRate(dst []byte, f float64) []byte {
	from := len(dst)
	dst = appendFraction(strconv.AppendFloat(dst, f, 'f', -1, 64), from)
	point := from
	for dst[point] != '.' {
		point++
	}
	if len(dst) <= point+2 {
		return dst
	}
	up := dst[point+2] >= '5'
	dst = dst[:point+2]
	for i := point + 1; up && i >= from; i-- {
		if i == point {
			continue
		}
		if dst[i] != '9' {
			dst[i]++
			up = false
			continue
		}
		dst[i] = '0'
	}
	if up {
		dst = append(dst, 0)
		copy(dst[from+1:], dst[from:])
		dst[from] = '1'
	}
	return dst
}

// appendRateField leaves the member out when the rate is not a number.
func appendRateField(dst []byte, name string, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst
	}
	return appendRate(appendField(dst, name), f)
}

func appendInt(dst []byte, n int64) []byte {
	return strconv.AppendInt(dst, n, 10)
}

// appendTime writes t in UTC with three decimals, quoted.
func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000Z"`)
}

func appendUnixMs(dst []byte, ms int64) []byte {
	return appendTime(dst, time.UnixMilli(ms))
}

// appendEmbedded writes an offset as the JSON value it holds; one that is not
// JSON is written as a string, an absent one as null.
func appendEmbedded(dst []byte, offset string) []byte {
	if offset == "" {
		return append(dst, "null"...)
	}
	if isDigits(offset) {
		return append(dst, offset...)
	}
	raw := []byte(offset)
	if !json.Valid(raw) {
		return appendString(dst, offset)
	}
	return appendCompact(dst, raw)
}

// isDigits tells a plain integer, the most common offset, without a parse.
func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s[0] != '0' || len(s) == 1
}

// appendCompact copies valid JSON without the white space between its tokens.
func appendCompact(dst, raw []byte) []byte {
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			dst = append(dst, c, raw[i+1])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
