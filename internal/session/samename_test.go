package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// A window function in a correlated subquery sees the rows of one outer row. The answers
// are Spark's.
func TestWindowsInCorrelatedSubqueries(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	const rows = "VALUES (1, 10), (2, 20), (2, 30) s(a, d)"
	for query, want := range map[string][]string{
		"SELECT t.a, l.x, l.r FROM VALUES (1), (2) t(a), LATERAL (SELECT s.d x, row_number() OVER (ORDER BY s.d) r FROM " +
			rows + " WHERE s.a = t.a) l ORDER BY 1, 2": {"[1,10,1]", "[2,20,1]", "[2,30,2]"},
		"SELECT t.a, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY s.d) r FROM " + rows +
			" WHERE s.a = t.a)) m FROM VALUES (1), (2) t(a) ORDER BY 1": {"[1,1]", "[2,2]"},
		"SELECT t.a FROM VALUES (1), (2), (3) t(a) WHERE t.a IN (SELECT r FROM (SELECT s.a, row_number() OVER " +
			"(ORDER BY s.d DESC) r FROM " + rows + " WHERE s.a = t.a) q) ORDER BY 1": {"[1]", "[2]"},
		"SELECT t.a, l.r FROM VALUES (2), (3) t(a), LATERAL (SELECT count(*) OVER () r FROM " + rows +
			" WHERE s.a < t.a) l ORDER BY 1, 2": {"[2,1]", "[3,3]", "[3,3]", "[3,3]"},
		"SELECT t.a FROM VALUES (1), (2), (3) t(a) WHERE EXISTS (SELECT 1 FROM (SELECT rank() OVER (ORDER BY s.d) r, " +
			"s.a FROM " + rows + " WHERE s.a = t.a) q WHERE r = 2)": {"[2]"},
	} {
		if diff := cmp.Diff(want, must(t, s, query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
}

// Rows of a stream may have two columns of one name.
func TestColumnsOfOneNameInAMemorySink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
		value := &plan.UnresolvedAttribute{Parts: []string{"value"}}
		times := &plan.UnresolvedFunction{Name: []string{"*"},
			Args: []plan.Expr{value, plan.Lit(int64(10), plan.Long)}}
		in := plan.NewProject(rate(), plan.As(value, "a"), plan.As(times, "a"),
			plan.As(plan.Lit(true, plan.Boolean), "c"))
		q := start(t, s, &plan.StartStream{Input: in, Format: "memory", QueryName: "twice"})
		time.Sleep(2500 * time.Millisecond)
		if err := q.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := must(t, s, "SELECT * FROM twice")
		slices.Sort(rows)
		if len(rows) < 10 || rows[2] != "[10,100,true]" && rows[2] != "[2,20,true]" {
			t.Errorf("got %v", rows)
		}
		if rows := must(t, s, "SELECT DISTINCT c FROM twice"); len(rows) != 1 || rows[0] != "[true]" {
			t.Errorf("got %v", rows)
		}
	})
}

// A view of a frame may have them, too; that of a text may not.
func TestColumnsOfOneNameInAView(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	frame, err := s.SQL(t.Context(), "SELECT 1 AS id, 2 AS v, 3 AS id", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	view := &plan.CreateView{Name: []string{"twice"}, Temporary: true, Query: frame}
	if _, _, err := execute(t, s, view); err != nil {
		t.Fatal(err)
	}
	if got := must(t, s, "SELECT v FROM twice"); got[0] != "[2]" {
		t.Errorf("got %v", got)
	}
	for query, want := range map[string]string{
		"SELECT id FROM twice":                        "AMBIGUOUS_REFERENCE",
		"CREATE TEMP VIEW w AS SELECT 1 AS a, 2 AS a": "COLUMN_ALREADY_EXISTS",
	} {
		n, err := s.SQL(t.Context(), query, nil, nil, nil)
		if err == nil {
			_, _, err = execute(t, s, n)
		}
		if got := condition(err); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}
