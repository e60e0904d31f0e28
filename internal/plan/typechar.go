package plan

import (
	"encoding/json"
	"strings"
)

// lengthMark is the key of a column's metadata under which Spark keeps the type
// with its CHAR and VARCHAR parts; the column's own type has strings there.
const lengthMark = "__CHAR_VARCHAR_TYPE_STRING"

// Bounded reports whether t or a part of it is CHAR or VARCHAR.
func (t Type) Bounded() bool {
	if t.Kind == KindChar || t.Kind == KindVarChar || t.Key != nil && t.Key.Bounded() ||
		t.Elem != nil && t.Elem.Bounded() {
		return true
	}
	for _, f := range t.Fields {
		if f.Type.Bounded() {
			return true
		}
	}
	return false
}

// CharAsString is the error for CHAR and VARCHAR in a schema that rows are given: they
// are types of the columns of tables.
func (t Type) CharAsString() error {
	if !t.Bounded() {
		return nil
	}
	return AnalysisError("UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING",
		"The schema "+t.DDL()+" has CHAR or VARCHAR, which are types of tables. Write STRING in its place, or set "+
			"spark.sql.legacy.charVarcharAsString=true.")
}

// Unbounded is t with strings in the place of CHAR and VARCHAR: the type of the
// values.
func (t Type) Unbounded() Type {
	if !t.Bounded() {
		return t
	}
	switch t.Kind {
	case KindArray:
		return Array(t.Elem.Unbounded(), t.ContainsNull)
	case KindMap:
		return Map(t.Key.Unbounded(), t.Elem.Unbounded(), t.ContainsNull)
	case KindStruct:
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f
			fields[i].Type = f.Type.Unbounded()
		}
		return Struct(fields...)
	default:
		return String
	}
}

// MarkLengths is a schema of strings whose columns remember in their metadata
// that they are CHAR or VARCHAR.
func MarkLengths(schema Type) Type {
	fields := make([]Field, len(schema.Fields))
	for i, f := range schema.Fields {
		if f.Type.Bounded() {
			f = f.With(lengthMark, JSONText(f.Type.Simple()))
			f.Type = f.Type.Unbounded()
		}
		fields[i] = f
	}
	return Struct(fields...)
}

// RestoreLengths undoes MarkLengths. A mark that does not fit its column's type
// stays where it is.
func RestoreLengths(schema Type) Type {
	fields := make([]Field, len(schema.Fields))
	for i, f := range schema.Fields {
		fields[i] = restored(f)
	}
	return Struct(fields...)
}

func restored(f Field) Field {
	if !strings.Contains(f.Metadata, lengthMark) {
		return f
	}
	var entries map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(f.Metadata), &entries) != nil ||
		json.Unmarshal(entries[lengthMark], &text) != nil {
		return f
	}
	t, rest, ok := withLengths(f.Type, text)
	if !ok || rest != "" {
		return f
	}
	delete(entries, lengthMark)
	f.Type, f.Metadata = t, ""
	if len(entries) > 0 {
		rest, err := json.Marshal(entries)
		if err != nil {
			panic(err) // it was read from JSON
		}
		f.Metadata = string(rest)
	}
	return f
}

// withLengths reads the text of a type (Simple) along the type t, which differs
// from it in having strings for CHAR and VARCHAR, and gives what follows.
func withLengths(t Type, text string) (bounded Type, rest string, ok bool) {
	switch t.Kind {
	case KindArray:
		elem, rest, ok := enclosed(text, "array<", *t.Elem)
		rest, closed := strings.CutPrefix(rest, ">")
		return Array(elem, t.ContainsNull), rest, ok && closed
	case KindMap:
		key, rest, ok := enclosed(text, "map<", *t.Key)
		if !ok {
			return t, text, false
		}
		elem, rest, ok := enclosed(rest, ",", *t.Elem)
		rest, closed := strings.CutPrefix(rest, ">")
		return Map(key, elem, t.ContainsNull), rest, ok && closed
	case KindStruct:
		return structWithLengths(t, text)
	case KindString:
		for _, kind := range []string{"char(", "varchar("} {
			if end := strings.IndexByte(text, ')'); strings.HasPrefix(text, kind) && end > 0 {
				named, err := typeNamed(text[:end+1])
				return named, text[end+1:], err == nil
			}
		}
	}
	rest, ok = strings.CutPrefix(text, t.Simple())
	return t, rest, ok
}

// enclosed reads a part that follows an opening.
func enclosed(text, opening string, t Type) (Type, string, bool) {
	rest, ok := strings.CutPrefix(text, opening)
	if !ok {
		return t, text, false
	}
	return withLengths(t, rest)
}

func structWithLengths(t Type, text string) (Type, string, bool) {
	fields := make([]Field, len(t.Fields))
	opening := "struct<"
	for i, f := range t.Fields {
		rest, ok := strings.CutPrefix(text, opening)
		name := f.Name + ":"
		if quoted := Quote(f.Name) + ":"; strings.HasPrefix(rest, quoted) {
			name = quoted
		}
		if !ok {
			return t, text, false
		}
		if f.Type, text, ok = enclosed(rest, name, f.Type); !ok {
			return t, text, false
		}
		fields[i], opening = f, ","
	}
	rest, ok := strings.CutPrefix(text, ">")
	return Struct(fields...), rest, ok
}

// CharLength is the length of a column that is CHAR by its metadata.
func (e *Attribute) CharLength() (int, bool) {
	if !strings.Contains(e.Metadata, lengthMark) {
		return 0, false
	}
	t := restored(e.Field()).Type
	return t.Length, t.Kind == KindChar
}
