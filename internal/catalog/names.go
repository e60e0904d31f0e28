package catalog

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// maxFileName is what common file systems take for one name, less the room for
// a prefix, a suffix and the name of a temporary file.
const maxFileName = 180

// fold is a name as it is stored: names do not differ by case.
func fold(name string) string { return strings.ToLower(name) }

// escape is a name as part of a path: letters, digits, _ and - stand for
// themselves, every other byte becomes %XX.
func escape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// checkName refuses names that no file can have.
func checkName(kind, name string) error {
	if name == "" {
		return plan.NewError(plan.ClassParse, "INVALID_EMPTY_LOCATION", "a "+kind+" needs a name",
			"location", "")
	}
	if len(escape(fold(name))) > maxFileName {
		return plan.IllegalArgument("The %s name %.40q… is too long: at most %d bytes after escaping.",
			kind, name, maxFileName)
	}
	return nil
}

// Java classes of the errors of this room.
const (
	classSchemaExists = "org.apache.spark.sql.catalyst.analysis.DatabaseAlreadyExistsException"
	classNoSchema     = "org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException"
	classTableExists  = "org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException"
	classNoTable      = "org.apache.spark.sql.catalyst.analysis.NoSuchTableException"
	classNoCatalog    = "org.apache.spark.sql.connector.catalog.CatalogNotFoundException"

	// Apache Spark has no conditions for catalogs and volumes that exist; these
	// are the states of the SQL standard's "duplicate object" and "undefined".
	stateDuplicate = "42710"
	stateUndefined = "42704"
)

func catalogNotFound(name string) error {
	return plan.NewError(classNoCatalog, "CATALOG_NOT_FOUND",
		fmt.Sprintf("There is no catalog %s.", plan.Quote(name)), "catalogName", plan.Quote(name))
}

func catalogExists(name string) error {
	e := plan.AnalysisError("CATALOG_ALREADY_EXISTS",
		fmt.Sprintf("There is a catalog %s already.", plan.Quote(name)), "catalogName", plan.Quote(name))
	e.State = stateDuplicate
	return e
}

func schemaNotFound(catalog, name string) error {
	shown := plan.QuoteParts([]string{catalog, name})
	return plan.NewError(classNoSchema, "SCHEMA_NOT_FOUND",
		fmt.Sprintf("There is no schema %s.", shown), "schemaName", shown)
}

// TableNotFound is the error for a table that a statement names and the
// catalog has not.
func TableNotFound(parts []string, searchPath string) *plan.Error {
	shown := plan.QuoteParts(parts)
	return plan.NewError(classNoTable, "TABLE_OR_VIEW_NOT_FOUND",
		fmt.Sprintf("There is no table or view %s.", shown),
		"relationName", shown, "searchPath", searchPath)
}

func tableExists(id plan.TableID) error {
	shown := plan.QuoteParts(id.Parts())
	return plan.NewError(classTableExists, "TABLE_OR_VIEW_ALREADY_EXISTS",
		fmt.Sprintf("There is a table or view %s already.", shown), "relationName", shown)
}

func volumeNotFound(id plan.TableID) error {
	e := plan.AnalysisError("VOLUME_NOT_FOUND",
		fmt.Sprintf("There is no volume %s.", plan.QuoteParts(id.Parts())),
		"volumeName", plan.QuoteParts(id.Parts()))
	e.State = stateUndefined
	return e
}

func volumeExists(id plan.TableID) error {
	e := plan.AnalysisError("VOLUME_ALREADY_EXISTS",
		fmt.Sprintf("There is a volume %s already.", plan.QuoteParts(id.Parts())),
		"volumeName", plan.QuoteParts(id.Parts()))
	e.State = stateDuplicate
	return e
}
