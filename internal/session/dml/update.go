package dml

import (
	"context"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// Update is UPDATE. It gives how many rows changed; nil when the table has the statement's
// transaction already.
func Update(ctx context.Context, st *Statement, c *plan.Update) ([]plan.Value, error) {
	t, err := st.target(ctx, "UPDATE", c.Table)
	if err != nil {
		return nil, err
	}
	set, err := t.withDefaults(c.Set)
	if err != nil {
		return nil, err
	}
	values, err := t.assigned(set, 0)
	if err != nil {
		return nil, err
	}
	cond, err := t.condition(c.Cond)
	if err == nil {
		err = t.tables.Plain("UPDATE", values...)
	}
	if err == nil {
		err = t.steady(append(values[:len(values):len(values)], cond)...)
	}
	if err == nil {
		err = t.snapshot.CheckRemovable()
	}
	if err != nil {
		return nil, err
	}
	if done, err := t.done(); done || err != nil {
		return nil, err
	}
	n, err := t.update(ctx, c.Cond != nil, cond, values)
	if err != nil {
		return nil, err
	}
	return []plan.Value{n}, nil
}

// IsDefault recognises the word DEFAULT.
func IsDefault(e plan.Expr) bool {
	a, ok := e.(*plan.UnresolvedAttribute)
	return ok && len(a.Parts) == 1 && strings.EqualFold(a.Parts[0], "DEFAULT")
}

// withDefaults puts the default of the column in the place of DEFAULT: NULL, unless
// the column has another one.
func (t *target) withDefaults(set []plan.Assignment) ([]plan.Assignment, error) {
	out := make([]plan.Assignment, len(set))
	for i, a := range set {
		if IsDefault(a.Value) {
			a.Value = plan.Lit(nil, plan.Null)
			if text := t.computed(a.Column.Parts[len(a.Column.Parts)-1]).Default; text != "" {
				var err error
				if a.Value, err = sql.ParseExpr(text); err != nil {
					return nil, err
				}
			}
		}
		out[i] = a
	}
	return out, nil
}

// computed is how a column of the table gets values by itself.
func (t *target) computed(name string) delta.Computed {
	for _, c := range t.after {
		if strings.EqualFold(c.field.Name, name) {
			return delta.ComputedOf(c.field)
		}
	}
	return delta.Computed{}
}

// update gives the rows for which a condition is true the values, one for each
// column.
func (t *target) update(ctx context.Context, given bool, cond plan.Expr, values []plan.Expr) (int64, error) {
	cond, err := t.prune(cond)
	if err != nil {
		return 0, err
	}
	if !t.partitioned(cond) {
		found, err := t.find(ctx, cond)
		if err != nil {
			return 0, err
		}
		var touched []*delta.Add
		for i, n := range found {
			if n > 0 {
				touched = append(touched, t.files[i])
			}
		}
		t.files = touched
	}
	if len(t.files) == 0 {
		return 0, nil
	}
	scanned := time.Since(t.began)
	fate, err := t.choice(updated, cond)
	if err != nil {
		return 0, err
	}
	after := make([]plan.Expr, len(values))
	for i, v := range values {
		if after[i], err = t.analyzer.Call("if", cond, v, t.after[i].old); err != nil {
			return 0, err
		}
	}
	w, err := t.writeAnew(ctx, fate, after)
	if err != nil {
		return 0, err
	}
	var shown []plan.Expr
	if given {
		shown = append(shown, cond)
	}
	return w.count[updated], t.commitUpdate(ctx, w, predicate(shown...), scanned)
}

func (t *target) commitUpdate(ctx context.Context, w *rewriting, where delta.Param, scanned time.Duration,
) error {
	total := time.Since(t.began)
	c := t.change([]delta.Param{where})
	c.Removes, c.Adds, c.ChangeData = t.files, w.made.Adds, w.made.ChangeData
	c.Metrics = []delta.Param{
		delta.Number("numRemovedFiles", int64(len(c.Removes))), delta.Number("numRemovedBytes", bytesOf(c.Removes)),
		delta.Number("numCopiedRows", w.count[stays]), delta.Number("numDeletionVectorsAdded", 0),
		delta.Number("executionTimeMs", ms(total)), delta.Number("numDeletionVectorsUpdated", 0),
		delta.Number("scanTimeMs", ms(scanned)), delta.Number("numAddedFiles", int64(len(c.Adds))),
		delta.Number("numUpdatedRows", w.count[updated]), delta.Number("numDeletionVectorsRemoved", 0),
		delta.Number("numAddedChangeFiles", int64(len(c.ChangeData))), delta.Number("numAddedBytes", w.made.Bytes),
		delta.Number("rewriteTimeMs", ms(total-scanned)),
	}
	return t.finish(ctx, c, w.made)
}
