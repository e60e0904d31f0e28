package catalog

import (
	"fmt"
	"path"

	"github.com/weir-dev/weir/internal/plan"
)

// SystemCatalog is the catalog whose tables the server writes itself.
const SystemCatalog = "system"

// Provide adds a schema of tables to the catalog system, which exists in memory only.
// A directory of that name, of a catalog that a user made before it was reserved, is
// refused.
func (s *Store) Provide(schema string, tables []Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogs[SystemCatalog]
	if c == nil {
		c = &catalogEntry{Name: SystemCatalog, schemas: map[string]*entry{}}
		for _, name := range []string{DefaultSchema, schema} {
			c.schemas[name] = &entry{Schema{Catalog: SystemCatalog, Name: name}, map[string]*Table{},
				map[string]*Volume{}}
		}
		s.catalogs[SystemCatalog] = c
	}
	en := c.schemas[schema]
	if en == nil {
		return fmt.Errorf("the catalog system in %s was made by a user; its name is reserved now: move the "+
			"directory away", path.Join(s.dir, "catalog"))
	}
	for _, t := range tables {
		t.ID = plan.TableID{Catalog: SystemCatalog, Schema: schema, Name: t.Name}
		en.tables[t.Name] = &t
	}
	return nil
}

// CheckChangeable refuses changes of the catalog system.
func CheckChangeable(catalog string) error {
	if fold(catalog) == SystemCatalog {
		return plan.Unsupported("Changing the catalog " + plan.Quote(SystemCatalog) + ", which the server writes,")
	}
	return nil
}
