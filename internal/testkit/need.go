package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Need skips the test with a line that says what is missing. Where WEIR_CI is
// set nothing may be missing, so the test fails instead.
func Need(t testing.TB, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("WEIR_CI") != "" {
		t.Fatalf("missing: %s (WEIR_CI is set, so nothing may be)", what)
	}
	t.Skipf("missing: %s", what)
}

// Python returns the interpreter that has PySpark: $WEIR_PYTHON, else that of
// the virtual environment .venv beside go.mod.
func Python(t testing.TB) string {
	t.Helper()
	if python := os.Getenv("WEIR_PYTHON"); python != "" {
		Need(t, isFile(python), "the Python interpreter "+python+" that WEIR_PYTHON names")
		return python
	}
	python := filepath.Join(ModuleRoot(t), ".venv", "bin", "python")
	Need(t, isFile(python), "a Python with PySpark (set WEIR_PYTHON or make "+python+")")
	return python
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// ModuleRoot returns the directory of go.mod above the test.
func ModuleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !isFile(filepath.Join(dir, "go.mod")) {
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
	return dir
}
