package sparkconnect

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

type catalogDecoder = func(*decoder, *pb.Catalog) (plan.Command, error)

// catalogTable lists what weir decodes of the cat_type oneof: questions that
// session answers, statements that change something, and statements about
// caches that weir does not have.
func catalogTable() map[protoreflect.Name]catalogDecoder {
	table := map[protoreflect.Name]catalogDecoder{
		"create_database":         createDatabase,
		"create_external_table":   createExternalTable,
		"create_table":            createTable,
		"drop_database":           dropDatabase,
		"drop_table":              dropTable,
		"drop_view":               dropView,
		"get_create_table_string": showTable(plan.ShowCreateTable),
		"get_table_properties":    showTable(plan.ShowProperties),
	}
	for name, method := range questions() {
		table[name] = ask(method)
	}
	for name, statement := range noOps() {
		table[name] = noOp(statement)
	}
	return table
}

// questions are the arms that only ask, with what they ask.
func questions() map[protoreflect.Name]plan.CatalogMethod {
	return map[protoreflect.Name]plan.CatalogMethod{
		"current_catalog":       plan.CatalogCurrentCatalog,
		"current_database":      plan.CatalogCurrentDatabase,
		"database_exists":       plan.CatalogDatabaseExists,
		"drop_global_temp_view": plan.CatalogDropGlobalTempView,
		"drop_temp_view":        plan.CatalogDropTempView,
		"function_exists":       plan.CatalogFunctionExists,
		"get_database":          plan.CatalogGetDatabase,
		"get_function":          plan.CatalogGetFunction,
		"get_table":             plan.CatalogGetTable,
		"is_cached":             plan.CatalogIsCached,
		"list_catalogs":         plan.CatalogListCatalogs,
		"list_columns":          plan.CatalogListColumns,
		"list_databases":        plan.CatalogListDatabases,
		"list_functions":        plan.CatalogListFunctions,
		"list_tables":           plan.CatalogListTables,
		"list_views":            plan.CatalogListViews,
		"set_current_catalog":   plan.CatalogSetCurrentCatalog,
		"set_current_database":  plan.CatalogSetCurrentDatabase,
		"table_exists":          plan.CatalogTableExists,
	}
}

// noOps are the arms that weir accepts and that change nothing.
func noOps() map[protoreflect.Name]string {
	return map[protoreflect.Name]string{
		"analyze_table":      "ANALYZE TABLE",
		"cache_table":        "CACHE TABLE",
		"clear_cache":        "CLEAR CACHE",
		"recover_partitions": "RECOVER PARTITIONS",
		"refresh_by_path":    "REFRESH",
		"refresh_table":      "REFRESH TABLE",
		"uncache_table":      "UNCACHE TABLE",
	}
}

// argument is the text of a field of the arm that is set, "" when it is not
// set or the arm has no such field.
func argument(c *pb.Catalog, names ...protoreflect.Name) string {
	m := c.ProtoReflect().Get(arm(c, "cat_type")).Message()
	for _, name := range names {
		if f := m.Descriptor().Fields().ByName(name); f != nil && m.Has(f) {
			return m.Get(f).String()
		}
	}
	return ""
}

// ask makes the decoder of a question; its arguments are the fields of the
// message by their names, which are the same in every arm.
func ask(method plan.CatalogMethod) catalogDecoder {
	return func(_ *decoder, c *pb.Catalog) (plan.Command, error) {
		call := &plan.CatalogCall{
			Method:   method,
			Name:     argument(c, "table_name", "function_name", "view_name", "catalog_name"),
			Database: argument(c, "db_name"),
			Pattern:  argument(c, "pattern"),
		}
		return call, nil
	}
}

func noOp(statement string) catalogDecoder {
	return func(_ *decoder, c *pb.Catalog) (plan.Command, error) {
		n := &plan.NoOp{Statement: statement}
		var err error
		if table := argument(c, "table_name"); table != "" {
			n.Table, err = sql.ParseName(table)
		}
		return n, err
	}
}

func showTable(what plan.ShowKind) catalogDecoder {
	return func(_ *decoder, c *pb.Catalog) (plan.Command, error) {
		name, err := sql.ParseName(argument(c, "table_name"))
		return &plan.Show{What: what, In: name}, err
	}
}

// catalogCall decodes a catalog relation, which is a command in all but name.
func (d *decoder) catalogCall(m *pb.Catalog) (plan.Node, error) {
	f := arm(m, "cat_type")
	if f == nil {
		return nil, notSet(m, "CATTYPE_NOT_SET")
	}
	decode := d.catalog[f.Name()]
	if decode == nil {
		return nil, notSupported(m, f)
	}
	return decode(d, m)
}

func createDatabase(_ *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetCreateDatabase()
	name, err := sql.ParseName(m.GetDbName())
	return &plan.CreateSchema{Name: name, IfNotExists: m.GetIfNotExists(), Properties: m.GetProperties()}, err
}

func dropDatabase(_ *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetDropDatabase()
	name, err := sql.ParseName(m.GetDbName())
	return &plan.DropSchema{Name: name, IfExists: m.GetIfExists(), Cascade: m.GetCascade()}, err
}

func dropTable(_ *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetDropTable()
	name, err := sql.ParseName(m.GetTableName())
	return &plan.DropTable{Name: name, IfExists: m.GetIfExists()}, err
}

func dropView(_ *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetDropView()
	name, err := sql.ParseName(m.GetViewName())
	return &plan.DropTable{Name: name, View: true, IfExists: m.GetIfExists()}, err
}

func createTable(d *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetCreateTable()
	return d.newTable(m.GetTableName(), m.GetSource(), m.GetPath(), m.GetSchema(), &plan.CreateTable{
		Comment: m.GetDescription(), Options: m.GetOptions(),
	})
}

// tableMade is what Catalog.createTable answers with, the table that it made, and
// nil for every other relation.
func tableMade(r *pb.Relation, n plan.Node) plan.Node {
	t, ok := n.(*plan.CreateTable)
	if !ok || r.GetCatalog() == nil {
		return nil
	}
	return &plan.NamedTable{Name: t.Name}
}

func createExternalTable(d *decoder, c *pb.Catalog) (plan.Command, error) {
	m := c.GetCreateExternalTable()
	return d.newTable(m.GetTableName(), m.GetSource(), m.GetPath(), m.GetSchema(), &plan.CreateTable{
		Options: m.GetOptions(),
	})
}

func (d *decoder) newTable(name, source, path string, schema *pb.DataType, t *plan.CreateTable,
) (plan.Command, error) {
	var err error
	if t.Name, err = sql.ParseName(name); err != nil {
		return nil, err
	}
	t.Format, t.Location = source, path
	if schema != nil {
		t.Schema, err = d.dataType(schema)
	}
	return t, err
}
