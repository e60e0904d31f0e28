package plan

import (
	"strconv"
	"strings"
)

// Excerpt is the place in SQL text as parse errors show it: line and column,
// then the text with a mark below the line that is meant.
func (o *Origin) Excerpt() string {
	if o.SQL == "" && o.Line == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(" (line " + strconv.Itoa(o.Line) + ", pos " + strconv.Itoa(o.Pos) + ")\n\n== SQL ==\n")
	for i, line := range strings.Split(o.SQL, "\n") {
		b.WriteString(line + "\n")
		if i+1 == o.Line {
			b.WriteString(strings.Repeat("-", o.Pos) + "^^^\n")
		}
	}
	return b.String()
}
