package dml

import (
	"context"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// Replacement finds the rows of a table for which a condition is true, and writes the
// others of their files anew. text is the condition as the history shows it; without
// one it is written as SQL writes it.
func Replacement(
	ctx context.Context, st *Statement, table plan.Node, cond plan.Expr, text string,
) (*connector.DeltaReplacement, error) {
	t, err := st.target(ctx, "WRITE", table)
	if err != nil {
		return nil, err
	}
	cond, err = t.condition(cond)
	if err == nil {
		err = t.steady(cond)
	}
	if err == nil {
		err = t.snapshot.CheckRemovable()
	}
	if err != nil {
		return nil, err
	}
	if text == "" {
		text = plan.SQLTextIn(cond, st.Eval.Zone)
	}
	if cond, err = t.prune(cond); err != nil {
		return nil, err
	}
	d := &deletion{target: t}
	t.operation = "DELETE" // the rows that stay are the table's
	if err := d.collect(ctx, cond); err != nil {
		return nil, err
	}
	holds, err := st.Files.Condition(cond, t.columns)
	return &connector.DeltaReplacement{
		Text: text, Snapshot: t.snapshot, Reads: t.reads, Removes: d.removed, Kept: d.made,
		Copied: d.copied, Deleted: d.deleted, Holds: holds,
	}, err
}
