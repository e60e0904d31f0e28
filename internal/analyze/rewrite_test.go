package analyze_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// wide has the table t(a int, b int, c string, s struct<x: int, y: int>).
func wide(t testing.TB) *world {
	t.Helper()
	schema, err := sql.ParseSchema("a int, b int, c string, s struct<x: int, y: int>")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	w.tables["t"] = &plan.Scan{Relation: plan.Relation{Format: "parquet", Schema: schema}}
	return w
}

// Trees are written down as they ought to be: one projection, scans that read
// what is needed, no names' remains.
func TestRewritesLeaveLittleToDo(t *testing.T) {
	for _, c := range []struct{ query, tree string }{
		{"SELECT a FROM (SELECT a, b + 1 AS b FROM (SELECT * FROM t) AS x) AS y",
			"Scan parquet [a#]"},
		{"SELECT x + 1 AS y FROM (SELECT a * 2 AS x, b FROM t)",
			"Project [((a# * 2) + 1) AS y#]\n+- Scan parquet [a#]"},
		{"SELECT x + x AS y FROM (SELECT a * 2 AS x FROM t)",
			"Project [(x# + x#) AS y#]\n+- Project [(a# * 2) AS x#]\n   +- Scan parquet [a#]"},
		{"SELECT 1 AS one FROM t", "Project [1 AS one#]\n+- Scan parquet []"},
		{"SELECT count(*) AS n FROM t", "Aggregate [], [count(1) AS n#]\n+- Scan parquet []"},
		{"SELECT a FROM t ORDER BY b",
			"Project [a#]\n+- Sort [b# ASC NULLS FIRST], true\n   +- Scan parquet [a#, b#]"},
		{"SELECT sum(b) + 1 AS s FROM t GROUP BY a % 2",
			"Project [(sum(b)# + cast(1 as bigint)) AS s#]\n" +
				"+- Aggregate [(a % 2)#], [(a % 2)#, sum(b#) AS sum(b)#]\n" +
				"   +- Project [b#, (a# % 2) AS (a % 2)#]\n      +- Scan parquet [a#, b#]"},
		{"SELECT a FROM t GROUP BY a HAVING sum(b) > 1",
			"Project [a#]\n+- Filter (sum(b)# > cast(1 as bigint))\n" +
				"   +- Aggregate [a#], [a#, sum(b#) AS sum(b)#]\n      +- Scan parquet [a#, b#]"},
		{"SELECT DISTINCT a FROM t", "Aggregate [a#], [a#]\n+- Scan parquet [a#]"},
		{"SELECT a + 1 AS p, p + 1 AS q FROM t",
			"Project [p#, (p# + 1) AS q#]\n+- Project [(a# + 1) AS p#]\n   +- Scan parquet [a#]"},
		{"SELECT a FROM t WHERE b IN (SELECT b FROM t)",
			"Project [a#]\n+- Join LeftSemi, (b# = b#)\n   :- Scan parquet [a#, b#]\n   +- Scan parquet [b#]"},
		{"SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.b)",
			"Project [a#]\n+- Join LeftAnti, (a# = b#)\n   :- Scan parquet [a#, b#]\n   +- Scan parquet [a#]"},
		{"SELECT a FROM t UNION ALL SELECT b FROM t", "Union\n:- Scan parquet [a#]\n+- Scan parquet [b#]"},
		{"SELECT t.a FROM t, t AS u WHERE t.a = u.b AND t.b > 1 AND u.a < 2 AND 1 < 2",
			"Project [a#]\n+- Filter (1 < 2)\n   +- Join Inner, (a# = b#)\n" +
				"      :- Filter (b# > 1)\n      :  +- Scan parquet [a#, b#]\n" +
				"      +- Filter (a# < 2)\n         +- Scan parquet [a#, b#]"},
		{"SELECT t.a FROM t LEFT JOIN t AS u ON t.a = u.a AND t.b > 1 AND u.b > 2 WHERE u.a IS NULL AND t.b < 3",
			"Project [a#]\n+- Filter isnull(a#)\n   +- Join LeftOuter, ((a# = a#) AND (b# > 1))\n" +
				"      :- Filter (b# < 3)\n      :  +- Scan parquet [a#, b#]\n" +
				"      +- Filter (b# > 2)\n         +- Scan parquet [a#, b#]"},
		{"SELECT s.x FROM t", "Project [s#.x AS x#]\n+- Scan parquet [s#]"},
	} {
		t.Run(c.query, func(t *testing.T) {
			got := withoutIDs(plan.NodeText(resolve(t, wide(t), c.query)))
			if diff := cmp.Diff(c.tree+"\n", got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withoutIDs blots the ids out of a tree.
func withoutIDs(tree string) string {
	var b strings.Builder
	for i := 0; i < len(tree); i++ {
		b.WriteByte(tree[i])
		for tree[i] == '#' && i+1 < len(tree) && tree[i+1] >= '0' && tree[i+1] <= '9' {
			tree = tree[:i+1] + tree[i+2:]
		}
	}
	return b.String()
}
