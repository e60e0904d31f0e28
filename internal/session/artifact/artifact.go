package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// maxBytes is what the artifacts of one session may hold together.
const maxBytes = 2 << 30

// cachePrefix begins the names of blobs, which end in the SHA-256 of their
// bytes.
const cachePrefix = "cache/"

// kinds are the directories that clients add to.
var kinds = []string{"pyfiles", "files", "jars", "classes", "cache"}

// Store is the files that a client sent: pyfiles/, files/, jars/ and
// classes/ by name, cache/<sha256> as blobs. They stand below dir and go
// with the session.
type Store struct {
	fs  vfs.FS
	dir string

	mu    sync.Mutex
	bytes int64
	files map[string]string // name → path
	order []string          // names as they were added
}

// New keeps what it is sent below dir, which it makes when there is something.
func New(fsys vfs.FS, dir string) *Store {
	return &Store{fs: fsys, dir: dir, files: map[string]string{}}
}

// Names lists the artifacts in the order they were added, without blobs.
func (a *Store) Names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.order), func(name string) bool {
		return strings.HasPrefix(name, cachePrefix)
	})
}

// Has reports whether there is an artifact or blob of a name.
func (a *Store) Has(name string) bool {
	_, ok := a.Path(name)
	return ok
}

// Path is the file of an artifact.
func (a *Store) Path(name string) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.files[name]
	return p, ok
}

// place is where an artifact stands. Modules and files share a directory, in which
// functions find them by SparkFiles.
func (a *Store) place(name string) string {
	kind, rest, _ := strings.Cut(name, "/")
	if kind == "pyfiles" {
		kind = "files"
	}
	return path.Join(a.dir, kind, rest)
}

// at is the artifact that stands at a place, if one does.
func (a *Store) at(place string) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, file := range a.files {
		if file == place {
			return file, true
		}
	}
	return "", false
}

// Files is the directory of modules and files, "" when there are none.
func (a *Store) Files() string {
	dir := path.Join(a.dir, "files")
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, file := range a.files {
		if strings.HasPrefix(file, dir+"/") {
			return dir
		}
	}
	return ""
}

// Cached is the bytes of the blob of a SHA-256.
func (a *Store) Cached(hash string) ([]byte, error) {
	p, ok := a.Path(cachePrefix + hash)
	if !ok {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.NOT_FOUND_CACHED_LOCAL_RELATION",
			"The session holds no blob "+hash+".", "hash", hash, "sessionUUID", "")
	}
	return vfs.ReadFile(a.fs, p)
}

// Create begins an artifact; Commit keeps it. The caller checks checksums.
func (a *Store) Create(name string) (*Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := a.fs.MkdirAll(a.dir); err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	temp := path.Join(a.dir, ".incoming-"+uuid.NewString())
	w, err := a.fs.CreateNew(temp)
	if err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	return &Writer{to: a, name: name, temp: temp, file: w, hash: sha256.New()}, nil
}

// Add stores the bytes of r as an artifact.
func (a *Store) Add(name string, r io.Reader) error {
	w, err := a.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// Writer is an artifact on its way in. One goroutine uses it, and ends
// it with Commit or Abort.
type Writer struct {
	to   *Store
	name string
	temp string
	file vfs.Writer
	hash hash.Hash
	size int64
}

// Write adds bytes, as far as the session's bound allows.
func (w *Writer) Write(b []byte) (int, error) {
	if !w.to.take(int64(len(b))) {
		return 0, plan.IllegalArgument("the artifacts of a session hold %d bytes at most",
			int64(maxBytes))
	}
	w.size += int64(len(b))
	w.hash.Write(b)
	return w.file.Write(b)
}

// take reserves room for n bytes more.
func (a *Store) take(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bytes+n > maxBytes {
		return false
	}
	a.bytes += n
	return true
}

// Abort forgets what was written.
func (w *Writer) Abort() error {
	w.to.take(-w.size)
	w.size = 0
	return errors.Join(w.file.Close(), w.to.fs.RemoveAll(w.temp))
}

// Commit keeps the artifact. The same bytes again are fine, others under the
// same name are ARTIFACT_ALREADY_EXISTS.
func (w *Writer) Commit() error {
	a, sum := w.to, hex.EncodeToString(w.hash.Sum(nil))
	if want, ok := strings.CutPrefix(w.name, cachePrefix); ok && want != sum {
		return errors.Join(plan.IllegalArgument("the blob %s has the SHA-256 %s", w.name, sum), w.Abort())
	}
	if old, ok := a.at(a.place(w.name)); ok {
		return errors.Join(a.compare(w.name, old, sum), w.Abort())
	}
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("store artifact %s: %w", w.name, err)
	}
	target := a.place(w.name)
	if err := a.fs.MkdirAll(path.Dir(target)); err != nil {
		return fmt.Errorf("store artifact %s: %w", w.name, err)
	}
	if err := a.fs.Rename(w.temp, target); err != nil {
		return fmt.Errorf("store artifact %s: %w", w.name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files[w.name] = target
	a.order = append(a.order, w.name)
	return nil
}

// compare tells the same bytes from others under a name.
func (a *Store) compare(name, file, sum string) error {
	f, err := a.fs.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) == sum {
		return nil
	}
	return plan.NewError(plan.ClassRuntime, "ARTIFACT_ALREADY_EXISTS",
		"There is an artifact "+name+" with other bytes.", "normalizedRemoteRelativePath", name)
}

// checkName refuses names that lead out of the session's directory, and
// kinds that weir does not keep.
func checkName(name string) error {
	kind, rest, _ := strings.Cut(name, "/")
	if kind == "forward_to_fs" {
		return plan.NewError(plan.ClassUnsupported, "_LEGACY_ERROR_TEMP_3161",
			"Copying a file of the client's to a path of the server's is not allowed.")
	}
	if kind == "archives" {
		return plan.Unsupported("An archive among the artifacts, to be unpacked for functions,")
	}
	clean := path.Clean(name) == name && rest != "" && !strings.ContainsAny(name, "\x00\\") && !path.IsAbs(name)
	if !clean || strings.HasPrefix(name, "..") || !slices.Contains(kinds, kind) {
		return plan.IllegalArgument("%.100q is no name of an artifact", name)
	}
	return nil
}

// Inherit takes over the artifacts of another session, which keeps its own.
func (a *Store) Inherit(from *Store) {
	from.mu.Lock()
	names := slices.Clone(from.order)
	from.mu.Unlock()
	for _, name := range names {
		f, err := from.fs.Open(from.place(name))
		if err != nil {
			continue // the other session ended meanwhile
		}
		_ = a.Add(name, f) // a full disk shows when the file is asked for
		_ = f.Close()      // it was only read
	}
}

// Remove deletes every file.
func (a *Store) Remove() error {
	a.mu.Lock()
	clear(a.files)
	a.order, a.bytes = nil, 0
	a.mu.Unlock()
	return a.fs.RemoveAll(a.dir)
}

// Modules are the places of Python modules that the client sent.
func (a *Store) Modules() []string {
	var out []string
	for _, name := range a.Names() {
		file, ok := a.Path(name)
		if !ok || !strings.HasPrefix(name, "pyfiles/") {
			continue
		}
		if path.Ext(name) == ".py" {
			file = path.Dir(file)
		}
		if !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	return out
}
