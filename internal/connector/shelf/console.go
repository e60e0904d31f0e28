package shelf

import (
	"context"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
)

func consoleFormat() *connector.Format {
	return &connector.Format{
		Name:    "console",
		Aliases: []string{"org.apache.spark.sql.execution.streaming.ConsoleSinkProvider"},
		Doc:     "prints each batch where the server prints",
		Options: connector.Options([][3]string{
			{"numRows", "20", "rows shown of each batch"},
			{"truncate", "true", "whether long values are cut to 20 characters"},
		}),
		Sink: func(_ context.Context, env *connector.Env, spec connector.SinkSpec) (connector.Sink, error) {
			out := env.Console
			if out == nil {
				out = io.Discard
			}
			return &consoleSink{env: env, spec: spec, out: out}, nil
		},
	}
}

type consoleSink struct {
	env  *connector.Env
	spec connector.SinkSpec
	out  io.Writer
}

// Describe is Spark's text: the name of a Java object. What follows the @ is its
// identity there; here it tells queries apart.
func (s *consoleSink) Describe() string {
	return fmt.Sprintf("org.apache.spark.sql.execution.streaming.ConsoleTable$@%08x",
		uint32(xxh3.HashString(s.spec.QueryID)))
}

// Begin reads the options, in the query and before its first batch, as Spark
// does.
func (s *consoleSink) Begin() error {
	_, err := s.table()
	return err
}

// Placement is Spark's, so that the rows are in Spark's order.
func (s *consoleSink) Placement() chunk.Placement { return chunk.PartsGrouped }

// Write prints a batch once all of it is computed.
func (s *consoleSink) Write(_ context.Context, batch connector.Batch) (int64, error) {
	show, err := s.table()
	if err != nil {
		return 0, err
	}
	count := int64(0)
	for c, err := range batch.Rows {
		if err != nil {
			return 0, err
		}
		count += int64(c.Rows)
		show.add(c)
	}
	const line = "-------------------------------------------\n"
	text := fmt.Sprintf("%sBatch: %d\n%s%s\n", line, batch.ID, line, show.String())
	if _, err := io.WriteString(s.out, text); err != nil {
		return 0, fmt.Errorf("print batch %d: %w", batch.ID, err)
	}
	return count, nil
}

func (s *consoleSink) table() (*showTable, error) {
	rows, err := connector.IntOption(s.spec.Options, "numRows", 20)
	if err != nil {
		return nil, err
	}
	cut, err := connector.BoolOption(s.spec.Options, "truncate", true)
	if err != nil {
		return nil, err
	}
	width := 0
	if cut {
		width = 20
	}
	return newShowTable(s.spec.Schema, max(0, rows), width, s.env), nil
}

func (s *consoleSink) Close() error { return nil }
