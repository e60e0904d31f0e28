package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// lateral reads a relation that may begin with LATERAL; joined says that one stands
// in front of it, whose columns it may then name.
func (p *parser) lateral(joined bool) (in plan.Node, lateral bool) {
	start := p.i
	if !p.at("LATERAL") || !p.peek(1).isName() && p.peek(1).word != "(" {
		return p.relationPrimary(), false
	}
	p.skip(1)
	parenthesised := p.at("(") && p.queryAhead(1)
	in = p.relationPrimary()
	if joined && !parenthesised && !derived(in) {
		p.mistake(start, "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC",
			"LATERAL stands before a subquery or a table function only.")
	}
	return in, true
}

// derived reports whether a relation of FROM is a subquery or a function.
func derived(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.NamedTable, *plan.Join, *plan.InlineTable:
		return false
	case *plan.SubqueryAlias:
		return len(n.Name) == 1 && n.Name[0] == anonymous || derived(n.Input)
	default:
		return true
	}
}

var outerJoins = map[plan.JoinType]string{
	plan.RightJoin: "RIGHT OUTER", plan.FullJoin: "FULL OUTER",
	plan.SemiJoin: "LEFT SEMI", plan.AntiJoin: "LEFT ANTI",
}

// checkLateral refuses joins that LATERAL cannot be part of.
func (p *parser) checkLateral(j *plan.Join) {
	if !j.Lateral {
		return
	}
	start := p.i
	switch {
	case j.Natural:
		p.mistake(start, "INCOMPATIBLE_JOIN_TYPES", "A join is LATERAL or NATURAL, not both.",
			"joinType1", "LATERAL", "joinType2", "NATURAL")
	case j.Using != nil:
		p.mistake(start, "UNSUPPORTED_FEATURE.LATERAL_JOIN_USING", "A lateral join has ON, not USING.")
	case j.Kind != plan.InnerJoin && j.Kind != plan.CrossJoin && j.Kind != plan.LeftJoin:
		kind := outerJoins[j.Kind]
		p.mistake(start, "INVALID_LATERAL_JOIN_TYPE", "A lateral join is INNER, LEFT or CROSS, not "+kind+".",
			"joinType", kind)
	}
}

// tableFunction reads the arguments of a function in FROM.
func (p *parser) tableFunction(start int, name []string) plan.Node {
	p.skip(1)
	f := &plan.TableFunction{Name: name}
	if !p.at(")") {
		p.list(func() { f.Args = append(f.Args, p.tableArgument()) })
	}
	p.expect(")")
	f.Origin = p.origin(start)
	return p.finishRelation(start, f)
}

// tableArgument reads an argument of a table function, which may be a table.
func (p *parser) tableArgument() plan.Expr {
	named := p.cur().isName() && p.peek(1).word == "=>"
	at := 0
	if named {
		at = 2
	}
	next := p.peek(at + 1)
	if p.peek(at).word != "TABLE" || !next.isName() && next.word != "(" {
		return p.argument()
	}
	if !named {
		return p.table()
	}
	key := p.ident()
	p.skip(1)
	return &plan.NamedArg{Key: key, Child: p.table()}
}

// table reads TABLE (name or query) and how its rows are to come.
func (p *parser) table() plan.Expr {
	start := p.i
	p.skip(1)
	s := &plan.Subquery{Kind: plan.TableSubquery, Table: &plan.TableArg{}}
	switch own := p.i; {
	case !p.at("("):
		name := p.name()
		p.mistake(own, "INVALID_SQL_SYNTAX.INVALID_TABLE_FUNCTION_IDENTIFIER_ARGUMENT_MISSING_PARENTHESES",
			"The table that is an argument stands in parentheses: TABLE ("+strings.Join(name, ".")+").",
			"argumentName", plan.QuoteParts(name))
		s.Plan = &plan.OneRow{}
	case p.queryAhead(1):
		p.skip(1)
		s.Plan = p.query()
		p.close()
	default:
		p.skip(1)
		own = p.i
		s.Plan = &plan.NamedTable{Name: p.reference(), Origin: p.origin(own)}
		p.close()
	}
	p.partitioning(s.Table)
	s.Origin = p.origin(start)
	return s
}

// partitioning reads WITH SINGLE PARTITION or PARTITION BY, and ORDER BY.
func (p *parser) partitioning(t *plan.TableArg) {
	switch {
	case p.ahead("WITH", "SINGLE", "PARTITION"):
		p.skip(3)
		t.Single = true
	case p.ahead("PARTITION", "BY"), p.ahead("DISTRIBUTE", "BY"):
		p.skip(2)
		p.itemOrItems("PARTITION BY", func() { t.Partition = append(t.Partition, p.expr()) })
	default:
		return
	}
	if p.ahead("ORDER", "BY") || p.ahead("SORT", "BY") {
		p.skip(2)
		p.itemOrItems("ORDER BY", func() { t.Order = append(t.Order, p.sortItem()) })
	}
}

// itemOrItems reads one item, or several in parentheses.
func (p *parser) itemOrItems(clause string, item func()) {
	start := p.i
	if p.at("(") && p.cur().mate != 0 && p.atAnyAt(int(p.cur().mate)+1-p.i, ")", ",", "ORDER", "SORT") {
		p.skip(1)
		p.list(item)
		p.close()
		return
	}
	item()
	if p.at(",") && p.inTable(1) {
		p.mistake(start, "INVALID_SQL_SYNTAX.INVALID_TABLE_FUNCTION_TABLE_ARGUMENT_PARTITIONING",
			"Several expressions of "+clause+" stand in parentheses.", "clause", clause)
	}
}

// inTable reports whether what follows goes on with the clause of a table rather
// than with the next argument: Spark's grammar tries the clause first.
func (p *parser) inTable(n int) bool { return !p.atAnyAt(n, "TABLE") && p.peek(n+1).word != "=>" }
