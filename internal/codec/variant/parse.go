package variant

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ErrNotJSON is what a text gives that does not begin with a JSON value.
var ErrNotJSON = errors.New("text is no JSON")

// ParseJSON adds the JSON value that a text begins with. As in Spark, what follows it is not looked at.
func (b *Builder) ParseJSON(text []byte) error {
	p := parser{text: text, out: b}
	p.space()
	return p.value(0)
}

// parser reads JSON as Jackson does by default: no comments, no single quotes, no control characters
// within texts, no numbers such as 01 and NaN.
type parser struct {
	text []byte
	at   int
	out  *Builder
	tmp  []byte
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take reports whether the next byte, behind white space, is c and passes it.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value(depth int) error {
	if depth > MaxDepth {
		return ErrTooLarge
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.string()
		if err == nil {
			p.out.Text(s)
		}
		return err
	case c == '-' || '0' <= c && c <= '9':
		return p.number(depth == 0)
	case p.word("null"):
		p.out.Null()
	case p.word("true"):
		p.out.Bool(true)
	case p.word("false"):
		p.out.Bool(false)
	default:
		return ErrNotJSON
	}
	return nil
}

// word passes a word that no letter follows.
func (p *parser) word(w string) bool {
	rest, ok := strings.CutPrefix(string(p.text[p.at:min(len(p.text), p.at+len(w)+1)]), w)
	if !ok || rest != "" && (rest[0] == '_' || rest[0] == '$' || isAlnum(rest[0]) || rest[0] >= 0x80) {
		return false
	}
	p.at += len(w)
	return true
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *parser) array(depth int) error {
	p.at++
	items := p.out.Open()
	if p.take(']') {
		p.out.CloseArray(&items)
		return nil
	}
	for {
		p.space()
		p.out.Next(&items)
		if err := p.value(depth + 1); err != nil {
			return err
		}
		if p.take(']') {
			p.out.CloseArray(&items)
			return nil
		}
		if !p.take(',') {
			return ErrNotJSON
		}
	}
}

func (p *parser) object(depth int) error {
	p.at++
	items := p.out.Open()
	if p.take('}') {
		return p.out.CloseObject(&items)
	}
	for {
		p.space()
		if p.peek() != '"' {
			return ErrNotJSON
		}
		name, err := p.string()
		if err != nil {
			return err
		}
		p.out.Field(&items, string(name))
		if !p.take(':') {
			return ErrNotJSON
		}
		p.space()
		if err := p.value(depth + 1); err != nil {
			return err
		}
		if p.take('}') {
			return p.out.CloseObject(&items)
		}
		if !p.take(',') {
			return ErrNotJSON
		}
	}
}

// string reads a text in quotes; what it gives is valid until the next call.
func (p *parser) string() ([]byte, error) {
	p.at++
	p.tmp = p.tmp[:0]
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return p.tmp, nil
		case c < ' ':
			return nil, ErrNotJSON
		case c != '\\':
			p.tmp = append(p.tmp, c)
		default:
			if !p.escape() {
				return nil, ErrNotJSON
			}
		}
	}
	return nil, ErrNotJSON
}

const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// escape reads what stands behind a backslash.
func (p *parser) escape() bool {
	c := p.peek()
	p.at++
	if i := strings.IndexByte(escapes, c); c != 0 && i >= 0 {
		p.tmp = append(p.tmp, escaped[i])
		return true
	}
	if c != 'u' {
		return false
	}
	r, ok := p.hex()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) {
		from := p.at
		if p.peek() == '\\' && from+1 < len(p.text) && p.text[from+1] == 'u' {
			p.at += 2
			if low, ok := p.hex(); ok {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					p.tmp = utf8.AppendRune(p.tmp, both)
					return true
				}
			}
			p.at = from
		}
		p.tmp = append(p.tmp, '?') // as Java writes half a character
		return true
	}
	p.tmp = utf8.AppendRune(p.tmp, r)
	return true
}

func (p *parser) hex() (rune, bool) {
	if p.at+4 > len(p.text) {
		return 0, false
	}
	x, err := strconv.ParseUint(string(p.text[p.at:p.at+4]), 16, 32)
	p.at += 4
	return rune(x), err == nil
}

// number reads a number. One that stands alone ends with white space or the text.
func (p *parser) number(alone bool) error {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	whole := p.digits()
	if whole == 0 || whole > 1 && p.text[p.at-whole] == '0' {
		return ErrNotJSON
	}
	fraction := 0
	if p.peek() == '.' {
		p.at++
		if fraction = p.digits(); fraction == 0 {
			return ErrNotJSON
		}
	}
	exponent := p.peek() == 'e' || p.peek() == 'E'
	if exponent {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return ErrNotJSON
		}
	}
	if c := p.peek(); alone && p.at < len(p.text) && c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		return ErrNotJSON
	}
	text := string(p.text[from:p.at])
	if fraction == 0 && !exponent {
		if x, err := strconv.ParseInt(text, 10, 64); err == nil {
			p.out.Long(x)
			return nil
		}
	}
	if ParseDecimal(p.out, text) {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return ErrNotJSON
	}
	p.out.Double(x)
	return nil
}

func (p *parser) digits() int {
	from := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - from
}

// ParseDecimal adds a number of JSON that 38 digits hold; false, and nothing is added, for others and for
// those with an exponent.
func ParseDecimal(b *Builder, text string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if strings.ContainsAny(text, "eE+") || len(fraction) > maxPrecision || len(digits) > maxPrecision {
		return false
	}
	if digits == "" {
		digits = "0"
	}
	x, err := decimal128.FromString(digits, maxPrecision, 0)
	if err != nil {
		return false
	}
	if text[0] == '-' {
		x = x.Negate()
	}
	b.Decimal(x, len(fraction))
	return true
}
