package delta

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/vfs"
)

// What is before an old checkpoint goes, and the table is the same; without an old
// checkpoint all stays.
func TestTrimLogKeepsWhatReadersNeed(t *testing.T) {
	table := Table{vfs.NewLocal(), filepath.Join(t.TempDir(), "t")}
	s := open(t, table)
	for id := range int64(3) {
		must(t, appendRows(s, idSchema, nil, nil, idChunk(id)))
	}
	must(t, s.Checkpoint(t.Context()))
	at := s.Version
	must(t, appendRows(s, idSchema, nil, nil, idChunk(3)))
	want := idsOf(t, s)

	n, err := table.TrimLog(time.Now().Add(-time.Hour))
	if must(t, err); n != 0 {
		t.Errorf("%d files went although the checkpoint is young", n)
	}
	n, err = table.TrimLog(time.Now().Add(time.Hour))
	if must(t, err); int64(n) != at {
		t.Errorf("%d files went, want the %d commits before the checkpoint", n, at)
	}
	again, err := table.Load(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, idsOf(t, again)); diff != "" {
		t.Error(diff)
	}
	if _, err := table.LoadVersion(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "0") {
		t.Errorf("version 0: %v, want an error", err)
	}
}
