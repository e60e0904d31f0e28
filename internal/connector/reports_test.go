package connector

import (
	"path"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Cases that people reported in public, by the ids of test/oracle/reports.tsv.

// FS-05: with a retention the log of a sink stays small, however many batches it
// has seen.
func TestReportFS05(t *testing.T) {
	fsys := vfs.NewMemory()
	env := newEnv(t, fsys)
	env.Now = func() time.Time { return time.Now().Add(time.Hour) }
	env.Conf = func(key string) string {
		return map[string]string{"spark.sql.streaming.fileSink.log.cleanupDelay": "0"}[key]
	}
	spec := SinkSpec{Schema: idSchema, Path: "/r/out", Options: plan.Options{"retention": "0ms"}}
	sink := openSink(t, env, "json", spec)
	const batches = 2000
	for id := range int64(batches) {
		_, err := sink.Write(t.Context(), Batch{ID: id, Rows: chunk.One(idChunk(0, id))})
		must(t, err)
	}
	infos, err := fsys.List(path.Join("/r/out", sinkLogDir))
	must(t, err)
	size := int64(0)
	for _, info := range infos {
		size += info.Size
	}
	if size > 100_000 {
		t.Errorf("after %d batches the log has %d files and %d bytes", batches, len(infos), size)
	}
}
