package clients

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestTheProgramOfTheEmptyPageRuns runs what the page of a server without queries tells a
// newcomer to run, until the page shows that it works.
func TestTheProgramOfTheEmptyPageRuns(t *testing.T) {
	interpreter := testkit.Python(t)
	server := testkit.Start(t, testkit.ServerOptions{})
	program := ""
	for _, m := range regexp.MustCompile(`(?s)<pre[^>]*>(.*?)</pre>`).FindAllStringSubmatch(page(t, server, "/"), -1) {
		if text := html.UnescapeString(m[1]); strings.Contains(text, "SparkSession") {
			program = text
		}
	}
	if program == "" {
		t.Fatal("the page shows no program")
	}
	file := filepath.Join(t.TempDir(), "first.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, file)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	late := time.After(waitLimit)
	for !running(t, server) {
		select {
		case err := <-ended:
			t.Fatalf("the program ended: %v\n%s\n%s", err, program, said.String())
		case <-late:
			t.Fatalf("no rows in %s: %s", waitLimit, page(t, server, "/api/v1/fleet"))
		case <-look.C:
		}
	}
	_ = cmd.Process.Kill()
	<-ended
}

// running tells whether the query of the page has committed a batch and runs still.
func running(t *testing.T, server *testkit.Server) bool {
	t.Helper()
	var fleet struct {
		Queries []struct {
			Name, State            string
			LastCommitAtMs         *int64
			ProcessedRowsPerSecond float64
		}
	}
	if err := json.Unmarshal([]byte(page(t, server, "/api/v1/fleet")), &fleet); err != nil {
		t.Fatal(err)
	}
	for _, q := range fleet.Queries {
		if q.Name == "first" && q.State == "healthy" && q.ProcessedRowsPerSecond > 0 {
			return true
		}
	}
	return false
}

func page(t *testing.T, server *testkit.Server, path string) string {
	t.Helper()
	answer, err := http.Get("http://" + server.HTTP + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
	return string(body)
}
