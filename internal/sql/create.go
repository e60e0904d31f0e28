package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// create reads CREATE … and REPLACE TABLE.
func (p *parser) create() plan.Node {
	if n := p.notOurs(); n != nil {
		return n
	}
	start := p.i
	replace := p.accept("REPLACE")
	if replace {
		return p.createTable(start, &plan.CreateTable{Replace: true})
	}
	p.skip(1)
	if p.accept("OR") {
		p.expect("REPLACE")
		replace = true
	}
	switch {
	case p.at("TABLE"):
		return p.createTable(start, &plan.CreateTable{Replace: replace, OrCreate: replace})
	case p.at("VIEW"), p.at("GLOBAL"), p.atTemporary():
		return p.createView(start, replace)
	case replace:
	case p.ahead("EXTERNAL", "TABLE"):
		p.skip(1)
		return p.createTable(start, &plan.CreateTable{})
	case p.at("SCHEMA"), p.at("DATABASE"), p.at("NAMESPACE"):
		return p.createSchema(start)
	case p.at("CATALOG"):
		return p.createCatalog()
	case p.atWord("VOLUME"), p.at("EXTERNAL") && p.isWord(1, "VOLUME"):
		return p.createVolume()
	}
	p.syntax("")
	return none()
}

// VOLUME and VOLUMES are no keywords of Spark's.
func (p *parser) atWord(word string) bool { return p.isWord(0, word) }

func (p *parser) isWord(n int, word string) bool {
	t := p.peek(n)
	return t.kind == tokWord && strings.EqualFold(p.text[t.start:t.end], word)
}

func (p *parser) atTemporary() bool { return p.at("TEMPORARY") || p.at("TEMP") }

func (p *parser) createCatalog() plan.Node {
	p.skip(1)
	c := &plan.CreateCatalog{IfNotExists: p.ifNotExists(), Name: p.strictIdent()}
	if p.accept("COMMENT") {
		c.Comment = p.stringLit()
	}
	return c
}

func (p *parser) createSchema(start int) plan.Node {
	p.skip(1)
	s := &plan.CreateSchema{IfNotExists: p.ifNotExists(), Name: p.reference()}
	seen := map[string]bool{}
	for p.err == nil {
		clause := p.cur().word
		switch {
		case p.accept("COMMENT"):
			s.Comment = p.stringLit()
		case p.accept("LOCATION"):
			s.Location = p.stringLit()
		case p.ahead("WITH", "DBPROPERTIES"), p.ahead("WITH", "PROPERTIES"):
			p.skip(2)
			s.Properties = p.properties()
		case p.ahead("DEFAULT", "COLLATION"):
			own := p.i
			p.skip(2)
			p.ident()
			p.refuse(own, "DEFAULT COLLATION")
		default:
			return s
		}
		p.once(start, seen, clause)
	}
	return s
}

// once refuses a clause that was there before.
func (p *parser) once(start int, seen map[string]bool, clause string) {
	if seen[clause] {
		p.mistake(start, "DUPLICATE_CLAUSES", "The clause "+clause+" stands there twice.", "clauseName", clause)
	}
	seen[clause] = true
}

func (p *parser) createVolume() plan.Node {
	external := p.accept("EXTERNAL")
	p.skip(1)
	v := &plan.CreateVolume{IfNotExists: p.ifNotExists(), Name: p.name()}
	if external || p.at("LOCATION") {
		p.expect("LOCATION")
		v.Location = p.stringLit()
	}
	if p.accept("COMMENT") {
		v.Comment = p.stringLit()
	}
	return v
}

// createTable reads TABLE … of CREATE and REPLACE.
func (p *parser) createTable(start int, t *plan.CreateTable) plan.Node {
	p.expect("TABLE")
	if !t.Replace {
		t.IfNotExists = p.ifNotExists()
	}
	t.Name = p.reference()
	switch {
	case p.at("LIKE"):
		return p.refuseRest(start, "CREATE TABLE LIKE")
	case p.atWord("SHALLOW") && p.isWord(1, "CLONE"):
		return p.clone(start, t)
	case p.atWord("DEEP") && p.isWord(1, "CLONE"):
		p.syntax("") // Delta Lake has shallow clones only
		return t
	}
	if p.at("(") && !p.queryAhead(0) {
		t.Schema = plan.Struct()
		p.parenthesised(func() { p.tableElement(t) })
	}
	if p.accept("USING") {
		t.Format = strings.Join(p.name(), ".")
	}
	p.tableClauses(start, t)
	if !p.at("AS") && !p.queryAhead(0) {
		return t
	}
	p.accept("AS")
	t.Query = p.query()
	if t.Schema.Fields != nil {
		p.mistake(start, "_LEGACY_ERROR_TEMP_0035", "CREATE TABLE AS takes its columns from the query.",
			"message", "Schema may not be specified in a Create Table As Select (CTAS) statement")
	}
	return t
}

// tableElement reads a column, or refuses a constraint.
func (p *parser) tableElement(t *plan.CreateTable) {
	start := p.i
	if p.at("CONSTRAINT") && p.peek(2).isName() || p.ahead("CHECK", "(") || p.ahead("PRIMARY", "KEY") ||
		p.ahead("FOREIGN", "KEY") || p.ahead("UNIQUE", "(") {
		p.skipElement()
		p.refuse(start, "A table constraint")
		return
	}
	f := plan.Col(p.strictIdent(), p.dataType())
	for p.err == nil {
		own := p.i
		switch {
		case p.atAny("NOT", "!") && p.peek(1).word == "NULL":
			p.skip(2)
			f.Nullable = false
		case p.accept("COMMENT"):
			f = f.WithComment(p.stringLit())
		case p.at("DEFAULT"), p.at("GENERATED"):
			f = p.columnValue(start, f)
		case p.at("CONSTRAINT"), p.at("CHECK"), p.at("UNIQUE"), p.at("PRIMARY"), p.at("REFERENCES"):
			word := p.cur().word
			p.skip(1)
			if p.at(",") || p.at(")") {
				p.syntax("")
			}
			p.skipElement()
			p.refuse(own, "The option "+word+" of a column")
		default:
			t.Schema.Fields = append(t.Schema.Fields, f)
			return
		}
	}
}

// skipElement skips to the comma or parenthesis that ends an element.
func (p *parser) skipElement() {
	for p.cur().kind != tokEnd && !p.atAny(",", ")") {
		if p.at("(") {
			p.skipParentheses()
			continue
		}
		p.skip(1)
	}
}

// tableClauses reads what follows the columns of a table, in any order.
func (p *parser) tableClauses(start int, t *plan.CreateTable) {
	seen := map[string]bool{}
	for p.err == nil {
		own, clause := p.i, p.cur().word
		switch {
		case p.at("OPTIONS") && p.peek(1).word == "(":
			p.skip(1)
			t.Options = p.properties()
		case p.ahead("PARTITIONED", "BY"):
			clause = "PARTITIONED BY"
			p.skip(2)
			p.parenthesised(func() { p.partitionField(t) })
		case p.accept("LOCATION"):
			t.Location = p.stringLit()
		case p.accept("COMMENT"):
			t.Comment = p.stringLit()
		case p.accept("TBLPROPERTIES"):
			t.Properties = p.properties()
		case p.ahead("CLUSTER", "BY") && p.peek(2).word == "(":
			clause = "CLUSTER BY"
			p.skip(2)
			p.parenthesised(func() { p.clusterField(t) })
		case p.ahead("CLUSTERED", "BY"), p.ahead("CLUSTER", "BY"), p.ahead("SKEWED", "BY"),
			p.ahead("STORED", "AS"), p.ahead("STORED", "BY"), p.ahead("ROW", "FORMAT"),
			p.ahead("DEFAULT", "COLLATION"):
			what := clause + " " + p.peek(1).word
			p.rest()
			p.refuse(own, "The clause "+what+" of a table")
			return
		default:
			return
		}
		p.once(start, seen, clause)
	}
}

// partitionField reads the name of a column to partition by, or a column with
// its type, which then becomes the table's last.
func (p *parser) partitionField(t *plan.CreateTable) {
	start := p.i
	name := p.name()
	switch {
	case p.at("("):
		p.skipParentheses()
		p.refuse(start, "Partitioning by "+name[0]+"(…)")
	case len(name) > 1:
		p.refuse(start, "Partitioning by a field of a struct")
	case p.cur().isName():
		p.i = start
		f := p.column(false)
		t.Schema.Fields = append(t.Schema.Fields, f)
		t.Partitions = append(t.Partitions, f.Name)
	default:
		t.Partitions = append(t.Partitions, name[0])
	}
}

// createView reads [GLOBAL] [TEMPORARY] VIEW ….
func (p *parser) createView(start int, replace bool) plan.Node {
	v := &plan.CreateView{Replace: replace, Global: p.accept("GLOBAL")}
	if p.atTemporary() {
		p.skip(1)
		v.Temporary = true
	} else if v.Global {
		p.syntax("")
		return none()
	}
	if v.Temporary && p.at("TABLE") && !v.Global {
		if strings.Contains(strings.ToUpper(p.text), "USING") {
			return p.refuseRest(start, "CREATE TEMPORARY TABLE")
		}
		p.rest()
		p.mistake(start, "_LEGACY_ERROR_TEMP_0046", "There are no temporary tables; make a temporary view.")
		return none()
	}
	p.expect("VIEW")
	v.IfNotExists = p.ifNotExists()
	v.Name = p.reference()
	if v.Temporary && p.viewUsingAhead() {
		return p.viewUsing(v)
	}
	p.viewColumns(v)
	p.viewClauses(start, v)
	p.expect("AS")
	body := p.i
	v.Query = p.query()
	v.Text = p.source(body)
	if v.IfNotExists && v.Replace {
		p.mistake(start, "CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE",
			"A view is either replaced or made if it does not exist.", "viewName", strings.Join(v.Name, "."))
	}
	return v
}

// viewColumns reads (name [COMMENT 'x'], …).
func (p *parser) viewColumns(v *plan.CreateView) {
	if !p.at("(") {
		return
	}
	p.parenthesised(func() {
		start := p.i
		v.Columns = append(v.Columns, p.strictIdent())
		if p.accept("COMMENT") {
			p.stringLit()
			p.refuse(start, "A comment on a column of a view")
		}
	})
}

func (p *parser) viewClauses(start int, v *plan.CreateView) {
	seen := map[string]bool{}
	for p.err == nil {
		own, clause := p.i, p.cur().word
		switch {
		case p.accept("COMMENT"):
			v.Comment = p.stringLit()
		case p.accept("TBLPROPERTIES"):
			p.properties()
			p.refuse(own, "TBLPROPERTIES of a view")
		case p.acceptAll("WITH", "SCHEMA"):
			p.accept("TYPE")
			p.skip(1)
			p.refuse(own, "WITH SCHEMA of a view")
		case p.acceptAll("PARTITIONED", "ON"):
			p.names()
			p.refuse(own, "PARTITIONED ON of a view")
		case p.acceptAll("DEFAULT", "COLLATION"):
			p.ident()
			p.refuse(own, "DEFAULT COLLATION")
		default:
			return
		}
		p.once(start, seen, clause)
	}
}

// viewUsingAhead reports whether a view over a format follows its name.
func (p *parser) viewUsingAhead() bool {
	if p.at("(") && p.cur().mate > 0 {
		return p.toks[p.cur().mate+1].word == "USING"
	}
	return p.at("USING")
}

// viewUsing reads [(columns)] USING format [OPTIONS (…)].
func (p *parser) viewUsing(v *plan.CreateView) plan.Node {
	r := &plan.Read{}
	if p.at("(") {
		p.skip(1)
		schema := plan.Struct(p.columns()...)
		r.Schema = &schema
		p.close()
	}
	p.expect("USING")
	r.Format = strings.Join(p.name(), ".")
	if p.at("OPTIONS") {
		p.skip(1)
		r.Options = p.properties()
	}
	v.Query = r
	return v
}

// properties reads (key = value, …) with a key of words or text and a constant
// for a value; "=" may be left out.
func (p *parser) properties() plan.Options {
	out := plan.Options{}
	p.parenthesised(func() {
		start := p.i
		key := p.propertyKey()
		if !p.accept("=") && p.atAny(",", ")") {
			p.mistake(start, "_LEGACY_ERROR_TEMP_0035", "The key "+key+" has no value.",
				"message", "Values must be specified for key(s): ["+key+"]")
			return
		}
		out[key] = p.propertyValue()
	})
	return out
}

func (p *parser) propertyKey() string {
	if p.cur().kind == tokString {
		return p.oneString()
	}
	return strings.Join(p.name(), ".")
}

func (p *parser) propertyValue() string {
	t := p.cur()
	switch {
	case t.kind == tokString, p.at(":"), p.at("?"):
		return p.stringLit()
	case t.kind == tokInteger, t.kind == tokDecimal:
		p.skip(1)
		return p.text[t.start:t.end]
	case p.at("TRUE"), p.at("FALSE"):
		p.skip(1)
		return strings.ToLower(t.word)
	default:
		p.syntax("")
		return ""
	}
}

// drop reads DROP ….
func (p *parser) drop() plan.Node {
	if n := p.notOurs(); n != nil {
		return n
	}
	p.skip(1)
	switch {
	case p.accept("TABLE"):
		t := &plan.DropTable{IfExists: p.ifExists(), Name: p.reference()}
		p.accept("PURGE")
		return t
	case p.accept("VIEW"):
		return &plan.DropTable{View: true, IfExists: p.ifExists(), Name: p.reference()}
	case p.at("SCHEMA"), p.at("DATABASE"), p.at("NAMESPACE"):
		p.skip(1)
		s := &plan.DropSchema{IfExists: p.ifExists(), Name: p.reference()}
		s.Cascade = p.cascade()
		return s
	case p.accept("CATALOG"):
		c := &plan.DropCatalog{IfExists: p.ifExists(), Name: p.strictIdent()}
		c.Cascade = p.cascade()
		return c
	case p.atWord("VOLUME"):
		p.skip(1)
		return &plan.DropVolume{IfExists: p.ifExists(), Name: p.name()}
	}
	if p.atTemporary() {
		p.skip(1)
	}
	p.syntax("")
	return none()
}

func (p *parser) cascade() bool {
	if p.accept("CASCADE") {
		return true
	}
	p.accept("RESTRICT")
	return false
}
