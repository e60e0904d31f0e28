package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/plan"
)

// decodeCharset is src as UTF-8. Without a name, whole files may be UTF-16 or
// UTF-32 as their first bytes say.
func decodeCharset(src io.Reader, name string, whole bool) (io.Reader, error) {
	in := bufio.NewReaderSize(src, 4096)
	upper := strings.ToUpper(strings.ReplaceAll(name, "_", "-"))
	if name != "" && isUTF8(name) {
		return in, nil
	}
	switch upper {
	case "":
		if whole {
			if c := sniffCharset(in); c != nil {
				return c, nil
			}
		}
		return in, nil
	case "US-ASCII", "ASCII":
		return in, nil
	case "ISO-8859-1", "LATIN1":
		return &charset{in: in, next: latin1}, nil
	case "UTF-16", "UTF-32":
		if !whole {
			return nil, plan.IllegalArgument("requirement failed: The %s encoding must not be included in the "+
				"denyList when multiLine is disabled: name the byte order", name)
		}
		if c := sniffCharset(in); c != nil {
			return c, nil
		}
		upper += "BE"
	}
	if c := wideCharset(in, upper); c != nil {
		return c, nil
	}
	return nil, plan.Unsupported("the encoding " + name)
}

func isUTF8(name string) bool {
	return name == "" || strings.EqualFold(name, "UTF-8") || strings.EqualFold(name, "UTF8")
}

func wideCharset(in *bufio.Reader, name string) *charset {
	switch name {
	case "UTF-16BE":
		return &charset{in: in, next: utf16Of(binary.BigEndian)}
	case "UTF-16LE":
		return &charset{in: in, next: utf16Of(binary.LittleEndian)}
	case "UTF-32BE":
		return &charset{in: in, next: utf32Of(binary.BigEndian)}
	case "UTF-32LE":
		return &charset{in: in, next: utf32Of(binary.LittleEndian)}
	default:
		return nil
	}
}

// sniffCharset recognises byte order marks and the zeros of ASCII in wide form.
func sniffCharset(in *bufio.Reader) *charset {
	b, _ := in.Peek(4)
	for _, c := range [...]struct {
		name string
		mark string
	}{
		{"UTF-32BE", "\x00\x00\xfe\xff"}, {"UTF-32LE", "\xff\xfe\x00\x00"},
		{"UTF-16BE", "\xfe\xff"}, {"UTF-16LE", "\xff\xfe"},
	} {
		if bytes.HasPrefix(b, []byte(c.mark)) {
			return wideCharset(in, c.name)
		}
	}
	if len(b) < 4 {
		return nil
	}
	zero := func(i int) bool { return b[i] == 0 }
	switch {
	case zero(0) && zero(1) && zero(2):
		return wideCharset(in, "UTF-32BE")
	case zero(1) && zero(2) && zero(3):
		return wideCharset(in, "UTF-32LE")
	case zero(0):
		return wideCharset(in, "UTF-16BE")
	case zero(1):
		return wideCharset(in, "UTF-16LE")
	default:
		return nil
	}
}

// charset is a reader of UTF-8 over another encoding.
type charset struct {
	in   *bufio.Reader
	next func(in *bufio.Reader) (rune, error)
	rest []byte
	room [utf8.UTFMax]byte
}

func (c *charset) Read(p []byte) (int, error) {
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	for n < len(p) {
		r, err := c.next(c.in)
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		char := utf8.AppendRune(c.room[:0], r)
		k := copy(p[n:], char)
		n += k
		c.rest = char[k:]
	}
	return n, nil
}

func latin1(in *bufio.Reader) (rune, error) {
	b, err := in.ReadByte()
	return rune(b), err
}

func utf16Of(order binary.ByteOrder) func(in *bufio.Reader) (rune, error) {
	return func(in *bufio.Reader) (rune, error) {
		b, err := in.Peek(2)
		if err != nil {
			return cutOff(in, len(b), err)
		}
		r := rune(order.Uint16(b))
		if !utf16.IsSurrogate(r) {
			_, err = in.Discard(2)
			return r, err
		}
		b, _ = in.Peek(4)
		if len(b) == 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(b[2:]))); pair != utf8.RuneError {
				_, err = in.Discard(4)
				return pair, err
			}
		}
		_, err = in.Discard(2)
		return utf8.RuneError, err
	}
}

func utf32Of(order binary.ByteOrder) func(in *bufio.Reader) (rune, error) {
	return func(in *bufio.Reader) (rune, error) {
		b, err := in.Peek(4)
		if err != nil {
			return cutOff(in, len(b), err)
		}
		r := rune(order.Uint32(b))
		if !utf8.ValidRune(r) {
			r = utf8.RuneError
		}
		_, err = in.Discard(4)
		return r, err
	}
}

// cutOff replaces an incomplete character at the end of a file.
func cutOff(in *bufio.Reader, n int, err error) (rune, error) {
	if n == 0 || err != io.EOF {
		return 0, err
	}
	_, err = in.Discard(n)
	return utf8.RuneError, err
}
