package codec

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/plan"
)

// quoteHandling says what becomes of a cell in quotes with a quote inside that
// is not escaped.
type quoteHandling uint8

const (
	stopAtDelimiter    quoteHandling = iota // the cell is all up to the separator, quotes included
	stopAtClosingQuote                      // the cell goes on up to a quote that ends it
	backToDelimiter                         // the cell ended at the first separator in it
	skipValue                               // the cell is empty
	raiseError                              // the file is refused
)

var quoteHandlings = map[string]quoteHandling{
	"STOP_AT_DELIMITER": stopAtDelimiter, "STOP_AT_CLOSING_QUOTE": stopAtClosingQuote,
	"BACK_TO_DELIMITER": backToDelimiter, "SKIP_VALUE": skipValue, "RAISE_ERROR": raiseError,
}

// csvGrammar is how the cells of a record stand in its text.
type csvGrammar struct {
	sep           []byte
	quote, escape rune // none is U+0000, and as in Spark that then is one
	// escaped stands before an escape that is meant itself; 0 for nothing.
	escaped                   rune
	handling                  quoteHandling
	trimLeading, trimTrailing bool
	null, empty               []byte // what cells of nothing read as: bare ones, and ones in quotes
	maxCells, maxChars        int    // maxChars 0: any number

	// newline ends a record within the text (-1: nothing does), and lineEnd, of one or two bytes, is
	// read as one; empty: none is.
	newline rune
	lineEnd []byte
}

// sepMark is the character that a separator is read as, whatever its length.
const sepMark rune = utf8.MaxRune + 1

// csvCells takes a text apart into records and their cells, as Spark's parser
// does down to what it makes of quotes that do not match. Cells are valid until
// the next record.
type csvCells struct {
	csvGrammar
	text  []byte
	at    int
	start int // of the record

	ch, prev  rune // the character at hand, and the one before that matters in quotes; 0 for none
	oneLine   bool // the text has no line ends
	unescaped bool // a quote that was not escaped has been met in this cell
	trim      bool // what is in cell ends without blanks
	skip      bool // nothing more is taken into this cell

	cell    []byte // the cell being read; it holds all of the record's that are not in text as they are
	from    int    // of cell: where the one being read begins
	cells   [][]byte
	pending [][][]byte // records that a quote which does not match has held
}

// reset begins a new text.
func (c *csvCells) reset(text []byte) {
	c.text, c.at = text, 0
	c.pending = c.pending[:0]
}

// next reads a character. At the end of the text it reports false and leaves the
// last one.
func (c *csvCells) next() bool {
	if c.at >= len(c.text) {
		return false
	}
	b := c.text[c.at]
	c.at++
	switch {
	case b == c.sep[0] && c.isSep(c.at-1):
		c.ch = sepMark
		c.at += len(c.sep) - 1
	case c.isLineEnd(b, c.at-1):
		c.ch = c.newline
		c.at += len(c.lineEnd) - 1
	default:
		c.ch = rune(b)
	}
	return true
}

func (c *csvCells) isSep(i int) bool {
	return len(c.sep) == 1 || len(c.text)-i >= len(c.sep) && string(c.text[i:i+len(c.sep)]) == string(c.sep)
}

// isLineEnd reports whether one begins with the byte b, which stands at i.
func (c *csvCells) isLineEnd(b byte, i int) bool {
	return len(c.lineEnd) > 0 && b == c.lineEnd[0] &&
		(len(c.lineEnd) == 1 || i+1 < len(c.text) && c.text[i+1] == c.lineEnd[1])
}

func (c *csvCells) blank() bool { return c.ch <= ' ' }

// ends reports whether the cell ends before the character at hand.
func (c *csvCells) ends() bool { return c.ch == sepMark || c.ch == c.newline }

// keep appends a character to the cell.
func (c *csvCells) keep(ch rune) {
	if c.skip {
		return
	}
	switch ch {
	case sepMark:
		c.cell = append(c.cell, c.sep...)
		return
	case -1: // a line end that lineSep names
		c.cell = append(c.cell, '\n')
		return
	}
	c.cell = append(c.cell, byte(ch))
}

// malformed refuses a record whatever the parse mode is.
func (c *csvCells) malformed(why string) error {
	text := string(withoutLineEnd(c.text[c.start:min(len(c.text), c.start+1000)]))
	return plan.NewError(plan.ClassRuntime, "MALFORMED_CSV_RECORD", "A record is not CSV: "+why+": "+text,
		"badRecord", text)
}

func (c *csvCells) add(cell []byte) error {
	if len(c.cells) >= c.maxCells {
		return c.malformed(fmt.Sprintf("it has more than %d cells; the option maxColumns allows more", c.maxCells))
	}
	c.cells = append(c.cells, cell)
	return nil
}

// addNone adds a cell with no text at all.
func (c *csvCells) addNone() error { return c.add(c.null) }

// finish ends the cell that was read into the scratch.
func (c *csvCells) finish() error {
	cell := c.cell[c.from:]
	c.from, c.skip = len(c.cell), false
	return c.addText(cell)
}

func (c *csvCells) addText(cell []byte) error {
	if c.maxChars > 0 && len(cell) > c.maxChars && utf16Len(cell) > c.maxChars {
		return c.malformed(fmt.Sprintf(
			"a cell has more than %d characters; the option maxCharsPerColumn allows more", c.maxChars))
	}
	for c.trim && len(cell) > 0 && cell[len(cell)-1] <= ' ' {
		cell = cell[:len(cell)-1]
	}
	if len(cell) == 0 {
		cell = c.empty
	}
	return c.add(cell)
}

// utf16Len is the length of a text as Java counts it.
func utf16Len(b []byte) int {
	n := 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if n++; r > 0xffff {
			n++
		}
		b = b[size:]
	}
	return n
}

// record reads the cells of the next record; false when there is none.
func (c *csvCells) record() (bool, error) {
	c.cells, c.cell, c.from = c.cells[:0], c.cell[:0], 0
	c.start, c.prev, c.ch, c.unescaped, c.trim, c.skip = c.at, 0, 0, false, false, false
	if len(c.pending) > 0 {
		c.cells = append(c.cells, c.pending[0]...)
		c.pending = c.pending[1:]
		return true, nil
	}
	if !c.next() {
		return false, nil
	}
	more, err := c.readCells()
	if err == nil && !more {
		err = c.endOfText()
	}
	return len(c.cells) > 0, err
}

// readCells reads cells up to the end of the record; false when that is the end
// of the text, with a cell that is not finished.
func (c *csvCells) readCells() (more bool, err error) {
	if c.trimLeading && !c.skipBlanks() {
		return false, nil
	}
	for more = true; more && err == nil && c.ch != c.newline; {
		if c.trimLeading && !c.skipBlanks() {
			return false, nil
		}
		switch {
		case c.ends():
			err = c.addNone()
		case c.ch == c.quote:
			more, err = c.quotedCell()
		default:
			more, err = c.bareCell()
		}
		if more && err == nil && c.ch != c.newline {
			if more = c.next(); more && c.ch == c.newline {
				err = c.addNone()
			}
		}
	}
	return more, err
}

// skipBlanks reports false at the end of the text.
func (c *csvCells) skipBlanks() bool {
	for c.blank() && c.ch != c.newline && c.ch != c.quote {
		if !c.next() {
			return false
		}
	}
	return true
}

// bareCell reads a cell that does not begin with a quote. Where no line end can
// be it is a part of the text.
func (c *csvCells) bareCell() (more bool, err error) {
	from, line := c.at-1, -1
	if c.oneLine && len(c.sep) == 1 {
		if n := bytes.IndexByte(c.text[from:], c.sep[0]); n >= 0 {
			c.ch, c.at = sepMark, from+n+1
			return true, c.addBare(c.text[from : from+n])
		}
		return false, c.lastCell(from)
	}
	for i := from; i < len(c.text); i++ {
		switch b := c.text[i]; {
		case b == c.sep[0] && c.isSep(i):
			c.ch, c.at = sepMark, i+len(c.sep)
			return true, c.addBare(c.text[from:i])
		case c.isLineEnd(b, i):
			c.at = i
			c.next()
			return true, c.addBare(c.text[from:i])
		case rune(b) == c.newline && line < 0:
			line = i // ends the record only when no separator follows
		}
	}
	if line >= 0 {
		c.ch, c.at = c.newline, line+1
		return true, c.addBare(c.text[from:line])
	}
	if len(c.sep) > 1 {
		c.ch = rune(c.text[len(c.text)-1]) // a quote there is doubled
	}
	return false, c.lastCell(from)
}

// lastCell leaves a cell that the text ends in unfinished.
func (c *csvCells) lastCell(from int) error {
	c.at, c.trim = len(c.text), c.trimTrailing
	c.cell = append(c.cell, c.text[from:]...)
	return nil
}

// addBare adds a cell without quotes that does not end the text; one that is
// trimmed to nothing is none.
func (c *csvCells) addBare(cell []byte) error {
	if c.trim = c.trimTrailing; c.trim && onlyBlanks(cell) {
		return c.addNone()
	}
	return c.addText(cell)
}

// endOfText finishes the record that the text ends in.
func (c *csvCells) endOfText() error {
	whole := false // the text ended right behind a quote that may have been the last
	if c.ch == c.quote {
		if c.prev == c.quote {
			whole = true
		} else if !c.unescaped {
			c.keep(c.quote)
		}
	}
	whole = whole || c.prev != 0 && !c.ends()
	switch {
	case whole || len(c.cell) > c.from:
		return c.finish()
	case c.at > c.start:
		return c.addNone()
	}
	return nil
}

// malformedQuotes refuses what RAISE_ERROR and no other handling refuses.
func (c *csvCells) malformedQuotes() error {
	return c.malformed(
		"a cell has a quote inside that is not escaped, and unescapedQuoteHandling is RAISE_ERROR")
}

// csvQuoteHandling is the handling of an option's text.
func csvQuoteHandling(text string) (quoteHandling, error) {
	if h, ok := quoteHandlings[text]; ok || text == "" {
		return h, nil
	}
	return 0, plan.IllegalArgument("No enum constant com.univocity.parsers.csv.UnescapedQuoteHandling.%s", text)
}
