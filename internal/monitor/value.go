package monitor

import (
	"encoding/base64"
	"strconv"
)

// An Observation is one named set of metrics that observe() computed over a
// batch.
type Observation struct {
	Name string
	Row  Row
}

// A Row holds the values of an observation, or of a struct inside it.
type Row struct {
	// Schema is Spark's JSON of the struct type; the command form repeats it.
	Schema string
	Fields []Field
}

// A Field is one named value of a Row.
type Field struct {
	Name  string
	Value Value
}

// A Value is one observed value. The zero Value is NULL.
type Value struct {
	kind  valueKind
	int   int64
	float float64
	text  string
	items []Value
	row   *Row
}

type valueKind uint8

const (
	nullValue valueKind = iota
	boolValue
	intValue
	doubleValue
	floatValue
	decimalValue
	stringValue
	instantValue
	binaryValue
	opaqueValue
	rowValue
	arrayValue
	mapValue
)

// Bool is a BOOLEAN.
func Bool(b bool) Value {
	if b {
		return Value{kind: boolValue, int: 1}
	}
	return Value{kind: boolValue}
}

// Int is a TINYINT, SMALLINT, INT or BIGINT.
func Int(n int64) Value { return Value{kind: intValue, int: n} }

// Double is a DOUBLE.
func Double(f float64) Value { return Value{kind: doubleValue, float: f} }

// Float is a FLOAT. The event form widens it, the command form does not.
func Float(f float32) Value { return Value{kind: floatValue, float: float64(f)} }

// Decimal is a DECIMAL, given as Java's BigDecimal spells it.
func Decimal(text string) Value { return Value{kind: decimalValue, text: text} }

// String is a STRING.
func String(s string) Value { return Value{kind: stringValue, text: s} }

// Binary is a BINARY; both forms show it in base64.
func Binary(b []byte) Value {
	return Value{kind: binaryValue, text: base64.StdEncoding.EncodeToString(b)}
}

// Instant is a TIMESTAMP or DATE: text, in the session's time zone and to the
// second or day, is its event form; unixMs (of midnight for a date) the other.
func Instant(text string, unixMs int64) Value {
	return Value{kind: instantValue, text: text, int: unixMs}
}

// LocalTime is a TIMESTAMP_NTZ, a text in both forms.
func LocalTime(text string) Value { return Value{kind: stringValue, text: text} }

// Opaque is a value of a type that Spark's event form cannot hold, such as an
// interval: the event then goes without any observed metrics.
func Opaque(text string) Value { return Value{kind: opaqueValue, text: text} }

// Struct is a STRUCT.
func Struct(r Row) Value { return Value{kind: rowValue, row: &r} }

// Array is an ARRAY.
func Array(items ...Value) Value { return Value{kind: arrayValue, items: items} }

// Map is a MAP, given as key, value, key, value.
func Map(pairs ...Value) Value { return Value{kind: mapValue, items: pairs} }

// opaque tells whether v holds anything that the event form cannot.
func (v Value) opaque() bool {
	if v.kind == opaqueValue {
		return true
	}
	for _, item := range v.items {
		if item.opaque() {
			return true
		}
	}
	return v.row != nil && v.row.opaque()
}

func (r *Row) opaque() bool {
	for _, f := range r.Fields {
		if f.Value.opaque() {
			return true
		}
	}
	return false
}

func (r *Row) appendEvent(dst []byte) []byte {
	dst = append(dst, '{')
	for i, f := range r.Fields {
		dst = f.Value.appendEvent(appendKey(dst, i == 0, f.Name))
	}
	return append(dst, '}')
}

func (r *Row) appendCommand(dst []byte) []byte {
	dst = append(dst, `{"values":[`...)
	for i, f := range r.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.Value.appendCommand(dst)
	}
	dst = append(dst, `],"schema":`...)
	dst = append(dst, r.Schema...)
	return append(dst, '}')
}

func (v Value) appendEvent(dst []byte) []byte {
	switch v.kind {
	case floatValue:
		return appendDouble(dst, v.float)
	case instantValue:
		return appendString(dst, v.text)
	case rowValue:
		return v.row.appendEvent(dst)
	case arrayValue:
		return v.appendItems(dst, Value.appendEvent)
	case mapValue:
		return v.appendEventMap(dst)
	}
	return v.appendScalar(dst)
}

func (v Value) appendCommand(dst []byte) []byte {
	switch v.kind {
	case floatValue:
		return appendFloat(dst, v.float, 32)
	case instantValue:
		return appendInt(dst, v.int)
	case rowValue:
		return v.row.appendCommand(dst)
	case arrayValue:
		return v.appendItems(dst, Value.appendCommand)
	case mapValue:
		return v.appendObject(dst, Value.appendCommand)
	}
	return v.appendScalar(dst)
}

func (v Value) appendScalar(dst []byte) []byte {
	switch v.kind {
	case boolValue:
		return strconv.AppendBool(dst, v.int != 0)
	case intValue:
		return appendInt(dst, v.int)
	case doubleValue:
		return appendDouble(dst, v.float)
	case decimalValue:
		return append(dst, v.text...)
	case stringValue, binaryValue, opaqueValue:
		return appendString(dst, v.text)
	}
	return append(dst, "null"...)
}

func (v Value) appendItems(dst []byte, one func(Value, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, item := range v.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(item, dst)
	}
	return append(dst, ']')
}

// appendEventMap writes an object when the keys are strings, else a list of
// pairs. An empty map is an object.
func (v Value) appendEventMap(dst []byte) []byte {
	if len(v.items) == 0 || v.items[0].kind == stringValue {
		return v.appendObject(dst, Value.appendEvent)
	}
	dst = append(dst, '[')
	for i := 0; i+1 < len(v.items); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.items[i].appendEvent(append(dst, `{"key":`...))
		dst = v.items[i+1].appendEvent(append(dst, `,"value":`...))
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func (v Value) appendObject(dst []byte, one func(Value, []byte) []byte) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(v.items); i += 2 {
		dst = appendKey(dst, i == 0, v.items[i].keyText())
		dst = one(v.items[i+1], dst)
	}
	return append(dst, '}')
}

// keyText is the text of a map key as a member name.
func (v Value) keyText() string {
	if v.text != "" || v.kind == stringValue {
		return v.text
	}
	text := string(v.appendCommand(nil))
	if len(text) > 1 && text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}
