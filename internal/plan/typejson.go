package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxTypeDepth bounds the nesting of a type read from outside.
const maxTypeDepth = 500

// JSON is the type in Spark's schema JSON, as it stands in Delta logs,
// Parquet footers and Arrow metadata.
func (t Type) JSON() string {
	var b strings.Builder
	t.writeJSON(&b)
	return b.String()
}

func (t Type) writeJSON(b *strings.Builder) {
	switch t.Kind {
	case KindArray:
		b.WriteString(`{"type":"array","elementType":`)
		t.Elem.writeJSON(b)
		fmt.Fprintf(b, `,"containsNull":%t}`, t.ContainsNull)
	case KindMap:
		b.WriteString(`{"type":"map","keyType":`)
		t.Key.writeJSON(b)
		b.WriteString(`,"valueType":`)
		t.Elem.writeJSON(b)
		fmt.Fprintf(b, `,"valueContainsNull":%t}`, t.ContainsNull)
	case KindStruct:
		b.WriteString(`{"type":"struct","fields":[`)
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			f.writeJSON(b)
		}
		b.WriteString("]}")
	case KindString:
		b.WriteString(`"string"`)
	default:
		b.WriteString(`"` + names[t.Kind].json + t.suffix() + `"`)
	}
}

func (f Field) writeJSON(b *strings.Builder) {
	b.WriteString(`{"name":`)
	b.WriteString(JSONText(f.Name))
	b.WriteString(`,"type":`)
	f.Type.writeJSON(b)
	metadata := f.Metadata
	if metadata == "" {
		metadata = "{}"
	}
	fmt.Fprintf(b, `,"nullable":%t,"metadata":%s}`, f.Nullable, metadata)
}

// JSONText is a string as a JSON literal, without escaping of <, > and &.
func JSONText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Comment is the column comment kept in a field's metadata.
func (f Field) Comment() string {
	if f.Metadata == "" {
		return ""
	}
	var m struct {
		Comment string `json:"comment"`
	}
	if json.Unmarshal([]byte(f.Metadata), &m) != nil {
		return ""
	}
	return m.Comment
}

// WithComment is the field with a comment in its metadata.
func (f Field) WithComment(comment string) Field {
	if comment == "" {
		return f
	}
	return f.With("comment", JSONText(comment))
}

// With is the field with an entry more in its metadata; value is JSON.
func (f Field) With(key, value string) Field {
	entry := "{" + JSONText(key) + ":" + value
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(f.Metadata), "{"))
	if rest == "" || rest == "}" {
		f.Metadata = entry + "}"
		return f
	}
	f.Metadata = entry + "," + rest
	return f
}

// Without is the field without an entry of its metadata.
func (f Field) Without(key string) Field {
	var m map[string]json.RawMessage
	if !f.Has(key) || json.Unmarshal([]byte(f.Metadata), &m) != nil {
		return f
	}
	delete(m, key)
	f.Metadata = ""
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(m))) {
		f = f.With(k, string(m[k]))
	}
	return f
}

// Has reports whether the field's metadata has an entry.
func (f Field) Has(key string) bool { return strings.Contains(f.Metadata, JSONText(key)+":") }

// ParseTypeJSON reads Spark's schema JSON, either an object or a quoted name.
func ParseTypeJSON(text string) (Type, error) {
	return parseTypeJSON(json.RawMessage(text), 0)
}

type typeObject struct {
	Type              string          `json:"type"`
	ElementType       json.RawMessage `json:"elementType"`
	ContainsNull      bool            `json:"containsNull"`
	KeyType           json.RawMessage `json:"keyType"`
	ValueType         json.RawMessage `json:"valueType"`
	ValueContainsNull bool            `json:"valueContainsNull"`
	SQLType           json.RawMessage `json:"sqlType"`
	Fields            []struct {
		Name     string          `json:"name"`
		Type     json.RawMessage `json:"type"`
		Nullable *bool           `json:"nullable"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"fields"`
}

func parseTypeJSON(raw json.RawMessage, depth int) (Type, error) {
	if depth > maxTypeDepth {
		return Type{}, fmt.Errorf("type nests deeper than %d", maxTypeDepth)
	}
	trimmed := strings.TrimSpace(string(raw))
	if !strings.HasPrefix(trimmed, "{") {
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return Type{}, fmt.Errorf("type %.60q: %w", trimmed, err)
		}
		return typeNamed(name)
	}
	var o typeObject
	if err := json.Unmarshal(raw, &o); err != nil {
		return Type{}, fmt.Errorf("type %.60q: %w", trimmed, err)
	}
	return o.build(depth + 1)
}

func (o *typeObject) build(depth int) (Type, error) {
	switch o.Type {
	case "array":
		elem, err := parseTypeJSON(o.ElementType, depth)
		return Array(elem, o.ContainsNull), err
	case "map":
		key, err := parseTypeJSON(o.KeyType, depth)
		if err != nil {
			return Type{}, err
		}
		value, err := parseTypeJSON(o.ValueType, depth)
		return Map(key, value, o.ValueContainsNull), err
	case "udt":
		return parseTypeJSON(o.SQLType, depth)
	case "struct":
		fields := make([]Field, 0, len(o.Fields))
		for _, f := range o.Fields {
			t, err := parseTypeJSON(f.Type, depth)
			if err != nil {
				return Type{}, fmt.Errorf("field %q: %w", f.Name, err)
			}
			metadata := strings.TrimSpace(string(f.Metadata))
			if metadata == "{}" || metadata == "null" {
				metadata = ""
			}
			fields = append(fields, Field{f.Name, t, f.Nullable == nil || *f.Nullable, metadata})
		}
		return Struct(fields...), nil
	default:
		return Type{}, fmt.Errorf("type object of unknown kind %q", o.Type)
	}
}

var parameterised = regexp.MustCompile(
	`^(decimal|char|varchar|time)\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)$|^interval ([a-z]+)(?: to ([a-z]+))?$`)

// typeNamed is the atomic type that schema JSON calls name.
func typeNamed(name string) (Type, error) {
	switch name {
	case "null":
		return Null, nil
	case "decimal":
		return Decimal(10, 0), nil
	case "interval":
		return Calendar, nil
	}
	for kind, n := range names {
		k := Kind(kind)
		if n.json == name && !(Type{Kind: k}).IsInterval() && k < KindArray || k == KindVariant && n.json == name {
			return Type{Kind: k}, nil
		}
	}
	m := parameterised.FindStringSubmatch(name)
	if m == nil {
		return Type{}, fmt.Errorf("unknown type name %q", name)
	}
	if m[4] != "" {
		return IntervalType(m[4], m[5])
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return Type{}, fmt.Errorf("type name %q: %w", name, err)
	}
	switch m[1] {
	case "char":
		return Char(n), nil
	case "varchar":
		return VarChar(n), nil
	case "time":
		return Time(n), nil
	}
	scale, _ := strconv.Atoi(m[3])
	if n < 1 || n > MaxPrecision || scale > n {
		return Type{}, fmt.Errorf("type name %q: the precision is 1 to %d, the scale at most that",
			name, MaxPrecision)
	}
	return Decimal(n, scale), nil
}

// IntervalType is the interval type between two fields, to may be empty.
func IntervalType(from, to string) (Type, error) {
	if to == "" {
		to = from
	}
	start, end := slices.Index(fieldNames[:], from), slices.Index(fieldNames[:], to)
	if start < 0 || end < start || (start <= int(FieldMonth)) != (end <= int(FieldMonth)) {
		return Type{}, fmt.Errorf("no interval type from %q to %q", from, to)
	}
	kind := KindDayTime
	if start <= int(FieldMonth) {
		kind = KindYearMonth
	}
	return Type{Kind: kind, Start: IntervalField(start), End: IntervalField(end)}, nil
}

// Raw is an entry of the field's metadata as JSON, "" when there is none.
func (f Field) Raw(key string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(f.Metadata), &m) != nil {
		return ""
	}
	return string(m[key])
}

// Entry is a text in the field's metadata, "" when there is none.
func (f Field) Entry(key string) string {
	var s string
	if json.Unmarshal([]byte(f.Raw(key)), &s) != nil {
		return ""
	}
	return s
}
