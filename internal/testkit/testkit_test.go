package testkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/vfs"
)

// TestMain lets the test binary play the server: FAKE_SERVER names its part.
func TestMain(m *testing.M) {
	if part := os.Getenv("FAKE_SERVER"); part != "" {
		os.Exit(fakeServer(part))
	}
	goleak.VerifyTestMain(m)
}

func fakeServer(part string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, "arguments:", strings.Join(os.Args[1:], " "))
	switch part {
	case "refuses":
		fmt.Fprintln(os.Stderr, "the directory is locked by process 7")
		return 3
	case "talks":
		fmt.Print("weir", " rea")
		os.Stdout.Sync()
		fmt.Print("dy grpc=127.0.0.1:1 http=127.0.0.1:2\nmore\n")
	case "malformed":
		fmt.Println("weir ready grpc=127.0.0.1:1")
	default:
		fmt.Println("weir ready grpc=127.0.0.1:1 http=127.0.0.1:2")
	}
	if step := os.Getenv("WEIR_CRASH_AT"); step == "commit:1" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if part != "stubborn" {
		<-stop
		return 0
	}
	select {}
}

func fake(part string) ServerOptions {
	return ServerOptions{Binary: os.Args[0], Env: []string{"FAKE_SERVER=" + part}}
}

func TestServerStartsAndStops(t *testing.T) {
	for _, part := range []string{"plain", "talks"} {
		o := fake(part)
		o.Args = []string{"--python=off"}
		s := Start(t, o)
		if s.GRPC != "127.0.0.1:1" || s.HTTP != "127.0.0.1:2" || s.Remote() != "sc://127.0.0.1:1" {
			t.Errorf("addresses %q %q", s.GRPC, s.HTTP)
		}
		s.Stop(t)
		want := "arguments: serve --dir " + s.Dir + " --grpc 127.0.0.1:0 --http 127.0.0.1:0 --python=off\n"
		if got := s.Stderr(); got != want {
			t.Errorf("standard error %q, want %q", got, want)
		}
		if s.Crashed(time.Minute) {
			t.Error("an ordinary end counts as a crash")
		}
		if got := strings.Contains(s.Stdout(), "more"); got != (part == "talks") {
			t.Errorf("standard output %q", s.Stdout())
		}
	}
}

func TestServerThatRefuses(t *testing.T) {
	s, err := Launch(t, fake("refuses"))
	if err == nil || !strings.Contains(err.Error(), "locked by process 7") {
		t.Errorf("got %v, want what it said", err)
	}
	if code := s.Wait(t, time.Minute); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if _, err := Launch(t, fake("malformed")); err == nil {
		t.Error("a malformed ready line passed")
	}
	none := ServerOptions{Binary: filepath.Join(t.TempDir(), "none")}
	if _, err := Launch(t, none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing binary: %v", err)
	}
}

func TestServerIsKilled(t *testing.T) {
	s := Start(t, fake("stubborn"))
	if s.Crashed(0) {
		t.Error("a running server counts as crashed")
	}
	s.Kill9()
	s.Kill9()
	if s.Crashed(time.Minute) {
		t.Error("our own kill counts as a crash")
	}
	if err := syscall.Kill(s.PID(), 0); err == nil {
		t.Error("the process is still there")
	}
}

func TestCrashPointsVisitEveryTime(t *testing.T) {
	var visited []string
	CrashPoints(t, []string{"offsets", "commit"}, 3, func(t *testing.T, p CrashPoint) bool {
		visited = append(visited, p.Env())
		return p.N == 1 || p.Step == "offsets"
	})
	want := []string{
		"WEIR_CRASH_AT=offsets:1", "WEIR_CRASH_AT=offsets:2", "WEIR_CRASH_AT=offsets:3",
		"WEIR_CRASH_AT=commit:1", "WEIR_CRASH_AT=commit:2",
	}
	Diff(t, "crash points", visited, want)
}

func TestCrashOfAServerIsSeen(t *testing.T) {
	CrashPoints(t, []string{"commit"}, 2, func(t *testing.T, p CrashPoint) bool {
		o := fake("plain")
		o.Env = append(o.Env, p.Env())
		s, err := Launch(t, o)
		limit := time.Minute
		if p.N == 2 {
			limit = 0
		}
		crashed := s.Crashed(limit)
		if !crashed && err != nil {
			t.Error(err)
		}
		return crashed
	})
}

func TestCrashDiskVisitsEveryOperation(t *testing.T) {
	var ops []int
	lost := 0
	CrashDisk(t, DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			return vfs.WriteNew(disk, "/f", []byte("x")) // create, write, sync, rename, sync dir
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			data, err := vfs.ReadFile(disk, "/f")
			if errors.Is(err, fs.ErrNotExist) {
				lost++
			} else if string(data) != "x" {
				t.Errorf("found %q, %v", data, err)
			}
			ops = append(ops, disk.Ops())
		},
	})
	if len(ops) != 6*3 || lost == 0 || lost == len(ops) {
		t.Errorf("%d crashes, %d times lost", len(ops), lost)
	}
}

func TestCrashPointsAreSpread(t *testing.T) {
	for _, c := range []struct {
		ops, points int
		want        []int
	}{
		{3, 0, []int{0, 1, 2, 3}}, {3, 9, []int{0, 1, 2, 3}}, {0, 5, []int{0}},
		{100, 3, []int{0, 50, 100}}, {100, 1, []int{100}}, {4, 4, []int{0, 1, 2, 4}},
	} {
		Diff(t, fmt.Sprint(c), crashPoints(c.ops, c.points), c.want)
	}
}

func runner(_ *testing.T, c Command) string {
	var b strings.Builder
	switch c.Name {
	case "args":
		for _, a := range c.Args {
			b.WriteString(a.Key)
			if a.Value != "" || a.Key == "j" {
				b.WriteString("=" + a.Value)
			}
			b.WriteByte('\n')
		}
	case "echo":
		return c.Input
	case "dashes":
		return "----\nend"
	}
	return b.String()
}

func TestScriptHolds(t *testing.T) {
	Script(t, "testdata/script", runner)
	data, err := os.ReadFile("testdata/script")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := parseScript("script", string(data))
	if err != nil {
		t.Fatal(err)
	}
	Diff(t, "printed script", printScript(parts), string(data))
}

func TestScriptsRunEachFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", ".hidden"} {
		script := "echo\n" + name + "\n----\n" + name + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs := 0
	Scripts(t, dir, func(*testing.T) func(*testing.T, Command) string {
		runs++
		return runner
	})
	if runs != 2 {
		t.Errorf("%d scripts ran, want 2", runs)
	}
}

func TestMalformedScripts(t *testing.T) {
	for text, want := range map[string]string{
		"# c\necho\nx\n":                     `s:2: no ---- after command "echo"`,
		"echo a=\"b\n----\n":                 `s:1: argument a of echo: quoted value does not end`,
		"echo\n----\n----\nx\n----\n":        `s:1: the output after two ---- has no end`,
		"echo\n----\nx\n\n\necho\n----":      "",
		"":                                   "",
		"# only a comment":                   "",
		"echo\n----\n----\n\n----\n----\n\n": "",
	} {
		_, err := parseScript("s", text)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestCommandArguments(t *testing.T) {
	c, err := parseCommand("run  rows=12\tquiet name=a")
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "run" || !c.Has("quiet") || c.Has("loud") {
		t.Errorf("got %+v", c)
	}
	if c.Arg("name", "") != "a" || c.Arg("x", "y") != "y" {
		t.Errorf("got %+v", c)
	}
	if c.Int(t, "rows", 1) != 12 || c.Int(t, "cols", 1) != 1 {
		t.Errorf("got %+v", c)
	}
}

func TestRewriteFillsExpectations(t *testing.T) {
	*rewrite = true
	defer func() { *rewrite = false }()
	t.Chdir(t.TempDir())
	script := "# why\necho\na\n\nb\n----\nold\n\necho\nx\n----\n"
	if err := os.WriteFile("s", []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	Script(t, "s", runner)
	got, err := os.ReadFile("s")
	if err != nil {
		t.Fatal(err)
	}
	want := "# why\necho\na\n\nb\n----\n----\na\n\nb\n----\n----\n\necho\nx\n----\nx\n"
	Diff(t, "script", string(got), want)
	Golden(t, "g/file", []byte("gold"))
	*rewrite = false
	Golden(t, "g/file", []byte("gold"))
	Script(t, "s", runner)
}

// outcome runs a check in a test of its own and tells how it ended.
func outcome(t *testing.T, check func(testing.TB)) string {
	rec := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(rec)
	}()
	<-done
	return rec.text
}

// recorder is a testing.TB that notes its end instead of ending the test.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) end(text string) {
	r.text = text
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end("fatal: " + fmt.Sprintf(format, args...))
}
func (r *recorder) Skipf(format string, args ...any) { r.end("skip: " + fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                { r.end("fatal: " + fmt.Sprint(args...)) }

func TestWhatIsMissingSkipsOrFails(t *testing.T) {
	lacking := func(tb testing.TB) { Need(tb, false, "a kettle") }
	t.Setenv("WEIR_CI", "")
	Diff(t, "at home", outcome(t, lacking), "skip: missing: a kettle")
	Diff(t, "nothing missing", outcome(t, func(tb testing.TB) { Need(tb, true, "a kettle") }), "")
	t.Setenv("WEIR_CI", "1")
	Diff(t, "in CI", outcome(t, lacking), "fatal: missing: a kettle (WEIR_CI is set, so nothing may be)")
}

func TestPythonIsFound(t *testing.T) {
	t.Setenv("WEIR_CI", "")
	t.Setenv("WEIR_PYTHON", os.Args[0])
	Diff(t, "by the environment", Python(t), os.Args[0])
	t.Setenv("WEIR_PYTHON", filepath.Join(t.TempDir(), "none"))
	got := outcome(t, func(tb testing.TB) { Python(tb) })
	if !strings.HasPrefix(got, "skip: missing: the Python interpreter ") {
		t.Errorf("got %q", got)
	}

	root := t.TempDir()
	for _, dir := range []string{"a/b", ".venv/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	python := filepath.Join(root, ".venv/bin/python")
	for _, file := range []string{python, filepath.Join(root, "go.mod")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("WEIR_PYTHON", "")
	t.Chdir(filepath.Join(root, "a/b"))
	Diff(t, "beside go.mod", Python(t), python)
}

func TestBuildRunsOnce(t *testing.T) {
	calls := 0
	f := once(func(arg string) (string, error) {
		calls++
		return arg + "!", nil
	})
	for _, arg := range []string{"a", "a", "b", "a"} {
		if got, err := f(arg); got != arg+"!" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

func TestBuildMakesTheCommand(t *testing.T) {
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "cache"))
	t.Setenv("HOME", root)
	if err := os.MkdirAll(filepath.Join(root, "cmd/weir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"go.mod":           "module example.org/m\n\ngo 1.26\n",
		"cmd/weir/main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		binary, err := build(root)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(binary); err != nil || st.Mode().Perm()&0o100 == 0 {
			t.Errorf("%s: %v", binary, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "cmd/weir/main.go"), []byte("package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := build(root); err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("broken source: %v", err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var w tail
	for i := range 5000 {
		fmt.Fprintf(&w, "%01023d\n", i)
	}
	got := w.String()
	if len(got) != maxOutput || !strings.HasSuffix(got, "4999\n") {
		t.Errorf("kept %d bytes", len(got))
	}
}
