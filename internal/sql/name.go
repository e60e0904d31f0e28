package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// isName reports whether a token can be an identifier.
func (t *token) isName() bool { return t.kind == tokWord || t.kind == tokQuoted }

// ident reads one identifier. IDENTIFIER('a') stands for one too.
func (p *parser) ident() string {
	if p.ahead("IDENTIFIER", "(") && p.peek(2).kind == tokString && p.peek(3).word == ")" {
		return p.identifierClause()[0]
	}
	return p.plainIdent()
}

// plainIdent reads one identifier as it stands in the text.
func (p *parser) plainIdent() string {
	t := p.cur()
	if !t.isName() {
		p.syntax("")
		return ""
	}
	p.skip(1)
	text := p.text[t.start:t.end]
	if t.kind == tokQuoted {
		return strings.ReplaceAll(text[1:len(text)-1], "``", "`")
	}
	if !asciiWord(text) {
		p.badName(t, text)
	}
	return text
}

func asciiWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && !digit(c) && c != '_' {
			return false
		}
	}
	return true
}

// badName refuses a name that must be quoted. Spark does so at once, before it
// reads on.
func (p *parser) badName(at *token, name string) {
	p.fail(&plan.Error{
		Condition: "INVALID_IDENTIFIER",
		Msg:       "The name " + name + " needs backquotes: `" + name + "`.",
		Args:      map[string]string{"ident": name},
	}, *at)
}

// strictIdent reads an identifier where an expression cannot follow, and so
// recognises a name with dashes.
func (p *parser) strictIdent() string {
	name := p.ident()
	if !p.at("-") || !p.peek(1).isName() {
		return name
	}
	dash := p.cur()
	for p.at("-") && p.peek(1).isName() {
		p.skip(1)
		name += "-" + p.text[p.cur().start:p.cur().end]
		p.skip(1)
	}
	p.badName(dash, name)
	return name
}

// name reads a dotted name.
func (p *parser) name() []string {
	parts := []string{p.strictIdent()}
	for p.at(".") && p.err == nil {
		p.skip(1)
		parts = append(parts, p.strictIdent())
	}
	return parts
}

// reference reads the name of a table, schema or function, which may be given
// by IDENTIFIER(…).
func (p *parser) reference() []string {
	if !p.ahead("IDENTIFIER", "(") {
		return p.name()
	}
	name := p.identifierClause()
	for p.at(".") && p.err == nil {
		p.skip(1)
		name = append(name, p.strictIdent())
	}
	return name
}

// identifierClause reads IDENTIFIER(expression); the expression must be known
// while parsing: text, parameters and their concatenation.
func (p *parser) identifierClause() []string {
	start := p.i
	p.skip(2)
	e := p.expr()
	p.close()
	if p.err != nil {
		return []string{""}
	}
	text, ok := constantText(e)
	if !ok {
		p.refuse(start, "IDENTIFIER of an expression that is not constant text")
		return []string{""}
	}
	inner := newParser(text, Parameters{})
	parts := inner.name()
	inner.end()
	if inner.err == nil {
		inner.err = inner.fault
	}
	if inner.err != nil && p.fault == nil {
		p.fault = inner.err // about the text of the name
	}
	return parts
}

// constantText is the text that an expression of literals stands for.
func constantText(e plan.Expr) (string, bool) {
	switch n := e.(type) {
	case *plan.Literal:
		s, ok := n.Value.(string)
		return s, ok
	case *plan.UnresolvedFunction:
		if len(n.Name) != 1 || !strings.EqualFold(n.Name[0], "concat") {
			return "", false
		}
		var b strings.Builder
		for _, a := range n.Args {
			s, ok := constantText(a)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	default:
		return "", false
	}
}

// names reads identifiers in parentheses.
func (p *parser) names() []string {
	var out []string
	p.parenthesised(func() { out = append(out, p.strictIdent()) })
	return out
}

// optionalNames reads identifiers in parentheses if they are next.
func (p *parser) optionalNames() []string {
	if p.at("(") && p.peek(1).isName() {
		return p.names()
	}
	return nil
}

// stringLit reads text literals, which join when several follow each other.
func (p *parser) stringLit() string {
	if p.at(":") || p.at("?") {
		start := p.i
		text, ok := constantText(p.parameter())
		if !ok {
			p.refuse(start, "A parameter that is not text where text must stand")
		}
		return text
	}
	if p.cur().kind != tokString {
		p.syntax("")
		return ""
	}
	text := p.oneString()
	for p.cur().kind == tokString {
		text += p.oneString()
	}
	return text
}

// oneString reads one text literal.
func (p *parser) oneString() string {
	t := p.cur()
	p.skip(1)
	return unquote(p.text[t.start:t.end])
}
