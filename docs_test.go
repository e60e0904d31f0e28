package weir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryDocumentIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/compat/*.md", "docs/format/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(file, "docs/")
			if name != "README.md" && !strings.Contains(string(index), "("+name+")") {
				t.Errorf("docs/README.md does not lead to %s", file)
			}
		}
	}
}
