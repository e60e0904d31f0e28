package file

import (
	"fmt"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// cleaner does with a file that was read what cleanSource says; nil does nothing.
type cleaner func(loc vfs.Location) error

func newCleaner(env *connector.Env, tree *tree, o plan.Options) (cleaner, error) {
	mode, _ := o.Get("cleanSource")
	switch strings.ToUpper(mode) {
	case "", "OFF":
		return nil, nil
	case "DELETE":
		return func(loc vfs.Location) error {
			if err := vfs.RemoveFile(loc.FS, loc.Path); err != nil {
				return fmt.Errorf("cleanSource: %w", err)
			}
			return nil
		}, nil
	case "ARCHIVE":
		dir, ok := o.Get("sourceArchiveDir")
		if !ok {
			return nil, plan.IllegalArgument("Archive mode must be used with 'sourceArchiveDir' option.")
		}
		return newArchiver(env, tree.roots[0], dir)
	default:
		return nil, plan.IllegalArgument("Invalid mode for clean source option %s. Must be one of %s",
			mode, "ARCHIVE,DELETE,OFF")
	}
}

// newArchiver moves files below a directory, keeping their whole path.
func newArchiver(env *connector.Env, source vfs.Location, dir string) (cleaner, error) {
	archive, err := env.Files.Resolve(dir)
	if err != nil {
		return nil, connector.PathError(dir, err)
	}
	if archive.FS != source.FS {
		return nil, plan.IllegalArgument("Base archive path is located on a different file system than the source "+
			"files. source path: %s / base archive path: %s", source.Text(source.Path), archive.Text(archive.Path))
	}
	if sameToDepth(source.Path, archive.Path) {
		return nil, plan.IllegalArgument("requirement failed: Base archive path cannot be set to the path where " +
			"archived path can possibly match with source pattern. Ensure the base archive path doesn't match with " +
			"source pattern in depth, where the depth is minimum of depth on both paths.")
	}
	return func(loc vfs.Location) error {
		to := path.Join(archive.Path, loc.Path)
		if _, err := loc.FS.Stat(loc.Path); vfs.NotFound(err) {
			return nil
		}
		if err := vfs.MkdirDurable(archive.FS, path.Dir(to)); err != nil {
			return fmt.Errorf("archive %s: %w", loc.Path, err)
		}
		if err := loc.FS.Rename(loc.Path, to); err != nil {
			return fmt.Errorf("archive %s: %w", loc.Path, err)
		}
		return archive.FS.SyncDir(path.Dir(to))
	}, nil
}

// sameToDepth reports whether two paths agree as far as the shorter goes, globs
// in the first one matching.
func sameToDepth(pattern, p string) bool {
	a, b := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(p, "/"), "/")
	for i := range min(len(a), len(b)) {
		match, err := vfs.NameMatcher(a[i])
		if err != nil || !match(b[i]) {
			return false
		}
	}
	return true
}
