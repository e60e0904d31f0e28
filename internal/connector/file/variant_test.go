package file

import (
	"errors"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// shownRows are the rows of variants and texts as their columns print them.
func shownRows(t *testing.T, env *connector.Env, rows chunk.Rows) (out [][]string) {
	t.Helper()
	chunks, err := chunk.Collect(rows)
	conform.Must(t, err)
	style := codec.TextStyle{Zone: codec.NewOffsets(env.Eval.Zone)}
	for _, c := range chunks {
		for i := range c.Rows {
			var row []string
			for _, col := range c.Cols {
				text := "NULL"
				if !col.IsNull(i) {
					text = string(style.AppendValue(nil, col, i))
				}
				row = append(row, text)
			}
			out = append(out, row)
		}
	}
	return out
}

// Spark 4.3.0 read these lines so.
func TestVariantsAreReadFromJSONAsBySpark(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", `{"v":{"x":[1,2.50]},"w":"1"}
{"v":null,"w":"2"}
{"w":"3"}
{"v":1
x

[{"v":7},{"v":8}]
{"v":{"a":1,"a":2}}
{"v":[1,{}],"v":2}
5
null
`, 0)
	env := conform.NewEnv(t, fsys)
	schema := plan.Struct(plan.Col("v", plan.Variant), plan.Col("w", plan.String),
		plan.Col("_corrupt_record", plan.String))
	got := shownRows(t, env, formats.ScanAll(t, env,
		&plan.Read{Format: "json", Schema: &schema, Paths: []string{"/r/in"}}))
	testkit.Diff(t, "fields", got, [][]string{
		{`{"x":[1,2.5]}`, "1", "NULL"}, {"null", "2", "NULL"}, {"NULL", "3", "NULL"}, {"NULL", "NULL", `{"v":1`},
		{"NULL", "NULL", "x"}, {"7", "NULL", "NULL"}, {"8", "NULL", "NULL"}, {"NULL", "NULL", `{"v":{"a":1,"a":2}}`},
		{"2", "NULL", "NULL"}, {"NULL", "NULL", "5"}, {"NULL", "NULL", "null"},
	})
	whole := plan.Options{"singleVariantColumn": "v"}
	got = shownRows(t, env, formats.ScanAll(t, env, &plan.Read{Format: "json", Options: whole,
		Paths: []string{"/r/in"}}))
	testkit.Diff(t, "whole records", got, [][]string{
		{`{"v":{"x":[1,2.5]},"w":"1"}`}, {`{"v":null,"w":"2"}`}, {`{"w":"3"}`}, {"NULL"}, {"NULL"},
		{`[{"v":7},{"v":8}]`}, {"NULL"}, {"NULL"}, {"5"}, {"null"},
	})
	for _, other := range []plan.Type{
		plan.Struct(plan.Col("a", plan.Int)), plan.Struct(plan.Col("x", plan.Variant)),
		plan.Struct(plan.Col("v", plan.Variant), plan.Col("w", plan.Int)),
	} {
		_, err := JSON().Describe(t.Context(), env,
			&plan.Read{Format: "json", Schema: &other, Options: whole, Paths: []string{"/r/in"}})
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "INVALID_SINGLE_VARIANT_COLUMN" ||
			e.Args["schema"] != `"`+other.SQL()+`"` {
			t.Errorf("%s: %v", other.SQL(), err)
		}
	}
	rel, err := JSON().Describe(t.Context(), env,
		&plan.Read{Format: "json", Options: whole, Paths: []string{"/r/in"}, Streaming: true})
	conform.Must(t, err)
	testkit.Diff(t, "schema of a stream", rel.Schema.Simple(), "struct<v:variant>")
}
