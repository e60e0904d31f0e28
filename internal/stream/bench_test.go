package stream

import (
	"context"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// takeAll is a sink that keeps nothing and notes when batches came.
type takeAll struct{ at *[]time.Time }

func (s takeAll) Describe() string { return "TakeAll" }

func (s takeAll) Write(_ context.Context, b connector.Batch) (n int64, err error) {
	*s.at = append(*s.at, time.Now())
	for c, err := range b.Rows {
		if err != nil {
			return 0, err
		}
		n += int64(c.Rows)
	}
	return n, nil
}

func (s takeAll) Close() error { return nil }

// BenchmarkDurableBatch is a batch of ten rows whose two log files are durable
// on this machine's disk, beside the cost of one durable file.
func BenchmarkDurableBatch(b *testing.B) {
	local, dir := vfs.NewLocal(), b.TempDir()
	benchmarkBatches(b, local, dir)
	b.ReportMetric(float64(local.Syncs())/float64(b.N), "syncs/batch")
	var took []time.Duration
	for i := range 200 {
		began := time.Now()
		if err := vfs.WriteNew(local, path.Join(dir, fmt.Sprint("probe", i)), make([]byte, 1200)); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(median(took), "µs/file-p50")
}

// BenchmarkBatch is the same on a file system in memory.
func BenchmarkBatch(b *testing.B) { benchmarkBatches(b, vfs.NewMemory(), "/bench") }

func benchmarkBatches(b *testing.B, fsys vfs.FS, dir string) {
	r := newRig(fsys)
	var at []time.Time
	r.trigger.Kind, r.limit = plan.AvailableNow, 10
	r.tune = func(c *Config) {
		c.Checkpoint.Dir = dir
		c.OpenSink = func(context.Context, string) (connector.Sink, error) { return takeAll{&at}, nil }
	}
	for i := range int64(10 * b.N) {
		r.tapes["a"].put(i)
	}
	r.open = func(s countSource) connector.Source { return wholeSource{&s} }
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.mustStart(b).Await(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	var between []time.Duration
	for i := 1; i < len(at); i++ {
		between = append(between, at[i].Sub(at[i-1]))
	}
	b.ReportMetric(median(between), "µs/batch-p50")
	r.bus.Close()
}

// wholeSource reads a range as one chunk.
type wholeSource struct{ *countSource }

func (s wholeSource) Read(_ context.Context, from, to connector.Offset) chunk.Rows {
	s.tape.mu.Lock()
	defer s.tape.mu.Unlock()
	return chunk.One(column(s.of, s.tape.values[at(from):at(to)]...))
}

func median(of []time.Duration) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return float64(of[len(of)/2].Nanoseconds()) / 1000
}
