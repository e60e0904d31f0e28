package dml

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
)

// fate is what a statement does to a row.
type fate int32

const (
	stays fate = iota
	updated
	deleted
	inserted
	updatedAlone // NOT MATCHED BY SOURCE
	deletedAlone
	ignored // a row of the source that is not inserted
	fates
)

// fateOf is the fate as a constant of a plan.
func (f fate) literal() plan.Expr { return plan.Lit(int64(f), plan.Int) }

// rewriting writes the files of a statement anew. Its rows are the fate, the
// columns of the table as they shall be and, for the change feed, as they were.
type rewriting struct {
	target *target
	out    *delta.Rewriter
	rules  *deltatable.Rules // nil when the rows are those of the table
	width  int               // columns of the table
	count  [fates]int64
	made   delta.Rewritten
	// packs puts all rows into few files, as Spark does behind a join; they keep the
	// partitions they were read in else.
	packs bool
	bytes int64
}

// packedBytes is how much of the rows in memory makes a file, when they are
// packed: spark.sql.adaptive.advisoryPartitionSizeInBytes.
const packedBytes = 64 << 20

func (t *target) rewriting() (*rewriting, error) {
	var err error
	if t.fit, err = t.snapshot.Widened(t.added); err != nil {
		return nil, err
	}
	w := &rewriting{target: t, width: len(t.after)}
	if t.operation != "DELETE" {
		m := &t.snapshot.Metadata
		if t.fit.Metadata != nil {
			m = t.fit.Metadata
		}
		if w.rules, err = deltatable.NewRules(t.Files, t.fit.Schema, m); err != nil {
			return nil, err
		}
	}
	w.out = t.snapshot.NewRewriter(t.fit.Schema, t.Eval.Zone, t.feed)
	return w, nil
}

// addAll writes rows into files that a commit may name.
func (w *rewriting) addAll(ctx context.Context, rows chunk.Rows) error {
	for c, err := range rows {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = w.add(c)
		}
		if err != nil {
			return w.target.overflow(err)
		}
	}
	return nil
}

// finish ends the writing; after an error nothing of it stays.
func (w *rewriting) finish(err error) error {
	if err != nil {
		return errors.Join(err, w.out.Abandon())
	}
	w.made, err = w.out.Finish()
	return err
}

// picks are the rows of a chunk by their fate.
func (w *rewriting) picks(v *chunk.Vector) (picks [fates]chunk.Sel, kept chunk.Sel) {
	kept = make(chunk.Sel, 0, v.Len)
	for i, f := range chunk.Values[int32](v) {
		picks[f] = append(picks[f], uint16(i))
		switch fate(f) {
		case stays, updated, inserted, updatedAlone:
			kept = append(kept, uint16(i))
		}
	}
	for f, p := range picks {
		w.count[f] += int64(len(p))
	}
	return picks, kept
}

func (w *rewriting) add(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	if w.packs {
		c = w.packed(c)
	}
	picks, kept := w.picks(c.Cols[0])
	after := w.columns(c, 1)
	if len(kept) > 0 {
		rows, err := w.ruled(taken(after, kept))
		if err == nil {
			err = w.out.Keep(rows)
		}
		if err != nil {
			return err
		}
	}
	if !w.out.HasFeed() {
		return nil
	}
	before := w.columns(c, 1+w.width)
	for _, change := range []struct {
		kind delta.ChangeKind
		of   *chunk.Chunk
		rows chunk.Sel
	}{
		{delta.Before, before, merged(picks[updated], picks[updatedAlone])},
		{delta.After, after, merged(picks[updated], picks[updatedAlone])},
		{delta.Deleted, before, merged(picks[deleted], picks[deletedAlone])},
		{delta.Inserted, after, picks[inserted]},
	} {
		if len(change.rows) == 0 {
			continue
		}
		rows, err := taken(change.of, change.rows), error(nil)
		if change.of == after {
			rows, err = w.ruled(rows)
		}
		if err == nil {
			err = w.out.Changed(change.kind, rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ruled is rows as the table takes them.
func (w *rewriting) ruled(c *chunk.Chunk) (*chunk.Chunk, error) {
	if w.rules == nil {
		return c, nil
	}
	return w.rules.Apply(c)
}

// packed is rows in the partition that is being filled.
func (w *rewriting) packed(c *chunk.Chunk) *chunk.Chunk {
	out := *c
	out.Part = int(w.bytes / packedBytes)
	for _, v := range c.Cols {
		w.bytes += chunk.SizeOf(v)
	}
	return &out
}

// columns are the table's columns of rows, from a place on.
func (w *rewriting) columns(c *chunk.Chunk, from int) *chunk.Chunk {
	return &chunk.Chunk{Cols: c.Cols[from : from+w.width], Rows: c.Rows, Part: c.Part}
}

// taken is picked rows; none of them is no chunk of all.
func taken(c *chunk.Chunk, rows chunk.Sel) *chunk.Chunk {
	if len(rows) == 0 {
		return c.Slice(0, 0)
	}
	return c.Take(rows)
}

// merged is two selections as one.
func merged(a, b chunk.Sel) chunk.Sel {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	return slices.Sorted(slices.Values(slices.Concat(a, b)))
}

// narrowing is the cast of a value that is assigned to a column.
type narrowing struct {
	column   string
	from, to plan.Type
}

// overflow tells which column a value was too big for; the cast itself does not
// know.
func (t *target) overflow(err error) error {
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "CAST_OVERFLOW" && !strings.HasPrefix(e.Condition, "NUMERIC_VALUE_OUT_OF_RANGE") {
		return err
	}
	for _, n := range t.narrowed {
		from, to := strconv.Quote(n.from.SQL()), strconv.Quote(n.to.SQL())
		exact := e.Args["sourceType"] == from && e.Args["targetType"] == to
		if !exact && (e.Condition == "CAST_OVERFLOW" || n.to.Kind != plan.KindDecimal) {
			continue
		}
		out := plan.NewError("org.apache.spark.sql.delta.DeltaArithmeticException",
			"DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
			fmt.Sprintf("A value of the type %s is too big for the column %s.", n.from.SQL(), n.column),
			"sourceType", from, "targetType", to, "columnName", plan.Quote(n.column),
			"storeAssignmentPolicyFlag", settings.AssignmentKey, "updateAndMergeCastingFollowsAnsiEnabledFlag",
			"spark.databricks.delta.updateAndMergeCastingFollowsAnsiEnabledFlag", "ansiEnabledFlag", settings.AnsiKey)
		out.State = "22003"
		return out
	}
	return err
}

// change is the commit of a statement, and its numbers.
func (t *target) change(params []delta.Param) delta.Change {
	return delta.Change{Operation: t.operation, Params: params, Reads: t.reads, Txn: t.txn,
		Now: t.Files.Now(), Ruled: true}
}

// finish commits a change; without files that come or go there is nothing to do.
func (t *target) finish(ctx context.Context, c delta.Change, made delta.Rewritten) error {
	if len(c.Removes) == 0 && len(c.Adds) == 0 && c.Metadata == nil {
		return nil
	}
	_, err := deltatable.Commit(ctx, t.Files, t.snapshot, c, made)
	return err
}

// predicate is a list of conditions as a parameter of a commit.
func predicate(conditions ...plan.Expr) delta.Param {
	texts := []string{}
	for _, c := range conditions {
		texts = append(texts, plan.JSONText(plan.TreeText(c)))
	}
	return delta.Text("predicate", "["+strings.Join(texts, ",")+"]")
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// bytesOf is the size of files.
func bytesOf(files []*delta.Add) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
