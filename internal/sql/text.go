package sql

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquote is the value of a text literal: 'a', "a", r'a'. Between plain quotes
// a backslash escapes and a doubled quote stands for one.
func unquote(s string) string {
	if s[0] == 'r' || s[0] == 'R' {
		return s[2 : len(s)-1]
	}
	quote := s[0]
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, quote) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch {
		case s[i] == quote:
			b = append(b, quote)
			i += 2
		case s[i] == '\\' && i+1 < len(s):
			var n int
			b, n = appendEscape(b, s[i+1:])
			i += 1 + n
		default:
			b = append(b, s[i])
			i++
		}
	}
	return string(b)
}

// appendEscape appends what stands for the characters behind a backslash and
// says how many bytes they are.
func appendEscape(b []byte, s string) ([]byte, int) {
	if n := hexEscape(s); n > 0 {
		code, err := strconv.ParseUint(s[1:n], 16, 32)
		if err == nil {
			return appendCode(b, rune(code), s[n:], n)
		}
	}
	if len(s) >= 3 && s[0] >= '0' && s[0] <= '1' && octal(s[1]) && octal(s[2]) {
		code := (s[0]-'0')*64 + (s[1]-'0')*8 + s[2] - '0'
		return append(b, code), 3
	}
	switch s[0] {
	case '0':
		return append(b, 0), 1
	case 'b':
		return append(b, '\b'), 1
	case 'n':
		return append(b, '\n'), 1
	case 'r':
		return append(b, '\r'), 1
	case 't':
		return append(b, '\t'), 1
	case 'Z':
		return append(b, 26), 1
	case '%', '_':
		return append(b, '\\', s[0]), 1 // escapes of LIKE stay
	default:
		_, n := utf8.DecodeRuneInString(s)
		return append(b, s[:n]...), n
	}
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

// hexEscape is the length of uXXXX or UXXXXXXXX at the start of s, else 0.
func hexEscape(s string) int {
	n := 0
	switch s[0] {
	case 'u':
		n = 5
	case 'U':
		n = 9
	}
	if n == 0 || len(s) < n {
		return 0
	}
	for i := 1; i < n; i++ {
		if c := s[i] | 0x20; !digit(s[i]) && (c < 'a' || c > 'f') {
			return 0
		}
	}
	return n
}

// appendCode appends a code point; two escapes may make a surrogate pair.
func appendCode(b []byte, code rune, rest string, n int) ([]byte, int) {
	if code >= 0xD800 && code < 0xDC00 && len(rest) > 1 && rest[0] == '\\' && hexEscape(rest[1:]) == 5 {
		low, err := strconv.ParseUint(rest[2:6], 16, 32)
		if err == nil && low >= 0xDC00 && low < 0xE000 {
			return utf8.AppendRune(b, (code-0xD800)<<10+rune(low)-0xDC00+0x10000), n + 6
		}
	}
	switch {
	case code > utf8.MaxRune || code < 0:
		return append(b, "??"...), n
	case !utf8.ValidRune(code): // Java writes half a pair so
		return append(b, '?'), n
	default:
		return utf8.AppendRune(b, code), n
	}
}
