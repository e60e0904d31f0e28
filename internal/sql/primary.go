package sql

import (
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// primary reads an expression without operators.
func (p *parser) primary() plan.Expr {
	t := p.cur()
	switch t.kind {
	case tokWord, tokQuoted:
		return p.wordPrimary(t)
	case tokString:
		return plan.Lit(p.stringLit(), plan.String)
	case tokSymbol:
		return p.symbolPrimary(t)
	case tokEnd, tokBad:
		p.syntax("")
		return nothing()
	default:
		return p.number()
	}
}

func (p *parser) symbolPrimary(t *token) plan.Expr {
	switch t.word {
	case "(":
		return p.inParentheses()
	case "-":
		if p.peek(1).isNumber() {
			return p.number()
		}
	case "*":
		return p.star(p.i, nil)
	case "?":
		return p.parameter()
	case ":":
		if p.peek(1).isName() {
			return p.parameter()
		}
		p.skip(1)
	}
	p.syntax("")
	return nothing()
}

// star reads * or, behind a name and a point, the * of name.*.
func (p *parser) star(start int, target []string) plan.Expr {
	p.skip(1)
	s := &plan.UnresolvedStar{Target: target}
	if p.ahead("EXCEPT", "(") && !p.queryAhead(2) {
		p.skip(1)
		p.parenthesised(func() { s.Except = append(s.Except, p.name()) })
	}
	s.Origin = p.origin(start)
	return s
}

// parameter reads ? or :name and answers its value.
func (p *parser) parameter() plan.Expr {
	start := p.i
	name, value, bound := "", plan.Expr(nil), false
	if p.accept("?") {
		name = "_" + strconv.Itoa(int(p.toks[start].start))
		if p.unnamed < len(p.params.Positional) {
			value, bound = p.params.Positional[p.unnamed], true
		}
		p.unnamed++
	} else {
		p.skip(1)
		name = p.plainIdent()
		value, bound = p.params.Named[name]
	}
	if bound {
		return value
	}
	e := plan.AnalysisError("UNBOUND_SQL_PARAMETER", "The parameter "+name+" has no value.", "name", name)
	positional := p.toks[start].word == "?"
	if positional && len(p.params.Named) > 0 || !positional && len(p.params.Positional) > 0 {
		e = plan.AnalysisError("INVALID_QUERY_MIXED_QUERY_PARAMETERS",
			"The statement uses parameters by name and by position; use one kind.")
	}
	p.keep(start, e)
	return nothing()
}

// inParentheses reads what begins with "(": a query, a row, the parameters of
// a lambda, or an expression.
func (p *parser) inParentheses() plan.Expr {
	start := p.i
	if mate := int(p.cur().mate); mate > 0 && mate+1 < len(p.toks) && p.toks[mate+1].word == "->" {
		if e := p.lambda(); e != nil {
			return e
		}
	}
	p.skip(1)
	if p.queryAhead(0) {
		if !p.enter() {
			return nothing()
		}
		q := p.query()
		p.leave()
		p.close()
		return &plan.Subquery{Kind: plan.ScalarSubquery, Plan: q, Origin: p.origin(start)}
	}
	first := p.namedExpr()
	if !p.at(",") {
		if a, named := first.(*plan.Alias); named && !a.Generated {
			p.syntax("") // only the parts of a row have names
		}
		p.expect(")")
		return first
	}
	items := []plan.Expr{first}
	for p.accept(",") {
		items = append(items, p.namedExpr())
	}
	p.closeList(len(items))
	return p.row(start, items)
}

// row is (a, b, …). It is a struct with the names of its parts, and stands for
// the parts in VALUES and IN.
func (p *parser) row(start int, items []plan.Expr) plan.Expr {
	args := make([]plan.Expr, 0, 2*len(items))
	for i, e := range items {
		name := "col" + strconv.Itoa(i+1)
		switch n := e.(type) {
		case *plan.Alias:
			name = n.Names[0]
		case *plan.UnresolvedAttribute:
			name = n.Parts[len(n.Parts)-1]
		case *plan.UnresolvedStar:
			return p.fn(start, "struct", items...)
		}
		args = append(args, plan.Lit(name, plan.String), e)
	}
	return p.fn(start, "named_struct", args...)
}

// rowValues are the parts of a row written (a, b) or STRUCT(a, b), or e alone.
func (p *parser) rowValues(e plan.Expr) []plan.Expr {
	f, ok := e.(*plan.UnresolvedFunction)
	if !ok || f.Origin == nil || f.Origin.SQL == "" {
		return []plan.Expr{e}
	}
	switch text := f.Origin.Text(); {
	case strings.HasPrefix(text, "(") && f.Name[0] == "named_struct":
		values := make([]plan.Expr, 0, len(f.Args)/2)
		for i := 1; i < len(f.Args); i += 2 {
			values = append(values, unnamed(f.Args[i]))
		}
		return values
	case len(text) > 6 && strings.EqualFold(text[:6], "struct") && strings.EqualFold(f.Name[0], "struct"):
		values := make([]plan.Expr, len(f.Args))
		for i, a := range f.Args {
			values[i] = unnamed(a)
		}
		return values
	default:
		return []plan.Expr{e}
	}
}

func unnamed(e plan.Expr) plan.Expr {
	if a, ok := e.(*plan.Alias); ok {
		return a.Child
	}
	return e
}

// lambda reads x -> e or (x, y) -> e; nil when the parentheses hold no names.
func (p *parser) lambda() plan.Expr {
	start := p.i
	var params []string
	if p.at("(") {
		end := int(p.cur().mate)
		for i := p.i + 1; i < end; i++ {
			if inName := (i-p.i)%2 == 1; inName != p.toks[i].isName() || !inName && p.toks[i].word != "," {
				return nil
			}
		}
		if end < p.i+4 || (end-p.i)%2 != 0 {
			return nil // one name in parentheses is no parameter list
		}
		p.parenthesised(func() { params = append(params, p.ident()) })
	} else {
		params = []string{p.ident()}
	}
	p.skip(1)
	body := p.expr()
	return &plan.Lambda{Params: params, Body: body, Origin: p.origin(start)}
}

// wordPrimary reads what begins with a word: a special form, a literal with a
// type, a call, a lambda or a column.
func (p *parser) wordPrimary(t *token) plan.Expr {
	next := p.peek(1)
	if t.word != "" {
		if e := p.special(t.word, next); e != nil {
			return e
		}
	}
	switch {
	case next.word == "->":
		return p.lambda()
	case next.kind == tokString:
		return p.typedLiteral()
	case next.word == "(" && !p.ahead("IDENTIFIER", "("):
		return p.call()
	}
	start := p.i
	if p.ahead("IDENTIFIER", "(") {
		return p.identifierPrimary()
	}
	parts := append(make([]string, 0, 2), p.plainIdent())
	for p.at(".") && p.err == nil {
		switch n := p.peek(1); {
		case n.word == "*":
			p.skip(1)
			return p.star(start, parts)
		case !n.isName():
			p.skip(1)
			p.syntax("")
			return nothing()
		}
		p.skip(1)
		parts = append(parts, p.ident())
		if p.at("(") {
			return p.callNamed(start, parts)
		}
	}
	return &plan.UnresolvedAttribute{Parts: parts, Origin: p.origin(start)}
}

// identifierPrimary reads IDENTIFIER('name') as a column or a function.
func (p *parser) identifierPrimary() plan.Expr {
	start := p.i
	parts := p.identifierClause()
	if p.at("(") {
		return p.callNamed(start, parts)
	}
	return &plan.UnresolvedAttribute{Parts: parts, Origin: p.origin(start)}
}

// special reads the forms that a keyword begins; nil when the word is a name
// where it stands.
func (p *parser) special(word string, next *token) plan.Expr {
	switch word {
	case "NULL":
		if next.word != "(" && next.word != "->" && next.kind != tokString {
			p.skip(1)
			return plan.Lit(nil, plan.Null)
		}
	case "TRUE", "FALSE":
		if next.word != "(" && next.word != "->" && next.kind != tokString {
			p.skip(1)
			return plan.Lit(word == "TRUE", plan.Boolean)
		}
	case "CASE":
		if p.caseAhead() {
			return p.caseWhen()
		}
	case "INTERVAL":
		if p.intervalAhead() {
			return p.intervalLiteral()
		}
	}
	if next.word != "(" {
		return nil
	}
	if !p.enter() {
		return nothing()
	}
	e := p.form(word)
	p.leave()
	return e
}

// caseAhead reports whether CASE begins an expression rather than naming a
// column.
func (p *parser) caseAhead() bool {
	if !p.startsExpr(1) || p.peek(1).word == "END" || p.atEndOfItem(1) {
		return false
	}
	if p.peek(1).word == "WHEN" {
		return p.startsExpr(2)
	}
	switch next := p.peek(1); {
	case next.word == "+" || next.word == "*":
		return false
	case next.word == "(" && next.mate > 0:
		return !p.atEndOfItem(int(next.mate) + 1 - p.i)
	case next.isName():
		return !p.atEndOfItem(2)
	default:
		return true
	}
}

// atEndOfItem reports whether an expression or its alias ends before the n-th
// token ahead.
func (p *parser) atEndOfItem(n int) bool {
	switch t := p.peek(n); t.word {
	case ",", ")", ";":
		return true
	case "FROM", "AS":
		return true
	default:
		return t.kind == tokEnd
	}
}

func (p *parser) caseWhen() plan.Expr {
	start := p.i
	p.skip(1)
	var operand plan.Expr
	if !p.at("WHEN") || !p.startsExpr(1) {
		operand = p.expr()
	}
	var args []plan.Expr
	for more := true; more; more = p.at("WHEN") {
		own := p.i
		p.expect("WHEN")
		cond := p.expr()
		if operand != nil {
			cond = p.fn(own, "==", operand, cond)
		}
		p.expect("THEN")
		args = append(args, cond, p.expr())
	}
	if p.accept("ELSE") {
		args = append(args, p.expr())
	}
	p.expect("END")
	return p.fn(start, "when", args...)
}
