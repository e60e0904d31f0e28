package sql

import (
	"math"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// ParseType reads a data type.
func ParseType(text string) (plan.Type, error) {
	p := newParser(text, Parameters{})
	t := p.dataType()
	p.end()
	return t, p.failure()
}

// ParseSchema reads a schema in DDL: a INT NOT NULL COMMENT 'x', b STRING. As
// in Spark it may also be a type, which need not be a struct, or the fields of
// a struct with colons. When nothing fits, the error is about the first form.
func ParseSchema(text string) (plan.Type, error) {
	p := newParser(text, Parameters{})
	t := plan.Struct(p.columns()...)
	p.end()
	err := p.failure()
	if err == nil {
		return t, nil
	}
	if t, err := ParseType(text); err == nil {
		return t, nil
	}
	if t, err := ParseType("struct<" + strings.TrimSpace(text) + ">"); err == nil {
		return t, nil
	}
	return plan.Type{}, err
}

// ParseSchemaText reads a schema that is an argument of a function, in any form of
// ParseSchema. When nothing fits, the error is about a type, the last form that Spark
// tries, and Spark's class of an analysis.
func ParseSchemaText(text string) (plan.Type, error) {
	if strings.TrimSpace(text) == "" {
		return plan.Type{}, plan.AnalysisError("PARSE_EMPTY_STATEMENT", "The schema is empty.")
	}
	t, err := ParseSchema(text)
	if err == nil {
		return t, nil
	}
	if first, ok := err.(*plan.Error); !ok || first.Condition != "FAILED_TO_PARSE_TOO_COMPLEX" {
		_, err = ParseType(text)
	}
	if said, ok := err.(*plan.Error); ok {
		about := *said
		about.Class = plan.ClassAnalysis
		return plan.Type{}, &about
	}
	return plan.Type{}, err
}

// columns reads name type [NOT NULL] [COMMENT 'x'], ….
func (p *parser) columns() []plan.Field {
	var out []plan.Field
	p.list(func() { out = append(out, p.column(false)) })
	return out
}

// column reads one column; colon allows one behind the name.
func (p *parser) column(colon bool) plan.Field {
	name := p.strictIdent()
	if colon {
		p.accept(":")
	}
	f := plan.Col(name, p.dataType())
	if p.atAny("NOT", "!") && p.peek(1).word == "NULL" {
		p.skip(2)
		f.Nullable = false
	}
	if p.at("COMMENT") && p.peek(1).kind == tokString {
		p.skip(1)
		f = f.WithComment(p.stringLit())
	}
	return f
}

var simpleTypes = map[string]plan.Type{
	"BOOLEAN": plan.Boolean,
	"TINYINT": plan.Byte, "BYTE": plan.Byte,
	"SMALLINT": plan.Short, "SHORT": plan.Short,
	"INT": plan.Int, "INTEGER": plan.Int,
	"BIGINT": plan.Long, "LONG": plan.Long,
	"FLOAT": plan.Float, "REAL": plan.Float,
	"DOUBLE": plan.Double, "DATE": plan.Date, "BINARY": plan.Binary, "VOID": plan.Null, "VARIANT": plan.Variant,
	"TIMESTAMP": plan.Timestamp, "TIMESTAMP_LTZ": plan.Timestamp, "TIMESTAMP_NTZ": plan.TimestampNTZ,
}

// dataType reads a type.
func (p *parser) dataType() plan.Type {
	if !p.cur().isName() {
		p.syntax("")
		return plan.Null
	}
	if !p.enter() {
		return plan.Null
	}
	defer p.leave()
	start := p.i
	word := p.cur().word
	if p.peek(1).word == "IDENTIFIER" || p.cur().kind == tokQuoted {
		word = ""
	}
	p.plainIdent()
	switch word {
	case "ARRAY", "MAP", "STRUCT":
		return p.nestedType(start, word)
	case "STRING":
		t := p.sizedType(start, plan.String)
		if p.accept("COLLATE") {
			name := p.name()
			if t.Collation = strings.ToUpper(name[len(name)-1]); t.Collation == "UTF8_BINARY" {
				t.Collation = ""
			}
		}
		return t
	case "CHAR", "CHARACTER", "VARCHAR":
		return p.charType(start, word)
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimalType(start)
	case "INTERVAL":
		return p.intervalType()
	case "TIMESTAMP", "TIME":
		return p.timeType(start, word)
	case "GEOMETRY", "GEOGRAPHY":
		if p.at("(") {
			p.skip(3)
			p.refuse(start, "The type "+word)
			return plan.Null
		}
	}
	t, ok := simpleTypes[word]
	if !ok {
		return p.unknownType(start)
	}
	return p.sizedType(start, t)
}

// sizedType is a type that takes no size.
func (p *parser) sizedType(start int, t plan.Type) plan.Type {
	if p.at("(") && p.peek(1).kind == tokInteger {
		return p.unknownType(start)
	}
	return t
}

// unknownType refuses a type that was read up to here, with its parameters.
func (p *parser) unknownType(start int) plan.Type {
	if p.at("(") && p.peek(1).kind == tokInteger {
		p.parenthesised(func() { p.integerValue() })
	}
	if p.err != nil {
		return plan.Null
	}
	name := strings.ToUpper(strings.ReplaceAll(p.source(start), " ", ""))
	p.mistake(start, "UNSUPPORTED_DATATYPE", "There is no type "+name+".", "typeName", `"`+name+`"`)
	return plan.Null
}

// integerValue reads an integer that counts something.
func (p *parser) integerValue() int {
	t := p.cur()
	if t.kind != tokInteger {
		p.syntax("")
		return 0
	}
	p.skip(1)
	n, err := strconv.Atoi(p.text[t.start:t.end])
	if err != nil || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return n
}

func (p *parser) nestedType(start int, word string) plan.Type {
	if word == "STRUCT" && p.accept("<>") {
		return plan.Struct()
	}
	if !p.accept("<") {
		return p.incompleteType(start, word)
	}
	var t plan.Type
	switch word {
	case "ARRAY":
		t = plan.Array(p.dataType(), true)
	case "MAP":
		key := p.dataType()
		p.expect(",")
		t = plan.Map(key, p.dataType(), true)
	default:
		t = plan.Struct()
		if !p.at(">") {
			p.list(func() { t.Fields = append(t.Fields, p.column(true)) })
		}
	}
	p.expect(">")
	return t
}

func (p *parser) incompleteType(start int, word string) plan.Type {
	if p.cur().kind == tokSymbol && !p.atAny(")", ",", ">", ";") || p.at("<>") {
		p.syntax("")
		return plan.Null
	}
	var args []string
	if word == "ARRAY" {
		args = []string{"elementType", "<INT>"}
	}
	p.mistake(start, "INCOMPLETE_TYPE_DEFINITION."+word,
		"The type "+word+" needs the types of its parts.", args...)
	return plan.Null
}

func (p *parser) charType(start int, word string) plan.Type {
	name := strings.TrimSuffix(word, "ACTER")
	if !p.at("(") {
		p.mistake(start, "DATATYPE_MISSING_SIZE", "The type "+name+" needs a length.", "type", `"`+name+`"`)
		return plan.String
	}
	n := 0
	p.parenthesised(func() { n = p.integerValue() })
	t := plan.Char(n)
	if name == "VARCHAR" {
		t = plan.VarChar(n)
	}
	if p.accept("COLLATE") {
		parts := p.name()
		t.Collation = strings.ToUpper(parts[len(parts)-1])
	}
	return t
}

func (p *parser) decimalType(start int) plan.Type {
	sizes := []int{10, 0}
	if p.at("(") {
		sizes = sizes[:0]
		p.parenthesised(func() { sizes = append(sizes, p.integerValue()) })
	}
	switch len(sizes) {
	case 1:
		sizes = append(sizes, 0)
	case 2:
	default:
		return p.unknownType(start)
	}
	precision, scale := sizes[0], sizes[1]
	switch {
	case scale > precision:
		if p.fault == nil && p.err == nil {
			p.fault = plan.NewError(plan.ClassParse, "DECIMAL_SCALE_EXCEEDS_PRECISION",
				"A decimal of "+strconv.Itoa(precision)+" digits has at most as many behind its point.",
				"precision", strconv.Itoa(precision), "scale", strconv.Itoa(scale))
		}
		return plan.Decimal(10, 0)
	case precision > plan.MaxPrecision:
		p.tooPrecise(start, precision, false)
		return plan.Decimal(10, 0)
	}
	return plan.Decimal(precision, scale)
}

func (p *parser) intervalType() plan.Type {
	from := fieldNamed(p.cur().word)
	if from < 0 {
		return plan.Calendar
	}
	p.skip(1)
	to := from
	if p.at("TO") {
		to = fieldNamed(p.peek(1).word)
		if to <= from || (from <= int(plan.FieldMonth)) != (to <= int(plan.FieldMonth)) {
			p.syntax("")
			return plan.Calendar
		}
		p.skip(2)
	}
	t := plan.Type{Kind: plan.KindDayTime, Start: plan.IntervalField(from), End: plan.IntervalField(to)}
	if to <= int(plan.FieldMonth) {
		t.Kind = plan.KindYearMonth
	}
	return t
}

// timeType reads what may follow TIMESTAMP and TIME.
func (p *parser) timeType(start int, word string) plan.Type {
	t := plan.Timestamp
	if word == "TIME" {
		t = plan.Time(6)
	}
	if p.at("(") && p.peek(1).kind == tokInteger {
		p.parenthesised(func() { t.Precision = p.integerValue() })
		switch {
		case word == "TIMESTAMP":
			p.refuse(start, "A timestamp with a precision of its own")
			t.Precision = 0
		case t.Precision > 9 && p.fault == nil:
			n := strconv.Itoa(t.Precision)
			p.fault = plan.NewError(plan.ClassSpark, "UNSUPPORTED_TIME_PRECISION",
				"TIME has up to 9 digits of a second, not "+n+".", "precision", n)
		}
	}
	if p.acceptAll("WITHOUT", "TIME", "ZONE") && word == "TIMESTAMP" {
		t = plan.TimestampNTZ
	}
	return t
}

// castType is what a cast to t yields: bounded strings lose their bound.
func castType(t plan.Type) plan.Type {
	switch t.Kind {
	case plan.KindChar, plan.KindVarChar:
		return plan.Type{Kind: plan.KindString, Collation: t.Collation}
	case plan.KindArray:
		return plan.Array(castType(*t.Elem), t.ContainsNull)
	case plan.KindMap:
		return plan.Map(castType(*t.Key), castType(*t.Elem), t.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(t.Fields))
		for i, f := range t.Fields {
			f.Type = castType(f.Type)
			fields[i] = f
		}
		return plan.Struct(fields...)
	default:
		return t
	}
}
