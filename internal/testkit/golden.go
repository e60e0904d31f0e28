package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the expectations of golden files and scripts anew")

// Diff fails the test when got is not want, and prints the difference.
func Diff[T any](t testing.TB, what string, got, want T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Golden fails the test when got is not what the file testdata/name holds. With
// -rewrite it writes the file.
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	compare(t, filepath.Join("testdata", filepath.FromSlash(name)), got)
}

// Document is Golden for a generated page below docs/.
func Document(t testing.TB, name string, got []byte) {
	t.Helper()
	compare(t, filepath.Join(ModuleRoot(t), "docs", filepath.FromSlash(name)), got)
}

func compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if *rewrite {
		writeExpectation(t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("golden file: %v (-rewrite makes it)", err)
	}
	Diff(t, file, string(got), string(want))
}

func writeExpectation(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
