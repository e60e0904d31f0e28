package dml

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/spool"
)

// A MERGE reads its source once and keeps it. The first join, of the columns that
// conditions need, finds which files change and which rows of the source have a
// match. The second writes those files anew; rows of the source without a match
// follow them.

// sourceTable is the format under which a MERGE reads its source.
const sourceTable = "source of a MERGE"

// mergeSource is the rows of a source, kept for the statement.
type mergeSource struct {
	rows    *spool.Spool
	columns []*plan.Attribute
	number  *plan.Attribute // of a row, from 0
	scan    *plan.Scan
	count   int64
	// without picks the rows without a match; nil yields all.
	without *matches
}

// keep reads the source.
func (m *merge) keep(ctx context.Context) error {
	if m.readsItself() {
		m.pin()
		m.reads.Whole = true
	}
	s := &mergeSource{columns: m.tables.Columns(overSource...),
		number: m.analyzer.NewColumn("number", plan.Long), rows: m.batch}
	if s.rows == nil {
		rows, err := m.Query(ctx, m.tables.Node(1))
		if err != nil {
			return err
		}
		if s.rows, err = m.Spool(plan.SchemaOf(s.columns), rows); err != nil {
			return err
		}
	}
	for c, err := range s.rows.Rows() {
		if err != nil {
			if m.batch == nil {
				err = errors.Join(err, s.rows.Remove())
			}
			return err
		}
		s.count += int64(c.Rows)
	}
	s.scan = &plan.Scan{
		Relation: plan.Relation{Format: sourceTable, Schema: plan.SchemaOf(s.columns)},
		Attrs:    append(s.columns[:len(s.columns):len(s.columns)], s.number),
	}
	m.source = s
	m.Own(&connector.Format{Name: sourceTable, Scan: s.read})
	return nil
}

// read yields the columns that are asked for, found by their identities: names
// may occur twice.
func (s *mergeSource) read(_ context.Context, _ *connector.Env, scan *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		from := int64(0)
		for c, err := range s.rows.Rows() {
			if err != nil {
				yield(nil, err)
				return
			}
			out := s.pick(c, scan.Attrs, from)
			from += int64(c.Rows)
			if s.without != nil {
				out = taken(out, s.without.unmatched(from-int64(c.Rows), c.Rows))
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

func (s *mergeSource) pick(c *chunk.Chunk, attrs []*plan.Attribute, from int64) *chunk.Chunk {
	out := &chunk.Chunk{Rows: c.Rows, Part: c.Part}
	for _, a := range attrs {
		if a.ID == s.number.ID {
			out.Cols = append(out.Cols, counted(from, c.Rows))
			continue
		}
		for i, own := range s.columns {
			if own.ID == a.ID {
				out.Cols = append(out.Cols, c.Cols[i])
			}
		}
	}
	return out
}

// counted is the numbers from one on.
func counted(from int64, n int) *chunk.Vector {
	v := chunk.Make(plan.Long, n)
	for i := range chunk.Values[int64](v) {
		chunk.Values[int64](v)[i] = from + int64(i)
	}
	return v
}

// readsItself reports whether the source reads the table that the statement changes.
func (m *merge) readsItself() bool {
	return !plan.WalkNodes(m.tables.Node(1), func(n plan.Node) bool {
		scan, ok := n.(*plan.Scan)
		return !ok || !m.isTable(scan)
	})
}

// isTable reports whether a scan reads the newest version of the statement's table.
func (m *merge) isTable(scan *plan.Scan) bool {
	if scan.Relation.Format != m.Delta.Name || plan.Travels(scan.Relation.Options) {
		return false
	}
	place, err := deltatable.Table(m.Files, scan.Relation.Paths[0])
	return err == nil && place.Dir == m.snapshot.Dir
}

// pin makes the source read the version of the table that the statement changes.
func (m *merge) pin() {
	f := m.Delta
	pinned := *f
	pinned.Scan = func(ctx context.Context, env *connector.Env, scan *plan.Scan) chunk.Rows {
		if !m.isTable(scan) {
			return f.Scan(ctx, env, scan)
		}
		var names []string
		for _, a := range scan.Attrs {
			names = append(names, a.Name)
		}
		return deltatable.Scan{Snapshot: m.snapshot, Files: m.snapshot.Files(), Columns: names}.Rows(ctx, env)
	}
	m.Own(&pinned)
}

func (m *merge) run(ctx context.Context) error {
	if err := m.pruneTarget(); err != nil {
		return err
	}
	if err := m.keep(ctx); err != nil {
		return err
	}
	err := m.narrow()
	if err == nil {
		m.matches = newMatches(m.Eval.Memory.Part(), len(m.files), m.source.count)
		err = m.write(ctx)
		m.matches.close()
	}
	if m.batch == nil {
		err = errors.Join(err, m.source.rows.Remove())
	}
	if err != nil {
		return err
	}
	return m.commit(ctx)
}

// pruneTarget leaves the files that may hold a match, or all when rows without one
// matter too.
func (m *merge) pruneTarget() error {
	var err error
	if m.on, err = deltatable.WithoutCasts(m.on, m.Eval); err != nil {
		return err
	}
	cond := m.on
	if len(m.bySource) > 0 {
		cond = whole()
	}
	_, err = m.prune(cond)
	return err
}

func (m *merge) write(ctx context.Context) error {
	touched, err := m.search(ctx)
	if err != nil {
		return err
	}
	m.found = time.Since(m.began)
	for i, yes := range touched {
		if yes {
			m.gone = append(m.gone, m.files[i])
		}
	}
	m.files = m.gone
	m.feed = m.feed && len(m.gone) > 0
	w, err := m.rewriting()
	if err != nil {
		return err
	}
	w.packs = true
	if len(m.gone) > 0 {
		err = m.writeMatched(ctx, w)
	}
	if err == nil && len(m.notMatched) > 0 {
		err = m.writeInserts(ctx, w)
	}
	err = w.finish(err)
	m.made, m.count = w.made, w.count
	return err
}

// search finds the files that change and the rows that match.
func (m *merge) search(ctx context.Context) ([]bool, error) {
	touched := make([]bool, len(m.files))
	if len(m.files) == 0 {
		return touched, nil
	}
	kind := plan.InnerJoin
	if len(m.bySource) > 0 {
		kind = plan.LeftJoin
	}
	fate, err := m.fateOfTarget()
	if err != nil {
		return nil, err
	}
	pairs := plan.NewProject(m.join(kind), m.file, m.row, m.source.number, m.named(fate, "fate"))
	rows, err := m.Query(ctx, pairs)
	if err != nil {
		return nil, err
	}
	for c, err := range rows {
		if err == nil && c.Rows > 0 {
			err = m.note(c, touched)
		}
		if err != nil {
			return nil, err
		}
	}
	if m.matches.several && !m.deletesOnly() {
		return nil, severalMatches()
	}
	return touched, nil
}

// join is the target with its matches in the source.
func (m *merge) join(kind plan.JoinType) *plan.Join {
	return &plan.Join{Left: m.scan, Right: m.source.scan, Kind: kind, Cond: m.on}
}

// note takes pairs of the first join down.
func (m *merge) note(c *chunk.Chunk, touched []bool) error {
	file, row := chunk.Values[int32](c.Cols[0]), chunk.Values[int64](c.Cols[1])
	number, fates := chunk.Values[int64](c.Cols[2]), chunk.Values[int32](c.Cols[3])
	for i := range c.Rows {
		touched[file[i]] = touched[file[i]] || fate(fates[i]) != stays
		if c.Cols[2].IsNull(i) {
			continue
		}
		if len(m.notMatched) > 0 {
			m.matches.source.set(number[i])
		}
		if len(m.matched)+len(m.bySource) == 0 {
			continue
		}
		if err := m.matches.meet(file[i], row[i]); err != nil {
			return err
		}
	}
	return nil
}

// deletesOnly says that it does not matter how many rows of the source match.
func (m *merge) deletesOnly() bool {
	return len(m.matched) == 1 && m.matched[0].action == plan.MergeDelete && m.matched[0].cond == nil
}

func severalMatches() error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaUnsupportedOperationException",
		"DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
		"Several rows of the source match one row of the table, and it is not clear which should change it.",
		"usageReference", "https://docs.delta.io/latest/delta-update.html#upsert-into-a-table-using-merge")
	e.State, e.Hint = "21506", "Make the rows of the source unique first, by dropDuplicates for instance."
	return e
}

// fateOfTarget is what becomes of a row of the table, joined with its match.
func (m *merge) fateOfTarget() (plan.Expr, error) {
	alone, err := m.first(m.bySource, stays)
	if err != nil || len(m.matched) == 0 && len(m.bySource) == 0 {
		return alone, err
	}
	met, err := m.first(m.matched, stays)
	if err != nil {
		return nil, err
	}
	return m.whenMet(met, alone)
}

// whenMet chooses between a row with a match and one without.
func (m *merge) whenMet(met, alone plan.Expr) (plan.Expr, error) {
	there, err := m.analyzer.Call("isnotnull", m.nullable(m.source.number))
	if err != nil {
		return nil, err
	}
	return m.analyzer.Call("if", there, met, alone)
}

func (m *merge) nullable(a *plan.Attribute) *plan.Attribute {
	b := *a
	b.Null = true
	return &b
}

// first is the fate of the first clause whose condition holds.
func (m *merge) first(clauses []mergeClause, otherwise fate) (plan.Expr, error) {
	return m.choose(clauses, otherwise.literal(), func(c mergeClause) plan.Expr { return c.fate.literal() })
}

// choose is a value by the first clause whose condition holds.
func (m *merge) choose(clauses []mergeClause, otherwise plan.Expr, of func(mergeClause) plan.Expr,
) (plan.Expr, error) {
	var args []plan.Expr
	for _, c := range clauses {
		if c.cond == nil {
			otherwise = of(c)
			break
		}
		args = append(args, c.cond, of(c))
	}
	if len(args) == 0 {
		return otherwise, nil
	}
	return m.analyzer.Call("when", append(args, otherwise)...)
}

// valuesOf are the columns of a row by the first clause whose condition holds.
func (m *merge) valuesOf(clauses []mergeClause, i int) (plan.Expr, error) {
	return m.choose(clauses, m.after[i].old, func(c mergeClause) plan.Expr {
		if c.values == nil {
			return m.after[i].old
		}
		return c.values[i]
	})
}

// writeMatched writes the files that change.
func (m *merge) writeMatched(ctx context.Context, w *rewriting) error {
	if m.matches.several {
		return m.writeLeft(ctx, w)
	}
	fate, err := m.fateOfTarget()
	if err != nil {
		return err
	}
	after := make([]plan.Expr, len(m.after))
	for i := range m.after {
		met, err := m.valuesOf(m.matched, i)
		if err != nil {
			return err
		}
		alone, err := m.valuesOf(m.bySource, i)
		if err != nil {
			return err
		}
		if after[i], err = m.whenMet(met, alone); err != nil {
			return err
		}
	}
	return m.writeJoined(ctx, w, m.join(plan.LeftJoin), fate, after)
}

// writeLeft is writeMatched for a MERGE that deletes whatever matches, as often as
// it does.
func (m *merge) writeLeft(ctx context.Context, w *rewriting) error {
	alone, err := m.first(m.bySource, stays)
	if err != nil {
		return err
	}
	after := make([]plan.Expr, len(m.after))
	for i := range m.after {
		if after[i], err = m.valuesOf(m.bySource, i); err != nil {
			return err
		}
	}
	if err := m.writeJoined(ctx, w, m.join(plan.AntiJoin), alone, after); err != nil {
		return err
	}
	return m.writeJoined(ctx, w, m.join(plan.SemiJoin), deleted.literal(), m.columnExprs())
}

func (m *merge) writeJoined(
	ctx context.Context, w *rewriting, in plan.Node, fate plan.Expr, after []plan.Expr,
) error {
	rows, err := m.Query(ctx, plan.NewProject(in, m.rewritten(fate, after, m.columnExprs())...))
	if err != nil {
		return err
	}
	return w.addAll(ctx, rows)
}

// writeInserts writes the rows of the source that have no match.
func (m *merge) writeInserts(ctx context.Context, w *rewriting) error {
	fate, err := m.first(m.notMatched, ignored)
	if err != nil {
		return err
	}
	nulls := make([]plan.Expr, len(m.after))
	after := make([]plan.Expr, len(m.after))
	for i, c := range m.after {
		nulls[i] = plan.Lit(nil, c.field.Type.Unbounded())
		after[i], err = m.choose(m.notMatched, nulls[i], func(c mergeClause) plan.Expr { return c.values[i] })
		if err != nil {
			return err
		}
	}
	m.source.without = m.matches
	rows, err := m.Query(ctx, plan.NewProject(m.source.scan, m.rewritten(fate, after, nulls)...))
	if err != nil {
		return err
	}
	if len(m.numbered) == 0 {
		return w.addAll(ctx, rows)
	}
	last := map[int]int64{}
	if err := w.addAll(ctx, m.numbering(rows, last)); err != nil {
		return err
	}
	m.snapshot.Number(m.fit, last)
	return nil
}

func (m *merge) commit(ctx context.Context) error {
	c := m.change([]delta.Param{predicate(m.on), clauseParam("matchedPredicates", m.matched),
		clauseParam("notMatchedPredicates", m.notMatched),
		clauseParam("notMatchedBySourcePredicates", m.bySource)})
	c.Removes, c.Adds, c.ChangeData = m.gone, m.made.Adds, m.made.ChangeData
	c.Layout.RemovedRows = true
	c.Metrics = m.metrics()
	if len(c.Removes)+len(c.Adds) > 0 {
		c.Metadata, c.Protocol = m.fit.Metadata, m.fit.Protocol
	}
	if m.fit.Numbered {
		c.Tags = map[string]string{delta.IdentityTag: "true"}
	}
	return m.finish(ctx, c, m.made)
}

// clauseParam is the clauses of a kind as Delta's history has them.
func clauseParam(name string, clauses []mergeClause) delta.Param {
	texts := make([]string, len(clauses))
	for i, c := range clauses {
		if c.cond != nil {
			texts[i] = `"predicate":` + plan.JSONText(plan.TreeText(c.cond)) + ","
		}
		texts[i] = "{" + texts[i] + `"actionType":` + strconv.Quote(c.action.String()) + "}"
	}
	return delta.Text(name, "["+strings.Join(texts, ",")+"]")
}

func (m *merge) metrics() []delta.Param {
	total := time.Since(m.began)
	n := m.count
	updates, deletes := n[updated]+n[updatedAlone], n[deleted]+n[deletedAlone]
	return []delta.Param{
		delta.Number("numTargetRowsCopied", n[stays]), delta.Number("numTargetRowsDeleted", deletes),
		delta.Number("numTargetBytesRemoved", bytesOf(m.gone)), delta.Number("numTargetDeletionVectorsAdded", 0),
		delta.Number("numTargetRowsMatchedUpdated", n[updated]),
		delta.Number("numTargetRowsMatchedDeleted", n[deleted]), delta.Number("numTargetRowsUpdated", updates),
		delta.Number("numTargetChangeFilesAdded", int64(len(m.made.ChangeData))),
		delta.Number("numTargetRowsNotMatchedBySourceDeleted", n[deletedAlone]),
		delta.Number("rewriteTimeMs", ms(total-m.found)),
		delta.Number("numTargetFilesAdded", int64(len(m.made.Adds))),
		delta.Number("numTargetBytesAdded", m.made.Bytes), delta.Number("executionTimeMs", ms(total)),
		delta.Number("materializeSourceTimeMs", 0), delta.Number("numTargetRowsInserted", n[inserted]),
		delta.Number("numTargetDeletionVectorsUpdated", 0), delta.Number("scanTimeMs", ms(m.found)),
		delta.Number("numOutputRows", n[stays]+updates+n[inserted]),
		delta.Number("numTargetDeletionVectorsRemoved", 0),
		delta.Number("numTargetRowsNotMatchedBySourceUpdated", n[updatedAlone]),
		delta.Number("numSourceRows", m.source.count), delta.Number("numTargetFilesRemoved", int64(len(m.gone))),
	}
}
