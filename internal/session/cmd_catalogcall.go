package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// caller answers one method of pyspark.sql.Catalog.
type caller struct {
	columns []plan.Field
	rows    func(context.Context, *Session, *plan.CatalogCall) ([][]plan.Value, error)
}

func callers() map[plan.CatalogMethod]caller {
	names := plan.Col("namespace", plan.Array(plan.String, true))
	value := []plan.Field{nullText("value")}
	none := []plan.Field{text("value")}
	bit := []plan.Field{yesNo("value")}
	catalogs := []plan.Field{nullText("name"), nullText("description")}
	databases := []plan.Field{nullText("name"), nullText("catalog"), nullText("description"),
		nullText("locationUri")}
	tables := []plan.Field{nullText("name"), nullText("catalog"), names, nullText("description"),
		nullText("tableType"), yesNo("isTemporary")}
	columns := []plan.Field{nullText("name"), nullText("description"), nullText("dataType"), yesNo("nullable"),
		yesNo("isPartition"), yesNo("isBucket"), yesNo("isCluster")}
	functions := []plan.Field{nullText("name"), nullText("catalog"), names, nullText("description"),
		nullText("className"), yesNo("isTemporary")}
	return map[plan.CatalogMethod]caller{
		plan.CatalogCurrentDatabase:    {value, callCurrentDatabase},
		plan.CatalogSetCurrentDatabase: {none, callSetDatabase},
		plan.CatalogListDatabases:      {databases, callListDatabases},
		plan.CatalogGetDatabase:        {databases, callGetDatabase},
		plan.CatalogDatabaseExists:     {bit, callDatabaseExists},
		plan.CatalogListTables:         {tables, callListTables},
		plan.CatalogListViews:          {tables, callListViews},
		plan.CatalogGetTable:           {tables, callGetTable},
		plan.CatalogTableExists:        {bit, callTableExists},
		plan.CatalogListColumns:        {columns, callListColumns},
		plan.CatalogListFunctions:      {functions, callListFunctions},
		plan.CatalogGetFunction:        {functions, callGetFunction},
		plan.CatalogFunctionExists:     {bit, callFunctionExists},
		plan.CatalogCurrentCatalog:     {value, callCurrentCatalog},
		plan.CatalogSetCurrentCatalog:  {none, callSetCatalog},
		plan.CatalogListCatalogs:       {catalogs, callListCatalogs},
		plan.CatalogDropTempView:       {bit, callDropTempView},
		plan.CatalogDropGlobalTempView: {bit, callDropGlobalTempView},
		plan.CatalogIsCached:           {bit, callIsCached},
	}
}

func catalogCallSchema(c *plan.CatalogCall) plan.Type {
	return plan.Struct(callers()[c.Method].columns...)
}

func catalogCall(ctx context.Context, s *Session, c *plan.CatalogCall) (*Result, error) {
	rows, err := callers()[c.Method].rows(ctx, s, c)
	if err != nil {
		return nil, err
	}
	return answer(catalogCallSchema(c), rows...), nil
}

func one(v plan.Value) [][]plan.Value { return [][]plan.Value{{v}} }

func callCurrentCatalog(_ context.Context, s *Session, _ *plan.CatalogCall) ([][]plan.Value, error) {
	name, _ := s.current()
	return one(name), nil
}

func callCurrentDatabase(_ context.Context, s *Session, _ *plan.CatalogCall) ([][]plan.Value, error) {
	_, name := s.current()
	return one(name), nil
}

func callSetCatalog(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	return nil, s.useCatalog(c.Name)
}

func callSetDatabase(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := sql.ParseName(c.Database)
	if err != nil {
		return nil, err
	}
	return nil, s.useSchema(parts)
}

func callListCatalogs(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, name := range s.engine.catalog.Catalogs() {
		if matches(name) {
			rows = append(rows, []plan.Value{name, nil})
		}
	}
	return rows, nil
}

func (s *Session) databaseRow(schema catalog.Schema) []plan.Value {
	return []plan.Value{schema.Name, schema.Catalog, schemaComment(schema), s.engine.schemaLocation(schema)}
}

func callListDatabases(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	catalogName, _ := s.current()
	schemas, err := s.engine.catalog.Schemas(catalogName)
	if err != nil {
		return nil, err
	}
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, schema := range schemas {
		if matches(schema.Name) {
			rows = append(rows, s.databaseRow(schema))
		}
	}
	return rows, nil
}

// database finds the schema that a call names.
func (s *Session) database(name string) (catalog.Schema, error) {
	parts, err := sql.ParseName(name)
	if err != nil {
		return catalog.Schema{}, err
	}
	catalogName, schema, err := s.schemaID(parts)
	if err != nil {
		return catalog.Schema{}, err
	}
	return s.engine.catalog.Schema(catalogName, schema)
}

func callGetDatabase(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	schema, err := s.database(c.Database)
	if err != nil {
		return nil, err
	}
	return [][]plan.Value{s.databaseRow(schema)}, nil
}

func callDatabaseExists(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	_, err := s.database(c.Database)
	if e, ok := err.(*plan.Error); ok && strings.HasPrefix(e.Class, plan.ClassParse) {
		return nil, err
	}
	return one(err == nil), nil
}

func tableRow(t *catalog.Table) []plan.Value {
	row := []plan.Value{t.Name, t.ID.Catalog, []plan.Value{t.ID.Schema}, nil, kindOf(t), false}
	if t.Comment != "" {
		row[3] = t.Comment
	}
	return row
}

func viewRow(v *view) []plan.Value {
	space := []plan.Value{}
	for _, part := range v.name[:len(v.name)-1] {
		space = append(space, part)
	}
	return []plan.Value{v.name[len(v.name)-1], nil, space, nil, "TEMPORARY", true}
}

func callListTables(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	return s.callList(c, func(*catalog.Table) bool { return true })
}

func callListViews(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	return s.callList(c, (*catalog.Table).IsView)
}

func (s *Session) callList(c *plan.CatalogCall, wanted func(*catalog.Table) bool) ([][]plan.Value, error) {
	var in []string
	if c.Database != "" {
		var err error
		if in, err = sql.ParseName(c.Database); err != nil {
			return nil, err
		}
	}
	schema, tables, err := s.entries(in)
	if err != nil {
		return nil, err
	}
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, t := range tables {
		if wanted(t) && matches(t.Name) {
			rows = append(rows, tableRow(t))
		}
	}
	for _, v := range s.tempViews(schema) {
		if matches(v.name[len(v.name)-1]) {
			rows = append(rows, viewRow(v))
		}
	}
	return rows, nil
}

// calledTable is the name of the table that a call is about.
func calledTable(c *plan.CatalogCall) ([]string, error) {
	parts, err := sql.ParseName(c.Name)
	if err != nil || c.Database == "" {
		return parts, err
	}
	in, err := sql.ParseName(c.Database)
	return append(in, parts...), err
}

func callGetTable(ctx context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	if v := s.findView(parts); v != nil {
		m := *v
		m.name = parts
		return [][]plan.Value{viewRow(&m)}, nil
	}
	d, err := s.describedTable(ctx, parts, s.statementPath())
	if err != nil {
		return nil, err
	}
	return [][]plan.Value{tableRow(d.table)}, nil
}

func callTableExists(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	if s.findView(parts) != nil {
		return one(true), nil
	}
	id, err := s.tableID(parts)
	return one(err == nil && s.engine.find(id) != nil), nil
}

func callListColumns(ctx context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	d, err := s.describedTable(ctx, parts, s.statementPath())
	if err != nil {
		return nil, err
	}
	var rows [][]plan.Value
	for _, f := range d.schema.Fields {
		row := []plan.Value{
			f.Name, nil, f.Type.Simple(), f.Nullable, slices.Contains(d.partitions, f.Name), false, false,
		}
		if comment := f.Comment(); comment != "" {
			row[1] = comment
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// functionRow is a function as the client's Function object shows it.
func functionRow(name, description, class string) []plan.Value {
	return []plan.Value{name, nil, nil, description, class, true}
}

func (s *Session) function(name string) []plan.Value {
	if f, ok := function.Lookup(fold(name)); ok && !f.Hidden {
		return functionRow(fold(name), usage(f), "weir."+f.Group)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.functions[fold(name)]; f != nil {
		return functionRow(f.Name, "", "python")
	}
	return nil
}

func callListFunctions(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	if c.Database != "" {
		if _, err := s.database(c.Database); err != nil {
			return nil, err
		}
	}
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, name := range s.functionNames("ALL") {
		if matches(name) {
			rows = append(rows, s.function(name))
		}
	}
	return rows, nil
}

func callGetFunction(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	if row := s.function(parts[len(parts)-1]); row != nil {
		return [][]plan.Value{row}, nil
	}
	return nil, plan.AnalysisError("UNRESOLVED_ROUTINE", "There is no function "+plan.QuoteParts(parts)+".",
		"routineName", plan.QuoteParts(parts), "searchPath", s.queryPath())
}

func callFunctionExists(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	return one(s.function(parts[len(parts)-1]) != nil), nil
}

func callDropTempView(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	return one(s.dropView(c.Name, false)), nil
}

func callDropGlobalTempView(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	return one(s.dropView(c.Name, true)), nil
}

func callIsCached(_ context.Context, s *Session, c *plan.CatalogCall) ([][]plan.Value, error) {
	parts, err := calledTable(c)
	if err != nil {
		return nil, err
	}
	name := fold(parts[len(parts)-1])
	if s.findView(parts) == nil {
		t, err := s.table(parts, "isCached")
		if err != nil {
			return nil, err
		}
		name = t.ID.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return one(s.marked[name]), nil
}
