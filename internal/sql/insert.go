package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// insert reads INSERT INTO|OVERWRITE [TABLE] t … query. around, if given, puts
// a WITH that stood before INSERT over the query.
func (p *parser) insert(around func(plan.Node) plan.Node) plan.Node {
	start := p.i
	p.skip(1)
	in := &plan.Insert{}
	switch {
	case p.accept("OVERWRITE"):
		in.Overwrite = true
		if p.at("DIRECTORY") && p.peek(1).kind == tokString || p.ahead("LOCAL", "DIRECTORY") ||
			p.ahead("DIRECTORY", "USING") {
			return p.insertDirectory(start, around)
		}
	case p.accept("INTO"):
	default:
		p.syntax("")
		return none()
	}
	if p.at("TABLE") && p.peek(1).isName() {
		p.skip(1)
	}
	in.Table = p.reference()
	if p.ahead("WITH", "(") {
		own := p.i
		p.skip(1)
		p.properties()
		p.refuse(own, "Options of INSERT")
	}
	if !in.Overwrite && p.acceptAll("REPLACE", "WHERE") {
		in.Replace = p.expr()
	}
	if p.at("PARTITION") && p.peek(1).word == "(" {
		in.Partition = p.partition()
	}
	if own := p.i; p.ifNotExists() {
		p.refuse(own, "INSERT … IF NOT EXISTS")
	}
	switch {
	case p.acceptAll("BY", "NAME"):
		in.ByName = true
	case p.at("(") && !p.queryAhead(0):
		in.Columns = p.names()
	}
	in.Query = p.query()
	if around != nil {
		in.Query = around(in.Query)
	}
	return in
}

// insertDirectory reads [LOCAL] DIRECTORY ['path'] USING format [OPTIONS (…)] query.
func (p *parser) insertDirectory(start int, around func(plan.Node) plan.Node) plan.Node {
	p.accept("LOCAL")
	p.skip(1)
	w := &plan.Write{Mode: plan.SaveOverwrite, Statement: true}
	if p.cur().kind == tokString {
		w.Path = p.oneString()
	}
	if p.atAny("STORED", "ROW") {
		return p.refuseRest(start, "INSERT OVERWRITE DIRECTORY in Hive's formats")
	}
	p.expect("USING")
	w.Format = strings.Join(p.name(), ".")
	if p.at("OPTIONS") {
		p.skip(1)
		w.Options = p.properties()
	}
	if w.Input = p.query(); around != nil {
		w.Input = around(w.Input)
	}
	if _, option := w.Options.Get("path"); p.err == nil && option == (w.Path != "") {
		p.mistake(start, "_LEGACY_ERROR_TEMP_0049",
			"The directory is named once: behind DIRECTORY, or by the option path.")
	}
	return w
}

// partition reads PARTITION (column [= value], …).
func (p *parser) partition() []plan.PartitionValue {
	p.skip(1)
	var out []plan.PartitionValue
	p.parenthesised(func() {
		v := plan.PartitionValue{Column: p.ident()}
		if p.accept("=") {
			own := p.i
			v.Value = p.primary()
			if _, ok := v.Value.(*plan.Literal); !ok {
				p.refuse(own, "A partition value that is no constant")
			}
		}
		out = append(out, v)
	})
	return out
}
