package sql

import (
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// pathAhead1 reports whether a table follows the next token: a name, or the path of
// a Delta table as text.
func (p *parser) pathAhead1() bool { return p.peek(1).isName() || p.peek(1).kind == tokString }

// deltaTable reads a table that may be given by its path as text.
func (p *parser) deltaTable() []string {
	if p.cur().kind == tokString {
		return []string{"delta", p.stringLit()}
	}
	return p.reference()
}

// describeDelta reads DESCRIBE HISTORY t [LIMIT n] and DESCRIBE DETAIL t.
func (p *parser) describeDelta(what plan.DescribeKind) plan.Node {
	p.skip(1)
	d := &plan.Describe{What: what, Name: p.deltaTable()}
	if what == plan.DescribeHistory && p.accept("LIMIT") {
		t := p.cur()
		n, err := strconv.Atoi(p.text[t.start:t.end])
		if t.kind != tokInteger || err != nil {
			p.syntax("")
			return none()
		}
		p.skip(1)
		d.Limit = n
	}
	return d
}

// optimize reads OPTIMIZE t [WHERE condition] [ZORDER BY (columns)].
func (p *parser) optimize() plan.Node {
	start := p.i
	if !p.pathAhead1() {
		return p.refused()
	}
	p.skip(1)
	o := &plan.Optimize{Table: p.deltaTable()}
	if p.atWord("FULL") {
		return p.refuseRest(start, "OPTIMIZE FULL")
	}
	if p.accept("WHERE") {
		o.Where = []plan.Expr{p.expr()}
	}
	if p.atWord("ZORDER") {
		p.skip(1)
		p.expect("BY")
		p.perhapsParenthesised(func() { o.ZOrder = append(o.ZOrder, p.name()) })
	}
	return o
}

// vacuum reads VACUUM t [RETAIN n HOURS] [DRY RUN].
func (p *parser) vacuum() plan.Node {
	start := p.i
	if !p.pathAhead1() {
		return p.refused()
	}
	p.skip(1)
	v := &plan.Vacuum{Table: p.deltaTable()}
	for p.err == nil && p.cur().kind != tokEnd && !p.at(";") {
		switch {
		case p.atWord("RETAIN") && v.Hours == nil:
			p.skip(1)
			v.Hours = p.hours()
		case p.atWord("DRY") && p.isWord(1, "RUN") && !v.DryRun:
			p.skip(2)
			v.DryRun = true
		case p.atWord("FULL"):
			p.skip(1)
		case p.atWord("LITE"), p.at("USING"):
			return p.refuseRest(start, "VACUUM "+p.text[p.cur().start:p.cur().end])
		default:
			p.syntax("")
		}
	}
	return v
}

func (p *parser) hours() *float64 {
	t := p.cur()
	n, err := strconv.ParseFloat(p.text[t.start:t.end], 64)
	if t.kind != tokInteger && t.kind != tokDecimal || err != nil {
		p.syntax("")
		return nil
	}
	p.skip(1)
	if !p.accept("HOURS") {
		p.expect("HOUR")
	}
	return &n
}

// restore reads RESTORE [TABLE] t [TO] VERSION AS OF n, or TIMESTAMP AS OF.
func (p *parser) restore() plan.Node {
	if !p.pathAhead1() {
		return p.refused()
	}
	p.skip(1)
	if p.at("TABLE") && (p.peek(1).isName() || p.peek(1).kind == tokString) {
		p.skip(1)
	}
	r := &plan.Restore{Table: p.deltaTable()}
	p.accept("TO")
	if r.Options = p.timeTravel(); r.Options == nil {
		p.syntax("")
	}
	return r
}

// clone reads SHALLOW CLONE t [VERSION AS OF n] [TBLPROPERTIES (…)] [LOCATION 'path']
// behind the name of a new table.
func (p *parser) clone(start int, t *plan.CreateTable) plan.Node {
	p.skip(2)
	c := &plan.Clone{Name: t.Name, IfNotExists: t.IfNotExists, Replace: t.Replace, Source: p.reference()}
	c.Options = p.timeTravel()
	for p.err == nil {
		switch {
		case p.accept("TBLPROPERTIES"):
			c.Properties = p.orderedProperties()
		case p.accept("LOCATION"):
			c.Location = p.stringLit()
		default:
			return c
		}
	}
	return c
}
