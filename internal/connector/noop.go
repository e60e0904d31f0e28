package connector

import (
	"context"

	"github.com/weir-dev/weir/internal/chunk"
)

func noopFormat() *Format {
	return &Format{
		Name: "noop",
		Aliases: []string{
			"org.apache.spark.sql.execution.datasources.noop.NoopDataSource",
		},
		Doc: "computes every row and drops it",
		Sink: func(context.Context, *Env, SinkSpec) (Sink, error) {
			return noopSink{}, nil
		},
		Write: func(_ context.Context, _ *Env, _ WriteSpec, rows chunk.Rows) error {
			_, err := drain(rows)
			return err
		},
	}
}

type noopSink struct{}

func (noopSink) Describe() string { return "NoopTable" }

// Placement does not matter.
func (noopSink) Placement() chunk.Placement { return chunk.PartsUnseen }

func (noopSink) Write(_ context.Context, batch Batch) (int64, error) { return drain(batch.Rows) }

func (noopSink) Close() error { return nil }

// drain computes rows and counts them.
func drain(rows chunk.Rows) (int64, error) {
	count := int64(0)
	for c, err := range rows {
		if err != nil {
			return count, err
		}
		count += int64(c.Rows)
	}
	return count, nil
}
