package analyze_test

import (
	"context"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// world is a small in-memory Names.
type world struct {
	tables   map[string]plan.Node // by lower-case dotted name
	cached   map[string]plan.Node
	schemas  map[string]plan.Type // of formats, for readers
	function map[string]*plan.PythonUDF
}

func newWorld() *world {
	return &world{
		tables: map[string]plan.Node{}, cached: map[string]plan.Node{},
		schemas: map[string]plan.Type{}, function: map[string]*plan.PythonUDF{},
	}
}

func (w *world) Table(_ context.Context, t *plan.NamedTable) (plan.Node, error) {
	n, ok := w.tables[strings.ToLower(strings.Join(t.Name, "."))]
	if !ok {
		name := plan.QuoteParts(t.Name)
		return nil, plan.AnalysisError("TABLE_OR_VIEW_NOT_FOUND", "there is no table "+name+".",
			"relationName", name, "searchPath", w.SearchPath()).At(t.Origin)
	}
	return n, nil
}

func (w *world) Relation(_ context.Context, r *plan.Read) (*plan.Relation, error) {
	schema := w.schemas[r.Format]
	if r.Schema != nil {
		schema = r.Schema.AsNullable()
	}
	out := &plan.Relation{Format: r.Format, Schema: schema, Options: r.Options, Paths: r.Paths}
	if r.Format == "json" {
		file := plan.Struct(plan.Field{Name: "file_name", Type: plan.String})
		out.Metadata = []plan.Field{{Name: "_metadata", Type: file}}
	}
	return out, nil
}

func (w *world) Cached(id string) (plan.Node, error) { return w.cached[id], nil }

func (w *world) Function(name string) *plan.PythonUDF { return w.function[strings.ToLower(name)] }

func (w *world) SearchPath() string {
	return "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`oracle_db`]"
}

func analyzer(w *world) *analyze.Analyzer {
	return &analyze.Analyzer{Names: w, IDs: new(plan.IDs), Eval: &function.Env{
		ANSI: true, Zone: time.UTC, Now: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro(),
		Conf: func(string) string { return "" }}}
}
