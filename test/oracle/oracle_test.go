package oracle

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestScenariosLeaveSparksTraces runs every scenario of passing.txt on a fresh
// server and compares its trace with the one that Spark left.
func TestScenariosLeaveSparksTraces(t *testing.T) {
	leaveSparksTraces(t, "scenarios", "expected", "passing.txt")
}

// TestRandomProgramsLeaveSparksTraces does the same for programs that nobody
// thought of.
func TestRandomProgramsLeaveSparksTraces(t *testing.T) {
	leaveSparksTraces(t, "random", "random/expected", "random/passing.txt")
}

// TestChainsStreamWhereSparksDo starts chains of operators in every output mode.
func TestChainsStreamWhereSparksDo(t *testing.T) {
	python := testkit.Python(t)
	server := testkit.Start(t, testkit.ServerOptions{})
	run := exec.Command(python, "legality.py", "--remote", server.Remote(), "legality.json")
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	report, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("legality.py: %v\n%s", err, tail(string(report), 20000))
	}
	t.Log(strings.TrimSpace(string(report)))
}

func leaveSparksTraces(t *testing.T, scenarios, expected, list string) {
	t.Helper()
	python := testkit.Python(t)
	names := readList(t, list)
	server := testkit.Start(t, testkit.ServerOptions{
		Args: []string{"--conf", "spark.sql.session.timeZone=UTC"}, Env: []string{"PYSPARK_PYTHON=" + python},
	})
	out, work := t.TempDir(), t.TempDir()

	args := append([]string{"run.py", "--remote", server.Remote(), "--scenarios", scenarios, "--out", out,
		"--work", work, "--jobs", "3"}, names...)
	run := exec.Command(python, args...)
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	log, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("run.py: %v\n%s", err, tail(string(log), 4000))
	}
	compare := exec.Command(python, append([]string{"compare.py", expected, out}, names...)...)
	compare.Env = run.Env
	report, err := compare.CombinedOutput()
	if err != nil {
		t.Errorf("compare.py: %v\n%s", err, tail(string(report), 20000))
	}
	summary := regexp.MustCompile(`(\d+) passed, (\d+) failed`).FindStringSubmatch(string(report))
	if summary == nil || summary[2] != "0" {
		t.Fatalf("no clean summary:\n%s", tail(string(report), 20000))
	}
	t.Logf("%s scenarios left Spark's trace", summary[1])
}

// TestListsAreSortedAndRecorded keeps the lists readable and their names real.
func TestListsAreSortedAndRecorded(t *testing.T) {
	for _, folder := range []string{"", "random/"} {
		names := readList(t, folder+"passing.txt")
		for i, n := range names {
			if i > 0 && names[i-1] >= n {
				t.Errorf("%s comes after %s", n, names[i-1])
			}
			if _, err := os.Stat(folder + "expected/" + n + ".json"); err != nil {
				t.Error(err)
			}
		}
	}
}

func readList(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// tail is the last n bytes of a text.
func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
