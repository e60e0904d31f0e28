package sql

import (
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// deleteFrom reads DELETE FROM t [alias] [WHERE condition].
func (p *parser) deleteFrom() plan.Node {
	p.skip(1)
	p.expectMissable("FROM")
	d := &plan.Delete{Table: p.changed("DELETE")}
	if p.accept("WHERE") {
		d.Cond = p.expr()
	}
	return d
}

// update reads UPDATE t [alias] SET column = value, … [WHERE condition].
func (p *parser) update() plan.Node {
	p.skip(1)
	u := &plan.Update{Table: p.changed("UPDATE")}
	p.expect("SET")
	u.Set = p.assignments()
	if p.accept("WHERE") {
		u.Cond = p.expr()
	}
	return u
}

// changed reads the table that a statement changes, with its alias.
func (p *parser) changed(statement string) plan.Node {
	start := p.i
	t := &plan.NamedTable{Name: p.reference()}
	t.Origin = p.origin(start)
	return p.named(start, t, statement)
}

// named gives a relation of a statement its alias, which has no columns.
func (p *parser) named(start int, in plan.Node, statement string) plan.Node {
	if p.at("SET") && p.peek(1).isName() && !p.atAnyAt(1, "SET") {
		return in // SET is the clause
	}
	name, columns := p.tableAlias()
	if columns != nil {
		p.mistake(start, "COLUMN_ALIASES_NOT_ALLOWED",
			"The alias of "+statement+" takes no names of columns.", "op", statement)
	}
	if name == "" {
		return in
	}
	a := plan.NewAlias(in, name)
	a.Origin = p.origin(start)
	return a
}

func (p *parser) assignments() []plan.Assignment {
	var out []plan.Assignment
	p.list(func() {
		start := p.i
		column := &plan.UnresolvedAttribute{Parts: p.name()}
		column.Origin = p.origin(start)
		p.expect("=")
		out = append(out, plan.Assignment{Column: column, Value: p.expr()})
	})
	return out
}

// merge reads MERGE … INTO t USING source ON condition WHEN …. around, if given,
// puts a WITH that stood before MERGE over the source.
func (p *parser) merge(around func(plan.Node) plan.Node) plan.Node {
	start := p.i
	p.skip(1)
	m := &plan.Merge{Evolves: p.acceptAll("WITH", "SCHEMA", "EVOLUTION")}
	p.expect("INTO")
	m.Table = p.changed("MERGE")
	p.expect("USING")
	m.Source = p.mergeSource()
	if around != nil {
		m.Source = around(m.Source)
	}
	p.expect("ON")
	m.Cond = p.expr()
	for p.ahead("WHEN", "MATCHED") {
		m.Matched = append(m.Matched, p.matched(2))
	}
	for p.ahead("WHEN", "NOT", "MATCHED") && !p.atAnyAt(4, "SOURCE") {
		words := 3
		if p.peek(3).word == "BY" {
			words = 5
		}
		m.NotMatched = append(m.NotMatched, p.notMatched(words))
	}
	for p.ahead("WHEN", "NOT", "MATCHED", "BY", "SOURCE") {
		m.BySource = append(m.BySource, p.matched(5))
	}
	p.checkMerge(start, m)
	return m
}

func (p *parser) mergeSource() plan.Node {
	start := p.i
	if !p.accept("(") {
		t := &plan.NamedTable{Name: p.reference()}
		t.Origin = p.origin(start)
		return p.named(start, t, "MERGE")
	}
	in := p.query()
	p.close()
	return p.named(start, in, "MERGE")
}

// clauseCondition reads [AND condition] THEN behind the words of a clause.
func (p *parser) clauseCondition(words int) (cond plan.Expr) {
	p.skip(words)
	if p.accept("AND") {
		cond = p.expr()
	}
	p.expect("THEN")
	return cond
}

// matched reads what happens to rows of the table.
func (p *parser) matched(words int) plan.MergeClause {
	bySource := words == 5
	c := plan.MergeClause{Cond: p.clauseCondition(words)}
	switch {
	case p.accept("DELETE"):
		c.Action = plan.MergeDelete
	case p.acceptAll("UPDATE", "SET"):
		if c.All = !bySource && p.accept("*"); !c.All {
			c.Set = p.assignments()
		}
	default:
		p.syntax("")
	}
	return c
}

// notMatched reads what is inserted.
func (p *parser) notMatched(words int) plan.MergeClause {
	c := plan.MergeClause{Action: plan.MergeInsert, Cond: p.clauseCondition(words)}
	start := p.i
	p.expect("INSERT")
	if c.All = p.accept("*"); c.All {
		return c
	}
	p.parenthesised(func() {
		own := p.i
		column := &plan.UnresolvedAttribute{Parts: p.name()}
		column.Origin = p.origin(own)
		c.Set = append(c.Set, plan.Assignment{Column: column})
	})
	p.expect("VALUES")
	n := 0
	p.parenthesised(func() {
		if value := p.expr(); n < len(c.Set) {
			c.Set[n].Value = value
		}
		n++
	})
	if n != len(c.Set) {
		p.mistake(start, "MERGE_INSERT_VALUE_COUNT_MISMATCH",
			"INSERT has "+strconv.Itoa(len(c.Set))+" columns and "+strconv.Itoa(n)+" values.",
			"expectedCount", strconv.Itoa(len(c.Set)), "actualCount", strconv.Itoa(n))
		c.Set = nil
	}
	return c
}

// checkMerge refuses a MERGE without clauses, and clauses that are never reached.
func (p *parser) checkMerge(start int, m *plan.Merge) {
	if p.err == nil && len(m.Matched)+len(m.NotMatched)+len(m.BySource) == 0 {
		if p.at("WHEN") {
			p.syntax("")
			return
		}
		p.mistake(start, "MERGE_WITHOUT_WHEN", "MERGE needs at least one WHEN.")
		return
	}
	for _, kind := range []struct {
		name    string
		clauses []plan.MergeClause
	}{{"MATCHED", m.Matched}, {"NOT_MATCHED_BY_TARGET", m.NotMatched}, {"NOT_MATCHED_BY_SOURCE", m.BySource}} {
		for i, c := range kind.clauses {
			if c.Cond == nil && i < len(kind.clauses)-1 {
				p.mistake(start, "NON_LAST_"+kind.name+"_CLAUSE_OMIT_CONDITION",
					"Only the last of several clauses may stand without a condition.")
				return
			}
		}
	}
}
