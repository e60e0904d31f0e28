package session

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Answers and conditions here are those of Spark 4.3.0. G are groups, N rows with a NULL
// and S a subquery with one.
var asked = strings.NewReplacer(
	"G", "FROM VALUES (1,2), (1,3), (2,5) AS t(a,b) GROUP BY",
	"N", "FROM VALUES (1), (2), (NULL) AS t1(a)",
	"S", "(SELECT b FROM VALUES (NULL), (1) AS t2(b))",
)

func TestHavingAndOrderByLookIntoGroupingSets(t *testing.T) {
	answers(t, [][2]string{
		{`a+1, grouping(a+1) G rollup(a+1) order by 1,2`, `[null,1] [2,0] [3,0]`},
		{`a, count(*) G rollup(a) having count(*) > 1 order by a`, `[null,3] [1,2]`},
		{`a, count(*) c G rollup(a) having sum(b) > 5 order by grouping(a), c`, `[null,3]`},
		{`a, b, count(*) G cube(a,b) having grouping_id() = 1 order by a`, `[1,null,2] [2,null,1]`},
		{`a, b, count(*) G cube(a,b) having grouping_id(a,b) = 1 order by a`, `[1,null,2] [2,null,1]`},
		{`a, b, count(*) G cube(a,b) having grouping_id(b,a) = 1 order by a`, `GROUPING_ID_COLUMN_MISMATCH`},
		{
			`a+1 as k, count(*) G rollup(a+1) having grouping(a+1) = 0 and a+1 > 2 order by k`,
			`UNRESOLVED_COLUMN.WITH_SUGGESTION`,
		},
		{`a, max(b) G grouping sets((a),()) order by grouping(a) desc, max(b)+sum(b)`, `[null,5] [1,3] [2,5]`},
		{`a, max(b) G a having grouping(a)=0`, `UNSUPPORTED_GROUPING_EXPRESSION`},
		{`a, max(b) G rollup(a) having grouping(b)=0`, `UNRESOLVED_COLUMN.WITH_SUGGESTION`},
		{`count(*) G rollup(a) having a is null order by grouping_id() `, `[3]`},
		{`a as x, count(*) G rollup(a) having x is null`, `[null,3]`},
		{`a, count(*) n G rollup(a) order by grouping(a), n desc limit 2`, `[1,2] [2,1]`},
	})
}

// An IN that is not a whole condition of WHERE is never NULL.
func TestInOfASubqueryWithNulls(t *testing.T) {
	answers(t, [][2]string{
		{`a, a in S x N order by a`, `[null,false] [1,true] [2,false]`},
		{`a, a not in S x N order by a`, `[null,false] [1,false] [2,false]`},
		{`a N where a in S or a = 2 order by a`, `[1] [2]`},
		{`a N where a not in S or a = 2 order by a`, `[2]`},
		{`a N where not (a in S and a = 1) order by a`, `[2]`},
		{`a N where a not in S order by a`, ``},
		{`a N where a not in (select b from values (3) as t2(b)) order by a`, `[1] [2]`},
		{`a N where coalesce(a in S, true) order by a`, `[1]`},
		{`case when a in S then 1 else 0 end x N order by a`, `[0] [1] [0]`},
		{`count(*) N group by a in S order by 1`, `[1] [2]`},
		{`a in (select b from values (null),(1) as t2(b) where false) x N order by a`, `[false] [false] [false]`},
		{`(a,1) in (select b,1 from values (null),(1) as t2(b)) x N order by a`, `[false] [true] [false]`},
		{`(a in (select b from values (null) as t2(b))) is null x N order by a`, `[false] [false] [false]`},
	})
}

// desc() and asc() order nothing outside of a sort; that is no bug of weir.
func TestADirectionOutsideOfASortIsRefused(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	id := &plan.UnresolvedAttribute{Parts: []string{"id"}}
	order := &plan.SortOrder{Child: id, Descending: true}
	rows := parse(t, "SELECT id FROM range(3)")
	for what, n := range map[string]plan.Node{
		"selected": plan.NewProject(rows, order),
		"named":    plan.NewProject(rows, &plan.Alias{Child: order, Names: []string{"x"}}),
		"grouped":  plan.NewAggregate(rows, []plan.Expr{order}, nil),
	} {
		_, _, err := execute(t, s, n)
		if condition(err) != "INTERNAL_ERROR" || strings.Contains(err.Error(), "weir has a bug") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// answers asks queries, without their SELECT, and compares with their rows or condition.
func answers(t *testing.T, cases [][2]string) {
	t.Helper()
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	for _, c := range cases {
		text := "SELECT " + asked.Replace(c[0])
		_, chunks, err := run(t, s, text)
		got := strings.Join(rendered(chunks), " ")
		if err != nil {
			got = condition(err)
		}
		if got != c[1] {
			t.Errorf("%s: got %s, Spark answers %s", text, got, c[1])
		}
	}
}
