package analyze_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// watched is a constant that counts how often somebody looks into it.
type watched struct {
	plan.Literal
	looks *int
}

func (w *watched) Children() []plan.Expr {
	*w.looks++
	return nil
}

// A long chain is not walked anew at each of its links.
func TestAChainIsLookedThroughAFewTimesHoweverLongItIs(t *testing.T) {
	looks := func(name string, links int) int {
		count := 0
		leaf := func() plan.Expr { return &watched{*plan.Lit(int64(1), plan.Long), &count} }
		if name == "and" {
			leaf = func() plan.Expr {
				return &plan.UnresolvedFunction{Name: []string{"="}, Args: []plan.Expr{
					&watched{*plan.Lit(int64(1), plan.Long), &count}, plan.Lit(int64(2), plan.Long)}}
			}
		}
		e := leaf()
		for range links {
			e = &plan.UnresolvedFunction{Name: []string{name}, Args: []plan.Expr{e, leaf()}}
		}
		n := plan.NewProject(&plan.OneRow{}, e)
		if _, err := analyzer(newWorld()).Resolve(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		return count
	}
	for _, name := range []string{"+", "and", "coalesce"} {
		few, many := looks(name, 500), looks(name, 2000)
		if few == 0 || many > 5*few {
			t.Errorf("%s: %d looks at 500 links and %d at 2000", name, few, many)
		}
	}
}

// What a statement with n parts allocates grows with n, not with its square.
func TestStatementsCostInProportionToTheirLength(t *testing.T) {
	list := func(n int, separator, form string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(form, "$", fmt.Sprint(i))
		}
		return strings.Join(parts, separator)
	}
	w := newWorld()
	schema, err := sql.ParseSchema("a bigint, b bigint")
	if err != nil {
		t.Fatal(err)
	}
	w.tables["t"] = &plan.Scan{Relation: plan.Relation{Format: "parquet", Schema: schema}}
	for name, statement := range map[string]func(n int) string{
		"sum of terms": func(n int) string { return "SELECT " + list(n, " + ", "a * $") + " FROM t" },
		"texts":        func(n int) string { return "SELECT " + list(n, " || ", "'$'") + " FROM t" },
		"conditions":   func(n int) string { return "SELECT a FROM t WHERE " + list(n, " AND ", "a <> $") },
		"alternatives": func(n int) string { return "SELECT a FROM t WHERE " + list(n, " OR ", "b = $") },
		"branches":     func(n int) string { return "SELECT CASE " + list(n, " ", "WHEN a = $ THEN '$'") + " END FROM t" },
		"columns":      func(n int) string { return "SELECT " + list(n, ", ", "a + $ AS c$") + " FROM t" },
		"tables":       func(n int) string { return list(n, " UNION ALL ", "SELECT a + $ FROM t") },
		"aggregates":   func(n int) string { return "SELECT " + list(n, " + ", "sum(a + $)") + " FROM t GROUP BY b" },
		"aggregates above": func(n int) string {
			return "SELECT b FROM t GROUP BY b HAVING " + list(n, " + ", "max(a + $)") + " > 0"
		},
	} {
		t.Run(name, func(t *testing.T) {
			few, many := allocations(t, w, statement(100)), allocations(t, w, statement(400))
			if many > 5*few {
				t.Errorf("%.0f allocations for 100 parts, %.0f for 400", few, many)
			}
		})
	}
}

// allocations is how often the analysis of a statement asks for memory.
func allocations(t *testing.T, w *world, statement string) float64 {
	t.Helper()
	parsed, err := sql.Parse(statement)
	if err != nil {
		t.Fatal(err)
	}
	return testing.AllocsPerRun(1, func() {
		if _, err := analyzer(w).Resolve(context.Background(), parsed); err != nil {
			t.Fatal(err)
		}
	})
}
