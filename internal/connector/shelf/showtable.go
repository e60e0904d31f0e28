package shelf

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// showTable draws rows as df.show() does.
type showTable struct {
	limit int // rows shown
	cut   int // longest cell in UTF-16 units, 0 for any
	style codec.TextStyle
	cells [][]string // the header first
	more  bool
}

func newShowTable(schema plan.Type, limit, cut int, env *connector.Env) *showTable {
	t := &showTable{limit: limit, cut: cut}
	t.style = codec.TextStyle{Zone: codec.NewOffsets(env.Eval.Zone), Pretty: true}
	header := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		header[i] = escapeCell(f.Name)
	}
	t.cells = append(t.cells, header)
	return t
}

// add takes the rows of a chunk that are to be shown.
func (t *showTable) add(c *chunk.Chunk) {
	for i := range c.Rows {
		if len(t.cells) > t.limit {
			t.more = true
			return
		}
		row := make([]string, len(c.Cols))
		for k, col := range c.Cols {
			row[k] = cutCell(escapeCell(string(t.style.AppendValue(nil, col, i))), t.cut)
		}
		t.cells = append(t.cells, row)
	}
}

func (t *showTable) String() string {
	widths := make([]int, len(t.cells[0]))
	for i := range widths {
		widths[i] = 3
		for _, row := range t.cells {
			widths[i] = max(widths[i], shownWidth(row[i]))
		}
	}
	var b strings.Builder
	rule := func() {
		b.WriteByte('+')
		for i, w := range widths {
			if i > 0 {
				b.WriteByte('+')
			}
			b.WriteString(strings.Repeat("-", w))
		}
		b.WriteString("+\n")
	}
	rule()
	for i, row := range t.cells {
		t.line(&b, row, widths)
		if i == 0 {
			rule()
		}
	}
	rule()
	if t.more {
		b.WriteString("only showing top " + strconv.Itoa(t.limit) + " row")
		if t.limit != 1 {
			b.WriteByte('s')
		}
	}
	return b.String()
}

// line writes one row, padded on the left when cells are cut and else on the right.
func (t *showTable) line(b *strings.Builder, row []string, widths []int) {
	b.WriteByte('|')
	for i, cell := range row {
		if i > 0 {
			b.WriteByte('|')
		}
		pad := strings.Repeat(" ", widths[i]-shownWidth(cell))
		if t.cut > 0 {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	b.WriteString("|\n")
}

var cellEscapes = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`,
	"\v", `\v`, "\a", `\a`)

func escapeCell(s string) string { return cellEscapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

// cutCell shortens a cell of more than cut UTF-16 units.
func cutCell(s string, cut int) string {
	if cut <= 0 || len(s) <= cut {
		return s
	}
	units := utf16.Encode([]rune(s))
	switch {
	case len(units) <= cut:
		return s
	case cut < 4:
		return string(utf16.Decode(units[:cut]))
	default:
		return string(utf16.Decode(units[:cut-3])) + "..."
	}
}

// wide are the characters that take two columns of a terminal.
var wide = [...][2]rune{
	{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
	{0xFE10, 0xFE19}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6},
}

// shownWidth is the columns that a text takes: one for each UTF-16 unit, two
// for wide characters.
func shownWidth(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
		if r < 0x1100 || r > utf8.MaxRune {
			continue
		}
		for _, span := range wide {
			if r >= span[0] && r <= span[1] {
				n++
				break
			}
		}
	}
	return n
}
