//go:build takeover

package takeover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// legWait bounds one run of the query, the start of a JVM included.
const legWait = 8 * time.Minute

// feed writes the input files of a leg, each under its name at once.
func (w *work) feed(t *testing.T) {
	t.Helper()
	for range filesPerLeg {
		var text strings.Builder
		for i := range 10 {
			id := w.files*10 + i
			fmt.Fprintf(&text, `{"id":%d,"word":"wörd %d","price":%d.25,"at":"2024-05-06T07:08:%02d.123456Z","tags":["a","%d"]}`+
				"\n", id, id%7, id, id%60, id)
		}
		name := filepath.Join(w.inputs, fmt.Sprintf("ä %06d.json", w.files))
		if err := os.WriteFile(name+".part", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".part", name); err != nil {
			t.Fatal(err)
		}
		w.files++
	}
}

// query is the Python program on an engine, in a process group of its own, so
// that its JVM ends with it.
func (w *work) query(t *testing.T, engine string, more ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{"query.py", engine, w.inputs, w.out, w.checkpoint}, more...)
	cmd := exec.CommandContext(t.Context(), testkit.Python(t), args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// finish runs the query until its input is used up.
func (w *work) finish(t *testing.T, engine string) error {
	t.Helper()
	cmd := w.query(t, engine)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(legWait, func() { _ = cmd.Cancel() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, output.String())
	}
	return nil
}

func (w *work) onSpark(t *testing.T) {
	t.Helper()
	if err := w.finish(t, "spark"); err != nil {
		t.Fatalf("on Spark: %v", err)
	}
}

func (w *work) onWeir(t *testing.T) {
	t.Helper()
	s := testkit.Start(t, testkit.ServerOptions{Dir: w.dir})
	if err := w.finish(t, s.Remote()); err != nil {
		t.Fatalf("on weir: %v", err)
	}
	s.Stop(t)
}

// crashWeir runs the query on a server that kills itself at a point.
func (w *work) crashWeir(t *testing.T, at testkit.CrashPoint) {
	t.Helper()
	s := testkit.Start(t, testkit.ServerOptions{Dir: w.dir, Env: []string{at.Env()}})
	cmd := w.query(t, s.Remote())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	crashed := s.Crashed(legWait)
	_ = cmd.Cancel() // the client would wait for its server to come back
	_ = cmd.Wait()
	if !crashed {
		t.Fatalf("weir did not crash at %s", at.Env())
	}
}

// killSpark kills Spark, JVM and all, at some moment after its first batches.
func (w *work) killSpark(t *testing.T) {
	t.Helper()
	before := len(batches(t, filepath.Join(w.checkpoint, "commits")))
	cmd := w.query(t, "spark", "crawl")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(legWait); len(batches(t, filepath.Join(w.checkpoint, "commits"))) < before+3; {
		<-tick.C
		if time.Now().After(deadline) {
			t.Error("Spark committed no batch")
			break
		}
	}
	moment := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
	t.Logf("Spark is killed %s after its third batch", moment)
	<-time.After(moment)
	if err := cmd.Cancel(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// rows are what a reader that goes by _spark_metadata finds in the output.
func (w *work) rows(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testkit.Python(t), "query.py", "rows", w.out)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("read the output: %v", err)
	}
	var rows []string
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}
