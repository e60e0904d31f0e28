package dml

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/spool"
)

// Merge is MERGE INTO. It gives how many rows were changed in all, updated, deleted and
// inserted; nil when the table has the statement's transaction already.
func Merge(ctx context.Context, st *Statement, c *plan.Merge) ([]plan.Value, error) {
	if len(c.Matched)+len(c.NotMatched)+len(c.BySource) == 0 {
		return nil, plan.NewError(plan.ClassRuntime, "NO_MERGE_ACTION_SPECIFIED",
			"mergeInto needs at least one of whenMatched, whenNotMatched and whenNotMatchedBySource.")
	}
	t, err := st.target(ctx, "MERGE", c.Table, c.Source)
	if err != nil {
		return nil, err
	}
	m := &merge{target: t}
	if err := m.resolve(c); err != nil {
		return nil, err
	}
	if done, err := t.done(); done || err != nil {
		return nil, err
	}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	n := m.count
	updates, deletes := n[updated]+n[updatedAlone], n[deleted]+n[deletedAlone]
	return []plan.Value{updates + deletes + n[inserted], updates, deletes, n[inserted]}, nil
}

// MergeBatch is a MERGE whose source is kept already, and stays so, in a transaction.
func MergeBatch(ctx context.Context, st *Statement, c *plan.Merge, rows *spool.Spool, txn *delta.Txn) error {
	t, err := st.target(ctx, "MERGE", c.Table, c.Source)
	if err != nil {
		return err
	}
	if t.txn = txn; txn.Done(t.snapshot) {
		return nil
	}
	m := &merge{target: t, batch: rows}
	if err := m.resolve(c); err != nil {
		return err
	}
	return m.run(ctx)
}

// merge is a MERGE with its clauses resolved.
type merge struct {
	*target
	on                            plan.Expr
	matched, notMatched, bySource []mergeClause
	evolves                       bool // the table gets the columns that it lacks

	batch   *spool.Spool // the source, when it is kept already; it is not the statement's to remove
	source  *mergeSource
	matches *matches
	found   time.Duration // until the files to write were known
	gone    []*delta.Add
	made    delta.Rewritten
	count   [fates]int64
}

// mergeClause is a clause of a MERGE.
type mergeClause struct {
	action plan.MergeAction
	cond   plan.Expr   // nil: always
	values []plan.Expr // one for each column that the table will have; nil for DELETE
	fate   fate
}

// The numbers of the tables that clauses speak of.
var (
	overBoth   = []int{0, 1}
	overTarget = []int{0}
	overSource = []int{1}
)

func (m *merge) resolve(c *plan.Merge) error {
	var err error
	if m.on, err = m.tables.Condition(c.Cond, "JOIN", overBoth...); err != nil {
		return m.unresolved(err, "search condition", overBoth...)
	}
	if err := m.plain(m.on, "search condition"); err != nil {
		return err
	}
	if m.evolves = c.Evolves || strings.EqualFold(m.Conf(autoMergeKey), "true"); m.evolves {
		m.evolve(c)
	}
	for _, kind := range []struct {
		clauses []plan.MergeClause
		over    []int
		to      *[]mergeClause
		fates   [2]fate
	}{
		{c.Matched, overBoth, &m.matched, [2]fate{updated, deleted}},
		{c.NotMatched, overSource, &m.notMatched, [2]fate{inserted, inserted}},
		{c.BySource, overTarget, &m.bySource, [2]fate{updatedAlone, deletedAlone}},
	} {
		for _, clause := range kind.clauses {
			r, err := m.clause(clause, kind.over)
			if err != nil {
				return err
			}
			if r.fate = kind.fates[0]; clause.Action == plan.MergeDelete {
				r.fate = kind.fates[1]
			}
			*kind.to = append(*kind.to, r)
		}
	}
	if len(m.matched)+len(m.bySource) > 0 {
		return m.snapshot.CheckRemovable()
	}
	return nil
}

// plain refuses what a condition of MERGE cannot hold.
func (m *merge) plain(cond plan.Expr, where string) error {
	operation := where + " of MERGE operation"
	text := "(condition = " + plan.QualifiedText(cond, m.Eval.Zone) + ")"
	switch {
	case analyze.HoldsSubquery(cond):
		return m.noSubquery(cond, operation)
	case analyze.Volatile(cond):
		return Mistake("DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED", "0AKDC",
			fmt.Sprintf("The %s is another one each time it is computed.", operation),
			"operation", operation, "expression", text+".")
	case analyze.Aggregates(cond):
		return Mistake("DELTA_AGGREGATION_NOT_SUPPORTED", "42903",
			fmt.Sprintf("The %s holds an aggregate function.", operation),
			"operation", operation, "predicate", text)
	}
	return m.tables.Plain("MergeIntoTable", cond)
}

func (m *merge) clause(c plan.MergeClause, over []int) (mergeClause, error) {
	r := mergeClause{action: c.Action}
	word := strings.ToUpper(c.Action.String())
	if c.Cond != nil {
		cond, err := m.tables.Condition(c.Cond, "WHERE", over...)
		if err != nil {
			return r, m.unresolved(err, word+" condition", over...)
		}
		if err := m.plain(cond, word+" condition"); err != nil {
			return r, err
		}
		if r.cond, err = deltatable.WithoutCasts(cond, m.Eval); err != nil {
			return r, err
		}
	}
	var err error
	switch {
	case c.Action == plan.MergeDelete:
		return r, nil
	case c.All:
		r.values, err = m.star(word)
	case c.Action == plan.MergeInsert:
		r.values, err = m.insertion(c.Set)
	default:
		r.values, err = m.assigned(c.Set, over...)
	}
	if err != nil {
		return r, err
	}
	return r, m.tables.Plain("MergeIntoTable", r.values...)
}

// star is UPDATE SET * and INSERT *: every column from the one of the source that
// is called so.
func (m *merge) star(word string) ([]plan.Expr, error) {
	out := make([]plan.Expr, len(m.after))
	for i, c := range m.after {
		from := m.sourceColumn(c.field.Name)
		if from == nil && m.evolves {
			out[i] = c.old
			if word == "INSERT" {
				out[i] = plan.Lit(nil, c.field.Type.Unbounded())
			}
			continue
		}
		if from == nil {
			return nil, m.notInSource(c.field.Name, word)
		}
		var err error
		if out[i], err = m.converted(from, c.field); err != nil {
			return nil, err
		}
	}
	given := func(name string) bool { return m.sourceColumn(name) != nil }
	return out, m.fill(out, given, word == "INSERT")
}

func (m *merge) sourceColumn(name string) *plan.Attribute {
	columns := m.tables.Columns(overSource...)
	at := slices.IndexFunc(columns, func(a *plan.Attribute) bool { return strings.EqualFold(a.Name, name) })
	if at < 0 {
		return nil
	}
	return columns[at]
}

func (m *merge) notInSource(name, word string) error {
	return m.unresolved(plan.AnalysisError("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "", "objectName", name),
		word+" clause", overSource...)
}

// insertion are the values of INSERT (columns) VALUES (…); other columns are NULL.
func (m *merge) insertion(set []plan.Assignment) ([]plan.Expr, error) {
	var settings []setting
	for _, a := range set {
		path, err := m.insertColumn(a.Column)
		if err != nil {
			return nil, err
		}
		value, err := m.value("INSERT clause", a.Value, overSource...)
		if err != nil {
			return nil, err
		}
		if len(path) > 1 {
			name := plan.QuoteParts(path)
			return nil, Mistake("DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION", "0AKDC",
				"INSERT takes whole columns, not the field "+name+".",
				"operation", "INSERT clause of MERGE operation", "fieldName", name)
		}
		settings = append(settings, setting{path, value})
	}
	out := make([]plan.Expr, len(m.after))
	for i, c := range m.after {
		var err error
		null := plan.Lit(nil, c.field.Type.Unbounded())
		if out[i], err = m.composed(c.field, null, under(settings, c.field.Name)); err != nil {
			return nil, err
		}
	}
	return out, m.fill(out, givenBy(settings), true)
}

// insertColumn is the path of a column that a clause names, which may be new.
func (m *merge) insertColumn(a *plan.UnresolvedAttribute) ([]string, error) {
	if at := m.newColumn(a); at != "" {
		return []string{at}, nil
	}
	e, err := m.value("INSERT clause", a, overTarget...)
	if err != nil {
		return nil, err
	}
	path, ok := pathOf(e)
	if !ok {
		return append(path, ""), nil
	}
	return path, nil
}

// autoMergeKey lets every MERGE add columns.
const autoMergeKey = "spark.databricks.delta.schema.autoMerge.enabled"

// evolve gives the table the columns of the source that it lacks: all of them for
// a *, else those that clauses name.
func (m *merge) evolve(c *plan.Merge) {
	clauses := slices.Concat(c.Matched, c.NotMatched)
	star := slices.ContainsFunc(clauses, func(c plan.MergeClause) bool { return c.All })
	for _, a := range m.tables.Columns(overSource...) {
		have := slices.ContainsFunc(m.after, func(c column) bool { return strings.EqualFold(c.field.Name, a.Name) })
		named := slices.ContainsFunc(clauses, func(c plan.MergeClause) bool {
			return slices.ContainsFunc(c.Set, func(s plan.Assignment) bool {
				return strings.EqualFold(s.Column.Parts[len(s.Column.Parts)-1], a.Name)
			})
		})
		if have || !star && !named {
			continue
		}
		f := plan.Field{Name: a.Name, Type: a.Of.AsNullable(), Nullable: true}
		m.after = append(m.after, column{f, plan.Lit(nil, f.Type)})
		m.added = append(m.added, f)
	}
}
