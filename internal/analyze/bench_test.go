package analyze_test

import (
	"context"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// BenchmarkSelectOfTenColumns analyses SELECT of ten expressions over a table
// of ten columns with a filter.
func BenchmarkSelectOfTenColumns(b *testing.B) {
	schema, err := sql.ParseSchema("a int, b int, c int, d int, e int, f int, g int, h int, i int, j int")
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld()
	w.tables["t"] = &plan.Scan{Relation: plan.Relation{Format: "parquet", Schema: schema}}
	n, err := sql.Parse("SELECT a, b, c + 1 AS c, d, e * 2 AS e, f, g, h - i AS h, i, j = 1 AS j FROM t " +
		"WHERE a > 1")
	if err != nil {
		b.Fatal(err)
	}
	a := analyzer(w)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Resolve(context.Background(), n); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSelectOfThousandColumns shows that wide tables cost in proportion.
func BenchmarkSelectOfThousandColumns(b *testing.B) {
	const columns = 1000
	fields := make([]plan.Field, columns)
	list := make([]plan.Expr, columns)
	for i := range fields {
		name := "column_" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		fields[i] = plan.Col(name, plan.Int)
		list[i] = &plan.UnresolvedAttribute{Parts: []string{name}}
	}
	w := newWorld()
	w.tables["t"] = &plan.Scan{Relation: plan.Relation{Format: "parquet", Schema: plan.Struct(fields...)}}
	n := plan.NewProject(&plan.NamedTable{Name: []string{"t"}}, list...)
	a := analyzer(w)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Resolve(context.Background(), n); err != nil {
			b.Fatal(err)
		}
	}
}
