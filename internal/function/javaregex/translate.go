package javaregex

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// translation turns a Java pattern into one that means the same to Go's engine
// and to regexp2, or to the latter only.
type translation struct {
	in  string
	i   int
	out strings.Builder

	fold, dotAll, multiline, comments, unicodeCase bool // flags in force

	groups int            // capturing groups so far
	names  map[string]int // of named groups
	// What only regexp2 can do: look-around, back references, atomic groups.
	backtracks bool
	// endSensitive patterns hold $ or \Z, wordSensitive ones \b or \B: Go's
	// engine answers as Java does for some subjects only.
	endSensitive, wordSensitive bool
	// unsupported is what the pattern holds that Java knows and this package not.
	unsupported string
}

// translate reads a whole pattern; ok false says that Java would refuse it.
func (t *translation) translate() bool {
	t.names = map[string]int{}
	return t.alternatives(0) && t.i == len(t.in)
}

const maxGroupDepth = 200

// alternatives reads up to a closing parenthesis or the end.
func (t *translation) alternatives(depth int) bool {
	if depth > maxGroupDepth {
		return false
	}
	for t.i < len(t.in) && t.in[t.i] != ')' {
		if t.in[t.i] == '|' {
			t.out.WriteByte('|')
			t.i++
			continue
		}
		if t.comments && t.skipComment() {
			continue
		}
		if !t.piece(depth) {
			return false
		}
	}
	return true
}

func (t *translation) skipComment() bool {
	switch c := t.in[t.i]; {
	case c == ' ' || c >= '\t' && c <= '\r':
		t.i++
	case c == '#':
		for t.i < len(t.in) && t.in[t.i] != '\n' {
			t.i++
		}
	default:
		return false
	}
	return true
}

// piece reads an atom and its quantifier.
func (t *translation) piece(depth int) bool {
	start := t.out.Len()
	quantifiable, ok := t.atom(depth)
	if !ok {
		return false
	}
	if !quantifiable {
		return true // flags; what follows them repeats nothing
	}
	for t.comments && t.i < len(t.in) && t.skipComment() {
		continue
	}
	return t.quantifier(start)
}

// quantifier reads *, +, ?, {n,m} with ? or + behind them.
func (t *translation) quantifier(start int) bool {
	if t.i == len(t.in) {
		return true
	}
	from := t.i
	switch t.in[t.i] {
	case '*', '+', '?':
		t.i++
	case '{':
		if !t.counts() {
			return false
		}
	default:
		return true
	}
	t.out.WriteString(t.in[from:t.i])
	if t.i < len(t.in) && t.in[t.i] == '?' {
		t.out.WriteByte('?')
		t.i++
	} else if t.i < len(t.in) && t.in[t.i] == '+' {
		// a++ gives nothing back: an atomic group.
		t.i++
		text := t.out.String()
		t.out.Reset()
		t.out.WriteString(text[:start] + "(?>" + text[start:] + ")")
		t.backtracks = true
	}
	return t.i == len(t.in) || !strings.ContainsRune("*+?", rune(t.in[t.i]))
}

// goRepeats is the largest count that Go's engine takes.
const goRepeats = 1000

// counts reads {n}, {n,} or {n,m}.
func (t *translation) counts() bool {
	end := strings.IndexByte(t.in[t.i:], '}')
	if end < 0 {
		return false
	}
	low, high, ranged := strings.Cut(t.in[t.i+1:t.i+end], ",")
	n, err := strconv.Atoi(low)
	if err != nil || n < 0 || low[0] == '+' {
		return false
	}
	m := n
	if ranged && high != "" {
		if m, err = strconv.Atoi(high); err != nil || m < n || high[0] == '+' {
			return false
		}
	}
	t.backtracks = t.backtracks || m > goRepeats
	t.i += end + 1
	return true
}

// atom reads one thing that a quantifier may follow.
func (t *translation) atom(depth int) (quantifiable, ok bool) {
	switch c := t.in[t.i]; c {
	case '(':
		return t.group(depth)
	case '[':
		set, ok := t.class(0)
		set.write(&t.out)
		return true, ok
	case '\\':
		return t.escape()
	case '.':
		t.i++
		t.dot()
		return true, true
	case '^':
		t.i++
		t.caret()
		return true, true
	case '$':
		t.i++
		t.dollar()
		return true, true
	case '*', '+', '?':
		return false, false
	case '{':
		t.out.WriteString("(?:)") // Java repeats the nothing before it
		return true, true
	default:
		r, n := utf8.DecodeRuneInString(t.in[t.i:])
		t.i += n
		t.literal(r)
		return true, true
	}
}

func (t *translation) dot() {
	if t.dotAll {
		t.out.WriteString("(?s:.)")
		return
	}
	terminators.not().write(&t.out)
}

const anyTerminator = "[\n\r\u0085\u2028\u2029]"

func (t *translation) caret() {
	if !t.multiline {
		t.out.WriteString(`\A`)
		return
	}
	t.backtracks = true
	t.out.WriteString(`(?:(?:\A|(?<=` + anyTerminator + `)(?<!\r(?=\n)))(?!\z))`)
}

func (t *translation) dollar() {
	if t.multiline {
		t.backtracks = true
		t.out.WriteString(`(?:(?<!\r(?=\n))(?=` + anyTerminator + `|\z))`)
		return
	}
	t.endSensitive = true
	t.out.WriteString(endMark)
}

// endMark stands for $ and \Z until it is known which engine compiles: a
// private character that no pattern of sense holds.
const endMark = "\U000F57E1"

// literal writes a character that stands for itself.
func (t *translation) literal(r rune) {
	other := r
	switch {
	case !t.fold:
	case r >= 'a' && r <= 'z':
		other = r - 'a' + 'A'
	case r >= 'A' && r <= 'Z':
		other = r - 'A' + 'a'
	}
	switch {
	case t.fold && t.unicodeCase:
		t.out.WriteString("(?i:" + quoteMeta(r) + ")")
	case other != r:
		t.out.WriteString("[" + string(r) + string(other) + "]")
	default:
		t.out.WriteString(quoteMeta(r))
	}
}

func quoteMeta(r rune) string {
	if strings.ContainsRune(`\.+*?()|[]{}^$#`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// group reads ( … ) of any kind.
func (t *translation) group(depth int) (quantifiable, ok bool) {
	saved := *t
	t.i++
	rest := t.in[t.i:]
	switch {
	case !strings.HasPrefix(rest, "?"):
		t.groups++
		t.out.WriteByte('(')
	case strings.HasPrefix(rest, "?:"):
		t.i += 2
		t.out.WriteString("(?:")
	case strings.HasPrefix(rest, "?=") || strings.HasPrefix(rest, "?!") || strings.HasPrefix(rest, "?>"):
		t.i += 2
		t.backtracks = true
		t.out.WriteString("(" + rest[:2])
	case strings.HasPrefix(rest, "?<=") || strings.HasPrefix(rest, "?<!"):
		t.i += 3
		t.backtracks = true
		t.out.WriteString("(" + rest[:3])
	case strings.HasPrefix(rest, "?<"):
		if !t.named(rest) {
			return false, false
		}
	default:
		if done, ok := t.flags(rest); done || !ok {
			return false, ok
		}
	}
	if !t.alternatives(depth+1) || t.i == len(t.in) {
		return false, false
	}
	t.i++
	t.out.WriteByte(')')
	t.fold, t.dotAll, t.multiline = saved.fold, saved.dotAll, saved.multiline
	t.comments, t.unicodeCase = saved.comments, saved.unicodeCase
	return true, true
}

func (t *translation) named(rest string) bool {
	end := strings.IndexByte(rest, '>')
	if end < 3 {
		return false
	}
	name := rest[2:end]
	for i := range len(name) {
		c := name[i] | 0x20
		if !(c >= 'a' && c <= 'z' || i > 0 && name[i] >= '0' && name[i] <= '9') {
			return false
		}
	}
	if _, twice := t.names[name]; twice {
		return false
	}
	t.groups++
	t.names[name] = t.groups
	t.i += end + 1
	t.out.WriteByte('(')
	return true
}

// flags reads (?i), which is done at once, or (?i: … .
func (t *translation) flags(rest string) (done, ok bool) {
	on := true
	for k := 1; k < len(rest); k++ {
		switch rest[k] {
		case 'i':
			t.fold = on
		case 's':
			t.dotAll = on
		case 'm':
			t.multiline = on
		case 'x':
			t.comments = on
		case 'u':
			t.unicodeCase = on
		case '-':
			on = false
		case ')':
			t.i += k + 1
			return true, true
		case ':':
			t.i += k + 1
			t.out.WriteString("(?:")
			return false, true
		default:
			return false, false
		}
	}
	return false, false
}
