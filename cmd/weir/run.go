package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

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

type runCommand struct {
	serverFlags
	HTTP    string   `help:"Address for pages and API." placeholder:"HOST:PORT" name:"http"`
	Remote  string   `help:"Run the program on this Spark Connect server instead, for instance a Spark cluster." placeholder:"sc://HOST:PORT"`
	Program string   `arg:"" help:"The program, a Python file." type:"existingfile"`
	Args    []string `arg:"" optional:"" passthrough:"" help:"Its arguments."`
}

// Run runs the program with the user's Python and ends with its exit code.
func (c *runCommand) Run() error {
	python, err := findPython()
	if err != nil {
		return err
	}
	if c.Remote != "" {
		return c.execute(python, c.Remote)
	}
	// The server's own lines must not drown the program's output.
	if c.LogLevel == "info" {
		c.LogLevel = "warn"
	}
	s, err := startServer(c.serverFlags, grpcDefault, c.HTTP)
	var taken *takenError
	if errors.As(err, &taken) && taken.address == grpcDefault {
		s, err = startServer(c.serverFlags, grpcFree, c.HTTP)
	}
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return c.runOnLiveServer(python, locked)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "weir: pages at http://%s, data in %s\n", s.httpAddress(), c.Dir)
	err = c.execute(python, "sc://"+localhost(s.grpcAddress()))
	ctx, cancel := context.WithTimeout(context.Background(), c.Grace)
	defer cancel()
	return errors.Join(err, s.stop(ctx))
}

// runOnLiveServer runs the program on the server that holds the data directory.
func (c *runCommand) runOnLiveServer(python string, locked *vfs.LockedError) error {
	data, err := os.ReadFile(filepath.Join(c.Dir, addressFile))
	if err != nil {
		return locked
	}
	var a addresses
	if err := json.Unmarshal(data, &a); err != nil || a.PID != locked.PID {
		return locked
	}
	fmt.Fprintf(os.Stderr, "weir: using the server that holds %s (pid %d), pages at http://%s\n",
		c.Dir, a.PID, a.HTTP)
	return c.execute(python, "sc://"+localhost(a.GRPC))
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
	candidates := []string{os.Getenv("PYSPARK_PYTHON")}
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		candidates = append(candidates, filepath.Join(venv, "bin", "python"))
	}
	for _, name := range append(candidates, "python3", "python") {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python found: install Python 3.11 or newer with the package pyspark[connect], " +
		"or name an interpreter in PYSPARK_PYTHON")
}

// execute runs the program and hands its exit code on. Signals go to the
// program too, which is in the same process group of a terminal anyway.
func (c *runCommand) execute(python, remote string) error {
	cmd := exec.Command(python, append([]string{"-c", bootstrap, c.Program}, c.Args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+remote, "SPARK_CONNECT_MODE_ENABLED=1")
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

// forward sends SIGTERM on to the program. An interrupt comes from a terminal,
// which sends it to the program itself.
func forward(signals <-chan os.Signal, p *os.Process, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				_ = p.Signal(s)
			}
		case <-done:
			return
		}
	}
}
