package vfs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// legal are the ASCII characters besides letters and digits that java.net.URI
// leaves as they are in a path.
const legal = "/_-!.~'()*,;:$&+=@"

// EncodePath prints a path as Hadoop's Path.toUri does: everything that
// java.net.URI allows stays, letters beyond ASCII included; the rest, also
// space-like and control characters beyond ASCII, becomes %XX of its UTF-8
// bytes. Bytes that are not UTF-8 are encoded too, which Java cannot say.
func EncodePath(p string) string {
	clean := true
	for i := 0; i < len(p) && clean; i++ {
		clean = plainByte(p[i])
	}
	if clean {
		return p
	}
	var b strings.Builder
	b.Grow(len(p) + 16)
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(p[i:])
		if keepRune(r, size) {
			b.WriteString(p[i : i+size])
		} else {
			for _, c := range []byte(p[i : i+size]) {
				b.WriteByte('%')
				b.WriteByte(upperHex[c>>4])
				b.WriteByte(upperHex[c&15])
			}
		}
		i += size
	}
	return b.String()
}

func plainByte(c byte) bool {
	return c < utf8.RuneSelf && keepRune(rune(c), 1)
}

func keepRune(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1:
		return false
	case r >= utf8.RuneSelf:
		return !unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp) && !unicode.IsControl(r)
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return strings.ContainsRune(legal, r)
}

// DecodePath is the reverse of EncodePath. It reports false when a % is not
// followed by two hexadecimal digits.
func DecodePath(p string) (string, bool) {
	at := strings.IndexByte(p, '%')
	if at < 0 {
		return p, true
	}
	out := append(make([]byte, 0, len(p)), p[:at]...)
	for i := at; i < len(p); i++ {
		if p[i] != '%' {
			out = append(out, p[i])
			continue
		}
		if i+2 >= len(p) {
			return "", false
		}
		high, low := unhex(p[i+1]), unhex(p[i+2])
		if high > 15 || low > 15 {
			return "", false
		}
		out = append(out, high<<4|low)
		i += 2
	}
	return string(out), true
}

// unhex returns 255 for what is no hexadecimal digit.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
