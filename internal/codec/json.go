package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/plan"
)

// ParseMode says what happens to records that are not of the schema.
type ParseMode uint8

// The modes; any other word means Permissive, as in Spark.
const (
	Permissive ParseMode = iota
	DropMalformed
	FailFast
)

// JSONOptions are the options of Spark's JSON source and functions.
type JSONOptions struct {
	Mode               ParseMode
	CorruptColumn      string // default _corrupt_record
	LineSep            string // default: \n, \r\n and \r
	MultiLine          bool   // a file is one record
	Encoding           string // default: UTF-8
	DateFormat         string // patterns; default: what casts read
	TimestampFormat    string
	TimestampNTZFormat string
	Fallback           bool           // try casts after a pattern failed
	Zone               *time.Location // default UTC
	Now                int64          // µs since 1970, for times without a date

	// SingleVariant names a column of variants that takes whole records, "" for none.
	SingleVariant string

	// Filters let rows be left out while a file is read.
	Filters []RowFilter

	// Function is the behaviour of from_json: the text is already decoded, an
	// array is not a list of rows, and a string column prints numbers anew.
	Function bool

	// What schema inference does.
	PrimitivesAsString, PrefersDecimal, DropFieldIfAllNull, InferTimestamp bool

	AllowComments, AllowUnquotedNames, NoSingleQuotes, AllowLeadingZeros bool
	NoNonNumeric, AllowBackslashAny, AllowControlChars                   bool

	// What the writer does.
	KeepNulls bool // ignoreNullFields=false
	Pretty    bool
}

// JSONOptionsOf reads reader or writer options. Unknown ones are ignored.
func JSONOptionsOf(from plan.Options, zone *time.Location, now int64) (JSONOptions, error) {
	o := JSONOptions{Zone: zone, Now: now}
	text := optionReader{from: from}
	o.CorruptColumn = text.get("columnNameOfCorruptRecord")
	o.LineSep = text.get("lineSep")
	o.Encoding = text.get("encoding")
	if o.Encoding == "" {
		o.Encoding = text.get("charset")
	}
	o.SingleVariant = text.get("singleVariantColumn")
	o.DateFormat = text.get("dateFormat")
	o.TimestampFormat = text.get("timestampFormat")
	o.TimestampNTZFormat = text.get("timestampNTZFormat")
	o.Mode = ParseModeOf(text.get("mode"))
	for name, to := range map[string]*bool{
		"multiLine": &o.MultiLine, "enableDateTimeParsingFallback": &o.Fallback,
		"primitivesAsString": &o.PrimitivesAsString, "prefersDecimal": &o.PrefersDecimal,
		"dropFieldIfAllNull": &o.DropFieldIfAllNull, "inferTimestamp": &o.InferTimestamp,
		"allowComments": &o.AllowComments, "allowUnquotedFieldNames": &o.AllowUnquotedNames,
		"allowNumericLeadingZeros": &o.AllowLeadingZeros, "pretty": &o.Pretty,
		"allowBackslashEscapingAnyCharacter": &o.AllowBackslashAny,
		"allowUnquotedControlChars":          &o.AllowControlChars,
	} {
		text.flag(name, to, false)
	}
	for name, to := range map[string]*bool{
		"allowSingleQuotes": &o.NoSingleQuotes, "allowNonNumericNumbers": &o.NoNonNumeric,
		"ignoreNullFields": &o.KeepNulls,
	} {
		text.flag(name, to, true)
	}
	if id := text.get("timeZone"); id != "" && text.err == nil {
		o.Zone, text.err = Zone(id)
	}
	return o, text.err
}

// ParseModeOf is the mode of an option's text.
func ParseModeOf(text string) ParseMode {
	switch strings.ToUpper(text) {
	case "DROPMALFORMED":
		return DropMalformed
	case "FAILFAST":
		return FailFast
	default:
		return Permissive
	}
}

// optionReader reads options and keeps the first mistake.
type optionReader struct {
	from plan.Options
	err  error
}

func (r *optionReader) get(name string) string {
	v, _ := r.from.Get(name)
	return v
}

// flag stores an option that is true or false, or its opposite.
func (r *optionReader) flag(name string, to *bool, inverse bool) {
	v, ok := r.from.Get(name)
	if !ok {
		return
	}
	on := strings.EqualFold(v, "true")
	if !on && !strings.EqualFold(v, "false") && r.err == nil {
		r.err = plan.IllegalArgument("For input string: %q (option %s is true or false)", v, name)
	}
	*to = on != inverse
}

// csvFlag is flag with the error that most options of CSV have.
func (r *optionReader) csvFlag(name string, to *bool, inverse bool) {
	v, ok := r.from.Get(name)
	if ok && r.err == nil && !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
		r.err = plan.NewError(plan.ClassSpark, "_LEGACY_ERROR_TEMP_2147",
			"The option "+name+" is true or false, not "+v+".", "paramName", name)
	}
	r.flag(name, to, inverse)
}

// DefaultCorruptColumn is where malformed records go.
const DefaultCorruptColumn = "_corrupt_record"

// JSONReader turns JSON records into rows of a schema. It belongs to one
// goroutine.
type JSONReader struct {
	schema  plan.Type
	opts    JSONOptions
	d       jsonDecoder
	corrupt int // its column, -1 without one
	bound   *chunk.Chunk
	record  chunk.Chunk // of AppendValue: the fields of its column

	gate filterGate
}

// jsonDecoder decodes records into the vectors that its nodes are bound to.
type jsonDecoder struct {
	jsonScanner
	root     *jsonNode
	function bool // see anyText
	zone     *Offsets
	minute   minuteParser
	now      int64

	datePattern, stampPattern, ntzPattern *Pattern
	fallback                              bool
	printed                               []byte // scratch of anyText

	builder variant.Builder
	refused bool // the last variant is JSON that no variant holds
	single  bool // records are the values of the only column
}

// NewJSONReader compiles a schema: the columns that are wanted, whatever else
// the records hold.
func NewJSONReader(schema plan.Type, o JSONOptions) (*JSONReader, error) {
	if err := jsonReadable(schema); err != nil {
		return nil, err
	}
	if o.CorruptColumn == "" {
		o.CorruptColumn = DefaultCorruptColumn
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if !isUTF8(o.Encoding) && !o.MultiLine && o.LineSep == "" && !o.Function {
		return nil, plan.IllegalArgument("requirement failed: The lineSep option must be specified for the %s "+
			"encoding, because its lines cannot be told before they are decoded", o.Encoding)
	}
	r := &JSONReader{schema: schema, opts: o, corrupt: -1}
	d := &r.d
	d.jsonGrammar = jsonGrammar{
		comments: o.AllowComments, unquotedNames: o.AllowUnquotedNames, singleQuotes: !o.NoSingleQuotes,
		leadingZeros: o.AllowLeadingZeros, nonNumeric: !o.NoNonNumeric, backslashAny: o.AllowBackslashAny,
		controlChars: o.AllowControlChars, replaceBadUTF8: o.Function,
	}
	d.function = o.Function || o.Encoding != ""
	d.zone, d.now, d.fallback = NewOffsets(o.Zone), o.Now, o.Fallback
	d.root = newJSONNode(schema)
	d.single = o.SingleVariant != "" && !o.isValue(schema)
	if at, ok := d.root.byName[o.CorruptColumn]; ok && !o.isValue(schema) {
		if !schema.Fields[at].Type.IsString() {
			return nil, corruptColumnError(schema.Fields[at])
		}
		r.corrupt = int(at)
		d.root.drop(at)
	}
	r.watch(o.Filters)
	return r, d.compilePatterns(o.patternsOf(schema))
}

func (o JSONOptions) isValue(schema plan.Type) bool { return schema.Kind != plan.KindStruct }

// drop forgets a field of the record, which then is never read.
func (n *jsonNode) drop(at int32) {
	n.fields = append(n.fields[:at:at], n.fields[at+1:]...)
	n.byName = map[string]int32{}
	for i, f := range n.fields {
		n.byName[n.typ.Fields[f.index].Name] = int32(i)
	}
}

// datePatterns are the patterns that are needed; "" for none.
type datePatterns struct{ date, stamp, ntz string }

// patternsOf are the patterns that values of a type are written by. Others may be
// anything.
func (o *JSONOptions) patternsOf(t plan.Type) (needed datePatterns) {
	switch t.Kind {
	case plan.KindDate:
		needed.date = o.DateFormat
	case plan.KindTimestamp:
		needed.stamp = o.TimestampFormat
	case plan.KindTimestampNTZ:
		needed.ntz = o.TimestampNTZFormat
	case plan.KindArray:
		return o.patternsOf(*t.Elem)
	case plan.KindMap:
		needed = o.patternsOf(*t.Key).and(o.patternsOf(*t.Elem))
	}
	for _, f := range t.Fields {
		needed = needed.and(o.patternsOf(f.Type))
	}
	return needed
}

func (p datePatterns) and(other datePatterns) datePatterns {
	return datePatterns{cmp.Or(p.date, other.date), cmp.Or(p.stamp, other.stamp), cmp.Or(p.ntz, other.ntz)}
}

// compilePatterns compiles patterns to read by. As in Spark, one that is none reads
// nothing: what stands there is malformed, whatever it is. One that Spark 2.4 had
// understood in its own way is an error.
func (d *jsonDecoder) compilePatterns(needed datePatterns) error {
	for _, one := range []struct {
		text string
		to   **Pattern
	}{{needed.date, &d.datePattern}, {needed.stamp, &d.stampPattern}, {needed.ntz, &d.ntzPattern}} {
		if one.text == "" {
			continue
		}
		p, err := CompilePattern(one.text, PatternUse{Parse: true, NTZ: one.to == &d.ntzPattern})
		if said, ok := err.(*plan.Error); ok && said.Class != plan.ClassUpgrade && said.Condition != "" {
			p, err = &Pattern{text: one.text, never: true}, nil
		}
		if err != nil {
			return err
		}
		*one.to = p
	}
	return nil
}

// jsonReadable refuses the types that have no JSON form here.
func jsonReadable(t plan.Type) error {
	switch t.Kind {
	case plan.KindStruct:
		for _, f := range t.Fields {
			if err := jsonReadable(f.Type); err != nil {
				return err
			}
		}
	case plan.KindArray, plan.KindMap:
		return jsonReadable(*t.Elem)
	case plan.KindTime, plan.KindCalendar, plan.KindDayTime, plan.KindYearMonth:
		return plan.Unsupported("reading " + t.SQL() + " from JSON")
	}
	return nil
}

// Schema is the schema of the rows.
func (r *JSONReader) Schema() plan.Type { return r.schema }

// Decode appends the rows of one record to a chunk of the schema: one, none
// for blank text, or as many as an array has. A malformed record is a row of
// what could be read, no row, or an error, as the mode says.
func (r *JSONReader) Decode(record []byte, into *chunk.Chunk) error {
	if r.bound != into {
		r.bound = into
		for _, f := range r.d.root.fields {
			f.bind(into.Cols[f.index])
		}
	}
	row := into.Rows
	r.d.root.missed = 0
	rows, bad := r.d.record(record, row, !r.opts.Function)
	if bad == faultNone {
		if r.gate.filters != nil {
			r.gate.exempt(rows, r.d.root.missed)
		}
		if r.corrupt >= 0 {
			for range rows {
				into.Cols[r.corrupt].AppendNull()
			}
		}
		into.Rows += rows
		return nil
	}
	if rows == 0 {
		// Nothing of a record with broken syntax is kept.
		for _, f := range r.d.root.fields {
			truncate(f.out, row)
		}
	}
	return r.malformed(record, into, rows, bad)
}

// jsonFault says why a record is malformed: a condition of FAILFAST.
type jsonFault string

const (
	faultNone   jsonFault = ""
	faultRecord jsonFault = "WITHOUT_SUGGESTION"
	faultArray  jsonFault = "CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS"
)

func (r *JSONReader) malformed(record []byte, into *chunk.Chunk, rows int, fault jsonFault) error {
	row := into.Rows
	switch r.opts.Mode {
	case DropMalformed:
		for _, f := range r.d.root.fields {
			truncate(f.out, row)
		}
		return nil
	case FailFast:
		err := r.failFast(record, row, rows, fault)
		for _, f := range r.d.root.fields {
			truncate(f.out, row)
		}
		return err
	}
	passed := r.d.root.missed // a wrong value counts as missing
	if rows == 0 {
		rows = 1
		r.d.root.fill(row)
		passed = 1<<maxRowFilters - 1
	}
	if r.gate.filters != nil {
		r.gate.exempt(rows, passed)
	}
	if r.corrupt >= 0 {
		for range rows {
			into.Cols[r.corrupt].AppendBytes(bytes.ToValidUTF8(record, []byte("\ufffd")))
		}
	}
	into.Rows += rows
	return nil
}

func (r *JSONReader) failFast(record []byte, row, rows int, fault jsonFault) error {
	bad := string(record)
	if fault == faultRecord {
		bad = "["
		style := TextStyle{Zone: r.d.zone}
		for i, f := range r.d.root.fields {
			if i > 0 {
				bad += ","
			}
			if rows == 0 {
				bad += "null"
			} else {
				bad += string(style.AppendValue(nil, f.out, row))
			}
		}
		bad += "]"
	}
	return failFastError(bad, fault)
}

func failFastError(bad string, fault jsonFault) error {
	return plan.NewError(plan.ClassSpark, "MALFORMED_RECORD_IN_PARSING."+string(fault),
		"A record is not of the schema and the parse mode is FAILFAST: "+bad+".",
		"badRecord", bad, "failFastMode", "FAILFAST")
}

var byteOrderMark = []byte("\ufeff")

// record decodes a record into rows from number row on. With a fault, rows are
// those that could be read in part.
func (d *jsonDecoder) record(b []byte, row int, arrays bool) (rows int, fault jsonFault) {
	if d.b, d.depth = b, 0; len(b) > 0 && b[0] == byteOrderMark[0] {
		d.b = bytes.TrimPrefix(b, byteOrderMark)
	}
	i := 0
	if len(d.b) > 0 && d.b[0] != '{' {
		i = d.space(0)
	}
	switch {
	case i >= len(d.b):
		return 0, faultNone
	case d.single:
		return d.wholeRecord(i)
	case d.b[i] == '{':
		next, result := d.object(d.root, i, row)
		switch {
		case next < 0:
			return 0, faultRecord
		case result != jsonWhole:
			return 1, faultRecord
		}
		return 1, faultNone
	case d.b[i] == '[' && arrays:
		return d.recordArray(i, row)
	case d.b[i] == '[':
		return 0, faultArray
	}
	return 0, faultRecord
}

// recordArray decodes an array of records.
func (d *jsonDecoder) recordArray(i, row int) (rows int, fault jsonFault) {
	d.depth++
	i = d.space(i + 1)
	if i < len(d.b) && d.b[i] == ']' {
		return 0, faultNone
	}
	for {
		if i >= len(d.b) || d.b[i] != '{' {
			return 0, faultRecord
		}
		next, result := d.object(d.root, i, row+rows)
		if next < 0 {
			return 0, faultRecord
		}
		rows++
		if result != jsonWhole {
			fault = faultRecord
		}
		i = d.space(next)
		if i < len(d.b) && d.b[i] == ']' {
			return rows, fault
		}
		if i = d.comma(i); i < 0 {
			return 0, faultRecord
		}
	}
}

// maxRecordBytes bounds a line, and a file that is one record.
const maxRecordBytes = 1 << 30

// Read reads a file of records to its end, in chunks of at most
// chunk.MaxRows rows, each newly made.
func (r *JSONReader) Read(src io.Reader) chunk.Rows {
	return r.gate.rows(r.schema, func(out *chunkWriter) error { return r.read(src, out) })
}

func (r *JSONReader) read(src io.Reader, out *chunkWriter) error {
	src, err := decodeCharset(src, r.opts.Encoding, r.opts.MultiLine)
	if err != nil {
		return err
	}
	if r.opts.MultiLine {
		record, err := readWhole(src)
		if err != nil {
			return err
		}
		return r.Decode(record, out.chunk)
	}
	lines := newLineReader(src, r.opts.LineSep)
	for !out.stopped {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.Decode(line, out.chunk); err != nil {
			return err
		}
		if out.chunk.Rows >= chunk.MaxRows {
			out.flush()
		}
	}
	return nil
}

func readWhole(src io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(src, maxRecordBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxRecordBytes {
		return nil, fmt.Errorf("a record is larger than %d bytes", maxRecordBytes)
	}
	return b, nil
}
