package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// queryAhead reports whether a query begins at the n-th token ahead.
func (p *parser) queryAhead(n int) bool {
	for top := n + maxDepth; p.peek(n).word == "(" && n < top; {
		// A parenthesis around a query is followed by what goes on with a query.
		mate := int(p.peek(n).mate)
		if mate == 0 {
			n++
			continue
		}
		behind := p.toks[min(mate+1, len(p.toks)-1)]
		switch behind.word {
		case ")", "UNION", "EXCEPT", "INTERSECT", "MINUS", "ORDER", "LIMIT", "OFFSET", "SORT", "CLUSTER",
			"DISTRIBUTE":
		default:
			if behind.kind != tokEnd {
				return false
			}
		}
		n++
	}
	next := p.peek(n + 1)
	switch p.peek(n).word {
	case "SELECT":
		return p.startsExpr(n+1) || next.word == "/*+"
	case "WITH":
		after := p.peek(n + 2).word
		return next.isName() && (after == "AS" || after == "(") || next.word == "RECURSIVE" && p.peek(n+2).isName()
	case "VALUES":
		return p.startsExpr(n + 1)
	case "FROM":
		return next.isName() && p.peek(n+2).word != ")" || next.word == "("
	case "TABLE":
		return next.isName()
	case "MAP", "REDUCE":
		return false
	default:
		return false
	}
}

// query reads [WITH …] set operations and what orders and limits their result.
func (p *parser) query() plan.Node {
	if !p.enter() {
		return &plan.OneRow{}
	}
	outer := p.fromFirst
	p.fromFirst = false
	defer func() { p.fromFirst = outer; p.leave() }()
	start := p.i
	defs := p.ctes()
	body := p.organised(p.setOps(1))
	return p.with(start, defs, body)
}

// with puts definitions over a query.
func (p *parser) with(start int, defs []plan.CTE, body plan.Node) plan.Node {
	if defs == nil {
		return body
	}
	seen, twice := map[string]bool{}, []string(nil)
	for _, d := range defs {
		name := strings.ToLower(d.Name)
		if seen[name] {
			twice = append(twice, plan.Quote(d.Name))
		}
		seen[name] = true
	}
	if twice != nil {
		p.mistake(start, "DUPLICATED_CTE_NAMES", "WITH defines "+strings.Join(twice, ", ")+" more than once.",
			"duplicateNames", strings.Join(twice, ", "))
	}
	return &plan.With{Defs: defs, Input: body}
}

// ctes reads WITH name [(columns)] AS (query), …; nil when there is no WITH.
func (p *parser) ctes() []plan.CTE {
	if !p.at("WITH") {
		return nil
	}
	start := p.i
	p.skip(1)
	if p.at("RECURSIVE") && p.peek(1).isName() && p.peek(1).word != "AS" {
		p.skip(1)
		p.refuse(start, "WITH RECURSIVE")
	}
	var defs []plan.CTE
	p.list(func() {
		d := plan.CTE{Name: p.strictIdent()}
		if p.at("(") && !p.queryAhead(1) {
			d.Columns = p.names()
		}
		if p.acceptAll("MAX", "RECURSION", "LEVEL") {
			p.integerValue()
		}
		p.accept("AS")
		p.expect("(")
		d.Query = p.query()
		p.close()
		defs = append(defs, d)
	})
	return defs
}

// setWord is a word if it is a set operation, and how strongly it binds.
func setWord(word string) (string, int) {
	switch word {
	case "UNION", "EXCEPT", "MINUS":
		return word, 1
	case "INTERSECT":
		return word, 2
	default:
		return "", 0
	}
}

// setOpAhead reports whether the n-th token ahead is a set operation with a
// query behind it, rather than a name.
func (p *parser) setOpAhead(n int) bool {
	if w := p.peek(n + 1).word; w == "ALL" || w == "DISTINCT" {
		n++
	}
	return p.peek(n+1).word == "(" || p.queryAhead(n+1)
}

// setOps reads queries between set operations that bind at least as strongly
// as min. INTERSECT binds strongest; equal ones group to the left.
func (p *parser) setOps(min int) plan.Node {
	start := p.i
	left := p.queryPrimary()
	for p.err == nil {
		word, binds := setWord(p.cur().word)
		if binds == 0 || binds < min {
			break
		}
		p.skip(1)
		all := p.at("ALL")
		if all || p.at("DISTINCT") {
			p.skip(1)
		}
		right := p.setOps(binds + 1)
		op := &plan.SetOp{Inputs: []plan.Node{left, right}, All: all}
		switch word {
		case "EXCEPT", "MINUS":
			op.Kind = plan.Except
		case "INTERSECT":
			op.Kind = plan.Intersect
		}
		op.Origin = p.origin(start)
		left = op
	}
	if p.at("|>") {
		p.refusePipes()
	}
	return left
}

// refusePipes skips the rest of a query with |> operators.
func (p *parser) refusePipes() {
	start := p.i
	p.skip(1)
	p.refuse(start, "The pipe operator |>")
	for depth := 0; p.cur().kind != tokEnd && !p.at(";"); p.skip(1) {
		switch p.cur().word {
		case "(":
			depth++
		case ")":
			if depth == 0 {
				return
			}
			depth--
		}
	}
}

func (p *parser) queryPrimary() plan.Node {
	start := p.i
	switch p.cur().word {
	case "SELECT":
		return p.selectQuery(nil)
	case "FROM":
		return p.fromQuery()
	case "TABLE":
		p.skip(1)
		own := p.i
		return &plan.NamedTable{Name: p.reference(), Origin: p.origin(own)}
	case "VALUES":
		return p.inlineTable()
	case "(":
		p.skip(1)
		q := p.query()
		p.close()
		return q
	case "MAP", "REDUCE":
		p.refuse(start, p.cur().word+" with a script")
		p.i = len(p.toks) - 1
		return &plan.OneRow{}
	default:
		p.syntax("")
		return &plan.OneRow{}
	}
}

// fromQuery reads FROM t [SELECT …]…, one query for each SELECT.
func (p *parser) fromQuery() plan.Node {
	start := p.i
	from := p.fromClause()
	if p.at("INSERT") && p.atAnyAt(1, "INTO", "OVERWRITE") {
		return p.refuseRest(start, "FROM … INSERT")
	}
	if !p.at("SELECT") {
		return from
	}
	var all []plan.Node
	p.fromFirst = true
	for p.at("SELECT") {
		all = append(all, p.organised(p.selectQuery(from)))
	}
	if len(all) == 1 {
		return all[0]
	}
	return &plan.SetOp{Kind: plan.Union, Inputs: all, All: true, Origin: p.origin(start)}
}

// selectQuery reads SELECT … up to its last own clause. from is the input when
// it was written first.
func (p *parser) selectQuery(from plan.Node) plan.Node {
	start := p.i
	p.expect("SELECT")
	if p.ahead("TRANSFORM", "(") && int(p.peek(1).mate) > 0 && p.toks[p.peek(1).mate+1].word == "USING" {
		p.refuse(start, "SELECT TRANSFORM with a script")
		p.i = len(p.toks) - 1
		return &plan.OneRow{}
	}
	hints := p.hints()
	distinct := false
	if p.atAny("DISTINCT", "ALL") && p.startsExpr(1) && !p.atOperatorAfter(1) {
		distinct = p.at("DISTINCT")
		p.skip(1)
	}
	var items []plan.Expr
	p.list(func() { items = append(items, p.namedExpr()) })
	in := from
	switch {
	case from != nil:
	case p.at("FROM"):
		in = p.fromClause()
	default:
		in = &plan.OneRow{}
	}
	for p.ahead("LATERAL", "VIEW") {
		in = p.lateralView(in)
	}
	out := p.selectBody(start, in, items)
	if distinct {
		out = plan.NewDedup(out, nil, false)
	}
	for _, h := range hints {
		out = plan.NewHint(out, h.Name, h.Args)
	}
	return out
}

// selectBody reads WHERE, GROUP BY, HAVING and WINDOW.
func (p *parser) selectBody(start int, in plan.Node, items []plan.Expr) plan.Node {
	var filter *plan.Filter
	if p.clauseHere("WHERE") {
		p.skip(1)
		filter = plan.NewFilter(in, p.expr())
		in = filter
	}
	group := p.groupBy()
	var having plan.Expr
	hasHaving := p.clauseHere("HAVING")
	if hasHaving {
		p.skip(1)
		having = p.expr()
	}
	if own := p.i; p.clauseHere("QUALIFY") {
		p.skip(1)
		p.expr()
		p.refuse(own, "QUALIFY")
	}
	if p.at("WINDOW") && p.clauseAhead(0) {
		p.windowClause()
	}
	o := p.origin(start)
	if filter != nil {
		filter.Origin = o
	}
	if group == nil && !hasHaving {
		n := plan.NewProject(in, items...)
		n.Origin = o
		return n
	}
	n := plan.NewAggregate(in, nil, items)
	n.FromSQL, n.Origin = true, o
	if group != nil {
		n.Kind, n.Group, n.Sets = group.kind, group.exprs, group.sets
	}
	if hasHaving {
		return plan.NewHaving(n, having)
	}
	return n
}

// clauseHere reports whether a clause begins here, where no alias can stand any
// more. At the very end of the text the word is one too many instead.
func (p *parser) clauseHere(word string) bool {
	return p.at(word) && p.peek(1).kind != tokEnd
}

// hints reads /*+ NAME(args), … */, any number of times.
func (p *parser) hints() []plan.Hint {
	var out []plan.Hint
	for p.accept("/*+") {
		for {
			h := plan.Hint{Name: p.plainIdent()}
			if p.at("(") {
				p.parenthesised(func() { h.Args = append(h.Args, p.postfix()) })
			}
			out = append(out, h)
			p.accept(",")
			if p.err != nil || p.accept("*/") {
				break
			}
		}
	}
	return out
}

// namedExpr reads an expression and perhaps its alias: [AS] name, [AS] (a, b).
func (p *parser) namedExpr() plan.Expr {
	e := p.expr()
	switch {
	case p.at("AS") && (p.peek(1).isName() || p.peek(1).word == "("):
		p.skip(1)
	case p.at("AS") && p.peek(1).kind != tokEnd && !p.atAnyAt(1, ",", ")", ";"):
		p.skip(1)
		p.syntax("")
		return e
	case p.cur().isName() && !p.clauseAhead(0) && !(p.fromFirst && p.selectAhead()):
	case p.at("(") && p.peek(1).isName():
	default:
		return e
	}
	if p.at("(") {
		return &plan.Alias{Child: e, Names: p.names()}
	}
	return &plan.Alias{Child: e, Names: []string{p.strictIdent()}}
}

func (p *parser) atAnyAt(n int, words ...string) bool {
	for _, w := range words {
		if p.peek(n).word == w {
			return true
		}
	}
	return false
}

// clauseAhead reports whether the n-th token ahead begins a clause of a query,
// and so is no alias of what stands before it.
func (p *parser) clauseAhead(n int) bool {
	next := p.peek(n + 1)
	switch p.peek(n).word {
	case "FROM":
		return (next.isName() || next.word == "(") && p.relationAhead(n+1)
	case "WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET":
		return p.startsExpr(n+1) && !(next.word == "FROM" && p.clauseAhead(n+1))
	case "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE":
		return next.word == "BY" && p.startsExpr(n+2)
	case "UNION", "EXCEPT", "MINUS", "INTERSECT":
		return p.setOpAhead(n)
	case "LATERAL":
		return next.word == "VIEW"
	case "WINDOW":
		return next.isName() && p.peek(n+2).word == "AS"
	case "PIVOT", "TABLESAMPLE":
		return next.word == "("
	case "UNPIVOT":
		return next.word == "(" || next.word == "INCLUDE" || next.word == "EXCLUDE"
	case "WATERMARK":
		return p.startsExpr(n + 1)
	case "INSERT":
		return next.word == "INTO" || next.word == "OVERWRITE"
	case "DELAY":
		return next.word == "OF"
	default:
		return false
	}
}

// selectAhead reports whether a SELECT begins, behind a FROM that came first.
func (p *parser) selectAhead() bool { return p.at("SELECT") && p.startsExpr(1) }

// relationAhead reports whether what follows FROM is a relation: SELECT a FROM
// WHERE x names the column FROM.
func (p *parser) relationAhead(n int) bool {
	return !p.atAnyAt(n, "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT") || !p.clauseAhead(n)
}

// organised reads what orders and limits the result of a query.
func (p *parser) organised(in plan.Node) plan.Node {
	start := p.i
	order, sort := p.sortClause("ORDER"), []*plan.SortOrder(nil)
	cluster := p.exprsAfter("CLUSTER")
	distribute := p.exprsAfter("DISTRIBUTE")
	sort = p.sortClause("SORT")
	switch kinds := count(order != nil, cluster != nil, distribute != nil || sort != nil); {
	case kinds > 1:
		p.mistake(start, "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES",
			"ORDER BY, SORT BY, CLUSTER BY and DISTRIBUTE BY do not go together.")
	case order != nil:
		in = plan.NewSort(in, true, order...)
	case cluster != nil:
		in = plan.NewRepartition(in, 0, cluster)
		for _, e := range cluster {
			sort = append(sort, &plan.SortOrder{Child: e, NullsFirst: true})
		}
		in = plan.NewSort(in, false, sort...)
	default:
		if distribute != nil {
			in = plan.NewRepartition(in, 0, distribute)
		}
		if sort != nil {
			in = plan.NewSort(in, false, sort...)
		}
	}
	if p.at("WINDOW") && p.clauseAhead(0) {
		p.windowClause()
	}
	return p.limited(in)
}

func count(flags ...bool) int {
	n := 0
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// limited reads LIMIT and OFFSET.
func (p *parser) limited(in plan.Node) plan.Node {
	var limit, skip plan.Expr
	if p.clauseHere("LIMIT") {
		p.skip(1)
		if p.at("ALL") && !p.startsExpr(1) || p.ahead("ALL", "OFFSET") {
			p.skip(1)
		} else {
			limit = p.expr()
		}
	}
	if p.clauseHere("OFFSET") {
		p.skip(1)
		skip = p.expr()
	}
	if limit == nil && skip == nil {
		return in
	}
	return plan.NewLimit(in, limit, skip)
}

// sortClause reads word BY keys; nil when it is not there.
func (p *parser) sortClause(word string) []*plan.SortOrder {
	if !p.clauseHere(word) {
		return nil
	}
	p.skip(1)
	p.expect("BY")
	var keys []*plan.SortOrder
	p.list(func() { keys = append(keys, p.sortItem()) })
	return keys
}

func (p *parser) exprsAfter(word string) []plan.Expr {
	if !p.clauseHere(word) {
		return nil
	}
	p.skip(1)
	p.expect("BY")
	var out []plan.Expr
	p.list(func() { out = append(out, p.expr()) })
	return out
}

// sortItem reads expression [ASC|DESC] [NULLS FIRST|LAST]. NULL is the least
// value unless said otherwise.
func (p *parser) sortItem() *plan.SortOrder {
	o := &plan.SortOrder{Child: p.expr()}
	switch {
	case p.accept("DESC"):
		o.Descending = true
	default:
		p.accept("ASC")
	}
	o.NullsFirst = !o.Descending
	if p.at("NULLS") {
		p.skip(1)
		switch {
		case p.accept("FIRST"):
			o.NullsFirst = true
		case p.accept("LAST"):
			o.NullsFirst = false
		default:
			p.syntax("")
		}
	}
	return o
}
