package letters

import (
	"encoding/base64"
	"errors"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendBase64 writes base64 in lines, as Java's MIME encoder does.
func AppendBase64(dst, s []byte) []byte {
	at := len(dst)
	dst = base64.StdEncoding.AppendEncode(dst, s)
	for line := at + mimeLine; line < len(dst); line += mimeLine + 2 {
		dst = slices.Insert(dst, line, '\r', '\n')
	}
	return dst
}

// mimeLine is how many characters of base64 stand on a line.
const mimeLine = 76

// AppendUnbase64 reads base64 as Java's MIME decoder does: other characters are
// skipped, padding may be missing.
func AppendUnbase64(dst, s []byte) []byte {
	bits, n := uint32(0), 0
	for _, c := range s {
		v := base64Digit(c)
		if c == '=' {
			break
		}
		if v < 0 {
			continue
		}
		bits = bits<<6 | uint32(v)
		if n++; n == 4 {
			dst = append(dst, byte(bits>>16), byte(bits>>8), byte(bits))
			bits, n = 0, 0
		}
	}
	switch n {
	case 2:
		dst = append(dst, byte(bits>>4))
	case 3:
		dst = append(dst, byte(bits>>10), byte(bits>>2))
	}
	return dst
}

func base64Digit(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	default:
		return -1
	}
}

// Charsets are those of encode and decode.
const Charsets = "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"

// What is wrong with a text or the name of a charset.
var (
	ErrCharset = errors.New("none of the charsets")
	ErrCoding  = errors.New("a character cannot be written in, or read from, the charset")
)

// Encode writes s in a charset.
func Encode(dst []byte, s, charset string) ([]byte, error) {
	charset = string(AppendLower(nil, []byte(charset)))
	switch charset {
	case "utf-8":
		return append(dst, s...), nil
	case "utf-16":
		dst = append(dst, 0xfe, 0xff)
	}
	if _, ok := appendCoded([]byte{}, 'a', charset); !ok {
		return dst, ErrCharset
	}
	for _, r := range s {
		var ok bool
		if dst, ok = appendCoded(dst, r, charset); !ok {
			return dst, ErrCoding
		}
	}
	return dst, nil
}

// appendCoded writes a character in a charset; nil when there is no such
// charset, ok false when it has no such character.
func appendCoded(dst []byte, r rune, charset string) (out []byte, ok bool) {
	limit := rune(utf8.MaxRune)
	switch charset {
	case "us-ascii":
		return append(dst, byte(r)), r < utf8.RuneSelf
	case "iso-8859-1":
		return append(dst, byte(r)), r < 256
	case "utf-32":
		return append(dst, byte(r>>24), byte(r>>16), byte(r>>8), byte(r)), r <= limit
	case "utf-16", "utf-16be":
		for _, u := range utf16.AppendRune(nil, r) {
			dst = append(dst, byte(u>>8), byte(u))
		}
		return dst, true
	case "utf-16le":
		for _, u := range utf16.AppendRune(nil, r) {
			dst = append(dst, byte(u), byte(u>>8))
		}
		return dst, true
	default:
		return nil, false
	}
}

// Decode reads bytes of a charset.
func Decode(dst, s []byte, charset string) ([]byte, error) {
	ok := true
	switch charset = string(AppendLower(nil, []byte(charset))); charset {
	case "utf-8":
		dst, ok = append(dst, s...), utf8.Valid(s)
	case "us-ascii":
		dst, ok = append(dst, s...), IsASCII(s)
	case "iso-8859-1":
		for _, c := range s {
			dst = utf8.AppendRune(dst, rune(c))
		}
	case "utf-16", "utf-16be", "utf-16le":
		dst, ok = appendUTF16(dst, s, charset)
	case "utf-32":
		for ; len(s) >= 4; s = s[4:] {
			r := rune(s[0])<<24 | rune(s[1])<<16 | rune(s[2])<<8 | rune(s[3])
			ok = ok && utf8.ValidRune(r)
			dst = utf8.AppendRune(dst, r)
		}
		ok = ok && len(s) == 0
	default:
		return dst, ErrCharset
	}
	if !ok {
		return dst, ErrCoding
	}
	return dst, nil
}

func appendUTF16(dst, s []byte, charset string) ([]byte, bool) {
	little := charset == "utf-16le"
	if charset == "utf-16" && len(s) >= 2 && (s[0] == 0xfe && s[1] == 0xff || s[0] == 0xff && s[1] == 0xfe) {
		little = s[0] == 0xff
		s = s[2:]
	}
	var units []uint16
	for k := 0; k+1 < len(s); k += 2 {
		u := uint16(s[k])<<8 | uint16(s[k+1])
		if little {
			u = u>>8 | u<<8
		}
		units = append(units, u)
	}
	ok := len(s)%2 == 0
	for _, r := range utf16.Decode(units) {
		ok = ok && r != utf8.RuneError
		dst = utf8.AppendRune(dst, r)
	}
	return dst, ok
}
