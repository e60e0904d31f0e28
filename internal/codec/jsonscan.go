package codec

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// jsonGrammar is what a reader takes beyond JSON itself.
type jsonGrammar struct {
	comments       bool // /* */ and //
	unquotedNames  bool
	singleQuotes   bool
	leadingZeros   bool
	nonNumeric     bool // NaN, Infinity, -INF
	backslashAny   bool
	controlChars   bool
	replaceBadUTF8 bool // the text was decoded from bytes before, so nothing is bad
}

// Limits of Jackson, beyond which a record is malformed.
const (
	maxJSONDepth  = 1000
	maxJSONDigits = 1000
)

// jsonScanner reads the tokens of one record. Its methods take a place in b
// and return the one behind what they read, or -1 when that is no JSON.
type jsonScanner struct {
	jsonGrammar
	b     []byte
	depth int
	text  []byte // content of the last string with escapes
}

// space skips what may stand between tokens; mostly that is nothing.
func (s *jsonScanner) space(i int) int {
	if i < len(s.b) && s.b[i] > ' ' && s.b[i] != '/' {
		return i
	}
	return s.spaces(i)
}

func (s *jsonScanner) spaces(i int) int {
	b := s.b
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	if s.comments && i < len(b) && b[i] == '/' {
		return s.comment(i)
	}
	return i
}

// comment skips comments; a broken one is left for the next token to fail on.
func (s *jsonScanner) comment(i int) int {
	rest := s.b[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexAny(rest, "\r\n")
		if n < 0 {
			n = len(rest)
		}
		return s.space(i + n)
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return i
		}
		return s.space(i + n + 4)
	default:
		return i
	}
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// plain is the number of bytes from i on that stand for themselves in a string
// and are ASCII: neither quote, backslash, control nor the high half.
func plain(b []byte, i int, quote byte) int {
	start, q := i, lowBits*uint64(quote)
	for ; i+16 <= len(b); i += 16 {
		stop := special(binary.LittleEndian.Uint64(b[i:]), q)
		if stop != 0 {
			return i - start + bits.TrailingZeros64(stop)/8
		}
		if stop = special(binary.LittleEndian.Uint64(b[i+8:]), q); stop != 0 {
			return i + 8 - start + bits.TrailingZeros64(stop)/8
		}
	}
	if i+8 <= len(b) {
		if stop := special(binary.LittleEndian.Uint64(b[i:]), q); stop != 0 {
			return i - start + bits.TrailingZeros64(stop)/8
		}
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != quote && b[i] != '\\' {
		i++
	}
	return i - start
}

// special has the lowest high bit set of the first byte of w that is not plain.
// Behind that one, what it says is not to be relied on: a byte borrows from the
// next.
func special(w, quotes uint64) uint64 {
	stop := (w ^ quotes) - lowBits
	stop |= (w ^ lowBits*'\\') - lowBits
	stop |= w - lowBits*' '
	return (stop | w) & highBits
}

// str reads a string that begins with a quote at i. The content shares memory
// with the record or with s.text.
func (s *jsonScanner) str(i int) (content []byte, next int) {
	b, quote := s.b, s.b[i]
	if quote != '"' && !(quote == '\'' && s.singleQuotes) {
		return nil, -1
	}
	i++
	n := plain(b, i, quote)
	if i+n < len(b) && b[i+n] == quote {
		return b[i : i+n], i + n + 1
	}
	return s.strSlow(i, n, quote)
}

// strSlow goes on with a string whose first n bytes are plain.
func (s *jsonScanner) strSlow(start, n int, quote byte) (content []byte, next int) {
	b := s.b
	out := s.text[:0]
	copied, i, high := start, start+n, false
	for i < len(b) {
		switch c := b[i]; {
		case c == quote:
			content = b[copied:i]
			if copied > start {
				out = append(out, content...)
				s.text, content = out, out
			}
			if high && !utf8.Valid(content) {
				if !s.replaceBadUTF8 {
					return nil, -1
				}
				content = replaceBadUTF8(content)
			}
			return content, i + 1
		case c == '\\':
			out = append(out, b[copied:i]...)
			if out, i = s.escape(out, i+1); i < 0 {
				return nil, -1
			}
			copied = i
		case c < ' ':
			if !s.controlChars {
				return nil, -1
			}
			i++
		case c >= utf8.RuneSelf:
			high = true
			i++
		default:
			i += max(1, plain(b, i, quote))
		}
	}
	return nil, -1
}

// Text is b as Java decodes it: with U+FFFD for bytes that are no UTF-8.
func Text(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return replaceBadUTF8(b)
}

// replaceBadUTF8 is a copy with U+FFFD for bytes that are no UTF-8.
func replaceBadUTF8(b []byte) []byte {
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = badUTF8(b)
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return out
}

// badUTF8 is the length of the longest start of a character that b begins
// with, at least 1; Java replaces each of those once.
func badUTF8(b []byte) int {
	c := b[0]
	want, low, high := 0, byte(0x80), byte(0xbf)
	switch {
	case c >= 0xc2 && c <= 0xdf:
		want = 2
	case c >= 0xe0 && c <= 0xef:
		want = 3
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 4
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n < want && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xbf
	}
	return n
}

// escape decodes what follows a backslash.
func (s *jsonScanner) escape(out []byte, i int) ([]byte, int) {
	if i >= len(s.b) {
		return out, -1
	}
	c := s.b[i]
	switch c {
	case '"', '\\', '/':
		return append(out, c), i + 1
	case 'b':
		return append(out, '\b'), i + 1
	case 'f':
		return append(out, '\f'), i + 1
	case 'n':
		return append(out, '\n'), i + 1
	case 'r':
		return append(out, '\r'), i + 1
	case 't':
		return append(out, '\t'), i + 1
	case 'u':
		return s.unicode(out, i+1)
	case '\'':
		if s.singleQuotes {
			return append(out, c), i + 1
		}
	}
	if !s.backslashAny || c >= utf8.RuneSelf {
		return out, -1
	}
	return append(out, c), i + 1
}

// unicode decodes the digits of \uXXXX and the other half of a pair. A half
// alone becomes a question mark, as in Java.
func (s *jsonScanner) unicode(out []byte, i int) ([]byte, int) {
	r, ok := hex4(s.b, i)
	if !ok {
		return out, -1
	}
	i += 4
	if r < 0xd800 || r > 0xdfff {
		return utf8.AppendRune(out, r), i
	}
	if r < 0xdc00 && i+1 < len(s.b) && s.b[i] == '\\' && s.b[i+1] == 'u' {
		if low, ok := hex4(s.b, i+2); ok && low >= 0xdc00 && low <= 0xdfff {
			return utf8.AppendRune(out, 0x10000+(r-0xd800)<<10+(low-0xdc00)), i + 6
		}
	}
	return append(out, '?'), i
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 + rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number reads a number at i and says whether it is an integer.
func (s *jsonScanner) number(i int) (next int, integer bool) {
	b, start := s.b, i
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
		if i < len(b) && (b[i] == 'I' || b[start] == '+') {
			return s.nonNumber(start), false
		}
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == first || b[first] == '0' && i > first+1 && !s.leadingZeros {
		return -1, false
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		integer = false
		from := i + 1
		for i = from; i < len(b) && b[i]-'0' <= 9; i++ {
		}
		if i == from {
			return -1, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		integer = false
		i++
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			i++
		}
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		if i == from {
			return -1, false
		}
	}
	if i-start > maxJSONDigits {
		return -1, false
	}
	return i, integer
}

// nonNumber reads NaN, and the infinities with their signs.
func (s *jsonScanner) nonNumber(i int) int {
	if !s.nonNumeric {
		return -1
	}
	rest := s.b[i:]
	for _, word := range [...]string{"NaN", "+Infinity", "-Infinity", "+INF", "-INF", "Infinity"} {
		if n := len(word); len(rest) >= n && string(rest[:n]) == word {
			return s.wordEnd(i + n)
		}
	}
	return -1
}

// wordEnd is i unless a word goes on there.
func (s *jsonScanner) wordEnd(i int) int {
	if i < len(s.b) {
		if c := s.b[i]; isLetter(c) || c-'0' <= 9 || c == '_' || c == '$' || c >= utf8.RuneSelf {
			return -1
		}
	}
	return i
}

func (s *jsonScanner) word(i int, word string) int {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return -1
	}
	return s.wordEnd(i + len(word))
}

// skip reads any value.
func (s *jsonScanner) skip(i int) int {
	b := s.b
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '{':
		return s.skipObject(i)
	case '[':
		return s.skipArray(i)
	case '"':
		if end := i + 1 + plain(b, i+1, '"'); end < len(b) && b[end] == '"' {
			return end + 1
		}
		return s.skipString(i)
	case '\'':
		return s.skipString(i)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	case 'N', 'I':
		return s.nonNumber(i)
	default:
		if c > '0' && i+8 < len(b) {
			// Up to seven digits and a comma.
			n := digitsOf(binary.LittleEndian.Uint64(b[i:]))
			if n > 0 && n < 8 && b[i+n] == ',' {
				return i + n
			}
		}
		next, _ := s.number(i)
		return next
	}
}

// digitsOf is the number of digits at the start of eight bytes of text.
func digitsOf(w uint64) int {
	const zeros, high = lowBits * '0', lowBits * 0xf0
	// A digit has the high half 3, and still has it with 6 added.
	other := (w&high ^ zeros) | ((w+lowBits*6)&high ^ zeros)
	return bits.TrailingZeros64(other) / 8
}

func (s *jsonScanner) skipString(i int) int {
	_, next := s.str(i)
	return next
}

func (s *jsonScanner) skipArray(i int) int {
	if s.depth++; s.depth > maxJSONDepth {
		return -1
	}
	i = s.space(i + 1)
	for first := true; i < len(s.b); first = false {
		if s.b[i] == ']' {
			if !first {
				return -1
			}
			break
		}
		if i = s.skip(i); i < 0 {
			return -1
		}
		i = s.space(i)
		if i < len(s.b) && s.b[i] == ']' {
			break
		}
		if i = s.comma(i); i < 0 {
			return -1
		}
	}
	s.depth--
	if i >= len(s.b) {
		return -1
	}
	return i + 1
}

// comma reads a comma and the space behind it.
func (s *jsonScanner) comma(i int) int {
	if i >= len(s.b) || s.b[i] != ',' {
		return -1
	}
	return s.space(i + 1)
}

func (s *jsonScanner) skipObject(i int) int {
	if s.depth++; s.depth > maxJSONDepth {
		return -1
	}
	i = s.space(i + 1)
	for first := true; i < len(s.b); first = false {
		if s.b[i] == '}' {
			if !first {
				return -1
			}
			break
		}
		if _, i = s.key(i); i < 0 {
			return -1
		}
		if i = s.skip(s.space(i)); i < 0 {
			return -1
		}
		i = s.space(i)
		if i < len(s.b) && s.b[i] == '}' {
			break
		}
		if i = s.comma(i); i < 0 {
			return -1
		}
	}
	s.depth--
	if i >= len(s.b) {
		return -1
	}
	return i + 1
}

// key reads a name and the colon behind it.
func (s *jsonScanner) key(i int) (name []byte, next int) {
	if i >= len(s.b) {
		return nil, -1
	}
	if s.unquotedNames && s.b[i] != '"' && s.b[i] != '\'' {
		next = i
		for next < len(s.b) && (s.wordEnd(next) < 0 || bytes.IndexByte([]byte("-+#*@"), s.b[next]) >= 0) {
			next++
		}
		name = s.b[i:next]
		if next == i {
			return nil, -1
		}
	} else if name, next = s.str(i); next < 0 {
		return nil, -1
	}
	next = s.space(next)
	if next >= len(s.b) || s.b[next] != ':' {
		return nil, -1
	}
	return name, next + 1
}
