package sql

import (
	"math/rand/v2"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// pivots reads PIVOT and UNPIVOT behind a relation.
func (p *parser) pivots(in plan.Node) plan.Node {
	for p.atAny("PIVOT", "UNPIVOT") && p.clauseAhead(0) && p.err == nil {
		start := p.i
		if p.at("PIVOT") {
			in = p.pivot(in)
		} else {
			in = p.unpivot(in)
		}
		in = p.aliased(start, in)
	}
	return in
}

// pivot reads PIVOT (aggregate, … FOR column IN (value, …)).
func (p *parser) pivot(in plan.Node) plan.Node {
	start := p.i
	p.skip(1)
	p.expect("(")
	n := plan.NewAggregate(in, nil, nil)
	n.Kind, n.Pivot = plan.GroupPivot, &plan.Pivot{Rest: true}
	p.list(func() {
		e := p.expr()
		if p.accept("AS") || p.cur().isName() && !p.at("FOR") {
			e = &plan.Alias{Child: e, Names: []string{p.strictIdent()}}
		}
		n.Exprs = append(n.Exprs, e)
	})
	p.expect("FOR")
	if own := p.i; p.at("(") {
		p.skipParentheses()
		p.refuse(own, "PIVOT by several columns")
	} else {
		n.Pivot.Column = &plan.UnresolvedAttribute{Parts: p.name(), Origin: p.origin(own)}
	}
	p.expect("IN")
	p.expect("(")
	p.list(func() { n.Pivot.Values = append(n.Pivot.Values, p.namedExpr()) })
	p.close()
	p.close()
	n.Origin = p.origin(start)
	return n
}

// unpivot reads UNPIVOT [INCLUDE NULLS] (value FOR name IN (column [AS label], …)), or
// the same with several values in parentheses.
func (p *parser) unpivot(in plan.Node) plan.Node {
	start := p.i
	p.skip(1)
	nulls := p.ahead("INCLUDE", "NULLS")
	if nulls || p.ahead("EXCLUDE", "NULLS") {
		p.skip(2)
	}
	p.expect("(")
	n := plan.NewUnpivot(in, "", nil)
	n.FromSQL, n.Nulls = true, nulls
	several := p.at("(")
	if several {
		n.Names = p.names()
	} else {
		n.Names = []string{p.ident()}
	}
	p.expect("FOR")
	n.Variable = p.ident()
	p.expect("IN")
	p.expect("(")
	p.list(func() { p.unpivotColumns(n, several) })
	p.close()
	p.close()
	n.Origin = p.origin(start)
	return n
}

// unpivotColumns reads the columns of one row, and their label.
func (p *parser) unpivotColumns(n *plan.Unpivot, several bool) {
	var group []plan.Expr
	column := func() {
		own := p.i
		group = append(group, &plan.UnresolvedAttribute{Parts: p.name(), Origin: p.origin(own)})
	}
	if several {
		p.expect("(")
		p.list(column)
		p.close()
	} else {
		column()
	}
	label := ""
	if p.at("AS") || p.cur().isName() {
		p.accept("AS")
		label = p.ident()
	}
	n.Values, n.Labels = append(n.Values, group), append(n.Labels, label)
}

// tableSample reads TABLESAMPLE (… PERCENT | ROWS | BUCKET …) [REPEATABLE (seed)].
func (p *parser) tableSample(in plan.Node) plan.Node {
	start := p.i
	p.skip(1)
	p.expect("(")
	var out plan.Node
	share, sampled := 0.0, true
	if p.accept("BUCKET") {
		bucket := p.sampleNumber()
		p.expectAll("OUT", "OF")
		if of := p.sampleNumber(); of > 0 {
			share = bucket / of
		}
		if p.at("ON") {
			p.mistake(start, "_LEGACY_ERROR_TEMP_0015", "TABLESAMPLE takes no buckets of a column.",
				"msg", "BUCKET x OUT OF y ON colname")
			p.skip(2)
		}
	} else if p.peek(1).word == "PERCENT" || p.peek(2).word == "PERCENT" {
		share = p.sampleNumber() / 100
		p.expect("PERCENT")
	} else {
		own := p.i
		out, sampled = plan.NewLimit(in, p.expr(), nil), false
		if p.at(")") && p.err == nil {
			text := p.text[p.toks[own].start:p.toks[p.i-1].end]
			p.close()
			p.mistake(start, "_LEGACY_ERROR_TEMP_0016", text+" is no number of bytes to sample.", "bytesStr", text)
			return in
		}
		p.expect("ROWS")
	}
	p.close()
	seed := rand.Int64N(1000)
	if p.accept("REPEATABLE") {
		p.expect("(")
		seed = int64(p.sampleNumber())
		p.close()
	}
	if !sampled {
		return out
	}
	if share < 0 || share > 1 {
		text := strconv.FormatFloat(share, 'f', -1, 64)
		if share == float64(int64(share)) {
			text += ".0"
		}
		p.mistake(start, "INVALID_TABLESAMPLE_FRACTION", "A sample is from 0 to 100 percent.", "fraction", text)
	}
	return plan.NewSample(in, 0, share, seed)
}

// sampleNumber reads a number with or without a sign.
func (p *parser) sampleNumber() float64 {
	sign := 1.0
	if p.accept("-") {
		sign = -1
	}
	t := p.cur()
	n, err := strconv.ParseFloat(p.text[t.start:t.end], 64)
	if err != nil {
		p.syntax("")
		return 0
	}
	p.skip(1)
	return sign * n
}
