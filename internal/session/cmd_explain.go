package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/plan"
)

func explainSchema(*plan.Explain) plan.Type { return plan.Struct(text("plan")) }

// explain is EXPLAIN. As in Spark, a query that does not resolve or cannot run as a
// batch is shown with its error, a row for each line, and is none.
func explain(ctx context.Context, s *Session, c *plan.Explain) (*Result, error) {
	shown, err := s.explainBatch(ctx, c)
	if err == nil {
		return answer(explainSchema(c), []plan.Value{shown}), nil
	}
	var rows [][]plan.Value
	for line := range strings.Lines("Error occurred during query planning: \n" + err.Error()) {
		rows = append(rows, []plan.Value{strings.TrimSuffix(line, "\n")})
	}
	return answer(explainSchema(c), rows...), nil
}

func (s *Session) explainBatch(ctx context.Context, c *plan.Explain) (string, error) {
	resolved, err := s.Analyze(ctx, c.Query)
	if err != nil {
		return "", err
	}
	if c.Mode != plan.ExplainExtended && c.Mode != plan.ExplainCost {
		if err := analyze.CheckBatch(resolved); err != nil {
			return "", fmt.Errorf("%w\n%s", err, scansText(resolved))
		}
	}
	return plan.ExplainText(c.Query, resolved, c.Mode, plan.NodeText(resolved)), nil
}

// scansText are the streams that a plan reads, a line each.
func scansText(n plan.Node) string {
	var lines []string
	plan.WalkNodes(n, func(m plan.Node) bool {
		if s, ok := m.(*plan.Scan); ok && s.Streaming {
			lines = append(lines, plan.ScanLine(s))
		}
		return true
	})
	return strings.Join(lines, "\n")
}

// Explain prints a plan under the headings of Spark's modes.
func (s *Session) Explain(ctx context.Context, n plan.Node, mode plan.ExplainMode) (string, error) {
	resolved, err := s.Analyze(ctx, n)
	if err != nil {
		return "", err
	}
	return plan.ExplainText(n, resolved, mode, plan.NodeText(resolved)), nil
}
