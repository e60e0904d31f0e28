package session

import (
	"context"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/plan"
)

func createCatalog(_ context.Context, s *Session, c *plan.CreateCatalog) (*Result, error) {
	err := s.engine.catalog.CreateCatalog(c.Name, c.Comment)
	return empty(), forgive(err, c.IfNotExists, "CATALOG_ALREADY_EXISTS")
}

func dropCatalog(_ context.Context, s *Session, c *plan.DropCatalog) (*Result, error) {
	err := s.engine.catalog.DropCatalog(c.Name, c.Cascade)
	if err := forgive(err, c.IfExists, "CATALOG_NOT_FOUND"); err != nil {
		return nil, err
	}
	if current, _ := s.current(); current == fold(c.Name) {
		s.setCurrent(catalog.SparkCatalog, catalog.DefaultSchema)
	}
	return empty(), nil
}

func createSchema(_ context.Context, s *Session, c *plan.CreateSchema) (*Result, error) {
	catalogName, name, err := s.schemaID(c.Name)
	if err != nil {
		return nil, err
	}
	schema := catalog.Schema{
		Catalog: catalogName, Name: name, Comment: c.Comment, Properties: c.Properties,
	}
	if c.Location != "" {
		place, err := s.engine.files.Resolve(c.Location)
		if err != nil {
			return nil, err
		}
		schema.Location = place.Path
	}
	return empty(), forgive(s.engine.catalog.CreateSchema(schema), c.IfNotExists, "SCHEMA_ALREADY_EXISTS")
}

func dropSchema(_ context.Context, s *Session, c *plan.DropSchema) (*Result, error) {
	catalogName, name, err := s.schemaID(c.Name)
	if err != nil {
		return nil, err
	}
	err = s.engine.catalog.DropSchema(catalogName, name, c.Cascade)
	// Spark's own catalog names the schema alone.
	e, ok := err.(*plan.Error)
	if ok && e.Condition == "SCHEMA_NOT_EMPTY" && catalogName == catalog.SparkCatalog {
		e.Args["schemaName"] = plan.Quote(name)
	}
	return empty(), forgive(err, c.IfExists, "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND")
}

func createVolume(_ context.Context, s *Session, c *plan.CreateVolume) (*Result, error) {
	id, err := s.tableID(c.Name)
	if err != nil {
		return nil, err
	}
	v := catalog.Volume{ID: id, Comment: c.Comment}
	if c.Location != "" {
		place, err := s.engine.files.Resolve(c.Location)
		if err != nil {
			return nil, err
		}
		v.Location = place.Path
	}
	return empty(), forgive(s.engine.catalog.CreateVolume(v), c.IfNotExists, "VOLUME_ALREADY_EXISTS")
}

func dropVolume(_ context.Context, s *Session, c *plan.DropVolume) (*Result, error) {
	id, err := s.tableID(c.Name)
	if err != nil {
		return nil, err
	}
	return empty(), forgive(s.engine.catalog.DropVolume(id), c.IfExists, "VOLUME_NOT_FOUND", "SCHEMA_NOT_FOUND",
		"CATALOG_NOT_FOUND")
}

// use is USE: a catalog, or a schema of the current or a named catalog. As in
// Spark, a name of one part that is no schema may be a catalog's.
func use(_ context.Context, s *Session, c *plan.Use) (*Result, error) {
	if c.Catalog {
		return empty(), s.useCatalog(c.Name[0])
	}
	if len(c.Name) == 1 && s.engine.catalog.HasCatalog(c.Name[0]) {
		current, _ := s.current()
		if _, err := s.engine.catalog.Schema(current, c.Name[0]); err != nil {
			return empty(), s.useCatalog(c.Name[0])
		}
	}
	return empty(), s.useSchema(c.Name)
}

func (s *Session) useCatalog(name string) error {
	if !s.engine.catalog.HasCatalog(name) {
		return catalogNotFound(name)
	}
	s.setCurrent(fold(name), catalog.DefaultSchema)
	return nil
}

func (s *Session) useSchema(parts []string) error {
	catalogName, name, err := s.schemaID(parts)
	if err != nil {
		return err
	}
	if _, err := s.engine.catalog.Schema(catalogName, name); err != nil {
		return err
	}
	s.setCurrent(catalogName, name)
	return nil
}

// cacheStatement is what the parser calls CACHE TABLE.
const cacheStatement = "CACHE TABLE"

// noOp is a statement that changes nothing; CACHE TABLE and its opposite are
// remembered for isCached.
func noOp(_ context.Context, s *Session, c *plan.NoOp) (*Result, error) {
	name := ""
	if len(c.Table) > 0 {
		view := s.findView(c.Table)
		if view != nil && c.Statement == cacheStatement {
			if err := analyze.CheckBatch(view.plan); err != nil {
				return nil, err
			}
		}
		if view == nil {
			t, err := s.table(c.Table, c.Statement)
			if err != nil {
				return nil, err
			}
			name = t.ID.String()
		} else {
			name = fold(c.Table[len(c.Table)-1])
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Statement {
	case cacheStatement:
		s.marked[name] = true
	case "UNCACHE TABLE":
		delete(s.marked, name)
	case "CLEAR CACHE":
		clear(s.marked)
	}
	return empty(), nil
}
