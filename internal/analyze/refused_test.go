package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// The conditions and parameters are those of Spark 4.3.
func TestStatementsRefusedAsBySpark(t *testing.T) {
	const inline = "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE"
	const lateral = "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_GROUP_BY"
	type args = map[string]string
	for _, c := range []struct {
		text, condition string
		args            args
	}{
		{"select 1 where null", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
			args{"filter": `"NULL"`, "sqlExpr": `"NULL"`, "type": `"VOID"`}},
		{"select 1 from values (1) t(a) join values (1) u(a) on null", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
			args{"joinCondition": `"NULL"`, "conditionType": `"VOID"`}},
		{"select count(*) filter (where null) from values (1) t(a)", "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN",
			args{"filterExpr": `"NULL"`}},
		{"select a from values (1) t(a) group by a having array(1)", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
			args{"sqlExpr": `"array(1)"`, "srcType": `"ARRAY<INT>"`, "targetType": `"BOOLEAN"`}},
		{"select * from values (1), ('b')", inline, args{"colName": "`col1`"}},
		{"select * from values (1), ('2')", inline, args{"colName": "`col1`"}},
		{"select * from values (date'2024-01-01'), ('2024-01-01')", inline, args{"colName": "`col1`"}},
		{"select * from values (array(1)), (array('a'))", inline, args{"colName": "`col1`"}},
		{"select a b, b + 1 c from values (1) t(a) group by all", lateral, args{}},
		{"select a b, b from values (1) t(a) group by all", lateral, args{}},
		{"select a b, b + 1 c from values (1) t(a) group by a, c", lateral, args{}},
		{"select a b, b + 1 c from values (1) t(a) group by a, 2", lateral, args{}},
		{"select 1 a, 2 A order by a", "UNRESOLVED_COLUMN.WITH_SUGGESTION",
			args{"objectName": "`a`", "proposal": "`a`, `A`"}},
		{"select * from (select 1 a, 2 a) order by a + 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION",
			args{"objectName": "`a`", "proposal": "`a`, `a`"}},
		{"select a c, max(b) c from values (1, 2, 5) t(a, b, c) group by a order by c",
			"UNRESOLVED_COLUMN.WITH_SUGGESTION", args{"objectName": "`c`", "proposal": "`c`, `c`"}},
		{"select a from (select 1 A, 2 A)", "AMBIGUOUS_REFERENCE",
			args{"name": "`a`", "referenceNames": "[`a`, `a`]"}},
		{"select t.a from (select 1 a, 2 A) t", "AMBIGUOUS_REFERENCE",
			args{"name": "`t`.`a`", "referenceNames": "[`t`.`a`, `t`.`a`]"}},
		{"select a from values (1) t(a), values (2) u(A)", "AMBIGUOUS_REFERENCE",
			args{"name": "`a`", "referenceNames": "[`t`.`a`, `u`.`a`]"}},
	} {
		_, err := runStep(newWorld(), step{SQL: c.text})
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != c.condition {
			t.Errorf("%s: %v, want %s", c.text, err, c.condition)
			continue
		}
		if e.Args == nil {
			e.Args = args{}
		}
		if diff := cmp.Diff(c.args, e.Args); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

// HAVING alone casts its condition.
func TestHavingTakesWhatCanBeBoolean(t *testing.T) {
	for _, cond := range []string{"null", "count(*)", "a - 1", "'x'"} {
		text := "select a from values (1) t(a) group by a having " + cond
		if _, err := runStep(newWorld(), step{SQL: text}); err != nil {
			t.Errorf("%s: %v", cond, err)
		}
	}
}

func TestLateralNamesBesideAggregates(t *testing.T) {
	for text, want := range map[string]string{
		"select sum(a) b, sum(z) + b c from values (1, 5) t(a, z) group by all": "[[b bigint true] [c bigint true]]",
		"select z b, sum(a) + b + z c from values (1, 5) t(a, z) group by all":  "[[b int false] [c bigint true]]",
	} {
		schema, err := runStep(newWorld(), step{SQL: text})
		if got := fmt.Sprint(schema); err != nil || got != want {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
}

// TestNamesOfNA: df.na proposes names in the order of the schema and, unlike
// the statements, takes a name that fits two columns for neither.
func TestNamesOfNA(t *testing.T) {
	twice := pick(2, table(1, "emp"), plan.As(col("id"), "a"), plan.As(col("id"), "a"))
	one := []*plan.Literal{plan.Lit(int64(1), plan.Long)}
	for _, c := range []struct {
		node                plan.Node
		condition, proposal string
	}{
		{plan.NewDropNA(table(1, "emp"), []string{"nope"}, -1), "UNRESOLVED_COLUMN.WITH_SUGGESTION",
			"`id`, `name`, `dept`, `pay`"},
		{plan.NewFillNA(table(1, "emp"), []string{"nope"}, one), "UNRESOLVED_COLUMN.WITH_SUGGESTION",
			"`id`, `name`, `dept`, `pay`"},
		{plan.NewDropNA(twice, []string{"a"}, -1), "AMBIGUOUS_REFERENCE", ""},
		{plan.NewFillNA(twice, []string{"a"}, one), "AMBIGUOUS_REFERENCE", ""},
	} {
		_, err := analyzer(frames(t)).Resolve(context.Background(), c.node)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != c.condition || e.Args["proposal"] != c.proposal {
			t.Errorf("%v, want %s %s", err, c.condition, c.proposal)
		}
	}
}
