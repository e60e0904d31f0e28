package vfs

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// VolumeName names a volume of a catalog.
type VolumeName struct {
	Catalog, Schema, Name string
}

func (v VolumeName) String() string { return v.Catalog + "." + v.Schema + "." + v.Name }

// Path is the path users write for the root of the volume.
func (v VolumeName) Path() string { return volumes + v.Catalog + "/" + v.Schema + "/" + v.Name }

const volumes = "/Volumes/"

// SchemeError refuses a path because of its scheme.
type SchemeError struct {
	Scheme string
	Path   string // as the user wrote it
}

func (e *SchemeError) Error() string {
	return fmt.Sprintf("no file system for scheme %q of path %q", e.Scheme, e.Path)
}

// VolumeError means that a /Volumes path names no volume.
type VolumeError struct {
	Volume VolumeName // as far as the path gives it
	Path   string     // as the user wrote it
	Err    error      // why the lookup failed; nil when the path is too short
}

func (e *VolumeError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("path %q does not name a catalog, a schema and a volume", e.Path)
	}
	return fmt.Sprintf("volume %s of path %q: %v", e.Volume, e.Path, e.Err)
}

func (e *VolumeError) Unwrap() error { return e.Err }

// PathError means that a text is no path at all.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

// ResolverOptions say where paths lead.
type ResolverOptions struct {
	Local FS
	// Dir is where relative paths begin: the absolute working directory.
	Dir string
	// Root confines every local path to a tree; "" confines none. Volumes are
	// confined to their own directory in any case.
	Root string
	// Volume returns the directory of a volume on Local. Without it /Volumes is
	// an ordinary directory.
	Volume func(VolumeName) (dir string, err error)
	// Schemes adds file systems by scheme: {"yt": fs} makes yt://a/b the path
	// /a/b on fs. They cannot take the place of file and dbfs.
	Schemes map[string]FS
}

// Resolver turns the text of a path into a place on a file system.
type Resolver struct {
	options ResolverOptions
	local   FS // confined to Root when there is one
}

// NewResolver checks the options and returns a resolver.
func NewResolver(options ResolverOptions) (*Resolver, error) {
	if !path.IsAbs(options.Dir) {
		return nil, &PathError{options.Dir, "the working directory must be absolute"}
	}
	r := &Resolver{options: options, local: options.Local}
	if options.Root == "" {
		return r, nil
	}
	root := options.Root
	if !path.IsAbs(root) {
		root = path.Join(options.Dir, root)
	}
	// A tree that does not exist confines nothing that a link may lead to later.
	info, err := options.Local.Stat(root)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", root, err)
	}
	fsys, err := Confine(options.Local, root)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", root, err)
	}
	r.local = fsys
	return r, nil
}

// Location is a path on the file system that holds it.
type Location struct {
	FS   FS
	Path string // V1

	scheme string
	// below dir, paths are shown with mount in its place
	dir, mount string
}

// Text prints a path on l.FS as Hadoop's Path does: file:/a b, with nothing
// encoded. Files in a volume read dbfs:/Volumes/....
func (l Location) Text(p string) string { return l.scheme + ":" + l.shown(p) }

// URI prints a path on l.FS as Spark writes it into the logs of file sources
// and sinks: file:///a%20b. The reverse is Resolver.FromURI.
func (l Location) URI(p string) string {
	if l.scheme == "file" {
		return "file://" + EncodePath(p)
	}
	return l.scheme + ":" + EncodePath(l.shown(p))
}

func (l Location) shown(p string) string {
	if !below(p, l.dir) {
		return p
	}
	return l.mount + p[len(l.dir):]
}

// Resolve finds the place of a path that a user wrote. Nothing in it is
// decoded: as in Spark, file:/a%20b names a file with a percent sign. Glob
// characters stay for Glob.
//
// Errors are *PathError, *SchemeError, *VolumeError, *ConfinedError, or what
// following symbolic links met.
func (r *Resolver) Resolve(text string) (Location, error) {
	scheme, rest, err := splitScheme(text)
	if err != nil {
		return Location{}, err
	}
	return r.locate(scheme, rest, text)
}

// FromURI finds the place of a path that URI printed; percent signs are decoded.
func (r *Resolver) FromURI(text string) (Location, error) {
	scheme, rest, err := splitScheme(text)
	if err != nil {
		return Location{}, err
	}
	rest, ok := DecodePath(rest)
	if !ok {
		return Location{}, &PathError{text, "malformed percent escape"}
	}
	return r.locate(scheme, rest, text)
}

// splitScheme cuts at the first colon when no slash comes before it.
func splitScheme(text string) (scheme, rest string, err error) {
	if text == "" {
		return "", "", &PathError{text, "it is empty"}
	}
	colon := strings.IndexByte(text, ':')
	if colon < 0 || strings.Contains(text[:colon], "/") {
		return "", text, nil
	}
	scheme, rest = text[:colon], text[colon+1:]
	if !validScheme(scheme) {
		return "", "", &PathError{text, fmt.Sprintf("%q is no scheme", scheme)}
	}
	if !strings.HasPrefix(rest, "/") {
		return "", "", &PathError{text, "relative path in absolute URI"}
	}
	return strings.ToLower(scheme), rest, nil
}

func validScheme(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

func (r *Resolver) locate(scheme, rest, text string) (Location, error) {
	if strings.ContainsRune(rest, 0) {
		return Location{}, &PathError{text, "it contains a NUL byte"}
	}
	switch scheme {
	case "", "file":
		if scheme == "file" {
			host, ok := authority(rest)
			if ok && host != "" {
				return Location{}, &PathError{text, "a file URI cannot name the host " + host}
			}
		}
		if r.options.Volume != nil && inVolumes(rest) {
			return r.locateVolume(rest, text)
		}
		return r.locateLocal(rest)
	case "dbfs":
		if r.options.Volume != nil && inVolumes(rest) {
			return r.locateVolume(rest, text)
		}
	default:
		if fsys, ok := r.options.Schemes[scheme]; ok {
			p := path.Clean("/" + strings.TrimLeft(rest, "/"))
			return Location{FS: fsys, Path: p, scheme: scheme, dir: "/", mount: "//"}, nil
		}
	}
	return Location{}, &SchemeError{Scheme: scheme, Path: text}
}

// authority returns the host of //host/path.
func authority(rest string) (string, bool) {
	after, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", false
	}
	host, _, _ := strings.Cut(after, "/")
	return host, true
}

func (r *Resolver) locateLocal(p string) (Location, error) {
	if !path.IsAbs(p) {
		p = path.Join(r.options.Dir, p)
	}
	l := Location{FS: r.local, Path: path.Clean(p), scheme: "file"}
	return l, checkConfined(l)
}

// checkConfined refuses a location early, so that the error comes from the
// statement with the path rather than from a batch.
func checkConfined(l Location) error {
	if c, ok := l.FS.(*confined); ok {
		return c.inside(l.Path)
	}
	return nil
}

// inVolumes reports whether a path begins in /Volumes, as written or after its
// dots are resolved.
func inVolumes(p string) bool {
	if !path.IsAbs(p) {
		return false
	}
	written := "/" + strings.TrimLeft(p, "/")
	return strings.HasPrefix(written, volumes) || strings.HasPrefix(path.Clean(p)+"/", volumes)
}

func (r *Resolver) locateVolume(p, text string) (Location, error) {
	clean := path.Clean(p)
	elems := volumeElems(p)
	if elems == nil {
		elems = volumeElems(clean)
	}
	var name VolumeName
	for i, part := range []*string{&name.Catalog, &name.Schema, &name.Name} {
		if i < len(elems) {
			*part = elems[i]
		}
	}
	if len(elems) < 3 {
		return Location{}, &VolumeError{Volume: name, Path: text}
	}
	if !below(clean, name.Path()) {
		return Location{}, &ConfinedError{Path: text, Root: name.Path()}
	}
	dir, err := r.options.Volume(name)
	if err != nil {
		return Location{}, &VolumeError{Volume: name, Path: text, Err: err}
	}
	fsys, err := confine(r.options.Local, dir, name.Path())
	if err != nil {
		return Location{}, &VolumeError{Volume: name, Path: text, Err: err}
	}
	l := Location{
		FS: fsys, Path: path.Join(dir, clean[len(name.Path()):]),
		scheme: "dbfs", dir: path.Clean(dir), mount: name.Path(),
	}
	return l, checkConfined(l)
}

// volumeElems returns up to three names after /Volumes, and nil when the path
// does not spell them out: empty and "." are skipped, ".." ends the attempt.
func volumeElems(p string) []string {
	rest, ok := strings.CutPrefix("/"+strings.TrimLeft(p, "/"), volumes)
	if !ok {
		return nil
	}
	elems := []string{}
	for elem := range strings.SplitSeq(rest, "/") {
		switch {
		case len(elems) == 3, elem == "", elem == ".":
		case elem == "..":
			return nil
		default:
			elems = append(elems, elem)
		}
	}
	return elems
}
