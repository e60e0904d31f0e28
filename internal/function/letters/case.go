package letters

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsASCII reports whether all bytes are below 0x80.
func IsASCII(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// AppendUpper writes s in upper case; some letters become more than one.
func AppendUpper(dst, s []byte) []byte {
	if IsASCII(s) {
		at := len(dst)
		dst = append(dst, s...)
		UpperASCII(dst[at:])
		return dst
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if full, ok := fullUpper[r]; ok {
			dst = append(dst, full...)
		} else if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[0])
		} else {
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		}
		s = s[n:]
	}
	return dst
}

// fullUpper are the letters that become more than one in upper case.
var fullUpper = func() map[rune]string {
	m := map[rune]string{}
	for _, pair := range strings.Fields("ßSS ŉʼN ǰJ̌ ΐΪ́ ΰΫ́ ևԵՒ ẖH̱ ẗT̈ ẘW̊ ẙY̊ ẚAʾ ὐΥ̓ ὒΥ̓̀ ὔΥ̓́ " +
		"ὖΥ̓͂ ᾶΑ͂ ῆΗ͂ ῒΪ̀ ΐΪ́ ῖΙ͂ ῗΪ͂ ῢΫ̀ ΰΫ́ ῤΡ̓ ῦΥ͂ ῧΫ͂ ῶΩ͂ ﬀFF " +
		"ﬁFI ﬂFL ﬃFFI ﬄFFL ﬅST ﬆST ﬓՄՆ ﬔՄԵ ﬕՄԻ ﬖՎՆ ﬗՄԽ") {
		r, n := utf8.DecodeRuneInString(pair)
		m[r] = pair[n:]
	}
	return m
}()

// AppendLower writes s in lower case.
func AppendLower(dst, s []byte) []byte {
	if IsASCII(s) {
		for _, c := range s {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
		}
		return dst
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, s[i])
		case r == 'İ':
			dst = append(dst, "i̇"...)
		case r == 'Σ' && finalSigma(s, i, n):
			dst = append(dst, "ς"...)
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += n
	}
	return dst
}

// finalSigma reports whether a sigma at s[i] ends a word.
func finalSigma(s []byte, i, n int) bool {
	before, _ := utf8.DecodeLastRune(s[:i])
	after, _ := utf8.DecodeRune(s[i+n:])
	return unicode.IsLetter(before) && (i+n == len(s) || !unicode.IsLetter(after))
}

// AppendTitle makes the first letter behind a blank large and all others small.
func AppendTitle(dst, s []byte) []byte {
	start := true
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if start {
			dst = utf8.AppendRune(dst, unicode.ToTitle(r))
		} else {
			dst = AppendLower(dst, s[:n])
		}
		start = r == ' '
		s = s[n:]
	}
	return dst
}

// soundexCodes are the classes of A to Z; 7 is skipped, 0 parts.
const soundexCodes = "01230127022455012623017202"

// AppendSoundex writes the code of how a name sounds.
func AppendSoundex(dst, s []byte) []byte {
	letter := func(c byte) (byte, bool) {
		c &^= 0x20
		return c - 'A', c >= 'A' && c <= 'Z'
	}
	if len(s) == 0 {
		return dst
	}
	first, ok := letter(s[0])
	if !ok {
		return append(dst, s...)
	}
	at := len(dst)
	dst = append(dst, 'A'+first)
	last := soundexCodes[first]
	for _, c := range s[1:] {
		l, ok := letter(c)
		if !ok {
			last = '0'
			continue
		}
		code := soundexCodes[l]
		if code == '7' {
			continue
		}
		if code != '0' && code != last {
			dst = append(dst, code)
		}
		last = code
		if len(dst)-at == 4 {
			break
		}
	}
	for len(dst)-at < 4 {
		dst = append(dst, '0')
	}
	return dst
}

// UpperASCII makes ASCII letters large, in place.
func UpperASCII(b []byte) {
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
}
