package sql

import "github.com/weir-dev/weir/internal/plan"

// alter reads ALTER TABLE …. Other things cannot be altered.
func (p *parser) alter() plan.Node {
	if !p.ahead("ALTER", "TABLE") {
		return p.refused()
	}
	start := p.i
	p.skip(2)
	if p.cur().kind == tokEnd {
		p.syntax("")
		return none()
	}
	a := &plan.AlterTable{Table: p.reference()}
	c := &a.Change
	switch {
	case p.ahead("ADD", "CONSTRAINT"):
		c.AddConstraint = p.addConstraint(start)
	case p.at("ADD") && p.atAnyAt(1, "COLUMN", "COLUMNS"):
		p.skip(2)
		p.perhapsParenthesised(func() { c.AddColumns = append(c.AddColumns, p.newColumn()) })
	case p.acceptAll("RENAME", "COLUMN"):
		c.Rename = p.renameColumn()
	case p.acceptAll("RENAME", "TO"):
		c.RenameTo = p.name()
	case p.acceptAll("DROP", "CONSTRAINT"):
		c.IfExists = p.ifExists()
		c.DropCheck = p.strictIdent()
	case p.at("DROP") && p.atAnyAt(1, "COLUMN", "COLUMNS"):
		p.skip(2)
		c.IfExists = p.ifExists()
		p.perhapsParenthesised(func() { c.DropColumns = append(c.DropColumns, p.name()) })
	case p.acceptAll("SET", "TBLPROPERTIES"):
		c.SetProperties = p.orderedProperties()
	case p.acceptAll("UNSET", "TBLPROPERTIES"):
		c.IfExists = p.ifExists()
		p.parenthesised(func() { c.Unset = append(c.Unset, p.propertyKey()) })
	case p.atAny("ALTER", "CHANGE"):
		return p.alterColumn(start, a)
	case p.at("ADD") && p.peek(1).kind == tokEnd:
		p.skip(1)
		p.syntax("")
	default:
		return p.refuseRest(start, "ALTER TABLE … "+p.cur().word)
	}
	return a
}

// perhapsParenthesised reads items between commas, in parentheses or not.
func (p *parser) perhapsParenthesised(item func()) {
	if p.at("(") {
		p.parenthesised(item)
		return
	}
	p.list(item)
}

// newColumn reads name type [NOT NULL] [COMMENT 'text'] [FIRST | AFTER column].
func (p *parser) newColumn() plan.NewColumn {
	start := p.i
	c := plan.NewColumn{Path: p.name()}
	c.Field = plan.Col(c.Path[len(c.Path)-1], p.dataType())
	for p.err == nil {
		own := p.i
		switch {
		case p.atAny("NOT", "!") && p.peek(1).word == "NULL":
			p.skip(2)
			c.Field.Nullable = false
		case p.accept("COMMENT"):
			c.Field = c.Field.WithComment(p.stringLit())
		case p.at("DEFAULT"), p.at("GENERATED"):
			c.Field = p.columnValue(own, c.Field)
		case p.placing(&c.Place):
		default:
			c.Origin = p.origin(start)
			return c
		}
	}
	return c
}

// placing reads FIRST or AFTER column if it is next.
func (p *parser) placing(place *plan.Placing) bool {
	switch {
	case p.accept("FIRST"):
		place.First = true
	case p.at("AFTER") && p.peek(1).isName():
		p.skip(1)
		place.After = p.strictIdent()
	default:
		return false
	}
	return true
}

func (p *parser) renameColumn() *plan.ColumnRename {
	start := p.i
	r := &plan.ColumnRename{Path: p.name()}
	r.Origin = p.origin(start)
	p.expect("TO")
	r.To = p.strictIdent()
	return r
}

func (p *parser) addConstraint(start int) *plan.Constraint {
	p.skip(2)
	c := &plan.Constraint{Name: p.strictIdent()}
	if !p.at("CHECK") {
		p.refuseRest(start, "A constraint that is no CHECK")
		return c
	}
	p.skip(1)
	p.expect("(")
	own := p.i
	c.Cond = p.expr()
	c.Text = p.source(own)
	p.close()
	return c
}

// orderedProperties reads (key = value, …) in the order of the text.
func (p *parser) orderedProperties() []plan.Property {
	var out []plan.Property
	p.parenthesised(func() {
		key := p.propertyKey()
		if p.accept("="); p.err == nil {
			out = append(out, plan.Property{Key: key, Value: p.propertyValue()})
		}
	})
	return out
}

// alterColumn reads ALTER [COLUMN] column change, and CHANGE [COLUMN] old new type ….
func (p *parser) alterColumn(start int, a *plan.AlterTable) plan.Node {
	change := p.at("CHANGE")
	p.skip(1)
	if p.at("COLUMN") && p.peek(1).isName() {
		p.skip(1)
	}
	own := p.i
	c := &plan.ColumnChange{Path: p.name()}
	a.Change.Column = c
	yes, no := true, false
	switch {
	case p.accept("TYPE"):
		t := p.dataType()
		c.Type = &t
	case p.accept("COMMENT"):
		text := p.stringLit()
		c.Comment = &text
	case p.placing(&c.Place):
	case p.acceptAll("SET", "NOT", "NULL"):
		c.Nullable = &no
	case p.acceptAll("DROP", "NOT", "NULL"):
		c.Nullable = &yes
	case p.acceptAll("SET", "DEFAULT"):
		from := p.i
		p.expr()
		text := p.source(from)
		c.Default = &text
	case p.acceptAll("DROP", "DEFAULT"):
		text := ""
		c.Default = &text
	case change && p.cur().isName():
		p.changeColumn(own, c)
	default:
		return p.refuseRest(start, "ALTER TABLE … ALTER COLUMN "+p.cur().word)
	}
	c.Origin = p.origin(own)
	if p.at(",") {
		return p.refuseRest(start, "ALTER TABLE … ALTER COLUMN of several columns")
	}
	return a
}

// changeColumn reads what stands behind CHANGE old: the same name, type and comment
// as Hive has them.
func (p *parser) changeColumn(start int, c *plan.ColumnChange) {
	if name := p.name(); len(name) != len(c.Path) || name[len(name)-1] != c.Path[len(c.Path)-1] {
		p.refuse(start, "Renaming a column by CHANGE COLUMN; use RENAME COLUMN")
	}
	t := p.dataType()
	c.Type = &t
	if p.accept("COMMENT") {
		text := p.stringLit()
		c.Comment = &text
	}
	p.placing(&c.Place)
}

// commentOn reads COMMENT ON TABLE t IS 'text'.
func (p *parser) commentOn() plan.Node {
	if !p.ahead("COMMENT", "ON", "TABLE") {
		return p.refused()
	}
	p.skip(3)
	a := &plan.AlterTable{Table: p.reference()}
	p.expect("IS")
	text := ""
	if !p.accept("NULL") {
		text = p.stringLit()
	}
	a.Change.Comment = &text
	return a
}

// truncate reads TRUNCATE TABLE t [PARTITION (…)].
func (p *parser) truncate() plan.Node {
	if !p.ahead("TRUNCATE", "TABLE") || p.peek(2).kind == tokEnd {
		return p.refused()
	}
	p.skip(2)
	t := &plan.Truncate{Table: p.reference()}
	if p.at("PARTITION") {
		t.Partition = p.partition()
	}
	return t
}
