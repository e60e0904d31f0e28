package function

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// pattern is a compiled Java pattern. Go's engine answers when it means the
// same for the subject at hand, else regexp2, which backtracks as Java does.
type pattern struct {
	source        string
	groups        int
	names         map[string]int
	fast          *regexp.Regexp
	slow          func() (*regexp2.Regexp, error)
	endSensitive  bool
	wordSensitive bool
}

// matchTimeout bounds a backtracking match; Java has no bound and hangs.
const matchTimeout = 10 * time.Second

// compilePattern compiles, or says that Java would not.
func compilePattern(source string) (*pattern, bool) {
	t := &translation{in: source}
	if !t.translate() {
		return nil, false
	}
	out := t.out.String()
	p := &pattern{source: source, groups: t.groups, names: t.names, endSensitive: t.endSensitive,
		wordSensitive: t.wordSensitive}
	p.slow = sync.OnceValues(func() (*regexp2.Regexp, error) {
		text := strings.ReplaceAll(out, endMark, `(?:(?<!\r(?=\n))(?=(?:\r\n|`+anyTerminator+`)?\z))`)
		re, err := regexp2.Compile(text)
		if err == nil {
			re.MatchTimeout = matchTimeout
		}
		return re, err
	})
	if !t.backtracks {
		fast, err := regexp.Compile(strings.ReplaceAll(out, endMark, `\z`))
		if err == nil {
			p.fast = fast
			return p, true
		}
	}
	_, err := p.slow()
	return p, err == nil
}

// usesFast reports whether Go's engine finds in s what Java finds.
func (p *pattern) usesFast(s string) bool {
	if p.fast == nil || p.wordSensitive && !isASCII([]byte(s)) {
		return false
	}
	return !p.endSensitive || !endsLine(s)
}

func endsLine(s string) bool {
	return strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r") || strings.HasSuffix(s, "\u0085") ||
		strings.HasSuffix(s, "\u2028") || strings.HasSuffix(s, "\u2029")
}

// matches reports whether the pattern occurs in s.
func (p *pattern) matches(s string) (bool, error) {
	if p.usesFast(s) {
		return p.fast.MatchString(s), nil
	}
	re, err := p.slow()
	if err != nil {
		return false, err
	}
	ok, err := re.MatchString(s)
	return ok, p.explained(err)
}

func (p *pattern) explained(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("match the pattern %q: %w", p.source, err)
}

// each calls yield with the bounds of every match from byte start on: pairs of
// offsets for the match and for each group, -1 where a group took no part.
func (p *pattern) each(s string, start int, yield func(at []int) bool) error {
	if p.usesFast(s) && start == 0 {
		for _, at := range p.fast.FindAllStringSubmatchIndex(s, -1) {
			if !yield(at) {
				return nil
			}
		}
		return nil
	}
	re, err := p.slow()
	if err != nil {
		return err
	}
	at := make([]int, 2*(p.groups+1))
	m, err := re.FindStringMatchStartingAt(s, start)
	for m != nil && err == nil {
		for g := range p.groups + 1 {
			at[2*g], at[2*g+1] = -1, -1
			if group := m.GroupByNumber(g); len(group.Captures) > 0 {
				from, n := group.ByteRange()
				at[2*g], at[2*g+1] = from, from+n
			}
		}
		if !yield(at) {
			return nil
		}
		m, err = re.FindNextMatch(m)
	}
	return p.explained(err)
}

// allMatches is each with the empty matches that Java, and regexp2, report right
// behind another match; Go does not.
func (p *pattern) allMatches(s string, start int, yield func(at []int) bool) error {
	if p.fast == nil || !p.usesFast(s) || p.fast.MatchString("") {
		return p.eachSlow(s, start, yield)
	}
	return p.each(s, start, yield)
}

func (p *pattern) eachSlow(s string, start int, yield func(at []int) bool) error {
	slow := *p
	slow.fast = nil
	return slow.each(s, start, yield)
}

// patterns finds the compiled pattern of a row. A constant one is compiled once
// for all; others are remembered while a chunk is computed.
type patterns struct {
	function string
	constant func() (*pattern, bool)
	seen     map[string]*pattern
}

// patternsOf is the maker of patterns for argument arg of a call.
func patternsOf(c *plan.Call, arg int, function string) func() *patterns {
	var once func() (*pattern, bool)
	if s, ok := constantText(c.Args[arg]); ok {
		once = sync.OnceValues(func() (*pattern, bool) { return compilePattern(s) })
	}
	return func() *patterns { return &patterns{function: function, constant: once} }
}

func (ps *patterns) at(v *chunk.Vector, i int) (*pattern, error) {
	if ps.constant != nil {
		p, ok := ps.constant()
		return p, ps.unless(ok, v.Text(i))
	}
	s := v.Text(i)
	if p, ok := ps.seen[s]; ok {
		return p, nil
	}
	p, ok := compilePattern(strings.Clone(s))
	if !ok {
		return nil, ps.unless(false, s)
	}
	if ps.seen == nil {
		ps.seen = map[string]*pattern{}
	}
	ps.seen[p.source] = p
	return p, nil
}

func (ps *patterns) unless(ok bool, source string) error {
	if ok {
		return nil
	}
	return runtimeError("INVALID_PARAMETER_VALUE.PATTERN", sqlString(source)+" is no regular expression.",
		"functionName", plan.Quote(ps.function), "parameter", "`regexp`", "value", sqlString(source))
}
