package javaregex

import (
	"slices"
	"strings"
	"unicode"
)

// runeSet is a set of characters: ranges [lo, hi], ascending, apart from each
// other. Java's nested classes are computed here, so that both engines only see
// plain lists.
type runeSet []rune

func (s runeSet) with(lo, hi rune) runeSet { return append(s, lo, hi) }

// normal sorts and joins ranges.
func (s runeSet) normal() runeSet {
	pairs := make([][2]rune, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		pairs = append(pairs, [2]rune{s[i], s[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := runeSet{}
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
			continue
		}
		out = append(out, p[0], p[1])
	}
	return out
}

func (s runeSet) not() runeSet {
	out, next := runeSet{}, rune(0)
	for s = s.normal(); len(s) > 0; s = s[2:] {
		if s[0] > next {
			out = append(out, next, s[0]-1)
		}
		next = s[1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func (s runeSet) union(o runeSet) runeSet { return append(slices.Clone(s), o...).normal() }

func (s runeSet) intersect(o runeSet) runeSet { return s.not().union(o.not()).not() }

// folded adds the other case of ASCII letters, as (?i) does in Java.
func (s runeSet) folded() runeSet {
	out := slices.Clone(s)
	upper := s.intersect(runeSet{'A', 'Z'})
	lower := s.intersect(runeSet{'a', 'z'})
	for i := range upper {
		out = append(out, upper[i]+'a'-'A')
	}
	for i := range lower {
		out = append(out, lower[i]-('a'-'A'))
	}
	return out.normal()
}

// First and last of the surrogates, which no pattern can hold.
const (
	surrogateMin = 0xd800
	surrogateMax = 0xdfff
)

// write writes the set as a class both engines read.
func (s runeSet) write(b *strings.Builder) {
	s = s.normal()
	if len(s) == 0 {
		b.WriteString(`[^\x00-\x{10FFFF}]`)
		return
	}
	b.WriteByte('[')
	for ; len(s) > 0; s = s[2:] {
		lo, hi := s[0], s[1]
		if lo >= surrogateMin && lo <= surrogateMax {
			lo = surrogateMax + 1
		}
		if hi >= surrogateMin && hi <= surrogateMax {
			hi = surrogateMin - 1
		}
		if lo > hi {
			continue
		}
		writeClassRune(b, lo)
		if hi > lo {
			b.WriteByte('-')
			writeClassRune(b, hi)
		}
	}
	b.WriteByte(']')
}

func writeClassRune(b *strings.Builder, r rune) {
	if strings.ContainsRune(`\]^-[`, r) {
		b.WriteByte('\\')
	}
	b.WriteRune(r)
}

func tableSet(t *unicode.RangeTable) runeSet {
	var s runeSet
	for _, r := range t.R16 {
		s = stride(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		s = stride(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return s
}

func stride(s runeSet, lo, hi, step rune) runeSet {
	if step == 1 {
		return s.with(lo, hi)
	}
	for r := lo; r <= hi; r += step {
		s = s.with(r, r)
	}
	return s
}

var (
	digitSet = runeSet{'0', '9'}
	wordSet  = runeSet{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	spaceSet = runeSet{'\t', '\r', ' ', ' '}
	hSet     = runeSet{'\t', '\t', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x180e, 0x180e, 0x2000, 0x200a,
		0x202f, 0x202f,
		0x205f, 0x205f, 0x3000, 0x3000}
	vSet = runeSet{'\n', '\r', 0x85, 0x85, 0x2028, 0x2029}
	// terminators end lines; the dot does not match them.
	terminators = runeSet{'\n', '\n', '\r', '\r', 0x85, 0x85, 0x2028, 0x2029}
)

// shorthand is the set of \d, \w, \s, \h, \v and their negations.
func shorthand(c byte) (runeSet, bool) {
	sets := map[byte]runeSet{'d': digitSet, 'w': wordSet, 's': spaceSet, 'h': hSet, 'v': vSet}
	if s, ok := sets[c]; ok {
		return s, true
	}
	if s, ok := sets[c+'a'-'A']; ok && c < 'a' {
		return s.not(), true
	}
	return nil, false
}

// posixSets are Java's \p{…} over ASCII, and those named after its methods.
func posixSets(name string) (runeSet, bool) {
	sets := map[string]runeSet{
		"Lower": {'a', 'z'}, "Upper": {'A', 'Z'}, "ASCII": {0, 0x7f}, "Alpha": {'A', 'Z', 'a', 'z'},
		"Digit": digitSet,
		"Alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "Punct": {'!', '/', ':', '@', '[', '`', '{', '~'},
		"Graph": {'!', '~'}, "Print": {' ', '~'}, "Blank": {' ', ' ', '\t', '\t'}, "Cntrl": {0, 0x1f, 0x7f, 0x7f},
		"XDigit": {'0', '9', 'A', 'F', 'a', 'f'}, "Space": spaceSet,
	}
	s, ok := sets[name]
	return s, ok
}

// property is the set of \p{name}.
func property(name string) (runeSet, bool) {
	if s, ok := posixSets(name); ok {
		return s, true
	}
	methods := map[string]*unicode.RangeTable{
		"javaLowerCase": unicode.Lower, "javaUpperCase": unicode.Upper, "javaDigit": unicode.Nd,
		"javaLetter":    unicode.L,
		"javaTitleCase": unicode.Lt, "IsAlphabetic": unicode.Letter, "IsLetter": unicode.Letter,
		"IsDigit":     unicode.Nd,
		"IsUppercase": unicode.Upper, "IsLowercase": unicode.Lower, "IsPunctuation": unicode.P,
		"IsWhite_Space": unicode.White_Space, "IsControl": unicode.Cc,
	}
	if t, ok := methods[name]; ok {
		return tableSet(t), true
	}
	_, value, found := strings.Cut(name, "=")
	if !found {
		value = strings.TrimPrefix(name, "Is")
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		for key, t := range tables {
			if strings.EqualFold(key, value) && (len(key) > 2 || key == value) {
				return tableSet(t), true
			}
		}
	}
	return nil, false
}
