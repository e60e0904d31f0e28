package analyze_test

import (
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

func TestScansHearOnlyWhatHoldsForAllTheirRows(t *testing.T) {
	for _, c := range []struct {
		query string
		want  int // filters of the scan
	}{
		{"SELECT a FROM t WHERE a > 1", 1},
		{"SELECT a FROM t WHERE a > 1 AND b + a > 2", 3}, // a and b are not NULL,
		{"SELECT x FROM (SELECT a AS x FROM t) WHERE x = 1", 1},
		{"SELECT a FROM t WHERE a IS NULL", 1},
		{"SELECT a FROM t WHERE a > b", 2}, // the same
		{"SELECT a FROM t WHERE coalesce(a, 1) > 1", 0},
		{"SELECT a FROM (SELECT a FROM t LIMIT 3) WHERE a > 1", 0},
		{"SELECT a, n FROM (SELECT a, monotonically_increasing_id() AS n FROM t) WHERE a > 1", 0},
		{"SELECT a FROM (SELECT a FROM t WHERE rand(1) < 0.5) WHERE a > 1", 0},
		{"SELECT a, count(*) FROM t GROUP BY a HAVING a > 1", 0},
		{"SELECT t.a FROM t JOIN (SELECT 1 AS x) ON a = x", 1}, // a is not NULL
		{"SELECT t.a FROM t LEFT JOIN (SELECT 1 AS x) ON a = x", 0},
		{"SELECT t.a FROM t LEFT JOIN (SELECT 1 AS x) ON a = x WHERE a > 1", 1},
		{"SELECT x FROM (SELECT 1 AS x) LEFT JOIN t ON a = x AND b > 2", 2},
	} {
		t.Run(c.query, func(t *testing.T) {
			var scan *plan.Scan
			plan.WalkNodes(resolve(t, wide(t), c.query), func(n plan.Node) bool {
				if s, ok := n.(*plan.Scan); ok {
					scan = s
				}
				return true
			})
			if scan == nil || len(scan.Filters) != c.want {
				t.Errorf("the scan hears of %v, want %d conditions", scan.Filters, c.want)
			}
		})
	}
}
