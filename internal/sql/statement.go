package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// statement reads one statement.
func (p *parser) statement() plan.Node {
	switch p.cur().word {
	case "SELECT", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE":
		return p.query()
	case "WITH":
		return p.withStatement()
	case "INSERT":
		return p.insert(nil)
	case "DELETE":
		return p.deleteFrom()
	case "UPDATE":
		return p.update()
	case "MERGE":
		return p.merge(nil)
	case "ALTER":
		return p.alter()
	case "COMMENT":
		return p.commentOn()
	case "TRUNCATE":
		return p.truncate()
	case "CREATE", "REPLACE":
		return p.create()
	case "DROP":
		return p.drop()
	case "SHOW":
		return p.show()
	case "DESC", "DESCRIBE":
		return p.describe()
	case "USE":
		return p.use()
	case "SET":
		return p.set()
	case "RESET":
		return p.reset()
	case "EXPLAIN":
		return p.explain()
	case "CACHE", "UNCACHE", "CLEAR", "REFRESH", "ANALYZE":
		return p.caching()
	}
	return p.ofDelta()
}

// ofDelta reads the statements of Delta tables whose words are none of Spark's.
func (p *parser) ofDelta() plan.Node {
	switch {
	case p.atWord("OPTIMIZE"):
		return p.optimize()
	case p.atWord("VACUUM"):
		return p.vacuum()
	case p.atWord("RESTORE"):
		return p.restore()
	}
	return p.refused()
}

// none is what a statement is when it was not read.
func none() plan.Node { return &plan.OneRow{} }

// withStatement reads WITH … and the query, INSERT or MERGE behind it.
func (p *parser) withStatement() plan.Node {
	start := p.i
	defs := p.ctes()
	around := func(q plan.Node) plan.Node { return p.with(start, defs, q) }
	switch {
	case p.at("INSERT"):
		return p.insert(around)
	case p.ahead("MERGE", "INTO") || p.ahead("MERGE", "WITH"):
		return p.merge(around)
	}
	return p.with(start, defs, p.organised(p.setOps(1)))
}

// rest skips to the end of the text.
func (p *parser) rest() { p.i = len(p.toks) - 1 }

// refuseRest refuses a statement without reading on.
func (p *parser) refuseRest(start int, what string) plan.Node {
	p.rest()
	p.refuse(start, what)
	return none()
}

// hiveOnly refuses a statement that Spark names and does not have.
func (p *parser) hiveOnly(start int, operation string) plan.Node {
	p.rest()
	p.mistake(start, "INVALID_STATEMENT_OR_CLAUSE", "There is no statement "+operation+".",
		"operation", operation)
	return none()
}

// hiveStatements are what Hive has and Spark only recognises, by first words.
// Longer ones stand before shorter ones.
var hiveStatements = [][]string{
	{"GRANT", "ROLE"}, {"GRANT"}, {"REVOKE", "ROLE"}, {"REVOKE"},
	{"EXPORT", "TABLE"}, {"IMPORT", "TABLE"}, {"LOCK", "TABLE"}, {"LOCK", "DATABASE"},
	{"UNLOCK", "TABLE"}, {"UNLOCK", "DATABASE"}, {"START", "TRANSACTION"}, {"COMMIT"}, {"ROLLBACK"}, {"DFS"},
	{"CREATE", "ROLE"}, {"CREATE", "TEMPORARY", "MACRO"}, {"DROP", "ROLE"}, {"DROP", "TEMPORARY", "MACRO"},
	{"ALTER", "INDEX"},
	{"SHOW", "CURRENT", "ROLES"}, {"SHOW", "GRANT"}, {"SHOW", "ROLE", "GRANT"}, {"SHOW", "ROLE"},
	{"SHOW", "PRINCIPALS"}, {"SHOW", "ROLES"}, {"SHOW", "COMPACTIONS"}, {"SHOW", "TRANSACTIONS"},
	{"SHOW", "INDEXES"}, {"SHOW", "LOCKS"},
}

// unsupported are the statements that Spark has and weir has not, by first
// words. The second word alone being wrong is an error that names it.
var unsupported = [][]string{
	{"ALTER", "TABLE"}, {"ALTER", "VIEW"}, {"ALTER", "SCHEMA"}, {"ALTER", "DATABASE"},
	{"ALTER", "NAMESPACE"},
	{"TRUNCATE", "TABLE"}, {"COMMENT", "ON"},
	{"DECLARE"}, {"LOAD", "DATA"}, {"MSCK", "REPAIR", "TABLE"}, {"REPAIR", "TABLE"}, {"ADD"}, {"LIST"}, {"CALL"},
	{"EXECUTE", "IMMEDIATE"}, {"BEGIN"},
	{"CONVERT", "TO", "DELTA"}, {"REORG", "TABLE"}, {"GENERATE"},
	{"CREATE", "OR", "REPLACE", "TEMPORARY", "FUNCTION"}, {"CREATE", "OR", "REPLACE", "FUNCTION"},
	{"CREATE", "TEMPORARY", "FUNCTION"}, {"CREATE", "FUNCTION"}, {"CREATE", "INDEX"},
	{"CREATE", "MATERIALIZED", "VIEW"}, {"CREATE", "STREAMING", "TABLE"}, {"CREATE", "FLOW"},
	{"DROP", "TEMPORARY", "FUNCTION"}, {"DROP", "FUNCTION"}, {"DROP", "TEMPORARY", "VARIABLE"},
	{"DROP", "TEMPORARY", "VAR"}, {"DROP", "INDEX"},
	{"SHOW", "PROCEDURES"}, {"SHOW", "TABLE", "EXTENDED"}, {"DESCRIBE", "PROCEDURE"}, {"DESC", "PROCEDURE"},
}

// notOurs refuses the statements of the two lists; nil for all others.
func (p *parser) notOurs() plan.Node {
	for _, words := range hiveStatements {
		if p.ahead(words...) {
			return p.hiveOnly(p.i, strings.Join(words, " "))
		}
	}
	for _, words := range unsupported {
		if !p.spelled(words) {
			continue
		}
		start := p.i
		p.skip(len(words))
		if p.cur().kind == tokEnd && words[len(words)-1] != "PROCEDURES" {
			p.syntax("")
			return none()
		}
		return p.refuseRest(start, strings.Join(words, " "))
	}
	return nil
}

// spelled reports whether the next tokens are words, keywords of Spark's or not.
func (p *parser) spelled(words []string) bool {
	for i, w := range words {
		if !p.isWord(i, w) {
			return false
		}
	}
	return true
}

// refused reads what begins with no word that another reader takes.
func (p *parser) refused() plan.Node {
	if n := p.notOurs(); n != nil {
		return n
	}
	hint := ""
	if p.at("TRUNCATE") {
		hint = "missing 'TABLE'"
	}
	for _, words := range unsupported {
		if len(words) > 1 && p.at(words[0]) {
			p.skip(1)
			break
		}
	}
	p.syntax(hint)
	return none()
}

// explain reads EXPLAIN [mode] statement.
func (p *parser) explain() plan.Node {
	start := p.i
	p.skip(1)
	e := &plan.Explain{}
	switch p.cur().word {
	case "EXTENDED":
		e.Mode = plan.ExplainExtended
	case "CODEGEN":
		e.Mode = plan.ExplainCodegen
	case "COST":
		e.Mode = plan.ExplainCost
	case "FORMATTED":
		e.Mode = plan.ExplainFormatted
	}
	logical := p.at("LOGICAL")
	if logical || e.Mode != plan.ExplainSimple {
		p.skip(1)
	}
	if !p.enter() {
		return none()
	}
	e.Query = p.statement()
	p.leave()
	if logical {
		p.mistake(start, "INVALID_STATEMENT_OR_CLAUSE", "There is no statement EXPLAIN LOGICAL.",
			"operation", "EXPLAIN LOGICAL")
	}
	return e
}

// caching reads the statements about caches and statistics. weir keeps neither,
// so they only name a table that must exist; CACHE TABLE t AS query makes a view.
func (p *parser) caching() plan.Node {
	start := p.i
	word := p.cur().word
	p.skip(1)
	switch word {
	case "CACHE":
		return p.cacheTable()
	case "UNCACHE":
		p.expect("TABLE")
		optional := p.ifExists()
		n := &plan.NoOp{Statement: "UNCACHE TABLE", Table: p.reference()}
		if optional {
			n.Table = nil
		}
		return n
	case "CLEAR":
		p.expect("CACHE")
		return &plan.NoOp{Statement: "CLEAR CACHE"}
	case "REFRESH":
		return p.refresh(start)
	default:
		return p.analyzeTable()
	}
}

func (p *parser) cacheTable() plan.Node {
	if p.at("LAZY") {
		p.skip(1)
	}
	p.expect("TABLE")
	name := p.reference()
	if p.ahead("OPTIONS", "(") {
		p.skip(1)
		p.properties()
	}
	if !p.at("AS") && !p.queryAhead(0) {
		return &plan.NoOp{Statement: "CACHE TABLE", Table: name}
	}
	p.accept("AS")
	body := p.i
	q := p.query()
	return &plan.CreateView{Name: name, Temporary: true, Query: q, Text: p.source(body)}
}

func (p *parser) refresh(start int) plan.Node {
	switch {
	case p.at("TABLE") && p.peek(1).isName() && !p.peek(2).isName():
		p.skip(1)
		return &plan.NoOp{Statement: "REFRESH TABLE", Table: p.reference()}
	case p.at("FUNCTION") && p.peek(1).isName():
		return p.refuseRest(start, "REFRESH FUNCTION")
	case p.cur().kind == tokString && p.peek(1).kind != tokWord:
		p.stringLit()
		return &plan.NoOp{Statement: "REFRESH"}
	}
	path := strings.TrimSpace(p.text[p.cur().start:])
	p.rest()
	if path == "" {
		p.mistake(start, "INVALID_SQL_SYNTAX.EMPTY_REFRESH_RESOURCE_PATH", "REFRESH needs a table or a path.")
	} else if strings.ContainsAny(path, " \t\n\r") {
		p.mistake(start, "INVALID_SQL_SYNTAX.INVALID_REFRESH_RESOURCE_PATH",
			"REFRESH takes a table or a path in quotes.")
	}
	return &plan.NoOp{Statement: "REFRESH"}
}

func (p *parser) analyzeTable() plan.Node {
	if p.at("TABLES") {
		p.skip(1)
		if p.accept("IN") || p.accept("FROM") {
			p.reference()
		}
		p.statistics()
		return &plan.NoOp{Statement: "ANALYZE TABLES"}
	}
	p.expect("TABLE")
	n := &plan.NoOp{Statement: "ANALYZE TABLE", Table: p.reference()}
	if p.at("PARTITION") {
		p.partition()
	}
	p.statistics()
	return n
}

func (p *parser) statistics() {
	p.expectAll("COMPUTE", "STATISTICS")
	switch {
	case p.acceptAll("FOR", "ALL", "COLUMNS"):
	case p.acceptAll("FOR", "COLUMNS"):
		p.list(func() { p.strictIdent() })
	case p.cur().isName():
		p.skip(1)
	}
}

// ifExists reads IF EXISTS if it is next.
func (p *parser) ifExists() bool { return p.acceptAll("IF", "EXISTS") }

// ifNotExists reads IF NOT EXISTS if it is next.
func (p *parser) ifNotExists() bool {
	if !p.acceptAll("IF", "NOT") && !p.acceptAll("IF", "!") {
		return false
	}
	if !p.accept("EXISTS") {
		p.syntax("missing 'EXISTS'")
	}
	return true
}

// use reads USE [SCHEMA|CATALOG] name.
func (p *parser) use() plan.Node {
	p.skip(1)
	u := &plan.Use{}
	if p.peek(1).isName() {
		switch p.cur().word {
		case "CATALOG":
			u.Catalog = true
			p.skip(1)
		case "SCHEMA", "DATABASE", "NAMESPACE":
			p.skip(1)
		}
	}
	u.Name = p.reference()
	return u
}
