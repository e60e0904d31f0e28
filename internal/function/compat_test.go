package function

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/testkit"
)

// TestFunctionsPageIsTrue writes the list of functions from the shelf itself.
func TestFunctionsPageIsTrue(t *testing.T) {
	shown := slices.DeleteFunc(All(), func(d *fn.Def) bool { return d.Hidden })
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# Functions: %d\n\nGenerated from the shelf by `make generate`. Every other function of Spark\n",
		len(shown),
	)
	b.WriteString("is refused as not supported. Operators are functions too.\n\n")
	b.WriteString("| function | also called | group | kind | example |\n|---|---|---|---|---|\n")
	for _, d := range shown {
		kind := "scalar"
		switch {
		case d.BindAggregate != nil:
			kind = "aggregate"
		case d.Generator:
			kind = "generator"
		case d.Window != nil:
			kind = "window"
		}
		example := ""
		if len(d.Examples) > 0 {
			example = fmt.Sprintf("`%s` → `%s`", cell(d.Examples[0].SQL()), cell(d.Examples[0].Want()))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
			cell(d.Name), cell(strings.Join(d.Aliases, ", ")), d.Group, kind, example)
	}
	testkit.Document(t, "compat/functions.md", []byte(b.String()))
}

// cell is a text as it can stand in a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "`", "'").Replace(s)
}
