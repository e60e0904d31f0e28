package sql

import (
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// anonymous is the name that Spark gives a query in FROM without one.
const anonymous = "__auto_generated_subquery_name"

// fromClause reads FROM relation, … and the views and pivots behind them.
func (p *parser) fromClause() plan.Node {
	p.expect("FROM")
	in := p.relation(nil)
	for p.accept(",") {
		in = p.relation(in)
	}
	for p.ahead("LATERAL", "VIEW") {
		in = p.lateralView(in)
	}
	return p.pivots(in)
}

// relation reads a table, a query or a function, and what is joined to it. left
// is what stands before the comma in front of it, if any: as in Spark, FROM a,
// b JOIN c joins c to all of a, b.
func (p *parser) relation(left plan.Node) plan.Node {
	if !p.enter() {
		return &plan.OneRow{}
	}
	defer p.leave()
	start := p.i
	in, lateral := p.lateral(left != nil)
	if left != nil {
		in = &plan.Join{Left: left, Right: in, Lateral: lateral, Origin: p.origin(start)}
	}
	for p.err == nil {
		in = p.pivots(in)
		kind, tokens := p.joinAhead()
		if tokens == 0 {
			return in
		}
		natural := p.at("NATURAL")
		p.skip(tokens - 1)
		p.expect("JOIN")
		j := &plan.Join{Left: in, Kind: kind, Natural: natural}
		j.Right, j.Lateral = p.lateral(true)
		p.joinCriteria(j)
		j.Origin = p.origin(start)
		p.checkLateral(j)
		in = j
	}
	return in
}

// skipParentheses skips "(" and everything up to its mate.
func (p *parser) skipParentheses() {
	if p.cur().mate == 0 {
		p.i = len(p.toks) - 1
		p.syntax("")
		return
	}
	p.i = int(p.cur().mate) + 1
}

// joinAhead is the join that the next tokens begin and how many they are with
// the word JOIN; 0 when they begin none.
func (p *parser) joinAhead() (kind plan.JoinType, tokens int) {
	n := 0
	if p.at("NATURAL") {
		n = 1
	}
	outer := func(kind plan.JoinType) (plan.JoinType, int) {
		if p.peek(n+1).word == "OUTER" {
			n++
		}
		return kind, n + 2
	}
	switch p.peek(n).word {
	case "JOIN":
		return plan.InnerJoin, n + 1
	case "INNER":
		return plan.InnerJoin, n + 2
	case "CROSS":
		return plan.CrossJoin, n + 2
	case "LEFT":
		switch p.peek(n + 1).word {
		case "SEMI":
			return plan.SemiJoin, n + 3
		case "ANTI":
			return plan.AntiJoin, n + 3
		}
		return outer(plan.LeftJoin)
	case "RIGHT":
		return outer(plan.RightJoin)
	case "FULL":
		return outer(plan.FullJoin)
	case "SEMI":
		return plan.SemiJoin, n + 2
	case "ANTI":
		return plan.AntiJoin, n + 2
	default:
		return 0, 0
	}
}

func (p *parser) joinCriteria(j *plan.Join) {
	switch {
	case j.Natural:
	case p.accept("ON"):
		j.Cond = p.expr()
	case p.accept("USING"):
		j.Using = p.names()
	}
}

// relationPrimary reads one relation with its alias.
func (p *parser) relationPrimary() plan.Node {
	start := p.i
	switch {
	case p.at("("):
		return p.parenthesisedRelation()
	case p.at("VALUES") && p.startsExpr(1) && !p.aliasBehind(1):
		return p.inlineTable()
	case p.at("STREAM") && (p.peek(1).isName() && !p.clauseAhead(1) && !p.aliasWord(1) || p.peek(1).word == "("):
		return p.streamRelation()
	}
	name := p.reference()
	if p.at("(") && p.err == nil {
		return p.tableFunction(start, name)
	}
	t := &plan.NamedTable{Name: name, Origin: p.origin(start)}
	asOf := p.timeTravel()
	if p.ahead("WITH", "(") {
		p.skip(1)
		t.Options = p.properties()
	}
	for option, value := range asOf {
		if t.Options == nil {
			t.Options = plan.Options{}
		}
		t.Options[option] = value
	}
	return p.finishRelation(start, t)
}

// aliasBehind reports whether the n-th token ahead is a plain name with
// nothing of an expression behind it: FROM values v.
func (p *parser) aliasBehind(n int) bool {
	t := p.peek(n)
	return t.kind == tokWord && (t.word == "" || p.aliasWord(n)) && !p.atAnyAt(n+1, "(", ".", "[")
}

// aliasWord reports whether the n-th token ahead is a word that cannot name
// the table of STREAM.
func (p *parser) aliasWord(n int) bool { return p.peek(n).word == "AS" || joinWord(p.peek(n).word) }

// streamRelation reads STREAM t or STREAM(t).
func (p *parser) streamRelation() plan.Node {
	start := p.i
	p.skip(1)
	own := p.i
	t := &plan.NamedTable{Streaming: true}
	if p.accept("(") {
		own = p.i
		t.Name = p.name()
		t.Origin = p.origin(own)
		p.close()
	} else {
		t.Name = p.name()
		t.Origin = p.origin(own)
	}
	if p.ahead("WITH", "(") {
		p.skip(1)
		t.Options = p.properties()
	}
	return p.finishRelation(start, t)
}

// timeTravel reads VERSION AS OF and TIMESTAMP AS OF, which become the options
// that a reader has for them.
func (p *parser) timeTravel() plan.Options {
	start, n := p.i, 0
	if p.at("FOR") {
		n = 1
	}
	if !p.atAnyAt(n, "VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME") ||
		p.peek(n+1).word != "AS" || p.peek(n+2).word != "OF" {
		return nil
	}
	option := plan.VersionAsOf
	if p.atAnyAt(n, "TIMESTAMP", "SYSTEM_TIME") {
		option = plan.TimestampAsOf
	}
	p.skip(n + 3)
	lit, _ := p.value(0).(*plan.Literal)
	if lit != nil {
		switch v := lit.Value.(type) {
		case string:
			return plan.Options{option: v}
		case int64:
			return plan.Options{option: strconv.FormatInt(v, 10)}
		}
	}
	p.refuse(start, "An older version of a table that is not named by a text or a number")
	return nil
}

// finishRelation reads what may follow a relation: TABLESAMPLE, WATERMARK, an
// alias.
func (p *parser) finishRelation(start int, in plan.Node) plan.Node {
	if p.at("TABLESAMPLE") && p.clauseAhead(0) {
		in = p.tableSample(in)
	}
	if p.at("WATERMARK") && p.clauseAhead(0) && !p.atAnyAt(1, "WHERE") {
		in = p.watermark(in)
	}
	return p.aliased(start, in)
}

// watermark reads WATERMARK column DELAY OF interval.
func (p *parser) watermark(in plan.Node) plan.Node {
	p.skip(1)
	column := p.namedExpr()
	p.expectAll("DELAY", "OF")
	if !p.at("INTERVAL") {
		p.syntax("")
		return in
	}
	own := p.i
	delay := p.intervalLiteral()
	if v, ok := intervalValue(delay); ok {
		return plan.NewWatermark(in, column, intervalWords(v))
	}
	p.refuse(own, "A watermark's delay that is no constant")
	return in
}

// intervalWords is an interval as text that ParseInterval reads.
func intervalWords(v plan.Interval) string {
	return strconv.Itoa(int(v.Months)) + " months " + strconv.Itoa(int(v.Days)) + " days " +
		strconv.FormatInt(v.Micros, 10) + " microseconds"
}

// aliased reads an alias, if there is one, and names in by it.
func (p *parser) aliased(start int, in plan.Node) plan.Node {
	name, columns := p.tableAlias()
	if name == "" {
		return in
	}
	a := plan.NewAlias(in, name)
	a.Columns, a.Origin = columns, p.origin(start)
	return a
}

// tableAlias reads [AS] name [(columns)]; "" when there is none.
func (p *parser) tableAlias() (name string, columns []string) {
	next := p.peek(1)
	switch {
	case p.at("AS") && next.isName() && !joinWord(next.word):
		p.skip(1)
	case p.at("AS") && next.kind != tokEnd && next.word != "(" && !p.clauseAhead(1) && !joinWord(next.word):
		p.skip(1)
		p.syntax("")
		return "", nil
	case !p.cur().isName() || joinWord(p.cur().word) || p.selectAhead():
		return "", nil
	case p.clauseAhead(0) && !p.columnsBehind():
		return "", nil
	}
	name = p.strictIdent()
	return name, p.optionalNames()
}

// columnsBehind reports whether the word of a clause is followed by nothing but
// names in parentheses. Then Spark takes it for an alias with columns: FROM t
// WHERE (a) filters nothing there, nor does it here.
func (p *parser) columnsBehind() bool {
	if !p.atAny("WHERE", "HAVING", "QUALIFY") || p.peek(1).word != "(" || p.peek(1).mate == 0 {
		return false
	}
	end := int(p.peek(1).mate)
	for i := p.i + 2; i < end; i++ {
		if inName := (i-p.i)%2 == 0; inName != p.toks[i].isName() || !inName && p.toks[i].word != "," {
			return false
		}
	}
	if (end-p.i)%2 == 0 {
		return false
	}
	behind := end + 1 - p.i
	return p.peek(behind).kind == tokEnd || p.atAnyAt(behind, ")", ";", ",") || p.clauseAhead(behind)
}

func (p *parser) parenthesisedRelation() plan.Node {
	start := p.i
	if !p.queryAhead(1) {
		p.skip(1)
		in := p.relation(nil)
		p.close()
		return p.finishRelation(start, in)
	}
	p.skip(1)
	in := p.query()
	p.close()
	out := p.finishRelation(start, in)
	if out == in {
		a := plan.NewAlias(in, anonymous)
		a.Origin = p.origin(start)
		return a
	}
	return out
}

// inlineTable reads VALUES row, … [alias].
func (p *parser) inlineTable() plan.Node {
	start := p.i
	p.skip(1)
	t := &plan.InlineTable{}
	p.list(func() { t.Rows = append(t.Rows, p.rowValues(p.expr())) })
	name, columns := p.tableAlias()
	t.Origin = p.origin(start)
	t.Names = columns
	width := len(t.Rows[0])
	if columns == nil {
		for i := range width {
			t.Names = append(t.Names, "col"+strconv.Itoa(i+1))
		}
	}
	for i, row := range t.Rows {
		if len(row) != len(t.Names) {
			p.mistake(start, "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
				"Row "+strconv.Itoa(i+1)+" of VALUES has "+strconv.Itoa(len(row))+" columns, not "+
					strconv.Itoa(len(t.Names))+".",
				"expectedNumCols", strconv.Itoa(len(t.Names)), "actualNumCols", strconv.Itoa(len(row)),
				"rowIndex", strconv.Itoa(i))
			break
		}
	}
	if name == "" {
		return t
	}
	a := plan.NewAlias(t, name)
	a.Origin = t.Origin
	return a
}

// lateralView reads LATERAL VIEW [OUTER] f(args) name [AS columns].
func (p *parser) lateralView(in plan.Node) plan.Node {
	p.skip(2)
	outer := p.at("OUTER") && p.peek(1).isName()
	if outer {
		p.skip(1)
	}
	start := p.i
	name := []string{p.ident()}
	for p.accept(".") {
		name = append(name, p.ident())
	}
	p.expect("(")
	var args []plan.Expr
	if !p.at(")") {
		p.list(func() { args = append(args, p.expr()) })
	}
	p.expect(")")
	f := &plan.UnresolvedFunction{Name: name, Args: args, Origin: p.origin(start)}
	g := plan.NewGenerate(in, f, outer)
	g.Qualifier = strings.ToLower(p.ident())
	switch {
	case p.at("AS") && p.peek(1).isName():
		p.skip(1)
		fallthrough
	case p.cur().isName() && !p.clauseAhead(0) && !p.selectAhead() && !p.joinFollows():
		p.list(func() { g.Names = append(g.Names, p.ident()) })
	}
	return g
}

func (p *parser) joinFollows() bool {
	_, tokens := p.joinAhead()
	return tokens > 0
}
