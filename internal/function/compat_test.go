package function

import (
	"fmt"
	"maps"
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
	have, names := map[string]bool{}, slices.Sorted(maps.Keys(sparkClasses()))
	for _, d := range All() {
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			have[strings.ToLower(name)] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return have[name] })
	fmt.Fprintf(&b, "# Functions: %d\n\nGenerated from the list of functions by `make generate`. Operators are functions "+
		"too.\nOf the %d names that Spark 4.3.0 knows, these %d are refused as not supported (some of them, such as\n"+
		"`window`, are built into queries instead): `%s`.\n\n",
		len(shown), len(names), len(missing), strings.Join(missing, "`, `"))
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
