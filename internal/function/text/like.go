package text

import (
	"bytes"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// likePattern is a compiled LIKE pattern: literal texts, _ and %.
type likePattern struct {
	parts []likePart
}

// likePart matches text, one character, or any number of them.
type likePart struct {
	text []byte
	kind likeKind
}

type likeKind uint8

const (
	likeText likeKind = iota
	likeOne
	likeAny
)

// compileLike compiles a pattern with an escape character.
func compileLike(pattern, escape string) (*likePattern, error) {
	esc, _ := utf8.DecodeRuneInString(escape)
	p := &likePattern{}
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			p.parts = append(p.parts, likePart{text: literal})
			literal = nil
		}
	}
	escaped := false
	for i, r := range pattern {
		_, n := utf8.DecodeRuneInString(pattern[i:])
		switch {
		case escaped:
			if r != '_' && r != '%' && r != esc {
				return nil, badEscape("ESC_IN_THE_MIDDLE", pattern, "char", fn.SqlString(string(r)))
			}
			literal = append(literal, pattern[i:i+n]...)
			escaped = false
		case r == esc:
			escaped = true
		case r == '_':
			flush()
			p.parts = append(p.parts, likePart{kind: likeOne})
		case r == '%':
			flush()
			if k := len(p.parts); k == 0 || p.parts[k-1].kind != likeAny {
				p.parts = append(p.parts, likePart{kind: likeAny})
			}
		default:
			literal = append(literal, pattern[i:i+n]...)
		}
	}
	if escaped {
		return nil, badEscape("ESC_AT_THE_END", pattern)
	}
	flush()
	return p, nil
}

func badEscape(kind, pattern string, args ...string) error {
	args = append(args, "format", fn.SqlString(pattern))
	return plan.AnalysisError("INVALID_FORMAT."+kind,
		"in "+fn.SqlString(pattern)+" an escape stands before nothing that needs one.", args...)
}

// matches is a greedy match that goes back to the last % only, which is enough.
func (p *likePattern) matches(s []byte) bool {
	part, at := 0, 0
	star, starAt := -1, 0
	for {
		switch {
		case part == len(p.parts) && at == len(s):
			return true
		case part < len(p.parts) && p.parts[part].kind == likeAny:
			star, starAt = part, at
			part++
			if part == len(p.parts) {
				return true
			}
			continue
		case part < len(p.parts):
			if n := p.parts[part].prefix(s[at:]); n > 0 {
				part++
				at += n
				continue
			}
		}
		if star < 0 || starAt >= len(s) {
			return false
		}
		starAt += min(letters.CharBytes(s[starAt]), len(s)-starAt)
		if next := p.parts[star+1]; next.kind == likeText {
			k := bytes.Index(s[starAt:], next.text)
			if k < 0 {
				return false
			}
			starAt += k
		}
		part, at = star+1, starAt
	}
}

// prefix is the number of bytes at the front of s that the part matches, 0 when
// it does not.
func (p likePart) prefix(s []byte) int {
	switch {
	case p.kind == likeOne && len(s) > 0:
		return min(letters.CharBytes(s[0]), len(s))
	case p.kind == likeText && bytes.HasPrefix(s, p.text):
		return len(p.text)
	default:
		return 0
	}
}

// likeDef is LIKE, or ILIKE, which compares in lower case.
func likeDef(name string, example fn.Example) *fn.Def {
	s := fn.Takes(fn.Str(), fn.Str(), fn.Str()).Optional(1).Gives(plan.Boolean)
	fold := name == "ilike"
	return &fn.Def{Name: name, Group: "predicate_funcs", Bind: s.Bind, Examples: []fn.Example{example},
		Kernel: func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
			return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
				l := likes{fold: fold, seen: map[string]*likePattern{}}
				return fn.Fixed(plan.Boolean, l.row)(args, sel, n)
			}, nil
		}}
}

// likes computes LIKE over a chunk and remembers the patterns it met.
type likes struct {
	fold    bool
	seen    map[string]*likePattern
	last    *likePattern
	lastKey []byte
	lowered []byte
}

func (l *likes) row(args []*chunk.Vector, i int) (uint8, bool, error) {
	p, err := l.pattern(args, i)
	if err != nil {
		return 0, false, err
	}
	s := args[0].Bytes(i)
	if l.fold {
		l.lowered = letters.AppendLower(l.lowered[:0], s)
		s = l.lowered
	}
	return fn.Bit(p.matches(s)), true, nil
}

func (l *likes) pattern(args []*chunk.Vector, i int) (*likePattern, error) {
	source := args[1].Bytes(i)
	escape := `\`
	if len(args) == 3 {
		escape = args[2].Text(i)
	}
	if l.last != nil && bytes.Equal(l.lastKey, source) && len(args) == 2 {
		return l.last, nil
	}
	key := escape + string(source)
	p, ok := l.seen[key]
	if !ok {
		text := string(source)
		if l.fold {
			text = string(letters.AppendLower(nil, source))
		}
		var err error
		if p, err = compileLike(text, escape); err != nil {
			return nil, err
		}
		l.seen[key] = p
	}
	l.last, l.lastKey = p, append(l.lastKey[:0], source...)
	return p, nil
}
