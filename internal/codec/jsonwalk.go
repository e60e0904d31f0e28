package codec

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// elements calls do for the elements of the array at i with the place of each;
// do returns the place behind it.
func (f *JSONFinder) elements(i int, do func(at int) int) int {
	s := &f.scan
	if s.depth++; s.depth > maxJSONDepth {
		return -1
	}
	i = s.space(i + 1)
	for first := true; i < len(s.b) && (s.b[i] != ']' || !first); first = false {
		if i = do(i); i < 0 {
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
	return s.closed(i)
}

// members does the same for the members of an object, with their names, which
// are good until the next thing is read.
func (f *JSONFinder) members(i int, do func(name []byte, at int) int) int {
	s := &f.scan
	if s.depth++; s.depth > maxJSONDepth {
		return -1
	}
	i = s.space(i + 1)
	for first := true; i < len(s.b) && (s.b[i] != '}' || !first); first = false {
		name, next := s.key(i)
		if next < 0 {
			return -1
		}
		if i = do(name, s.space(next)); i < 0 {
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
	return s.closed(i)
}

// closed is the place behind the bracket at i.
func (s *jsonScanner) closed(i int) int {
	if i >= len(s.b) {
		return -1
	}
	return i + 1
}

// copied writes the value at i anew, as Jackson copies one: without blanks and
// with numbers as Java prints them.
func (f *JSONFinder) copied(i int) int {
	o, s := &f.out, &f.scan
	if i >= len(s.b) {
		return -1
	}
	switch c := s.b[i]; c {
	case '{':
		o.b = append(o.b, '{')
		n := 0
		next := f.members(i, func(name []byte, at int) int {
			if n++; n > 1 {
				o.b = append(o.b, ',')
			}
			o.text(name)
			o.b = append(o.b, ':')
			return f.copied(at)
		})
		o.b = append(o.b, '}')
		return next
	case '[':
		o.b = append(o.b, '[')
		n := 0
		next := f.elements(i, func(at int) int {
			if n++; n > 1 {
				o.b = append(o.b, ',')
			}
			return f.copied(at)
		})
		o.b = append(o.b, ']')
		return next
	case '"', '\'':
		text, next := s.str(i)
		o.text(text)
		return next
	case 't', 'f', 'n':
		next := s.skip(i)
		if next > 0 {
			o.b = append(o.b, s.b[i:next]...)
		}
		return next
	default:
		return f.copiedNumber(i)
	}
}

func (f *JSONFinder) copiedNumber(i int) int {
	next, integer := f.scan.number(i)
	if next < 0 {
		return -1
	}
	text := f.scan.b[i:next]
	switch {
	case !integer:
		n, _ := strconv.ParseFloat(string(text), 64) // an overflow is infinite
		f.out.b = appendJSONFloat(f.out.b, AppendDouble, n)
	case string(text) == "-0":
		f.out.b = append(f.out.b, '0')
	default:
		f.out.b = append(f.out.b, text...)
	}
	return next
}

// text writes a string.
func (o *jsonOut) text(s []byte) {
	start := len(o.b)
	o.b = appendJSONString(o.b, s)
	if !o.pairs || bytes.IndexFunc(s, isPair) < 0 {
		return
	}
	written := bytes.Clone(o.b[start:])
	o.b = o.b[:start]
	for len(written) > 0 {
		r, n := utf8.DecodeRune(written)
		if isPair(r) {
			high, low := utf16.EncodeRune(r)
			o.b = appendEscape(appendEscape(o.b, high), low)
		} else {
			o.b = append(o.b, written[:n]...)
		}
		written = written[n:]
	}
}

// isPair reports characters that are two in UTF-16.
func isPair(r rune) bool { return r > 0xffff }

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
