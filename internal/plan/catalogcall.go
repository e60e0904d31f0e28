package plan

// CatalogCall is a question of pyspark.sql.Catalog. Unlike SHOW and DESCRIBE it
// answers with the columns that the client turns into its own objects.
type CatalogCall struct {
	command
	Method CatalogMethod
	// Name is the table, function, catalog or view asked about, as SQL text.
	// Database is the one asked about, or the one that Name is in when the
	// client gives it; "" is the current one.
	Name, Database string
	Pattern        string // of the listing methods, "" for all
}

// CatalogMethod is a method of pyspark.sql.Catalog.
type CatalogMethod uint8

// The methods, by what they answer.
const (
	CatalogCurrentDatabase    CatalogMethod = iota // value string
	CatalogSetCurrentDatabase                      // nothing
	CatalogListDatabases                           // name, catalog, description, locationUri
	CatalogGetDatabase
	CatalogDatabaseExists // value boolean
	CatalogListTables     // name, catalog, namespace, description, tableType, isTemporary
	CatalogListViews
	CatalogGetTable
	CatalogTableExists
	CatalogListColumns // name, description, dataType, nullable, isPartition, isBucket, isCluster
	CatalogListFunctions
	CatalogGetFunction
	CatalogFunctionExists
	CatalogCurrentCatalog
	CatalogSetCurrentCatalog
	CatalogListCatalogs // name, description
	CatalogDropTempView // value boolean
	CatalogDropGlobalTempView
	CatalogIsCached // value boolean
)

// WithChildren returns the command.
func (c *CatalogCall) WithChildren([]Node) Node { return c }
