package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
)

// noted is a field with the comment that clients see in its metadata.
func noted(f plan.Field, comment string) plan.Field { return f.WithComment(comment) }

func describeSchema(c *plan.Describe) plan.Type {
	switch {
	case c.What == plan.DescribeTable && len(c.Column) > 0:
		return plan.Struct(noted(text("info_name"), "name of the column info"),
			noted(text("info_value"), "value of the column info"))
	case c.What == plan.DescribeTable || c.What == plan.DescribeQuery:
		return plan.Struct(noted(text("col_name"), "name of the column"),
			noted(text("data_type"), "data type of the column"),
			noted(nullText("comment"), "comment of the column"))
	case c.What == plan.DescribeFunction:
		return plan.Struct(text("function_desc"))
	case c.What == plan.DescribeHistory:
		return historySchema()
	case c.What == plan.DescribeDetail:
		return detailSchema()
	case c.What == plan.DescribeCatalog:
		return plan.Struct(noted(text("info_name"), "name of the catalog info"),
			noted(text("info_value"), "value of the catalog info"))
	case c.What == plan.DescribeVolume:
		return plan.Struct(noted(text("info_name"), "name of the volume info"),
			noted(text("info_value"), "value of the volume info"))
	default:
		return plan.Struct(noted(text("info_name"), "name of the namespace info"),
			noted(text("info_value"), "value of the namespace info"))
	}
}

func describe(ctx context.Context, s *Session, c *plan.Describe) (*Result, error) {
	rows, err := describeRows(ctx, s, c)
	if err != nil {
		return nil, err
	}
	return answer(describeSchema(c), rows...), nil
}

func describeRows(ctx context.Context, s *Session, c *plan.Describe) ([][]plan.Value, error) {
	switch c.What {
	case plan.DescribeSchema:
		return describeNamespace(s, c)
	case plan.DescribeFunction:
		return describeFunction(s, c)
	case plan.DescribeVolume:
		return describeVolume(s, c)
	case plan.DescribeCatalog:
		return describeCatalog(s, c)
	case plan.DescribeHistory:
		return describeHistory(s, c)
	case plan.DescribeDetail:
		return describeDetail(ctx, s, c)
	case plan.DescribeQuery:
		resolved, err := s.Analyze(ctx, c.Query)
		if err != nil {
			return nil, err
		}
		return columnRows(plan.SchemaOf(resolved.Output())), nil
	}
	d, err := s.describedTable(ctx, c.Name, s.queryPath())
	if err != nil {
		return nil, err
	}
	if len(c.Column) > 0 {
		return s.describeColumn(d, c)
	}
	rows := columnRows(d.schema)
	rows = append(rows, d.partitionRows()...)
	if c.Extended && d.table != nil {
		rows = append(rows, []plan.Value{"", "", ""}, []plan.Value{"# Detailed Table Information", "", ""})
		rows = append(rows, d.details()...)
	}
	return rows, nil
}

// described is a table, view or temporary view that a statement is about.
type described struct {
	table      *catalog.Table // nil for a temporary view
	schema     plan.Type
	partitions []string
}

// describedTable finds the columns of what a name means; path is what the
// error for an unknown one shows.
func (s *Session) describedTable(ctx context.Context, parts []string, path string) (*described, error) {
	if v := s.findView(parts); v != nil {
		return &described{schema: v.schema}, nil
	}
	t, err := s.describedEntry(parts, path)
	if err != nil {
		return nil, err
	}
	schema, err := t.Schema()
	if err != nil {
		return nil, err
	}
	d := &described{table: t, schema: schema, partitions: t.Partitions}
	if t.IsView() || !selfDescribing(t.Format) {
		return d, nil
	}
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	r, err := sc.relationOf(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	d.schema, d.partitions = r.Schema, r.Partitions
	if selfDescribing(t.Format) {
		d.schema = r.Schema.Unbounded() // as Delta shows them
	}
	return d, nil
}

// describedEntry is the table of a name, of the catalog or at a path.
func (s *Session) describedEntry(parts []string, path string) (*catalog.Table, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if t, err := sc.tableAt(parts); t != nil || err != nil {
		return t, err
	}
	id, err := s.tableID(parts)
	if err != nil {
		return nil, err
	}
	t := s.engine.find(id)
	if t == nil {
		return nil, statementNotFound(parts, path)
	}
	return t, nil
}

func columnRow(f plan.Field) []plan.Value {
	row := []plan.Value{f.Name, f.Type.Simple(), nil}
	if c := f.Comment(); c != "" {
		row[2] = c
	}
	return row
}

func columnRows(schema plan.Type) [][]plan.Value {
	rows := make([][]plan.Value, len(schema.Fields))
	for i, f := range schema.Fields {
		rows[i] = columnRow(f)
	}
	return rows
}

func (d *described) partitionRows() [][]plan.Value {
	if len(d.partitions) == 0 {
		return nil
	}
	rows := [][]plan.Value{{"# Partition Information", "", ""}, {"# col_name", "data_type", "comment"}}
	for _, f := range d.schema.Fields {
		if slices.Contains(d.partitions, f.Name) {
			rows = append(rows, columnRow(f))
		}
	}
	return rows
}

// createdForm is how Spark prints when a table was made.
const createdForm = "Mon Jan 02 15:04:05 MST 2006"

func (d *described) details() [][]plan.Value {
	t := d.table
	rows := [][]plan.Value{
		{"Catalog", t.ID.Catalog, ""},
		{"Database", t.ID.Schema, ""},
		{"Table", t.ID.Name, ""},
		{"Created Time", time.UnixMilli(t.CreatedMs).UTC().Format(createdForm), ""},
		{"Last Access", "UNKNOWN", ""},
		{"Created By", "weir", ""},
		{"Type", kindOf(t), ""},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []plan.Value{name, value, ""})
		}
	}
	add("Provider", t.Format)
	add("Comment", t.Comment)
	if t.IsView() {
		add("View Text", t.ViewText)
		add("View Catalog and Namespace", dotted([]string{t.ViewCatalog, t.ViewSchema}))
		return rows
	}
	add("Table Properties", bracketed(t.Properties))
	add("Location", "file:"+t.Location)
	add("Storage Properties", bracketed(t.Options))
	return rows
}

func bracketed(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	var out []string
	for _, key := range sortedKeys(m) {
		out = append(out, key+"="+m[key])
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (s *Session) describeColumn(d *described, c *plan.Describe) ([][]plan.Value, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	at := -1
	if len(c.Column) == 1 {
		at = sc.column(d.schema, c.Column[0])
	}
	if at < 0 {
		return nil, plan.AnalysisError("COLUMN_NOT_FOUND",
			"There is no column "+plan.QuoteParts(c.Column)+".",
			"colName", plan.QuoteParts(c.Column), "caseSensitiveConfig", `"`+settings.CaseKey+`"`)
	}
	f := d.schema.Fields[at]
	comment := f.Comment()
	if comment == "" {
		comment = "NULL"
	}
	rows := [][]plan.Value{
		{"col_name", f.Name}, {"data_type", f.Type.Simple()}, {"comment", comment},
	}
	if c.Extended {
		for _, name := range strings.Fields("min max num_nulls distinct_count avg_col_len max_col_len histogram") {
			rows = append(rows, []plan.Value{name, "NULL"})
		}
	}
	return rows, nil
}

func describeNamespace(s *Session, c *plan.Describe) ([][]plan.Value, error) {
	catalogName, name, err := s.schemaID(c.Name)
	if err != nil {
		return nil, err
	}
	schema, err := s.engine.catalog.Schema(catalogName, name)
	if err != nil {
		return nil, err
	}
	rows := [][]plan.Value{
		{"Catalog Name", schema.Catalog}, {"Namespace Name", schema.Name}, {"Comment", schemaComment(schema)},
		{"Location", s.engine.schemaLocation(schema)}, {"Owner", s.user},
	}
	if c.Extended {
		properties := ""
		if len(schema.Properties) > 0 {
			var parts []string
			for _, key := range sortedKeys(schema.Properties) {
				parts = append(parts, "("+key+","+schema.Properties[key]+")")
			}
			properties = "(" + strings.Join(parts, ", ") + ")"
		}
		rows = append(rows, []plan.Value{"Properties", properties})
	}
	return rows, nil
}

// schemaComment is the comment of a schema; the default one of spark_catalog
// has Spark's.
func schemaComment(schema catalog.Schema) string {
	if schema.Comment == "" && schema.Catalog == catalog.SparkCatalog && schema.Name == catalog.DefaultSchema {
		return "default database"
	}
	return schema.Comment
}

// schemaLocation is where the tables of a schema stand.
func (e *Engine) schemaLocation(schema catalog.Schema) string {
	if schema.Location != "" {
		return "file:" + schema.Location
	}
	probe := plan.TableID{Catalog: schema.Catalog, Schema: schema.Name, Name: "t"}
	return "file:" + strings.TrimSuffix(e.catalog.TableDir(probe), "/t")
}

func describeFunction(s *Session, c *plan.Describe) ([][]plan.Value, error) {
	name := c.Name[len(c.Name)-1]
	if f, ok := function.Lookup(fold(name)); ok && !f.Hidden {
		rows := [][]plan.Value{{"Function: " + f.Name}, {"Class: " + f.Group}, {"Usage: " + usage(f)}}
		if c.Extended {
			rows = append(rows, []plan.Value{"Extended Usage:" + examples(f)})
		}
		return rows, nil
	}
	s.mu.Lock()
	f := s.functions[fold(name)]
	s.mu.Unlock()
	if f == nil {
		return nil, plan.AnalysisError("UNRESOLVED_ROUTINE",
			"There is no function "+plan.QuoteParts(c.Name)+".",
			"routineName", plan.QuoteParts(c.Name), "searchPath", s.queryPath())
	}
	return [][]plan.Value{{"Function: " + f.Name}, {"Class: Python"}, {"Usage: N/A."}}, nil
}

func usage(f *function.Def) string {
	names := append([]string{f.Name}, f.Aliases...)
	return strings.Join(names, ", ") + " (" + f.Group + ")"
}

func examples(f *function.Def) string {
	var b strings.Builder
	for _, e := range f.Examples {
		b.WriteString("\n    > SELECT " + e.SQL() + ";\n     " + e.Want())
	}
	return b.String()
}

func describeVolume(s *Session, c *plan.Describe) ([][]plan.Value, error) {
	id, err := s.tableID(c.Name)
	if err != nil {
		return nil, err
	}
	v, err := s.engine.catalog.Volume(id)
	if err != nil {
		return nil, err
	}
	kind := "MANAGED"
	if v.External {
		kind = "EXTERNAL"
	}
	return [][]plan.Value{
		{"Name", v.Name}, {"Catalog", id.Catalog}, {"Database", id.Schema}, {"Type", kind},
		{"Location", "file:" + v.Location}, {"Comment", v.Comment},
	}, nil
}

func describeCatalog(s *Session, c *plan.Describe) ([][]plan.Value, error) {
	name := c.Name[0]
	if !s.engine.catalog.HasCatalog(name) {
		return nil, catalogNotFound(name)
	}
	return [][]plan.Value{{"Catalog Name", fold(name)}}, nil
}
