package plan_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// The schemas and texts were recorded from Spark 4.3.
func TestTreeStringIsPrintSchema(t *testing.T) {
	data, err := os.ReadFile("testdata/printschema.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c struct {
			JSON, Text string
			Depth      int
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		schema, err := plan.ParseTypeJSON(c.JSON)
		if err != nil {
			t.Errorf("%s: %v", c.JSON, err)
			continue
		}
		for i, f := range schema.Fields {
			if f.Name == "collated" { // the JSON keeps collations in metadata, and the text has none
				schema.Fields[i].Type.Collation = "UNICODE_CI"
			}
		}
		if diff := cmp.Diff(c.Text, plan.TreeString(schema, c.Depth)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.JSON, diff)
		}
	}
}

func TestTreeStringStopsAtDepth(t *testing.T) {
	schema := plan.Struct(plan.Col("a", plan.Struct(plan.Col("b", plan.Array(plan.Int, true)))))
	want := "root\n |-- a: struct (nullable = true)\n |    |-- b: array (nullable = true)\n"
	if got := plan.TreeString(schema, 2); got != want {
		t.Errorf("got %q", got)
	}
}

func TestExplainHasSparksSections(t *testing.T) {
	id := &plan.Attribute{Name: "id", Of: plan.Long, ID: 7}
	r := &plan.Range{End: 3, Step: 1, Attr: id}
	more := &plan.Alias{Child: call("+", id, plan.Lit(int64(1), plan.Int)), Names: []string{"x"}, ID: 9}
	cond := call("=", plan.ToAttribute(more), id)
	join := &plan.Join{Left: plan.NewProject(r, more), Right: r, Kind: plan.LeftJoin, Cond: cond}
	tree := strings.Join([]string{
		"Join LeftOuter, (x#9 = id#7)",
		":- Project [(id#7 + 1) AS x#9]",
		":  +- Range (0, 3, step=1)",
		"+- Range (0, 3, step=1)", ""}, "\n")
	a := &plan.UnresolvedAttribute{Parts: []string{"a"}}
	parsed := plan.NewProject(&plan.NamedTable{Name: []string{"t"}}, a)
	cases := map[plan.ExplainMode]string{
		plan.ExplainSimple:    "== Physical Plan ==\n" + tree,
		plan.ExplainFormatted: "== Physical Plan ==\n" + tree,
		plan.ExplainCost:      "== Optimized Logical Plan ==\n" + tree + "\n== Physical Plan ==\n" + tree,
		plan.ExplainExtended: "== Parsed Logical Plan ==\n'Project ['a]\n+- 'UnresolvedRelation [t], [], false\n" +
			"\n== Analyzed Logical Plan ==\nx: bigint, id: bigint\n" + tree +
			"\n== Optimized Logical Plan ==\n" + tree + "\n== Physical Plan ==\n" + tree,
	}
	more.Child.(*plan.Call).Of = plan.Long
	for mode, want := range cases {
		if diff := cmp.Diff(want, plan.ExplainText(parsed, join, mode, plan.NodeText(join))); diff != "" {
			t.Errorf("mode %d (-want +got):\n%s", mode, diff)
		}
	}
}
