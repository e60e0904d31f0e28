package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// CSVReadOptions are the options of Spark's CSV reader.
type CSVReadOptions struct {
	Mode          ParseMode
	CorruptColumn string // default _corrupt_record
	LineSep       string // one or two bytes; default: \n, \r\n and \r
	MultiLine     bool   // records may go over lines, in quotes
	Encoding      string // default: UTF-8

	Header         bool
	EnforceSchema  bool // the names in a header need not be the schema's
	CaseSensitive  bool // whether names in a header must have the schema's case
	ColumnPruning  bool // cells of columns that nobody wants need not be there
	Comment        rune // begins a line that is none; 0 for nothing
	MaxColumns     int  // default 20480
	MaxCharsPerRow int

	DateFormat         string // patterns; default: what casts read
	TimestampFormat    string
	TimestampNTZFormat string
	Fallback           bool           // try casts after a pattern failed
	Zone               *time.Location // default UTC
	Now                int64          // µs since 1970, for times without a date
	Locale             string         // of decimals; default en-US

	NaN, PositiveInf, NegativeInf string

	// What schema inference does.
	Infer, PreferDate bool

	// Filters let rows be left out while a file is read.
	Filters []RowFilter

	grammar csvGrammar
}

// CSVReadOptionsOf reads reader options. Unknown ones are ignored.
func CSVReadOptionsOf(from plan.Options, zone *time.Location, now int64) (CSVReadOptions, error) {
	text := optionReader{from: from}
	o := CSVReadOptions{
		Zone: zone, Now: now, Mode: ParseModeOf(text.get("mode")), ColumnPruning: true, EnforceSchema: true,
		PreferDate: true, CorruptColumn: text.get("columnNameOfCorruptRecord"), LineSep: text.get("lineSep"),
		Encoding:   text.get("encoding"),
		DateFormat: text.get("dateFormat"), TimestampFormat: text.get("timestampFormat"),
		TimestampNTZFormat: text.get("timestampNTZFormat"), Locale: text.get("locale"),
		NaN: text.or("nanValue", "NaN"), PositiveInf: text.or("positiveInf", "Inf"),
		NegativeInf: text.or("negativeInf", "-Inf"),
	}
	if o.Encoding == "" {
		o.Encoding = text.get("charset")
	}
	for name, to := range map[string]*bool{
		"header": &o.Header, "enforceSchema": &o.EnforceSchema,
		"columnPruning": &o.ColumnPruning, "inferSchema": &o.Infer, "preferDate": &o.PreferDate,
	} {
		text.csvFlag(name, to, false)
	}
	for _, ofWriters := range []string{"quoteAll", "escapeQuotes"} {
		var unused bool
		text.csvFlag(ofWriters, &unused, false)
	}
	text.flag("multiLine", &o.MultiLine, false)
	text.flag("enableDateTimeParsingFallback", &o.Fallback, false)
	if _, ok := from.Get("singleVariantColumn"); ok && text.err == nil {
		text.err = plan.Unsupported("the CSV option singleVariantColumn")
	}
	if v, ok := from.Get("samplingRatio"); ok && text.err == nil {
		if f, err := strconv.ParseFloat(v, 64); err != nil || f <= 0 {
			text.err = plan.IllegalArgument("samplingRatio (%s) should be greater than 0", v)
		}
	}
	o.Comment = text.letter("comment", 0)
	text.number("maxColumns", &o.MaxColumns, 20480)
	o.grammar = text.grammar()
	o.grammar.maxCells = o.MaxColumns
	if id := text.get("timeZone"); id != "" && text.err == nil {
		o.Zone, text.err = Zone(id)
	}
	if text.err == nil {
		text.err = checkCSVCharset(o.Encoding)
	}
	return o, text.err
}

// csvCharsets are the character sets that Spark reads CSV in.
var csvCharsets = []string{"iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8"}

func checkCSVCharset(name string) error {
	if name == "" || slices.Contains(csvCharsets, strings.ToLower(name)) {
		return nil
	}
	known := strings.Join(csvCharsets, ", ")
	return plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.CHARSET",
		"The option encoding is "+name+"; CSV is read in one of "+known+".",
		"parameter", "`charset`", "functionName", "`CSVOptions`", "charset", name, "charsets", known)
}

// CheckCSVLineSep refuses what ends no line of a file. The functions of single records
// do not look at it.
func CheckCSVLineSep(from plan.Options) error {
	sep, set := from.Get("lineSep")
	switch n := len(sep); {
	case !set:
	case n == 0:
		return plan.NewError(plan.ClassIllegal, "INVALID_LINE_SEPARATOR.EMPTY", "The option lineSep is empty.")
	case n > 2:
		return plan.NewError(plan.ClassIllegal, "INVALID_LINE_SEPARATOR.TOO_LONG",
			fmt.Sprintf("The option lineSep has %d characters; at most 2 end a line.", n), "length", strconv.Itoa(n))
	}
	return nil
}

// grammar reads the options about cells.
func (r *optionReader) grammar() csvGrammar {
	g := csvGrammar{
		quote: r.letter("quote", '"'), escape: r.letter("escape", '\\'), null: []byte(r.get("nullValue")),
		empty: []byte(r.get("emptyValue")), newline: '\n', sep: r.separator(),
	}
	if g.escaped = r.letter("charToEscapeQuoteEscaping", 0); g.escaped == 0 && g.escape != g.quote {
		g.escaped = g.escape
	}
	r.csvFlag("ignoreLeadingWhiteSpace", &g.trimLeading, false)
	r.csvFlag("ignoreTrailingWhiteSpace", &g.trimTrailing, false)
	r.number("maxCharsPerColumn", &g.maxChars, -1)
	g.maxChars = max(g.maxChars, 0)
	var err error
	if g.handling, err = csvQuoteHandling(strings.ToUpper(r.get("unescapedQuoteHandling"))); r.err == nil {
		r.err = err
	}
	return g
}

// separator is what stands between cells.
func (r *optionReader) separator() []byte {
	text, ok := r.from.Get("sep")
	if !ok {
		text, ok = r.from.Get("delimiter")
	}
	if !ok {
		return []byte{','}
	}
	sep, err := csvSeparator(text)
	if r.err == nil {
		r.err = err
	}
	return []byte(sep)
}

// or is an option's text or another when it is not given.
func (r *optionReader) or(name, otherwise string) string {
	if v, ok := r.from.Get(name); ok {
		return v
	}
	return otherwise
}

// letter is an option of one character; an empty text is the character that no
// text has.
func (r *optionReader) letter(name string, otherwise rune) rune {
	if _, ok := r.from.Get(name); !ok {
		return otherwise
	}
	return rune(r.char(name))
}

func (r *optionReader) number(name string, to *int, otherwise int) {
	*to = otherwise
	v, ok := r.from.Get(name)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil && r.err == nil {
		r.err = plan.NewError(plan.ClassRuntime, "_LEGACY_ERROR_TEMP_2146",
			"The option "+name+" is an integer, not "+v+".", "paramName", name, "value", v)
	}
	*to = int(n)
}

// CSVReader turns CSV into rows of a schema. It belongs to one goroutine.
type CSVReader struct {
	schema  plan.Type
	opts    CSVReadOptions
	cells   csvCells
	values  csvValues
	columns []csvColumn // those that are read, in the order of the schema
	corrupt int         // column for malformed records, -1 without one
	width   int         // how many cells a record should have
	names   []string    // of a header, for all columns of the file

	gate   filterGate
	bad    csvFault
	record chunk.Chunk // of AppendValue: the fields of its column
}

// csvFault is why a record is malformed: nil, a wrong number of cells, or a cell
// that is not of its column's type.
type csvFault error

// csvColumn is a column that is read.
type csvColumn struct {
	out  int // column of the schema
	cell int // its place in a record
	typ  plan.Type
	read func(v *csvValues, cell []byte, to *chunk.Vector) bool

	watched uint8 // the filters of which it is the last column
}

// NewCSVReader compiles a schema: the columns that are wanted of a file with the
// columns of file.
func NewCSVReader(schema, file plan.Type, o CSVReadOptions) (*CSVReader, error) {
	if o.CorruptColumn == "" {
		o.CorruptColumn = DefaultCorruptColumn
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	r := &CSVReader{schema: schema, opts: o, corrupt: -1}
	var cells []plan.Field
	for _, f := range file.Fields {
		if f.Name != o.CorruptColumn {
			cells = append(cells, f)
			r.names = append(r.names, f.Name)
		}
	}
	r.width = len(r.names)
	for i, f := range schema.Fields {
		if f.Name == o.CorruptColumn {
			if !f.Type.IsString() {
				return nil, corruptColumnError(f)
			}
			r.corrupt = i
			continue
		}
		read, err := csvRead(f.Type)
		if err != nil {
			return nil, err
		}
		c := csvColumn{out: i, typ: f.Type, read: read}
		c.cell = slices.IndexFunc(cells, func(of plan.Field) bool {
			return of.Name == f.Name && of.Type.Equal(f.Type)
		})
		r.columns = append(r.columns, c)
	}
	r.cells.csvGrammar = o.grammar
	if o.LineSep != "" {
		r.cells.newline = -1
	}
	r.watch()
	return r, r.values.compile(o, r.columns)
}

func corruptColumnError(f plan.Field) error {
	return plan.AnalysisError("INVALID_CORRUPT_RECORD_TYPE",
		"The column "+f.Name+" for malformed records must be a nullable string.",
		"columnName", plan.Quote(f.Name), "actualType", `"`+f.Type.SQL()+`"`)
}

// watch compiles the filters. Spark asks one when its last column was read.
func (r *CSVReader) watch() {
	for _, f := range r.opts.Filters {
		last := -1
		for k, c := range r.columns {
			for _, column := range f.Columns {
				if c.out == column {
					last = k
				}
			}
		}
		if last >= 0 && r.gate.add(f) {
			r.columns[last].watched |= 1 << (len(r.gate.filters) - 1)
		}
	}
}

// pruned reports whether only the cells that are wanted count.
func (r *CSVReader) pruned() bool {
	return r.opts.ColumnPruning && !r.opts.MultiLine && len(r.columns) < r.width
}

// Read reads a file to its end, in chunks of at most chunk.MaxRows rows, each
// newly made.
func (r *CSVReader) Read(src io.Reader) chunk.Rows {
	return r.gate.rows(r.schema, func(out *chunkWriter) error { return r.read(src, out) })
}

func (r *CSVReader) read(src io.Reader, out *chunkWriter) error {
	// Only a name makes it another character set; a text may then say its byte order.
	src, err := decodeCharset(src, cmp.Or(r.opts.Encoding, "UTF-8"), true)
	if err != nil {
		return err
	}
	if r.opts.MultiLine {
		return r.readWhole(src, out)
	}
	r.cells.oneLine = r.opts.LineSep == ""
	lines := csvLines{lineReader: newLineReader(src, r.opts.LineSep), comment: r.opts.Comment}
	header := r.opts.Header
	for !out.stopped {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header {
			header = false
			if err := r.checkHeader(line); err != nil {
				return err
			}
			continue
		}
		if err := r.line(line, out.chunk); err != nil {
			return err
		}
		if out.chunk.Rows >= chunk.MaxRows {
			out.flush()
		}
	}
	return nil
}

// csvLines are the lines of a file that hold records.
type csvLines struct {
	*lineReader
	comment rune
	begun   bool
}

func (l *csvLines) next() ([]byte, error) {
	for {
		line, err := l.lineReader.next()
		if err != nil {
			return nil, err
		}
		if !l.begun {
			l.begun = true
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if !onlyBlanks(line) && !(l.comment != 0 && rune(line[0]) == l.comment) {
			return line, nil
		}
	}
}

func onlyBlanks(line []byte) bool {
	for _, b := range line {
		if b > ' ' {
			return false
		}
	}
	return true
}

// line reads the record of a line.
func (r *CSVReader) line(line []byte, into *chunk.Chunk) error {
	r.cells.reset(line)
	if _, err := r.cells.record(); err != nil {
		return err
	}
	return r.row(line, into)
}

// readWhole reads a file whose records may go over lines.
func (r *CSVReader) readWhole(src io.Reader, out *chunkWriter) error {
	c := &r.cells
	records := csvRecords{cells: c, lineSep: r.opts.LineSep, comment: r.opts.Comment}
	if err := records.open(src); err != nil {
		return err
	}
	header := r.opts.Header
	for !out.stopped {
		found, err := records.next()
		if !found || err != nil {
			return err
		}
		if header {
			header = false
			err = r.compareHeader(c.cells)
		} else {
			err = r.row(c.text[c.start:c.at], out.chunk)
		}
		if err != nil {
			return err
		}
		if out.chunk.Rows >= chunk.MaxRows {
			out.flush()
		}
	}
	return nil
}

// csvRecords are the records of a file whose records may go over lines.
type csvRecords struct {
	cells   *csvCells
	lineSep string
	comment rune
}

func (f *csvRecords) open(src io.Reader) error {
	text, err := readWhole(src)
	if err != nil {
		return err
	}
	c := f.cells
	c.reset(bytes.TrimPrefix(text, byteOrderMark))
	if c.lineEnd = []byte(f.lineSep); len(c.lineEnd) == 0 {
		c.lineEnd = lineEndOf(c.text)
	}
	return nil
}

// next reads the cells of the next record; false at the end.
func (f *csvRecords) next() (bool, error) {
	c := f.cells
	for c.at < len(c.text) || len(c.pending) > 0 {
		if f.comment != 0 && c.at < len(c.text) && rune(c.text[c.at]) == f.comment {
			c.skipLine()
			continue
		}
		if found, err := c.record(); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// lineEndOf is the first line end of a file: what all of them are.
func lineEndOf(text []byte) []byte {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return nil
	}
	if bytes.HasPrefix(text[i:], []byte("\r\n")) {
		return text[i : i+2]
	}
	return text[i : i+1]
}

// skipLine goes behind the next line end.
func (c *csvCells) skipLine() {
	for c.next() && c.ch != c.newline {
	}
}

// row appends the row of the cells at hand.
func (r *CSVReader) row(text []byte, into *chunk.Chunk) error {
	cells, row := r.cells.cells, into.Rows
	r.bad = nil
	if len(cells) != r.width && !r.pruned() {
		r.bad = errCSVWidth
	}
	passed := uint8(0)
	for k := range r.columns {
		c := &r.columns[k]
		v := into.Cols[c.out]
		switch {
		case c.cell < len(cells):
			if cell := cells[c.cell]; string(cell) == string(r.cells.null) {
				v.AppendNull()
			} else if !c.read(&r.values, cell, v) {
				v.AppendNull()
				passed |= c.watched
				r.fault(errCSVCell)
			}
		case r.pruned():
			v.AppendNull()
		default:
			v.AppendNull()
			passed |= c.watched
		}
	}
	if r.gate.filters != nil {
		r.gate.exempt(1, passed)
	}
	if r.corrupt >= 0 {
		into.Cols[r.corrupt].AppendNull()
	}
	into.Rows++
	if r.bad == nil {
		return nil
	}
	return r.malformed(text, into, row)
}

var (
	errCSVWidth = fmt.Errorf("the number of cells is not that of the columns")
	errCSVCell  = fmt.Errorf("a cell is not of its column's type")
)

func (r *CSVReader) fault(why csvFault) {
	if r.bad == nil {
		r.bad = why
	}
}

// malformed does with the last row of a chunk what the mode says.
func (r *CSVReader) malformed(text []byte, into *chunk.Chunk, row int) error {
	switch r.opts.Mode {
	case Permissive:
		if r.corrupt >= 0 && text != nil {
			truncate(into.Cols[r.corrupt], row)
			into.Cols[r.corrupt].AppendBytes(bytes.ToValidUTF8(withoutLineEnd(text), []byte("\ufffd")))
		}
		return nil
	case FailFast:
		bad := "["
		style := TextStyle{Zone: r.values.dates.zone}
		for k, c := range r.columns {
			if k > 0 {
				bad += ","
			}
			bad += string(style.AppendValue(nil, into.Cols[c.out], row))
		}
		r.forget(into, row)
		return failFastError(bad+"]", faultRecord)
	default:
		r.forget(into, row)
		return nil
	}
}

// withoutLineEnd is a text without the line end that it may have, of any kind.
func withoutLineEnd(text []byte) []byte {
	short := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
	if len(short) == len(text) {
		short = bytes.TrimSuffix(text, []byte{'\f'})
	}
	return short
}

// forget takes the last row off a chunk.
func (r *CSVReader) forget(into *chunk.Chunk, row int) {
	for _, v := range into.Cols {
		truncate(v, row)
	}
	into.Rows = row
	if r.gate.filters != nil {
		r.gate.forget(1)
	}
}

// checkHeader compares the names in a header line with the schema's.
func (r *CSVReader) checkHeader(line []byte) error {
	r.cells.reset(line)
	if _, err := r.cells.record(); err != nil {
		return err
	}
	return r.compareHeader(r.cells.cells)
}

// compareHeader refuses other names than the schema's, where they matter: those
// of the columns that are read, or of all.
func (r *CSVReader) compareHeader(cells [][]byte) error {
	if r.opts.EnforceSchema {
		return nil
	}
	var header, schema []string
	for i, cell := range cells {
		if !r.pruned() || r.reads(i) {
			header = append(header, string(cell))
		}
	}
	for i, name := range r.names {
		if !r.pruned() || r.reads(i) {
			schema = append(schema, name)
		}
	}
	if len(header) != len(schema) {
		return plan.IllegalArgument("The header of a CSV file has %d columns and the schema %d: %s; %s.",
			len(header), len(schema), strings.Join(header, ", "), strings.Join(schema, ", "))
	}
	for i, name := range schema {
		if got := header[i]; got != name && (r.opts.CaseSensitive || !strings.EqualFold(got, name)) {
			return plan.IllegalArgument("The header of a CSV file is not of the schema: %s was found and %s "+
				"expected. Header: %s. Schema: %s. With the option enforceSchema=true the schema's names hold, "+
				"whatever the header says.", got, name, strings.Join(header, ", "), strings.Join(schema, ", "))
		}
	}
	return nil
}

func (r *CSVReader) reads(cell int) bool {
	return slices.ContainsFunc(r.columns, func(c csvColumn) bool { return c.cell == cell })
}
