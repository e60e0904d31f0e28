package main

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/weir-dev/weir/internal/pyworker"
)

// userPython is the Python that functions of programs run in when no setting
// names another.
type userPython struct {
	interpreter string
	path        []string // where modules of the program are
}

// serverPython is the interpreter that weir run would take. Without one the log says so,
// and then the first function.
func serverPython(log *slog.Logger) string {
	python, err := findPython()
	if err == nil {
		return python
	}
	// Programs without functions of their own need none.
	log.Warn("functions of programs will not run", "why", err)
	return cmp.Or(os.Getenv("PYSPARK_PYTHON"), "python3")
}

// newPython makes the host of Python functions that flags ask for.
func newPython(f serverFlags, p userPython) (*pyworker.Host, error) {
	mode, err := pyworker.ParseMode(f.python)
	if err != nil {
		return nil, err
	}
	return pyworker.NewHost(pyworker.Options{
		Mode: mode, Python: p.interpreter, Path: p.path, Output: os.Stdout,
	}), nil
}
