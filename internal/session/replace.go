package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// replaceOption says which rows of a Delta table an overwrite replaces.
const replaceOption = "replaceWhere"

// replacing is the condition of the option replaceWhere, nil without it.
func replacing(o plan.Options) (plan.Expr, error) {
	text, ok := o.Get(replaceOption)
	if !ok {
		return nil, nil
	}
	cond, err := sql.ParseExpr(text)
	if err != nil {
		e := deltaMistake("DELTA_FAILED_RECOGNIZE_PREDICATE", "42601",
			fmt.Sprintf("The option %s is no condition: %q.", replaceOption, text), "predicate", text)
		e.Cause = err
		return nil, e
	}
	return cond, nil
}

// replacement finds the rows of a table for which a condition is true, and writes the
// others of their files anew. text is the condition as the history shows it; without
// one it is written as SQL writes it.
func (sc *scope) replacement(ctx context.Context, table plan.Node, cond plan.Expr, text string,
) (*connector.DeltaReplacement, error) {
	t, err := sc.target(ctx, "WRITE", table)
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
		text = plan.SQLTextIn(cond, sc.eval.Zone)
	}
	if cond, err = t.prune(cond); err != nil {
		return nil, err
	}
	d := &deletion{target: t}
	t.operation = "DELETE" // the rows that stay are the table's
	if err := d.collect(ctx, cond); err != nil {
		return nil, err
	}
	holds, err := sc.files.Condition(cond, t.columns)
	return &connector.DeltaReplacement{
		Text: text, Snapshot: t.snapshot, Reads: t.reads, Removes: d.removed, Kept: d.made,
		Copied: d.copied, Deleted: d.deleted, Holds: holds,
	}, err
}

// replaced is the replacement of a write into a path, nil when it replaces all.
func (w *writer) replaced(ctx context.Context, format, path string) (*connector.DeltaReplacement, error) {
	cond, err := replacing(w.command.Options)
	if err != nil || cond == nil || format != deltaFormat || w.command.Mode != plan.SaveOverwrite {
		return nil, err
	}
	table, err := deltatable.Table(w.scope.files, path)
	if err != nil {
		return nil, err
	}
	if there, err := table.Exists(); !there {
		return nil, err
	}
	text, _ := w.command.Options.Get(replaceOption)
	return w.scope.replacement(ctx, &plan.Read{Format: deltaFormat, Paths: []string{path}}, cond, text)
}

// replaced is the replacement of rows that go into a table, nil when they replace all
// or nothing.
func (in *insertion) replaced(ctx context.Context) (*connector.DeltaReplacement, error) {
	cond, text := in.condition, ""
	if cond == nil {
		var err error
		if cond, err = replacing(in.options); err != nil || cond == nil || !in.overwrite {
			return nil, err
		}
		text, _ = in.options.Get(replaceOption)
	}
	if !selfDescribing(in.format.Name) {
		return nil, tableOperation(in.table.ID, "OVERWRITE BY FILTER")
	}
	var table plan.Node = &plan.NamedTable{Name: in.table.ID.Parts()}
	if strings.Contains(in.table.ID.Name, "/") {
		table = &plan.Read{Format: deltaFormat, Paths: []string{in.table.Location}}
	}
	return in.scope.replacement(ctx, table, cond, text)
}
