package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// mostBytes is the bar of the stripped binary.
const mostBytes = 50_000_000

// A dependency that looks methods up by name makes the linker keep every method
// there is, and shows itself here; docs/adr/003 has the ones that did.
func TestReleaseIsSmall(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "weir")
	args := []string{"build", "-trimpath", "-tags", "grpcnotrace,tinygo", "-ldflags", "-s -w", "-o", binary}
	for _, packages := range outlined(t) {
		args = append(args, "-gcflags", packages+"=-l")
	}
	build := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > mostBytes {
		t.Errorf("the release has %d bytes, more than %d", info.Size(), mostBytes)
	}
}

// outlined are the packages that the Makefile has compiled without inlining.
func outlined(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.ModuleRoot(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "\nOUTLINED = ")
	list, _, ends := strings.Cut(rest, "\nRELEASE = ")
	if !found || !ends {
		t.Fatal("the Makefile has no OUTLINED before RELEASE")
	}
	return strings.Fields(strings.ReplaceAll(list, "\\\n", " "))
}
