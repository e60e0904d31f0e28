package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
)

const (
	touched     = 10_000 // rows of a measured batch, each of a key of its own
	fillRows    = 500_000
	keysBatches = 60
)

// BenchmarkBatchAmongKeys is a durable batch of 10,000 JSON rows that count 10,000
// keys of a state of 10⁴ and of 10⁷ keys: the p50; bar: the second takes at most 1.5
// times as long.
func BenchmarkBatchAmongKeys(b *testing.B) {
	for _, keys := range []int{10_000, 10_000_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			c := connect(b, testkit.Start(b, testkit.ServerOptions{}))
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				in := filepath.Join(dir, "in")
				if err := os.Mkdir(in, 0o700); err != nil {
					b.Fatal(err)
				}
				fillKeys(b, in, keys)
				for n := range keysBatches {
					writeKeys(b, filepath.Join(in, fmt.Sprintf("m%03d.json", n)), touched, func(i int) int {
						return (i*(keys/touched) + n) % keys
					})
				}
				b.StartTimer()
				id := c.start(b, &pb.WriteStreamOperationStart{
					Input:  counted(source("json", "key BIGINT", map[string]string{"maxFilesPerTrigger": "1"}, in)),
					Format: "noop", OutputMode: "update",
					Options: map[string]string{"checkpointLocation": filepath.Join(dir, "ck")},
					Trigger: &pb.WriteStreamOperationStart_AvailableNow{AvailableNow: true},
				})
				c.await(b, id)
				took := batchTimes(b, c, id, touched)
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2], "ms/batch-p50")
				// Times are told in whole milliseconds; the mean of those below p90 has more digits.
				sum, most := 0.0, took[:len(took)*9/10]
				for _, ms := range most {
					sum += ms
				}
				b.ReportMetric(sum/float64(len(most)), "ms/batch-mean")
			}
		})
	}
}

// fillKeys writes each key once, in files that no measured one has the size of.
func fillKeys(b *testing.B, dir string, keys int) {
	b.Helper()
	size := min(fillRows, keys/2)
	for from := 0; from < keys; from += size {
		writeKeys(b, filepath.Join(dir, fmt.Sprintf("f%09d.json", from)), size, func(i int) int { return from + i })
	}
}

func writeKeys(b *testing.B, file string, n int, key func(i int) int) {
	b.Helper()
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"key":%d}`+"\n", key(i))
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}

// counted is the number of rows of each key.
func counted(rows *pb.Relation) *pb.Relation {
	column := func(name string) *pb.Expression {
		return &pb.Expression{ExprType: &pb.Expression_UnresolvedAttribute_{
			UnresolvedAttribute: &pb.Expression_UnresolvedAttribute{UnparsedIdentifier: name}}}
	}
	count := &pb.Expression{ExprType: &pb.Expression_UnresolvedFunction_{
		UnresolvedFunction: &pb.Expression_UnresolvedFunction{FunctionName: "count", Arguments: []*pb.Expression{
			column("key")}}}}
	return &pb.Relation{RelType: &pb.Relation_Aggregate{Aggregate: &pb.Aggregate{
		Input: rows, GroupType: pb.Aggregate_GROUP_TYPE_GROUPBY,
		GroupingExpressions:  []*pb.Expression{column("key")},
		AggregateExpressions: []*pb.Expression{count},
	}}}
}
