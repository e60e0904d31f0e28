package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func condition(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition
	}
	return ""
}

func TestArtifacts(t *testing.T) {
	fsys := vfs.NewMemory()
	a := New(fsys, "/artifacts")
	add := func(name, text string) error { return a.Add(name, strings.NewReader(text)) }
	if err := add("pyfiles/m.py", "x = 1"); err != nil {
		t.Fatal(err)
	}
	if err := add("pyfiles/m.py", "x = 1"); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if got := condition(add("pyfiles/m.py", "x = 2")); got != "ARTIFACT_ALREADY_EXISTS" {
		t.Errorf("other bytes: got %s", got)
	}
	if got := condition(add("forward_to_fs/etc/passwd", "x")); got != "_LEGACY_ERROR_TEMP_3161" {
		t.Errorf("a path of the server's: got %s", got)
	}
	if got := condition(add("files/m.py", "x = 2")); got != "ARTIFACT_ALREADY_EXISTS" {
		t.Errorf("a file in the place of a module: got %s", got)
	}
	if err := add("archives/env.zip", "x"); err == nil || !strings.Contains(err.Error(), "archive") {
		t.Errorf("an archive: %v", err)
	}
	for _, name := range []string{
		"", "pyfiles", "pyfiles/", "pyfiles/../../x", "../pyfiles/x", "/etc/passwd", "pyfiles/a\x00b", "else/x",
		"pyfiles/./x", "cache/00",
	} {
		if err := add(name, "x"); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	blob := []byte("blob")
	sum := sha256.Sum256(blob)
	hash := hex.EncodeToString(sum[:])
	if err := a.Add("cache/"+hash, bytes.NewReader(blob)); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Cached(hash); err != nil || !bytes.Equal(got, blob) {
		t.Errorf("got %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{"pyfiles/m.py"}, a.Names()); diff != "" {
		t.Error(diff)
	}
	if err := a.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat("/artifacts"); !vfs.NotFound(err) {
		t.Errorf("the files are still there: %v", err)
	}
}
