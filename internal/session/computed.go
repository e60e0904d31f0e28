package session

import (
	"context"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// compute makes expressions over the columns of a table ready: those of generated
// columns, defaults and constraints.
func (sc *scope) compute(texts []string, columns plan.Type, now time.Time) (*connector.Computed, error) {
	exprs, attrs, err := sc.resolveOver(texts, columns)
	if err != nil {
		return nil, err
	}
	env := *sc.eval
	env.Now = now.UnixMicro()
	ev, err := eval.CompileAll(exprs, attrs, &env)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(attrs))
	for i, a := range attrs {
		places[i] = slices.IndexFunc(columns.Fields, func(f plan.Field) bool { return f.Name == a.Name })
	}
	return &connector.Computed{Exprs: exprs, Eval: func(c *chunk.Chunk) ([]*chunk.Vector, error) {
		in := &chunk.Chunk{Rows: c.Rows, Cols: make([]*chunk.Vector, len(places))}
		for i, at := range places {
			in.Cols[i] = c.Cols[at]
		}
		return ev.EvalAll(in, nil)
	}}, nil
}

// resolveOver resolves expressions over columns; attrs are those that they use.
func (sc *scope) resolveOver(texts []string, columns plan.Type,
) (exprs []plan.Expr, attrs []*plan.Attribute, err error) {
	list := make([]plan.Expr, len(texts))
	for i, text := range texts {
		e, err := sql.ParseExpr(text)
		if err != nil {
			return nil, nil, err
		}
		list[i] = plan.As(e, "value")
	}
	a := sc.analyzer()
	a.Names = rowsOf{names{sc}, columns}
	row := &plan.NamedTable{Name: []string{"row"}}
	resolved, err := a.Resolve(context.Background(), plan.NewProject(row, list...))
	if err != nil {
		return nil, nil, err
	}
	project, ok := resolved.(*plan.Project)
	if !ok {
		return nil, nil, plan.Unsupported("an aggregate or a subquery in an expression of a table: " + texts[0])
	}
	scan, ok := project.Input.(*plan.Scan)
	if !ok {
		return nil, nil, plan.Unsupported("an aggregate or a subquery in an expression of a table: " + texts[0])
	}
	for i, e := range project.Exprs {
		if alias, ok := e.(*plan.Alias); ok {
			e = alias.Child
		}
		if plan.Contains(e, func(e plan.Expr) bool { _, ok := e.(*plan.Subquery); return ok }) {
			return nil, nil, plan.Unsupported("a subquery in an expression of a table: " + texts[i])
		}
		if e, err = plan.Transform(e, unqualified); err != nil {
			return nil, nil, err
		}
		exprs = append(exprs, e)
	}
	return exprs, scan.Attrs, nil
}

// unqualified is a column without the name of the relation, which has none.
func unqualified(e plan.Expr) (plan.Expr, error) {
	if a, ok := e.(*plan.Attribute); ok && a.Qualifier != nil {
		plain := *a
		plain.Qualifier = nil
		return &plain, nil
	}
	return e, nil
}

// rowsOf is a world with one relation in it, whose rows are at hand.
type rowsOf struct {
	names
	columns plan.Type
}

// Table is the relation, whatever the name.
func (r rowsOf) Table(context.Context, *plan.NamedTable) (plan.Node, error) {
	return &plan.Scan{Relation: plan.Relation{Format: "row", Schema: r.columns}}, nil
}

// Function is no function of the session's: a table outlives it.
func (r rowsOf) Function(string) *plan.PythonUDF { return nil }
