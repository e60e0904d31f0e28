package session

import (
	"context"
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// SQL parses a statement. Parameters take the place of :name and ?; views are
// relations that the text calls by a name of its own. What comes back is not
// analysed, and may be a command.
func (s *Session) SQL(_ context.Context, text string, named map[string]plan.Expr, positional []plan.Expr,
	views map[string]plan.Node,
) (plan.Node, error) {
	n, err := sql.ParseBound(text, sql.Parameters{Named: named, Positional: positional})
	if err != nil || len(views) == 0 {
		return n, err
	}
	var defs []plan.CTE
	for _, name := range slices.Sorted(maps.Keys(views)) {
		defs = append(defs, plan.CTE{Name: name, Query: views[name]})
	}
	if c, ok := n.(plan.Command); ok {
		return withQuery(c, defs), nil
	}
	return &plan.With{Defs: defs, Input: n}, nil
}

// withQuery gives the query of a command further named relations.
func withQuery(c plan.Command, defs []plan.CTE) plan.Command {
	over := func(n plan.Node) plan.Node {
		if n == nil {
			return nil
		}
		return &plan.With{Defs: defs, Input: n}
	}
	switch c := c.(type) {
	case *plan.CreateTable:
		m := *c
		m.Query = over(c.Query)
		return &m
	case *plan.CreateView:
		m := *c
		m.Query = over(c.Query)
		return &m
	case *plan.Insert:
		m := *c
		m.Query = over(c.Query)
		return &m
	case *plan.Merge:
		m := *c
		m.Source = over(c.Source)
		return &m
	case *plan.Explain:
		m := *c
		m.Query = over(c.Query)
		return &m
	case *plan.Describe:
		m := *c
		m.Query = over(c.Query)
		return &m
	default:
		return c
	}
}
