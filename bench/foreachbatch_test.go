package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// BenchmarkForeachBatch is the way of a batch of ten rows to an empty Python function
// and back, the worker being warm; bar: 3 ms. It is as fine as progress tells it.
func BenchmarkForeachBatch(b *testing.B) {
	python := testkit.Python(b)
	var half, most float64
	for b.Loop() {
		server := testkit.Start(b, testkit.ServerOptions{})
		cmd := exec.CommandContext(b.Context(), python, "foreach_batch.py", filepath.Join(b.TempDir(), "ck"))
		cmd.Env = append(os.Environ(), "SPARK_REMOTE="+server.Remote(), "SPARK_CONNECT_MODE_ENABLED=1",
			"PYTHONDONTWRITEBYTECODE=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Sscan(string(out), &half, &most); err != nil {
			b.Fatalf("%v in %s", err, out)
		}
	}
	b.ReportMetric(half, "ms-p50")
	b.ReportMetric(most, "ms-p99")
}
