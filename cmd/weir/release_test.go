package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mostBytes is the bar of the stripped binary.
const mostBytes = 50_000_000

// A dependency that looks methods up by name makes the linker keep every method
// there is, and shows itself here; docs/adr/003 has the ones that did.
func TestReleaseIsSmall(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "weir")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "grpcnotrace,tinygo",
		"-gcflags", "github.com/apache/arrow-go/v18/arrow/compute/...=-l", "-ldflags", "-s -w", "-o", binary, ".")
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
