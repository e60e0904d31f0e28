package javaregex

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape reads what begins with a backslash, outside of classes.
func (t *translation) escape() (quantifiable, ok bool) {
	t.i++
	if t.i == len(t.in) {
		return false, false
	}
	c := t.in[t.i]
	if set, known := shorthand(c); known {
		t.i++
		set.write(&t.out)
		return true, true
	}
	switch c {
	case 'b', 'B':
		t.wordSensitive = true
		t.i++
		t.out.WriteString(`\` + string(c))
		return true, true
	case 'A', 'z':
		t.i++
		t.out.WriteString(`\` + string(c))
		return true, true
	case 'G':
		t.i++
		t.backtracks = true
		t.out.WriteString(`\G`)
		return true, true
	case 'Z':
		t.i++
		t.endSensitive = true
		t.out.WriteString(endMark)
		return true, true
	case 'R':
		t.i++
		t.backtracks = true
		t.out.WriteString("(?>\r\n|" + anyTerminator[:len(anyTerminator)-1] + "\v\f])")
		return true, true
	case 'Q':
		t.quote()
		return true, true
	case 'X', 'N':
		t.unsupported = `\` + string(c)
		return false, false
	case 'k':
		return t.namedReference()
	case 'p', 'P':
		set, ok := t.property()
		set.write(&t.out)
		return true, ok
	}
	if c >= '1' && c <= '9' {
		return t.reference()
	}
	r, ok := t.escaped()
	t.literal(r)
	return true, ok
}

// quote reads \Q … \E.
func (t *translation) quote() {
	rest := t.in[t.i+1:]
	text, _, closed := strings.Cut(rest, `\E`)
	for _, r := range text {
		t.literal(r)
	}
	t.i += 1 + len(text)
	if closed {
		t.i += len(`\E`)
	}
}

// reference reads \1; as many digits count as still name a group.
func (t *translation) reference() (quantifiable, ok bool) {
	n := int(t.in[t.i] - '0')
	t.i++
	for t.i < len(t.in) && t.in[t.i] >= '0' && t.in[t.i] <= '9' {
		next := n*10 + int(t.in[t.i]-'0')
		if next > t.groups {
			break
		}
		n = next
		t.i++
	}
	t.backtracks = true
	if n > t.groups {
		t.out.WriteString("(?!)") // a group that does not exist never matched
		return true, true
	}
	t.out.WriteString(`\k<` + strconv.Itoa(n) + ">")
	return true, true
}

func (t *translation) namedReference() (quantifiable, ok bool) {
	name, found := strings.CutPrefix(t.in[t.i:], "k<")
	end := strings.IndexByte(name, '>')
	if !found || end < 0 || t.names[name[:end]] == 0 {
		return false, false
	}
	t.backtracks = true
	t.i += len("k<") + end + 1
	t.out.WriteString(`\k<` + strconv.Itoa(t.names[name[:end]]) + ">")
	return true, true
}

// property reads p{Name}, P{Name} or pL.
func (t *translation) property() (runeSet, bool) {
	negated := t.in[t.i] == 'P'
	t.i++
	if t.i == len(t.in) {
		return nil, false
	}
	name := t.in[t.i : t.i+1]
	if name == "{" {
		end := strings.IndexByte(t.in[t.i:], '}')
		if end < 0 {
			return nil, false
		}
		name = t.in[t.i+1 : t.i+end]
		t.i += end
	}
	t.i++
	set, ok := property(name)
	if t.fold && (name == "Lower" || name == "Upper" || name == "Lu" || name == "Ll") {
		set = set.folded()
	}
	if negated {
		set = set.not()
	}
	return set, ok
}

var plainEscapes = map[byte]rune{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f', 'a': '\a', 'e': 0x1b}

// escaped reads the escape of one character.
func (t *translation) escaped() (rune, bool) {
	c := t.in[t.i]
	if r, ok := plainEscapes[c]; ok {
		t.i++
		return r, true
	}
	switch {
	case c == '0':
		return t.octal()
	case c == 'x' && t.i+1 < len(t.in) && t.in[t.i+1] == '{':
		end := strings.IndexByte(t.in[t.i:], '}')
		if end < 0 {
			return 0, false
		}
		v, err := strconv.ParseUint(t.in[t.i+2:t.i+end], 16, 32)
		t.i += end + 1
		return rune(v), err == nil && v <= utf8.MaxRune
	case c == 'x':
		return t.hex(2)
	case c == 'u':
		return t.hex(4)
	case c == 'c' && t.i+1 < len(t.in):
		t.i += 2
		return rune(t.in[t.i-1]) ^ 64, true
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return 0, false
	}
	r, n := utf8.DecodeRuneInString(t.in[t.i:])
	t.i += n
	return r, true
}

func (t *translation) hex(digits int) (rune, bool) {
	t.i++
	if t.i+digits > len(t.in) {
		return 0, false
	}
	v, err := strconv.ParseUint(t.in[t.i:t.i+digits], 16, 32)
	t.i += digits
	return rune(v), err == nil
}

// octal reads 0n, 0nn or 0mnn with m up to 3.
func (t *translation) octal() (rune, bool) {
	t.i++
	v, n := rune(0), 0
	for t.i < len(t.in) && n < 3 && t.in[t.i] >= '0' && t.in[t.i] <= '7' {
		if next := v*8 + rune(t.in[t.i]-'0'); next > 0o377 {
			break
		} else {
			v = next
		}
		t.i++
		n++
	}
	return v, n > 0
}

// class reads [ … ] with its nested classes, ranges and && .
func (t *translation) class(depth int) (runeSet, bool) {
	if depth > maxGroupDepth {
		return nil, false
	}
	t.i++
	negated := t.i < len(t.in) && t.in[t.i] == '^'
	if negated {
		t.i++
	}
	var set, sofar runeSet
	intersected, first, empty := false, true, true
	for t.i < len(t.in) {
		switch {
		case t.in[t.i] == ']' && !(first && !intersected):
			t.i++
			if intersected && empty {
				set = sofar
			} else if intersected {
				set = sofar.intersect(set)
			}
			if t.fold {
				set = set.folded()
			}
			if negated {
				set = set.not()
			}
			return set, true
		case strings.HasPrefix(t.in[t.i:], "&&"):
			t.i += 2
			if empty {
				continue // nothing to intersect with
			}
			if intersected {
				set = sofar.intersect(set)
			}
			sofar, set, intersected, empty = set, nil, true, true
			continue
		}
		item, ok := t.classItem(depth)
		if !ok {
			return nil, false
		}
		set = set.union(item)
		first, empty = false, false
	}
	return nil, false
}

// classItem reads a nested class, a set, a range or one character.
func (t *translation) classItem(depth int) (runeSet, bool) {
	if t.in[t.i] == '[' {
		return t.class(depth + 1)
	}
	if t.in[t.i] == '\\' && t.i+1 < len(t.in) {
		c := t.in[t.i+1]
		if set, ok := shorthand(c); ok {
			t.i += 2
			return set, true
		}
		if c == 'p' || c == 'P' {
			t.i++
			return t.property()
		}
		if c == 'Q' {
			t.i++
			return t.quotedSet(), true
		}
	}
	lo, ok := t.classRune()
	if !ok {
		return nil, false
	}
	hi := lo
	if rest := t.in[t.i:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[' {
		t.i++
		if hi, ok = t.classRune(); !ok || hi < lo {
			return nil, false
		}
	}
	return runeSet{lo, hi}, true
}

func (t *translation) quotedSet() runeSet {
	text, _, closed := strings.Cut(t.in[t.i+1:], `\E`)
	t.i += 1 + len(text)
	if closed {
		t.i += len(`\E`)
	}
	var set runeSet
	for _, r := range text {
		set = set.with(r, r)
	}
	return set
}

func (t *translation) classRune() (rune, bool) {
	if t.in[t.i] == '\\' {
		t.i++
		if t.i == len(t.in) {
			return 0, false
		}
		return t.escaped()
	}
	r, n := utf8.DecodeRuneInString(t.in[t.i:])
	t.i += n
	return r, true
}
