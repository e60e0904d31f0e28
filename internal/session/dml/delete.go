package dml

import (
	"context"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// Delete is DELETE FROM. It gives how many rows went; nil when the table has the
// statement's transaction already.
func Delete(ctx context.Context, st *Statement, c *plan.Delete) ([]plan.Value, error) {
	t, err := st.target(ctx, "DELETE", c.Table)
	if err != nil {
		return nil, err
	}
	cond, err := t.condition(c.Cond)
	if err == nil {
		err = t.steady(cond)
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
	n, err := t.delete(ctx, cond)
	if err != nil {
		return nil, err
	}
	return []plan.Value{n}, nil
}

func (t *target) delete(ctx context.Context, cond plan.Expr) (int64, error) {
	cond, err := t.prune(cond)
	if err != nil {
		return 0, err
	}
	d := &deletion{target: t}
	if err := d.collect(ctx, cond); err != nil {
		return 0, err
	}
	return d.deleted, d.commit(ctx, cond)
}

// deletion is a DELETE and what it counts.
type deletion struct {
	*target
	removed []*delta.Add
	deleted int64
	copied  int64
	counted bool // whole files go, whose rows the log counts
	scanned time.Duration
	made    delta.Rewritten
}

// collect finds what goes, and writes what stays of it.
func (d *deletion) collect(ctx context.Context, cond plan.Expr) error {
	if d.counted = d.partitioned(cond); d.counted {
		d.feed = false
		return d.files(ctx)
	}
	return d.rows(ctx, cond)
}

// files removes whole files, of which none is read when the log tells how many
// rows they have.
func (d *deletion) files(ctx context.Context) error {
	d.removed = d.target.files
	var unknown []*delta.Add
	for _, f := range d.removed {
		n, ok := f.NumRecords()
		if d.deleted += n; !ok {
			unknown = append(unknown, f)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	d.target.files = unknown
	found, err := d.find(ctx, whole())
	for _, n := range found {
		d.deleted += n
	}
	return err
}

// rows writes the files anew that hold some rows to delete and some others.
func (d *deletion) rows(ctx context.Context, cond plan.Expr) error {
	found, err := d.find(ctx, cond)
	if err != nil {
		return err
	}
	d.scanned = time.Since(d.began)
	var some []*delta.Add
	for i, n := range found {
		if n == 0 {
			continue
		}
		f := d.target.files[i]
		d.removed = append(d.removed, f)
		if all, ok := f.NumRecords(); ok && n == all && !d.feed {
			d.deleted += n
			continue
		}
		some = append(some, f)
	}
	d.target.files = some
	if len(some) == 0 {
		return nil
	}
	fate, err := d.choice(deleted, cond)
	if err != nil {
		return err
	}
	w, err := d.writeAnew(ctx, fate, d.columnExprs())
	if err != nil {
		return err
	}
	d.made, d.copied = w.made, w.count[stays]
	d.deleted += w.count[deleted]
	return nil
}

func (d *deletion) commit(ctx context.Context, cond plan.Expr) error {
	total := time.Since(d.began)
	c := d.change([]delta.Param{predicate(cond)})
	c.Removes, c.Adds, c.ChangeData = d.removed, d.made.Adds, d.made.ChangeData
	c.Layout = delta.Layout{RemovesFirst: true, RemovedRows: d.counted}
	c.Metrics = []delta.Param{
		delta.Number("numRemovedFiles", int64(len(d.removed))), delta.Number("numRemovedBytes", bytesOf(d.removed)),
		delta.Number("numCopiedRows", d.copied), delta.Number("numDeletionVectorsAdded", 0),
		delta.Number("executionTimeMs", ms(total)), delta.Number("numDeletionVectorsUpdated", 0),
		delta.Number("numAddedFiles", int64(len(c.Adds))), delta.Number("numDeletionVectorsRemoved", 0),
		delta.Number("numAddedChangeFiles", int64(len(c.ChangeData))), delta.Number("numDeletedRows", d.deleted),
		delta.Number("scanTimeMs", ms(d.scanned)), delta.Number("numAddedBytes", d.made.Bytes),
		delta.Number("rewriteTimeMs", ms(total-d.scanned)),
	}
	return d.finish(ctx, c, d.made)
}

// find counts the rows of each file for which a condition is true.
func (t *target) find(ctx context.Context, cond plan.Expr) ([]int64, error) {
	found := make([]int64, len(t.files))
	if len(found) == 0 {
		return found, nil
	}
	rows, err := t.Query(ctx, plan.NewProject(plan.NewFilter(t.scan, cond), t.file))
	if err != nil {
		return nil, err
	}
	for c, err := range rows {
		if err != nil {
			return nil, err
		}
		if c.Rows == 0 {
			continue
		}
		for _, file := range chunk.Values[int32](c.Cols[0]) {
			found[file]++
		}
	}
	return found, nil
}

// choice is a fate for the rows for which a condition is true; the others stay.
func (t *target) choice(f fate, cond plan.Expr) (plan.Expr, error) {
	return t.analyzer.Call("if", cond, f.literal(), stays.literal())
}

// columnExprs are the table's columns as they are.
func (t *target) columnExprs() []plan.Expr {
	out := make([]plan.Expr, len(t.after))
	for i, c := range t.after {
		out[i] = c.old
	}
	return out
}

// writeAnew writes the rows of the statement's files with their columns as they
// shall be.
func (t *target) writeAnew(ctx context.Context, fate plan.Expr, after []plan.Expr) (*rewriting, error) {
	rows, err := t.Query(ctx, plan.NewProject(t.scan, t.rewritten(fate, after, t.columnExprs())...))
	if err != nil {
		return nil, err
	}
	w, err := t.rewriting()
	if err != nil {
		return nil, err
	}
	return w, w.finish(w.addAll(ctx, rows))
}

// rewritten are the columns that a rewriting takes: the fate of the row, its values
// and, for the change feed, what it was before.
func (t *target) rewritten(fate plan.Expr, after, before []plan.Expr) []plan.Expr {
	list := []plan.Expr{t.named(fate, "fate")}
	for i, e := range after {
		list = append(list, t.named(e, t.after[i].field.Name))
	}
	if t.feed {
		for i, e := range before {
			list = append(list, t.named(e, t.after[i].field.Name))
		}
	}
	return list
}
