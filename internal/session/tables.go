package session

import (
	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/plan"
)

// globalSchema is the namespace of the temporary views that sessions share.
const globalSchema = "global_temp"

// tableID is the full name that a table's name stands for in the current
// catalog and schema.
func (s *Session) tableID(parts []string) (plan.TableID, error) {
	catalogName, schema := s.current()
	return s.engine.tableID(parts, catalogName, schema)
}

func (e *Engine) tableID(parts []string, catalogName, schema string) (plan.TableID, error) {
	switch len(parts) {
	case 1:
		return foldedID(catalogName, schema, parts[0]), nil
	case 2:
		if _, err := e.catalog.Schema(catalogName, parts[0]); err != nil && e.catalog.HasCatalog(parts[0]) {
			return plan.TableID{}, singlePart(parts)
		}
		return foldedID(catalogName, parts[0], parts[1]), nil
	case 3:
		if e.catalog.HasCatalog(parts[0]) {
			return foldedID(parts[0], parts[1], parts[2]), nil
		}
	}
	return plan.TableID{}, singlePart(parts)
}

func foldedID(catalogName, schema, name string) plan.TableID {
	return plan.TableID{Catalog: fold(catalogName), Schema: fold(schema), Name: fold(name)}
}

// schemaID is the catalog and schema that a schema's name stands for.
func (s *Session) schemaID(parts []string) (catalogName, schema string, err error) {
	catalogName, schema = s.current()
	switch {
	case len(parts) == 0:
		return catalogName, schema, nil
	case len(parts) == 1:
		return catalogName, fold(parts[0]), nil
	case len(parts) == 2 && s.engine.catalog.HasCatalog(parts[0]):
		return fold(parts[0]), fold(parts[1]), nil
	}
	return "", "", singlePart(parts)
}

// find looks a table up in the catalog; nil when there is none, whether or not
// its schema exists.
func (e *Engine) find(id plan.TableID) *catalog.Table {
	e.awaitHistory(id)
	t, err := e.catalog.Table(id)
	if err != nil {
		return nil
	}
	return t
}

// Search paths, as errors about unknown names show them.

func (s *Session) schemaPath() string {
	catalogName, schema := s.current()
	return plan.QuoteParts([]string{catalogName, schema})
}

// queryPath is where relations and functions of queries are looked for.
func (s *Session) queryPath() string {
	return "[`system`.`builtin`, `system`.`session`, " + s.schemaPath() + "]"
}

// statementPath is where tables of statements are looked for.
func (s *Session) statementPath() string { return "[`system`.`session`, " + s.schemaPath() + "]" }

// dropPath is where DROP looks.
func (s *Session) dropPath() string { return "[" + s.schemaPath() + "]" }

// table finds the table that a statement names. A temporary view in its place
// is refused with operation, an unknown name with the statement's search path.
func (s *Session) table(parts []string, operation string) (*catalog.Table, error) {
	if s.findView(parts) != nil {
		return nil, expectTable(parts, operation)
	}
	id, err := s.tableID(parts)
	if err != nil {
		return nil, err
	}
	t := s.engine.find(id)
	if t == nil {
		return nil, statementNotFound(parts, s.statementPath())
	}
	return t, nil
}

// realTable is table for operations that views cannot take either.
func (s *Session) realTable(parts []string, operation string) (*catalog.Table, error) {
	t, err := s.table(parts, operation)
	if err != nil {
		return nil, err
	}
	if t.IsView() {
		return nil, expectTable(t.ID.Parts(), operation)
	}
	return t, nil
}

func statementNotFound(parts []string, path string) *plan.Error {
	e := catalog.TableNotFound(parts, path)
	e.Class = plan.ClassExtendedAnalysis
	return e
}

func expectTable(parts []string, operation string) *plan.Error {
	return plan.AnalysisError("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
		operation+" needs a table, and "+plan.QuoteParts(parts)+" is a view.",
		"viewName", plan.QuoteParts(parts), "operation", operation)
}
