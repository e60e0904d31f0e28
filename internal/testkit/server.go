package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	readyWait = 60 * time.Second // a loaded machine, the race detector
	stopWait  = 30 * time.Second // the server's grace is 10 s
	// orphanWait is how long a worker may hold the outputs of its dead server.
	orphanWait = 5 * time.Second
	// maxOutput bytes of each output of a server are kept, the last ones.
	maxOutput = 1 << 20
)

// ServerOptions say how to start a server. The zero value is a fresh one.
type ServerOptions struct {
	Dir    string   // data directory; default: a temporary one
	Args   []string // further arguments of weir serve
	Env    []string // KEY=VALUE, on top of the test's own
	Binary string   // default: Binary(t)
}

// Server is a running weir serve in a process of its own.
type Server struct {
	GRPC string // HOST:PORT
	HTTP string // HOST:PORT
	Dir  string

	cmd    *exec.Cmd
	stdout readyWatch
	stderr tail
	ended  chan struct{} // closed when the process is gone and its output read
	killed bool          // by us
}

// Start starts a server and waits until it accepts. Free ports are taken. When
// the test fails its error output is logged; at the end it is killed.
func Start(t testing.TB, options ServerOptions) *Server {
	t.Helper()
	s, err := Launch(t, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Launch is Start for servers that may refuse to start. When the process ran at
// all, the Server is there beside the error, for its output and exit code.
func Launch(t testing.TB, options ServerOptions) (*Server, error) {
	t.Helper()
	s := &Server{Dir: options.Dir, ended: make(chan struct{})}
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	binary := options.Binary
	if binary == "" {
		binary = Binary(t)
	}
	args := []string{"serve", "--dir", s.Dir, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"}
	s.cmd = exec.Command(binary, append(args, options.Args...)...)
	s.cmd.Env = append(os.Environ(), options.Env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.WaitDelay = orphanWait
	s.stdout.ready = make(chan string, 1)
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	t.Cleanup(func() {
		s.Kill9()
		if t.Failed() {
			t.Logf("standard error of weir, data in %s:\n%s", s.Dir, s.stderr.String())
		}
	})
	var err error
	select {
	case line := <-s.stdout.ready:
		s.GRPC, s.HTTP, err = parseReady(line)
	case <-s.ended:
		err = fmt.Errorf("weir ended with %s before it accepted:\n%s", s.cmd.ProcessState, s.stderr.String())
	case <-time.After(readyWait):
		err = fmt.Errorf("weir did not accept within %s", readyWait)
	}
	return s, err
}

// start runs the process.
func (s *Server) start() error {
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		// How it ended is in ProcessState; other errors are those of the pipes.
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	return nil
}

// parseReady reads the line "weir ready grpc=HOST:PORT http=HOST:PORT".
func parseReady(line string) (grpc, http string, err error) {
	words := strings.Fields(line)
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, "grpc="); ok {
			grpc = value
		}
		if value, ok := strings.CutPrefix(word, "http="); ok {
			http = value
		}
	}
	if !slices.Equal(words[:min(2, len(words))], []string{"weir", "ready"}) || grpc == "" || http == "" {
		return "", "", fmt.Errorf("malformed ready line %q", line)
	}
	return grpc, http, nil
}

// Remote is the address a Spark Connect client takes.
func (s *Server) Remote() string { return "sc://" + s.GRPC }

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stdout returns the last mebibyte of the standard output so far.
func (s *Server) Stdout() string { return s.stdout.String() }

// Stderr returns the last mebibyte of the standard error so far.
func (s *Server) Stderr() string { return s.stderr.String() }

// Kill9 ends the server as a power cut of the process would, and waits.
func (s *Server) Kill9() {
	s.killed = true
	s.cmd.Process.Kill()
	<-s.ended
}

// Stop asks the server to end (SIGTERM) and fails the test when it does not end
// in time with exit code 0.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	if code := s.Wait(t, stopWait); code != 0 {
		t.Errorf("weir ended with %s after SIGTERM", s.cmd.ProcessState)
	}
}

// Wait waits until the server has ended by itself and returns its exit code, -1
// after a signal. It fails the test when the time is over.
func (s *Server) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(limit):
		t.Fatalf("weir still runs after %s", limit)
	}
	return s.cmd.ProcessState.ExitCode()
}

// Crashed waits until the server is gone and reports whether it killed itself
// at a CrashPoint. It returns false at once when the time is over, with the
// server still running: the point was not reached.
func (s *Server) Crashed(limit time.Duration) bool {
	select {
	case <-s.ended:
	case <-time.After(limit):
		return false
	}
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && !s.killed && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Ended is closed when the server is gone.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Binary returns $WEIR_BINARY or builds cmd/weir, once for each test process.
func Binary(t testing.TB) string {
	t.Helper()
	if binary := os.Getenv("WEIR_BINARY"); binary != "" {
		return binary
	}
	binary, err := builtOnce(ModuleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// builtOnce remembers the binary of each module root.
var builtOnce = once(build)

// once returns f with its results remembered by argument.
func once(f func(string) (string, error)) func(string) (string, error) {
	var mu sync.Mutex
	results := map[string]func() (string, error){}
	return func(arg string) (string, error) {
		mu.Lock()
		result, ok := results[arg]
		if !ok {
			result = sync.OnceValues(func() (string, error) { return f(arg) })
			results[arg] = result
		}
		mu.Unlock()
		return result()
	}
}

// build builds below the user's cache directory, so that the go command finds
// the binary of the last run up to date and the test processes of many packages
// share it. A lock lets them build one after the other.
func build(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "weir-testkit", strings.ReplaceAll(strings.Trim(root, "/"), "/", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	built, binary := filepath.Join(dir, "weir.built"), filepath.Join(dir, "weir")
	cmd := exec.Command("go", "build", "-o", built, "./cmd/weir")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ./cmd/weir: %w\n%s", err, out)
	}
	return binary, copyProgram(built, binary)
}

// copyProgram replaces a program that may be running, which the go command
// could not.
func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	next := to + ".next"
	if err := os.WriteFile(next, data, 0o700); err != nil {
		return err
	}
	return os.Rename(next, to)
}

// readyWatch keeps the standard output and hands on the first ready line.
type readyWatch struct {
	tail
	line  []byte      // the unfinished last one
	ready chan string // holds one
}

func (w *readyWatch) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		text, rest, ok := bytes.Cut(w.line, []byte("\n"))
		if !ok {
			break
		}
		if bytes.HasPrefix(text, []byte("weir ready ")) {
			select {
			case w.ready <- string(text):
			default: // taken or waiting; a second line is the server's mistake
			}
		}
		w.line = rest
	}
	w.line = append([]byte(nil), w.line[max(0, len(w.line)-maxOutput):]...)
	return w.tail.Write(p)
}

// tail keeps the last maxOutput bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	if len(w.buf) > 2*maxOutput {
		w.buf = append(w.buf[:0], w.buf[len(w.buf)-maxOutput:]...)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.buf[max(0, len(w.buf)-maxOutput):])
}
