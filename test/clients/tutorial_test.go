package clients

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// batches is how long the example lasts: the rate source makes one a second.
const batches = 3

// TestListenerExamplePrintsItsHealthTable runs examples/health_table.py with
// each PySpark.
func TestListenerExamplePrintsItsHealthTable(t *testing.T) {
	binary := testkit.Binary(t)
	for _, version := range []string{"4.3", "4.2", "4.1", "4.0"} {
		t.Run("PySpark "+version, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(testkit.ModuleRoot(t), "examples", "health_table.py")
			cmd := exec.Command(binary, "run", "--dir", t.TempDir(), "--http", "127.0.0.1:0", program)
			cmd.Env = append(os.Environ(), "PYSPARK_PYTHON="+python(t, version),
				"DEMO_BATCHES="+strconv.Itoa(batches), "PYTHONDONTWRITEBYTECODE=1")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, stdout.String(), stderr.String())
			}
			checkOutput(t, stdout.String())
			if !strings.HasPrefix(stderr.String(), "weir: pages at http://127.0.0.1:") {
				t.Errorf("standard error does not begin with the address of the pages:\n%s", stderr.String())
			}
			if strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("more than one line on standard error:\n%s", stderr.String())
			}
		})
	}
}

// python is the interpreter with a version of PySpark.
func python(t *testing.T, version string) string {
	t.Helper()
	if version == "4.3" {
		return testkit.Python(t)
	}
	name := "WEIR_PYTHON_" + strings.ReplaceAll(version, ".", "_")
	interpreter := os.Getenv(name)
	st, err := os.Stat(interpreter)
	testkit.Need(t, err == nil && st.Mode().IsRegular(),
		"a Python with pyspark-client "+version+" (name it in "+name+")")
	return interpreter
}

var (
	eventLine = regexp.MustCompile(`(?m)^(started   |terminated) ([0-9a-f-]{36})$`)
	tableLine = regexp.MustCompile(`(?m)^\| *(\d+)\| *(\d+)\| *([\d.]+)\| *([\d.]+)\| *(true|false)\|$`)
)

// checkOutput checks what the example prints: both events of the query, and a
// table with batch 0, which has nothing to compare with, and about five rows a
// second from then on.
func checkOutput(t *testing.T, out string) {
	t.Helper()
	events := eventLine.FindAllStringSubmatch(out, -1)
	if len(events) != 2 || events[0][1] == events[1][1] || events[0][2] != events[1][2] {
		t.Errorf("not one started and one terminated event of one query:\n%s", out)
	}
	rows := tableLine.FindAllStringSubmatch(out, -1)
	if len(rows) < batches+1 {
		t.Fatalf("%d rows of batches, want at least %d:\n%s", len(rows), batches+1, out)
	}
	var arrived, seconds float64
	for i, row := range rows {
		if row[1] != strconv.Itoa(i) {
			t.Errorf("row %d is batch %s", i, row[1])
		}
		n, rate := number(t, row[2]), number(t, row[3])
		switch {
		case i == 0 && (rate != 0 || row[5] != "false"):
			t.Errorf("batch 0 has rate %v, late %s", rate, row[5])
		case i > 0 && (n == 0 || math.Mod(n, 5) != 0 || rate == 0):
			t.Errorf("batch %d has %v rows at %v a second", i, n, rate)
		case i > 0:
			arrived, seconds = arrived+n, seconds+n/rate
		}
	}
	if mean := arrived / seconds; mean < 3 || mean > 8 {
		t.Errorf("%.1f rows a second, want about 5:\n%s", mean, out)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}
