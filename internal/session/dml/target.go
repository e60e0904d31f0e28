package dml

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// targetTable is the format under which a statement reads the table it changes:
// some files of one version, with two more columns that say where a row stands.
const targetTable = "table of a statement"

// target is a Delta table that a statement changes, at the version it was read.
type target struct {
	*Statement
	analyzer  *analyze.Analyzer
	tables    *analyze.Tables
	operation string    // DELETE, UPDATE, MERGE
	began     time.Time // the statement

	snapshot *delta.Snapshot
	columns  []*plan.Attribute // of the table, in its order
	after    []column          // of the table as it shall be
	added    []plan.Field      // those of them that are new
	fit      *delta.Fit        // the table with them
	file     *plan.Attribute   // the number of a row's file among files
	row      *plan.Attribute   // its place in the file
	scan     *plan.Scan        // of these files, all columns and the two
	files    []*delta.Add      // that the scan reads
	reads    *delta.Reads      // what the statement rests on

	txn      *delta.Txn              // nil when the statement is in none
	numbered map[int]*delta.Identity // identity columns of inserted rows, by their place
	feed     bool                    // the table has a change feed that the statement must tell
	narrowed []narrowing             // casts of assigned values that may overflow
}

// column is one of the table as a statement leaves it.
type column struct {
	field plan.Field
	old   plan.Expr // what the rows have that are there; NULL for a new column
}

// target resolves the relations of a statement, of which the first is the table
// that it changes, and reads the newest version of that.
func (st *Statement) target(ctx context.Context, operation string, nodes ...plan.Node) (*target, error) {
	t := &target{Statement: st, analyzer: st.Analyzer, operation: operation, began: time.Now()}
	var err error
	if t.tables, err = t.analyzer.Tables(ctx, nodes...); err != nil {
		return nil, err
	}
	scan, shown, filtered := t.tables.Target()
	switch {
	case scan == nil:
		return nil, plan.Unsupported(operation + " on what is no table")
	case scan.Relation.Format != st.Delta.Name || scan.Streaming:
		return nil, notChanged(relationID(scan), operation)
	case filtered:
		return nil, Mistake("DELTA_UNEXPECTED_PARTIAL_SCAN", "KD00A",
			operation+" needs the whole table, and the view shows some of its rows.",
			"path", "file:"+scan.Relation.Paths[0])
	case !shown:
		return nil, plan.Unsupported(operation + " on a view that shows other columns than its table")
	case plan.Travels(scan.Relation.Options):
		return nil, plan.Unsupported(operation + " on an older version of a table")
	}
	return t, t.open(ctx, scan)
}

// done finds the statement's transaction and reports whether the table has it.
func (t *target) done() (bool, error) {
	var err error
	t.txn, err = deltatable.Txn(t.Files, t.snapshot.Dir, nil)
	return t.txn.Done(t.snapshot), err
}

// notChanged refuses a table of files. Spark refuses UPDATE and MERGE while it
// plans, DELETE while it analyses.
func notChanged(id plan.TableID, operation string) *plan.Error {
	if operation == "DELETE" {
		return plan.TableOperation(id, operation)
	}
	word := map[string]string{"UPDATE": "UPDATE TABLE", "MERGE": "MERGE INTO TABLE"}[operation]
	e := plan.TableOperation(id, word)
	e.Class = plan.ClassUnsupported
	return e
}

// relationID is the name of a relation, or its format and path.
func relationID(scan *plan.Scan) plan.TableID {
	if scan.Relation.Table != nil {
		return *scan.Relation.Table
	}
	r := scan.Relation
	return plan.TableID{Catalog: catalog.SparkCatalog, Schema: r.Format, Name: strings.Join(r.Paths, ",")}
}

func (t *target) open(ctx context.Context, scan *plan.Scan) error {
	table, err := deltatable.Table(t.Files, scan.Relation.Paths[0])
	if err != nil {
		return err
	}
	if t.snapshot, err = t.Files.Snapshots.Load(ctx, table); err != nil {
		return err
	}
	if err := t.snapshot.CheckWritable(); err != nil {
		return err
	}
	if !t.snapshot.Schema.EqualIgnoringNull(scan.Relation.Schema) {
		return plan.NewError("io.delta.exceptions.MetadataChangedException", "DELTA_METADATA_CHANGED",
			"The columns of the table changed while the statement began; run it again.")
	}
	t.columns, t.feed = scan.Attrs, t.snapshot.HasFeed()
	for i, a := range t.columns {
		t.after = append(t.after, column{t.snapshot.Schema.Fields[i], a})
	}
	t.file = t.analyzer.NewColumn("file", plan.Int)
	t.row = t.analyzer.NewColumn("row", plan.Long)
	m := *scan
	m.Relation.Format = targetTable
	m.Attrs = append(slices.Clone(scan.Attrs), t.file, t.row)
	t.scan = &m
	t.Own(&connector.Format{Name: targetTable, Scan: t.rows})
	return nil
}

// rows yields the files of the statement, with the columns that are asked for.
func (t *target) rows(ctx context.Context, env *connector.Env, scan *plan.Scan) chunk.Rows {
	var names []string
	for _, a := range scan.Attrs {
		if a.ID != t.file.ID && a.ID != t.row.ID {
			names = append(names, a.Name)
		}
	}
	return deltatable.Scan{
		Snapshot: t.snapshot, Files: t.files, Columns: names,
		Placed: func(c *chunk.Chunk, file int, row int64) *chunk.Chunk {
			return t.placed(c, scan.Attrs, file, row)
		},
	}.Rows(ctx, env)
}

// placed is rows with the columns that say where they stand.
func (t *target) placed(c *chunk.Chunk, attrs []*plan.Attribute, file int, row int64) *chunk.Chunk {
	out := &chunk.Chunk{Rows: c.Rows, Part: c.Part}
	next := 0
	for _, a := range attrs {
		switch a.ID {
		case t.file.ID:
			v := chunk.Make(plan.Int, c.Rows)
			for i := range chunk.Values[int32](v) {
				chunk.Values[int32](v)[i] = int32(file)
			}
			out.Cols = append(out.Cols, v)
		case t.row.ID:
			v := chunk.Make(plan.Long, c.Rows)
			for i := range chunk.Values[int64](v) {
				chunk.Values[int64](v)[i] = row + int64(i)
			}
			out.Cols = append(out.Cols, v)
		default:
			out.Cols = append(out.Cols, c.Cols[next])
			next++
		}
	}
	return out
}

// newColumn is the name of the new column that a clause names, "" for others.
func (t *target) newColumn(a *plan.UnresolvedAttribute) string {
	for _, f := range t.added {
		if strings.EqualFold(f.Name, a.Parts[len(a.Parts)-1]) {
			return f.Name
		}
	}
	return ""
}

// prune leaves the files that may hold rows for which a condition is true, and
// notes what the statement rests on by that. It gives the condition back with the
// casts of its constants done.
func (t *target) prune(condition plan.Expr) (plan.Expr, error) {
	condition, err := deltatable.WithoutCasts(condition, t.Eval)
	if err != nil {
		return nil, err
	}
	parts := slices.DeleteFunc(analyze.Conjuncts(condition), func(e plan.Expr) bool { return !t.readsOnly(e) })
	if t.files, err = deltatable.Prune(t.Files, t.snapshot, t.columns, parts); err != nil {
		return nil, err
	}
	t.reads = &delta.Reads{
		Files:   t.files,
		Matches: deltatable.InPartitions(t.Files, t.snapshot, t.columns, parts),
	}
	return condition, nil
}

// readsOnly reports whether an expression is about the table alone.
func (t *target) readsOnly(e plan.Expr) bool {
	refs := plan.References(e)
	for _, a := range t.columns {
		delete(refs, a.ID)
	}
	return len(refs) == 0
}

// partitioned reports whether a condition is about partition columns only.
func (t *target) partitioned(condition plan.Expr) bool {
	return deltatable.Partitioned(t.snapshot, t.columns, condition)
}

// whole is true for every row: the condition that a statement left out.
func whole() plan.Expr { return plan.Lit(true, plan.Boolean) }

// condition resolves the WHERE of a DELETE or UPDATE.
func (t *target) condition(e plan.Expr) (plan.Expr, error) {
	if e == nil {
		return whole(), nil
	}
	cond, err := t.tables.Condition(e, "WHERE", 0)
	if err != nil {
		return nil, err
	}
	if analyze.HoldsSubquery(cond) {
		return nil, t.noSubquery(cond, t.operation)
	}
	return cond, t.tables.Plain(t.operation, cond)
}

func (t *target) noSubquery(cond plan.Expr, operation string) error {
	return Mistake("DELTA_UNSUPPORTED_SUBQUERY", "0AKDC",
		fmt.Sprintf("A condition of %s holds a subquery; use MERGE with the subquery as its source.", operation),
		"operation", operation, "cond", plan.QualifiedText(cond, t.Eval.Zone))
}

// steady refuses expressions that are not the same each time they are computed.
func (t *target) steady(list ...plan.Expr) error {
	if !slices.ContainsFunc(list, analyze.Volatile) {
		return nil
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = t.tables.Text(e)
	}
	return plan.AnalysisError("INVALID_NON_DETERMINISTIC_EXPRESSIONS",
		t.operation+" computes no expression that is another one each time.",
		"sqlExprs", strings.Join(texts, ", "))
}

// named gives an expression a name and an identity.
func (t *target) named(e plan.Expr, name string) *plan.Alias {
	return &plan.Alias{Child: e, Names: []string{name}, ID: t.analyzer.NewColumn(name, plan.Null).ID}
}

// Mistake is an error of Delta's about a statement.
func Mistake(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaAnalysisException", condition, msg, args...)
	e.State = state
	return e
}

// Illegal is an argument of a statement that Delta refuses.
func Illegal(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaIllegalArgumentException", condition, msg, args...)
	e.State = state
	return e
}
