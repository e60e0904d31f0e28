package delta

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// filesKept is delta.deletedFileRetentionDuration of a table that has none.
const filesKept = "interval 1 week"

// logKept is delta.logRetentionDuration of a table that has none.
const logKept = "interval 30 days"

// KeptFor is how long the table keeps files that no version of its last days needs.
func (s *Snapshot) KeptFor() time.Duration {
	files, _ := s.Metadata.Kept()
	return files
}

// Kept is how long a table keeps files that its newest version has not, and the
// commits of its log.
func (m *Metadata) Kept() (files, log time.Duration) {
	kept := func(key, usual string) time.Duration {
		d, ok := parseRetention(m.Configuration[key])
		if !ok {
			d, _ = parseRetention(usual)
		}
		return d
	}
	return kept("delta.deletedFileRetentionDuration", filesKept), kept("delta.logRetentionDuration", logKept)
}

// Litter is the files below a table's directory that nothing needs.
type Litter struct {
	Files []string // full paths
	Bytes int64
	Dirs  int64 // that were looked at
}

// Litter finds files that are neither in the snapshot nor were taken out of the table
// since a time, nor are younger than it. Names that begin with _ or . are not the
// table's, except those of change data and partitions. Links are not followed.
func (s *Snapshot) Litter(ctx context.Context, before time.Time) (Litter, error) {
	root, err := s.FS.RealPath(s.Dir)
	if err != nil {
		return Litter{}, fmt.Errorf("vacuum %s: %w", s.Dir, err)
	}
	v := &vacuum{Snapshot: s, before: before, kept: map[string]bool{}}
	if err := v.keep(root); err != nil {
		return Litter{}, err
	}
	if err := v.visit(ctx, root, 0); err != nil {
		return Litter{}, fmt.Errorf("vacuum %s: %w", s.Dir, err)
	}
	return v.found, nil
}

type vacuum struct {
	*Snapshot
	before time.Time
	kept   map[string]bool // real paths
	found  Litter
}

// keep notes the files that the table needs.
func (v *vacuum) keep(root string) error {
	for _, f := range v.files {
		if err := v.keepFile(root, f.Path, f.DeletionVector); err != nil {
			return err
		}
	}
	for _, r := range v.removed {
		if r.DeletionTimestamp < v.before.UnixMilli() {
			continue
		}
		if err := v.keepFile(root, r.Path, r.DeletionVector); err != nil {
			return err
		}
	}
	return nil
}

func (v *vacuum) keepFile(root, encoded string, d *DeletionVector) error {
	here := Table{FS: v.FS, Dir: root}
	name, err := here.dataPath(encoded)
	if err != nil {
		return err
	}
	if !isOwn(encoded) {
		if name, err = v.FS.RealPath(name); err != nil {
			return err
		}
	}
	v.kept[name] = true
	if d == nil || d.StorageType == "i" {
		return nil
	}
	vector, ok := here.vectorPath(d)
	if !ok {
		return plan.Unsupported("VACUUM of a table whose deletion vectors are outside of it")
	}
	v.kept[vector] = true
	return nil
}

// maxDepth is how many directories deep the files of a table are at most.
const maxDepth = 128

func (v *vacuum) visit(ctx context.Context, dir string, depth int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if depth > maxDepth {
		return fmt.Errorf("%s is more than %d directories deep", dir, maxDepth)
	}
	v.found.Dirs++
	infos, err := v.FS.List(dir)
	if err != nil && (depth == 0 || !vfs.NotFound(err)) {
		return err
	}
	for _, info := range infos {
		name := path.Join(dir, info.Name)
		switch {
		case v.isHidden(info.Name):
		case info.IsDir():
			if err := v.visit(ctx, name, depth+1); err != nil {
				return err
			}
		case info.IsRegular() && !v.kept[name] && info.ModTime.Before(v.before):
			v.found.Files = append(v.found.Files, name)
			v.found.Bytes += info.Size
		}
	}
	return nil
}

func (v *vacuum) isHidden(name string) bool {
	if !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".") || name == changeDir {
		return false
	}
	column, _, ok := strings.Cut(name, "=")
	return !ok || !v.Partitioned(column)
}

// Remove removes the files and says how many it was before an error.
func (l *Litter) Remove(ctx context.Context, fsys vfs.FS) (int64, error) {
	for i, name := range l.Files {
		if ctx.Err() != nil {
			return int64(i), context.Cause(ctx)
		}
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return int64(i), fmt.Errorf("vacuum: %w", err)
		}
	}
	return int64(len(l.Files)), nil
}

// VacuumStart is the commit that tells of a clean-up that is about to begin.
func (s *Snapshot) VacuumStart(l *Litter, checked bool, specified *time.Duration, now time.Time) Change {
	params := []Param{Flag("retentionCheckEnabled", checked),
		Whole("defaultRetentionMillis", s.KeptFor().Milliseconds())}
	if specified != nil {
		params = append(params, Whole("specifiedRetentionMillis", specified.Milliseconds()))
	}
	return Change{Operation: "VACUUM START", Params: params, Rearranges: true, Ruled: true, Now: now,
		Metrics: []Param{Number("numFilesToDelete", int64(len(l.Files))), Number("sizeOfDataToDelete", l.Bytes)}}
}

// VacuumEnd is the commit that tells how a clean-up ended.
func (s *Snapshot) VacuumEnd(l *Litter, removed int64, failed bool, now time.Time) Change {
	status := "COMPLETED"
	if failed {
		status = "FAILED"
	}
	return Change{Operation: "VACUUM END", Params: []Param{Text("status", status)}, Now: now,
		Rearranges: true, Ruled: true,
		Metrics: []Param{Number("numDeletedFiles", removed), Number("numVacuumedDirectories", l.Dirs)}}
}
