package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/vfs"
)

// deltaFormat is the default format of every catalog but spark_catalog.
const deltaFormat = "delta"

// newTable is a table about to be made.
type newTable struct {
	entry   catalog.Table
	format  *connector.Format
	schema  plan.Type
	cluster []string
	// statement is what makes the table, as its history tells it.
	statement string
	// rows is the query of CREATE TABLE AS; nil makes an empty table.
	rows chunk.Rows
	// keepSchema says that a replaced table with a log keeps its columns unless
	// the option overwriteSchema is set, as df.write does.
	keepSchema bool
}

// formatOf finds the format of a table, the catalog's default when none is
// named.
func (sc *scope) formatOf(name string, id plan.TableID) (*connector.Format, error) {
	if name == "" {
		name = deltaFormat
		if id.Catalog == catalog.SparkCatalog {
			name = sc.conf.Value(settings.FormatKey)
		}
	}
	f, ok := sc.format(name)
	if !ok {
		return nil, noSuchFormat(name)
	}
	if f.Scan == nil || f.Write == nil {
		return nil, notReadable(f)
	}
	return f, nil
}

// prepare checks what a table is to be.
func (sc *scope) prepare(ctx context.Context, c *plan.CreateTable, id plan.TableID) (*newTable, error) {
	f, err := sc.formatOf(c.Format, id)
	if err != nil {
		return nil, err
	}
	options := maps.Clone(c.Options)
	location := c.Location
	if p, ok := options.Get("path"); ok && location == "" {
		location = p
		maps.DeleteFunc(options, func(k, _ string) bool { return strings.EqualFold(k, "path") })
	}
	t := &newTable{format: f, schema: c.Schema, cluster: c.Clustering, entry: catalog.Table{
		ID: id, Format: f.Name, Partitions: c.Partitions, Comment: c.Comment, Options: options,
		Properties: c.Properties, CreatedMs: sc.eval.Now / 1000,
	}}
	switch {
	case c.Replace && c.OrCreate:
		t.statement = "CREATE OR REPLACE TABLE"
	case c.Replace:
		t.statement = "REPLACE TABLE"
	}
	if location != "" {
		place, err := sc.session.engine.files.Resolve(location)
		if err != nil {
			return nil, err
		}
		t.entry.Location, t.entry.External = place.Path, true
	}
	if len(t.schema.Fields) == 0 {
		if err := sc.inferSchema(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := sc.checkColumns(t); err != nil {
		return nil, err
	}
	return t, sc.checkValues(t)
}

// inferSchema asks the files at a table's location what columns they have.
func (sc *scope) inferSchema(ctx context.Context, t *newTable) error {
	if t.entry.Location == "" || t.format.Describe == nil {
		return plan.AnalysisError("UNABLE_TO_INFER_SCHEMA",
			"A table without columns needs a location that has some.", "format", t.format.Name)
	}
	found, err := t.format.Describe(ctx, sc.files, &plan.Read{
		Format: t.format.Name, Options: t.entry.Options, Paths: []string{t.entry.Location},
	})
	if err != nil {
		return err
	}
	t.schema, t.entry.Partitions = found.Schema, found.Partitions
	return nil
}

// checkColumns checks names and puts the partition columns last, which is where
// files have them.
func (sc *scope) checkColumns(t *newTable) error {
	if err := sc.distinctColumns(t.schema); err != nil {
		return err
	}
	var partitions []plan.Field
	for i, name := range t.entry.Partitions {
		at := sc.column(t.schema, name)
		if at < 0 {
			return plan.AnalysisError("COLUMN_NOT_DEFINED_IN_TABLE",
				fmt.Sprintf("the table has no column %s to partition by.", plan.Quote(name)),
				"colType", "partition", "colName", plan.Quote(name),
				"tableName", plan.QuoteParts(t.entry.ID.Parts()), "tableCols", quotedList(fieldNames(t.schema)))
		}
		t.entry.Partitions[i] = t.schema.Fields[at].Name
		partitions = append(partitions, t.schema.Fields[at])
	}
	if n := len(partitions); n > 0 && n == len(t.schema.Fields) {
		return plan.AnalysisError("ALL_PARTITION_COLUMNS_NOT_ALLOWED",
			"A table needs a column that it is not partitioned by.")
	}
	if !selfDescribing(t.format.Name) {
		rest := slices.DeleteFunc(slices.Clone(t.schema.Fields), func(f plan.Field) bool {
			return slices.Contains(t.entry.Partitions, f.Name)
		})
		t.schema = plan.Struct(append(rest, partitions...)...)
	}
	t.entry.SchemaJSON = t.schema.JSON()
	return nil
}

// column is the place of a column by name, -1 when there is none.
func (sc *scope) column(schema plan.Type, name string) int {
	exact := sc.conf.Flag(settings.CaseKey)
	return slices.IndexFunc(schema.Fields, func(f plan.Field) bool {
		return f.Name == name || !exact && strings.EqualFold(f.Name, name)
	})
}

// create makes a table: rows first, then the document (S2).
func (sc *scope) create(ctx context.Context, t *newTable) error {
	e := sc.session.engine
	if err := catalog.CheckChangeable(t.entry.ID.Catalog); err != nil {
		return err
	}
	if !e.reserve(t.entry.ID) {
		return tableExists(t.entry.ID)
	}
	defer e.free(t.entry.ID)
	if e.find(t.entry.ID) != nil {
		return tableExists(t.entry.ID)
	}
	if t.entry.External {
		if err := sc.checkPlace(t); err != nil {
			return err
		}
	} else if err := e.makeTableDir(t); err != nil {
		return err
	}
	if err := sc.fill(ctx, t, plan.SaveAppend); err != nil {
		return sc.undo(t, err)
	}
	if err := e.catalog.CreateTable(t.entry); err != nil {
		return sc.undo(t, err)
	}
	return nil
}

// managedDir is where the rows of a managed table go: below its schema's
// location, if that has one.
func (e *Engine) managedDir(id plan.TableID) (dir string, own bool, err error) {
	schema, err := e.catalog.Schema(id.Catalog, id.Schema)
	if err != nil || schema.Location == "" {
		return e.catalog.TableDir(id), true, err
	}
	return path.Join(schema.Location, path.Base(e.catalog.TableDir(id))), false, nil
}

// makeTableDir makes the empty directory of a new managed table.
func (e *Engine) makeTableDir(t *newTable) error {
	dir, own, err := e.managedDir(t.entry.ID)
	if err != nil {
		return err
	}
	t.entry.Location = dir
	if own && e.taken(t.entry.ID, dir) {
		t.entry.Location = dir + versionMark + newID()
		return vfs.MkdirDurable(e.fs, t.entry.Location)
	}
	if own {
		// Whatever stands there, a crash left it: the table has no document.
		if err := e.fs.RemoveAll(dir); err != nil {
			return fmt.Errorf("clean %s: %w", dir, err)
		}
		_, err := e.catalog.MakeTableDir(t.entry.ID)
		return err
	}
	infos, err := e.fs.List(dir)
	if err == nil && len(infos) > 0 {
		return plan.NewError(plan.ClassRuntime, "LOCATION_ALREADY_EXISTS",
			fmt.Sprintf("the table %s would be made at %s, where there are files.", t.entry.ID, dir),
			"identifier", plan.QuoteParts(t.entry.ID.Parts()), "location", "file:"+dir)
	}
	return vfs.MkdirDurable(e.fs, dir)
}

// taken reports whether a table that has another name now kept its rows in a directory.
func (e *Engine) taken(id plan.TableID, dir string) bool {
	tables, err := e.catalog.Tables(id.Catalog, id.Schema)
	return err == nil && slices.ContainsFunc(tables, func(t *catalog.Table) bool { return t.Location == dir })
}

// undo removes the rows of a managed table that was not made.
func (sc *scope) undo(t *newTable, cause error) error {
	if t.entry.External {
		return cause
	}
	return errors.Join(cause, sc.session.engine.fs.RemoveAll(t.entry.Location))
}

// checkPlace refuses to write the rows of a query among files that are there.
func (sc *scope) checkPlace(t *newTable) error {
	if t.rows == nil {
		return nil
	}
	place, err := sc.session.engine.files.Resolve(t.entry.Location)
	if err != nil {
		return err
	}
	infos, err := place.FS.List(place.Path)
	if err != nil && !vfs.NotFound(err) {
		return err
	}
	for _, i := range infos {
		if !strings.HasPrefix(i.Name, ".") {
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_1241",
				"CREATE TABLE AS needs an empty place, and "+place.Text(place.Path)+" has files.",
				"tablePath", place.Text(place.Path),
				"config", "spark.sql.legacy.allowNonEmptyLocationInCTAS")
		}
	}
	return nil
}

// fill makes a table's first version: the rows of its query, or none. Formats
// that keep a log are told of an empty table too; for the others a directory is
// enough.
func (sc *scope) fill(ctx context.Context, t *newTable, mode plan.SaveMode) error {
	made := connector.CreateSpec{
		Schema: t.schema, Path: t.entry.Location, Partitions: t.entry.Partitions, Comment: t.entry.Comment,
		Properties: t.entry.Properties, Managed: !t.entry.External, Replace: mode == plan.SaveOverwrite,
		Clustering: t.cluster, Statement: t.statement,
	}
	if t.rows == nil {
		if t.format.Create == nil {
			return nil
		}
		return t.format.Create(ctx, sc.files, made)
	}
	spec := connector.WriteSpec{
		Schema: t.schema, Mode: mode, Path: t.entry.Location, Options: plan.Options(t.entry.Options),
		Partitions: t.entry.Partitions, Properties: t.entry.Properties,
	}
	if !t.keepSchema {
		spec.Make = &made
	}
	return t.format.Write(ctx, sc.files, spec, t.rows)
}

// replace makes a table in the place of another. A table with a log gets a new
// version of itself; the rows of any other go to a fresh directory, and the
// document says which one counts.
func (sc *scope) replace(ctx context.Context, old *catalog.Table, t *newTable) error {
	e := sc.session.engine
	if err := catalog.CheckChangeable(old.ID.Catalog); err != nil {
		return err
	}
	if !e.reserve(old.ID) {
		return tableExists(old.ID)
	}
	defer e.free(old.ID)
	inPlace := old.External || selfDescribing(t.format.Name) && t.format.Name == old.Format
	if inPlace {
		t.entry.Location, t.entry.External = old.Location, old.External
		if err := sc.fill(ctx, t, plan.SaveOverwrite); err != nil {
			return err
		}
		return e.catalog.ReplaceTable(t.entry)
	}
	dir, _, err := e.managedDir(old.ID)
	if err != nil {
		return err
	}
	t.entry.Location = dir + versionMark + newID()
	if err := vfs.MkdirDurable(e.fs, t.entry.Location); err != nil {
		return err
	}
	if err := sc.fill(ctx, t, plan.SaveAppend); err != nil {
		return sc.undo(t, err)
	}
	if err := e.catalog.ReplaceTable(t.entry); err != nil {
		return sc.undo(t, err)
	}
	return e.fs.RemoveAll(old.Location)
}

// versionMark separates a table's directory name from what tells the
// directories of a replaced table apart. It occurs in no escaped name.
const versionMark = "@"

// sweepTables removes directories of replaced tables that a crash left and no
// table points to.
func (e *Engine) sweepTables() error {
	used := map[string]bool{}
	for _, c := range e.catalog.Catalogs() {
		schemas, err := e.catalog.Schemas(c)
		if err != nil {
			return err
		}
		for _, s := range schemas {
			tables, err := e.catalog.Tables(c, s.Name)
			if err != nil {
				return err
			}
			for _, t := range tables {
				used[t.Location] = true
			}
		}
	}
	return e.eachDir(path.Join(e.dir, "warehouse"), 3, func(dir string) error {
		if strings.Contains(path.Base(dir), versionMark) && !used[dir] {
			return e.fs.RemoveAll(dir)
		}
		return nil
	})
}

// eachDir visits the directories depth levels below root.
func (e *Engine) eachDir(root string, depth int, visit func(dir string) error) error {
	if depth == 0 {
		return visit(root)
	}
	infos, err := e.fs.List(root)
	if vfs.NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, i := range infos {
		if !i.IsDir() {
			continue
		}
		if err := e.eachDir(path.Join(root, i.Name), depth-1, visit); err != nil {
			return err
		}
	}
	return nil
}

// reserve keeps a table's name for one statement that makes or replaces it; it
// reports false when another one has it.
func (e *Engine) reserve(id plan.TableID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.making[id] {
		return false
	}
	e.making[id] = true
	return true
}

func (e *Engine) free(id plan.TableID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.making, id)
}
