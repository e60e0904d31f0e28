package session

import (
	"context"

	"github.com/weir-dev/weir/internal/plan"
)

func createView(ctx context.Context, s *Session, c *plan.CreateView) (*Result, error) {
	return empty(), s.CreateView(ctx, c)
}
