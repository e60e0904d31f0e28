package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestTheGuideToStreamingIsTrue runs the pieces of docs/streaming.md as one program. What
// it says that they print was compared with Apache Spark 4.3 up to the Delta table.
func TestTheGuideToStreamingIsTrue(t *testing.T) {
	interpreter := testkit.Python(t)
	guide, err := os.ReadFile("../../docs/streaming.md")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.Abs(testkit.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(pieces(string(guide), "python")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), binary, "run", "--http", "127.0.0.1:0", "app.py")
	run.Dir = dir
	run.Env = append(os.Environ(), "PYSPARK_PYTHON="+interpreter)
	var warned strings.Builder
	run.Stderr = &warned
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, warned.String())
	}
	blank := regexp.MustCompile(`\n\n+`)
	if got := blank.ReplaceAllString(string(out), "\n"); got != pieces(string(guide), "text") {
		t.Errorf("it prints\n%s", got)
	}
}

// pieces are the fenced blocks of a language, one after the other.
func pieces(document, language string) string {
	var out strings.Builder
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(document, -1) {
		out.WriteString(m[1])
	}
	return out.String()
}
