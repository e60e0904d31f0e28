package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestBatchIsTheSameAfterACrash kills the server from inside a foreachBatch. Its
// worker must go with it, and the batch must come again with the same id and
// rows, although the source has more by then.
func TestBatchIsTheSameAfterACrash(t *testing.T) {
	interpreter, work, dir := testkit.Python(t), t.TempDir(), t.TempDir()
	writeInput(t, work, 0, 1, 2)
	run := func(server *testkit.Server) error {
		cmd := exec.Command(interpreter, "testdata/python/crash.py")
		cmd.Env = append(os.Environ(), "SPARK_REMOTE="+server.Remote(), "SPARK_CONNECT_MODE_ENABLED=1",
			"WORKDIR="+work, "PYTHONDONTWRITEBYTECODE=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The client of a dead server tries again for minutes.
		late := time.AfterFunc(waitLimit, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		go func() {
			if server.Crashed(waitLimit) {
				_ = cmd.Process.Kill()
			}
		}()
		return cmd.Wait()
	}
	if err := run(testkit.Start(t, testkit.ServerOptions{Dir: dir})); err == nil {
		t.Fatal("the program did not see its server die")
	}
	checkGone(t, filepath.Join(work, "worker"))
	writeInput(t, work, 3)
	if err := run(testkit.Start(t, testkit.ServerOptions{Dir: dir})); err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(work, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	want := "[0, [0]]\n[1, [1]]\n[1, [1]]\n[2, [2]]\n[3, [3]]\n"
	if diff := cmp.Diff(want, string(seen)); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// writeInput writes a file for each id, the next ones younger.
func writeInput(t *testing.T, work string, ids ...int) {
	t.Helper()
	dir := filepath.Join(work, "in")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		name := filepath.Join(dir, fmt.Sprintf("%d.json", id))
		if err := os.WriteFile(name, fmt.Appendf(nil, `{"id":%d}`, id), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(id), 0)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// checkGone fails when the process whose id is in a file lives on.
func checkGone(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for range 250 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("the worker %d outlived its server", pid)
}
