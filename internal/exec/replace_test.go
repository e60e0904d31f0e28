package exec_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// TestReplaceGivesWhatSparkGives holds what Spark 4.3.0 makes of df.replace:
// numbers are compared as DOUBLE and become the column's type, a value that was
// put in is not replaced again, and a name in other letters changes nothing.
func TestReplaceGivesWhatSparkGives(t *testing.T) {
	const rows = "SELECT * FROM VALUES (1, 'a', 10.5D, 1.50), (2, 'b', NULL, NULL), (3, NULL, double('NaN'), 2.00) " +
		"AS t(id, k, d, m)"
	num := func(x float64) *plan.Literal { return plan.Lit(x, plan.Double) }
	text := func(s string) *plan.Literal { return plan.Lit(s, plan.String) }
	null := plan.Lit(nil, plan.Null)
	for _, c := range []struct {
		name     string
		columns  []string
		from, to []*plan.Literal
		want     string
	}{
		{"a text", nil, []*plan.Literal{text("a")}, []*plan.Literal{text("A")},
			`[1,"A","10.5","1.50"] [2,"b",null,null] [3,null,"NaN","2.00"]`},
		{"numbers of any type", nil, []*plan.Literal{num(10.5)}, []*plan.Literal{num(1)},
			`[1,"a","1.0","1.50"] [2,"b",null,null] [3,null,"NaN","2.00"]`},
		{"a fraction is no integer", nil, []*plan.Literal{num(1.5)}, []*plan.Literal{num(9.25)},
			`[1,"a","10.5","9.25"] [2,"b",null,null] [3,null,"NaN","2.00"]`},
		{"NaN", []string{"d"}, []*plan.Literal{num(math.NaN())}, []*plan.Literal{num(0)},
			`[1,"a","10.5","1.50"] [2,"b",null,null] [3,null,"0.0","2.00"]`},
		{"one after the other", []string{"id"}, []*plan.Literal{num(1), num(2)}, []*plan.Literal{num(2), num(3)},
			`[2,"a","10.5","1.50"] [3,"b",null,null] [3,null,"NaN","2.00"]`},
		{"by NULL", nil, []*plan.Literal{text("a"), text("b")}, []*plan.Literal{text("b"), null},
			`[1,"b","10.5","1.50"] [2,null,null,null] [3,null,"NaN","2.00"]`},
		{"in other letters", []string{"K"}, []*plan.Literal{text("a")}, []*plan.Literal{text("A")},
			`[1,"a","10.5","1.50"] [2,"b",null,null] [3,null,"NaN","2.00"]`},
		{"a text in a number's column", []string{"id"}, []*plan.Literal{text("a")}, []*plan.Literal{text("A")},
			`[1,"a","10.5","1.50"] [2,"b",null,null] [3,null,"NaN","2.00"]`},
	} {
		w := &world{views: map[string]plan.Node{}, ids: &plan.IDs{}}
		got, err := w.query(rows, func(n plan.Node) plan.Node {
			return plan.NewReplaceNA(n, c.columns, c.from, c.to)
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		lines := rendered(got)
		slices.Sort(lines)
		if diff := cmp.Diff(c.want, strings.Join(lines, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
