package session

import (
	"context"
	"io/fs"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// InputFiles lists the files that a resolved plan reads, as far as its scans
// name directories or files; other sources have none.
func (s *Session) InputFiles(_ context.Context, n plan.Node) ([]string, error) {
	var found []string
	var failed error
	plan.WalkNodes(n, func(m plan.Node) bool {
		scan, ok := m.(*plan.Scan)
		if !ok {
			return true
		}
		for i := range scan.Relation.Paths {
			files, err := s.filesOf(&scan.Relation, i)
			if err != nil {
				failed = err
				return false
			}
			found = append(found, files...)
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found), failed
}

// filesOf lists the files of one path of a relation.
func (s *Session) filesOf(r *plan.Relation, at int) ([]string, error) {
	if r.Listing == nil {
		return s.filesBelow(r.Paths[at])
	}
	place, err := s.engine.files.Resolve(r.Paths[at])
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range r.Listing.Files {
		if f.Root == at {
			out = append(out, place.URI(f.Path))
		}
	}
	return out, nil
}

func (s *Session) filesBelow(text string) ([]string, error) {
	place, err := s.engine.files.Resolve(text)
	if err != nil {
		return nil, err
	}
	paths := []string{place.Path}
	if vfs.HasGlob(place.Path) {
		if paths, err = vfs.Glob(place.FS, place.Path); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, p := range paths {
		info, err := place.FS.Stat(p)
		if vfs.NotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.IsRegular() {
			out = append(out, place.URI(p))
			continue
		}
		_, err = vfs.Walk(place.FS, p, func(name string, info vfs.Info) error {
			switch hidden := info.Name[0] == '_' || info.Name[0] == '.'; {
			case hidden && info.IsDir():
				return fs.SkipDir
			case !hidden && info.IsRegular():
				out = append(out, place.URI(name))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
