package codec

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// JSONInference finds the schema of JSON records: the type that holds all of
// their values, as Spark does when no schema is given. It belongs to one
// goroutine.
type JSONInference struct {
	opts    JSONOptions
	d       jsonDecoder
	root    jsonShape
	corrupt bool // there were records that are no objects
}

// jsonShape is the type found so far at one place of the records.
type jsonShape struct {
	typ    plan.Type // of atomic values, Null when there was none yet
	fields map[string]*jsonShape
	elem   *jsonShape
}

// NewJSONInference begins with no record seen.
func NewJSONInference(o JSONOptions) (*JSONInference, error) {
	r, err := NewJSONReader(plan.Struct(), o)
	if err != nil {
		return nil, err
	}
	if r.d.stampPattern, err = inferencePattern(o.TimestampFormat, false); err != nil {
		return nil, err
	}
	if r.d.ntzPattern, err = inferencePattern(o.TimestampNTZFormat, true); err != nil {
		return nil, err
	}
	return &JSONInference{opts: r.opts, d: r.d}, nil
}

// inferencePattern is the pattern of timestamps that inference looks for: unlike a
// reader it does not put up with what is none.
func inferencePattern(text string, ntz bool) (*Pattern, error) {
	if text == "" {
		return nil, nil
	}
	return CompilePattern(text, PatternUse{Parse: true, NTZ: ntz})
}

// Read takes all records of a file in.
func (f *JSONInference) Read(src io.Reader) error {
	src, err := decodeCharset(src, f.opts.Encoding, f.opts.MultiLine)
	if err != nil {
		return err
	}
	if f.opts.MultiLine {
		record, err := readWhole(src)
		if err != nil {
			return err
		}
		return f.Add(record)
	}
	lines := newLineReader(src, f.opts.LineSep)
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f.Add(line)
		}
		if err != nil {
			return err
		}
	}
}

// Add takes one record in.
func (f *JSONInference) Add(record []byte) error {
	d := &f.d
	d.b, d.depth = bytes.TrimPrefix(record, byteOrderMark), 0
	i := d.space(0)
	if i >= len(d.b) {
		return nil
	}
	var seen jsonShape
	into := &seen
	if d.b[i] == '{' {
		// The usual case needs no merging: fields are found in place, once it is
		// known that the record is whole.
		if d.skip(i) >= 0 {
			into = &f.root
		}
		d.depth = 0
	}
	if d.shape(into, i, f.opts) < 0 {
		return f.malformed(string(record))
	}
	if into == &f.root {
		return nil
	}
	for seen.elem != nil {
		seen = *seen.elem
	}
	switch {
	case seen.fields != nil:
		f.root.merge(&seen)
	case seen.typ.Kind != plan.KindNull:
		return f.malformed(string(record))
	}
	return nil
}

func (f *JSONInference) malformed(record string) error {
	switch f.opts.Mode {
	case DropMalformed:
	case FailFast:
		return &plan.Error{
			Class: plan.ClassSpark, Condition: "_LEGACY_ERROR_TEMP_2167", Args: map[string]string{
				"failFastMode": "FAILFAST", "dataType": "STRING"},
			Msg: "Malformed records are detected in schema inference and the parse mode is FAILFAST.",
		}
	default:
		f.corrupt = true
	}
	return nil
}

// Schema is what was found; fields are sorted by name. Two columns whose names
// differ only in case are an error, as Spark has it unless told otherwise.
func (f *JSONInference) Schema() (plan.Type, error) {
	t := f.schema()
	seen := map[string]bool{}
	for _, field := range t.Fields {
		lower := strings.ToLower(field.Name)
		if seen[lower] {
			return t, plan.AnalysisError("COLUMN_ALREADY_EXISTS",
				"The column "+lower+" is in the records under two spellings.", "columnName", plan.Quote(lower))
		}
		seen[lower] = true
	}
	return t, nil
}

func (f *JSONInference) schema() plan.Type {
	t, ok := f.root.result(f.opts)
	if !ok || t.Kind != plan.KindStruct {
		t = plan.Struct()
	}
	if !f.corrupt {
		return t
	}
	for i, field := range t.Fields {
		if field.Name == f.opts.CorruptColumn {
			t.Fields[i].Type = plan.String
			return t
		}
	}
	t.Fields = append(t.Fields, plan.Col(f.opts.CorruptColumn, plan.String))
	slices.SortFunc(t.Fields, func(a, b plan.Field) int { return strings.Compare(a.Name, b.Name) })
	return t
}

// SchemaOfJSON is the type of one value, for schema_of_json.
func SchemaOfJSON(text []byte, o JSONOptions) (plan.Type, error) {
	o.Function = true
	f, err := NewJSONInference(o)
	if err != nil {
		return plan.Type{}, err
	}
	d := &f.d
	d.b = text
	i := d.space(0)
	var s jsonShape
	if i >= len(d.b) {
		return plan.String, nil
	}
	if d.shape(&s, i, f.opts) < 0 {
		return plan.Type{}, errors.New("text is not JSON")
	}
	t, ok := s.result(f.opts)
	if !ok {
		return plan.String, nil
	}
	return t, nil
}

// shape widens s by the value at i.
func (d *jsonDecoder) shape(s *jsonShape, i int, o JSONOptions) int {
	i = d.space(i)
	if i >= len(d.b) {
		return -1
	}
	switch c := d.b[i]; c {
	case '{':
		return d.shapeObject(s, i, o)
	case '[':
		return d.shapeArray(s, i, o)
	case '"', '\'':
		content, next := d.str(i)
		if next >= 0 && len(content) > 0 {
			s.widen(d.textShape(string(content), o))
		}
		return next
	case 'n':
		return d.word(i, "null")
	case 't', 'f':
		next := d.skip(i)
		if o.PrimitivesAsString {
			s.widen(plan.String)
		} else {
			s.widen(plan.Boolean)
		}
		return next
	default:
		next := d.skip(i)
		if next >= 0 {
			s.widen(d.numberShape(i, next, o))
		}
		return next
	}
}

func (d *jsonDecoder) shapeObject(s *jsonShape, i int, o JSONOptions) int {
	if d.depth++; d.depth > maxJSONDepth {
		return -1
	}
	s.beStruct()
	i = d.space(i + 1)
	for first := true; i < len(d.b) && !(first && d.b[i] == '}'); first = false {
		name, next := d.key(i)
		if next < 0 {
			return -1
		}
		// A place that already is a string takes any value and finds nothing.
		field := &jsonShape{}
		if s.fields != nil {
			if field = s.fields[string(name)]; field == nil {
				field = &jsonShape{}
				s.fields[string(name)] = field
			}
		}
		if i = d.shape(field, next, o); i < 0 {
			return -1
		}
		i = d.space(i)
		if i < len(d.b) && d.b[i] == '}' {
			break
		}
		if i = d.comma(i); i < 0 {
			return -1
		}
	}
	d.depth--
	if i >= len(d.b) {
		return -1
	}
	return i + 1
}

func (d *jsonDecoder) shapeArray(s *jsonShape, i int, o JSONOptions) int {
	if d.depth++; d.depth > maxJSONDepth {
		return -1
	}
	s.beArray()
	i = d.space(i + 1)
	for first := true; i < len(d.b) && !(first && d.b[i] == ']'); first = false {
		elem := s.elem
		if elem == nil {
			elem = &jsonShape{}
		}
		if i = d.shape(elem, i, o); i < 0 {
			return -1
		}
		i = d.space(i)
		if i < len(d.b) && d.b[i] == ']' {
			break
		}
		if i = d.comma(i); i < 0 {
			return -1
		}
	}
	d.depth--
	if i >= len(d.b) {
		return -1
	}
	return i + 1
}

func (s *jsonShape) empty() bool {
	return s.typ.Kind == plan.KindNull && s.fields == nil && s.elem == nil
}

func (s *jsonShape) beStruct() {
	switch {
	case s.empty():
		s.fields = map[string]*jsonShape{}
	case s.fields == nil:
		*s = jsonShape{typ: plan.String}
	}
}

func (s *jsonShape) beArray() {
	switch {
	case s.empty():
		s.elem = &jsonShape{}
	case s.elem == nil:
		*s = jsonShape{typ: plan.String}
	}
}

// widen takes an atomic type in.
func (s *jsonShape) widen(t plan.Type) {
	switch {
	case s.empty():
		s.typ = t
	case s.fields != nil || s.elem != nil:
		*s = jsonShape{typ: plan.String}
	default:
		s.typ = commonJSONType(s.typ, t)
	}
}

// merge takes another shape in.
func (s *jsonShape) merge(o *jsonShape) {
	switch {
	case o.fields != nil:
		if s.beStruct(); s.fields == nil {
			return
		}
		for name, f := range o.fields {
			if s.fields[name] == nil {
				s.fields[name] = &jsonShape{}
			}
			s.fields[name].merge(f)
		}
	case o.elem != nil:
		if s.beArray(); s.elem != nil {
			s.elem.merge(o.elem)
		}
	case !o.empty():
		s.widen(o.typ)
	}
}

// commonJSONType holds the values of two atomic types; text if nothing else.
func commonJSONType(a, b plan.Type) plan.Type {
	if a.Equal(b) {
		return a
	}
	if a.Kind == plan.KindLong && b.Kind == plan.KindDecimal {
		a = plan.DecimalOf(plan.KindLong)
	}
	if b.Kind == plan.KindLong && a.Kind == plan.KindDecimal {
		b = plan.DecimalOf(plan.KindLong)
	}
	switch {
	case a.Kind == plan.KindDecimal && b.Kind == plan.KindDecimal:
		scale := max(a.Scale, b.Scale)
		whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
		if whole+scale > plan.MaxPrecision {
			return plan.Double
		}
		return plan.Decimal(whole+scale, scale)
	case a.IsNumeric() && b.IsNumeric():
		return plan.Double
	case isStamp(a) && isStamp(b):
		return plan.Timestamp
	default:
		return plan.String
	}
}

func isStamp(t plan.Type) bool {
	return t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ
}

func (d *jsonDecoder) numberShape(from, to int, o JSONOptions) plan.Type {
	if o.PrimitivesAsString {
		return plan.String
	}
	text := string(d.b[from:to])
	if _, named := namedFloat(text); named {
		return plan.Double
	}
	whole := !strings.ContainsAny(text, ".eE")
	if whole {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return plan.Long
		}
	}
	if whole || o.PrefersDecimal {
		if t, ok := decimalShape(text); ok {
			return t
		}
	}
	return plan.Double
}

// decimalShape is the decimal type of a number's text.
func decimalShape(text string) (plan.Type, bool) {
	n, ok := scanNumber(text)
	if !ok {
		return plan.Type{}, false
	}
	digits := strings.TrimLeft(n.whole+n.fraction, "0")
	scale := int64(len(n.fraction)) - n.exp
	precision := max(int64(len(digits)), scale, 1)
	if scale < 0 || precision > plan.MaxPrecision {
		return plan.Type{}, false
	}
	return plan.Decimal(int(precision), int(scale)), true
}

func (d *jsonDecoder) textShape(text string, o JSONOptions) plan.Type {
	if o.PrefersDecimal {
		if t, ok := decimalShape(text); ok {
			return t
		}
	}
	if !o.InferTimestamp {
		return plan.String
	}
	if d.stampPattern == nil {
		if _, ok := ParseTimestamp(text, NewOffsets(time.UTC), 0); ok {
			return plan.Timestamp
		}
	} else if _, err := d.stampPattern.ParseTimestamp(text, d.zone); err == nil {
		return plan.Timestamp
	}
	return plan.String
}

// result is the type of a shape; false when nothing of it is kept.
func (s *jsonShape) result(o JSONOptions) (plan.Type, bool) {
	switch {
	case s.fields != nil:
		var fields []plan.Field
		for _, name := range slices.Sorted(maps.Keys(s.fields)) {
			if t, ok := s.fields[name].result(o); ok && name != "" {
				fields = append(fields, plan.Col(name, t))
			}
		}
		return plan.Struct(fields...), len(fields) > 0
	case s.elem != nil:
		t, ok := s.elem.result(o)
		return plan.Array(t, true), ok
	case s.typ.Kind == plan.KindNull:
		return plan.String, !o.DropFieldIfAllNull
	default:
		return s.typ, true
	}
}
