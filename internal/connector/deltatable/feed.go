package deltatable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// readsFeed reports whether a read is of a table's change feed.
func readsFeed(o plan.Options) (bool, error) {
	for _, name := range []string{"readChangeFeed", "readChangeData"} {
		on, err := connector.BoolOption(o, name, false)
		if err != nil {
			text, _ := o.Get(name)
			return false, badOption(name, text, "must be 'true' or 'false'")
		}
		if on {
			return true, nil
		}
	}
	return false, nil
}

// feedSchema is the columns of a table's change feed.
func feedSchema(table plan.Type) (plan.Type, error) {
	for _, f := range delta.FeedColumns {
		if connector.FieldIndex(table, f.Name) >= 0 {
			return table, illegal("DELTA_TABLE_HAS_RESERVED_CDC_COLUMNS", "42939",
				fmt.Sprintf("The table has a column %s of its own, which its change feed has too.", f.Name))
		}
	}
	return plan.Struct(append(slices.Clone(table.Fields), delta.FeedColumns...)...), nil
}

// feedRange is the versions that a batch read of a change feed takes, both included.
func feedRange(env *connector.Env, t delta.Table, o plan.Options) (from, to int64, err error) {
	_, last, err := t.Versions()
	if err != nil {
		return 0, 0, err
	}
	version, byVersion := o.Get("startingVersion")
	moment, byTime := o.Get("startingTimestamp")
	switch {
	case byVersion:
		from, err = feedVersion(version)
	case byTime:
		from, err = versionFrom(env, t, moment)
	default:
		err = analysisError("DELTA_NO_START_FOR_CDC_READ", "42601",
			"A change feed is read from a startingVersion or a startingTimestamp on.")
	}
	if err != nil {
		return 0, 0, err
	}
	to = last
	version, byVersion = o.Get("endingVersion")
	moment, byTime = o.Get("endingTimestamp")
	switch {
	case byVersion:
		to, err = feedVersion(version)
	case byTime:
		to, err = VersionAt(env, t, moment)
	}
	switch {
	case err != nil:
		return 0, 0, err
	case from > last:
		return 0, 0, illegal("DELTA_CDC_START_VERSION_AFTER_LATEST", "22003",
			fmt.Sprintf("The change feed is read from version %d on, and the newest is %d.", from, last),
			"start", strconv.FormatInt(from, 10), "latest", strconv.FormatInt(last, 10))
	case to < from:
		return 0, 0, illegal("DELTA_INVALID_CDC_RANGE", "22003",
			fmt.Sprintf("The change feed cannot be read from version %d to version %d.", from, to),
			"start", strconv.FormatInt(from, 10), "end", strconv.FormatInt(to, 10))
	}
	return from, min(to, last), nil
}

func feedVersion(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, analysisError("DELTA_VERSION_INVALID", "42815",
			fmt.Sprintf("%.100q is no version of a table.", text), "version", text)
	}
	return n, nil
}

// missingFeed is the error for a version whose changes were not kept.
func missingFeed(version, from, to int64) *plan.Error {
	return analysisError("DELTA_MISSING_CHANGE_DATA", "KD002",
		fmt.Sprintf("The changes of version %d were not kept: the table had no change feed then. DESCRIBE HISTORY "+
			"tells since when it has one (versions %d to %d were asked for); ALTER TABLE … SET TBLPROPERTIES "+
			"(delta.enableChangeDataFeed = true) gives it one.", version, from, to),
		"version", strconv.FormatInt(version, 10), "startVersion", strconv.FormatInt(from, 10),
		"endVersion", strconv.FormatInt(to, 10), "key", "delta.enableChangeDataFeed")
}

// feed is the change feed of some versions of a table, read with the columns of
// one of them.
type feed struct {
	table    delta.Table
	reader   *delta.Snapshot
	from, to int64
}

// openFeed finds the versions that a batch read names and checks that their changes were
// kept and fit the columns.
func openFeed(ctx context.Context, env *connector.Env, t delta.Table, o plan.Options) (*feed, error) {
	for _, key := range []string{plan.VersionAsOf, plan.TimestampAsOf} {
		if _, ok := o.Get(key); ok {
			return nil, analysisError("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS", "0AKDC",
				"A change feed is read from versions of its own, not with "+key+".")
		}
	}
	f := &feed{table: t}
	var err error
	if f.from, f.to, err = feedRange(env, t, o); err != nil {
		return nil, err
	}
	if f.from < 0 {
		return nil, t.NoCommit(f.from)
	}
	if f.reader, err = t.Load(ctx); err != nil {
		return nil, err
	}
	if f.reader.Mapped() && f.to < f.reader.Version {
		// Columns may have been renamed since.
		if f.reader, err = t.LoadVersion(ctx, f.to); err != nil {
			return nil, err
		}
	}
	first, err := t.LoadVersion(ctx, f.from)
	if err != nil {
		return nil, err
	}
	return f, f.check(f.from, &first.Metadata)
}

// check refuses a description under which changes were not kept, or whose columns are
// others than those that the feed is read with.
func (f *feed) check(version int64, m *delta.Metadata) error {
	if !m.HasFeed() {
		return missingFeed(version, f.from, f.to)
	}
	ok, err := f.reader.Reads(m)
	if err != nil || ok {
		return err
	}
	e := plan.NewError("org.apache.spark.sql.delta.DeltaUnsupportedOperationException",
		"DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA",
		fmt.Sprintf("The changes of versions %d to %d cannot be read with the columns of version %d: those of "+
			"version %d are others. Read the versions before and after by themselves.",
			f.from, f.to, f.reader.Version, version),
		"start", strconv.FormatInt(f.from, 10), "end", strconv.FormatInt(f.to, 10),
		"readSchema", f.reader.Schema.JSON(), "readVersion", strconv.FormatInt(f.reader.Version, 10),
		"incompatibleVersion", strconv.FormatInt(version, 10),
		"config", "spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable")
	e.State = "0AKDC"
	return e
}

// feedRelation is the change feed of a relation's table.
func feedRelation(ctx context.Context, env *connector.Env, t delta.Table, r *plan.Read,
	relation *plan.Relation,
) (*plan.Relation, error) {
	if _, err := readsFeed(r.Options); err != nil {
		return nil, err
	}
	if !r.Streaming {
		f, err := openFeed(ctx, env, t, r.Options)
		if err != nil {
			return nil, err
		}
		relation.Schema, relation.Partitions = delta.Visible(f.reader.Schema), f.reader.Metadata.PartitionColumns
	}
	var err error
	relation.Schema, err = feedSchema(relation.Schema)
	return relation, err
}

// files are the changes of all versions.
func (f *feed) files() ([]*delta.FeedFile, error) {
	var out []*delta.FeedFile
	for v := f.from; v <= f.to; v++ {
		feed, err := f.table.FeedOf(v)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, delta.VersionNotFound(v, v+1, f.to)
		}
		if err == nil && feed.Metadata != nil {
			err = f.check(v, feed.Metadata)
		}
		if err != nil {
			return nil, err
		}
		for _, p := range feed.Pieces {
			out = append(out, p...)
		}
	}
	return out, nil
}

// scanFeed reads a change feed once.
func scanFeed(ctx context.Context, env *connector.Env, t delta.Table, s *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		f, err := openFeed(ctx, env, t, s.Relation.Options)
		var files []*delta.FeedFile
		if err == nil {
			files, err = f.files()
		}
		var times map[int64]time.Time
		if err == nil {
			times, err = t.TimesOf(f.from, f.to)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		sizes := make([]int64, len(files))
		for i, file := range files {
			sizes[i] = file.Size
		}
		columns := attributeNames(s)
		connector.ReadParts(env, sizes, func(i int) chunk.Rows {
			return f.reader.ReadFeed(ctx, files[i], columns, times[files[i].Version])
		})(yield)
	}
}

func attributeNames(s *plan.Scan) []string {
	names := make([]string, len(s.Attrs))
	for i, a := range s.Attrs {
		names[i] = a.Name
	}
	return names
}
