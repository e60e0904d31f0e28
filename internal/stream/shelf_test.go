package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/shelf"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// The rate source into the memory sink: seconds are whole, values have no gaps,
// and a restart goes on with them.
func TestRateIntoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(vfs.NewMemory())
		rate := scanOf("rate")
		rate.Relation.Options = plan.Options{"rowsPerSecond": "3", "numPartitions": "1"}
		rate.Attrs = []*plan.Attribute{
			{Name: "timestamp", Of: plan.Timestamp, Null: true, ID: ids.Next()},
			{Name: "value", Of: plan.Long, Null: true, ID: ids.Next()},
		}
		rate.Relation.Schema = plan.SchemaOf(rate.Attrs)
		r.plan, r.trigger.Every = rate, time.Second
		r.tune = func(c *Config) {
			c.Format = shelf.Lookup
			c.Env.Now = time.Now
			c.Env.Parallelism = 1
			c.OpenSink = func(ctx context.Context, id string) (connector.Sink, error) {
				memory, _ := shelf.Lookup("memory")
				return memory.Sink(ctx, c.Env, connector.SinkSpec{
					Format: "memory", Schema: plan.SchemaOf(rate.Attrs), QueryName: "q", QueryID: id,
				})
			}
		}
		q := r.mustStart(t)
		time.Sleep(3*time.Second + time.Millisecond)
		stop(t, q)
		if diff := cmp.Diff(held(t, q), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8}); diff != "" {
			t.Error(diff)
		}
		q = r.mustStart(t)
		time.Sleep(time.Second)
		stop(t, q)
		if diff := cmp.Diff(held(t, q), []int64{9, 10, 11}); diff != "" {
			t.Error(diff)
		}
		if got, want := q.Record().Last().Sources[0].EndOffset, "4"; got != want {
			t.Errorf("ends at %s, want %s", got, want)
		}
		r.bus.Close()
	})
}

// held is the values of a memory sink.
func held(t *testing.T, q *Query) []int64 {
	t.Helper()
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	chunks, ok := q.Contents()
	if !ok {
		t.Fatal("the sink has no contents")
	}
	var out []int64
	for _, c := range chunks {
		out = append(out, chunk.Values[int64](c.Cols[1])...)
	}
	return out
}
