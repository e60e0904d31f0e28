package clients

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/testkit"
)

// onPurpose are the lines of functions.txt that weir does not give: what Spark's
// JVM says of a result is said by the worker here.
const onPurpose = `^100 decimal\(5,2\) Decimal\('12345|^100 struct<x:int,y:string> \(1,\)|^207 type`

// TestFunctions runs Python functions in every place where a program may call
// them and compares with what Spark 4.3 printed. Older clients differ where
// their own conversions do.
func TestFunctions(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	for _, c := range []struct{ client, differs string }{
		{"4.3", onPurpose},
		{"4.2", onPurpose},
		{"4.1", onPurpose + `|^200 in a `},
		{"4.0", onPurpose + `|^200 in a |binary|^10. in y |^101 decimal\(5,2\) Decimal\('1.0|^250`},
	} {
		t.Run("PySpark "+c.client, func(t *testing.T) {
			compareLines(t, "functions", runProgram(t, server, c.client, "functions.py"), c.differs)
		})
	}
}

// TestGroups runs functions of groups and compares with what Spark 4.3 printed.
func TestGroups(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	compareLines(t, "groups", runProgram(t, server, "4.3", "groups.py"), "^$")
}

// TestBatches runs foreachBatch and foreach with each PySpark and compares with
// what Spark 4.3 printed.
func TestBatches(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	for _, client := range []string{"4.3", "4.2", "4.1", "4.0"} {
		t.Run("PySpark "+client, func(t *testing.T) {
			compareLines(t, "batches", runProgram(t, server, client, "batches.py"), "^$")
		})
	}
}

// TestReportsOfForeachBatch is FB-02 and FB-03 of test/oracle/reports.tsv: a function that
// holds the session or a frame works, one that holds a lock is refused by the client, and
// what does not come alive in the worker is told with Python's own words.
func TestReportsOfForeachBatch(t *testing.T) {
	const dead = " SparkException ['STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE'] "
	want := []string{
		"uses_session ran", "uses_frame ran",
		"uses_lock PySparkPicklingError ['STREAMING_CONNECT_SERIALIZATION_ERROR'] ['DataFrame']",
		"uses_module" + dead + "['gone_with_the_wind']", "uses_sulks" + dead + "['it does not want to live']",
		"uses_misspelt" + dead + "['SyntaxError']",
	}
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	if diff := cmp.Diff(want, runProgram(t, server, "4.3", "reports.py")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestSocket reads lines from a server and compares with what Spark 4.3 printed.
func TestSocket(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	compareLines(t, "socket", runProgram(t, server, "4.3", "socket_lines.py"), "^$")
}

// runProgram is what a program of testdata/python prints.
func runProgram(t *testing.T, server *testkit.Server, client, name string) []string {
	t.Helper()
	cmd := exec.Command(python(t, client), "testdata/python/"+name)
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+server.Remote(), "SPARK_CONNECT_MODE_ENABLED=1", "TZ=UTC",
		"PYTHONDONTWRITEBYTECODE=1", "WORKDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// compareLines compares with a recording, line by line, but for lines that
// differ on purpose.
func compareLines(t *testing.T, recording string, got []string, differs string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/python/" + recording + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, Spark printed %d", len(got), len(want))
	}
	allowed := regexp.MustCompile(differs)
	for i, line := range want {
		if line != got[i] && !allowed.MatchString(line) {
			t.Errorf("got  %s\nwant %s", got[i], line)
		}
	}
}
