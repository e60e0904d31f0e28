package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// alterTable is ALTER TABLE, and COMMENT ON TABLE.
func alterTable(ctx context.Context, s *Session, c *plan.AlterTable) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if c.Change.RenameTo != nil {
		return empty(), sc.renameTable(c.Table, c.Change.RenameTo)
	}
	if sc.formatOfPath(c.Table) == nil {
		entry, err := s.realTable(c.Table, "ALTER TABLE")
		if err != nil {
			return nil, err
		}
		if entry.Format != deltaFormat {
			return empty(), sc.alterFiles(entry, &c.Change)
		}
	}
	t, snapshot, err := sc.loadDelta(ctx, c.Table, "ALTER TABLE")
	if err != nil {
		return nil, err
	}
	a := &alteration{scope: sc, place: t, snapshot: snapshot}
	change, err := a.change(ctx, &c.Change)
	if err != nil || change == nil {
		return empty(), err
	}
	if _, err := deltatable.Commit(ctx, sc.files, snapshot, *change, delta.Rewritten{}); err != nil {
		return nil, err
	}
	return empty(), a.noted()
}

// renameTable is ALTER TABLE … RENAME TO, within the table's schema.
func (sc *scope) renameTable(from, to []string) error {
	s := sc.session
	if sc.formatOfPath(from) != nil {
		schema := plan.QuoteParts([]string{catalog.SparkCatalog, from[0]})
		return plan.NewError("org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException", "SCHEMA_NOT_FOUND",
			"A table by its path has no name that could be another one.", "schemaName", schema)
	}
	entry, err := s.realTable(from, "ALTER TABLE")
	if err != nil {
		return err
	}
	id := entry.ID
	if n := len(to); n > 1 && !strings.EqualFold(to[n-2], id.Schema) {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1073",
			fmt.Sprintf("A table keeps its schema when it is renamed: %s is not %s.", to[n-2], id.Schema),
			"db", id.Schema, "newDb", to[n-2])
	} else if n > 2 && !strings.EqualFold(to[0], id.Catalog) {
		return plan.Unsupported("Renaming a table into another catalog")
	}
	id.Name = strings.ToLower(to[len(to)-1])
	if !s.engine.reserve(id) {
		return tableExists(id)
	}
	defer s.engine.free(id)
	if there, err := s.engine.catalog.Table(id); err != nil || there != nil {
		if err != nil {
			return err
		}
		return nameExists([]string{id.Schema, id.Name})
	}
	return s.engine.catalog.RenameTable(entry.ID, id.Name)
}

// loadDelta is the Delta table of a name at its newest version.
func (sc *scope) loadDelta(ctx context.Context, name []string, statement string,
) (*deltaPlace, *delta.Snapshot, error) {
	t, err := sc.deltaTable(name, statement)
	var e *plan.Error
	if errors.As(err, &e) && e.Condition == "DELTA_TABLE_ONLY_OPERATION" {
		err = dml.Mistake("DELTA_MISSING_DELTA_TABLE", "42P01",
			fmt.Sprintf("There is no Delta table at %s.", name[1]), "tableName", plan.Quote(name[1]))
	}
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := sc.files.Snapshots.Load(ctx, t.Table)
	return t, snapshot, err
}

// alteration is ALTER TABLE of a Delta table.
type alteration struct {
	*scope
	place    *deltaPlace
	snapshot *delta.Snapshot
}

// quoted is the table's full name in errors of Spark.
func (a *alteration) quoted() string {
	if a.place.entry != nil {
		return plan.QuoteParts(a.place.entry.ID.Parts())
	}
	return plan.QuoteParts([]string{catalog.SparkCatalog, deltaFormat, a.place.Dir})
}

// change is what a statement commits; nil when there is nothing to do.
func (a *alteration) change(ctx context.Context, c *plan.TableChange) (*delta.Change, error) {
	now := a.files.Now()
	var out delta.Change
	var err error
	switch {
	case c.AddColumns != nil:
		out, err = a.snapshot.AddColumns(c.AddColumns, now)
	case c.DropColumns != nil:
		paths := c.DropColumns
		if c.IfExists {
			paths = slices.DeleteFunc(slices.Clone(paths), func(p []string) bool { return !a.snapshot.HasColumn(p) })
		}
		if len(paths) == 0 {
			return nil, nil
		}
		out, err = a.snapshot.DropColumns(paths, now)
	case c.Rename != nil:
		out, err = a.snapshot.RenameColumn(c.Rename, now)
	case c.Column != nil:
		if err := a.checkNewDefault(c.Column); err != nil {
			return nil, err
		}
		if out, err = a.snapshot.ChangeColumn(c.Column, a.quoted(), now); out.Operation == "" {
			return nil, err
		}
	case c.SetProperties != nil:
		out, err = a.snapshot.SetProperties(c.SetProperties, now)
		err = refusedValue(err)
	case c.AddFeature != nil:
		out, err = a.snapshot.AddFeature(*c.AddFeature, now)
	case c.Unset != nil:
		out, err = a.snapshot.UnsetProperties(c.Unset, now)
	case c.Comment != nil:
		out, err = a.snapshot.SetProperties([]plan.Property{{Key: "comment", Value: *c.Comment}}, now)
	case c.AddConstraint != nil:
		return a.addConstraint(ctx, c.AddConstraint)
	default:
		out, err = a.snapshot.DropConstraint(c.DropCheck, c.IfExists, a.place.shown, now)
	}
	return &out, err
}

// checkNewDefault checks SET DEFAULT; that there is no such column is said later.
func (a *alteration) checkNewDefault(c *plan.ColumnChange) error {
	if c.Default == nil || *c.Default == "" {
		return nil
	}
	if len(c.Path) > 1 {
		return plan.Unsupported("SET DEFAULT of a field within a column")
	}
	for _, f := range a.snapshot.Schema.Fields {
		if strings.EqualFold(f.Name, c.Path[0]) {
			f = f.Without(plan.DefaultMark).With(plan.DefaultMark, plan.JSONText(*c.Default))
			return a.checkDefault(f, "ALTER TABLE ALTER COLUMN")
		}
	}
	return nil
}

// refusedValue gives a property's wrong value the error that ALTER TABLE has for it.
func refusedValue(err error) error {
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "" {
		return err
	}
	out := plan.NewError(plan.ClassSpark, "UNSUPPORTED_TABLE_CHANGE", e.Msg, "message", e.Msg)
	out.Cause = err
	return out
}

// addConstraint looks at every row first.
func (a *alteration) addConstraint(ctx context.Context, c *plan.Constraint) (*delta.Change, error) {
	s, change, err := dml.AddConstraint(ctx, a.statement(), a.place.node(), a.place.shown, c)
	if err == nil {
		a.snapshot = s
	}
	return change, err
}

// noted tells the catalog what the table is like now, for those who list it.
func (a *alteration) noted() error {
	if a.place.entry == nil {
		return nil
	}
	t := *a.place.entry
	m := a.snapshot.Metadata
	t.SchemaJSON, t.Partitions = delta.Visible(a.snapshot.Schema).JSON(), m.PartitionColumns
	t.Properties, t.Comment = m.Configuration, m.Description
	return a.session.engine.catalog.ReplaceTable(t)
}

// alterFiles is ALTER TABLE of a table of files, whose description is the catalog's.
func (sc *scope) alterFiles(t *catalog.Table, c *plan.TableChange) error {
	m := *t
	m.Properties = map[string]string{}
	for k, v := range t.Properties {
		m.Properties[k] = v
	}
	schema, err := t.Schema()
	if err != nil {
		return err
	}
	switch {
	case c.SetProperties != nil:
		for _, p := range c.SetProperties {
			m.Properties[p.Key] = p.Value
		}
	case c.Unset != nil:
		for _, key := range c.Unset {
			delete(m.Properties, key)
		}
	case c.Comment != nil:
		m.Comment = *c.Comment
	case c.AddColumns != nil:
		if schema, err = sc.widened(t, schema, c.AddColumns); err != nil {
			return err
		}
		m.SchemaJSON = schema.JSON()
	case c.Column != nil:
		if schema, err = sc.recommented(t, schema, c.Column); err != nil {
			return err
		}
		m.SchemaJSON = schema.JSON()
	case c.DropColumns != nil:
		return plan.TableOperation(t.ID, "DROP COLUMN")
	case c.Rename != nil:
		return plan.TableOperation(t.ID, "RENAME COLUMN")
	default:
		return plan.TableOperation(t.ID, "ALTER TABLE ... CONSTRAINT")
	}
	return sc.session.engine.catalog.ReplaceTable(m)
}

// widened puts new columns before the partition columns of a table of files.
func (sc *scope) widened(t *catalog.Table, schema plan.Type, columns []plan.NewColumn) (plan.Type, error) {
	for _, c := range columns {
		if len(c.Path) > 1 || c.Place.IsSet() || !c.Field.Nullable {
			return schema, plan.Unsupported("ADD COLUMNS within a column or at a place of a table of files")
		}
		if sc.column(schema, c.Field.Name) >= 0 {
			return schema, columnExists(c.Field.Name)
		}
		at := len(schema.Fields) - len(t.Partitions)
		schema = plan.Struct(slices.Insert(slices.Clone(schema.Fields), at, c.Field)...)
	}
	return schema, nil
}

// recommented is ALTER COLUMN of a table of files, which changes comments only.
func (sc *scope) recommented(t *catalog.Table, schema plan.Type, c *plan.ColumnChange) (plan.Type, error) {
	at := sc.column(schema, strings.Join(c.Path, "."))
	if at < 0 {
		return schema, plan.AnalysisError("UNRESOLVED_COLUMN.WITH_SUGGESTION",
			fmt.Sprintf("There is no column %s.", plan.QuoteParts(c.Path)), "objectName", plan.QuoteParts(c.Path),
			"proposal", quotedList(fieldNames(schema)))
	}
	f := schema.Fields[at]
	if c.Type != nil && !c.Type.EqualIgnoringNull(f.Type) {
		return schema, plan.AnalysisError("NOT_SUPPORTED_CHANGE_COLUMN",
			fmt.Sprintf("The column %s of %s is %s.", f.Name, t.ID, f.Type.SQL()),
			"table", plan.QuoteParts(t.ID.Parts()), "originName", plan.Quote(f.Name),
			"originType", strconv.Quote(f.Type.SQL()), "newName", plan.QuoteParts(c.Path),
			"newType", strconv.Quote(c.Type.SQL()))
	}
	if c.Comment == nil || c.Nullable != nil || c.Place.IsSet() || c.Default != nil {
		return schema, plan.TableOperation(t.ID, "ALTER COLUMN")
	}
	fields := slices.Clone(schema.Fields)
	fields[at] = f.Without("comment").With("comment", plan.JSONText(*c.Comment))
	return plan.Struct(fields...), nil
}

// truncateTable is TRUNCATE TABLE.
func truncateTable(ctx context.Context, s *Session, c *plan.Truncate) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if sc.formatOfPath(c.Table) == nil {
		entry, err := s.realTable(c.Table, "TRUNCATE TABLE")
		if err != nil {
			return nil, err
		}
		if entry.Format != deltaFormat {
			return empty(), sc.truncateFiles(ctx, entry, c)
		}
	}
	_, snapshot, err := sc.loadDelta(ctx, c.Table, "TRUNCATE TABLE")
	if err != nil {
		return nil, err
	}
	if c.Partition != nil {
		return nil, dml.Mistake("DELTA_TRUNCATE_TABLE_PARTITION_NOT_SUPPORTED", "0AKDC",
			"TRUNCATE TABLE of a Delta table takes no partition; use DELETE.")
	}
	if err := snapshot.CheckRemovable(); err != nil {
		return nil, err
	}
	change, some := snapshot.Truncation(sc.files.Now())
	if !some {
		return empty(), nil
	}
	_, err = deltatable.Commit(ctx, sc.files, snapshot, change, delta.Rewritten{})
	return empty(), err
}

// truncateFiles overwrites a table of files with no rows.
func (sc *scope) truncateFiles(ctx context.Context, t *catalog.Table, c *plan.Truncate) error {
	if c.Partition != nil {
		return plan.Unsupported("TRUNCATE TABLE … PARTITION")
	}
	if t.External {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1266",
			"TRUNCATE TABLE is not for external tables such as "+t.ID.String()+".",
			"tableIdentWithDB", plan.QuoteParts([]string{t.ID.Catalog, t.ID.Schema, t.ID.Name}))
	}
	f, ok := sc.format(t.Format)
	if !ok || f.Write == nil {
		return noSuchFormat(t.Format)
	}
	schema, err := t.Schema()
	if err != nil {
		return err
	}
	return f.Write(ctx, sc.files, connector.WriteSpec{Schema: schema, Mode: plan.SaveOverwrite, Path: t.Location,
		Options: plan.Options{}, Partitions: t.Partitions}, empty().Rows)
}
