package clients

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-dev/weir/internal/testkit"
)

// waitLimit is how long a script waits for a file.
const waitLimit = 60 * time.Second

// TestCommands runs the scripts. They find weir on the path and Python in
// PYSPARK_PYTHON, and these commands:
//
//	waitfile FILE          until the file is there
//	addresses DIR          $GRPC, $HTTP and $PID of the server of a data directory
//	sigterm PID            ask a process to end
//	ends CODE PROGRAM...   run a program that must end with this exit code
func TestCommands(t *testing.T) {
	binary, err := filepath.Abs(testkit.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	python := testkit.Python(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			if err := os.Symlink(binary, filepath.Join(bin, "weir")); err != nil {
				return err
			}
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("WEIR_BIN", bin)
			env.Setenv("PYSPARK_PYTHON", python)
			env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfile":  waitFile,
			"addresses": readAddresses,
			"sigterm":   sigterm,
			"ends":      ends,
		},
	})
}

func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile FILE")
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitLimit); ; <-tick.C {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s is not there after %s", args[0], waitLimit)
		}
	}
}

func readAddresses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: addresses DIR")
	}
	file := filepath.Join(args[0], "server.json")
	waitFile(ts, false, []string{file})
	var a struct {
		PID        int
		GRPC, HTTP string
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &a))
	ts.Setenv("PID", strconv.Itoa(a.PID))
	ts.Setenv("GRPC", a.GRPC)
	ts.Setenv("HTTP", a.HTTP)
}

func sigterm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sigterm PID")
	}
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGTERM))
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends CODE PROGRAM...")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
