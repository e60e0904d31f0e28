package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// maxDepth is how deep Walk goes: a path of 4096 bytes cannot be deeper than
// 2048, and nobody nests partitions 128 times.
const maxDepth = 128

// Skipped counts what a walk passed over.
type Skipped struct {
	Special int // FIFOs, sockets, devices
	Loops   int // links to a directory that the walk is in
	Broken  int // links to nothing
}

// Walk visits every regular file and directory below root, root itself left
// out: names in bytewise order, a directory before what is in it. Symbolic
// links are followed, and Info describes their target under their own name. A
// visit that returns fs.SkipDir for a directory keeps the walk out of it, any
// other error ends the walk. What vanishes meanwhile is left out.
//
// FIFOs, devices, loops and broken links are skipped and counted. More than 128
// levels or four million entries are an error.
func Walk(fsys FS, root string, visit func(name string, info Info) error) (Skipped, error) {
	w := walker{fsys: fsys, visit: visit}
	real, err := fsys.RealPath(root)
	if err != nil {
		return w.skipped, err
	}
	infos, err := fsys.List(root)
	if err != nil {
		return w.skipped, err
	}
	err = w.entries(root, infos, []string{real})
	return w.skipped, err
}

type walker struct {
	fsys    FS
	visit   func(string, Info) error
	skipped Skipped
	count   int
}

// entries visits what a directory holds; parents are the real paths of the
// directories that the walk is in.
func (w *walker) entries(dir string, infos []Info, parents []string) error {
	if w.count += len(infos); w.count > maxMatches {
		return fmt.Errorf("walk %s: more than %d entries", dir, maxMatches)
	}
	for _, info := range infos {
		name := path.Join(dir, info.Name)
		info, ok, err := w.target(name, info)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		err = w.visit(name, info)
		if info.IsDir() && err == nil {
			err = w.descend(name, parents)
		}
		if err != nil && !(info.IsDir() && errors.Is(err, fs.SkipDir)) {
			return err
		}
	}
	return nil
}

// target follows a link and reports whether there is something to visit.
func (w *walker) target(name string, info Info) (Info, bool, error) {
	if info.Kind == Symlink {
		to, err := w.fsys.Stat(name)
		if NotFound(err) || isLoop(err) {
			w.skipped.Broken++
			return info, false, nil
		}
		if err != nil {
			return info, false, err
		}
		info = to
	}
	if info.Kind == Other {
		w.skipped.Special++
		return info, false, nil
	}
	return info, true, nil
}

func (w *walker) descend(name string, parents []string) error {
	real, err := w.fsys.RealPath(name)
	if err != nil {
		return err
	}
	if slices.Contains(parents, real) {
		w.skipped.Loops++
		return nil
	}
	if len(parents) > maxDepth {
		return fmt.Errorf("walk %s: more than %d levels", name, maxDepth)
	}
	infos, err := w.fsys.List(name)
	if NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.entries(name, infos, append(slices.Clip(parents), real))
}
