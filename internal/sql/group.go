package sql

import (
	"github.com/weir-dev/weir/internal/plan"
)

// grouping is GROUP BY: its expressions and, for GROUPING SETS and what is
// more than one plain ROLLUP or CUBE, the sets of them.
type grouping struct {
	kind  plan.GroupKind
	exprs []plan.Expr
	sets  [][]plan.Expr
}

// maxGroupingSets bounds how many sets CUBE and products of sets expand to.
const maxGroupingSets = 4096

// groupBy reads GROUP BY …; nil when it is not there.
func (p *parser) groupBy() *grouping {
	if !p.clauseHere("GROUP") {
		return nil
	}
	start := p.i
	p.skip(1)
	p.expect("BY")
	var elements []grouping
	p.list(func() { elements = append(elements, p.groupingElement()) })
	switch {
	case p.acceptAll("WITH", "ROLLUP"):
		return &grouping{kind: plan.GroupRollup, exprs: allExprs(elements)}
	case p.acceptAll("WITH", "CUBE"):
		return &grouping{kind: plan.GroupCube, exprs: allExprs(elements)}
	case p.ahead("GROUPING", "SETS", "("):
		p.skip(2)
		g := &grouping{kind: plan.GroupSets, exprs: allExprs(elements)}
		p.parenthesised(func() { g.sets = append(g.sets, p.groupingSet()) })
		return g
	}
	plain := true
	for _, e := range elements {
		plain = plain && e.kind == plan.GroupBy
	}
	switch {
	case plain:
		return &grouping{exprs: allExprs(elements)}
	case len(elements) == 1 && elements[0].sets == nil:
		return &elements[0]
	}
	g, ok := product(elements)
	if !ok {
		p.refuse(start, "GROUP BY with more than 4096 grouping sets")
	}
	return g
}

func allExprs(elements []grouping) []plan.Expr {
	var out []plan.Expr
	for _, e := range elements {
		out = append(out, e.exprs...)
	}
	return out
}

// groupingElement reads ROLLUP(…), CUBE(…), GROUPING SETS(…) or an expression.
func (p *parser) groupingElement() grouping {
	switch {
	case p.ahead("ROLLUP", "("):
		return p.rollupOrCube(plan.GroupRollup)
	case p.ahead("CUBE", "("):
		return p.rollupOrCube(plan.GroupCube)
	case p.ahead("GROUPING", "SETS", "("):
		p.skip(2)
		g := grouping{kind: plan.GroupSets}
		p.parenthesised(func() {
			if p.atAny("ROLLUP", "CUBE", "GROUPING") && p.peek(1).word != "," && !p.at(")") {
				inner := p.groupingElement()
				g.exprs = append(g.exprs, inner.exprs...)
				g.sets = append(g.sets, inner.expand()...)
				return
			}
			set := p.groupingSet()
			g.sets = append(g.sets, set)
			g.exprs = append(g.exprs, set...)
		})
		g.exprs = distinct(g.exprs)
		return g
	default:
		return grouping{exprs: []plan.Expr{p.expr()}}
	}
}

// rollupOrCube reads the arguments, each an expression or several of them in
// parentheses that come and go together.
func (p *parser) rollupOrCube(kind plan.GroupKind) grouping {
	p.skip(1)
	var parts [][]plan.Expr
	p.parenthesised(func() { parts = append(parts, p.groupingSet()) })
	g := grouping{kind: kind}
	single := true
	for _, part := range parts {
		g.exprs = append(g.exprs, part...)
		single = single && len(part) == 1
	}
	if !single {
		g.exprs = distinct(g.exprs)
		g.sets = expandParts(kind, parts)
		g.kind = plan.GroupSets
	}
	return g
}

// groupingSet reads (a, b), () or an expression.
func (p *parser) groupingSet() []plan.Expr {
	if !p.at("(") {
		return []plan.Expr{p.expr()}
	}
	if p.peek(1).word == ")" {
		p.skip(2)
		return nil
	}
	return p.rowValues(p.expr())
}

// expand is the sets that an element of GROUP BY stands for.
func (g *grouping) expand() [][]plan.Expr {
	switch {
	case g.sets != nil:
		return g.sets
	case g.kind == plan.GroupBy:
		return [][]plan.Expr{g.exprs}
	default:
		parts := make([][]plan.Expr, len(g.exprs))
		for i := range g.exprs {
			parts[i] = g.exprs[i : i+1]
		}
		return expandParts(g.kind, parts)
	}
}

// expandParts is the sets of a ROLLUP or CUBE, the largest first; nil when they
// are too many.
func expandParts(kind plan.GroupKind, parts [][]plan.Expr) [][]plan.Expr {
	var sets [][]plan.Expr
	if kind == plan.GroupRollup {
		for n := len(parts); n >= 0; n-- {
			sets = append(sets, concat(parts[:n]))
		}
		return sets
	}
	if len(parts) > 12 {
		return nil
	}
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		var chosen [][]plan.Expr
		for i, part := range parts {
			if mask>>(len(parts)-1-i)&1 == 1 {
				chosen = append(chosen, part)
			}
		}
		sets = append(sets, concat(chosen))
	}
	return sets
}

func concat(parts [][]plan.Expr) []plan.Expr {
	out := []plan.Expr{}
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

// product is the sets of several elements: each of one with each of the others.
func product(elements []grouping) (*grouping, bool) {
	g := &grouping{kind: plan.GroupSets, exprs: distinct(allExprs(elements)), sets: [][]plan.Expr{{}}}
	for i := range elements {
		more := elements[i].expand()
		if more == nil || len(more)*len(g.sets) > maxGroupingSets {
			return g, false
		}
		sets := make([][]plan.Expr, 0, len(more)*len(g.sets))
		for _, a := range g.sets {
			for _, b := range more {
				sets = append(sets, concat([][]plan.Expr{a, b}))
			}
		}
		g.sets = sets
	}
	return g, true
}

// distinct drops expressions that were written the same way before.
func distinct(exprs []plan.Expr) []plan.Expr {
	var out []plan.Expr
	seen := map[string]bool{}
	for _, e := range exprs {
		text := plan.SQLText(e)
		if !seen[text] {
			seen[text] = true
			out = append(out, e)
		}
	}
	return out
}
