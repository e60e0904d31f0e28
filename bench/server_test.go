package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// BenchmarkAccept is the time from starting the process to its ready line; bar:
// 50 ms. The resident memory of the idle server is printed beside; bar: 60 MB.
func BenchmarkAccept(b *testing.B) {
	testkit.Binary(b)
	rss := 0.0
	for b.Loop() {
		s := testkit.Start(b, testkit.ServerOptions{})
		b.StopTimer()
		rss = max(rss, residentMB(b, s.PID()))
		s.Kill9()
		b.StartTimer()
	}
	b.ReportMetric(rss, "MB-idle")
	info, err := os.Stat(testkit.Binary(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB-binary")
}

func residentMB(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Skip("resident memory is read from /proc")
	}
	pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / 1e6
}

// BenchmarkUnaryCalls is one small call after the other on one connection; bar:
// 2,000 calls a second.
func BenchmarkUnaryCalls(b *testing.B) {
	c := connect(b, testkit.Start(b, testkit.ServerOptions{}))
	for b.Loop() {
		if err := c.config(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkFirstBatch is the time from sending a start request to the durable
// commits/0 of a rate query; bar: 150 ms.
func BenchmarkFirstBatch(b *testing.B) {
	for _, format := range []string{"noop", "delta"} {
		b.Run(format, func(b *testing.B) {
			c := connect(b, testkit.Start(b, testkit.ServerOptions{}))
			for b.Loop() {
				dir := b.TempDir()
				id := c.start(b, &pb.WriteStreamOperationStart{
					Input: source("rate", "", map[string]string{"rowsPerSecond": "5"}), Format: format,
					Options:         map[string]string{"checkpointLocation": filepath.Join(dir, "ck")},
					SinkDestination: &pb.WriteStreamOperationStart_Path{Path: filepath.Join(dir, "out")},
				})
				waitFor(b, filepath.Join(dir, "ck", "commits", "0"))
				b.StopTimer()
				c.stop(b, id)
				b.StartTimer()
			}
		})
	}
}

// waitFor polls until a file exists.
func waitFor(b *testing.B, file string) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
	b.Fatalf("%s did not appear", file)
}

const events = 10 // rows of a micro-batch in BenchmarkDurableBatch

// BenchmarkDurableBatch is a micro-batch of ten JSON rows into nothing, logs
// written and synced: the p50 of what a batch costs beside its rows; bar: 2 ms.
//
// Printed beside it: how many files a batch makes durable (sources/0/N, offsets/N
// and commits/N, one after the other because each rests on the one before), what
// one of them costs on this disk when nothing else is done (two syncs, of its
// bytes and of its name), and what one sync of a new file costs. A batch cannot
// be faster than the product of the first two.
func BenchmarkDurableBatch(b *testing.B) {
	c := connect(b, testkit.Start(b, testkit.ServerOptions{}))
	dir := b.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		b.Fatal(err)
	}
	files := 0
	var took []float64
	for b.Loop() {
		b.StopTimer()
		const batches = 100
		for range batches {
			writeEvents(b, filepath.Join(in, fmt.Sprintf("f%06d.json", files)), events)
			files++
		}
		b.StartTimer()
		id := c.start(b, &pb.WriteStreamOperationStart{
			Input: source("json", "id BIGINT, name STRING, at TIMESTAMP",
				map[string]string{"maxFilesPerTrigger": "1"}, in),
			Format: "noop", Options: map[string]string{"checkpointLocation": filepath.Join(dir, "ck")},
			Trigger: &pb.WriteStreamOperationStart_AvailableNow{AvailableNow: true},
		})
		c.await(b, id)
		took = append(took, batchTimes(b, c, id, events)...)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms/batch-p50")
	b.ReportMetric(took[len(took)*99/100], "ms/batch-p99")
	b.ReportMetric(float64(durableFiles(b, filepath.Join(dir, "ck")))/float64(files), "durable-files/batch")
	file, sync := machineSyncs(b, dir)
	b.ReportMetric(file, "ms/durable-file-p50")
	b.ReportMetric(sync, "ms/sync-p50")
}

// durableFiles is how many files the logs of a checkpoint were given; the oldest
// are gone by now, but ids have no gaps.
func durableFiles(b *testing.B, checkpoint string) int {
	b.Helper()
	sum := 0
	for _, log := range []string{"sources/0", "offsets", "commits"} {
		entries, err := os.ReadDir(filepath.Join(checkpoint, log))
		if err != nil {
			b.Fatal(err)
		}
		newest := -1
		for _, e := range entries {
			if id, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".compact")); err == nil {
				newest = max(newest, id)
			}
		}
		sum += newest + 1
	}
	return sum
}

func writeEvents(b *testing.B, file string, n int) {
	b.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"id":%d,"name":"name %d","at":"2026-01-02T03:04:05.678Z"}`+"\n", i, i%7)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}

// batchTimes is the duration of each remembered batch of so many rows, in ms.
func batchTimes(b *testing.B, c *client, id *pb.StreamingQueryInstanceId, rows int) []float64 {
	b.Helper()
	r := c.ask(b, &pb.StreamingQueryCommand{QueryId: id,
		Command: &pb.StreamingQueryCommand_RecentProgress{RecentProgress: true}})
	var out []float64
	for _, text := range r.GetRecentProgress().GetRecentProgressJson() {
		var p struct {
			NumInputRows int
			DurationMs   map[string]float64
		}
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			b.Fatal(err)
		}
		if p.NumInputRows == rows {
			out = append(out, p.DurationMs["triggerExecution"])
		}
	}
	return out
}

// machineSyncs is the p50 of what it costs here to make one file that survives
// power loss, as the logs do it, and of the first sync in that.
func machineSyncs(b *testing.B, dir string) (file, sync float64) {
	b.Helper()
	local := vfs.NewLocal()
	var files, syncs []float64
	for i := range 100 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("sync", i)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			b.Fatal(err)
		}
		syncs = append(syncs, milliseconds(func() error { return f.Sync() }, b))
		f.Close()
		name := filepath.Join(dir, fmt.Sprint("file", i))
		files = append(files, milliseconds(func() error { return vfs.WriteNew(local, name, make([]byte, 800)) }, b))
	}
	slices.Sort(files)
	slices.Sort(syncs)
	return files[len(files)/2], syncs[len(syncs)/2]
}

func milliseconds(do func() error, b *testing.B) float64 {
	b.Helper()
	start := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return float64(time.Since(start).Microseconds()) / 1000
}
