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
