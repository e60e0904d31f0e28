package analyze_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// The wanted numbers are how Spark 4.3 logs the offsets of these queries over
// two streams: one for each scan that is written, those of named queries first.
func TestPlacesOfStreamsAreThoseOfSparksLogs(t *testing.T) {
	w := newWorld()
	schema := plan.Struct(plan.Col("id", plan.Int))
	for _, name := range []string{"a", "b"} {
		w.tables[name] = &plan.Read{Format: "json", Schema: &schema, Paths: []string{name}, Streaming: true}
	}
	view, err := sql.Parse("with x as (select id from a) select * from x union all select * from x")
	if err != nil {
		t.Fatal(err)
	}
	w.tables["v"] = view
	for text, want := range map[string]string{
		"select id from a union all select id from a":                                         "a1 a2",
		"with x as (select id from a) select id from x union all select id * 10 from x":       "a1 a1",
		"with x as (select id from a) select id from b union all select id from x":            "b2 a1",
		"with x as (select id from a) select * from x union all select id from a":             "a1 a2",
		"with x as (select id from a) select l.id from x l join x r on l.id = r.id":           "a1 a1",
		"select * from v union all select * from v":                                           "a1 a1 a2 a2",
		"with x as (select * from v) select * from x union all select * from x":               "a1 a1 a1 a1",
		"with x as (select id from a union all select id from a) select * from x, x y":        "a1 a2 a1 a2",
		"select * from b union all (with x as (select id from a) select x.id from x, x as y)": "b1 a2 a2",
		"with x as (select id from a), y as (select * from x union all select * from x) " +
			"select * from y union all select * from y": "a1 a1 a1 a1",
		"with x as (select id from a), y as (select id from x), z as (select id from b) " +
			"select * from z union all select * from y union all select * from x": "b2 a1 a1",
		"with x as (with w as (select id from b) select id from w union all select id from a) " +
			"select * from x union all select * from x": "b1 a2 b1 a2",
	} {
		n, err := sql.Parse(text)
		if err == nil {
			n, err = analyzer(w).Resolve(context.Background(), n)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var places []string
		plan.WalkNodes(n, func(m plan.Node) bool {
			if s, ok := m.(*plan.Scan); ok {
				places = append(places, fmt.Sprint(s.Relation.Paths[0], s.Place))
			}
			return true
		})
		if got := strings.Join(places, " "); got != want {
			t.Errorf("%s\ngot %s, want %s", text, got, want)
		}
	}
}
