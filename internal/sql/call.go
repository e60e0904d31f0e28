package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// form reads the calls whose arguments are more than expressions between
// commas; nil when word is the name of an ordinary function. The next tokens
// are the word and "(".
func (p *parser) form(word string) plan.Expr {
	switch word {
	case "CAST", "TRY_CAST":
		return p.cast(word)
	case "STRUCT":
		return p.structOf()
	case "EXTRACT":
		if p.peek(2).isName() && p.peek(3).word == "FROM" && p.startsExpr(4) {
			return p.extract()
		}
	case "TRIM":
		return p.trim()
	case "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY":
		return p.wordsBetween(word)
	case "TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF":
		return p.timestampCall(word)
	}
	return nil
}

// open reads a word and the "(" behind it.
func (p *parser) open() int {
	start := p.i
	p.skip(2)
	return start
}

func (p *parser) cast(word string) plan.Expr {
	if p.peek(2).word == ")" {
		return nil
	}
	start := p.open()
	e := p.expr()
	if p.at(",") || p.at(")") {
		return p.finishCall(start, []string{p.text[p.toks[start].start:p.toks[start].end]}, []plan.Expr{e})
	}
	p.expect("AS")
	to := p.dataType()
	p.expectMissable(")")
	c := &plan.Cast{Child: e, To: castType(to), Origin: p.origin(start)}
	if word == "TRY_CAST" {
		c.Mode = plan.CastTry
	}
	return c
}

func (p *parser) structOf() plan.Expr {
	start := p.open()
	var args []plan.Expr
	if !p.at(")") {
		p.list(func() { args = append(args, p.namedExpr()) })
	}
	p.closeList(len(args))
	return p.fn(start, "struct", args...)
}

func (p *parser) extract() plan.Expr {
	start := p.open()
	field := p.plainIdent()
	p.expect("FROM")
	source := p.value(0)
	p.expect(")")
	return p.fn(start, "extract", plan.Lit(field, plan.String), source)
}

// trim reads TRIM([BOTH|LEADING|TRAILING] [characters] FROM text); nil for the
// function of that name.
func (p *parser) trim() plan.Expr {
	start, name := p.i, "trim"
	n := 2
	if side := p.peek(2).word; side == "BOTH" || side == "LEADING" || side == "TRAILING" {
		if !p.startsExpr(3) {
			return nil
		}
		n = 3
		switch side {
		case "LEADING":
			name = "ltrim"
		case "TRAILING":
			name = "rtrim"
		}
	}
	if p.peek(n).word == ")" {
		return nil
	}
	p.skip(n)
	var args []plan.Expr
	if !p.at("FROM") || !p.startsExpr(1) {
		own := p.i
		first := p.value(0)
		if n == 2 && !p.at("FROM") {
			return p.finishCall(start, []string{p.text[p.toks[start].start:p.toks[start].end]},
				p.arguments(p.restOfArgument(own, first)))
		}
		args = append(args, first)
	}
	p.expect("FROM")
	args = append(args, p.value(0))
	p.expect(")")
	return p.fn(start, name, args...)
}

// restOfArgument goes on with an argument of which a value has been read.
func (p *parser) restOfArgument(start int, v plan.Expr) plan.Expr {
	e := p.predicate(start, v)
	for p.err == nil && p.atAny("AND", "OR") {
		name := strings.ToLower(p.cur().word)
		p.skip(1)
		e = p.fn(start, name, e, p.not())
	}
	return e
}

// between are the words that stand for commas in some calls, and the name of
// the function they then call.
var between = map[string]struct {
	name  string
	words []string
}{
	"SUBSTRING": {"substring", []string{"FROM", "FOR"}},
	"SUBSTR":    {"substring", []string{"FROM", "FOR"}},
	"POSITION":  {"locate", []string{"IN"}},
	"OVERLAY":   {"overlay", []string{"PLACING", "FROM", "FOR"}},
}

// wordsBetween reads SUBSTRING(a FROM b FOR c), POSITION(a IN b), OVERLAY(a
// PLACING b FROM c FOR d), and the same functions called with commas.
func (p *parser) wordsBetween(word string) plan.Expr {
	if p.peek(2).word == ")" {
		return nil
	}
	form := between[word]
	start := p.open()
	own := p.i
	first := p.value(0)
	if !p.at(form.words[0]) {
		return p.finishCall(start, []string{p.text[p.toks[start].start:p.toks[start].end]},
			p.arguments(p.restOfArgument(own, first)))
	}
	args := []plan.Expr{first}
	for i, w := range form.words {
		if i == len(form.words)-1 && i > 0 && !p.at(w) {
			break
		}
		p.expect(w)
		args = append(args, p.value(0))
	}
	p.expect(")")
	if word == "POSITION" {
		args = append(args, plan.Lit(int64(1), plan.Int))
	}
	return p.fn(start, form.name, args...)
}

// timestampCall reads TIMESTAMPADD(unit, …) and its kin, whose unit is a bare
// word; with other arguments they are ordinary functions.
func (p *parser) timestampCall(word string) plan.Expr {
	name := "timestampdiff"
	switch word {
	case "TIMESTAMPADD", "DATEADD", "DATE_ADD":
		name = "timestampadd"
	}
	start := p.i
	unit := p.peek(2)
	f, ok := p.call().(*plan.UnresolvedFunction)
	if !ok || len(f.Args) != 3 || f.Distinct || f.Filter != nil {
		return p.orNothing(f, ok)
	}
	switch {
	case unit.kind == tokString:
		value := "'" + unquote(p.text[unit.start:unit.end]) + "'"
		p.mistake(start, "INVALID_PARAMETER_VALUE.DATETIME_UNIT",
			"The unit of "+name+" is a bare word such as DAY, not "+value+".",
			"functionName", "`"+name+"`", "parameter", "`unit`", "invalidValue", value)
	case datetimeUnit(unit.word):
		if a, plain := f.Args[0].(*plan.UnresolvedAttribute); plain && len(a.Parts) == 1 {
			f.Name = []string{name}
			f.Args[0] = plan.Lit(p.text[unit.start:unit.end], plan.String)
		}
	}
	return f
}

func (p *parser) orNothing(f *plan.UnresolvedFunction, ok bool) plan.Expr {
	if ok {
		return f
	}
	return nothing()
}

func datetimeUnit(word string) bool {
	switch word {
	case "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
		"MILLISECOND", "MICROSECOND":
		return true
	default:
		return false
	}
}

// call reads a call of a function by one name.
func (p *parser) call() plan.Expr {
	start := p.i
	return p.callNamed(start, []string{p.plainIdent()})
}

// callNamed reads the arguments of a call whose name has been read.
func (p *parser) callNamed(start int, name []string) plan.Expr {
	p.expect("(")
	distinct := false
	if p.atAny("DISTINCT", "ALL") && p.startsExpr(1) && !p.atOperatorAfter(1) {
		distinct = p.at("DISTINCT")
		p.skip(1)
	}
	var args []plan.Expr
	if !p.at(")") {
		args = p.arguments(p.argument())
	}
	e := p.finishCall(start, name, args)
	if f, ok := e.(*plan.UnresolvedFunction); ok {
		f.Distinct = distinct
	} else if w, ok := e.(*plan.WindowCall); ok {
		w.Function.(*plan.UnresolvedFunction).Distinct = distinct
	}
	return e
}

// atOperatorAfter reports whether DISTINCT or ALL is a column before an
// operator rather than a quantifier.
func (p *parser) atOperatorAfter(n int) bool { return p.peek(n).word == "+" }

// argument reads one argument, perhaps by name.
func (p *parser) argument() plan.Expr {
	if p.cur().isName() && p.peek(1).word == "=>" {
		key := p.ident()
		p.skip(1)
		return &plan.NamedArg{Key: key, Child: p.expr()}
	}
	return p.expr()
}

// arguments reads those behind the first.
func (p *parser) arguments(first plan.Expr) []plan.Expr {
	args := []plan.Expr{first}
	for p.accept(",") {
		args = append(args, p.argument())
	}
	return args
}

// finishCall reads ")" and what may follow: WITHIN GROUP, FILTER, IGNORE
// NULLS, OVER. The keys of WITHIN GROUP follow the arguments as SortOrders.
func (p *parser) finishCall(start int, name []string, args []plan.Expr) plan.Expr {
	nulls := p.nullsOption()
	p.closeList(len(args))
	if p.ahead("WITHIN", "GROUP", "(") {
		p.skip(3)
		p.expectAll("ORDER", "BY")
		p.list(func() { args = append(args, p.sortItem()) })
		p.expect(")")
	}
	if len(args) == 1 && len(name) == 1 && strings.EqualFold(name[0], "count") {
		if s, ok := args[0].(*plan.UnresolvedStar); ok && s.Target == nil && s.Except == nil &&
			p.toks[p.i-2].word == "*" && p.toks[p.i-3].word == "(" {
			args[0] = plan.Lit(int64(1), plan.Int)
		}
	}
	f := &plan.UnresolvedFunction{Name: name, Args: args}
	if p.ahead("FILTER", "(", "WHERE") {
		p.skip(3)
		f.Filter = p.expr()
		p.expect(")")
	}
	if n := p.nullsOption(); n != "" {
		nulls = n
	}
	windowed := p.at("OVER") && (p.peek(1).word == "(" || p.peek(1).isName() && !p.clauseAhead(1))
	if nulls == "IGNORE" && !windowed {
		p.ignoreNulls(start, f)
	}
	f.Origin = p.origin(start)
	if windowed {
		return p.over(start, f, nulls == "IGNORE")
	}
	return f
}

// nullsOption reads IGNORE NULLS or RESPECT NULLS.
func (p *parser) nullsOption() string {
	if p.atAny("IGNORE", "RESPECT") && p.peek(1).word == "NULLS" {
		word := p.cur().word
		p.skip(2)
		return word
	}
	return ""
}

// ignoreNulls hands IGNORE NULLS to the aggregates that take it as their
// second argument; others do not have it.
func (p *parser) ignoreNulls(start int, f *plan.UnresolvedFunction) {
	if len(f.Name) == 1 && len(f.Args) == 1 {
		// The words take away what the user called the function.
		of := map[string]string{"first": "first", "first_value": "first", "last": "last",
			"last_value": "last", "any_value": "any_value"}
		if plain := of[strings.ToLower(f.Name[0])]; plain != "" {
			f.Name, f.Args = []string{plain}, append(f.Args, plan.Lit(true, plan.Boolean))
			return
		}
	}
	name := "`" + strings.Join(f.Name, "`.`") + "`"
	p.keep(start, plan.AnalysisError("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
		"The function "+name+" does not take IGNORE NULLS.", "prettyName", name, "syntax", "IGNORE NULLS"))
}
