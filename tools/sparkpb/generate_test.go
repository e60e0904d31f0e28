package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const committed = "../../internal/sparkpb"

func TestCommittedBindingsAreWhatTheDescriptorSetGives(t *testing.T) {
	fresh := t.TempDir()
	if err := generate("spark_connect_4.3.0.binpb", fresh); err != nil {
		t.Fatal(err)
	}
	want, have := bindings(t, fresh), bindings(t, committed)
	if len(want) == 0 {
		t.Fatal("the generator wrote nothing")
	}
	for name, text := range want {
		if have[name] != text {
			t.Errorf("%s/%s differs from the descriptor set; run make generate", committed, name)
		}
	}
	if diff := cmp.Diff(names(want), names(have)); diff != "" {
		t.Errorf("files (-generated +committed):\n%s", diff)
	}
}

func TestASetWithAnotherDigestIsRefused(t *testing.T) {
	dir := t.TempDir()
	set := filepath.Join(dir, "x.binpb")
	if err := os.WriteFile(set, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("0", 64) + "  x.binpb\n"
	if err := os.WriteFile(set+".sha256", []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	err := generate(set, filepath.Join(dir, "out"))
	if err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Fatalf("got %v, want an error that names SHA-256", err)
	}
}

func bindings(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string, len(paths))
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = string(text)
	}
	return files
}

func names(files map[string]string) map[string]bool {
	set := make(map[string]bool, len(files))
	for name := range files {
		set[name] = true
	}
	return set
}
