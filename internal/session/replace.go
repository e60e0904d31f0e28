package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
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
		e := dml.Mistake("DELTA_FAILED_RECOGNIZE_PREDICATE", "42601",
			fmt.Sprintf("The option %s is no condition: %q.", replaceOption, text), "predicate", text)
		e.Cause = err
		return nil, e
	}
	return cond, nil
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
	return dml.Replacement(ctx, w.scope.statement(), &plan.Read{Format: deltaFormat, Paths: []string{path}},
		cond, text)
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
		return nil, plan.TableOperation(in.table.ID, "OVERWRITE BY FILTER")
	}
	var table plan.Node = &plan.NamedTable{Name: in.table.ID.Parts()}
	if strings.Contains(in.table.ID.Name, "/") {
		table = &plan.Read{Format: deltaFormat, Paths: []string{in.table.Location}}
	}
	return dml.Replacement(ctx, in.scope.statement(), table, cond, text)
}
