package dml

import (
	"context"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/spool"
)

// Statement is what a statement may ask of its session: what it sees, and how it computes.
// It serves one statement.
type Statement struct {
	Analyzer   *analyze.Analyzer
	Eval       *function.Env
	Files      *connector.Env
	Conf       func(key string) string // the session's effective setting
	Delta      *connector.Format       // reads tables
	Partitions int                     // spark.sql.shuffle.partitions, 0 for the default
	// Own makes a format that only this statement knows.
	Own func(f *connector.Format)
	// Query runs a plan over resolved relations and expressions.
	Query func(ctx context.Context, n plan.Node) (chunk.Rows, error)
	// Spool keeps rows until they are removed.
	Spool func(schema plan.Type, rows chunk.Rows) (*spool.Spool, error)
}
