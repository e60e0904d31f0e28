package text

import (
	"testing"
	"unicode/utf8"
)

// likeModel is LIKE by its definition: try every length for each %.
func likeModel(pattern, s []rune, escape rune) bool {
	switch {
	case len(pattern) == 0:
		return len(s) == 0
	case pattern[0] == escape:
		return len(s) > 0 && s[0] == pattern[1] && likeModel(pattern[2:], s[1:], escape)
	case pattern[0] == '%':
		for n := 0; n <= len(s); n++ {
			if likeModel(pattern[1:], s[n:], escape) {
				return true
			}
		}
		return false
	default:
		return len(s) > 0 && (pattern[0] == '_' || pattern[0] == s[0]) && likeModel(pattern[1:], s[1:], escape)
	}
}

func FuzzLikeIsItsDefinition(f *testing.F) {
	f.Add("%a_%b%", "xaybz", `\`)
	f.Add(`a\%%`, "a%b", `\`)
	f.Add("é_#_", "éx_", "#")
	f.Add("%%_", "", `\`)
	f.Add("%ab%ab", "abab", `\`)
	f.Fuzz(func(t *testing.T, pattern, s, escape string) {
		if utf8.RuneCountInString(escape) != 1 || len(pattern) > 12 || len(s) > 12 {
			return
		}
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) || !utf8.ValidString(escape) {
			return
		}
		esc, _ := utf8.DecodeRuneInString(escape)
		p, err := compileLike(pattern, escape)
		if err != nil {
			return
		}
		if got, want := p.matches([]byte(s)), likeModel([]rune(pattern), []rune(s), esc); got != want {
			t.Fatalf("%q LIKE %q ESCAPE %q: %v, by definition %v", s, pattern, escape, got, want)
		}
	})
}

func FuzzLikeTakesAnyBytes(f *testing.F) {
	f.Add([]byte{0xff, 0xc3, '%', '_'}, []byte{0xe2, 0x82, 'a'})
	f.Fuzz(func(t *testing.T, pattern, s []byte) {
		if p, err := compileLike(string(pattern), `\`); err == nil {
			p.matches(s)
		}
	})
}
