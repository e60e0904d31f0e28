package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
)

// watched is how long BenchmarkManyQueries looks at the running queries.
const watched = 10 * time.Second

// BenchmarkManyQueries is 500 rate queries at a one-second trigger into nothing,
// with temporary checkpoints, which nobody resumes from, and with durable ones:
// the processor time and the memory that they take, and how long after it was due
// the latest batch began; bars: one core, 1 GiB, one second. The source has rows at
// every trigger: that of whole seconds has none where two triggers fall into one of
// its seconds, and a trigger without a batch would count as a late one.
func BenchmarkManyQueries(b *testing.B) {
	b.Run("temporary", func(b *testing.B) { manyQueries(b, func(int) string { return "" }) })
	b.Run("durable", func(b *testing.B) {
		dir := b.TempDir()
		manyQueries(b, func(i int) string { return filepath.Join(dir, strconv.Itoa(i)) })
	})
}

func manyQueries(b *testing.B, checkpoint func(i int) string) {
	s := testkit.Start(b, testkit.ServerOptions{})
	c := connect(b, s)
	var ids []*pb.StreamingQueryInstanceId
	for i := range 500 {
		options := map[string]string{}
		if place := checkpoint(i); place != "" {
			options["checkpointLocation"] = place
		}
		ids = append(ids, c.start(b, &pb.WriteStreamOperationStart{
			Input:  source("rate-micro-batch", "", map[string]string{"rowsPerBatch": "10"}),
			Format: "noop", Options: options,
			Trigger: &pb.WriteStreamOperationStart_ProcessingTimeInterval{ProcessingTimeInterval: "1 second"},
		}))
	}
	var cores, rss float64
	since := time.Now()
	for b.Loop() {
		before := cpuSeconds(b, s.PID())
		time.Sleep(watched)
		cores = max(cores, (cpuSeconds(b, s.PID())-before)/watched.Seconds())
		rss = max(rss, residentMB(b, s.PID()))
	}
	latest := time.Duration(0)
	for _, id := range ids {
		var due time.Time // the whole second after the batch before
		for _, began := range batchStarts(b, c, id) {
			if due.After(since) {
				latest = max(latest, began.Sub(due))
			}
			due = began.Truncate(time.Second).Add(time.Second)
		}
	}
	b.ReportMetric(cores, "cores")
	b.ReportMetric(rss, "MB")
	b.ReportMetric(float64(latest.Milliseconds()), "ms-late")
}

// cpuSeconds is the user and system time that a process has taken.
func cpuSeconds(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("processor time is read from /proc")
	}
	fields := strings.Fields(string(raw)[strings.LastIndexByte(string(raw), ')')+1:])
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return float64(ticks) / 100 // Linux counts in hundredths everywhere
}

// batchStarts is when each remembered batch began.
func batchStarts(b *testing.B, c *client, id *pb.StreamingQueryInstanceId) []time.Time {
	b.Helper()
	r := c.ask(b, &pb.StreamingQueryCommand{QueryId: id,
		Command: &pb.StreamingQueryCommand_RecentProgress{RecentProgress: true}})
	var out []time.Time
	for _, text := range r.GetRecentProgress().GetRecentProgressJson() {
		var p struct{ Timestamp time.Time }
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			b.Fatal(err)
		}
		out = append(out, p.Timestamp)
	}
	return out
}
