package file

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// dataFile is a file to read.
type dataFile struct {
	loc   vfs.Location // where the path that led to it is
	root  int          // the place of that path among the reader's
	path  string       // on loc.FS
	size  int64
	mtime int64 // milliseconds since 1970
	// base is the directory below which path elements such as day=2024-01-01
	// are partition columns.
	base string
}

func (f dataFile) name() string { return path.Base(f.path) }

// uri is the file as Spark writes it into logs and errors.
func (f dataFile) uri() string { return f.loc.URI(f.path) }

// tree is what the paths and options of a reader say about which files it
// reads.
type tree struct {
	env   *connector.Env
	roots []vfs.Location
	// text are the paths as the user wrote them.
	text      []string
	recursive bool
	match     func(name string) bool // pathGlobFilter, nil for all
	after     int64                  // modifiedAfter and modifiedBefore in µs; 0 for none
	before    int64
}

func newTree(env *connector.Env, paths []string, o plan.Options) (*tree, error) {
	t := &tree{env: env, text: paths}
	var err error
	if t.recursive, err = connector.BoolOption(o, "recursiveFileLookup", false); err != nil {
		return nil, err
	}
	if pattern, ok := o.Get("pathGlobFilter"); ok {
		if t.match, err = vfs.NameMatcher(pattern); err != nil {
			return nil, fmt.Errorf("option pathGlobFilter: %w", err)
		}
	}
	if t.after, err = timeOption(env, o, "modifiedAfter"); err != nil {
		return nil, err
	}
	if t.before, err = timeOption(env, o, "modifiedBefore"); err != nil {
		return nil, err
	}
	for _, p := range paths {
		loc, err := env.Files.Resolve(p)
		if err != nil {
			return nil, connector.PathError(p, err)
		}
		t.roots = append(t.roots, loc)
	}
	return t, nil
}

// list finds the files. A root that does not exist has none, unless must is
// set: then it is PATH_NOT_FOUND.
func (t *tree) list(must bool) ([]dataFile, error) {
	var files []dataFile
	for at, root := range t.roots {
		starts := []string{root.Path}
		if vfs.HasGlob(root.Path) {
			found, err := vfs.Glob(root.FS, root.Path)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", root.Path, err)
			}
			if len(found) == 0 && must {
				return nil, pathNotFound(root.Text(root.Path))
			}
			starts = found
		}
		for _, start := range starts {
			more, err := t.below(root, start)
			if vfs.NotFound(err) && !must {
				continue
			}
			if vfs.NotFound(err) {
				return nil, pathNotFound(root.Text(start))
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", start, err)
			}
			for i := range more {
				more[i].root = at
			}
			files = append(files, more...)
		}
	}
	return files, nil
}

// listing is a list of files as a plan carries it.
func (t *tree) listing(files []dataFile) *plan.Listing {
	l := &plan.Listing{Files: make([]plan.File, len(files))}
	for i, f := range files {
		l.Files[i] = plan.File{Root: f.root, Path: f.path, Base: f.base, Size: f.size, ModTime: f.mtime}
	}
	return l
}

// listed are the files of a listing of this tree.
func (t *tree) listed(l *plan.Listing) []dataFile {
	files := make([]dataFile, len(l.Files))
	for i, f := range l.Files {
		files[i] = dataFile{
			loc: t.roots[f.Root], root: f.Root, path: f.Path, base: f.Base, size: f.Size, mtime: f.ModTime,
		}
	}
	return files
}

// below lists one root: a file, a directory or the output of a streaming query,
// whose log then says which files are whole.
func (t *tree) below(root vfs.Location, start string) ([]dataFile, error) {
	info, err := root.FS.Stat(start)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f := dataFile{
			loc: root, path: start, size: info.Size, mtime: info.ModTime.UnixMilli(), base: path.Dir(start),
		}
		if !info.IsRegular() || !t.wants(f) {
			return nil, nil
		}
		return []dataFile{f}, nil
	}
	logged, err := hasSinkLog(root.FS, start)
	if err != nil {
		return nil, err
	}
	if logged {
		return t.fromSinkLog(root, start)
	}
	files, err := t.walk(root, start)
	if err != nil || t.recursive {
		return files, err
	}
	partitioned := slices.ContainsFunc(files, func(f dataFile) bool { return len(f.partition()) > 0 })
	if partitioned {
		return files, nil
	}
	return slices.DeleteFunc(files, func(f dataFile) bool { return path.Dir(f.path) != start }), nil
}

// walk lists every file below a directory, those of a directory before those of
// its folders.
func (t *tree) walk(root vfs.Location, start string) ([]dataFile, error) {
	var files []dataFile
	_, err := vfs.Walk(root.FS, start, func(name string, info vfs.Info) error {
		switch {
		case ignoredName(info.Name) && info.IsDir():
			return fs.SkipDir
		case ignoredName(info.Name) || info.IsDir():
			return nil
		}
		f := dataFile{
			loc: root, path: name, size: info.Size, mtime: info.ModTime.UnixMilli(), base: start,
		}
		if t.wants(f) {
			files = append(files, f)
		}
		return nil
	})
	slices.SortStableFunc(files, func(a, b dataFile) int { return listingOrder(a.path, b.path) })
	return files, err
}

// wants applies the filters on names and times.
func (t *tree) wants(f dataFile) bool {
	return (t.match == nil || t.match(f.name())) &&
		(t.after == 0 || f.mtime*1000 > t.after) && (t.before == 0 || f.mtime*1000 < t.before)
}

// listingOrder puts the files of a directory before those of its folders.
func listingOrder(a, b string) int {
	for {
		i, j := strings.IndexByte(a, '/'), strings.IndexByte(b, '/')
		switch {
		case i < 0 && j < 0:
			return strings.Compare(a, b)
		case i < 0:
			return -1
		case j < 0:
			return 1
		}
		if c := strings.Compare(a[:i], b[:j]); c != 0 {
			return c
		}
		a, b = a[i+1:], b[j+1:]
	}
}

// ignoredName reports names that no reader looks at: hidden ones, and those
// that some program is still copying.
func ignoredName(name string) bool {
	if strings.HasPrefix(name, "_common_metadata") || strings.HasPrefix(name, "_metadata") {
		return false
	}
	return strings.HasPrefix(name, "_") && !strings.Contains(name, "=") ||
		strings.HasPrefix(name, ".") || strings.HasSuffix(name, "._COPYING_")
}

// isData leaves out what ignoredName lets pass for Parquet's sake.
func isData(name string) bool {
	return !(strings.HasPrefix(name, "_") && !strings.Contains(name, "=") || strings.HasPrefix(name, "."))
}

func pathNotFound(text string) *plan.Error {
	return plan.AnalysisError("PATH_NOT_FOUND", fmt.Sprintf("There is nothing at the path %s.", text), "path",
		text)
}

// timeOption is an option that is a local time, in µs since 1970; 0 for none.
func timeOption(env *connector.Env, o plan.Options, key string) (int64, error) {
	text, ok := o.Get(key)
	if !ok {
		return 0, nil
	}
	zone := env.Eval.Zone
	if id, ok := o.Get("timeZone"); ok {
		var err error
		if zone, err = codec.Zone(id); err != nil {
			return 0, err
		}
	}
	at, ok := codec.ParseTimestamp(text, codec.NewOffsets(zone), env.Now().UnixMicro())
	if !ok {
		return 0, plan.AnalysisError("_LEGACY_ERROR_TEMP_1294",
			fmt.Sprintf("The option %s is a time such as 2024-06-01T00:00:00, not %q.", key, text),
			"strategy", key, "timeString", text)
	}
	return at, nil
}
