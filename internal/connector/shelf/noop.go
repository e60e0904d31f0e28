package shelf

import (
	"context"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
)

func noopFormat() *connector.Format {
	return &connector.Format{
		Name: "noop",
		Aliases: []string{
			"org.apache.spark.sql.execution.datasources.noop.NoopDataSource",
		},
		Doc: "computes every row and drops it",
		Sink: func(context.Context, *connector.Env, connector.SinkSpec) (connector.Sink, error) {
			return noopSink{}, nil
		},
		Write: func(_ context.Context, _ *connector.Env, _ connector.WriteSpec, rows chunk.Rows) error {
			_, err := connector.Drain(rows)
			return err
		},
	}
}

type noopSink struct{}

func (noopSink) Describe() string { return "NoopTable" }

// Placement does not matter.
func (noopSink) Placement() chunk.Placement { return chunk.PartsUnseen }

func (noopSink) Write(_ context.Context, batch connector.Batch) (int64, error) {
	return connector.Drain(batch.Rows)
}

func (noopSink) Close() error { return nil }
