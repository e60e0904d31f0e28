package alert

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

// condition is what a rule asks of the facts.
type condition interface {
	holds(f *facts) truth
}

type (
	allOf   []condition
	anyOf   []condition
	notThat struct{ of condition }
	// number compares a number with another, or with a signal of the same kind.
	number struct {
		of    *signal
		op    string
		with  float64
		other *signal
	}
	// word compares a text with a pattern in which * stands for anything.
	word struct {
		of      *signal
		pattern string
		differs bool
	}
)

func (c allOf) holds(f *facts) truth {
	out := yes
	for _, one := range c {
		out = both(out, one.holds(f))
	}
	return out
}

func (c anyOf) holds(f *facts) truth {
	out := no
	for _, one := range c {
		out = either(out, one.holds(f))
	}
	return out
}

func (c notThat) holds(f *facts) truth { return c.of.holds(f).not() }

func (c *number) holds(f *facts) truth {
	with := c.with
	if c.other != nil {
		with = c.other.number(f)
	}
	return compare(c.op, c.of.number(f), with)
}

func (c *word) holds(f *facts) truth {
	return truthOf(matches(c.pattern, c.of.text(f)) != c.differs)
}

// matches tells whether a text is that of a pattern, in which * is any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return len(text) >= len(last) && strings.HasSuffix(text, last)
}

// each visits the comparisons of numbers in a condition, in their order.
func each(c condition, visit func(*number)) {
	switch c := c.(type) {
	case allOf:
		for _, one := range c {
			each(one, visit)
		}
	case anyOf:
		for _, one := range c {
			each(one, visit)
		}
	case notThat:
		each(c.of, visit)
	case *number:
		visit(c)
	}
}

const (
	longestCondition = 2000 // bytes
	deepestCondition = 32   // parentheses and nots
)

// parseCondition reads comparisons that and, or, not and parentheses join:
// backlogMs > 2 min and name = orders*.
func parseCondition(text string) (condition, error) {
	if len(text) > longestCondition {
		return nil, fmt.Errorf("it is longer than %d bytes", longestCondition)
	}
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &reader{tokens: tokens}
	c, err := p.any(0)
	if err != nil {
		return nil, err
	}
	if t := p.next(); t.kind != endOf {
		return nil, t.wrong("and, or, or the end")
	}
	return c, nil
}

type tokenKind uint8

const (
	endOf tokenKind = iota
	nameOrWord
	quoted
	digits
	sign
)

type token struct {
	kind   tokenKind
	text   string
	column int // in letters, from 1
}

func (t token) wrong(want string) error {
	if t.kind == endOf {
		return fmt.Errorf("column %d: it ends where there should be %s", t.column, want)
	}
	return fmt.Errorf("column %d: %q stands where there should be %s", t.column, t.text, want)
}

// is tells whether a token is a word of the language.
func (t token) is(word string) bool { return t.kind == nameOrWord && strings.EqualFold(t.text, word) }

// signs are the longest first.
var signs = []string{"<=", ">=", "!=", "<>", "==", "≤", "≥", "≠", "<", ">", "=", "(", ")", "%"}

func scan(text string) ([]token, error) {
	var out []token
	column := 1
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		n, k := size, sign
		switch {
		case r == utf8.RuneError && size < 2:
			return nil, fmt.Errorf("column %d: it is not UTF-8", column)
		case unicode.IsSpace(r):
			text, column = text[size:], column+1
			continue
		case r == '\'' || r == '"':
			end := strings.IndexRune(text[1:], r)
			if end < 0 {
				return nil, fmt.Errorf("column %d: the quotation mark is not closed", column)
			}
			out = append(out, token{quoted, text[1 : 1+end], column})
			column += utf8.RuneCountInString(text[:end+2])
			text = text[end+2:]
			continue
		case r >= '0' && r <= '9' || r == '-' || r == '.':
			k, n = digits, len(text)-len(strings.TrimLeft(text, "0123456789.-"))
		case unicode.IsLetter(r) || r == '_' || r == '*':
			k, n = nameOrWord, wordLength(text)
		default:
			n = 0
			for _, s := range signs {
				if strings.HasPrefix(text, s) {
					n = len(s)
					break
				}
			}
			if n == 0 {
				return nil, fmt.Errorf("column %d: %q means nothing here", column, r)
			}
		}
		out = append(out, token{k, text[:n], column})
		column += utf8.RuneCountInString(text[:n])
		text = text[n:]
	}
	return append(out, token{endOf, "", column}), nil
}

func wordLength(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_*-./:", r)
	})
	if end < 0 {
		return len(text)
	}
	return end
}

type reader struct {
	tokens []token
	at     int
}

func (p *reader) peek() token { return p.tokens[p.at] }

func (p *reader) next() token {
	t := p.tokens[p.at]
	if t.kind != endOf {
		p.at++
	}
	return t
}

func (p *reader) any(depth int) (condition, error) {
	first, err := p.all(depth)
	if err != nil || !p.peek().is("or") {
		return first, err
	}
	out := anyOf{first}
	for p.peek().is("or") {
		p.next()
		c, err := p.all(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (p *reader) all(depth int) (condition, error) {
	first, err := p.one(depth)
	if err != nil || !p.peek().is("and") {
		return first, err
	}
	out := allOf{first}
	for p.peek().is("and") {
		p.next()
		c, err := p.one(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (p *reader) one(depth int) (condition, error) {
	t := p.next()
	if depth > deepestCondition {
		return nil, fmt.Errorf("column %d: it is nested deeper than %d levels", t.column, deepestCondition)
	}
	switch {
	case t.is("not"):
		c, err := p.one(depth + 1)
		return notThat{c}, err
	case t.kind == sign && t.text == "(":
		c, err := p.any(depth + 1)
		if err != nil {
			return nil, err
		}
		if end := p.next(); end.text != ")" || end.kind != sign {
			return nil, end.wrong("a closing parenthesis")
		}
		return c, nil
	case t.kind != nameOrWord:
		return nil, t.wrong("a signal, such as backlogMs")
	}
	s, ok := signalNamed(t.text)
	if !ok {
		return nil, fmt.Errorf("column %d: there is no signal %s; the nearest is %s",
			t.column, t.text, plan.Nearest(t.text, signalNames()))
	}
	return p.comparison(s)
}

func signalNames() []string {
	var names []string
	for _, s := range signals {
		names = append(names, s.name)
	}
	return names
}

// same are signs that mean another.
var same = map[string]string{"==": "=", "≤": "<=", "≥": ">=", "≠": "!=", "<>": "!="}

func (p *reader) comparison(s *signal) (condition, error) {
	t := p.next()
	op := t.text
	if plain, ok := same[op]; ok {
		op = plain
	}
	if t.kind != sign || op == "(" || op == ")" || op == "%" {
		return nil, t.wrong("a comparison, such as > or =")
	}
	if s.kind == inWords {
		if op != "=" && op != "!=" {
			return nil, fmt.Errorf("column %d: %s is a text: compare it by = or !=", t.column, s.name)
		}
		return p.word(s, op == "!=")
	}
	t = p.next()
	if t.kind == nameOrWord {
		other, ok := signalNamed(t.text)
		switch {
		case !ok:
			return nil, fmt.Errorf("column %d: %s is compared with a number or a signal; the nearest to %s is %s",
				t.column, s.name, t.text, plan.Nearest(t.text, signalNames()))
		case other.kind != s.kind:
			return nil, fmt.Errorf("column %d: %s is a %s and %s a %s", t.column, s.name, s.kind, other.name,
				other.kind)
		}
		return &number{of: s, op: op, other: other}, nil
	}
	with, err := p.amount(t, s)
	return &number{of: s, op: op, with: with}, err
}

func (p *reader) word(s *signal, differs bool) (condition, error) {
	t := p.next()
	if t.kind != nameOrWord && t.kind != quoted && t.kind != digits {
		return nil, t.wrong("a text; one with blanks stands in quotation marks")
	}
	if s.name == "state" && !strings.Contains(t.text, "*") {
		var names []string
		for _, state := range states {
			if names = append(names, string(state)); string(state) == t.text {
				return &word{s, t.text, differs}, nil
			}
		}
		return nil, fmt.Errorf("column %d: there is no state %s; the nearest is %s",
			t.column, t.text, plan.Nearest(t.text, names))
	}
	return &word{s, t.text, differs}, nil
}

// units are those of each kind, in what its signals are measured in.
var units = map[kind]map[string]float64{
	inCount: {"": 1, "k": 1e3, "M": 1e6, "G": 1e9},
	inMs: {"": 1, "ms": 1, "s": 1e3, "sec": 1e3, "min": 60e3, "m": 60e3, "h": 3600e3, "hours": 3600e3,
		"d":    86400e3,
		"days": 86400e3},
	inBytes: {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20,
		"GiB": 1 << 30, "TiB": 1 << 40},
	inShare: {"": 1, "%": 0.01},
}

var unitHints = map[kind]string{
	inCount: "k, M or G", inMs: "ms, s, min, h or d", inBytes: "B, kB, MB, GB, KiB, MiB or GiB", inShare: "%",
}

// amount reads a number and its unit.
func (p *reader) amount(t token, s *signal) (float64, error) {
	if t.kind != digits {
		return 0, t.wrong("a number")
	}
	x, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		return 0, fmt.Errorf("column %d: %q is no number", t.column, t.text)
	}
	u := p.peek()
	unit := ""
	if u.kind == sign && u.text == "%" || u.kind == nameOrWord && !u.is("and") && !u.is("or") {
		unit = p.next().text
	}
	factor, ok := units[s.kind][unit]
	if !ok {
		return 0, fmt.Errorf("column %d: %s is a %s: its units are %s, not %s",
			u.column, s.name, s.kind, unitHints[s.kind], unit)
	}
	return x * factor, nil
}

// figure writes a number as pages do.
func figure(k kind, x float64) string {
	switch k {
	case inMs:
		return health.Span(x / 1000)
	case inBytes:
		return health.Figure(x) + "B"
	case inShare:
		return health.Percent(x)
	default:
		return health.Figure(x)
	}
}
