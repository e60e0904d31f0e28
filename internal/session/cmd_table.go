package session

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/plan"
)

// createTable is CREATE [OR REPLACE] TABLE and REPLACE TABLE, with or without
// a query.
func createTable(ctx context.Context, s *Session, c *plan.CreateTable) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if f := sc.formatOfPath(c.Name); f != nil {
		return empty(), sc.createAt(ctx, c, f)
	}
	id, err := s.tableID(c.Name)
	if err != nil {
		return nil, err
	}
	if _, err := s.engine.catalog.Schema(id.Catalog, id.Schema); err != nil {
		return nil, err
	}
	old := s.engine.find(id)
	switch {
	case c.Replace:
		return empty(), sc.replaceTable(ctx, c, id, old)
	case old != nil && c.IfNotExists:
		return empty(), nil
	case old != nil:
		return nil, tableExists(id)
	}
	t, err := sc.newTable(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return empty(), forgive(sc.create(ctx, t), c.IfNotExists, "TABLE_OR_VIEW_ALREADY_EXISTS")
}

func (sc *scope) replaceTable(ctx context.Context, c *plan.CreateTable, id plan.TableID, old *catalog.Table,
) error {
	f, err := sc.formatOf(c.Format, id)
	if err != nil {
		return err
	}
	if id.Catalog == catalog.SparkCatalog && !selfDescribing(f.Name) {
		return plan.TableOperation(id, "REPLACE TABLE")
	}
	if old == nil && !c.OrCreate {
		return catalog.TableNotFound(id.Parts(), sc.session.dropPath())
	}
	if old != nil && old.IsView() {
		return expectTable(id.Parts(), "REPLACE TABLE")
	}
	t, err := sc.newTable(ctx, c, id)
	if err != nil {
		return err
	}
	if old == nil {
		return sc.create(ctx, t)
	}
	return sc.replace(ctx, old, t)
}

// newTable checks a table and compiles its query, if there is one.
func (sc *scope) newTable(ctx context.Context, c *plan.CreateTable, id plan.TableID) (*newTable, error) {
	m := *c
	m.Partitions = slices.Clone(c.Partitions)
	if c.Query == nil {
		return sc.prepare(ctx, &m, id)
	}
	if len(c.Clustering) > 0 {
		return nil, plan.Unsupported("The clause CLUSTER BY of a table that takes its rows from a query")
	}
	query, err := sc.batch(ctx, c.Query)
	if err != nil {
		return nil, err
	}
	m.Schema = plan.SchemaOf(query.Output()).AsNullable()
	m.Schema = plan.RestoreLengths(m.Schema)
	for i := range m.Schema.Fields {
		m.Schema.Fields[i].Metadata = keptMetadata(m.Schema.Fields[i])
	}
	t, err := sc.prepare(ctx, &m, id)
	if err != nil {
		return nil, err
	}
	exprs := make([]plan.Expr, len(t.schema.Fields))
	for i, f := range t.schema.Fields {
		exprs[i] = query.Output()[slices.IndexFunc(m.Schema.Fields, func(g plan.Field) bool {
			return g.Name == f.Name
		})]
	}
	r, err := sc.run(ctx, plan.NewProject(query, exprs...))
	if err != nil {
		return nil, err
	}
	t.rows = r.Rows
	return t, nil
}

// keptMetadata is what a table keeps of a column's metadata: its comment. That
// a name was generated ends with the query.
func keptMetadata(f plan.Field) string {
	comment := f.Comment()
	f.Metadata = ""
	if comment == "" {
		return ""
	}
	return f.WithComment(comment).Metadata
}

// dropTable is DROP TABLE, which drops views too, and DROP VIEW.
func dropTable(_ context.Context, s *Session, c *plan.DropTable) (*Result, error) {
	if s.findView(c.Name) != nil {
		s.dropView(c.Name[len(c.Name)-1], len(c.Name) == 2)
		return empty(), nil
	}
	id, err := s.tableID(c.Name)
	if err != nil {
		return nil, err
	}
	t := s.engine.find(id)
	switch {
	case t == nil && c.IfExists:
		return empty(), nil
	case t == nil:
		return nil, catalog.TableNotFound(id.Parts(), s.dropPath())
	case c.View && !t.IsView():
		return nil, notAView(t)
	}
	dropped, err := s.engine.catalog.DropTable(id)
	if err == nil && !dropped && !c.IfExists { // another session was faster
		return nil, catalog.TableNotFound(id.Parts(), s.dropPath())
	}
	return empty(), err
}

func notAView(t *catalog.Table) *plan.Error {
	return plan.AnalysisError("WRONG_COMMAND_FOR_OBJECT_TYPE",
		"DROP VIEW is not for "+t.ID.String()+", which is a table; use DROP TABLE.",
		"operation", "DROP VIEW", "requiredType", "VIEW or METRIC_VIEW", "objectName", t.ID.String(),
		"foundType", kindOf(t), "alternative", "DROP TABLE")
}

// kindOf is the type of a table in Spark's words.
func kindOf(t *catalog.Table) string {
	switch {
	case t.IsView():
		return "VIEW"
	case t.External:
		return "EXTERNAL"
	default:
		return "MANAGED"
	}
}
