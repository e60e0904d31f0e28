package session

import (
	"context"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

func mergeSchema(*plan.Merge) plan.Type {
	return plan.Struct(plan.Col("num_affected_rows", plan.Long), plan.Col("num_updated_rows", plan.Long),
		plan.Col("num_deleted_rows", plan.Long), plan.Col("num_inserted_rows", plan.Long))
}

// mergeRows is MERGE INTO.
func mergeRows(ctx context.Context, s *Session, c *plan.Merge) (*Result, error) {
	return changed(s, mergeSchema(c), func(st *dml.Statement) ([]plan.Value, error) {
		return dml.Merge(ctx, st,
			c)
	})
}

// affectedSchema is the answer of DELETE and UPDATE.
func affectedSchema[C plan.Command](C) plan.Type {
	return plan.Struct(plan.Col("num_affected_rows", plan.Long))
}

// deleteRows is DELETE FROM.
func deleteRows(ctx context.Context, s *Session, c *plan.Delete) (*Result, error) {
	return changed(s, affectedSchema(c), func(st *dml.Statement) ([]plan.Value, error) {
		return dml.Delete(ctx,
			st, c)
	})
}

// updateRows is UPDATE.
func updateRows(ctx context.Context, s *Session, c *plan.Update) (*Result, error) {
	return changed(s, affectedSchema(c), func(st *dml.Statement) ([]plan.Value, error) {
		return dml.Update(ctx,
			st, c)
	})
}

// changed runs a statement that changes a table and answers with one row, or with none
// where the table had the statement already.
func changed(s *Session, schema plan.Type, run func(*dml.Statement) ([]plan.Value, error)) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	row, err := run(sc.statement())
	if err != nil {
		return nil, err
	}
	if row == nil {
		return answer(schema), nil
	}
	return answer(schema, row), nil
}

// optimize is OPTIMIZE.
func optimize(ctx context.Context, s *Session, c *plan.Optimize) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	place, _, err := sc.loadDelta(ctx, c.Table, "OPTIMIZE")
	if err != nil {
		return nil, err
	}
	row, err := dml.Optimize(ctx, sc.statement(), place.node(), c)
	if err != nil {
		return nil, err
	}
	return answer(dml.OptimizeSchema(c), row), nil
}

// node is the table as a statement's relation.
func (p *deltaPlace) node() plan.Node {
	if p.entry != nil {
		return &plan.NamedTable{Name: p.entry.ID.Parts()}
	}
	return &plan.Read{Format: deltaFormat, Paths: []string{p.Dir}}
}
