package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// show reads SHOW ….
func (p *parser) show() plan.Node {
	if n := p.notOurs(); n != nil {
		return n
	}
	p.skip(1)
	word := p.cur().word
	switch {
	case word == "CATALOGS":
		p.skip(1)
		return &plan.Show{What: plan.ShowCatalogs, Pattern: p.likePattern()}
	case word == "SCHEMAS", word == "DATABASES", word == "NAMESPACES":
		return p.showIn(plan.ShowSchemas)
	case word == "TABLES":
		return p.showIn(plan.ShowTables)
	case word == "VIEWS":
		return p.showIn(plan.ShowViews)
	case p.atWord("VOLUMES"):
		return p.showIn(plan.ShowVolumes)
	case word == "COLUMNS":
		return p.showColumns()
	case word == "TBLPROPERTIES":
		return p.showProperties()
	case word == "PARTITIONS":
		return p.showPartitions()
	case word == "CREATE":
		return p.showCreate()
	case word == "CURRENT":
		p.skip(1)
		if !p.atAny("NAMESPACE", "SCHEMA", "DATABASE") {
			p.syntax("")
			return none()
		}
		p.skip(1)
		return &plan.Show{What: plan.ShowCurrentNamespace}
	case p.cur().isName():
		return p.showFunctions()
	}
	p.syntax("")
	return none()
}

// likePattern reads [LIKE] 'pattern' if it is next.
func (p *parser) likePattern() string {
	if p.accept("LIKE") || p.cur().kind == tokString {
		return p.stringLit()
	}
	return ""
}

// showIn reads a kind of things, then [FROM|IN name] [[LIKE] 'pattern'].
func (p *parser) showIn(what plan.ShowKind) plan.Node {
	p.skip(1)
	s := &plan.Show{What: what}
	if p.accept("FROM") || p.accept("IN") {
		s.In = p.reference()
	}
	s.Pattern = p.likePattern()
	return s
}

func (p *parser) showColumns() plan.Node {
	p.skip(1)
	if !p.accept("FROM") {
		p.expect("IN")
	}
	s := &plan.Show{What: plan.ShowColumns, In: p.reference()}
	if p.accept("FROM") || p.accept("IN") {
		s.In = append(p.name(), s.In...)
	}
	return s
}

func (p *parser) showProperties() plan.Node {
	p.skip(1)
	s := &plan.Show{What: plan.ShowProperties, In: p.reference()}
	if p.accept("(") {
		s.Key = p.propertyKey()
		p.close()
	}
	return s
}

func (p *parser) showPartitions() plan.Node {
	start := p.i
	p.skip(1)
	s := &plan.Show{What: plan.ShowPartitions, In: p.reference()}
	if p.at("PARTITION") {
		p.partition()
		p.refuse(start, "SHOW PARTITIONS with PARTITION")
	}
	return s
}

func (p *parser) showCreate() plan.Node {
	start := p.i
	p.skip(1)
	p.expect("TABLE")
	if p.err == nil && !p.cur().isName() {
		return p.hiveOnly(start-1, "SHOW CREATE TABLE")
	}
	s := &plan.Show{What: plan.ShowCreateTable, In: p.reference()}
	if p.acceptAll("AS", "SERDE") {
		p.refuse(start, "SHOW CREATE TABLE AS SERDE")
	}
	if p.err == nil && p.cur().kind != tokEnd && !p.at(";") {
		return p.hiveOnly(start-1, "SHOW CREATE TABLE")
	}
	return s
}

// showFunctions reads [scope] FUNCTIONS [FROM|IN schema] [[LIKE] pattern].
func (p *parser) showFunctions() plan.Node {
	s := &plan.Show{What: plan.ShowFunctions}
	start := p.i
	if !p.at("FUNCTIONS") || p.peek(1).word == "FUNCTIONS" {
		s.Key = strings.ToUpper(p.plainIdent())
		if !p.at("FUNCTIONS") {
			p.syntax("missing 'FUNCTIONS'")
			return none()
		}
	}
	p.skip(1)
	if p.accept("FROM") || p.accept("IN") {
		s.In = p.reference()
	}
	like := p.accept("LIKE")
	switch {
	case p.cur().kind == tokString:
		s.Pattern = p.stringLit()
	case like || p.cur().isName():
		name := p.name()
		s.Pattern = name[len(name)-1]
		if len(name) > 1 {
			s.In = name[:len(name)-1]
		}
	}
	if s.Key != "" && s.Key != "ALL" && s.Key != "USER" && s.Key != "SYSTEM" {
		scope := strings.ToLower(s.Key)
		p.mistake(start-1, "INVALID_SQL_SYNTAX.SHOW_FUNCTIONS_INVALID_SCOPE",
			"SHOW FUNCTIONS takes USER, SYSTEM or ALL, not "+scope+".", "scope", plan.Quote(scope))
	}
	return s
}

// describe reads DESCRIBE ….
func (p *parser) describe() plan.Node {
	if n := p.notOurs(); n != nil {
		return n
	}
	p.skip(1)
	named := p.peek(1).isName()
	switch {
	case p.at("FUNCTION") && p.peek(1).kind != tokEnd && !p.atAnyAt(1, ".", ";"):
		return p.describeFunction()
	case named && (p.at("SCHEMA") || p.at("DATABASE") || p.at("NAMESPACE")):
		return p.describeNamed(plan.DescribeSchema)
	case named && p.at("CATALOG"):
		return p.describeNamed(plan.DescribeCatalog)
	case named && p.atWord("VOLUME"):
		return p.describeNamed(plan.DescribeVolume)
	case p.atWord("HISTORY") && p.pathAhead1():
		return p.describeDelta(plan.DescribeHistory)
	case p.atWord("DETAIL") && p.pathAhead1():
		return p.describeDelta(plan.DescribeDetail)
	case p.at("QUERY") && p.queryAhead(1):
		p.skip(1)
		return &plan.Describe{What: plan.DescribeQuery, Query: p.query()}
	case p.queryAhead(0) && !(p.at("TABLE") && p.peek(2).kind == tokEnd) && !p.at("TABLE"):
		return &plan.Describe{What: plan.DescribeQuery, Query: p.query()}
	default:
		return p.describeTable()
	}
}

func (p *parser) describeNamed(what plan.DescribeKind) plan.Node {
	p.skip(1)
	d := &plan.Describe{What: what}
	if p.at("EXTENDED") && p.peek(1).isName() {
		p.skip(1)
		d.Extended = true
	}
	d.Name = p.reference()
	return d
}

func (p *parser) describeFunction() plan.Node {
	p.skip(1)
	d := &plan.Describe{What: plan.DescribeFunction}
	if p.at("EXTENDED") && p.peek(1).kind != tokEnd {
		p.skip(1)
		d.Extended = true
	}
	switch t := p.cur(); {
	case t.kind == tokString:
		d.Name = []string{p.stringLit()}
	case t.kind == tokSymbol && t.word != "(" && t.word != ";":
		n := p.shiftLength()
		if t.word != ">" {
			n = 1
		}
		p.skip(n)
		d.Name = []string{p.text[t.start:p.prev().end]}
	default:
		d.Name = p.reference()
	}
	return d
}

// describeTable reads [TABLE] [EXTENDED|FORMATTED] name [column].
func (p *parser) describeTable() plan.Node {
	start := p.i
	d := &plan.Describe{What: plan.DescribeTable}
	if p.at("TABLE") && p.peek(1).isName() {
		p.skip(1)
	}
	if p.atAny("EXTENDED", "FORMATTED") && p.peek(1).isName() {
		p.skip(1)
		d.Extended = true
	}
	d.Name = p.reference()
	if p.at("PARTITION") && p.peek(1).word == "(" {
		p.partition()
		p.refuse(start, "DESCRIBE of a partition")
	}
	if p.cur().isName() && !p.ahead("AS", "JSON") {
		d.Column = p.name()
	}
	if p.acceptAll("AS", "JSON") {
		p.refuse(start, "DESCRIBE … AS JSON")
	}
	return d
}
