package delta

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// passing are the programs of passing.txt.
func passing(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("passing.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}

func TestProgramsTraceAsOnSpark(t *testing.T) {
	python := testkit.Python(t)
	held := passing(t)
	if !slices.IsSorted(held) {
		t.Error("passing.txt is not sorted")
	}
	server := testkit.Start(t, testkit.ServerOptions{
		Args: []string{"--conf", "spark.sql.session.timeZone=UTC", "--conf", "spark.sql.shuffle.partitions=2"},
		Env:  []string{"PYSPARK_PYTHON=" + python, "PYTHONDONTWRITEBYTECODE=1"},
	})
	ran := 0
	for _, cases := range []string{"api", "dml", "features", "sink", "source", "sql", "table", "tracking", "upsert"} {
		cmd := exec.CommandContext(t.Context(), python, "../kafka/harness.py", "--cases", "cases_"+cases+".py",
			"--check", "expected", "--remote", server.Remote())
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		// Programs that differ end it with a code of their own.
		out, _ := cmd.CombinedOutput()
		recorded, err := filepath.Glob(filepath.Join("expected", cases+".*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range recorded {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			same := strings.Contains(string(out), "same    "+strings.TrimPrefix(name, cases+".")+" \n")
			listed := slices.Contains(held, name)
			if listed {
				ran++
			}
			switch {
			case listed && !same:
				t.Errorf("%s differs:\n%s", name, out)
			case same && !listed:
				t.Errorf("%s passes now: put it into passing.txt", name)
			}
		}
	}
	if ran != len(held) {
		t.Errorf("%d of the %d listed programs have a recording", ran, len(held))
	}
}

func TestTheUpsertExampleKeepsTheNewestReadings(t *testing.T) {
	python := testkit.Python(t)
	folder := t.TempDir()
	// The second start finds nothing new.
	for run := range 2 {
		cmd := exec.CommandContext(t.Context(), testkit.Binary(t), "run", "--dir", t.TempDir(), "--http", "127.0.0.1:0",
			filepath.Join(testkit.ModuleRoot(t), "examples", "delta_upsert.py"))
		cmd.Env = append(os.Environ(), "PYSPARK_PYTHON="+python, "DEMO_FOLDER="+folder, "TZ=UTC",
			"PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// File f has readings f to f+4 of four sensors in turn, at minute f and second digit n.
		for _, row := range []string{"|s0    |2026-03-01 12:24:00|22.4 ", "|s1    |2026-03-01 12:25:00|22.5 ",
			"|s2    |2026-03-01 12:26:00|22.6 ", "|s3    |2026-03-01 12:23:00|22.3 "} {
			if !strings.Contains(string(out), row) {
				t.Errorf("run %d: no row %q in\n%s", run, row, out)
			}
		}
		if strings.Count(string(out), "MERGE") != 3 {
			t.Errorf("run %d: not three merges in\n%s", run, out)
		}
	}
}

// A function of foreachBatch that fails behind its writes runs again. Its writes are
// made twice, as in Spark, unless the query says otherwise.
func TestABatchThatRunsTwiceIsWrittenOnce(t *testing.T) {
	python := testkit.Python(t)
	server := testkit.Start(t, testkit.ServerOptions{
		Env: []string{"PYSPARK_PYTHON=" + python, "PYTHONDONTWRITEBYTECODE=1"}})
	for option, want := range map[string]string{
		"true":  "[3, [[0, 2011], [1, 11], [2, 11]], 6]",
		"false": "[3, [[0, 4022], [1, 22], [2, 22]], 12]",
	} {
		cmd := exec.CommandContext(t.Context(), python, "once.py", server.Remote(), t.TempDir(), option)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", option, got, err, want)
		}
	}
}
