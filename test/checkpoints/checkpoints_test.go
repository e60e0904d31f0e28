package checkpoints

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

func TestQueriesGoOnFromCheckpointsOfSpark(t *testing.T) {
	python := testkit.Python(t)
	server := testkit.Start(t, testkit.ServerOptions{
		Args: []string{"--conf", "spark.sql.session.timeZone=UTC", "--conf", "spark.sql.shuffle.partitions=2"},
		Env:  []string{"PYSPARK_PYTHON=" + python, "PYTHONDONTWRITEBYTECODE=1"},
	})
	archives, err := filepath.Glob("zoo/*/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	zoos := map[string]bool{}
	for _, a := range archives {
		zoos[filepath.Dir(a)] = true
	}
	args := append([]string{"go_on.py", server.Remote(), t.TempDir()}, slices.Sorted(maps.Keys(zoos))...)
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
		said[name] = what
	}
	for _, archive := range archives {
		name := strings.TrimPrefix(strings.TrimSuffix(archive, ".tar.gz"), "zoo/")
		_, err := os.Stat(strings.TrimSuffix(archive, ".tar.gz") + ".json")
		switch got := said[name]; {
		case err == nil && got != "as Spark":
			t.Errorf("%s: %s", name, got)
		case err != nil && !refused(got):
			t.Errorf("%s was not refused as Spark's state: %s", name, got)
		}
	}
	if len(said) != len(archives) || len(archives) == 0 {
		t.Errorf("%d of %d checkpoints were tried", len(said), len(archives))
	}
}

func refused(said string) bool {
	return strings.Contains(said, "Going on with the state of Apache Spark") &&
		strings.Contains(said, "new checkpointLocation")
}
