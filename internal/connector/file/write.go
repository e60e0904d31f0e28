package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// write stores the rows of a batch query as files. Readers see the files of
// before or all of the new ones, except that the new names appear one by one.
func (k *kind) write(
	ctx context.Context, env *connector.Env, spec connector.WriteSpec, rows chunk.Rows,
) error {
	if spec.Path == "" {
		return plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_2047", "The option path is missing.")
	}
	missing := func(name string) *plan.Error {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1155",
			fmt.Sprintf("There is no column %s to partition by.", name),
			"col", name, "schemaCatalog", spec.Schema.Simple())
	}
	if err := checkPartitions(spec.Schema, spec.Partitions, newPartLook(env), missing); err != nil {
		return err
	}
	loc, err := env.Files.Resolve(spec.Path)
	if err != nil {
		return connector.PathError(spec.Path, err)
	}
	_, err = loc.FS.Stat(loc.Path)
	exists := err == nil
	if err != nil && !vfs.NotFound(err) {
		return connector.PathError(spec.Path, err)
	}
	switch {
	case exists && spec.Mode == plan.SaveError:
		return plan.AnalysisError("PATH_ALREADY_EXISTS",
			fmt.Sprintf("There is something at %s already.", loc.Text(loc.Path)),
			"outputPath", loc.Text(loc.Path))
	case exists && spec.Mode == plan.SaveIgnore:
		return nil
	}
	stage, err := newStage(env, k, stageSpec{loc, spec.Schema.Unbounded(), spec.Options, spec.Partitions})
	if err != nil {
		return err
	}
	stage.name = jobNames()
	err = stage.write(ctx, rows)
	if err == nil && exists && spec.Mode == plan.SaveOverwrite {
		err = clearFor(env, loc, spec, stage)
	}
	if err == nil {
		err = stage.publish()
	}
	if err == nil {
		err = markSuccess(loc)
	}
	if err != nil {
		return errors.Join(err, stage.discard())
	}
	return nil
}

// clearFor removes what an overwrite replaces: everything, or with
// partitionOverwriteMode=dynamic the partitions that are written.
func clearFor(env *connector.Env, loc vfs.Location, spec connector.WriteSpec, stage *stage) error {
	mode, ok := spec.Options.Get("partitionOverwriteMode")
	if !ok {
		mode = env.Conf("spark.sql.sources.partitionOverwriteMode")
	}
	dirs := []string{loc.Path}
	if strings.EqualFold(mode, "dynamic") && len(spec.Partitions) > 0 {
		touched := map[string]bool{}
		for _, f := range stage.files {
			touched[path.Dir(f.final)] = true
		}
		dirs = sortedKeys(touched)
	}
	hidden := map[string]bool{}
	for _, f := range stage.files {
		hidden[f.temp] = true
	}
	for _, dir := range dirs {
		if _, err := clearDir(loc.FS, dir, hidden); err != nil {
			return fmt.Errorf("overwrite %s: %w", dir, err)
		}
	}
	return nil
}

// clearDir removes what is in a directory except the files to keep and the
// directories on the way to them, and reports whether something was kept.
func clearDir(fsys vfs.FS, dir string, keep map[string]bool) (bool, error) {
	infos, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	kept := false
	for _, info := range infos {
		name := path.Join(dir, info.Name)
		if keep[name] {
			kept = true
			continue
		}
		if info.IsDir() {
			inside, err := clearDir(fsys, name, keep)
			if err != nil {
				return kept, err
			}
			if inside {
				kept = true
				continue
			}
		}
		if err := fsys.RemoveAll(name); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// markSuccess leaves the empty file by which other programs see that a write
// is complete.
func markSuccess(loc vfs.Location) error {
	name := path.Join(loc.Path, "_SUCCESS")
	f, err := loc.FS.Create(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return loc.FS.SyncDir(loc.Path)
}
