package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokQuoted // `a b`
	tokString
	tokInteger
	tokDecimal  // 1.5
	tokExponent // 1e3
	tokLong     // 1L
	tokShort    // 1S
	tokByte     // 1Y
	tokFloat    // 1F
	tokDouble   // 1D
	tokBig      // 1BD
	tokSymbol
	tokBad // a character that begins no token
)

// token is a piece of text. Word is the canonical spelling of a keyword (upper
// case) or a symbol ("==" is "="), and empty for everything else.
type token struct {
	word       string
	start, end int32
	line, pos  int32 // of the start: from 1, and from 0 in characters
	mate       int32 // of "(": the index of its ")", 0 without
	kind       tokenKind
}

// lexer cuts text into tokens.
type lexer struct {
	text string
	at   int
	toks []token
	open []int32 // indexes of "(" that wait for their ")"

	line      int32
	lineStart int // where the current line begins
	wide      int // bytes of the current line beyond one for each character

	unclosedComment bool
}

// lex cuts text; the last token is tokEnd.
func lex(text string) *lexer {
	l := &lexer{text: text, line: 1, toks: make([]token, 0, len(text)/4+2)}
	for {
		l.blank()
		if l.at >= len(l.text) {
			break
		}
		l.next()
	}
	l.push(tokEnd, "", l.at)
	return l
}

// push adds the token from the current place to end and goes there.
func (l *lexer) push(kind tokenKind, word string, end int) {
	t := token{kind: kind, word: word, start: int32(l.at), end: int32(end), line: l.line,
		pos: int32(l.at - l.lineStart - l.wide)}
	if kind == tokSymbol {
		switch word {
		case "(":
			l.open = append(l.open, int32(len(l.toks)))
		case ")":
			if n := len(l.open); n > 0 {
				l.toks[l.open[n-1]].mate = int32(len(l.toks))
				l.open = l.open[:n-1]
			}
		}
	}
	l.toks = append(l.toks, t)
	l.skipTo(end)
}

// skipTo moves on, keeping count of lines and characters.
func (l *lexer) skipTo(end int) {
	for ; l.at < end; l.at++ {
		c := l.text[l.at]
		if c == '\n' {
			l.line++
			l.lineStart = l.at + 1
			l.wide = 0
		} else if c >= utf8.RuneSelf && !utf8.RuneStart(c) {
			l.wide++
		}
	}
}

// blank skips white space and comments. A hint is no comment.
func (l *lexer) blank() {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch c := rest[0]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			l.skipTo(l.at + 1)
		case c == '-' && strings.HasPrefix(rest, "--"):
			l.skipTo(l.at + lineComment(rest))
		case c == '/' && strings.HasPrefix(rest, "/*") && !strings.HasPrefix(rest, "/*+"):
			n, closed := blockComment(rest)
			l.unclosedComment = l.unclosedComment || !closed
			l.skipTo(l.at + n)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(rest)
			if !wideBlank(r) {
				return
			}
			l.skipTo(l.at + n)
		default:
			return
		}
	}
}

func wideBlank(r rune) bool {
	switch {
	case r == 0xA0 || r == 0x1680 || r >= 0x2000 && r <= 0x200A:
		return true
	default:
		return r == 0x2028 || r == 0x202F || r == 0x205F || r == 0x3000
	}
}

// lineComment is the length of a comment to the end of the line; a backslash
// there continues it.
func lineComment(s string) int {
	for i := 2; i < len(s); i++ {
		if s[i] == '\r' || s[i] == '\n' && s[i-1] != '\\' {
			return i
		}
	}
	return len(s)
}

// blockComment is the length of a comment that may hold others.
func blockComment(s string) (n int, closed bool) {
	depth := 1
	for i := 2; i+1 < len(s); {
		switch {
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i, true
			}
		case s[i] == '/' && s[i+1] == '*':
			depth++
			i += 2
		default:
			i++
		}
	}
	return len(s), false
}

// next adds the token at the current place.
func (l *lexer) next() {
	rest := l.text[l.at:]
	c := rest[0]
	switch {
	case c >= '0' && c <= '9', c == '.' && len(rest) > 1 && digit(rest[1]):
		if kind, n := number(rest); n > 0 {
			l.push(kind, "", l.at+n)
			return
		}
	case c == '\'' || c == '"':
		if n := quotedText(rest); n > 0 {
			l.push(tokString, "", l.at+n)
			return
		}
	case (c == 'r' || c == 'R') && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"'):
		if n := strings.IndexByte(rest[2:], rest[1]); n >= 0 {
			l.push(tokString, "", l.at+n+3)
			return
		}
	case c == '`':
		if n := quotedName(rest); n > 0 {
			l.push(tokQuoted, "", l.at+n)
			return
		}
	}
	if n := wordLength(rest); n > 0 {
		l.push(tokWord, keyword(rest[:n]), l.at+n)
		return
	}
	if word, n := symbol(rest); n > 0 {
		l.push(tokSymbol, word, l.at+n)
		return
	}
	_, n := utf8.DecodeRuneInString(rest)
	l.push(tokBad, "", l.at+n)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// wordLength is the length of the letters, digits and underscores that s
// begins with. Letters followed by :// make a path, a name only in errors.
func wordLength(s string) int {
	i, letters := 0, true
	for i < len(s) {
		c := s[i]
		switch {
		case letter(c):
			i++
		case digit(c) || c == '_':
			letters = false
			i++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !unicode.IsLetter(r) {
				return pathLength(s, i, letters)
			}
			i += n
		default:
			return pathLength(s, i, letters)
		}
	}
	return i
}

func pathLength(s string, i int, letters bool) int {
	if i == 0 || !letters || !strings.HasPrefix(s[i:], "://") {
		return i
	}
	j := i + 3
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if !unicode.IsLetter(r) && !strings.ContainsRune("0123456789_/-.?=&#%", r) {
			break
		}
		j += n
	}
	if j == i+3 {
		return i
	}
	return j
}

// quotedText is the length of '…' or "…", where a backslash takes the next
// character along and a doubled quote stands for one; 0 when it has no end.
func quotedText(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == s[0]:
			if i+1 == len(s) || s[i+1] != s[0] {
				return i + 1
			}
			i++
		}
	}
	return 0
}

func quotedName(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		if i+1 == len(s) || s[i+1] != '`' {
			return i + 1
		}
		i++
	}
	return 0
}

// number is the kind and length of the number that s begins with, 0 when it is
// a word (1x) or no number (a point alone).
func number(s string) (tokenKind, int) {
	whole := digits(s, 0)
	i, kind := whole, tokInteger
	if i < len(s) && s[i] == '.' {
		i = digits(s, i+1)
		kind = tokDecimal
	}
	if n := exponent(s, i); n > 0 {
		i += n
		kind = tokExponent
	}
	if k, n := suffix(s[i:], kind); n > 0 && wordLength(s[i:]) == n {
		return k, i + n
	}
	if i == len(s) || !letter(s[i]) && !digit(s[i]) && s[i] != '_' {
		if kind == tokInteger && wordLength(s[i:]) > 0 {
			return tokWord, 0
		}
		return kind, i
	}
	if whole > 0 && i > whole && s[whole] == '.' {
		return tokInteger, whole // 1.x: a number, a point, a word
	}
	return tokWord, 0
}

func digits(s string, i int) int {
	for i < len(s) && digit(s[i]) {
		i++
	}
	return i
}

func exponent(s string, i int) int {
	j := i
	if j == len(s) || s[j] != 'e' && s[j] != 'E' {
		return 0
	}
	j++
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	end := digits(s, j)
	if end == j {
		return 0
	}
	return end - i
}

// suffix is the type that letters behind a number give it.
func suffix(s string, kind tokenKind) (tokenKind, int) {
	if s == "" {
		return kind, 0
	}
	switch s[0] | 0x20 {
	case 'f':
		return tokFloat, 1
	case 'd':
		return tokDouble, 1
	case 'b':
		if len(s) > 1 && s[1]|0x20 == 'd' {
			return tokBig, 2
		}
	case 'l':
		return tokLong, whole(kind)
	case 's':
		return tokShort, whole(kind)
	case 'y':
		return tokByte, whole(kind)
	}
	return kind, 0
}

// whole is the length of a suffix that only digits take.
func whole(kind tokenKind) int {
	if kind == tokInteger {
		return 1
	}
	return 0
}

// symbol is the canonical form and length of the symbol that s begins with.
func symbol(s string) (string, int) {
	if len(s) > 1 && strings.IndexByte(longSymbolHeads, s[0]) >= 0 {
		for _, long := range longSymbols {
			if strings.HasPrefix(s, long.text) {
				return long.word, len(long.text)
			}
		}
	}
	if i := strings.IndexByte(shortSymbols, s[0]); i >= 0 {
		return shortSymbols[i : i+1], 1
	}
	return "", 0
}

const (
	shortSymbols    = ";(),.[]!=<>+-*/%~&|^:?"
	longSymbolHeads = "<=!>|:-/*"
)

// longSymbols are those of several characters, longest first. Two of > are not
// among them: they may close two types.
var longSymbols = [...]struct{ text, word string }{
	{"<=>", "<=>"}, {"/*+", "/*+"},
	{"==", "="}, {"<>", "<>"}, {"!=", "!="}, {"<=", "<="}, {"!>", "<="}, {">=", ">="}, {"!<", ">="},
	{"<<", "<<"}, {"||", "||"}, {"|>", "|>"}, {"::", "::"}, {"->", "->"}, {"=>", "=>"}, {"*/", "*/"},
}
