package plan

import (
	"strconv"
	"strings"
)

// names are the spellings of a kind: in SQL (upper case), in simple text
// (lower case) and in schema JSON.
var names = [...]struct{ sql, json string }{
	KindNull:         {"VOID", "void"},
	KindBoolean:      {"BOOLEAN", "boolean"},
	KindByte:         {"TINYINT", "byte"},
	KindShort:        {"SMALLINT", "short"},
	KindInt:          {"INT", "integer"},
	KindLong:         {"BIGINT", "long"},
	KindFloat:        {"FLOAT", "float"},
	KindDouble:       {"DOUBLE", "double"},
	KindDecimal:      {"DECIMAL", "decimal"},
	KindString:       {"STRING", "string"},
	KindChar:         {"CHAR", "char"},
	KindVarChar:      {"VARCHAR", "varchar"},
	KindBinary:       {"BINARY", "binary"},
	KindDate:         {"DATE", "date"},
	KindTime:         {"TIME", "time"},
	KindTimestamp:    {"TIMESTAMP", "timestamp"},
	KindTimestampNTZ: {"TIMESTAMP_NTZ", "timestamp_ntz"},
	KindYearMonth:    {"INTERVAL", "interval"},
	KindDayTime:      {"INTERVAL", "interval"},
	KindCalendar:     {"INTERVAL", "interval"},
	KindArray:        {"ARRAY", "array"},
	KindMap:          {"MAP", "map"},
	KindStruct:       {"STRUCT", "struct"},
	KindVariant:      {"VARIANT", "variant"},
}

var fieldNames = [...]string{"year", "month", "day", "hour", "minute", "second"}

// String is the text of a field in a type name, such as "day".
func (f IntervalField) String() string { return fieldNames[f] }

// SQL is the type as SQL writes it: DECIMAL(10,2), STRUCT<a: INT NOT NULL>.
func (t Type) SQL() string {
	switch t.Kind {
	case KindArray:
		return "ARRAY<" + t.Elem.SQL() + ">"
	case KindMap:
		return "MAP<" + t.Key.SQL() + ", " + t.Elem.SQL() + ">"
	case KindStruct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = QuoteIfNeeded(f.Name) + ": " + f.Type.SQL()
			if !f.Nullable {
				parts[i] += " NOT NULL"
			}
		}
		return "STRUCT<" + strings.Join(parts, ", ") + ">"
	case KindString:
		if t.Collation != "" {
			return "STRING COLLATE " + t.Collation
		}
		return "STRING"
	default:
		return strings.ToUpper(t.Simple())
	}
}

// Simple is the type as DESCRIBE and schema trees of DDL write it:
// decimal(10,2), struct<a:int>.
func (t Type) Simple() string {
	switch t.Kind {
	case KindArray:
		return "array<" + t.Elem.Simple() + ">"
	case KindMap:
		return "map<" + t.Key.Simple() + "," + t.Elem.Simple() + ">"
	case KindStruct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ":" + f.Type.Simple()
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	case KindString:
		if t.Collation != "" {
			return "string collate " + t.Collation
		}
		return "string"
	default:
		return strings.ToLower(names[t.Kind].sql) + t.suffix()
	}
}

// Tree is the type's name in printSchema: "long", "decimal(10,2)", "struct".
func (t Type) Tree() string {
	switch t.Kind {
	case KindArray, KindMap, KindStruct:
		return names[t.Kind].json
	case KindString:
		return t.Simple()
	default:
		return names[t.Kind].json + t.suffix()
	}
}

// suffix is what follows the name of an atomic type with parameters.
func (t Type) suffix() string {
	switch t.Kind {
	case KindDecimal:
		return "(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	case KindChar, KindVarChar:
		return "(" + strconv.Itoa(t.Length) + ")"
	case KindTime:
		return "(" + strconv.Itoa(t.Precision) + ")"
	case KindYearMonth, KindDayTime:
		if t.Start == t.End {
			return " " + t.Start.String()
		}
		return " " + t.Start.String() + " to " + t.End.String()
	default:
		return ""
	}
}

// DDL is a schema as the column list of CREATE TABLE: `a INT NOT NULL,b STRING`.
func (t Type) DDL() string {
	parts := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		parts[i] = QuoteIfNeeded(f.Name) + " " + f.Type.SQL()
		if !f.Nullable {
			parts[i] += " NOT NULL"
		}
		if c := f.Comment(); c != "" {
			parts[i] += " COMMENT '" + strings.ReplaceAll(strings.ReplaceAll(c, `\`, `\\`), "'", `\'`) + "'"
		}
	}
	return strings.Join(parts, ",")
}

// QuoteIfNeeded puts backquotes around a name that is not a plain identifier.
func QuoteIfNeeded(name string) string {
	plain := name != ""
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		return name
	}
	return Quote(name)
}

// Quote puts backquotes around a name.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// QuoteParts is a dotted name with every part quoted: `a`.`b`.
func QuoteParts(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = Quote(p)
	}
	return strings.Join(quoted, ".")
}
