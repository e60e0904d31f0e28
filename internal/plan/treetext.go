package plan

import (
	"fmt"
	"math"
	"strings"
)

// TreeString is a schema as printSchema shows it, down to a depth; 0 shows all
// of it.
func TreeString(schema Type, depth int) string {
	if depth <= 0 {
		depth = math.MaxInt
	}
	var b strings.Builder
	b.WriteString("root\n")
	writeFields(&b, schema, " |", depth)
	return b.String()
}

var metaCharacters = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`,
	"\v", `\v`, "\a", `\a`)

func writeFields(b *strings.Builder, t Type, prefix string, depth int) {
	if depth <= 0 {
		return
	}
	for _, f := range t.Fields {
		name := metaCharacters.Replace(f.Name)
		fmt.Fprintf(b, "%s-- %s: %s (nullable = %t)\n", prefix, name, treeName(f.Type), f.Nullable)
		writeParts(b, f.Type, prefix+"    |", depth-1)
	}
}

func writeParts(b *strings.Builder, t Type, prefix string, depth int) {
	if depth <= 0 {
		return
	}
	switch t.Kind {
	case KindArray:
		fmt.Fprintf(b, "%s-- element: %s (containsNull = %t)\n", prefix, treeName(*t.Elem), t.ContainsNull)
		writeParts(b, *t.Elem, prefix+"    |", depth-1)
	case KindMap:
		fmt.Fprintf(b, "%s-- key: %s\n", prefix, treeName(*t.Key))
		writeParts(b, *t.Key, prefix+"    |", depth-1)
		fmt.Fprintf(b, "%s-- value: %s (valueContainsNull = %t)\n", prefix, treeName(*t.Elem), t.ContainsNull)
		writeParts(b, *t.Elem, prefix+"    |", depth-1)
	case KindStruct:
		writeFields(b, t, prefix, depth)
	}
}

// treeName is Type.Tree without the collation, which printSchema leaves out.
func treeName(t Type) string {
	if t.Kind == KindString {
		return "string"
	}
	return t.Tree()
}
