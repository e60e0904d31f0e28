package sql

import (
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// columnValue reads DEFAULT … or GENERATED … of a column, which go into its metadata
// as Spark has it.
func (p *parser) columnValue(start int, f plan.Field) plan.Field {
	if p.at("DEFAULT") {
		p.once(start, p.columnClauses(f), "DEFAULT")
		p.skip(1)
		own := p.i
		p.expr()
		return f.With(plan.DefaultMark, plan.JSONText(p.source(own)))
	}
	p.once(start, p.columnClauses(f), "GENERATED")
	p.skip(1)
	byDefault := p.acceptAll("BY", "DEFAULT")
	if !byDefault {
		p.expect("ALWAYS")
	}
	p.expect("AS")
	if !byDefault && p.at("(") {
		p.skip(1)
		own := p.i
		p.expr()
		text := p.source(own)
		p.close()
		return f.With(plan.GeneratedMark, plan.JSONText(text))
	}
	p.expect("IDENTITY")
	return p.identity(start, f, byDefault)
}

// columnClauses are those that a column has already.
func (p *parser) columnClauses(f plan.Field) map[string]bool {
	return map[string]bool{"DEFAULT": f.Has(plan.DefaultMark),
		"GENERATED": f.Has(plan.GeneratedMark) || f.Has(plan.IdentityStart)}
}

// identity reads [(START WITH n INCREMENT BY n)].
func (p *parser) identity(start int, f plan.Field, explicit bool) plan.Field {
	first, step := int64(1), int64(1)
	seen := map[string]bool{}
	if p.accept("(") {
		for p.err == nil && !p.at(")") {
			word := p.cur().word
			if seen[word] {
				p.mistake(start, "IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION",
					"The option "+word+" of an identity column stands there twice.", "sequenceGeneratorOption", word)
			}
			seen[word] = true
			if p.accept("START") {
				p.expect("WITH")
				first = p.whole()
				continue
			}
			p.expect("INCREMENT")
			p.expect("BY")
			step = p.whole()
		}
		p.close()
	}
	switch {
	case step == 0:
		p.mistake(start, "IDENTITY_COLUMNS_ILLEGAL_STEP", "An identity column does not count in steps of 0.")
	case f.Type.Kind != plan.KindLong && f.Type.Kind != plan.KindInt:
		p.mistake(start, "IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE", "An identity column is a BIGINT.",
			"dataType", f.Type.SQL())
	}
	return f.With(plan.IdentityStart, strconv.FormatInt(first, 10)).
		With(plan.IdentityStep, strconv.FormatInt(step, 10)).
		With(plan.IdentityExplicit, strconv.FormatBool(explicit))
}

// whole reads a whole number with or without a sign.
func (p *parser) whole() int64 {
	sign := ""
	if p.accept("-") {
		sign = "-"
	} else {
		p.accept("+")
	}
	t := p.cur()
	if t.kind != tokInteger {
		p.syntax("")
		return 1
	}
	p.skip(1)
	n, err := strconv.ParseInt(sign+p.text[t.start:t.end], 10, 64)
	if err != nil {
		p.syntax("")
	}
	return n
}

// clusterField reads a column to cluster by.
func (p *parser) clusterField(t *plan.CreateTable) {
	start := p.i
	name := p.name()
	if len(name) > 1 {
		p.refuse(start, "Clustering by a field of a struct")
	}
	t.Clustering = append(t.Clustering, name[0])
}
