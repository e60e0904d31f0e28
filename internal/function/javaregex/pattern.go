package javaregex

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/weir-dev/weir/internal/plan"
)

// Pattern is a compiled Java pattern. Go's engine answers when it means the
// same for the subject at hand, else regexp2, which backtracks as Java does.
type Pattern struct {
	source        string
	groups        int
	names         map[string]int
	fast          *regexp.Regexp
	slow          func() (*regexp2.Regexp, error)
	endSensitive  bool
	wordSensitive bool
	mayBeEmpty    bool // a match may be an empty text
}

// matchTimeout bounds a backtracking match; Java has no bound and hangs.
const matchTimeout = 10 * time.Second

// ErrSyntax says that Java refuses a pattern.
var ErrSyntax = errors.New("no regular expression")

// Compile compiles. The error is ErrSyntax, or tells what is not supported.
func Compile(source string) (*Pattern, error) {
	t := &translation{in: source}
	if !t.translate() {
		if t.unsupported != "" {
			return nil, plan.Unsupported(t.unsupported + " in regular expressions")
		}
		return nil, ErrSyntax
	}
	out := t.out.String()
	p := &Pattern{source: source, groups: t.groups, names: t.names, endSensitive: t.endSensitive,
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
		text := strings.ReplaceAll(out, endMark, `\z`)
		tree, err := syntax.Parse(text, syntax.Perl)
		if err == nil {
			p.fast, err = regexp.Compile(text)
		}
		if err == nil {
			p.mayBeEmpty = mayBeEmpty(tree)
			return p, nil
		}
	}
	if _, err := p.slow(); err != nil {
		return nil, ErrSyntax
	}
	return p, nil
}

// mayBeEmpty reports whether a pattern can match without reading a character.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !mayBeEmpty(s) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	default:
		return true
	}
}

// usesFast reports whether Go's engine finds in s what Java finds.
func (p *Pattern) usesFast(s string) bool {
	if p.fast == nil || p.wordSensitive && !isASCII(s) {
		return false
	}
	return !p.endSensitive || !endsLine(s)
}

func endsLine(s string) bool {
	return strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r") || strings.HasSuffix(s, "\u0085") ||
		strings.HasSuffix(s, "\u2028") || strings.HasSuffix(s, "\u2029")
}

// Match reports whether the pattern occurs in s.
func (p *Pattern) Match(s string) (bool, error) {
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

func (p *Pattern) explained(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("match the pattern %q: %w", p.source, err)
}

// each calls yield with the bounds of every match from byte start on: pairs of
// offsets for the match and for each group, -1 where a group took no part.
func (p *Pattern) each(s string, start int, yield func(at []int) bool) error {
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

// All is each with the empty matches that Java, and regexp2, report right
// behind another match; Go does not.
func (p *Pattern) All(s string, start int, yield func(at []int) bool) error {
	if p.mayBeEmpty || !p.usesFast(s) {
		return p.eachSlow(s, start, yield)
	}
	return p.each(s, start, yield)
}

func (p *Pattern) eachSlow(s string, start int, yield func(at []int) bool) error {
	slow := *p
	slow.fast = nil
	return slow.each(s, start, yield)
}

// First is the bounds of the first match, as All gives them; nil when there is
// none.
func (p *Pattern) First(s string) (at []int, err error) {
	if p.usesFast(s) {
		return p.fast.FindStringSubmatchIndex(s), nil
	}
	err = p.each(s, 0, func(found []int) bool {
		at = found
		return false
	})
	return at, err
}

// Groups is the number of capturing groups.
func (p *Pattern) Groups() int { return p.groups }

// Source is the pattern as it was written.
func (p *Pattern) Source() string { return p.source }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// AppendReplacement writes a replacement in Java's syntax: $1, ${name}, and a
// backslash before a character that stands for itself.
func (p *Pattern) AppendReplacement(dst []byte, s, with string, at []int) ([]byte, bool) {
	for i := 0; i < len(with); i++ {
		switch with[i] {
		case '\\':
			i++
			if i == len(with) {
				return dst, false
			}
			dst = append(dst, with[i])
		case '$':
			g, n := p.groupNamed(with[i+1:])
			if g < 0 || g > p.groups {
				return dst, false
			}
			i += n
			if at[2*g] >= 0 {
				dst = append(dst, s[at[2*g]:at[2*g+1]]...)
			}
		default:
			dst = append(dst, with[i])
		}
	}
	return dst, true
}

// groupNamed reads what follows a dollar: digits as far as there are so many
// groups, or a name in braces. n is the number of bytes read.
func (p *Pattern) groupNamed(s string) (g, n int) {
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		if end < 0 || p.names[s[1:end]] == 0 {
			return -1, 0
		}
		return p.names[s[1:end]], end + 1
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return -1, 0
	}
	g, n = int(s[0]-'0'), 1
	for n < len(s) && s[n] >= '0' && s[n] <= '9' && g*10+int(s[n]-'0') <= p.groups {
		g = g*10 + int(s[n]-'0')
		n++
	}
	return g, n
}
