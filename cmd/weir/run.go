package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/weir-dev/weir/internal/vfs"
)

// bootstrap is the Python that runs the user's program as __main__, with the
// names that notebooks supply.
//
//go:embed bootstrap.py
var bootstrap string

// grpcDefault is the port that programs expect; when it is taken, weir run takes
// a free one.
const (
	grpcDefault = "127.0.0.1:15002"
	grpcFree    = "127.0.0.1:0"
)

// program is what weir run runs, and how.
type program struct {
	serverFlags
	remote string   // of another server; empty: one of its own
	line   []string // the file and its arguments
	given  []string // flags that only the start of a server can obey
}

func runCommand() *cobra.Command {
	var p program
	c := &cobra.Command{
		Use:   "run [flags] PROGRAM [ARGUMENT]...",
		Short: "Run a PySpark program, on a server of its own or on the one that is running",
		Args:  programArgs,
		RunE: func(c *cobra.Command, args []string) error {
			p.line, p.given = args, startOnly(c.Flags())
			return p.run()
		},
	}
	p.add(c.Flags())
	c.Flags().StringVar(&p.remote, "remote", "",
		"run the program on the Spark Connect server at `sc://HOST:PORT`, for instance a Spark cluster")
	// What follows the program belongs to it.
	c.Flags().SetInterspersed(false)
	return c
}

// programArgs asks for a file to run before anything is started for it.
func programArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("name the Python file to run; weir run --help tells more")
	}
	info, err := os.Stat(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", args[0])
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory, not a Python file", args[0])
	}
	return nil
}

// startOnly names the flags that were given and that only the start of a server
// can obey.
func startOnly(set *pflag.FlagSet) (names []string) {
	set.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"dir", "grace", "log-level", "remote"}, f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// run runs the program with the user's Python and ends with its exit code.
func (p *program) run() error {
	python, err := findPython()
	if err != nil {
		return err
	}
	if p.remote != "" {
		return p.runOnRemote(python)
	}
	// The server's own lines must not drown the program's output.
	if p.logLevel == slog.LevelInfo {
		p.logLevel = slog.LevelWarn
	}
	if p.user, err = programPython(python, p.line[0]); err != nil {
		return err
	}
	s, err := startServer(p.serverFlags, grpcDefault)
	var taken *takenError
	if errors.As(err, &taken) && taken.address == grpcDefault {
		s, err = startServer(p.serverFlags, grpcFree)
	}
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return p.runOnLiveServer(python, locked)
	}
	if err != nil {
		return err
	}
	at := addresses{HTTP: s.httpAddress(), secure: p.tlsCert != ""}
	fmt.Fprintf(os.Stderr, "weir: pages at %s, data in %s\n", at.pages(), p.dir)
	err = p.executeAlong(python, "sc://"+localhost(s.grpcAddress()))
	s.why = "its program ended"
	ctx, cancel := context.WithTimeout(context.Background(), p.grace)
	defer cancel()
	return errors.Join(err, s.stop(ctx))
}

// runOnRemote runs the program on another server.
func (p *program) runOnRemote(python string) error {
	if !strings.HasPrefix(p.remote, "sc://") {
		return fmt.Errorf("--remote %s: write the address as sc://HOST:PORT", p.remote)
	}
	if len(p.given) > 0 {
		return fmt.Errorf("%s cannot take effect: with --remote the program runs on %s",
			strings.Join(p.given, ", "), p.remote)
	}
	if err := answers(p.remote); err != nil {
		return err
	}
	return p.execute(python, p.remote, nil)
}

// remotePort is that of an address without one.
const remotePort = "15002"

// answers makes sure that something listens at an address: PySpark itself tries again
// for minutes and says nothing.
func answers(remote string) error {
	address, _, _ := strings.Cut(strings.TrimPrefix(remote, "sc://"), "/")
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), remotePort)
	}
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return fmt.Errorf("--remote %s: nothing answers there (%w)", remote, err)
	}
	return conn.Close()
}

// runOnLiveServer runs the program on the server that holds the data directory.
func (p *program) runOnLiveServer(python string, locked *vfs.LockedError) error {
	data, err := os.ReadFile(filepath.Join(p.dir, addressFile))
	if err != nil {
		return locked
	}
	var a addresses
	if err := json.Unmarshal(data, &a); err != nil || a.PID != locked.PID {
		return locked
	}
	if len(p.given) > 0 {
		return fmt.Errorf("%s cannot take effect: the server of %s (pid %d) is running already; "+
			"end it first, or leave that out", strings.Join(p.given, ", "), p.dir, a.PID)
	}
	fmt.Fprintf(os.Stderr, "weir: using the server that holds %s (pid %d), pages at %s\n",
		p.dir, a.PID, a.pages())
	return p.execute(python, "sc://"+localhost(a.GRPC), nil, staysVariable+"=1")
}

const (
	// staysVariable tells the program's Python whether the server outlives it.
	staysVariable = "WEIR_SERVER_STAYS"
	// pipeVariable is the descriptor of a pipe that closes when this process is gone.
	pipeVariable = "WEIR_SERVER_PIPE"
	// firstExtra is the descriptor that a process finds the first of its extra files at.
	firstExtra = "3"
)

// executeAlong runs the program on the server of this process, with which it ends.
func (p *program) executeAlong(python, remote string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()
	return p.execute(python, remote, read, staysVariable+"=0", pipeVariable+"="+firstExtra)
}

// localhost is a loopback address with the name that clients allow a token on.
func localhost(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil || !isLoopback(address) {
		return address
	}
	return net.JoinHostPort("localhost", port)
}

// findPython is the interpreter that PySpark itself would take for its workers,
// then the active virtual environment's, then the first on the path.
func findPython() (string, error) {
	if name := os.Getenv("PYSPARK_PYTHON"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("PYSPARK_PYTHON is %s, which is no program that can be run", name)
		}
		return path, nil
	}
	var candidates []string
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		candidates = append(candidates, filepath.Join(venv, "bin", "python"))
	}
	for _, name := range append(candidates, "python3", "python") {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python found: install Python 3.11 or newer and, with its pip, " +
		"'pyspark[connect]>=4.0,<4.4' and 'pandas<3', or name an interpreter in PYSPARK_PYTHON")
}

// programPython is the Python of a program's functions: the one that runs the
// program, with the modules beside it.
func programPython(python, program string) (userPython, error) {
	file, err := filepath.Abs(program)
	return userPython{interpreter: python, path: []string{filepath.Dir(file)}}, err
}

// execute runs the program and hands its exit code on. It inherits a file, if there is
// one.
func (p *program) execute(python, remote string, inherits *os.File, env ...string) error {
	cmd := exec.Command(python, append([]string{"-c", bootstrap}, p.line...)...)
	if inherits != nil {
		cmd.ExtraFiles = []*os.File{inherits}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+remote, "SPARK_CONNECT_MODE_ENABLED=1")
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Second
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", python, err)
	}
	done := make(chan struct{})
	go forward(signals, cmd.Process, done)
	err := cmd.Wait()
	close(done)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitCode(128 + int(status.Signal()))
		}
		return exitCode(exit.ExitCode())
	}
	return err
}

// forward sends signals on to the program. A terminal sends an interrupt to both by
// itself, so the first one of those is left alone where one can have sent it.
func forward(signals <-chan os.Signal, process *os.Process, done <-chan struct{}) {
	fromTerminal := inForeground()
	for {
		select {
		case s := <-signals:
			if s == os.Interrupt && fromTerminal {
				fromTerminal = false
				continue
			}
			_ = process.Signal(s)
		case <-done:
			return
		}
	}
}

// inForeground reports whether a terminal sends its interrupts to this process.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
