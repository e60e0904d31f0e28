package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// retentionCheckKey lets VACUUM remove files that readers may be at.
const retentionCheckKey = "spark.databricks.delta.retentionDurationCheck.enabled"

func vacuumSchema[C plan.Command](C) plan.Type { return plan.Struct(nullText("path")) }

// vacuum is VACUUM.
func vacuum(ctx context.Context, s *Session, c *plan.Vacuum) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	place, snapshot, err := sc.loadDelta(ctx, c.Table, "VACUUM")
	if err != nil {
		return nil, err
	}
	if err := snapshot.CheckWritable(); err != nil {
		return nil, err
	}
	kept := snapshot.KeptFor()
	checked := !strings.EqualFold(sc.conf.Value(retentionCheckKey), "false")
	var given *time.Duration
	if c.Hours != nil {
		d := time.Duration(*c.Hours * float64(time.Hour))
		given = &d
		if least := int64(kept / time.Hour); checked && d == 0 && kept > 0 {
			return nil, dml.Illegal("DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", "22003",
				fmt.Sprintf("VACUUM keeps the files of the last %d hours, for those who still read older versions. "+
					"If there are none set %s=false.", least, retentionCheckKey),
				"configuredRetentionHours", strconv.FormatInt(least, 10))
		}
		// As in Delta Lake 4.4 the table says how long files are kept; a statement can only
		// say that none are.
		if d == 0 {
			kept = 0
		}
	}
	litter, err := snapshot.Litter(ctx, sc.files.Now().Add(-kept))
	if err != nil {
		return nil, err
	}
	if c.DryRun {
		rows := make([][]plan.Value, len(litter.Files))
		for i, name := range litter.Files {
			rows[i] = []plan.Value{"file:" + name}
		}
		return answer(vacuumSchema(c), rows...), nil
	}
	start := snapshot.VacuumStart(&litter, checked, given, sc.files.Now())
	if _, err := deltatable.Commit(ctx, sc.files, snapshot, start, delta.Rewritten{}); err != nil {
		return nil, err
	}
	removed, failed := litter.Remove(ctx, snapshot.FS)
	end := snapshot.VacuumEnd(&litter, removed, failed != nil, sc.files.Now())
	_, err = deltatable.Commit(context.WithoutCancel(ctx), sc.files, snapshot, end, delta.Rewritten{})
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	return answer(vacuumSchema(c), []plan.Value{"file:" + place.Dir}), nil
}

func restoreSchema[C plan.Command](C) plan.Type {
	return longs("table_size_after_restore", "num_of_files_after_restore", "num_removed_files",
		"num_restored_files", "removed_files_size", "restored_files_size")
}

func longs(names ...string) plan.Type {
	t := plan.Struct()
	for _, name := range names {
		t.Fields = append(t.Fields, plan.Col(name, plan.Long))
	}
	return t
}

// restore is RESTORE TABLE.
func restore(ctx context.Context, s *Session, c *plan.Restore) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	_, snapshot, err := sc.loadDelta(ctx, c.Table, "RESTORE")
	var e *plan.Error
	if errors.As(err, &e) && e.Condition == "TABLE_OR_VIEW_NOT_FOUND" {
		e.Args["searchPath"] = "not available"
	}
	if err != nil {
		return nil, err
	}
	version, asked, err := sc.restoredVersion(snapshot, c.Options)
	if err != nil {
		return nil, err
	}
	if version == snapshot.Version {
		return empty(), nil
	}
	if err := snapshot.CheckRemovable(); err != nil {
		return nil, err
	}
	old, err := snapshot.LoadVersion(ctx, version)
	if err != nil {
		return nil, err
	}
	change, r, err := snapshot.Restoring(old, asked, sc.files.Now())
	if err != nil {
		return nil, err
	}
	if _, err := deltatable.Commit(ctx, sc.files, snapshot, change, delta.Rewritten{}); err != nil {
		return nil, err
	}
	return answer(restoreSchema(c), []plan.Value{r.Bytes, r.Files, r.Removed, r.BroughtBack, r.RemovedBytes,
		r.RestoredBytes}), nil
}

// restoredVersion is the version that RESTORE asks for, and how the commit shows it.
func (sc *scope) restoredVersion(s *delta.Snapshot, o plan.Options) (int64, []delta.Param, error) {
	first, last, err := s.Versions()
	if err != nil {
		return 0, nil, err
	}
	if text, ok := o.Get(plan.TimestampAsOf); ok {
		version, err := deltatable.VersionAt(sc.files, s.Table, text)
		return version, []delta.Param{{Name: "version"}, delta.Text("timestamp", text)}, notRestorable(err)
	}
	text, _ := o.Get(plan.VersionAsOf)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < first || version > last {
		return 0, nil, dml.Mistake("DELTA_CANNOT_RESTORE_TABLE_VERSION", "22003",
			fmt.Sprintf("There is no version %s to restore, only %d to %d.", text, first, last),
			"version", text, "startVersion", strconv.FormatInt(first, 10), "endVersion", strconv.FormatInt(last, 10))
	}
	return version, []delta.Param{delta.Whole("version", version), {Name: "timestamp"}}, nil
}

// notRestorable gives a time without a version the error that RESTORE has for it.
func notRestorable(err error) error {
	e, ok := err.(*plan.Error)
	if !ok {
		return err
	}
	switch e.Condition {
	case "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION":
		return dml.Mistake("DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER", "22003", e.Msg,
			"requestedTimestamp", e.Args["userTimestamp"], "earliestTimestamp", e.Args["commitTs"])
	case "DELTA_TIMESTAMP_GREATER_THAN_COMMIT":
		return dml.Mistake("DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER", "22003", e.Msg,
			"requestedTimestamp", e.Args["providedTimestamp"], "latestTimestamp", e.Args["lastCommitTimestamp"])
	}
	return err
}

func cloneSchema[C plan.Command](C) plan.Type {
	return longs("source_table_size", "source_num_of_files", "num_removed_files", "num_copied_files",
		"removed_files_size", "copied_files_size")
}

// clone is CREATE TABLE … SHALLOW CLONE.
func clone(ctx context.Context, s *Session, c *plan.Clone) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	source, snapshot, err := sc.loadDelta(ctx, c.Source, "CLONE")
	if err != nil {
		return nil, err
	}
	if len(c.Options) > 0 {
		version, err := sc.clonedVersion(snapshot, c.Options)
		if err != nil {
			return nil, err
		}
		if snapshot, err = snapshot.LoadVersion(ctx, version); err != nil {
			return nil, err
		}
	}
	if sc.formatOfPath(c.Name) == nil {
		return nil, plan.Unsupported("SHALLOW CLONE to a table of the catalog; clone to delta.`/path` and CREATE " +
			"TABLE … USING delta LOCATION '/path'")
	}
	target, err := deltatable.Table(sc.files, c.Name[1])
	if err != nil {
		return nil, err
	}
	if err := sc.checkCloned(ctx, target, c); err != nil {
		return nil, err
	}
	fresh, err := target.New()
	if err != nil {
		return nil, err
	}
	properties := map[string]string{}
	for _, p := range c.Properties {
		properties[p.Key] = p.Value
	}
	change, err := fresh.Cloning(snapshot, properties, clonedName(source), sc.files.Now())
	if err != nil {
		return nil, err
	}
	if _, err := deltatable.Commit(ctx, sc.files, fresh, change, delta.Rewritten{}); err != nil {
		return nil, err
	}
	files, bytes := snapshot.NumFiles()
	return answer(cloneSchema(c), []plan.Value{bytes, int64(files), int64(0), int64(0), int64(0), int64(0)}), nil
}

// clonedVersion is the version that a clone asks for.
func (sc *scope) clonedVersion(s *delta.Snapshot, o plan.Options) (int64, error) {
	if text, ok := o.Get(plan.TimestampAsOf); ok {
		return deltatable.VersionAt(sc.files, s.Table, text)
	}
	first, last, err := s.Versions()
	if err != nil {
		return 0, err
	}
	text, _ := o.Get(plan.VersionAsOf)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < first || version > last {
		return 0, delta.VersionNotFound(version, first, last)
	}
	return version, nil
}

// checkCloned refuses to clone where there is a table.
func (sc *scope) checkCloned(ctx context.Context, target delta.Table, c *plan.Clone) error {
	there, err := target.Exists()
	switch {
	case err != nil:
		return err
	case !there && c.Location == "":
		return nil
	case !c.Replace:
		return dml.Mistake("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "42601",
			"There is a table at "+c.Name[1]+" already.", "tableId", plan.QuoteParts(c.Name),
			"tableLocation", target.Dir)
	}
	old, err := target.Load(ctx)
	if err != nil {
		return err
	}
	if n, _ := old.NumFiles(); n > 0 {
		e := plan.NewError("org.apache.spark.sql.delta.DeltaIllegalStateException",
			"DELTA_UNSUPPORTED_NON_EMPTY_CLONE", "The table at "+c.Name[1]+" has rows; TRUNCATE it before.")
		e.State = "0AKDC"
		return e
	}
	return plan.Unsupported("CREATE OR REPLACE TABLE … SHALLOW CLONE")
}

// clonedName is the source of a clone as its first commit tells it.
func clonedName(t *deltaPlace) string {
	if t.entry != nil {
		return catalog.SparkCatalog + "." + t.entry.ID.Schema + "." + t.entry.ID.Name
	}
	return t.shown
}
