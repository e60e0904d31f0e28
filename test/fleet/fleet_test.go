package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// server is a weir fleet.
type server struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	address string
	errors  bytes.Buffer
}

func start(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir}
	s.cmd = exec.Command(testkit.Binary(t), append([]string{"fleet", "--dir", dir, "--http", "127.0.0.1:0"}, args...)...)
	s.cmd.Stderr = &s.errors
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, s.address, _ = strings.Cut(strings.TrimSpace(line), "http=")
	if err != nil || s.address == "" {
		s.cmd.Wait()
		t.Fatalf("%q %v\n%s", line, err, s.errors.String())
	}
	t.Cleanup(func() { s.end(os.Kill) })
	return s
}

// end sends a signal and waits.
func (s *server) end(signal os.Signal) {
	if s.cmd.ProcessState != nil {
		return
	}
	s.cmd.Process.Signal(signal)
	s.cmd.Wait()
}

func (s *server) get(path string, into any) {
	s.t.Helper()
	answer, err := http.Get("http://" + s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v %s", path, answer.Status, err, body)
	}
}

// rows are what a statement prints of the directory, one JSON object a line.
func rows(t *testing.T, dir, statement string) []string {
	t.Helper()
	cmd := exec.Command(testkit.Binary(t), "sql", "--dir", dir, "--json", statement)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", statement, err, problems.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

const batchesOf = "SELECT query_name, batch_id, input_rows, duration_ms, started_at FROM system.streaming.progress " +
	"ORDER BY query_name, batch_id"

// What a listener pushes and what the event log has become the same rows of the history,
// which a killed fleet and its successors keep once.
func TestPushedAndLoggedAreTheSame(t *testing.T) {
	python := testkit.Python(t)
	jars, err := exec.Command(python, "-c", "import pyspark,os;print(os.path.dirname(pyspark.__file__)+'/jars')").Output()
	_, missing := os.Stat(strings.TrimSpace(string(jars)))
	testkit.Need(t, err == nil && missing == nil, "a Python with all of pyspark, its jars too (WEIR_PYTHON)")
	_, err = exec.LookPath("java")
	testkit.Need(t, err == nil, "Java, to run Spark with")

	logs, pushedDir, loggedDir := t.TempDir(), t.TempDir(), t.TempDir()
	pushed, logged := start(t, pushedDir, "--push"), start(t, loggedDir, logs)
	app := exec.Command(python, filepath.Join(testkit.ModuleRoot(t), "examples", "push_progress.py"))
	app.Env = append(os.Environ(), "WEIR_FLEET=http://"+pushed.address, "PYSPARK_PYTHON="+python, "DEMO_SECONDS=6",
		"PYSPARK_SUBMIT_ARGS=--master local[2] --conf spark.ui.enabled=false --conf spark.eventLog.enabled=true"+
			" --conf spark.eventLog.dir=file://"+logs+" pyspark-shell")
	out, err := app.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0 events dropped") {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, s := range []*server{pushed, logged} {
		var list struct {
			Runs []struct {
				Name, Application, Engine, State string
				Error                            *struct{ Condition string }
			}
		}
		for deadline := time.Now().Add(30 * time.Second); ; { // the end of the log is read a moment later
			s.get("/api/v1/runs", &list)
			ended := len(list.Runs) == 2 && list.Runs[0].State != "running" && list.Runs[1].State != "running"
			if ended || time.Now().After(deadline) {
				break
			}
		}
		got := ""
		slices.Reverse(list.Runs)
		for _, r := range list.Runs {
			got += r.Name + " " + r.Application + " " + r.Engine + " " + r.State
			if r.Error != nil {
				got += " " + r.Error.Condition
			}
			got += "; "
		}
		want := "numbers push example Spark 4.3.0 stopped; failing push example Spark 4.3.0 failed USER_RAISED_EXCEPTION; "
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	pushed.end(syscall.SIGTERM)
	logged.end(syscall.SIGTERM)
	want := rows(t, pushedDir, batchesOf)
	if got := rows(t, loggedDir, batchesOf); !slices.Equal(got, want) || len(got) < 6 {
		t.Errorf("logged:\n%s\npushed:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// A fleet that has lost how far it was reads all of it again, and keeps it once.
	if err := os.Remove(filepath.Join(loggedDir, "positions.json")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := start(t, loggedDir, logs)
		var list struct{ Runs []struct{ State string } }
		again.get("/api/v1/runs", &list)
		if len(list.Runs) != 2 {
			t.Errorf("%d runs after a restart", len(list.Runs))
		}
		again.end(syscall.SIGTERM)
		if got := rows(t, loggedDir, batchesOf); !slices.Equal(got, want) {
			t.Errorf("after a restart:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	// Two at once are not, and it is said who is there.
	first := start(t, loggedDir, logs)
	second := exec.Command(testkit.Binary(t), "fleet", "--dir", loggedDir, "--http", "127.0.0.1:0", logs)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "--dir names another") {
		t.Errorf("a second fleet of the directory: %v %s", err, out)
	}
	if got := rows(t, loggedDir, "SELECT count(*) AS n FROM system.streaming.runs"); got[0] != `{"n":4}` {
		t.Errorf("beside a running fleet: %q", got)
	}
	first.end(syscall.SIGTERM)
}
