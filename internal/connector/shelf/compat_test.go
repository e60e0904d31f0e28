package shelf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestFormatsPageIsTrue writes the list of formats and their options from the
// shelf itself.
func TestFormatsPageIsTrue(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Formats: %d\n\nGenerated from the shelf by `make generate`. Options that stand here have an effect;\n",
		len(Formats()))
	b.WriteString("others are accepted, as Spark does. Any other format is refused by name.\n\n")
	b.WriteString("| format | batch read | batch write | stream from | stream to |\n|---|---|---|---|---|\n")
	for _, f := range Formats() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name,
			yes(f.Scan != nil), yes(f.Write != nil), yes(f.Source != nil), yes(f.Sink != nil))
	}
	for _, f := range Formats() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", f.Name, f.Doc)
		if len(f.Options) == 0 {
			continue
		}
		b.WriteString("\n| option | default | meaning |\n|---|---|---|\n")
		for _, o := range f.Options {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, o.Default, strings.ReplaceAll(o.Doc, "|", "\\|"))
		}
	}
	testkit.Document(t, "compat/formats.md", []byte(b.String()))
}

func yes(has bool) string {
	if has {
		return "yes"
	}
	return "–"
}
