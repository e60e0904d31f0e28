package shelf

import (
	"context"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

func memoryFormat() *connector.Format {
	return &connector.Format{
		Name:    "memory",
		Aliases: []string{"org.apache.spark.sql.execution.streaming.sources.MemorySink"},
		Doc:     "keeps the result in memory as a temporary view named after the query",
		Sink: func(_ context.Context, _ *connector.Env, spec connector.SinkSpec) (connector.Sink, error) {
			if spec.QueryName == "" {
				return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1194",
					"a memory sink needs queryName: it is the name of its table.")
			}
			return &memorySink{mode: spec.Mode}, nil
		},
	}
}

// memorySink holds the rows of every batch, or those of the last one when the
// mode is complete. Others read it while the query writes.
type memorySink struct {
	mode plan.OutputMode

	mu     sync.Mutex
	last   int64 // the last batch id plus one
	chunks []*chunk.Chunk
}

func (m *memorySink) Describe() string { return "MemorySink" }

// Placement is Spark's, so that the rows are in Spark's order.
func (m *memorySink) Placement() chunk.Placement { return chunk.PartsGrouped }

// Write shows a batch when it is whole. A batch that it holds already is
// computed for its count and not shown again.
func (m *memorySink) Write(_ context.Context, batch connector.Batch) (int64, error) {
	var fresh []*chunk.Chunk
	count := int64(0)
	for c, err := range batch.Rows {
		if err != nil {
			return 0, err
		}
		if c.Rows > 0 {
			fresh = append(fresh, c)
			count += int64(c.Rows)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if batch.ID < m.last {
		return count, nil
	}
	m.last = batch.ID + 1
	if m.mode == plan.CompleteMode {
		m.chunks = nil
	}
	m.chunks = append(m.chunks, fresh...)
	return count, nil
}

// Contents is the table as of now; the chunks must not be changed.
func (m *memorySink) Contents() []*chunk.Chunk {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.chunks[:len(m.chunks):len(m.chunks)]
}

func (m *memorySink) Close() error { return nil }
