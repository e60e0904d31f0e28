package codec

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// pow5 and pow10 are the powers that fit a uint64.
var (
	pow5  = powers[[28]uint64](5)
	pow10 = powers[[20]uint64](10)
)

func powers[A [28]uint64 | [20]uint64](base uint64) (a A) {
	p := uint64(1)
	for i := range len(a) {
		a[i] = p
		p *= base
	}
	return a
}

func appendInt(dst []byte, x int64) []byte { return strconv.AppendInt(dst, x, 10) }

// AppendDecimal writes an unscaled value at a scale without an exponent, as
// show and ANSI casts print decimals.
func AppendDecimal(dst []byte, d chunk.Dec, scale int) []byte {
	var room [40]byte
	digits, negative := decimalDigits(room[:0], d)
	if negative {
		dst = append(dst, '-')
	}
	point := len(digits) - scale
	if point <= 0 {
		dst = append(dst, "0."...)
		for ; point < 0; point++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	if scale < 0 {
		dst = append(dst, digits...)
		for ; scale < 0 && d.Sign() != 0; scale++ {
			dst = append(dst, '0')
		}
		return dst
	}
	dst = append(dst, digits[:point]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[point:]...)
	}
	return dst
}

// AppendDecimalExp writes a decimal as BigDecimal.toString does, which turns to
// an exponent below 1e-6: the text of casts when ANSI mode is off.
func AppendDecimalExp(dst []byte, d chunk.Dec, scale int) []byte {
	var room [40]byte
	digits, negative := decimalDigits(room[:0], d)
	exp := len(digits) - 1 - scale
	if scale >= 0 && exp >= -6 {
		return AppendDecimal(dst, d, scale)
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'E')
	if exp >= 0 {
		dst = append(dst, '+')
	}
	return appendInt(dst, int64(exp))
}

// decimalDigits are the digits of |d|, "0" for zero.
func decimalDigits(dst []byte, d chunk.Dec) (digits []byte, negative bool) {
	negative = d.Sign() < 0
	if negative {
		d = d.Negate()
	}
	if d.HighBits() == 0 {
		return strconv.AppendUint(dst, d.LowBits(), 10), negative
	}
	hi, lo := uint64(d.HighBits()), d.LowBits()
	upper, lower := divide128(hi, lo, pow10[19])
	if upper.hi == 0 && upper.lo < pow10[19] {
		dst = strconv.AppendUint(dst, upper.lo, 10)
		return appendPadded(dst, lower, 19), negative
	}
	return d.BigInt().Append(dst, 10), negative
}

func appendPadded(dst []byte, v uint64, width int) []byte {
	for i := width - 1; i > 0 && v < pow10[i]; i-- {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, v, 10)
}

// isBlank reports whether Spark's casts trim a byte: white space and ISO
// control characters.
func isBlank(b byte) bool { return b <= ' ' || b == 0x7f }

func trimBlank(s string) string {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// trimJava is String.trim: everything up to the blank goes.
func trimJava(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// ParseInt reads a bigint as Spark's casts do. With fraction, a fraction is
// allowed and cut off, as casts do when ANSI mode is off.
func ParseInt(text string, fraction bool) (int64, bool) {
	s := trimBlank(text)
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	var v uint64
	i := 0
	for ; i < len(s) && s[i] != '.'; i++ {
		c := s[i] - '0'
		if c > 9 || v > math.MaxUint64/20 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	if i < len(s) && !fraction {
		return 0, false
	}
	for i++; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	if negative {
		return -int64(v), v <= 1<<63
	}
	return int64(v), v < 1<<63
}

// ParseBool reads the words that Spark casts to a boolean.
func ParseBool(text string) (value, ok bool) {
	s := trimBlank(text)
	for _, w := range [...]string{"t", "true", "y", "yes", "1"} {
		if strings.EqualFold(s, w) {
			return true, true
		}
	}
	for _, w := range [...]string{"f", "false", "n", "no", "0"} {
		if strings.EqualFold(s, w) {
			return false, true
		}
	}
	return false, false
}

// ParseDouble reads a double as Spark's casts do: Java's grammar with its
// suffixes and hexadecimal form, and inf, infinity and nan in any case.
func ParseDouble(text string) (float64, bool) { return parseFloat(text, 64) }

// ParseFloat reads a float, rounded once.
func ParseFloat(text string) (float32, bool) {
	f, ok := parseFloat(text, 32)
	return float32(f), ok
}

func parseFloat(text string, bits int) (float64, bool) {
	s := trimJava(text)
	if !javaFloat(s) {
		return specialFloat(s)
	}
	// A suffix: the digits of a hexadecimal exponent are decimal too.
	if c := s[len(s)-1] | 0x20; c == 'f' || c == 'd' {
		s = s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, bits)
	return f, err == nil || math.IsInf(f, 0)
}

func specialFloat(s string) (float64, bool) {
	name := s
	negative := false
	if name != "" && (name[0] == '-' || name[0] == '+') {
		negative = name[0] == '-'
		name = name[1:]
	}
	switch {
	case strings.EqualFold(name, "inf"), strings.EqualFold(name, "infinity"):
		if negative {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	case strings.EqualFold(s, "nan"), name == "NaN":
		return math.NaN(), true
	default:
		return 0, false
	}
}

// javaFloat reports whether Double.parseDouble takes s as digits: an optional
// sign, digits with at most one point, an exponent, a suffix.
func javaFloat(s string) bool {
	p := scan(s)
	p.oneOf("+-")
	hex := len(p) > 1 && p[0] == '0' && p[1]|0x20 == 'x'
	if hex {
		p = p[2:]
	}
	n := p.digits(hex)
	if p.oneOf(".") {
		n += p.digits(hex)
	}
	if n == 0 {
		return false
	}
	if mark := p.oneOf(exponentMarks[hex]); mark {
		p.oneOf("+-")
		if p.digits(false) == 0 {
			return false
		}
	} else if hex {
		return false
	}
	p.oneOf("fFdD")
	return p == ""
}

var exponentMarks = map[bool]string{false: "eE", true: "pP"}

// scan is a text that is read from the front.
type scan string

func (p *scan) oneOf(set string) bool {
	if *p == "" || strings.IndexByte(set, (*p)[0]) < 0 {
		return false
	}
	*p = (*p)[1:]
	return true
}

func (p *scan) digits(hex bool) int {
	n := 0
	for s := *p; n < len(s); n++ {
		c := s[n]
		if (c < '0' || c > '9') && !(hex && c|0x20 >= 'a' && c|0x20 <= 'f') {
			break
		}
	}
	*p = (*p)[n:]
	return n
}

// DecimalFault says why a text is not a decimal of a type.
type DecimalFault uint8

// The faults, in the order in which they are looked for.
const (
	DecimalOK       DecimalFault = iota
	DecimalNotANum               // the text is not a number
	DecimalTooLarge              // more than 38 digits before the point
	DecimalNoFit                 // a number that does not fit the type
)

// ParseDecimal reads a decimal of type t, rounded half up to its scale.
func ParseDecimal(text string, t plan.Type) (chunk.Dec, DecimalFault) {
	n, ok := scanNumber(asciiDigits(trimJava(text)))
	if !ok {
		return chunk.Dec{}, DecimalNotANum
	}
	return n.toDecimal(t)
}

// asciiDigits replaces the digits of other scripts, which BigDecimal takes.
func asciiDigits(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf || !unicode.IsDigit(r) {
			return r
		}
		// Each script's digits stand together; find this one's zero. Those of
		// mathematics are five sets in a row.
		if r >= 0x1D7CE && r <= 0x1D7FF {
			return '0' + (r-0x1D7CE)%10
		}
		value := rune(0)
		for value < 9 && unicode.IsDigit(r-value-1) {
			value++
		}
		return '0' + value
	}, s)
}

// number is a decimal text taken apart.
type number struct {
	negative bool
	whole    string // the digits before the point
	fraction string // and after it
	exp      int64  // the exponent that was written
}

// maxExponent is the largest exponent a BigDecimal can have.
const maxExponent = math.MaxInt32

func scanNumber(s string) (number, bool) {
	var n number
	p := scan(s)
	n.negative = strings.HasPrefix(s, "-")
	p.oneOf("+-")
	rest := string(p)
	n.whole = rest[:p.digits(false)]
	if p.oneOf(".") {
		rest = string(p)
		n.fraction = rest[:p.digits(false)]
	}
	if n.whole == "" && n.fraction == "" {
		return n, false
	}
	if p.oneOf("eE") {
		exp, err := strconv.ParseInt(string(p), 10, 64)
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return n, false
		}
		n.exp = exp
		p = ""
	}
	return n, p == ""
}

// toDecimal rounds n half up to the scale of t.
func (n number) toDecimal(t plan.Type) (chunk.Dec, DecimalFault) {
	digits := strings.TrimLeft(n.whole, "0")
	point := int64(len(digits)) + n.exp
	if digits == "" {
		short := strings.TrimLeft(n.fraction, "0")
		point = n.exp - int64(len(n.fraction)-len(short))
		digits = short
	} else if n.fraction != "" {
		digits += n.fraction
	}
	if digits == "" {
		return chunk.Dec{}, DecimalOK
	}
	if point > plan.MaxPrecision {
		return chunk.Dec{}, DecimalTooLarge
	}
	keep := point + int64(t.Scale)
	if keep > int64(t.Precision) {
		return chunk.Dec{}, DecimalNoFit
	}
	if keep < 0 {
		return chunk.Dec{}, DecimalOK
	}
	up := keep < int64(len(digits)) && digits[keep] >= '5'
	v := decimalOf(digits, int(keep), up)
	if !v.FitsInPrecision(int32(t.Precision)) {
		return chunk.Dec{}, DecimalNoFit
	}
	if n.negative {
		v = v.Negate()
	}
	return v, DecimalOK
}

// decimalOf is the first keep digits, at most 38, zeros beyond their end, plus
// one if up.
func decimalOf(digits string, keep int, up bool) chunk.Dec {
	var hi, lo uint64
	for i := range keep {
		c := uint64(0)
		if i < len(digits) {
			c = uint64(digits[i] - '0')
		}
		hi, lo = muladd128(hi, lo, c)
	}
	if up {
		lo++
		if lo == 0 {
			hi++
		}
	}
	return decimalFrom(hi, lo)
}
