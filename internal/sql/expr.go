package sql

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/plan"
)

// fn is a call of a function by one name, standing where text was read from
// token number start on.
func (p *parser) fn(start int, name string, args ...plan.Expr) *plan.UnresolvedFunction {
	f := plan.Fn(name, args...)
	f.Origin = p.origin(start)
	return f
}

// nothing stands where reading failed.
func nothing() plan.Expr { return plan.Lit(nil, plan.Null) }

// startsExpr reports whether the n-th token ahead can begin an expression.
func (p *parser) startsExpr(n int) bool {
	t := p.peek(n)
	switch t.kind {
	case tokEnd, tokBad:
		return false
	case tokSymbol:
		switch t.word {
		case "(", "-", "+", "~", "!", "*", "?":
			return true
		case ":":
			return p.peek(n + 1).isName()
		default:
			return false
		}
	default:
		return true
	}
}

// expr reads an expression:
//
//	or   < and < not < predicate (between, in, like, is)
//	     < comparison < | < ^ < & < shift < + - || < * / % div < unary < postfix
func (p *parser) expr() plan.Expr {
	if !p.enter() {
		return nothing()
	}
	e := p.or()
	p.leave()
	return e
}

func (p *parser) or() plan.Expr { return p.chain("OR", "or", p.and) }

func (p *parser) and() plan.Expr { return p.chain("AND", "and", p.not) }

// chain reads operands between equal words. Spark balances such chains, and
// the names of columns show it.
func (p *parser) chain(word, name string, operand func() plan.Expr) plan.Expr {
	start := p.i
	first := operand()
	if !p.at(word) || !p.startsExpr(1) {
		return first
	}
	operands := []plan.Expr{first}
	for p.at(word) && p.startsExpr(1) {
		p.skip(1)
		operands = append(operands, operand())
	}
	return p.balanced(p.origin(start), name, operands)
}

func (p *parser) balanced(o *plan.Origin, name string, operands []plan.Expr) plan.Expr {
	if len(operands) == 1 {
		return operands[0]
	}
	half := (len(operands)-1)/2 + 1
	f := plan.Fn(name, p.balanced(o, name, operands[:half]), p.balanced(o, name, operands[half:]))
	f.Origin = o
	return f
}

func (p *parser) not() plan.Expr {
	if !p.at("!") && !(p.at("NOT") && p.startsExpr(1)) {
		return p.predicated()
	}
	start := p.i
	p.skip(1)
	if !p.enter() {
		return nothing()
	}
	e := p.not()
	p.leave()
	return p.fn(start, "not", e)
}

func (p *parser) predicated() plan.Expr {
	start := p.i
	if p.at("EXISTS") && p.peek(1).word == "(" && p.queryAhead(2) {
		p.skip(2)
		q := p.query()
		p.close()
		return &plan.Subquery{Kind: plan.ExistsSubquery, Plan: q, Origin: p.origin(start)}
	}
	return p.predicate(start, p.value(0))
}

// predicate is what stands behind a value: [NOT] BETWEEN, IN, LIKE and so on.
type predicate struct {
	value      plan.Expr
	start, own int // token numbers of the value and of what follows it
	negated    bool
}

// negate is e, or its negation when the predicate is NOT … .
func (p *parser) negate(q predicate, e plan.Expr) plan.Expr {
	if q.negated {
		return p.fn(q.start, "not", e)
	}
	return e
}

// predicate reads what may follow a value.
func (p *parser) predicate(start int, v plan.Expr) plan.Expr {
	if p.at("IS") {
		return p.is(start, v)
	}
	q := predicate{value: v, start: start, own: p.i, negated: p.at("NOT") || p.at("!")}
	n := 0
	if q.negated {
		n = 1
	}
	word := p.peek(n).word
	switch word {
	case "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP":
		if !p.startsExpr(n + 1) {
			return v
		}
	case "IN":
		if p.peek(n+1).word != "(" {
			return v
		}
	default:
		return v
	}
	p.skip(n + 1)
	switch word {
	case "BETWEEN":
		low := p.value(0)
		p.expectMissable("AND")
		high := p.value(0)
		return p.negate(q, p.fn(start, "between", v, low, high))
	case "IN":
		return p.in(q)
	case "LIKE":
		return p.like(q, "like")
	case "ILIKE":
		return p.like(q, "ilike")
	default:
		pattern := p.value(0)
		return p.negate(q, p.fn(start, "rlike", v, pattern))
	}
}

func (p *parser) in(q predicate) plan.Expr {
	p.skip(1)
	if p.queryAhead(0) {
		sub := p.query()
		p.close()
		e := &plan.Subquery{Kind: plan.InSubquery, Plan: sub, Values: p.rowValues(q.value)}
		e.Origin = p.origin(q.start)
		return p.negate(q, e)
	}
	if p.accept(")") {
		p.mistake(q.own, "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", "IN needs at least one value.")
		return q.value
	}
	args := []plan.Expr{q.value}
	p.list(func() { args = append(args, p.expr()) })
	p.closeList(len(args) - 1)
	return p.negate(q, p.fn(q.start, "in", args...))
}

// like reads the pattern of LIKE or ILIKE, perhaps with an escape character.
func (p *parser) like(q predicate, name string) plan.Expr {
	if p.atAny("ANY", "SOME", "ALL") && p.peek(1).word == "(" {
		return p.likeEach(q, name)
	}
	args := []plan.Expr{q.value, p.value(0)}
	if p.at("ESCAPE") && p.peek(1).kind == tokString {
		p.skip(1)
		escape := p.stringLit()
		if utf8.RuneCountInString(escape) != 1 {
			p.mistake(q.own, "INVALID_ESC", "ESCAPE takes one character, not '"+escape+"'.",
				"invalidEscape", "'"+escape+"'")
		}
		args = append(args, plan.Lit(escape, plan.String))
	}
	return p.negate(q, p.fn(q.start, name, args...))
}

// likeEach reads ANY (…), SOME (…) or ALL (…): some pattern, or every one,
// matches. With NOT some, or every, pattern does not match.
func (p *parser) likeEach(q predicate, name string) plan.Expr {
	combine := "or"
	if p.at("ALL") {
		combine = "and"
	}
	p.skip(2)
	if p.accept(")") {
		p.mistake(q.own, "INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN", "LIKE ANY and LIKE ALL need a pattern.")
		return q.value
	}
	var patterns []plan.Expr
	p.list(func() { patterns = append(patterns, p.expr()) })
	p.expect(")")
	if !slices.ContainsFunc(patterns, notText) {
		return p.likeTexts(q, name, combine, patterns)
	}
	var out plan.Expr
	for _, pattern := range patterns {
		one := p.negate(q, p.fn(q.start, name, q.value, pattern))
		if out == nil {
			out = one
			continue
		}
		out = p.fn(q.start, combine, out, one)
	}
	return out
}

func notText(e plan.Expr) bool {
	l, ok := e.(*plan.Literal)
	return !ok || !l.Of.IsString() || l.Value == nil
}

// likeTexts is a LIKE ANY or LIKE ALL of constants, which has a name of its own.
func (p *parser) likeTexts(q predicate, name, combine string, patterns []plan.Expr) plan.Expr {
	each := map[string]string{"or": "likeany", "and": "likeall"}[combine]
	if q.negated {
		each = "not" + each
	}
	value := q.value
	if name == "ilike" {
		value = p.fn(q.start, "lower", value)
		for i, pattern := range patterns {
			patterns[i] = plan.Lit(strings.ToLower(pattern.(*plan.Literal).Value.(string)), plan.String)
		}
	}
	f := p.fn(q.start, each, append([]plan.Expr{value}, patterns...)...)
	f.Internal = true
	return f
}

// is reads IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DISTINCT FROM.
func (p *parser) is(start int, v plan.Expr) plan.Expr {
	n := 1
	negated := p.peek(1).word == "NOT" || p.peek(1).word == "!"
	if negated {
		n = 2
	}
	word := p.peek(n).word
	switch word {
	case "NULL", "UNKNOWN":
		p.skip(n + 1)
		if negated {
			return p.fn(start, "isnotnull", v)
		}
		return p.fn(start, "isnull", v)
	case "TRUE", "FALSE":
		p.skip(n + 1)
		e := p.fn(start, "<=>", v, plan.Lit(word == "TRUE", plan.Boolean))
		return p.negate(predicate{start: start, negated: negated}, e)
	case "DISTINCT":
		p.skip(n + 1)
		p.expect("FROM")
		e := p.fn(start, "<=>", v, p.value(0))
		return p.negate(predicate{start: start, negated: !negated}, e)
	default:
		return v
	}
}

// operator is a binary operator: the function it stands for and how strongly
// it binds.
func (p *parser) operator() (name string, binds, tokens int) {
	switch w := p.cur().word; w {
	case "*", "/", "%":
		return w, 7, 1
	case "DIV":
		if !p.startsExpr(1) {
			return "", 0, 0
		}
		return "div", 7, 1
	case "+", "-":
		return w, 6, 1
	case "||":
		return "concat", 6, 1
	case "<<":
		return w, 5, 1
	case ">":
		if n := p.shiftLength(); n > 1 {
			return ">>>"[:n], 5, n
		}
		return w, 1, 1
	case "&":
		return w, 4, 1
	case "^":
		return w, 3, 1
	case "|":
		return w, 2, 1
	case "=":
		return "==", 1, 1
	case "<=>", "!=", "<", "<=", ">=":
		return w, 1, 1
	case "<>":
		return "!=", 1, 1
	default:
		return "", 0, 0
	}
}

// shiftLength counts the > that stand next to each other.
func (p *parser) shiftLength() int {
	n := 1
	for n < 3 && p.peek(n).word == ">" && p.peek(n).start == p.peek(n-1).end {
		n++
	}
	return n
}

// value reads operands between operators that bind at least as strongly as min.
func (p *parser) value(min int) plan.Expr {
	start := p.i
	left := p.unary()
	for {
		name, binds, tokens := p.operator()
		if binds == 0 || binds < min {
			return left
		}
		p.skip(tokens)
		right := p.value(binds + 1)
		left = p.fn(start, name, left, right)
	}
}

func (p *parser) unary() plan.Expr {
	var name string
	switch p.cur().word {
	case "-":
		if p.peek(1).isNumber() {
			return p.postfix()
		}
		name = "-"
	case "+":
		name = "+"
	case "~":
		name = "~"
	default:
		return p.postfix()
	}
	start := p.i
	p.skip(1)
	if !p.enter() {
		return nothing()
	}
	e := p.unary()
	p.leave()
	return p.fn(start, name, e)
}

// postfix reads a primary expression and what is attached to it.
func (p *parser) postfix() plan.Expr {
	start := p.i
	e := p.primary()
	for p.err == nil {
		switch p.cur().word {
		case "[":
			p.skip(1)
			if !p.enter() {
				return e
			}
			key := p.value(0)
			p.leave()
			p.expectMissable("]")
			e = &plan.ExtractValue{Child: e, Key: key, Origin: p.origin(start)}
		case ".":
			if !p.peek(1).isName() {
				p.skip(1)
				p.syntax("")
				return e
			}
			p.skip(1)
			e = p.field(start, e, p.ident())
		case "::":
			p.skip(1)
			to := p.dataType()
			e = &plan.Cast{Child: e, To: castType(to), Origin: p.origin(start)}
		case "COLLATE":
			if !p.peek(1).isName() {
				return e
			}
			p.skip(1)
			name := p.name()
			e = p.fn(start, "collate", e, plan.Lit(name[len(name)-1], plan.String))
		case ":":
			if !p.pathAhead() {
				return e
			}
			e = p.variantPath(start, e)
		default:
			return e
		}
	}
	return e
}

// field takes a field by name; a name behind a plain column is part of its
// name until analysis knows better.
func (p *parser) field(start int, e plan.Expr, name string) plan.Expr {
	if a, ok := e.(*plan.UnresolvedAttribute); ok {
		a.Parts = append(a.Parts, name)
		a.Origin = p.origin(start)
		return a
	}
	return &plan.ExtractValue{Child: e, Key: plan.Lit(name, plan.String), Origin: p.origin(start)}
}

// pathAhead reports whether ":" begins a path into a variant.
func (p *parser) pathAhead() bool { return p.peek(1).isName() || p.peek(1).word == "[" }

// variantPath reads v:a.b[0]['c'], which takes a part of a variant.
func (p *parser) variantPath(start int, e plan.Expr) plan.Expr {
	p.skip(1)
	path, last := "$", ""
	if p.cur().isName() {
		last = p.ident()
		path += "." + last
	}
	for p.err == nil && p.atAny(".", "[") {
		if p.accept(".") {
			last = p.ident()
			path += "." + last
			continue
		}
		p.skip(1)
		if p.cur().kind == tokString {
			last = p.stringLit()
			path += `["` + last + `"]`
		} else {
			last = p.text[p.cur().start:p.cur().end]
			path += "[" + last + "]"
			p.skip(1)
		}
		p.expect("]")
	}
	f := p.fn(start, "variant_get", e, plan.Lit(path, plan.String), plan.Lit("variant", plan.String))
	return &plan.Alias{Child: f, Names: []string{last}, Generated: true}
}
