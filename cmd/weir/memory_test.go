package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryIsTheLeastLimitOfTheControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		self  string
		files map[string]string
		want  int64
	}{
		"version 2, a parent is smaller": {"0::/a/b\n",
			map[string]string{"a/memory.max": "1000\n", "a/b/memory.max": "2000\n"}, 1000},
		"version 2, no limit":   {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, math.MaxInt64},
		"version 2, only root":  {"0::/of/the/host\n", map[string]string{"memory.max": "3000\n"}, 3000},
		"version 1":             {"5:cpu:/x\n4:memory:/x\n", map[string]string{"memory/x/memory.limit_in_bytes": "7"}, 7},
		"not in a group at all": {"", nil, math.MaxInt64},
	} {
		root := t.TempDir()
		self := filepath.Join(root, "self")
		write(t, self, c.self)
		for file, text := range c.files {
			write(t, filepath.Join(root, file), text)
		}
		if got := groupMemory(root, self); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
