package session

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Spark gives the path of the file; nothing would be a wrong answer.
func TestInputFileNameOfFilesIsRefused(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	must(t, s, "CREATE TABLE p USING parquet AS SELECT 1 AS a")
	for _, query := range []string{"SELECT input_file_name() FROM p", "SELECT input_file_name() FROM (SELECT a FROM p)"} {
		_, _, err := run(t, s, query)
		if e, ok := err.(*plan.Error); !ok || !strings.Contains(e.Msg, "_metadata.file_path") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if got := must(t, s, "SELECT input_file_name() FROM range(1)"); got[0] != `[""]` {
		t.Errorf("of no file: %v", got)
	}
}
