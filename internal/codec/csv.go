package codec

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// CSVOptions are the options of Spark's CSV writer.
type CSVOptions struct {
	Sep     string // default ,
	LineSep string // default \n
	Header  bool

	Quote    string // one character or, as in Spark, none for U+0000; default "
	Escape   byte   // default \, or U+0000 with NoEscape, as Spark has it for an empty one
	NoEscape bool
	// QuoteEscape is put before an escape character in quotes; default Escape,
	// and nothing when that is the quote itself.
	QuoteEscape byte
	QuoteAll    bool
	// KeepQuotes leaves values alone that hold quotes and need none for other
	// reasons (escapeQuotes=false).
	KeepQuotes bool

	NullValue  string // default nothing
	EmptyValue string // of empty texts; two quotes by CSVOptionsOf
	Comment    byte   // quoted at the start of a line; default #

	// KeepLeading and KeepTrailing keep white space around values, which
	// Spark's writer trims.
	KeepLeading, KeepTrailing bool

	DateFormat, TimestampFormat, TimestampNTZFormat string
	Zone                                            *time.Location // default UTC

	// Function is the behaviour of to_csv: nested values are written, and rows
	// have no line end.
	Function bool
}

// CSVOptionsOf reads writer options. Unknown ones are ignored.
func CSVOptionsOf(from plan.Options, zone *time.Location) (CSVOptions, error) {
	text := optionReader{from: from}
	o := CSVOptions{
		Zone: zone, LineSep: text.get("lineSep"), NullValue: text.get("nullValue"), EmptyValue: `""`,
		Quote: `"`, DateFormat: text.get("dateFormat"), TimestampFormat: text.get("timestampFormat"),
		TimestampNTZFormat: text.get("timestampNTZFormat"),
	}
	o.Sep = string(text.separator())
	if v, ok := from.Get("emptyValue"); ok {
		o.EmptyValue = v
	}
	if v, ok := from.Get("quote"); ok {
		text.char("quote")
		o.Quote = v
	}
	o.Escape = text.char("escape")
	if v, ok := from.Get("escape"); ok && v == "" {
		o.NoEscape = true
	}
	o.QuoteEscape = text.char("charToEscapeQuoteEscaping")
	o.Comment = text.char("comment")
	text.csvFlag("header", &o.Header, false)
	text.csvFlag("quoteAll", &o.QuoteAll, false)
	text.csvFlag("escapeQuotes", &o.KeepQuotes, true)
	text.csvFlag("ignoreLeadingWhiteSpace", &o.KeepLeading, true)
	text.csvFlag("ignoreTrailingWhiteSpace", &o.KeepTrailing, true)
	if id := text.get("timeZone"); id != "" && text.err == nil {
		o.Zone, text.err = Zone(id)
	}
	return o, text.err
}

// char is an option of one character.
func (r *optionReader) char(name string) byte {
	v := r.get(name)
	switch {
	case v == "":
		return 0
	case utf8.RuneCountInString(v) == 1 && len(v) > 1 && r.err == nil:
		r.err = plan.Unsupported("the CSV option " + name + "=" + v + ", which is not ASCII,")
	case len(v) > 1 && r.err == nil:
		r.err = plan.NewError(plan.ClassRuntime, "OPTION_VALUE_EXCEEDS_ONE_CHARACTER",
			"The option "+name+" is one character, and "+v+" is not.", "paramName", name, "actualValue", v)
	}
	return v[0]
}

// separatorEscapes are what a separator may be written as.
var separatorEscapes = map[byte]byte{
	't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\',
}

// csvSeparator reads the text of a separator.
func csvSeparator(text string) (string, error) {
	if text == "" {
		return ",", plan.IllegalArgument("Delimiter cannot be empty: the option sep is what stands between cells.")
	}
	var sep []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			sep = append(sep, text[i])
			continue
		}
		if i++; i == len(text) {
			return ",", delimiterError("SINGLE_BACKSLASH", "a backslash ends it; write two for one", text)
		}
		c, ok := separatorEscapes[text[i]]
		if !ok {
			return ",", delimiterError("UNSUPPORTED_SPECIAL_CHARACTER", `there is no \`+text[i:i+1], `\`+text[i:i+1])
		}
		sep = append(sep, c)
	}
	return string(sep), nil
}

func delimiterError(condition, why, text string) *plan.Error {
	return plan.NewError(plan.ClassIllegal, "INVALID_DELIMITER_VALUE."+condition,
		"The separator of cells cannot be used: "+why+".", "str", text)
}

// CSVWriter prints rows as lines of CSV. It belongs to one goroutine.
type CSVWriter struct {
	schema plan.Type
	opts   CSVOptions
	values *JSONWriter // prints dates and times by the same patterns
	style  TextStyle
	cell   []byte

	quote, quoteEscape byte
}

// NewCSVWriter makes the writer of a schema.
func NewCSVWriter(schema plan.Type, o CSVOptions) (*CSVWriter, error) {
	for _, f := range schema.Fields {
		if !csvWritable(f.Type) && !o.Function {
			return nil, plan.AnalysisError("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
				"CSV has no "+f.Type.SQL()+", the type of column "+f.Name+".", "columnName", plan.Quote(f.Name),
				"columnType", `"`+f.Type.SQL()+`"`, "format", "CSV")
		}
	}
	if o.Sep == "" {
		o.Sep = ","
	}
	if o.LineSep == "" {
		o.LineSep = "\n"
	}
	if o.Escape == 0 && !o.NoEscape {
		o.Escape = '\\'
	}
	if o.Comment == 0 {
		o.Comment = '#'
	}
	values, err := NewJSONWriter(schema, JSONOptions{
		Zone: o.Zone, DateFormat: o.DateFormat, TimestampFormat: o.TimestampFormat,
		TimestampNTZFormat: o.TimestampNTZFormat,
	})
	if err != nil {
		return nil, err
	}
	w := &CSVWriter{schema: schema, opts: o, values: values}
	if o.Quote != "" {
		w.quote = o.Quote[0]
	}
	if w.quoteEscape = o.QuoteEscape; w.quoteEscape == 0 && o.Escape != w.quote {
		w.quoteEscape = o.Escape
	}
	w.style = TextStyle{Zone: values.zone, ExpDecimal: true, Bare: true}
	return w, nil
}

func csvWritable(t plan.Type) bool {
	switch t.Kind {
	case plan.KindArray, plan.KindMap, plan.KindStruct, plan.KindVariant, plan.KindCalendar, plan.KindNull:
		return false
	default:
		return true
	}
}

// AppendHeader prints the names of the columns, when the options ask for them.
func (w *CSVWriter) AppendHeader(dst []byte) []byte {
	if !w.opts.Header {
		return dst
	}
	for i, f := range w.schema.Fields {
		if i > 0 {
			dst = append(dst, w.opts.Sep...)
		}
		dst = w.appendCell(dst, f.Name, i == 0)
	}
	return append(dst, w.opts.LineSep...)
}

// AppendRow prints row i of the columns with its line end. A row that would be
// an empty line, a single NULL, is left out, as in Spark.
func (w *CSVWriter) AppendRow(dst []byte, cols []*chunk.Vector, i int) ([]byte, error) {
	w.values.err = nil
	start := len(dst)
	for k, v := range cols {
		if k > 0 {
			dst = append(dst, w.opts.Sep...)
		}
		if v.IsNull(i) {
			dst = w.appendStandIn(dst, w.opts.NullValue)
			continue
		}
		switch v.Type.Kind {
		case plan.KindDate, plan.KindTimestamp, plan.KindTimestampNTZ:
			w.cell = w.values.temporal(w.cell[:0], v, i)
		default:
			w.cell = w.style.AppendValue(w.cell[:0], v, i)
		}
		dst = w.appendCell(dst, textOf(w.cell), k == 0)
	}
	if len(dst) == start || w.opts.Function {
		return dst, w.values.err
	}
	return append(dst, w.opts.LineSep...), w.values.err
}

// appendCell prints a value, trimmed, in quotes where it needs them.
func (w *CSVWriter) appendCell(dst []byte, s string, first bool) []byte {
	for !w.opts.KeepLeading && s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for !w.opts.KeepTrailing && s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if s == "" {
		return w.appendStandIn(dst, w.opts.EmptyValue)
	}
	if w.opts.QuoteAll || first && s[0] == w.opts.Comment || w.needsQuotes(s) {
		return w.appendQuoted(dst, s)
	}
	return append(dst, s...)
}

// appendStandIn prints what stands for NULL or for an empty text, which may
// bring its own quotes.
func (w *CSVWriter) appendStandIn(dst []byte, s string) []byte {
	own := len(s) >= 2 && s[0] == w.quote && s[len(s)-1] == w.quote
	if !own && (w.opts.QuoteAll || w.needsQuotes(s)) {
		return w.appendQuoted(dst, s)
	}
	return append(dst, s...)
}

func (w *CSVWriter) needsQuotes(s string) bool {
	if strings.ContainsAny(s, "\n\r") || strings.Contains(s, w.opts.Sep) {
		return true
	}
	at := strings.IndexByte(s, w.quote)
	return at == 0 || at > 0 && !w.opts.KeepQuotes
}

func (w *CSVWriter) appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, w.quote)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == w.quote:
			dst = append(dst, w.opts.Escape, c)
		case c == w.opts.Escape && w.quoteEscape != 0:
			dst = append(dst, w.quoteEscape, c)
		case c == '\n':
			dst = append(dst, w.opts.LineSep...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, w.quote)
}
