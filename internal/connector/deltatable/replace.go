package deltatable

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// replace is an overwrite of the rows for which a condition is true.
func replace(
	ctx context.Context, w *tableWrite, spec connector.WriteSpec, txn *delta.Txn, rows chunk.Rows,
) error {
	r := spec.Replaces
	s := r.Snapshot
	fit, err := w.fit(s)
	if err != nil {
		return errors.Join(err, s.DiscardRewritten(r.Kept))
	}
	made, err := w.storeReplaced(ctx, r, fit, rows)
	if err != nil {
		return errors.Join(err, s.DiscardRewritten(r.Kept))
	}
	change := delta.BatchWrite(modes[spec.Mode], nil, made.Written, w.env.Now())
	describe(&change, fit)
	change.Txn, change.Reads, change.Removes = txn, r.Reads, r.Removes
	change.Params = append(change.Params, delta.Text("predicate", r.Text))
	change.Params = append(change.Params, replacedParams(w)...)
	change.Metrics = replacedMetrics(r, made)
	change.Adds = append(change.Adds, r.Kept.Adds...)
	change.ChangeData = append(made.ChangeData, r.Kept.ChangeData...)
	made.Adds, made.ChangeData = change.Adds, change.ChangeData
	change.Layout.RemovesAt = len(made.Adds) - len(r.Kept.Adds)
	_, err = Commit(ctx, w.env, s, change, made)
	return err
}

// discardReplaced removes the files of a replacement that is not made.
func discardReplaced(r *connector.DeltaReplacement) error {
	if r == nil {
		return nil
	}
	return r.Snapshot.DiscardRewritten(r.Kept)
}

// replacedParams are the options of the write that the history shows.
func replacedParams(w *tableWrite) []delta.Param {
	var out []delta.Param
	if mode, _ := w.options.Get("partitionOverwriteMode"); mode == "dynamic" {
		out = append(out, delta.Flag("isDynamicPartitionOverwrite", true))
	}
	if yes, err := connector.BoolOption(w.options, "overwriteSchema", false); err == nil && yes {
		out = append(out, delta.Flag("canOverwriteSchema", true))
	}
	return out
}

// replacedMetrics are the numbers of a replacement.
func replacedMetrics(r *connector.DeltaReplacement, made delta.Rewritten) []delta.Param {
	out := []delta.Param{
		delta.Number("numFiles", int64(len(made.Adds)+len(r.Kept.Adds))),
		delta.Number("numAddedChangeFiles", int64(len(made.ChangeData)+len(r.Kept.ChangeData))),
		delta.Number("numRemovedFiles", int64(len(r.Removes))),
	}
	if len(made.Adds) == 0 {
		return out
	}
	return append(out, delta.Number("numDeletedRows", r.Deleted), delta.Number("numCopiedRows", r.Copied),
		delta.Number("numOutputRows", made.Rows+r.Copied), delta.Number("numOutputBytes", made.Bytes+r.Kept.Bytes),
		delta.Number("numRemovedBytes", removedBytes(r.Removes)))
}

func removedBytes(files []*delta.Add) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}

// storeReplaced writes the new rows, and tells the change feed of them when it hears
// of the old ones.
func (w *tableWrite) storeReplaced(
	ctx context.Context, r *connector.DeltaReplacement, fit *delta.Fit, rows chunk.Rows,
) (delta.Rewritten, error) {
	m := &r.Snapshot.Metadata
	if fit.Metadata != nil {
		m = fit.Metadata
	}
	shape, err := newTableRows(w.env, w.schema, fit, m)
	if err != nil {
		return delta.Rewritten{}, err
	}
	out := r.Snapshot.NewRewriter(fit.Schema, w.env.Eval.Zone, len(r.Kept.ChangeData) > 0)
	for c, err := range shape.rows(rows) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = checkReplaced(r, c, fit.Schema)
		}
		if err == nil {
			err = errors.Join(out.Keep(c), out.Changed(delta.Inserted, c))
		}
		if err != nil {
			return delta.Rewritten{}, errors.Join(err, out.Abandon())
		}
	}
	made, err := out.Finish()
	if err == nil {
		r.Snapshot.Number(fit, shape.last)
	}
	return made, err
}

// checkReplaced refuses new rows that the condition does not hold for.
func checkReplaced(r *connector.DeltaReplacement, c *chunk.Chunk, schema plan.Type) error {
	if c.Rows == 0 {
		return nil
	}
	sel, err := r.Holds(c)
	if err != nil || sel == nil {
		return err
	}
	row := 0
	for row < len(sel) && int(sel[row]) == row {
		row++
	}
	if row == c.Rows {
		return nil
	}
	values := ""
	for i, f := range schema.Fields {
		values += fmt.Sprintf("\n - %s : %v", f.Name, c.Cols[i].Value(row))
	}
	return analysisError("DELTA_REPLACE_WHERE_MISMATCH", "44000",
		fmt.Sprintf("A new row does not fulfil %s, the condition of what it replaces; its values are:%s",
			r.Text, values),
		"replaceWhere", r.Text, "message",
		"[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] The condition does not hold for a row with the values:"+values)
}
