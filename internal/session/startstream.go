package session

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

// startStream is StartStream as a command, for callers that need no handle.
func startStream(ctx context.Context, s *Session, c *plan.StartStream) (*Result, error) {
	q, err := s.StartStream(ctx, c, nil, "")
	if err == nil {
		q.Record().Announce()
	}
	return empty(), err
}

// StartStream starts a streaming query. Tags are those of the request, and
// operationID its operation; InterruptTag answers with it. When the session has
// listeners, the query's events wait until Record().Announce, so that the
// client hears of the start first.
func (s *Session) StartStream(ctx context.Context, c *plan.StartStream, tags []string, operationID string,
) (*stream.Query, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	b := &streamStart{scope: sc, command: c, tags: tags, output: monitor.NewOutput()}
	config, err := b.config(ctx)
	if err != nil {
		return nil, said(err)
	}
	q, err := s.engine.streams.Start(ctx, *config)
	if err != nil {
		return nil, said(err)
	}
	s.queries.add(&tracked{query: q, tags: tags, operation: operationID})
	if b.format.Name == memoryFormat {
		s.showMemory(q, config)
	}
	return q, nil
}

const memoryFormat = "memory"

// streamStart is a start on its way.
type streamStart struct {
	scope   *scope
	command *plan.StartStream
	tags    []string
	format  *connector.Format
	spec    connector.SinkSpec
	output  *monitor.Output // takes what the query's functions print
}

func (b *streamStart) config(ctx context.Context) (*stream.Config, error) {
	sc, c := b.scope, b.command
	resolved, err := sc.analyzer().Resolve(ctx, c.Input)
	if err != nil {
		return nil, err
	}
	if !plan.Streaming(resolved) {
		return nil, plan.AnalysisError("WRITE_STREAM_NOT_ALLOWED",
			"writeStream is for streaming frames, and this one is none.")
	}
	mode, err := outputMode(c.OutputMode)
	if err != nil {
		return nil, err
	}
	trigger, err := sc.triggerOf(c)
	if err != nil {
		return nil, err
	}
	if err := b.target(ctx, resolved, mode); err != nil {
		return nil, err
	}
	if err := b.upsert(resolved); err != nil {
		return nil, err
	}
	if b.format.SinkMode != nil {
		if err := b.format.SinkMode(mode); err != nil {
			return nil, err
		}
	}
	if c.Trigger == plan.RealTime {
		if err := b.checkRealTime(mode); err != nil {
			return nil, err
		}
	}
	if err := sc.checkPython(resolved); err != nil {
		return nil, err
	}
	if sc.conf.Value(settings.UnsupportedKey) != "false" {
		if err := analyze.CheckStreaming(resolved, mode); err != nil {
			return nil, err
		}
	}
	place, temporary, err := b.place(resolved)
	if err != nil {
		return nil, err
	}
	notes, err := b.notes(resolved)
	if err != nil {
		return nil, err
	}
	var refuse func() error
	if c.Trigger == plan.RealTime {
		refuse = func() error { return realTimeSources(resolved) }
	}
	config := &stream.Config{
		Refuse: refuse,
		Name:   b.spec.QueryName, Plan: resolved, Mode: mode, Trigger: trigger,
		Checkpoint: place, Temporary: temporary, NoResume: b.forgets(mode),
		OpenSink: b.openSink, Format: sc.format, Env: sc.files, Python: b.python(), Partitions: sc.partitions(),
		Pinned: pinned(sc.conf), SessionID: sc.session.id, JobTags: b.tags, Bus: sc.session.bus,
		Notes:  notes,
		Output: b.output, Hold: sc.session.bus.Listening(), Explain: func(n plan.Node, extended bool) string {
			return explainRunning(n, extended, physicalStream{mode, sc.partitions(), sc.eval})
		},
	}
	config.Settings = config.StartedWith(b.spec.Options, sc.conf.Told(b.format.Name, b.spec.Path))
	return config, nil
}

// notes are about options that have no effect.
func (b *streamStart) notes(resolved plan.Node) ([]string, error) {
	notes, err := b.format.UnknownOptions(b.spec.Options)
	plan.WalkNodes(resolved, func(m plan.Node) bool {
		scan, ok := m.(*plan.Scan)
		if !ok || err != nil {
			return err == nil
		}
		f, ok := b.scope.format(scan.Relation.Format)
		if !ok {
			return true
		}
		var more []string
		more, err = f.UnknownOptions(scan.Relation.Options)
		for _, note := range more {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		return true
	})
	return notes, err
}

// pinned are the session's values of the settings that offsets/N record.
func pinned(c *settings.Conf) map[string]string {
	values := map[string]string{}
	for _, key := range stream.PinnedKeys() {
		if v, ok := c.Lookup(key); ok {
			values[key] = v
		}
	}
	return values
}

func outputMode(text string) (plan.OutputMode, error) {
	switch strings.ToLower(text) {
	case "", "append":
		return plan.AppendMode, nil
	case "update":
		return plan.UpdateMode, nil
	case "complete":
		return plan.CompleteMode, nil
	}
	return 0, plan.NewError(plan.ClassIllegal, "STREAMING_OUTPUT_MODE.INVALID",
		"The output mode "+text+" is none of Append, Complete and Update.", "outputMode", text)
}

func (sc *scope) triggerOf(c *plan.StartStream) (stream.Trigger, error) {
	t := stream.Trigger{Kind: c.Trigger}
	switch c.Trigger {
	case plan.Continuous:
		return t, plan.Unsupported("The trigger continuous")
	case plan.RealTime:
		return sc.realTime(c.Interval)
	case plan.AvailableNow, plan.Once:
		return t, nil
	}
	if c.Interval == "" {
		return t, nil
	}
	every, err := sql.ParseInterval(c.Interval)
	if err != nil {
		return t, err
	}
	if every.Months != 0 {
		return t, plan.IllegalArgument("A trigger's interval has no months or years: %s", c.Interval)
	}
	micros := int64(every.Days)*24*time.Hour.Microseconds() + every.Micros
	if micros < 0 {
		return t, plan.IllegalArgument("A trigger's interval is not negative: %s", c.Interval)
	}
	t.Every = time.Duration(micros/1000) * time.Millisecond
	return t, nil
}

// target finds format, path and table that the query writes to.
func (b *streamStart) target(ctx context.Context, resolved plan.Node, mode plan.OutputMode) error {
	sc, c := b.scope, b.command
	if len(c.Clustering) > 0 {
		return plan.Unsupported("Clustering a stream's output")
	}
	b.spec = connector.SinkSpec{
		Schema: plan.SchemaOf(resolved.Output()), Options: maps.Clone(c.Options), Path: c.Path,
		Partitions: slices.Clone(c.Partitions), Mode: mode, QueryName: c.QueryName,
	}
	if b.spec.Options == nil {
		b.spec.Options = plan.Options{}
	}
	if b.spec.QueryName == "" {
		b.spec.QueryName, _ = b.spec.Options.Get("queryName")
	}
	if b.spec.Path == "" {
		b.spec.Path, _ = b.spec.Options.Get("path")
	}
	if c.Foreach != nil || c.ForeachAll != nil {
		return b.toPython()
	}
	if err := b.checkPartitions(); err != nil {
		return err
	}
	if len(c.Table) > 0 {
		return b.toTable(ctx)
	}
	name := c.Format
	if name == "" {
		name = sc.conf.Value(settings.FormatKey)
	}
	f, ok := sc.format(name)
	if !ok {
		return noSuchSink(name)
	}
	if f.Sink == nil {
		return notStreamed(f.Name, "writing")
	}
	b.format, b.spec.Format = f, f.Name
	return nil
}

func (b *streamStart) checkPartitions() error {
	for i, name := range b.spec.Partitions {
		at := b.scope.column(b.spec.Schema, name)
		if at < 0 {
			names := strings.Join(fieldNames(b.spec.Schema), ", ")
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_1196",
				fmt.Sprintf("The partition column %s is none of the columns (%s).", name, names),
				"columnType", "Partition", "columnName", name, "validColumnNames", names)
		}
		b.spec.Partitions[i] = b.spec.Schema.Fields[at].Name
	}
	return nil
}

// toTable writes to a table, which is made when it is missing.
func (b *streamStart) toTable(ctx context.Context) error {
	sc, c := b.scope, b.command
	if sc.session.findView(c.Table) != nil {
		return intoView("_LEGACY_ERROR_TEMP_1191", strings.Join(c.Table, "."))
	}
	id, err := sc.session.tableID(c.Table)
	if err != nil {
		return err
	}
	table := sc.session.engine.find(id)
	if table == nil {
		f, err := sc.formatOf(c.Format, id)
		if err != nil {
			return err
		}
		if f.Sink == nil {
			return notStreamed(f.Name, "writing")
		}
		t, err := sc.newTable(ctx, &plan.CreateTable{
			Name: c.Table, Schema: b.spec.Schema.AsNullable(), Format: f.Name, Partitions: b.spec.Partitions,
			Location: b.spec.Path,
		}, id)
		if err != nil {
			return err
		}
		if err := sc.create(ctx, t); err != nil {
			return err
		}
		table = &t.entry
	}
	if table.IsView() {
		return intoView("_LEGACY_ERROR_TEMP_1190", id.String())
	}
	if c.Format != "" && !strings.EqualFold(c.Format, table.Format) {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1192",
			fmt.Sprintf("The table %s has the format %s, and the stream writes %s.", id, table.Format, c.Format),
			"source", c.Format, "tableName", id.String(), "provider", table.Format)
	}
	f, ok := sc.format(table.Format)
	if !ok {
		return noSuchFormat(table.Format)
	}
	if f.Sink == nil {
		return notStreamed(f.Name, "writing")
	}
	b.format, b.spec.Format, b.spec.Table, b.spec.Path = f, f.Name, &id, table.Location
	if len(b.spec.Partitions) == 0 {
		b.spec.Partitions = table.Partitions
	}
	return nil
}

func intoView(condition, name string) *plan.Error {
	return plan.AnalysisError(condition, "A stream cannot be written into the view "+name+".", "viewName", name)
}

// forgets tells whether the sink cannot go on from a checkpoint: it does not
// have what earlier runs wrote.
func (b *streamStart) forgets(mode plan.OutputMode) bool {
	switch b.format.Name {
	case memoryFormat:
		return mode != plan.CompleteMode
	case "console":
		return true
	}
	return false
}

// checkpoint finds the place of the query's logs: the option, else a directory
// below the session's setting, else a temporary one for sinks that keep
// nothing.
func (b *streamStart) checkpoint() (connector.Place, bool, error) {
	sc := b.scope
	text, ok := b.spec.Options.Get("checkpointLocation")
	if root, set := sc.conf.Lookup(settings.CheckpointKey); !ok && set && root != "" {
		name := b.spec.QueryName
		if name == "" {
			name = newID()
		}
		text, ok = strings.TrimSuffix(root, "/")+"/"+name, true
	}
	if ok {
		place, err := sc.session.engine.files.Resolve(text)
		if err != nil {
			return connector.Place{}, false, err
		}
		return connector.Place{FS: place.FS, Dir: place.Path}, false, nil
	}
	switch b.format.Name {
	case memoryFormat, "console", "noop", foreachFormat, foreachBatchFormat:
		// Nobody resumes from it after this process: it needs no syncs.
		dir := sc.session.engine.tempDir("checkpoint")
		return connector.Place{FS: vfs.Unsynced(sc.session.engine.fs), Dir: path.Clean(dir)}, true, nil
	}
	e := plan.AnalysisError("_LEGACY_ERROR_TEMP_1298", "The query needs a checkpointLocation.",
		"config", settings.CheckpointKey)
	e.Hint = `Give one with option("checkpointLocation", …) or set ` + settings.CheckpointKey + "."
	return connector.Place{}, false, e
}

func (b *streamStart) openSink(ctx context.Context, queryID string) (connector.Sink, error) {
	spec := b.spec
	spec.QueryID = queryID
	return b.format.Sink(ctx, b.scope.files, spec)
}

// memoryTable is the format under which the rows of memory sinks are read.
const memoryTable = "memory table"

const runOption = "run"

// showMemory makes the rows of a memory sink a temporary view of the query's
// name.
func (s *Session) showMemory(q *stream.Query, c *stream.Config) {
	schema := plan.SchemaOf(c.Plan.Output())
	s.putView(&view{
		name: []string{q.Name()}, schema: schema,
		plan: &plan.Scan{Relation: plan.Relation{
			Format: memoryTable, Schema: schema, Options: plan.Options{runOption: q.RunID()},
		}},
	}, false, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	for run, old := range s.memories {
		if fold(old.Name()) == fold(q.Name()) {
			delete(s.memories, run)
		}
	}
	s.memories[q.RunID()] = q
}

// scanMemory yields what a memory sink holds now.
func (s *Session) scanMemory(_ context.Context, _ *connector.Env, scan *plan.Scan) chunk.Rows {
	s.mu.Lock()
	q := s.memories[scan.Relation.Options[runOption]]
	s.mu.Unlock()
	if q == nil {
		return chunk.Fail(plan.IllegalArgument(
			"the rows of a memory sink are gone: a later query of the same name took its place"))
	}
	contents, _ := q.Contents()
	return func(yield func(*chunk.Chunk, error) bool) {
		for _, c := range contents {
			if !yield(columnsOf(c, scan), nil) {
				return
			}
		}
	}
}

// columnsOf are the columns of a chunk that a scan wants, by name; of columns of one
// name it wants all.
func columnsOf(c *chunk.Chunk, scan *plan.Scan) *chunk.Chunk {
	out := &chunk.Chunk{Rows: c.Rows, Part: c.Part, Cols: make([]*chunk.Vector, len(scan.Attrs))}
	for i, a := range scan.Attrs {
		before := 0
		for _, b := range scan.Attrs[:i] {
			if b.Name == a.Name {
				before++
			}
		}
		at := slices.IndexFunc(scan.Relation.Schema.Fields, func(f plan.Field) bool {
			if f.Name != a.Name {
				return false
			}
			before--
			return before < 0
		})
		out.Cols[i] = c.Cols[at]
	}
	return out
}
