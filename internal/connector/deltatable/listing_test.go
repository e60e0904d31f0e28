package deltatable

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// bytesAFile is what a file of the beginning may cost in memory: 500,000 of them, with as
// much again as the collector leaves lying about, fit into a server of 512 MiB.
const bytesAFile = 400

// TestTheBeginningOfABigTableIsHeldOnceAndWithoutItsStatistics is report DL-11.
func TestTheBeginningOfABigTableIsHeldOnceAndWithoutItsStatistics(t *testing.T) {
	files := 50_000
	if os.Getenv("WEIR_SLOW") != "" {
		files = 500_000
	}
	r := newRig(t)
	for version := 1; version <= 20; version++ {
		if version%10 == 0 {
			r.add(int64(version)) // by weir, which writes a checkpoint
			continue
		}
		lines := make([]string, files/18)
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"add":{"path":"part-%05d-0a1b2c3d-%04d-4000-8000-%012d-c000.snappy.parquet",`+
				`"partitionValues":{},"size":1000,"modificationTime":%d,"dataChange":true,"stats":"{\"numRecords\":9,`+
				`\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d},\"nullCount\":{\"id\":0}}"}}`,
				i, version, i*version, 1_600_000_000_000+int64(i), i, i+9)
		}
		r.commit(version, lines...)
	}
	r.split(20)
	want := files/18*18 + 2

	before := heap()
	opened := r.source(nil)
	at, err := opened.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	if held := heap() - before; held > int64(want)*bytesAFile {
		t.Errorf("%d files take %d bytes each, want at most %d", want, held/int64(want), bytesAFile)
	}
	batches := 1
	for start := connector.Offset(""); ; batches++ {
		pieces, err := opened.(*source).between(t.Context(), start, at)
		conform.Must(t, err)
		want -= len(pieces)
		conform.Must(t, opened.Advance(t.Context(), at))
		start = at
		if at, err = opened.Latest(t.Context(), start, connector.Limit{}); err != nil || at == start {
			conform.Must(t, err)
			break
		}
	}
	if want != 0 || batches != (files/18*18+2+filesPerBatch-1)/filesPerBatch {
		t.Errorf("%d files are missing after %d batches", want, batches)
	}
	if held := heap() - before; held > 8<<20 {
		t.Errorf("%d bytes are held when all is read", held)
	}
	runtime.KeepAlive(opened)
}

// split makes the checkpoint of a version one of two parts, of which the first is the one
// of ten versions before, and removes the commits that both stand for.
func (r *rig) split(version int) {
	r.t.Helper()
	dir := path.Dir(r.log(version))
	infos, err := r.fsys.List(dir)
	conform.Must(r.t, err)
	for _, info := range infos {
		var of int
		if _, err := fmt.Sscanf(info.Name, "%d.", &of); err != nil || of > version {
			continue
		}
		old := path.Join(dir, info.Name)
		if strings.HasSuffix(info.Name, ".checkpoint.parquet") {
			data, err := vfs.ReadFile(r.fsys, old)
			conform.Must(r.t, err)
			name := fmt.Sprintf("%020d.checkpoint.%010d.%010d.parquet", version, of/10-version/10+2, 2)
			conform.Must(r.t, vfs.WriteNew(r.fsys, path.Join(dir, name), data))
		}
		if of < version || strings.HasSuffix(info.Name, ".checkpoint.parquet") {
			conform.Must(r.t, r.fsys.Remove(old))
		}
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
