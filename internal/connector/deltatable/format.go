package deltatable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const formatClass = "org.apache.spark.sql.delta.sources.DeltaDataSource"

func Format() *connector.Format {
	return &connector.Format{
		Name:    "delta",
		Aliases: []string{formatClass},
		Doc:     "Delta tables: Parquet files with a log of versions",
		Options: connector.Options([][3]string{
			{"path", "", "the table's directory"},
			{"versionAsOf", "", "batch reads: the version that is read; else the newest"},
			{"timestampAsOf", "", "batch reads: the time whose version is read"},
			{"startingVersion", "", "streams and change feeds: the first version that is read; streams also take " +
				"latest, and begin with the whole table without one"},
			{"startingTimestamp", "", "streams and change feeds: the time from which on versions are read"},
			{"maxFilesPerTrigger", "1000", "streams: most files of a batch"},
			{"maxBytesPerTrigger", "", "streams: most bytes of a batch, as 10g; one file is always taken"},
			{"ignoreDeletes", "false", "streams: whether commits that only delete rows are passed over"},
			{"ignoreChanges", "false", "streams: whether files that a change wrote anew are read again"},
			{"skipChangeCommits", "false", "streams: whether commits that change rows are left out"},
			{"excludeRegex", "", "streams: files whose path in the log matches are left out"},
			{schemaLogOption, "", "streams: a folder below the checkpoint that keeps which columns are read"},
			{"streamingSourceTrackingId", "", "streams: tells several sources over one table apart in that folder"},
			{"allowSourceColumnRename", "", "streams: always, or the version behind which renamed columns are read"},
			{"allowSourceColumnDrop", "", "the same for dropped columns"},
			{"allowSourceColumnTypeChange", "", "the same for columns with another type"},
			{"readChangeFeed", "false", "reads what changed rather than the rows there are"},
			{"endingVersion", "", "change feeds, batch: the last version whose changes are read; else the newest"},
			{"endingTimestamp", "", "change feeds, batch: the time up to which versions are read"},
			{"failOnDataLoss", "true", "streams: whether a query ends when versions it has not read are gone"},
			{"mergeSchema", "false", "whether a write adds the columns that the table lacks"},
			{"overwriteSchema", "false", "whether an overwrite gives the table the columns of the data"},
			{"replaceWhere", "", "the condition of the rows that an overwrite replaces; new rows must fulfil it"},
			{"partitionOverwriteMode", "static", "dynamic: an overwrite replaces only the partitions that it writes"},
			{"txnAppId", "", "with txnVersion: an application whose writes are made once"},
			{"txnVersion", "", "number of the application's write; a lower or equal one changes nothing"},
			{UpsertOption, "false", "mode update: whether a group takes the place of what the table has of it"},
		}),
		Describe: describeTable,
		Scan:     scan,
		Source:   openSource,
		Sink:     openSink,
		Write:    writeTable,
		Create:   create,
	}
}

func describeTable(ctx context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
	if r.Schema != nil && !r.Streaming {
		return nil, analysisError("DELTA_UNSUPPORTED_SCHEMA_DURING_READ", "0AKDC",
			"A Delta table has a schema of its own and takes none from the user.")
	}
	paths := connector.ReadPaths(r)
	if len(paths) == 0 && r.Streaming {
		return nil, plan.IllegalArgument("'path' is not specified")
	}
	if len(paths) != 1 {
		return nil, plan.IllegalArgument("A Delta table is read from one path, and %d were given.", len(paths))
	}
	var err error
	if r, paths, err = ofVersion(env, r, paths); err != nil {
		return nil, err
	}
	t, err := Table(env, paths[0])
	if err != nil {
		return nil, err
	}
	if _, err := t.FS.Stat(t.Dir); vfs.NotFound(err) && !r.Streaming {
		return nil, plan.AnalysisError("PATH_NOT_FOUND", fmt.Sprintf("There is nothing at %s.", paths[0]),
			"path", paths[0])
	}
	load := load
	if r.Streaming {
		load = loadHead
	}
	s, err := load(ctx, env, t, r.Options)
	if delta.IsNotTable(err) && r.Streaming {
		return nil, analysisError("DELTA_SCHEMA_NOT_SET", "KD008",
			fmt.Sprintf("There is no Delta table at %s yet, whose columns a stream could have.", paths[0]))
	}
	if err != nil {
		return nil, err
	}
	if r.Streaming {
		if s, err = tracked(env, r.Options, s); err != nil {
			return nil, err
		}
	}
	if r.Schema != nil && !r.Schema.EqualIgnoringNull(s.Schema) {
		return nil, analysisError("DELTA_READ_SOURCE_SCHEMA_CONFLICT", "42K07",
			"The schema that was given is not that of the Delta table; leave it out.")
	}
	relation := &plan.Relation{Format: "delta", Schema: delta.Visible(s.Schema),
		Partitions: s.Metadata.PartitionColumns, Options: r.Options, Paths: paths}
	if ok, err := readsFeed(r.Options); ok || err != nil {
		return feedRelation(ctx, env, t, r, relation)
	}
	for _, f := range s.Schema.Fields {
		if delta.ComputedOf(f).Fills() {
			relation.Filled = append(relation.Filled, f.Name)
		}
	}
	return relation, nil
}

// ofVersion is a read without a version in its path. A stream has none.
func ofVersion(env *connector.Env, r *plan.Read, paths []string) (*plan.Read, []string, error) {
	text, options, err := travelled(env, paths[0], r.Options)
	if err != nil {
		return nil, nil, err
	}
	for _, option := range []string{plan.VersionAsOf, plan.TimestampAsOf} {
		if _, ok := options.Get(option); ok && r.Streaming {
			return nil, nil, analysisError("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS", "0AKDC",
				"A stream has no older version to be read: "+option+" is for batch reads.")
		}
	}
	m := *r
	m.Options = options
	return &m, []string{text}, nil
}

func analysisError(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaAnalysisException", condition, msg, args...)
	e.State = state
	return e
}

// scan reads a version of the table, files dealt into partitions as
// those of other formats.
func scan(ctx context.Context, env *connector.Env, s *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		t, err := Table(env, s.Relation.Paths[0])
		if err != nil {
			yield(nil, err)
			return
		}
		if ok, _ := readsFeed(s.Relation.Options); ok {
			scanFeed(ctx, env, t, s)(yield)
			return
		}
		snapshot, err := load(ctx, env, t, s.Relation.Options)
		if err != nil {
			yield(nil, err)
			return
		}
		files, err := pruneScan(env, snapshot, s)
		if err != nil {
			yield(nil, err)
			return
		}
		Scan{Snapshot: snapshot, Files: files, Columns: attributeNames(s)}.Rows(ctx, env)(yield)
	}
}

// tableWrite is one write into a table, batch or micro-batch.
type tableWrite struct {
	env        *connector.Env
	table      delta.Table
	schema     plan.Type
	options    plan.Options
	partitions []string
	properties map[string]string // of a table that the write makes
	castable   func(from, to plan.Type) bool
	replace    bool
}

// fit matches the data with the snapshot's columns.
func (w *tableWrite) fit(s *delta.Snapshot) (*delta.Fit, error) {
	merge, err := connector.BoolOption(w.options, "mergeSchema",
		connector.ConfBool(w.env, "spark.databricks.delta.schema.autoMerge.enabled", false))
	if err != nil {
		return nil, err
	}
	overwrite, err := connector.BoolOption(w.options, "overwriteSchema", false)
	if err != nil {
		return nil, err
	}
	return s.Fit(w.schema, delta.FitOptions{
		MergeSchema: merge, OverwriteSchema: overwrite && w.replace, Castable: w.castable,
		Partitions: w.partitions, Now: w.env.Now(), Properties: w.properties,
		Defaults: delta.DefaultProperties(w.env.Conf),
	})
}

// store writes the rows into data files of the table's columns.
func (w *tableWrite) store(
	ctx context.Context, s *delta.Snapshot, fit *delta.Fit, rows chunk.Rows,
) (delta.Written, error) {
	m := &s.Metadata
	if fit.Metadata != nil {
		m = fit.Metadata
	}
	shape, err := newTableRows(w.env, w.schema, fit, m)
	if err != nil {
		return delta.Written{}, err
	}
	spec := delta.DataSpec{Schema: fit.Schema, Partitions: fit.Partitions, Zone: w.env.Eval.Zone}
	written, err := w.table.Write(ctx, spec, shape.rows(rows))
	if err != nil {
		return written, err
	}
	s.Number(fit, shape.last)
	return written, nil
}

// describe is what the fit says of the table, in the change that needs it.
func describe(change *delta.Change, fit *delta.Fit) {
	change.Metadata, change.Protocol, change.Ruled = fit.Metadata, fit.Protocol, true
	if fit.Numbered {
		change.Tags = map[string]string{delta.IdentityTag: "true"}
	}
}

// tooLongFor is Delta's error for a text that is longer than its column allows.
func tooLongFor(column string) func(text string, limit int) error {
	return func(text string, limit int) error {
		return delta.Refused("DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
			fmt.Sprintf("The value %.100q is longer than the %d characters of column %s.", text, limit, column),
			"value", text, "expr", fmt.Sprintf("((%s IS NULL) OR (length(%[1]s) <= %d))", column, limit))
	}
}

// create is CREATE TABLE. A table over files that are there already is left
// as it is.
func create(ctx context.Context, env *connector.Env, spec connector.CreateSpec) error {
	t, err := Table(env, spec.Path)
	if err != nil {
		return err
	}
	if !spec.Replace {
		s, err := env.Snapshots.Load(ctx, t)
		if err == nil {
			return s.CheckSame(spec.Schema, spec.Partitions, spec.Properties)
		}
		if !delta.IsNotTable(err) {
			return err
		}
	}
	_, err = t.Create(ctx, createSpec(env, spec))
	return err
}

func createSpec(env *connector.Env, spec connector.CreateSpec) delta.CreateSpec {
	return delta.CreateSpec{
		Schema: spec.Schema, Partitions: spec.Partitions, Description: spec.Comment,
		Properties: spec.Properties, Managed: spec.Managed, Replace: spec.Replace, Now: env.Now(),
		Defaults: delta.DefaultProperties(env.Conf), Clustering: spec.Clustering, Statement: spec.Statement,
	}
}

// makeTable is CREATE TABLE AS, and df.write where it makes a table of the catalog.
func makeTable(
	ctx context.Context, env *connector.Env, t delta.Table, spec connector.WriteSpec, rows chunk.Rows,
) error {
	made := createSpec(env, *spec.Make)
	made.Query, made.Properties = true, tableProperties(spec)
	s, change, err := t.Making(ctx, made)
	if err != nil {
		return err
	}
	if change.Txn, err = Txn(env, t.Dir, spec.Options); err != nil || change.Txn.Done(s) {
		return err
	}
	fit, err := change.Metadata.Fit()
	if err != nil {
		return err
	}
	w := &tableWrite{env: env, table: t, schema: spec.Schema, options: spec.Options}
	written, err := w.store(ctx, s, fit, rows)
	if err != nil {
		return err
	}
	change = change.Begin(written)
	change.Ruled = true
	return w.commit(ctx, s, change, written)
}

// modes are the save modes as Delta's history names them.
var modes = map[plan.SaveMode]string{
	plan.SaveError:     "ErrorIfExists",
	plan.SaveAppend:    "Append",
	plan.SaveOverwrite: "Overwrite",
	plan.SaveIgnore:    "Ignore",
}

// writeTable is df.write. The table is made when there is none.
func writeTable(ctx context.Context, env *connector.Env, spec connector.WriteSpec, rows chunk.Rows) error {
	t, err := Table(env, spec.Path)
	if err != nil {
		return err
	}
	if spec.Make != nil {
		return makeTable(ctx, env, t, spec, rows)
	}
	s, err := env.Snapshots.Load(ctx, t)
	switch {
	case err == nil && spec.Mode == plan.SaveError:
		return analysisError("DELTA_PATH_EXISTS", "42K04",
			fmt.Sprintf("There is a Delta table in %s already.", spec.Path), "path", spec.Path)
	case err == nil && spec.Mode == plan.SaveIgnore:
		return nil
	case delta.IsNotTable(err):
		s, err = t.New()
	}
	if err != nil {
		return err
	}
	txn, err := Txn(env, t.Dir, spec.Options)
	if err != nil || txn.Done(s) {
		return errors.Join(err, discardReplaced(spec.Replaces))
	}
	w := &tableWrite{env: env, table: t, schema: spec.Schema, options: spec.Options, partitions: spec.Partitions,
		castable: narrower, replace: spec.Mode == plan.SaveOverwrite, properties: tableProperties(spec)}
	if len(spec.Partitions) == 0 {
		w.partitions = nil
	}
	if spec.Replaces != nil {
		return replace(ctx, w, spec, txn, rows)
	}
	fit, err := w.fit(s)
	if err != nil {
		return err
	}
	written, err := w.store(ctx, s, fit, rows)
	if err != nil {
		return err
	}
	change := delta.BatchWrite(modes[spec.Mode], spec.Partitions, written, env.Now())
	describe(&change, fit)
	change.Params = append(change.Params, w.flags()...)
	change.Txn = txn
	if text, ok := spec.Options.Get("replaceWhere"); ok && s.Version >= 0 {
		change.Params = append(change.Params, delta.Text("predicate", text))
		change.Metrics = append(change.Metrics, delta.Number("numAddedChangeFiles", 0),
			delta.Number("numCopiedRows", 0))
	}
	if w.replace {
		mode, _ := spec.Options.Get("partitionOverwriteMode")
		change.Dynamic = strings.EqualFold(mode, "dynamic") && len(fit.Partitions) > 0
		change.Replace = !change.Dynamic
	}
	return w.commit(ctx, s, change, written)
}

// flags are what the history of a write tells of its options.
func (w *tableWrite) flags() []delta.Param {
	var out []delta.Param
	if on, err := connector.BoolOption(w.options, "mergeSchema", false); err == nil && on {
		out = append(out, delta.Flag("canMergeSchema", true))
	}
	if on, err := connector.BoolOption(w.options, "overwriteSchema", false); err == nil && on {
		out = append(out, delta.Flag("canOverwriteSchema", true))
	}
	if mode, _ := w.options.Get("partitionOverwriteMode"); w.replace && strings.EqualFold(mode, "dynamic") {
		out = append(out, delta.Flag("isDynamicPartitionOverwrite", true))
	}
	return out
}

// commit makes what was written part of the table.
func (w *tableWrite) commit(
	ctx context.Context, s *delta.Snapshot, change delta.Change, written delta.Written,
) error {
	_, err := Commit(ctx, w.env, s, change, delta.Rewritten{Written: written})
	return err
}

// tableProperties are those of a table that a write makes: the statement's, and the
// writer's options that are called like properties.
func tableProperties(spec connector.WriteSpec) map[string]string {
	out := map[string]string{}
	for key, value := range spec.Options {
		if strings.HasPrefix(key, "delta.") {
			out[key] = value
		}
	}
	maps.Copy(out, spec.Properties)
	return out
}

// narrower reports whether Parquet keeps both types alike and the table's is the
// wider one.
func narrower(from, to plan.Type) bool {
	return from.Kind >= plan.KindByte && from.Kind < to.Kind && to.Kind <= plan.KindInt
}

// sink appends batches to a table, or replaces it by each. The id of the
// query and the batch stand in the commit, so that a repeated batch is known.
type sink struct {
	write    tableWrite
	spec     connector.SinkSpec
	snapshot *delta.Snapshot // nil before the table was looked at
}

// UpsertOption lets a stream write in mode update: session turns its batches into a
// MERGE by the grouping columns. What is opened here makes the table.
const UpsertOption = "weir.delta.upsert"

func openSink(_ context.Context, env *connector.Env, spec connector.SinkSpec) (connector.Sink, error) {
	upsert, err := connector.BoolOption(spec.Options, UpsertOption, false)
	if err != nil {
		return nil, err
	}
	if spec.Mode == plan.UpdateMode && !upsert {
		return nil, analysisError("DELTA_UNSUPPORTED_OUTPUT_MODE", "0AKDC",
			"A Delta table can be appended to or replaced; output mode update is not possible.",
			"dataSource", formatClass, "mode", "Update")
	}
	t, err := Table(env, spec.Path)
	if err != nil {
		return nil, err
	}
	s := &sink{spec: spec}
	s.write = tableWrite{env: env, table: t, schema: spec.Schema, options: spec.Options,
		replace: spec.Mode == plan.CompleteMode,
		castable: func(from, to plan.Type) bool {
			return function.CanCast(from, to, plan.CastANSI)
		}}
	if len(spec.Partitions) > 0 {
		s.write.partitions = spec.Partitions
	}
	return s, nil
}

func (s *sink) Describe() string { return "DeltaSink[" + s.spec.Path + "]" }

// look brings the snapshot up to date; a table that does not exist is version -1.
func (s *sink) look(ctx context.Context) error {
	if s.snapshot != nil && s.snapshot.Version >= 0 {
		_, err := s.snapshot.Refresh(ctx)
		return err
	}
	snapshot, err := s.write.table.Load(ctx)
	if delta.IsNotTable(err) {
		snapshot, err = s.write.table.New()
	}
	s.snapshot = snapshot
	return err
}

// Holds reports whether the table has the batch.
func (s *sink) Holds(ctx context.Context, batchID int64) (bool, error) {
	if err := s.look(ctx); err != nil {
		return false, err
	}
	return s.snapshot.TxnVersion(s.spec.QueryID) >= batchID, nil
}

func (s *sink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	held, err := s.Holds(ctx, batch.ID)
	if err != nil || held {
		return -1, err
	}
	fit, err := s.write.fit(s.snapshot)
	if err != nil {
		return 0, err
	}
	written, err := s.write.store(ctx, s.snapshot, fit, batch.Rows)
	if err != nil {
		return 0, err
	}
	change := delta.StreamUpdate(s.spec.Mode, s.spec.QueryID, batch.ID, written, s.write.env.Now())
	describe(&change, fit)
	return -1, s.write.commit(ctx, s.snapshot, change, written)
}

func (s *sink) Close() error { return nil }
