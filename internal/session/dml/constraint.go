package dml

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// AddConstraint is ADD CONSTRAINT of a table, which shown is the name of: it looks at every row
// first. The change belongs to the snapshot.
func AddConstraint(
	ctx context.Context, st *Statement, table plan.Node, shown string, c *plan.Constraint,
) (*delta.Snapshot, *delta.Change, error) {
	t, err := st.target(ctx, "ALTER TABLE", table)
	if err != nil {
		return nil, nil, err
	}
	cond, err := t.tables.Value(c.Cond, 0)
	if err != nil {
		return nil, nil, err
	}
	if cond.Type().Kind != plan.KindBoolean {
		return nil, nil, Mistake("DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", "42621",
			fmt.Sprintf("The constraint %s is %s, not BOOLEAN.", c.Name, cond.Type().SQL()),
			"name", c.Name, "expr", c.Text)
	}
	if err := t.tables.Plain("ALTER TABLE", cond); err != nil {
		return nil, nil, err
	}
	if analyze.Volatile(cond) || analyze.HoldsSubquery(cond) {
		return nil, nil, Mistake("DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT", "42621",
			"A constraint holds no subquery and nothing that is another one each time.", "expression", c.Text)
	}
	out, err := t.snapshot.AddConstraint(c.Name, c.Text, t.Files.Now())
	if err != nil {
		return nil, nil, err
	}
	t.files = t.snapshot.Files()
	holds, err := t.analyzer.Call("coalesce", cond, plan.Lit(false, plan.Boolean))
	if err != nil {
		return nil, nil, err
	}
	broken, err := t.analyzer.Call("not", holds)
	if err != nil {
		return nil, nil, err
	}
	found, err := t.find(ctx, broken)
	if err != nil {
		return nil, nil, err
	}
	n := int64(0)
	for _, rows := range found {
		n += rows
	}
	if n > 0 {
		return nil, nil, Mistake("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "23512",
			fmt.Sprintf("%d rows of %s break the constraint %s.", n, shown, c.Text),
			"numRows", strconv.FormatInt(n, 10), "tableName", shown, "checkConstraint", c.Text)
	}
	return t.snapshot, &out, nil
}
