package stream

import (
	"context"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Program is a compiled plan that runs once a batch.
type Program interface {
	Run(ctx context.Context, r *exec.Run) chunk.Rows
}

// Compile makes the program of a plan.
type Compile func(n plan.Node, env *function.Env) (Program, error)
