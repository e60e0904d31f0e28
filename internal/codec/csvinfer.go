package codec

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// CSVInference finds the schema of CSV files: names from the header or _c0 and on,
// and strings, or with Infer the types that hold all values, as Spark does when no
// schema is given. It belongs to one goroutine.
type CSVInference struct {
	opts   CSVReadOptions
	cells  csvCells
	values csvValues
	header []byte // the first line of the first file
	begun  bool
	names  []string
	types  []plan.Type // Null when there was no value yet
}

// defaultDateFormat is the pattern of dates that inference takes when none is
// given.
const defaultDateFormat = "yyyy-MM-dd"

// NewCSVInference begins with no record seen.
func NewCSVInference(o CSVReadOptions) (*CSVInference, error) {
	if o.PreferDate && o.DateFormat == "" {
		o.DateFormat = defaultDateFormat
	}
	columns := []csvColumn{{typ: plan.Type{Kind: plan.KindDecimal}}, {typ: plan.Date}, {typ: plan.Timestamp},
		{typ: plan.TimestampNTZ}}
	r, err := NewCSVReader(plan.Struct(), plan.Struct(), o)
	if err != nil {
		return nil, err
	}
	f := &CSVInference{opts: r.opts, cells: r.cells}
	if !o.Infer {
		return f, f.values.compile(r.opts, nil)
	}
	return f, f.compile(columns)
}

// compile prepares for values. A pattern of dates that is none makes them something
// else; one of timestamps is an error.
func (f *CSVInference) compile(columns []csvColumn) (err error) {
	o, d := f.opts, &f.values.dates
	given := datePatterns{o.DateFormat, o.TimestampFormat, o.TimestampNTZFormat}
	if err := refuseWords(o.Locale, given); err != nil {
		return err
	}
	o.DateFormat, o.TimestampFormat, o.TimestampNTZFormat = "", "", ""
	if err := f.values.compile(o, columns); err != nil {
		return err
	}
	if d.stampPattern, err = inferencePattern(f.opts.TimestampFormat, false); err != nil {
		return err
	}
	if d.ntzPattern, err = inferencePattern(f.opts.TimestampNTZFormat, true); err != nil {
		return err
	}
	if f.opts.DateFormat == "" {
		return nil
	}
	d.datePattern, err = CompilePattern(f.opts.DateFormat, PatternUse{Parse: true})
	if said, ok := err.(*plan.Error); ok && said.Condition != "" {
		d.datePattern, err = &Pattern{text: f.opts.DateFormat, never: true}, nil
	}
	return err
}

// Read takes all records of a file in.
func (f *CSVInference) Read(src io.Reader) error {
	src, err := decodeCharset(src, cmp.Or(f.opts.Encoding, "UTF-8"), true)
	if err != nil {
		return err
	}
	if f.opts.MultiLine {
		records := csvRecords{cells: &f.cells, lineSep: f.opts.LineSep, comment: f.opts.Comment}
		if err := records.open(src); err != nil {
			return err
		}
		for first := true; ; first = false {
			if found, err := records.next(); !found || err != nil {
				return err
			}
			if f.begun && first && f.opts.Header {
				continue
			}
			f.add(f.cells.cells)
		}
	}
	lines := csvLines{lineReader: newLineReader(src, f.opts.LineSep), comment: f.opts.Comment}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		// Spark drops what is equal to the header anywhere.
		if f.begun && f.opts.Header && bytes.Equal(line, f.header) {
			continue
		}
		if !f.begun {
			f.header = bytes.Clone(line)
		}
		f.cells.reset(line)
		if _, err := f.cells.record(); err != nil {
			return err
		}
		f.add(f.cells.cells)
		if !f.opts.Infer {
			return nil
		}
	}
}

// add takes the cells of a record in; those of the first say how many there are,
// and their names where it is a header.
func (f *CSVInference) add(cells [][]byte) {
	if !f.begun {
		f.begun = true
		f.names = f.namesOf(cells)
		f.types = make([]plan.Type, len(cells))
		for i := range f.types {
			f.types[i] = plan.Null
		}
		if f.opts.Header {
			return
		}
	}
	for i, cell := range cells {
		if i < len(f.types) && f.opts.Infer && len(cell) > 0 && !bytes.Equal(cell, f.cells.null) {
			f.types[i] = f.widen(f.types[i], textOf(cell))
		}
	}
}

// namesOf are the names of a header's columns: one that stands there twice, in any
// case, gets its place behind it.
func (f *CSVInference) namesOf(cells [][]byte) []string {
	key := func(cell []byte) string {
		if f.opts.CaseSensitive {
			return string(cell)
		}
		return strings.ToLower(string(cell))
	}
	count := map[string]int{}
	for _, cell := range cells {
		count[key(cell)]++
	}
	names := make([]string, len(cells))
	for i, cell := range cells {
		switch place := strconv.Itoa(i); {
		case !f.opts.Header || len(cell) == 0 || bytes.Equal(cell, f.cells.null):
			names[i] = "_c" + place
		case count[key(cell)] > 1:
			names[i] = string(cell) + place
		default:
			names[i] = string(cell)
		}
	}
	return names
}

// Schema is what all records so far are of; false when there was none.
func (f *CSVInference) Schema() (plan.Type, bool) {
	schema := plan.Struct()
	for i, name := range f.names {
		t := f.types[i]
		if t.Kind == plan.KindNull {
			t = plan.String
		}
		schema.Fields = append(schema.Fields, plan.Col(name, t))
	}
	return schema, f.begun
}

// csvLadder are the kinds in the order in which a text is tried; a column is
// tried from the kind that it has.
var csvLadder = []plan.Kind{plan.KindInt, plan.KindLong, plan.KindDecimal, plan.KindDouble, plan.KindDate,
	plan.KindTimestamp, plan.KindBoolean}

// widen is the type that holds the values so far and a text.
func (f *CSVInference) widen(so plan.Type, text string) plan.Type {
	if so.IsString() {
		return so
	}
	from := max(slices.Index(csvLadder, so.Kind), 0)
	return f.common(so, f.typeOf(text, from))
}

// typeOf is the first type from a step of the ladder on that a text is of.
func (f *CSVInference) typeOf(text string, from int) plan.Type {
	for _, kind := range csvLadder[from:] {
		if t, ok := f.isOf(text, kind); ok {
			return t
		}
	}
	return plan.String
}

func (f *CSVInference) isOf(text string, kind plan.Kind) (plan.Type, bool) {
	v := &f.values
	switch kind {
	case plan.KindInt:
		n, ok := javaInt([]byte(text))
		return plan.Int, ok && n == int64(int32(n))
	case plan.KindLong:
		_, ok := javaInt([]byte(text))
		return plan.Long, ok
	case plan.KindDecimal:
		if v.locale != nil {
			english, ok := v.locale.english(text)
			if !ok {
				return plan.Type{}, false
			}
			text = english
		}
		t, ok := decimalShape(text)
		return t, ok && t.Scale <= 0
	case plan.KindDouble:
		_, ok := javaParseFloat(text, 64)
		return plan.Double, ok || text == v.nan || text == v.positiveInf || text == v.negativeInf
	case plan.KindDate:
		_, ok := v.dates.calendarDate(text)
		return plan.Date, ok && f.opts.PreferDate
	case plan.KindTimestamp:
		_, ok := v.dates.parseTimestamp(text)
		return plan.Timestamp, ok
	default:
		return plan.Boolean, strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
	}
}

// lenientDates are the patterns of dates that are timestamps too.
var lenientDates = []string{"yyyy-MM-dd", "yyyy-M-d", "yyyy-M-dd", "yyyy-MM-d", "yyyy-MM", "yyyy-M", "yyyy"}

// common holds the values of two types; text if nothing else.
func (f *CSVInference) common(a, b plan.Type) plan.Type {
	switch {
	case a.Kind == plan.KindNull:
		return b
	case b.IsString():
		return b
	case a.Kind == plan.KindInt && b.Kind == plan.KindDecimal:
		return commonJSONType(plan.DecimalOf(a.Kind), b)
	case b.Kind == plan.KindInt && a.Kind == plan.KindDecimal:
		return commonJSONType(a, plan.DecimalOf(b.Kind))
	case a.Kind == plan.KindInt && b.Kind == plan.KindLong, a.Kind == plan.KindLong && b.Kind == plan.KindInt:
		return plan.Long
	case a.IsNumeric() && b.IsNumeric():
		return commonJSONType(a, b)
	case a.Equal(b):
		return a
	case a.Kind == plan.KindDate && b.Kind == plan.KindTimestamp,
		b.Kind == plan.KindDate && a.Kind == plan.KindTimestamp:
		if f.opts.TimestampFormat == "" && slices.Contains(lenientDates, f.opts.DateFormat) {
			return plan.Timestamp
		}
	}
	return plan.String
}
