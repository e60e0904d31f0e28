package shelf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// BenchmarkReadJSON reads lines of about 110 bytes into three columns.
func BenchmarkReadJSON(b *testing.B) {
	const rows = 200_000
	fsys := vfs.NewMemory()
	env := conform.NewEnv(b, fsys)
	dir := &conform.Dir{T: b, FS: fsys}
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `{"ts":"2024-01-01T00:%02d:%02d.000Z","key":"k%06d","value":%d,"note":"something else"}`+"\n",
			i/60%60, i%60, i%1000, i)
	}
	dir.Put("/r/in/a.json", text.String(), 0)
	schema := plan.Struct(plan.Col("ts", plan.Timestamp), plan.Col("key", plan.String),
		plan.Col("value", plan.Long))
	for b.Loop() {
		n, err := connector.Drain(formats.ScanAll(b, env, &plan.Read{Format: "json", Schema: &schema,
			Paths: []string{"/r/in"}}))
		if n != rows || err != nil {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSinkBatch writes batches of ten rows to a disk, durably.
func BenchmarkSinkBatch(b *testing.B) {
	for _, format := range []string{"noop", "json", "parquet", "delta"} {
		b.Run(format, func(b *testing.B) {
			env := conform.NewEnv(b, vfs.NewLocal())
			spec := connector.SinkSpec{Schema: conform.IDSchema, Path: filepath.Join(b.TempDir(), "out"), QueryID: "q"}
			sink := formats.OpenSink(b, env, format, spec)
			id := int64(0)
			for b.Loop() {
				if _, err := sink.Write(b.Context(),
					connector.Batch{ID: id, Rows: chunk.One(conform.IDChunk(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
						10))}); err != nil {
					b.Fatal(err)
				}
				id++
			}
		})
	}
}
