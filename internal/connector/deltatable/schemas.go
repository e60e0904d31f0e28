package deltatable

import (
	"context"
	"math"
	"path"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// Places of a stream with a schema log around a version that changes the description of
// the table, behind all that came before it and before its files.
const (
	indexBefore = -20 // the change is to come
	indexBehind = -19 // it is in the log
)

// schemaLogOption names where a stream keeps the columns that it reads.
const schemaLogOption = "schemaTrackingLocation"

// SchemaLogOf is the folder that a reader names for its schema log, "" for none.
func SchemaLogOf(o plan.Options) string {
	for _, name := range []string{schemaLogOption, "schemaLocation"} {
		if text, ok := o.Get(name); ok {
			return text
		}
	}
	return ""
}

// SchemaLogName is what a stream's log is called below that folder: several sources over
// one table tell theirs apart by an option.
func SchemaLogName(o plan.Options, table string) string {
	name := "_schema_log_" + table
	if id, ok := o.Get("streamingSourceTrackingId"); ok {
		name += "_" + id
	}
	return name
}

// schemaLog is the log of a stream, nil when it has none.
func schemaLog(env *connector.Env, o plan.Options, head *delta.Snapshot) (*delta.SchemaLog, error) {
	text := SchemaLogOf(o)
	if text == "" {
		return nil, nil
	}
	loc, err := env.Files.Resolve(text)
	if err != nil {
		return nil, connector.PathError(text, err)
	}
	return delta.OpenSchemaLog(loc.FS, path.Join(loc.Path, SchemaLogName(o, head.Metadata.ID)), head)
}

// tracked is the table as the last entry of a stream's schema log has it.
func tracked(env *connector.Env, o plan.Options, head *delta.Snapshot) (*delta.Snapshot, error) {
	log, err := schemaLog(env, o, head)
	if err != nil || log == nil || !log.Known() {
		return head, err
	}
	return log.Reader(head)
}

// openLog makes a stream with a schema log read as the log says.
func (d *source) openLog(ctx context.Context, o plan.Options, place connector.Place) error {
	log, err := schemaLog(d.env, o, d.newest)
	if err != nil || log == nil {
		return err
	}
	log.Source = "file:" + place.Dir
	d.log = log
	merged, err := log.Merge(ctx)
	if err != nil {
		return err
	}
	if err := log.Allowed(o, d.env.Conf); err != nil {
		return err
	}
	if merged {
		return log.Evolved() // the query has the columns of the entry before
	}
	if log.Known() {
		d.reader, err = log.Reader(d.newest)
	}
	return err
}

// beginLog is SchemaLog.Begin.
func (d *source) beginLog(ctx context.Context, version int64) error {
	if d.log == nil {
		return nil
	}
	return d.log.Begin(ctx, max(0, min(version, d.newest.Version)), d.reader)
}

// changeIn reports whether the stream has to end before a version.
func (d *source) changeIn(ctx context.Context, version int64, described bool) (bool, error) {
	if d.log == nil || !described {
		return false, nil
	}
	return d.log.Changes(ctx, version)
}

// evolve writes the change that a batch ended before into the log, and ends the stream.
func (d *source) evolve(ctx context.Context, at offset) error {
	if d.log == nil || at.Index != indexBefore && at.Index != indexBehind {
		return nil
	}
	return d.log.Evolve(ctx, at.Version)
}

// atChange tells what comes behind a place before or behind a change: done says that it
// is all for now.
func (d *source) atChange(at offset, visit func(step) bool) (done bool) {
	switch at.Index {
	case indexBefore:
		behind := at
		behind.Index = indexBehind
		visit(step{nil, behind})
		return true
	case indexBehind:
		return d.log == nil || !d.log.Passed(at.Version)
	}
	return false
}

// rank orders the places within a version: before all, before a change, behind it, and
// behind files.
func (o offset) rank() int64 {
	if o.Index == -1 {
		return math.MinInt64
	}
	return o.Index
}
