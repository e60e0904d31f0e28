package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
)

// view is a temporary view: a relation whose names are bound, so that it means
// the same wherever it is used, and the schema it had.
type view struct {
	name      []string // as made; of global ones the last part
	plan      plan.Node
	schema    plan.Type
	streaming bool
	comment   string
}

// findView finds the temporary view of a name, nil when there is none.
func (s *Session) findView(parts []string) *view {
	switch {
	case len(parts) == 1:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.views[fold(parts[0])]
	case len(parts) == 2 && fold(parts[0]) == globalSchema:
		s.engine.mu.Lock()
		defer s.engine.mu.Unlock()
		return s.engine.globalViews[fold(parts[1])]
	default:
		return nil
	}
}

// putView adds a temporary view; it reports false when the name is taken and
// replace is not set.
func (s *Session) putView(v *view, global, replace bool) bool {
	name := fold(v.name[len(v.name)-1])
	mu, views := &s.mu, s.views
	if global {
		mu, views = &s.engine.mu, s.engine.globalViews
	}
	mu.Lock()
	defer mu.Unlock()
	if views[name] != nil && !replace {
		return false
	}
	views[name] = v
	return true
}

// dropView removes a temporary view and reports whether there was one.
func (s *Session) dropView(name string, global bool) bool {
	mu, views := &s.mu, s.views
	if global {
		mu, views = &s.engine.mu, s.engine.globalViews
	}
	mu.Lock()
	defer mu.Unlock()
	_, had := views[fold(name)]
	delete(views, fold(name))
	return had
}

// CreateView makes a view, temporary or of the catalog.
func (s *Session) CreateView(ctx context.Context, c *plan.CreateView) error {
	sc, err := s.begin()
	if err != nil {
		return err
	}
	if c.Temporary {
		return sc.createTempView(ctx, c)
	}
	return sc.createCatalogView(ctx, c)
}

func (sc *scope) createTempView(ctx context.Context, c *plan.CreateView) error {
	s := sc.session
	name, err := tempViewName(c.Name)
	if err != nil {
		return err
	}
	shown := name
	if c.Global {
		shown = []string{globalSchema, name[0]}
	}
	if !c.Replace && s.findView(shown) != nil {
		if c.IfNotExists {
			return nil
		}
		return tempViewExists(shown)
	}
	bound := newBinder(sc.session, true).node(c.Query)
	if c.Text == "" { // of a frame or USING; the text of a query is analysed anew whenever it is used
		if bound, err = (names{sc}).listed(ctx, bound); err != nil {
			return err
		}
	}
	resolved, err := sc.analyzer().Resolve(ctx, bound)
	if err != nil {
		return err
	}
	schema := plan.SchemaOf(resolved.Output())
	if len(c.Columns) > 0 {
		if schema, err = renamed(schema, c.Columns, name); err != nil {
			return err
		}
		bound = plan.NewRenameAll(bound, c.Columns)
	}
	// A frame may have two columns of a name; who names one then is told.
	if err := sc.distinctColumns(schema); err != nil && c.Text != "" {
		return err
	}
	v := &view{
		name: name, plan: bound, schema: schema, streaming: plan.Streaming(resolved), comment: c.Comment,
	}
	if !s.putView(v, c.Global, c.Replace) {
		return tempViewExists(shown)
	}
	return nil
}

// tempViewName is the last part of a temporary view's name; the namespace of the
// session's objects may stand before it.
func tempViewName(parts []string) ([]string, error) {
	last := len(parts) - 1
	switch fold(strings.Join(parts[:last], ".")) {
	case "", "session", "system.session":
		return parts[last:], nil
	}
	e := plan.NewError(plan.ClassParse, "INVALID_TEMP_OBJ_QUALIFIER",
		"A temporary view has a name of one part, which "+plan.QuoteParts(parts)+" is not.",
		"objectType", "VIEW", "objectName", plan.Quote(parts[last]), "qualifier", plan.QuoteParts(parts[:last]))
	return nil, e
}

// renamed is a schema under the names of CREATE VIEW v (a, b).
func renamed(schema plan.Type, names, viewName []string) (plan.Type, error) {
	if len(names) != len(schema.Fields) {
		sub := "NOT_ENOUGH_DATA_COLUMNS"
		if len(names) < len(schema.Fields) {
			sub = "TOO_MANY_DATA_COLUMNS"
		}
		return plan.Type{}, plan.AnalysisError("CREATE_VIEW_COLUMN_ARITY_MISMATCH."+sub,
			fmt.Sprintf("the view %s names %d columns and its query has %d.",
				plan.QuoteParts(viewName), len(names), len(schema.Fields)),
			"viewName", plan.QuoteParts(viewName), "viewColumns", quotedList(names),
			"dataColumns", quotedList(fieldNames(schema)))
	}
	out := plan.Struct(append([]plan.Field(nil), schema.Fields...)...)
	for i, name := range names {
		out.Fields[i].Name = name
	}
	return out, nil
}

func fieldNames(schema plan.Type) []string {
	names := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		names[i] = f.Name
	}
	return names
}

// quotedList is `a`, `b`.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = plan.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// distinctColumns refuses a schema with two columns of one name.
func (sc *scope) distinctColumns(schema plan.Type) error {
	seen := map[string]bool{}
	for _, f := range schema.Fields {
		name := f.Name
		if !sc.conf.Flag(settings.CaseKey) {
			name = fold(name)
		}
		if seen[name] {
			return columnExists(name)
		}
		seen[name] = true
	}
	return nil
}

// createCatalogView stores the text of a view with the names that it is read
// under.
func (sc *scope) createCatalogView(ctx context.Context, c *plan.CreateView) error {
	s := sc.session
	id, err := s.tableID(c.Name)
	if err != nil {
		return err
	}
	if _, err := s.engine.catalog.Schema(id.Catalog, id.Schema); err != nil {
		return err
	}
	old := s.engine.find(id)
	switch {
	case old == nil:
	case !old.IsView():
		return plan.AnalysisError("EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
			plan.QuoteParts(id.Parts())+" is a table and no view.",
			"tableName", plan.QuoteParts(id.Parts()), "operation", "CREATE OR REPLACE VIEW")
	case c.IfNotExists:
		return nil
	case !c.Replace:
		return tableExists(id)
	}
	schema, err := sc.viewSchema(ctx, id, c)
	if err != nil {
		return err
	}
	catalogName, schemaName := s.current()
	entry := catalog.Table{
		ID: id, SchemaJSON: schema.JSON(), Comment: c.Comment, CreatedMs: sc.eval.Now / 1000,
		ViewText: c.Text, ViewCatalog: catalogName, ViewSchema: schemaName,
	}
	if c.Replace {
		return s.engine.catalog.ReplaceTable(entry)
	}
	return forgive(s.engine.catalog.CreateTable(entry), c.IfNotExists, "TABLE_OR_VIEW_ALREADY_EXISTS")
}

// viewSchema analyses the query of a catalog's view, which may not mean
// anything that ends with the session.
func (sc *scope) viewSchema(ctx context.Context, id plan.TableID, c *plan.CreateView) (plan.Type, error) {
	b := newBinder(sc.session, true)
	bound := b.node(c.Query)
	resolved, err := sc.analyzer().Resolve(ctx, bound)
	if err != nil {
		return plan.Type{}, err
	}
	if len(b.temporary) > 0 {
		return plan.Type{}, plan.AnalysisError("INVALID_TEMP_OBJ_REFERENCE",
			fmt.Sprintf("the view %s would outlive the temporary view %s that it reads.",
				plan.QuoteParts(id.Parts()), plan.QuoteParts(b.temporary)),
			"obj", "VIEW", "objName", plan.QuoteParts(id.Parts()),
			"tempObj", "VIEW", "tempObjName", plan.QuoteParts(b.temporary))
	}
	schema := plan.SchemaOf(resolved.Output())
	if len(c.Columns) > 0 {
		if schema, err = renamed(schema, c.Columns, id.Parts()); err != nil {
			return plan.Type{}, err
		}
	}
	return schema, sc.distinctColumns(schema)
}
