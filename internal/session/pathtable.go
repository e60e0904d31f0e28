package session

import (
	"context"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// formatOfPath is the format of a name such as delta.`/a/path`, which is a table
// that no catalog knows; nil for other names.
func (sc *scope) formatOfPath(name []string) *connector.Format {
	if len(name) != 2 || !strings.Contains(name[1], "/") {
		return nil
	}
	f, ok := sc.format(name[0])
	if !ok || f.Create == nil {
		return nil
	}
	return f
}

// tableAt is the table of a name that has a path, as if a catalog knew it; nil for
// other names.
func (sc *scope) tableAt(name []string) (*catalog.Table, error) {
	f := sc.formatOfPath(name)
	if f == nil {
		return nil, nil
	}
	place, err := sc.session.engine.files.Resolve(name[1])
	if err != nil {
		return nil, err
	}
	return &catalog.Table{
		ID:     plan.TableID{Catalog: catalog.SparkCatalog, Schema: f.Name, Name: name[1]},
		Format: f.Name, Location: place.Path, External: true, SchemaJSON: plan.Struct().JSON(),
	}, nil
}

// pathID is how errors call the table of a name that has a path.
func pathID(f *connector.Format, name []string) plan.TableID {
	return plan.TableID{Catalog: catalog.SparkCatalog, Schema: f.Name, Name: name[1]}
}

// createAt makes a table at a path, or replaces the one that is there.
func (sc *scope) createAt(ctx context.Context, c *plan.CreateTable, f *connector.Format) error {
	there, err := sc.isTableAt(ctx, c.Name, f)
	switch {
	case err != nil:
		return err
	case there && c.IfNotExists:
		return nil
	case there && !c.Replace:
		return nameExists(c.Name)
	case !there && c.Replace && !c.OrCreate:
		return catalog.TableNotFound(c.Name, "["+plan.QuoteParts([]string{catalog.SparkCatalog, f.Name})+"]")
	}
	m := *c
	m.Format, m.Location = f.Name, c.Name[1]
	t, err := sc.newTable(ctx, &m, pathID(f, c.Name))
	if err != nil {
		return err
	}
	if there && t.rows != nil {
		return sc.fill(ctx, t, plan.SaveOverwrite)
	}
	// As in Delta a statement without a query leaves the rows of a table at the path,
	// whose columns must be the same.
	return sc.fill(ctx, t, plan.SaveAppend)
}

// isTableAt reports whether there is a table at a path.
func (sc *scope) isTableAt(ctx context.Context, name []string, f *connector.Format) (bool, error) {
	place, err := sc.session.engine.files.Resolve(name[1])
	if err != nil {
		return false, err
	}
	_, err = f.Describe(ctx, sc.files, &plan.Read{Format: f.Name, Paths: []string{place.Path}})
	return err == nil, nil
}

// makesTable reports whether df.writeTo makes a table.
func (w *writer) makesTable() bool {
	switch w.command.V2 {
	case plan.V2Create, plan.V2Replace, plan.V2CreateOrReplace:
		return true
	}
	return false
}

// toPath is df.writeTo and saveAsTable of a table that is named by its path.
func (w *writer) toPath(ctx context.Context, f *connector.Format) (*Result, error) {
	c := w.command
	if w.makesTable() {
		made := w.create()
		made.Replace, made.OrCreate = c.V2 != plan.V2Create, c.V2 == plan.V2CreateOrReplace
		return empty(), w.scope.createAt(ctx, made, f)
	}
	t, err := w.scope.tableAt(c.Table)
	if err != nil {
		return nil, err
	}
	if c.V2 != plan.WriteV1 {
		return w.intoV2(ctx, t)
	}
	there, err := w.scope.isTableAt(ctx, c.Table, f)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return empty(), w.scope.createAt(ctx, w.create(), f)
	case c.Mode == plan.SaveIgnore:
		return empty(), nil
	case c.Mode == plan.SaveError:
		return nil, nameExists(c.Table)
	}
	return w.into(ctx, t, c.Mode == plan.SaveOverwrite, true)
}
