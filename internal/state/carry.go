package state

import (
	"fmt"

	"github.com/weir-dev/weir/internal/vfs"
)

// Carry writes the rows of a version down as those of a later one, which nobody
// committed: a query goes on there as it was then. It says how many rows there are.
// Nobody else may have the store open.
func Carry(fsys vfs.FS, dir string, from, to int64) (int64, error) {
	tables, err := Read(fsys, dir, from)
	if err != nil {
		return 0, err
	}
	all, count := make([]*frozen, len(tables)), int64(0)
	for i, t := range tables {
		all[i] = t.rows.freeze()
		count += int64(t.Len())
	}
	if err := writeSnapshot(Options{FS: fsys, Dir: dir}, to, all); err != nil {
		return 0, fmt.Errorf("write version %d of the state in %s: %w", to, dir, err)
	}
	return count, nil
}

// Drop removes what Carry wrote.
func Drop(fsys vfs.FS, dir string, version int64) error {
	if err := vfs.RemoveFile(fsys, fileName(dir, version, snapshotSuffix)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// Oldest is the oldest version that the files of a store lead to, -1 for none.
func Oldest(fsys vfs.FS, dir string) (int64, error) {
	f, err := list(fsys, dir)
	switch {
	case err != nil:
		return -1, err
	case len(f.changes) > 0 && f.changes[0] == 0:
		return 0, nil
	case len(f.snapshots) > 0:
		return f.snapshots[0], nil
	default:
		return -1, nil
	}
}
