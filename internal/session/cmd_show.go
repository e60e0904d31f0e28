package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// shower answers one kind of SHOW.
type shower struct {
	columns []plan.Field
	rows    func(context.Context, *Session, *plan.Show) ([][]plan.Value, error)
}

func showers() map[plan.ShowKind]shower {
	tables := []plan.Field{text("namespace"), text("tableName"), yesNo("isTemporary")}
	views := []plan.Field{text("namespace"), text("viewName"), yesNo("isTemporary")}
	return map[plan.ShowKind]shower{
		plan.ShowCatalogs:         {[]plan.Field{text("catalog")}, showCatalogs},
		plan.ShowSchemas:          {[]plan.Field{text("namespace")}, showSchemas},
		plan.ShowTables:           {tables, showTables},
		plan.ShowViews:            {views, showViews},
		plan.ShowVolumes:          {[]plan.Field{text("database"), text("volume_name")}, showVolumes},
		plan.ShowColumns:          {[]plan.Field{text("col_name")}, showColumns},
		plan.ShowFunctions:        {[]plan.Field{text("function")}, showFunctions},
		plan.ShowProperties:       {[]plan.Field{text("key"), text("value")}, showProperties},
		plan.ShowPartitions:       {[]plan.Field{text("partition")}, showPartitions},
		plan.ShowCreateTable:      {[]plan.Field{text("createtab_stmt")}, showCreateTable},
		plan.ShowCurrentNamespace: {[]plan.Field{text("catalog"), text("namespace")}, showCurrent},
	}
}

func showSchema(c *plan.Show) plan.Type { return plan.Struct(showers()[c.What].columns...) }

func show(ctx context.Context, s *Session, c *plan.Show) (*Result, error) {
	rows, err := showers()[c.What].rows(ctx, s, c)
	if err != nil {
		return nil, err
	}
	return answer(showSchema(c), rows...), nil
}

// listed are the names that a pattern matches, one a row.
func listed(names []string, pattern string) [][]plan.Value {
	matches := matcher(pattern)
	var rows [][]plan.Value
	for _, n := range names {
		if matches(n) {
			rows = append(rows, []plan.Value{n})
		}
	}
	return rows
}

func showCatalogs(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	return listed(s.engine.catalog.Catalogs(), c.Pattern), nil
}

func showSchemas(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	catalogName, _ := s.current()
	if len(c.In) > 0 {
		catalogName = fold(c.In[0])
	}
	schemas, err := s.engine.catalog.Schemas(catalogName)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, schema := range schemas {
		names = append(names, schema.Name)
	}
	return listed(names, c.Pattern), nil
}

// entries are the tables of the schema that a list is about, and its name; the
// schema of global temporary views has none.
func (s *Session) entries(in []string) (schema string, tables []*catalog.Table, err error) {
	if len(in) == 1 && fold(in[0]) == globalSchema {
		return globalSchema, nil, nil
	}
	catalogName, schema, err := s.schemaID(in)
	if err != nil {
		return "", nil, err
	}
	tables, err = s.engine.catalog.Tables(catalogName, schema)
	return schema, tables, err
}

// tempViews are the temporary views that a list about a schema shows, sorted:
// those of the session, and the global ones where it is their schema.
func (s *Session) tempViews(schema string) []*view {
	s.mu.Lock()
	local := maps.Clone(s.views)
	s.mu.Unlock()
	var out []*view
	if schema == globalSchema {
		s.engine.mu.Lock()
		global := maps.Clone(s.engine.globalViews)
		s.engine.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(global)) {
			v := *global[name]
			v.name = []string{globalSchema, name}
			out = append(out, &v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(local)) {
		v := *local[name]
		v.name = []string{name}
		out = append(out, &v)
	}
	return out
}

func showTables(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	return s.listTables(c, func(*catalog.Table) bool { return true })
}

func showViews(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	return s.listTables(c, (*catalog.Table).IsView)
}

func (s *Session) listTables(c *plan.Show, wanted func(*catalog.Table) bool) ([][]plan.Value, error) {
	schema, tables, err := s.entries(c.In)
	if err != nil {
		return nil, err
	}
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, t := range tables {
		if wanted(t) && matches(t.Name) {
			rows = append(rows, []plan.Value{schema, t.Name, false})
		}
	}
	for _, v := range s.tempViews(schema) {
		name, space := v.name[len(v.name)-1], ""
		if len(v.name) > 1 {
			space = globalSchema
		}
		if matches(name) {
			rows = append(rows, []plan.Value{space, name, true})
		}
	}
	return rows, nil
}

func showVolumes(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	catalogName, schema, err := s.schemaID(c.In)
	if err != nil {
		return nil, err
	}
	volumes, err := s.engine.catalog.Volumes(catalogName, schema)
	if err != nil {
		return nil, err
	}
	matches := matcher(c.Pattern)
	var rows [][]plan.Value
	for _, v := range volumes {
		if matches(v.Name) {
			rows = append(rows, []plan.Value{schema, v.Name})
		}
	}
	return rows, nil
}

func showColumns(ctx context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	d, err := s.describedTable(ctx, c.In, s.statementPath())
	if err != nil {
		return nil, err
	}
	return listed(fieldNames(d.schema), c.Pattern), nil
}

// functionNames are the names of the functions that users may call, sorted.
func (s *Session) functionNames(scope string) []string {
	var names []string
	if scope != "USER" {
		for _, f := range function.All() {
			if !f.Hidden {
				names = append(append(names, f.Name), f.Aliases...)
			}
		}
	}
	if scope != "SYSTEM" {
		s.mu.Lock()
		names = slices.AppendSeq(names, maps.Keys(s.functions))
		s.mu.Unlock()
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func showFunctions(_ context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	if len(c.In) > 0 {
		catalogName, schema, err := s.schemaID(c.In)
		if err != nil {
			return nil, err
		}
		if _, err := s.engine.catalog.Schema(catalogName, schema); err != nil {
			return nil, err
		}
	}
	return listed(s.functionNames(c.Key), c.Pattern), nil
}

func showProperties(ctx context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	properties, shown, err := s.properties(ctx, c.In)
	if err != nil {
		return nil, err
	}
	if c.Key != "" {
		value, ok := properties[c.Key]
		if !ok {
			value = fmt.Sprintf("Table %s does not have property: %s", shown, c.Key)
		}
		return [][]plan.Value{{c.Key, value}}, nil
	}
	var rows [][]plan.Value
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		rows = append(rows, []plan.Value{key, properties[key]})
	}
	return rows, nil
}

// properties are those of a table, and its name in the answer. Delta tables keep
// them themselves.
func (s *Session) properties(ctx context.Context, name []string) (map[string]string, string, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, "", err
	}
	if sc.formatOfPath(name) == nil {
		t, err := s.table(name, "SHOW TBLPROPERTIES")
		if err != nil {
			return nil, "", err
		}
		if t.IsView() || t.Format != deltaFormat {
			return t.Properties, t.ID.String(), nil
		}
	}
	t, snapshot, err := sc.loadDelta(ctx, name, "SHOW TBLPROPERTIES")
	if err != nil {
		return nil, "", err
	}
	shown := fmt.Sprintf("%s.%s.%s", catalog.SparkCatalog, deltaFormat, plan.Quote(t.Dir))
	if t.entry != nil {
		shown = t.entry.ID.String()
	}
	return snapshot.Properties(), shown, nil
}

func showCurrent(_ context.Context, s *Session, _ *plan.Show) ([][]plan.Value, error) {
	catalogName, schema := s.current()
	return [][]plan.Value{{catalogName, schema}}, nil
}

// showPartitions asks the table itself which values its partition columns have.
func showPartitions(ctx context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	t, err := s.realTable(c.In, "SHOW PARTITIONS")
	if err != nil {
		return nil, err
	}
	if len(t.Partitions) == 0 {
		return nil, plan.AnalysisError("INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
			"the table "+plan.QuoteParts(t.ID.Parts())+" is not partitioned.",
			"name", plan.QuoteParts(t.ID.Parts()))
	}
	columns := make([]plan.Expr, len(t.Partitions))
	for i, name := range t.Partitions {
		column := &plan.UnresolvedAttribute{Parts: []string{name}}
		columns[i] = &plan.Alias{
			Child: &plan.Cast{Child: column, To: plan.String}, Names: []string{name}, ID: s.engine.ids.Next(),
		}
	}
	project := plan.NewProject(&plan.NamedTable{Name: t.ID.Parts()}, columns...)
	r, err := s.Query(ctx, plan.NewDedup(project, nil, false))
	if err != nil {
		return nil, err
	}
	var names []string
	for c, err := range r.Rows {
		if err != nil {
			return nil, err
		}
		for i := range c.Rows {
			names = append(names, partitionName(t.Partitions, c.Row(i)))
		}
	}
	slices.Sort(names)
	return listed(names, ""), nil
}

// nullPartition is the directory name that stands for NULL.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

func partitionName(columns []string, values []plan.Value) string {
	parts := make([]string, len(columns))
	for i, name := range columns {
		value, ok := values[i].(string)
		if !ok || value == "" {
			value = nullPartition
		}
		parts[i] = escapePart(name) + "=" + escapePart(value)
	}
	return strings.Join(parts, "/")
}

// escapePart is a name or value as Hive writes it into paths.
func escapePart(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x20 || r == 0x7f || strings.ContainsRune("\"#%'*/:=?\\{[]^", r) {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func showCreateTable(ctx context.Context, s *Session, c *plan.Show) ([][]plan.Value, error) {
	if s.findView(c.In) != nil {
		return nil, plan.AnalysisError("EXPECT_PERMANENT_VIEW_NOT_TEMP",
			plan.QuoteParts(c.In)+" is a temporary view, which no statement can make again.",
			"operation", "SHOW CREATE TABLE", "viewName", plan.QuoteParts(c.In))
	}
	d, err := s.describedTable(ctx, c.In, s.statementPath())
	if err != nil {
		return nil, err
	}
	return [][]plan.Value{{createText(d.table, d.schema)}}, nil
}

// createText is the statement that makes a table again.
func createText(t *catalog.Table, schema plan.Type) string {
	var b strings.Builder
	name := dotted(t.ID.Parts())
	if t.IsView() {
		b.WriteString("CREATE VIEW " + name + " (\n  " + strings.Join(fieldNames(schema), ",\n  ") + ")\n")
		if t.Comment != "" {
			b.WriteString("COMMENT " + quotedText(t.Comment) + "\n")
		}
		return b.String() + "AS " + t.ViewText + "\n"
	}
	columns := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		columns[i] = columnDefinition(f)
	}
	b.WriteString("CREATE TABLE " + name + " (\n  " + strings.Join(columns, ",\n  ") + ")\n")
	b.WriteString("USING " + t.Format + "\n")
	if len(t.Options) > 0 {
		b.WriteString("OPTIONS (\n  " + pairs(t.Options) + ")\n")
	}
	if len(t.Partitions) > 0 {
		quoted := make([]string, len(t.Partitions))
		for i, p := range t.Partitions {
			quoted[i] = plan.QuoteIfNeeded(p)
		}
		b.WriteString("PARTITIONED BY (" + strings.Join(quoted, ", ") + ")\n")
	}
	if t.External {
		b.WriteString("LOCATION " + quotedText("file:"+t.Location) + "\n")
	}
	if t.Comment != "" {
		b.WriteString("COMMENT " + quotedText(t.Comment) + "\n")
	}
	if len(t.Properties) > 0 {
		b.WriteString("TBLPROPERTIES (\n  " + pairs(t.Properties) + ")\n")
	}
	return b.String()
}

func dotted(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = plan.QuoteIfNeeded(p)
	}
	return strings.Join(quoted, ".")
}

// columnDefinition is a column as Spark writes it back: with the collation of texts.
func columnDefinition(f plan.Field) string {
	out := plan.QuoteIfNeeded(f.Name) + " " + f.Type.SQL()
	if f.Type.Kind == plan.KindString && f.Type.Collation == "" {
		out += " COLLATE UTF8_BINARY"
	}
	if !f.Nullable {
		out += " NOT NULL"
	}
	if c := f.Comment(); c != "" {
		out += " COMMENT " + quotedText(c)
	}
	return out
}

func quotedText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(s) + "'"
}

func pairs(m map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, quotedText(key)+" = "+quotedText(m[key]))
	}
	return strings.Join(out, ",\n  ")
}
