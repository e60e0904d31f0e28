package weir

import (
	"os"
	"path/filepath"
	"regexp"
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

// The rules that docs/service.md gives to Prometheus ask for metrics that there are; that
// docs/metrics.md names those of the server is held beside their code.
func TestRulesForPrometheusAskForMetricsThatThereAre(t *testing.T) {
	guide, err := os.ReadFile("docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`weir_[a-z]\w+`).FindAllString(string(guide), -1)
	if len(asked) < 3 {
		t.Errorf("the guide asks for %v only", asked)
	}
	for _, name := range asked {
		if !strings.Contains(string(metrics), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not name %s", name)
		}
	}
}
