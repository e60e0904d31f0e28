package file

import (
	"path"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// Cases that people reported in public, by the ids of test/oracle/reports.tsv.

// FS-05: with a retention the log of a sink stays small, however many batches it
// has seen.
func TestReportFS05(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	env.Now = func() time.Time { return time.Now().Add(time.Hour) }
	env.Conf = func(key string) string {
		return map[string]string{"spark.sql.streaming.fileSink.log.cleanupDelay": "0"}[key]
	}
	spec := connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out",
		Options: plan.Options{"retention": "0ms"}}
	sink := formats.OpenSink(t, env, "json", spec)
	const batches = 2000
	for id := range int64(batches) {
		_, err := sink.Write(t.Context(), connector.Batch{ID: id, Rows: chunk.One(conform.IDChunk(0, id))})
		conform.Must(t, err)
	}
	infos, err := fsys.List(path.Join("/r/out", sinkLogDir))
	conform.Must(t, err)
	size := int64(0)
	for _, info := range infos {
		size += info.Size
	}
	if size > 100_000 {
		t.Errorf("after %d batches the log has %d files and %d bytes", batches, len(infos), size)
	}
}
