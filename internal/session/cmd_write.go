package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
)

// write is df.write and df.writeTo.
func write(ctx context.Context, s *Session, c *plan.Write) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	query, err := sc.analyzer().Resolve(ctx, c.Input)
	if err != nil {
		return nil, err
	}
	if c.Statement {
		if err := analyze.CheckBatch(query); err != nil {
			return nil, err
		}
	}
	if plan.Streaming(query) {
		method := "`write`"
		if c.V2 != plan.WriteV1 {
			method = "`writeTo`"
		}
		return nil, plan.AnalysisError("CALL_ON_STREAMING_DATASET_UNSUPPORTED",
			"A streaming frame is written by writeStream.", "methodName", method)
	}
	w := &writer{scope: sc, command: c, query: query}
	switch {
	case c.V2 != plan.WriteV1:
		return w.toTableV2(ctx)
	case len(c.Table) > 0 && c.InsertInto:
		return w.insertInto(ctx)
	case len(c.Table) > 0:
		return w.saveAsTable(ctx)
	default:
		return w.save(ctx)
	}
}

// writer is one df.write or df.writeTo.
type writer struct {
	scope   *scope
	command *plan.Write
	query   plan.Node // resolved
}

// save writes files, or whatever else a format that is no table's means.
func (w *writer) save(ctx context.Context) (*Result, error) {
	sc, c := w.scope, w.command
	name := c.Format
	if name == "" {
		name = sc.conf.Value(settings.FormatKey)
	}
	f, ok := sc.format(name)
	if !ok {
		return nil, noSuchFormat(name)
	}
	if c.Statement && (f.Write == nil || len(f.Metadata) == 0) {
		class := "class " + f.Name
		if len(f.Aliases) > 0 {
			class = "class " + f.Aliases[0]
		}
		return nil, plan.NewError(plan.ClassSpark, "_LEGACY_ERROR_TEMP_2233",
			"INSERT OVERWRITE DIRECTORY writes formats of files, and "+f.Name+" is none.", "providingClass", class)
	}
	if f.Write == nil {
		return nil, plan.Unsupported("Writing " + f.Name + " in a batch query")
	}
	notes, err := f.UnknownOptions(c.Options)
	if err != nil {
		return nil, err
	}
	sc.session.tell(notes)
	path := c.Path
	if path == "" {
		path, _ = c.Options.Get("path")
	}
	schema := plan.SchemaOf(w.query.Output())
	// What drops its rows has no use for their names.
	if err := sc.distinctColumns(schema); err != nil && f.Name != "noop" {
		return nil, err
	}
	partitions, err := w.partitions(schema)
	if err != nil {
		return nil, err
	}
	options := maps.Clone(c.Options)
	if options == nil {
		options = plan.Options{}
	}
	dynamic := strings.EqualFold(sc.conf.Value(settings.OverwriteKey), "dynamic") && len(partitions) > 0
	if _, ok := options.Get(overwriteOption); !ok && dynamic {
		options[overwriteOption] = "dynamic"
	}
	if c.Mode == plan.SaveOverwrite && !selfDescribing(f.Name) {
		if err := w.checkInput(path); err != nil {
			return nil, err
		}
	}
	replaces, err := w.replaced(ctx, f.Name, path)
	if err != nil {
		return nil, err
	}
	r, err := sc.run(ctx, w.query)
	if err != nil {
		return nil, err
	}
	err = f.Write(ctx, sc.files, connector.WriteSpec{
		Schema: schema, Mode: c.Mode, Path: path, Options: options, Partitions: partitions, Replaces: replaces,
	}, r.Rows)
	return &Result{Schema: plan.Struct(), Rows: empty().Rows, Observed: r.Observed}, err
}

// checkInput refuses to overwrite a path that the frame is read from.
func (w *writer) checkInput(target string) error {
	files := w.scope.session.engine.files
	place, err := files.Resolve(target)
	if err != nil {
		return nil // the format reports it
	}
	reads := !plan.WalkNodes(w.query, func(m plan.Node) bool {
		scan, ok := m.(*plan.Scan)
		if !ok {
			return true
		}
		return !slices.ContainsFunc(scan.Relation.Paths, func(p string) bool {
			from, err := files.Resolve(p)
			return err == nil && from.Path == place.Path
		})
	})
	if !reads {
		return nil
	}
	shown := place.Text(place.Path)
	return plan.AnalysisError("UNSUPPORTED_OVERWRITE.PATH",
		"The path "+shown+" cannot be overwritten with rows read from it.", "path", shown)
}

// partitions are the names of partitionBy as the columns have them.
func (w *writer) partitions(schema plan.Type) ([]string, error) {
	var out []string
	for _, name := range w.command.Partitions {
		at := w.scope.column(schema, name)
		if at < 0 {
			return nil, plan.AnalysisError("PARTITION_COLUMN_NOT_FOUND_IN_SCHEMA",
				fmt.Sprintf("the frame has no column %s to partition by.", plan.Quote(name)),
				"column", name, "schema", schema.SQL())
		}
		out = append(out, schema.Fields[at].Name)
	}
	return out, nil
}

// create is the statement that makes the table of a writer.
func (w *writer) create() *plan.CreateTable {
	c := w.command
	options := maps.Clone(c.Options)
	return &plan.CreateTable{
		Name: c.Table, Format: c.Format, Partitions: c.Partitions, Location: c.Path, Options: options,
		Properties: c.Properties, Query: c.Input,
	}
}

// saveAsTable makes a table, or appends by name to one that is there.
func (w *writer) saveAsTable(ctx context.Context) (*Result, error) {
	c := w.command
	if f := w.scope.formatOfPath(c.Table); f != nil {
		return w.toPath(ctx, f)
	}
	id, old, err := w.target()
	if err != nil {
		return nil, err
	}
	switch {
	case old == nil:
		return w.make(ctx, id)
	case c.Mode == plan.SaveIgnore:
		return empty(), nil
	case c.Mode == plan.SaveError:
		return nil, tableExists(id)
	case old.IsView():
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1158", "Rows cannot be saved into a view.")
	case c.Mode == plan.SaveOverwrite:
		if !selfDescribing(old.Format) && readsTable(w.query, id) {
			return nil, plan.AnalysisError("UNSUPPORTED_OVERWRITE.TABLE",
				"The table is read by the frame that would replace it.", "table", plan.QuoteParts(id.Parts()))
		}
		return w.remake(ctx, id, old, true)
	}
	if c.Format != "" && !strings.EqualFold(c.Format, old.Format) {
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1159",
			fmt.Sprintf("The table %s has the format %s, not %s.", id, old.Format, c.Format),
			"tableName", id.String(), "existingProvider", old.Format, "specifiedProvider", c.Format)
	}
	if len(c.Partitions) > 0 && !sameNames(c.Partitions, old.Partitions) {
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1163",
			fmt.Sprintf("The table %s is partitioned by other columns.", id), "tableName", id.String(),
			"specifiedPartCols", strings.Join(c.Partitions, ", "),
			"existingPartCols", strings.Join(old.Partitions, ", "))
	}
	return w.into(ctx, old, false, true)
}

func sameNames(a, b []string) bool { return slices.EqualFunc(a, b, strings.EqualFold) }

// target is the table's full name and, if there is one, the table.
func (w *writer) target() (plan.TableID, *catalog.Table, error) {
	s := w.scope.session
	id, err := s.tableID(w.command.Table)
	if err != nil {
		return id, nil, err
	}
	if _, err := s.engine.catalog.Schema(id.Catalog, id.Schema); err != nil {
		return id, nil, err
	}
	return id, s.engine.find(id), nil
}

func (w *writer) make(ctx context.Context, id plan.TableID) (*Result, error) {
	t, err := w.scope.newTable(ctx, w.create(), id)
	if err != nil {
		return nil, err
	}
	return empty(), w.scope.create(ctx, t)
}

func (w *writer) remake(ctx context.Context, id plan.TableID, old *catalog.Table, keepSchema bool,
) (*Result, error) {
	c := w.create()
	if c.Format == "" {
		c.Format = old.Format
	}
	t, err := w.scope.newTable(ctx, c, id)
	if err != nil {
		return nil, err
	}
	t.keepSchema = keepSchema
	return empty(), w.scope.replace(ctx, old, t)
}

// into adds the frame's rows to a table.
func (w *writer) into(ctx context.Context, t *catalog.Table, overwrite, byName bool) (*Result, error) {
	in := &insertion{scope: w.scope, table: t, overwrite: overwrite, options: w.command.Options, frame: true}
	if w.command.V2 == plan.V2Overwrite && !isTrue(w.command.Condition) {
		in.condition = w.command.Condition
	}
	if err := in.open(ctx); err != nil {
		return nil, err
	}
	// saveAsTable, which fills no missing columns of files.
	if byName && w.command.V2 == plan.WriteV1 && !selfDescribing(t.Format) {
		if err := in.sameColumns(w.query); err != nil {
			return nil, err
		}
	}
	err := in.byPositionOrName(w.query, byName)
	if err != nil {
		return nil, err
	}
	return in.write(ctx, w.query)
}

func (in *insertion) byPositionOrName(query plan.Node, byName bool) error {
	if byName {
		return in.byName(query)
	}
	return in.byPosition(query)
}

func (w *writer) insertInto(ctx context.Context) (*Result, error) {
	c := w.command
	if len(c.Partitions) > 0 {
		return nil, plan.AnalysisError("PARTITION_BY_NOT_ALLOWED_WITH_INSERT_INTO",
			"insertInto takes the table's own partitioning.", "tableName", plan.QuoteParts(c.Table))
	}
	t, err := w.scope.tableAt(c.Table)
	if t == nil && err == nil {
		t, err = w.scope.session.insertTarget(c.Table, "INSERT")
	}
	if err != nil {
		return nil, err
	}
	return w.into(ctx, t, c.Mode == plan.SaveOverwrite, false)
}

// toTableV2 is df.writeTo.
func (w *writer) toTableV2(ctx context.Context) (*Result, error) {
	c := w.command
	if f := w.scope.formatOfPath(c.Table); f != nil {
		return w.toPath(ctx, f)
	}
	id, old, err := w.target()
	if err != nil {
		return nil, err
	}
	switch c.V2 {
	case plan.V2Create:
		if old != nil {
			return nil, tableExists(id)
		}
		return w.make(ctx, id)
	case plan.V2Replace, plan.V2CreateOrReplace:
		return w.replaceV2(ctx, id, old)
	}
	t, err := w.scope.session.insertTarget(c.Table, "writeTo")
	if err != nil {
		return nil, err
	}
	return w.intoV2(ctx, t)
}

// intoV2 are the ways of df.writeTo to write into a table that is there.
func (w *writer) intoV2(ctx context.Context, t *catalog.Table) (*Result, error) {
	switch w.command.V2 {
	case plan.V2Append:
		return w.into(ctx, t, false, true)
	case plan.V2OverwritePartitions:
		w.setOption(overwriteOption, "dynamic")
		return w.into(ctx, t, true, true)
	default:
		return w.overwriteWhere(ctx, t)
	}
}

func (w *writer) replaceV2(ctx context.Context, id plan.TableID, old *catalog.Table) (*Result, error) {
	switch {
	case old == nil && w.command.V2 == plan.V2Replace:
		return nil, catalog.TableNotFound(id.Parts(), w.scope.session.dropPath())
	case old == nil:
		return w.make(ctx, id)
	case old.IsView():
		return nil, expectTable(id.Parts(), "REPLACE TABLE")
	case !selfDescribing(old.Format):
		return nil, plan.TableOperation(id, "REPLACE TABLE")
	}
	return w.remake(ctx, id, old, false)
}

func (w *writer) setOption(key, value string) {
	c := *w.command
	c.Options = maps.Clone(c.Options)
	if c.Options == nil {
		c.Options = plan.Options{}
	}
	c.Options[key] = value
	w.command = &c
}

// overwriteWhere is overwrite(condition): a constant true means every row.
func (w *writer) overwriteWhere(ctx context.Context, t *catalog.Table) (*Result, error) {
	if !isTrue(w.command.Condition) && !selfDescribing(t.Format) {
		return nil, plan.TableOperation(t.ID, "OVERWRITE BY FILTER")
	}
	return w.into(ctx, t, true, true)
}

func isTrue(e plan.Expr) bool {
	l, ok := e.(*plan.Literal)
	return ok && l.Value == true
}
