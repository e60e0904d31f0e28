package catalog

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// Catalogs lists the names of all catalogs, sorted.
func (s *Store) Catalogs() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.catalogs))
}

// HasCatalog reports whether there is a catalog of a name.
func (s *Store) HasCatalog(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalogs[fold(name)] != nil
}

// CreateCatalog makes a catalog with the schema default.
func (s *Store) CreateCatalog(name, comment string) error {
	if err := CheckChangeable(name); err != nil {
		return err
	}
	if err := checkName("catalog", name); err != nil {
		return err
	}
	name = fold(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogs[name] != nil {
		return catalogExists(name)
	}
	c := &catalogEntry{Name: name, Comment: comment, schemas: map[string]*entry{}}
	if err := s.fs.MkdirAll(s.catalogDir(name)); err != nil {
		return err
	}
	if err := s.fs.SyncDir(path.Join(s.dir, "catalog")); err != nil {
		return err
	}
	// The catalog's document comes last: it exists with its schema or not at all.
	if err := s.createSchema(c, Schema{Catalog: name, Name: DefaultSchema}); err != nil {
		return err
	}
	if err := s.writeDocument(path.Join(s.catalogDir(name), "catalog.json"), c, true); err != nil {
		return err
	}
	s.catalogs[name] = c
	return nil
}

// DropCatalog removes a catalog; one with schemas other than an empty default
// only when cascade is set. The two that every server has stay.
func (s *Store) DropCatalog(name string, cascade bool) error {
	if err := CheckChangeable(name); err != nil {
		return err
	}
	name = fold(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogs[name]
	if c == nil {
		return catalogNotFound(name)
	}
	if name == SparkCatalog || name == MainCatalog {
		return plan.Unsupported("Dropping the catalog " + plan.Quote(name))
	}
	for _, en := range c.schemas {
		if (en.schema.Name != DefaultSchema || len(en.tables)+len(en.volumes) > 0) && !cascade {
			return schemaNotEmpty(name, en.schema.Name)
		}
	}
	for _, en := range sorted(c.schemas) {
		if err := s.dropSchema(c, en); err != nil {
			return err
		}
	}
	delete(s.catalogs, name)
	if err := s.fs.Remove(path.Join(s.catalogDir(name), "catalog.json")); err != nil && !isMissing(err) {
		return err
	}
	return s.fs.RemoveAll(s.catalogDir(name))
}

func schemaNotEmpty(catalog, name string) error {
	shown := plan.QuoteParts([]string{catalog, name})
	return plan.AnalysisError("SCHEMA_NOT_EMPTY",
		fmt.Sprintf("The schema %s is not empty; DROP SCHEMA … CASCADE removes what is in it.", shown),
		"schemaName", shown)
}

// find is a schema's entry; the lock is held.
func (s *Store) find(catalog, schema string) (*entry, error) {
	c := s.catalogs[fold(catalog)]
	if c == nil {
		return nil, catalogNotFound(catalog)
	}
	en := c.schemas[fold(schema)]
	if en == nil {
		return nil, schemaNotFound(catalog, schema)
	}
	return en, nil
}

// Schemas lists the schemas of a catalog, sorted by name.
func (s *Store) Schemas(catalog string) ([]Schema, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.catalogs[fold(catalog)]
	if c == nil {
		return nil, catalogNotFound(catalog)
	}
	var out []Schema
	for _, en := range sorted(c.schemas) {
		out = append(out, en.schema)
	}
	return out, nil
}

// Schema finds one schema.
func (s *Store) Schema(catalog, name string) (Schema, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	en, err := s.find(catalog, name)
	if err != nil {
		return Schema{}, err
	}
	return en.schema, nil
}

// CreateSchema makes a schema; an existing one is SCHEMA_ALREADY_EXISTS.
func (s *Store) CreateSchema(schema Schema) error {
	if err := CheckChangeable(schema.Catalog); err != nil {
		return err
	}
	if err := checkName("schema", schema.Name); err != nil {
		return err
	}
	schema.Catalog, schema.Name = fold(schema.Catalog), fold(schema.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogs[schema.Catalog]
	if c == nil {
		return catalogNotFound(schema.Catalog)
	}
	if c.schemas[schema.Name] != nil {
		return plan.NewError(classSchemaExists, "SCHEMA_ALREADY_EXISTS",
			fmt.Sprintf("There is a schema %s already.", plan.Quote(schema.Name)),
			"schemaName", plan.Quote(schema.Name))
	}
	return s.createSchema(c, schema)
}

func (s *Store) createSchema(c *catalogEntry, schema Schema) error {
	dir := s.schemaDir(c.Name, schema.Name)
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	if err := s.fs.SyncDir(s.catalogDir(c.Name)); err != nil {
		return err
	}
	if err := s.writeDocument(path.Join(dir, "schema.json"), schema, true); err != nil {
		return err
	}
	c.schemas[schema.Name] = &entry{schema, map[string]*Table{}, map[string]*Volume{}}
	return nil
}

// DropSchema removes a schema; with cascade also its tables, views and volumes
// with the files of managed ones.
func (s *Store) DropSchema(catalog, name string, cascade bool) error {
	if err := CheckChangeable(catalog); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(catalog, name)
	if err != nil {
		return err
	}
	if en.schema.Name == DefaultSchema {
		name := plan.QuoteParts([]string{fold(catalog), DefaultSchema})
		return plan.AnalysisError("UNSUPPORTED_FEATURE.DROP_DATABASE",
			"The default schema "+name+" cannot be dropped.", "database", name)
	}
	if len(en.tables)+len(en.volumes) > 0 && !cascade {
		return schemaNotEmpty(fold(catalog), en.schema.Name)
	}
	return s.dropSchema(s.catalogs[fold(catalog)], en)
}

func (s *Store) dropSchema(c *catalogEntry, en *entry) error {
	en.schema.Dropped = true
	doc := path.Join(s.schemaDir(c.Name, en.schema.Name), "schema.json")
	if err := s.writeDocument(doc, en.schema, true); err != nil {
		en.schema.Dropped = false
		return err
	}
	delete(c.schemas, en.schema.Name)
	return s.finishSchemaDrop(en)
}
