package analyze

import (
	"context"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Names answers what analysis asks about the world outside the query.
type Names interface {
	// Table finds a table or view by name. A view answers its plan, which may be
	// unresolved; a table a Scan whose Attrs are not given yet. An unknown name
	// is TABLE_OR_VIEW_NOT_FOUND.
	Table(ctx context.Context, t *plan.NamedTable) (plan.Node, error)
	// Relation finds the schema of what a reader names.
	Relation(ctx context.Context, r *plan.Read) (*plan.Relation, error)
	// Cached finds a DataFrame the session holds by id.
	Cached(id string) (plan.Node, error)
	// Function finds a function the session registered; nil when there is none.
	Function(name string) *plan.PythonUDF
	// SearchPath is the list of namespaces that errors about unknown names show.
	SearchPath() string
}

// TableFunctions answers what analysis asks about table functions of users.
type TableFunctions interface {
	// TableFunction finds one that the session registered; nil when there is none.
	TableFunction(name string) *plan.PythonUDF
	// AnalyzeTable asks the method analyze of a function about a call of it.
	AnalyzeTable(ctx context.Context, c *plan.TableCall) (*plan.TableAnalysis, error)
}

// Analyzer resolves plans for one session.
type Analyzer struct {
	Names         Names
	From          TableFunctions // nil: there are none
	Eval          *function.Env
	IDs           *plan.IDs
	CaseSensitive bool // spark.sql.caseSensitive
	// Column computes the only column of a relation that is ready to run. Nil: a plan
	// that asks for rows while it is analyzed is refused.
	Column func(ctx context.Context, n plan.Node) ([]plan.Value, error)
	// PivotMost is spark.sql.pivotMaxValues.
	PivotMost int
	// TransposeMost is spark.sql.transposeMaxValues.
	TransposeMost int
}
