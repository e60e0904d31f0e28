package show

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// Table is the texts of a table to be shown.
type Table struct {
	node  *plan.ShowString
	want  int
	names []string
	rows  [][]string
	more  bool
	style codec.TextStyle
	buf   []byte
}

// New makes an empty table of a node's columns. Times are shown in a zone.
func New(n *plan.ShowString, zone *time.Location) *Table {
	t := &Table{node: n, want: max(0, n.Rows)}
	t.style = codec.TextStyle{Zone: codec.NewOffsets(zone), Pretty: true}
	for _, a := range n.Input.Output() {
		t.names = append(t.names, escapeCell(a.Name))
	}
	return t
}

// Add takes rows until there are enough; it reports whether more are wanted.
func (t *Table) Add(c *chunk.Chunk) bool {
	for i := range c.Rows {
		if len(t.rows) == t.want {
			t.more = true
			return false
		}
		row := make([]string, len(c.Cols))
		for k, v := range c.Cols {
			t.buf = t.style.AppendValue(t.buf[:0], v, i)
			row[k] = t.cut(escapeCell(string(t.buf)))
		}
		t.rows = append(t.rows, row)
	}
	return true
}

// cut shortens a cell, counting as Java does; half of a surrogate pair becomes
// a question mark.
func (t *Table) cut(s string) string {
	if t.node.Truncate <= 0 || len(s) <= t.node.Truncate {
		return s
	}
	units := utf16.Encode([]rune(s))
	if len(units) <= t.node.Truncate {
		return s
	}
	if t.node.Truncate < 4 {
		return fromUnits(units[:t.node.Truncate])
	}
	return fromUnits(units[:t.node.Truncate-3]) + "..."
}

func fromUnits(units []uint16) string {
	if n := len(units); n > 0 && units[n-1]>>10 == 0xd800>>10 {
		return string(utf16.Decode(units[:n-1])) + "?"
	}
	return string(utf16.Decode(units))
}

// metaCharacters are the characters that show writes as escapes.
var metaCharacters = []string{
	"\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`, "\v", `\v`, "\a", `\a`,
}

func escapeCell(s string) string {
	if !strings.ContainsAny(s, "\n\r\t\f\b\v\a") {
		return s
	}
	return strings.NewReplacer(metaCharacters...).Replace(s)
}

// width is the columns a text takes in a terminal, by Spark's reckoning:
// UTF-16 units, East Asian wide characters twice.
func width(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff || isWide(r) {
			n++
		}
	}
	return n
}

func isWide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe10 && r <= 0xfe19 || r >= 0xfe30 && r <= 0xfe6f ||
		r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6
}

// minWidth is the least width of a column.
const minWidth = 3

// Text is the whole table, and that there are more rows if there are.
func (t *Table) Text() string {
	var b strings.Builder
	switch {
	case t.node.HTML:
		t.html(&b)
	case t.node.Vertical:
		t.vertical(&b)
	default:
		t.table(&b)
	}
	if t.more {
		rows := "rows"
		if t.want == 1 {
			rows = "row"
		}
		fmt.Fprintf(&b, "only showing top %d %s", t.want, rows)
		if t.node.HTML {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// pad writes a cell of a width, to the right end if right is set.
func pad(b *strings.Builder, s string, w int, right bool) {
	space := strings.Repeat(" ", max(0, w-width(s)))
	if right {
		b.WriteString(space + s)
		return
	}
	b.WriteString(s + space)
}

func (t *Table) table(b *strings.Builder) {
	widths := make([]int, len(t.names))
	for k, name := range t.names {
		widths[k] = max(minWidth, width(name))
		for _, row := range t.rows {
			widths[k] = max(widths[k], width(row[k]))
		}
	}
	line := "+"
	for _, w := range widths {
		line += strings.Repeat("-", w) + "+"
	}
	if len(widths) == 0 {
		line = "++"
	}
	rows := slices.Insert(slices.Clone(t.rows), 0, t.names)
	b.WriteString(line + "\n")
	for i, row := range rows {
		b.WriteByte('|')
		for k, cell := range row {
			pad(b, cell, widths[k], t.node.Truncate > 0)
			b.WriteByte('|')
		}
		if len(row) == 0 {
			b.WriteByte('|')
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(line + "\n")
}

func (t *Table) vertical(b *strings.Builder) {
	names, values := minWidth, minWidth
	for k, name := range t.names {
		names = max(names, width(name))
		for _, row := range t.rows {
			values = max(values, width(row[k]))
		}
	}
	for i, row := range t.rows {
		head := fmt.Sprintf("-RECORD %d", i)
		b.WriteString(head + strings.Repeat("-", max(0, names+values+5-len(head))) + "\n")
		for k, cell := range row {
			b.WriteByte(' ')
			pad(b, t.names[k], names, false)
			b.WriteString(" | ")
			pad(b, cell, values, false)
			b.WriteString(" \n")
		}
	}
	if len(t.rows) == 0 {
		b.WriteString("(0 rows)")
		t.more = false
	}
}

func (t *Table) html(b *strings.Builder) {
	b.WriteString("<table border='1'>\n")
	htmlRow(b, "th", t.names)
	for _, row := range t.rows {
		htmlRow(b, "td", row)
	}
	b.WriteString("</table>\n")
}

func htmlRow(b *strings.Builder, tag string, row []string) {
	b.WriteString("<tr>")
	if len(row) == 0 {
		b.WriteString("<" + tag + "></" + tag + ">")
	}
	for _, cell := range row {
		b.WriteString("<" + tag + ">")
		escapeHTML(b, cell)
		b.WriteString("</" + tag + ">")
	}
	b.WriteString("</tr>\n")
}
