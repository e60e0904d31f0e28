package codec

import "bytes"

// quotedCell reads a cell that begins with a quote, the character at hand.
//
// Most are plain: text without quotes and escapes up to a quote, then a
// separator. What remains is read character by character.
func (c *csvCells) quotedCell() (more bool, err error) {
	c.unescaped, c.prev = false, 0
	if end := c.plainQuotes(); end >= 0 {
		cell := c.text[c.at:end]
		c.at, c.trim = end+1, false
		c.next()
		return true, c.addText(cell)
	}
	c.trim = false
	more, err = c.quoted()
	if !more || err != nil || c.unescaped && c.handling == backToDelimiter && len(c.cell) == c.from {
		return more, err
	}
	return more, c.finish()
}

// plainQuotes is where the quote is that ends a plain cell, -1 when the cell is
// not plain.
func (c *csvCells) plainQuotes() int {
	for i := c.at; i < len(c.text); i++ {
		switch r := rune(c.text[i]); {
		case r == c.quote:
			if i+1 < len(c.text) && c.text[i+1] == c.sep[0] && c.isSep(i+1) {
				return i
			}
			return -1
		case r == c.escape, len(c.lineEnd) > 0 && r == rune(c.lineEnd[0]) && r == '\r':
			return -1
		}
	}
	return -1
}

// quoted reads on in quotes until the cell has ended; false at the end of the
// text. A quote inside that is not escaped makes it begin anew, with another
// prev.
func (c *csvCells) quoted() (more bool, err error) {
	for {
		if c.prev != 0 && c.handling != stopAtClosingQuote && c.handling != raiseError {
			return c.untilSep(), nil
		}
		if !c.next() {
			return false, nil
		}
		again, more, err := c.inQuotes()
		if !again || !more || err != nil {
			return more, err
		}
	}
}

// untilSep takes what follows up to the separator into the cell as it is, with
// the quote that it began with; or drops all of it.
func (c *csvCells) untilSep() bool {
	if c.handling == skipValue {
		return c.skipCell()
	}
	c.cell = append(c.cell, 0)
	copy(c.cell[c.from+1:], c.cell[c.from:])
	c.cell[c.from] = byte(c.quote)
	c.trim = c.trimTrailing
	first := rune(0)
	for c.next() {
		if c.ends() {
			return true
		}
		c.keep(c.ch)
		if first == 0 {
			first = c.ch
		}
	}
	if first != 0 {
		c.ch = first // at the end of a text Spark looks at where such a run began
	}
	return false
}

func (c *csvCells) skipCell() bool {
	c.cell, c.skip = c.cell[:c.from], true
	for !c.ends() {
		if !c.next() {
			return false
		}
	}
	return true
}

// inQuotes reads up to the end of the cell or to a quote that is not escaped,
// after which the reading begins anew.
func (c *csvCells) inQuotes() (again, more bool, err error) {
	for {
		switch {
		case c.prev == c.quote && (c.blank() || c.ends()):
			return c.behindQuotes()
		case c.ch != c.quote && c.ch != c.escape:
			if c.prev == c.quote {
				return c.strayQuote()
			}
			if c.prev == c.escape && c.escape != 0 {
				c.keep(c.escape)
			}
			if !c.untilQuote() {
				return false, false, nil
			}
			c.prev = c.ch
			if !c.next() {
				return false, false, nil
			}
		default:
			if err := c.escapeOrQuote(); err != nil {
				return false, true, err
			}
			c.prev = c.ch
			if !c.next() {
				return false, false, nil
			}
			if c.unescaped && c.ends() {
				return false, true, nil
			}
		}
	}
}

// untilQuote takes text up to a quote or an escape, which is then at hand.
func (c *csvCells) untilQuote() bool {
	first := c.ch
	for c.ch != c.quote && c.ch != c.escape && (c.ch != c.escaped || c.escaped == 0) {
		c.keep(c.ch)
		if !c.next() {
			c.ch = first
			return false
		}
	}
	return true
}

// escapeOrQuote sees what the quote or escape at hand is, with the character
// before it.
func (c *csvCells) escapeOrQuote() error {
	switch {
	case c.ch == c.escape && c.prev == c.escaped && c.escaped != 0:
		c.keep(c.escape)
		c.ch = 0
	case c.prev == c.escape && c.ch == c.quote:
		c.keep(c.quote)
		c.ch = 0
	case c.prev == c.escape:
		if c.prev != 0 {
			c.keep(c.prev)
		}
	case c.ch == c.quote && c.prev == c.quote:
		c.keep(c.quote)
	case c.prev == c.quote:
		return c.strayEscape()
	}
	return nil
}

// strayEscape is an escape right behind a quote.
func (c *csvCells) strayEscape() error {
	switch c.handling {
	case raiseError:
		return c.malformedQuotes()
	case skipValue:
		c.skipCell()
		return nil
	}
	c.keep(c.quote)
	c.prev = c.ch
	return c.escapesUntilSep()
}

// escapesUntilSep takes what follows up to the separator into the cell, and sees
// quotes and escapes in it.
func (c *csvCells) escapesUntilSep() error {
	for !c.ends() {
		switch {
		case c.ch == c.quote || c.ch == c.escape:
			if err := c.escapeOrQuote(); err != nil {
				return err
			}
		case c.prev == c.quote:
			c.keep(c.quote)
			c.keep(c.ch)
		default:
			c.keep(c.ch)
		}
		c.prev = c.ch
		if !c.next() {
			return nil
		}
	}
	return nil
}

// strayQuote has met a character behind a quote that ends nothing.
func (c *csvCells) strayQuote() (again, more bool, err error) {
	c.unescaped = true
	switch c.handling {
	case raiseError:
		return false, true, c.malformedQuotes()
	case skipValue:
		return false, c.skipCell(), nil
	case backToDelimiter:
		err = c.splitAtSeparators()
		c.keep(c.ch)
		c.prev = 0
	default:
		c.keep(c.quote)
		c.keep(c.ch)
		c.prev = c.ch
	}
	return true, true, err
}

// splitAtSeparators makes cells of what was taken for the inside of one.
func (c *csvCells) splitAtSeparators() error {
	for {
		inside := c.cell[c.from:]
		sep, line := bytes.Index(inside, c.sep), bytes.IndexByte(inside, byte(c.newline))
		if sep < 0 && line < 0 {
			return nil
		}
		at, n := sep, len(c.sep)
		if sep < 0 || line >= 0 && line < sep {
			at, n = line, 1
		}
		if err := c.add(inside[:at:at]); err != nil {
			return err
		}
		c.from += at + n
		if n == 1 && at == line {
			c.pending = append(c.pending, append([][]byte(nil), c.cells...))
			c.cells = c.cells[:0]
		}
	}
}

// behindQuotes stands behind a quote that may end the cell: blanks may follow.
// Anything else makes the quote one that was not escaped.
func (c *csvCells) behindQuotes() (again, more bool, err error) {
	if c.ends() {
		return false, true, nil
	}
	blanks := len(c.cell)
	c.keep(c.quote)
	for {
		c.keep(c.ch)
		if !c.next() {
			c.cell = c.cell[:blanks]
			return false, false, nil
		}
		if c.ends() {
			c.cell = c.cell[:blanks]
			return false, true, nil
		}
		if !c.blank() {
			break
		}
	}
	if c.handling == raiseError {
		return false, true, c.malformedQuotes()
	}
	if c.handling != stopAtClosingQuote || c.ch != c.quote && c.ch != c.escape {
		c.keep(c.ch)
	}
	c.prev = c.ch
	return true, true, nil
}
