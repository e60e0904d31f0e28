package vfs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	must(t, json.Unmarshal(data, into))
}

// The file was recorded from Hadoop's Path of Spark 4.3.0.
func TestURIsAreHadoops(t *testing.T) {
	var cases []struct{ Name, URI string }
	readJSON(t, "hadoop_uri.json", &cases)
	l := Location{scheme: "file"}
	for _, c := range cases {
		if got := l.URI("/d/x" + c.Name + "y"); got != c.URI {
			t.Errorf("name %q: got %s, want %s", c.Name, got, c.URI)
		}
	}
	if len(cases) < 130 {
		t.Errorf("only %d cases", len(cases))
	}
}

func TestURIsComeBack(t *testing.T) {
	r := newResolver(t, NewMemory(), "")
	rapid.Check(t, func(rt *rapid.T) {
		bytes := rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(rt, "name")
		p := path.Clean("/" + string(bytes))
		l, err := r.FromURI(Location{scheme: "file"}.URI(p))
		if err != nil || l.Path != p {
			rt.Fatalf("%q came back as %q, %v", p, l.Path, err)
		}
	})
}

func TestMalformedEscapes(t *testing.T) {
	r := newResolver(t, NewMemory(), "")
	for _, text := range []string{"file:///a%", "file:///a%2", "file:///a%zz", "file:///%0", "/%%%"} {
		var bad *PathError
		if _, err := r.FromURI(text); !errors.As(err, &bad) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func newResolver(t *testing.T, local FS, root string) *Resolver {
	t.Helper()
	r, err := NewResolver(ResolverOptions{
		Local: local, Dir: "/here", Root: root,
		Volume: func(v VolumeName) (string, error) {
			if v.Name == "gone" {
				return "", fs.ErrNotExist
			}
			return "/data/" + v.Catalog + "/" + v.Schema + "/" + v.Name, nil
		},
		Schemes: map[string]FS{"yt": NewMemory()},
	})
	must(t, err)
	return r
}

func TestResolve(t *testing.T) {
	r := newResolver(t, NewMemory(), "")
	cases := []struct{ text, path, uri string }{
		{"/a/b", "/a/b", "file:///a/b"},
		{"a b", "/here/a b", "file:///here/a%20b"},
		{"../x/./y//z/", "/x/y/z", "file:///x/y/z"},
		{"./a:b", "/here/a:b", "file:///here/a:b"},
		{"~x", "/here/~x", "file:///here/~x"},
		{"/", "/", "file:///"},
		{"/..", "/", "file:///"},
		{"file:/a%20b", "/a%20b", "file:///a%2520b"}, // as Spark: nothing is decoded
		{"file:///a b?#", "/a b?#", "file:///a%20b%3F%23"},
		{"file:////a", "/a", "file:///a"},
		{"FILE:/a", "/a", "file:///a"},
		{"dbfs:/Volumes/c/s/v/d/f 1", "/data/c/s/v/d/f 1", "dbfs:/Volumes/c/s/v/d/f%201"},
		{"file:/Volumes/c/s/v/f", "/data/c/s/v/f", "dbfs:/Volumes/c/s/v/f"},
		{"/Volumes/c/s/v", "/data/c/s/v", "dbfs:/Volumes/c/s/v"},
		{"/Volumes/c//s/./v/a/../b/", "/data/c/s/v/b", "dbfs:/Volumes/c/s/v/b"},
		{"/x/../Volumes/c/s/v/b", "/data/c/s/v/b", "dbfs:/Volumes/c/s/v/b"},
		{"/Volumesx/c/s/v", "/Volumesx/c/s/v", "file:///Volumesx/c/s/v"},
		{"yt://home/t 1", "/home/t 1", "yt://home/t%201"},
		{"yt:/home/t", "/home/t", "yt://home/t"},
	}
	for _, c := range cases {
		l, err := r.Resolve(c.text)
		if err != nil || l.Path != c.path || l.URI(l.Path) != c.uri {
			t.Errorf("%q: got %q, %q, %v, want %q, %q", c.text, l.Path, l.URI(l.Path), err, c.path, c.uri)
			continue
		}
		back, err := r.FromURI(l.URI(l.Path))
		if err != nil || back.Path != l.Path || back.Text("/q") != l.Text("/q") {
			t.Errorf("%q: back from %s: %q, %v", c.text, c.uri, back.Path, err)
		}
	}
	l, err := r.Resolve("a b")
	must(t, err)
	if got, want := l.Text(l.Path), "file:/here/a b"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestResolveRefuses(t *testing.T) {
	r := newResolver(t, NewMemory(), "")
	plain := func(err error) bool { return errors.As(err, new(*PathError)) }
	scheme := func(name string) func(error) bool {
		return func(err error) bool {
			var e *SchemeError
			return errors.As(err, &e) && e.Scheme == name
		}
	}
	volume := func(v VolumeName) func(error) bool {
		return func(err error) bool {
			var e *VolumeError
			return errors.As(err, &e) && e.Volume == v
		}
	}
	escape := func(err error) bool {
		return errors.As(err, new(*ConfinedError)) && errors.Is(err, fs.ErrPermission)
	}
	cases := []struct {
		text string
		is   func(error) bool
	}{
		{"", plain},
		{"/a\x00b", plain},
		{"a:b", plain},
		{"file:", plain},
		{"file:a", plain},
		{":/a", plain},
		{"1:/x", plain},
		{"file://host/a", plain},
		{"s3a://b/k", scheme("s3a")},
		{"S3://b/k", scheme("s3")},
		{"hdfs:///x", scheme("hdfs")},
		{"abfss://c@a/x", scheme("abfss")},
		{"gs://b", scheme("gs")},
		{"wasb://c@a/x", scheme("wasb")},
		{"https://h/x", scheme("https")},
		{"C:/x", scheme("c")},
		{"dbfs:/tmp/x", scheme("dbfs")},
		{"/Volumes", volume(VolumeName{})},
		{"/Volumes/c/s", volume(VolumeName{"c", "s", ""})},
		{"dbfs:/Volumes/c", volume(VolumeName{"c", "", ""})},
		{"/Volumes/c/s/gone/f", volume(VolumeName{"c", "s", "gone"})},
		{"/Volumes/c/s/v/../w/f", escape},
		{"/Volumes/c/s/v/../../../../etc/passwd", escape},
		{"dbfs:/Volumes/c/s/v/..", escape},
	}
	for _, c := range cases {
		if l, err := r.Resolve(c.text); !c.is(err) {
			t.Errorf("%q: got %q, %v", c.text, l.Path, err)
		}
	}
	_, err := r.Resolve("/Volumes/c/s/gone/f")
	if err == nil || !strings.Contains(err.Error(), "c.s.gone") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown volume: %v", err)
	}
	if _, err := NewResolver(ResolverOptions{Local: NewMemory(), Dir: "relative"}); !plain(err) {
		t.Errorf("relative working directory: %v", err)
	}
	files := NewMemory()
	must(t, WriteNew(files, "/file", nil))
	for _, root := range []string{"/nope", "/file"} {
		_, err := NewResolver(ResolverOptions{Local: files, Dir: "/", Root: root})
		if err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("root %s: %v", root, err)
		}
	}
}

func TestResolveNeverPanics(t *testing.T) {
	files := NewMemory()
	must(t, files.MkdirAll("/here"))
	r := newResolver(t, files, "/here")
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{
			"/", "..", ".", "Volumes", "dbfs:", "file:", "c", "%2e", "\x00", "yt:", "é",
		})
		text := strings.Join(rapid.SliceOf(part).Draw(rt, "parts"), "")
		for _, resolve := range []func(string) (Location, error){r.Resolve, r.FromURI} {
			l, err := resolve(text)
			if err != nil || l.scheme == "yt" {
				continue
			}
			if !below(l.Path, "/here") && !below(l.Path, "/data") || l.Path != path.Clean(l.Path) {
				rt.Fatalf("%q leads to %q", text, l.Path)
			}
		}
	})
}

// disk makes root/in/f, outside/secret and links between them.
func disk(t *testing.T) (base string, local *Local) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	local = NewLocal()
	p := place{local, base}
	for _, dir := range []string{"root/in", "outside"} {
		must(t, p.MkdirAll(p.at(dir)))
	}
	put(t, p, "root/in/f", "inside")
	put(t, p, "outside/secret", "secret")
	for name, target := range map[string]string{
		"root/out":      "../outside",
		"root/abs":      base + "/outside/secret",
		"root/dangling": base + "/outside/new",
		"root/ok":       "in/f",
		"root/in/up":    "..",
		"root/circle":   "circle",
	} {
		must(t, os.Symlink(target, p.at(name)))
	}
	return base, local
}

func TestConfinementHoldsThroughLinks(t *testing.T) {
	base, local := disk(t)
	fsys, err := Confine(local, base+"/root")
	must(t, err)
	p := place{fsys, base + "/root"}
	wantText(t, p, "ok", "inside")
	wantText(t, p, "in/up/in/f", "inside")
	for _, name := range []string{"out/secret", "abs", "dangling", "../outside/secret", "out/new"} {
		name := p.at(name)
		_, open := p.Open(name)
		_, create := p.Create(name)
		_, createNew := p.CreateNew(name)
		_, appended := p.Append(name)
		_, stat := p.Stat(name)
		_, locked := p.Lock(name)
		_, real := p.RealPath(name)
		for op, err := range map[string]error{
			"open": open, "create": create, "create new": createNew, "append": appended, "stat": stat,
			"lock": locked, "real path": real,
		} {
			wantErr(t, op+" "+name, err, fs.ErrPermission)
		}
	}
	_, list := p.List(p.at("out"))
	for op, err := range map[string]error{
		"list":          list,
		"mkdir":         p.MkdirAll(p.at("out/d")),
		"sync dir":      p.SyncDir(p.at("out")),
		"rename from":   p.Rename(p.at("out/secret"), p.at("mine")),
		"rename to":     p.RenameNew(p.at("in/f"), p.at("out/mine")),
		"remove":        p.Remove(p.at("out/secret")),
		"remove all":    p.RemoveAll(p.at("out/secret")),
		"remove parent": p.RemoveAll(p.at("..")),
		"write":         WriteNew(p, p.at("out/mine"), nil),
	} {
		wantErr(t, op, err, fs.ErrPermission)
	}
	if err := WriteNew(p, p.at("circle"), nil); err == nil {
		t.Error("wrote over a link")
	}
	must(t, p.Remove(p.at("out"))) // the link is inside, what it names is not
	wantText(t, place{local, base}, "outside/secret", "secret")
}

func TestResolverConfines(t *testing.T) {
	base, local := disk(t)
	r, err := NewResolver(ResolverOptions{
		Local: local, Dir: base + "/root", Root: ".",
		Volume: func(VolumeName) (string, error) { return base + "/root/in", nil },
	})
	must(t, err)
	for text, ok := range map[string]bool{
		"in/f": true, "new/file": true, base + "/root": true, "in/*.json": true,
		"out/secret": false, "../outside": false, "/etc/passwd": false, "file:/tmp": false, base + "/rootx": false,
		"/Volumes/c/s/v/f": true, "/Volumes/c/s/v/new": true, "/Volumes/c/s/v/up/ok": true,
		"/Volumes/c/s/v/up": false, "/Volumes/c/s/v/up/abs": false,
	} {
		_, err := r.Resolve(text)
		if ok != (err == nil) || !ok && !errors.As(err, new(*ConfinedError)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := r.Resolve("circle"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("circle: %v", err)
	}
	if _, err := r.Resolve(strings.Repeat("n", 256)); err == nil {
		t.Error("a name of 256 bytes passed")
	}
}

func TestLocalOpensOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	local := NewLocal()
	for _, name := range []string{fifo, "/dev/null", "/dev/zero"} {
		_, err := local.Open(name)
		wantErr(t, "open "+name, err, ErrNotRegular)
		if _, err := local.Create(name); err == nil {
			t.Errorf("created %s", name)
		}
	}
	if info, err := local.Stat(fifo); err != nil || info.Kind != Other {
		t.Errorf("fifo: %+v, %v", info, err)
	}
}

func TestLocalIsPrivate(t *testing.T) {
	p := place{NewLocal(), t.TempDir()}
	must(t, p.MkdirAll(p.at("d")))
	must(t, WriteNew(p, p.at("d/f"), nil))
	for name, want := range map[string]fs.FileMode{"d": 0o700, "d/f": 0o600} {
		st, err := os.Stat(p.at(name))
		must(t, err)
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestRenameByLinkNeverReplaces(t *testing.T) {
	p := place{NewLocal(), t.TempDir()}
	put(t, p, "a", "1")
	put(t, p, "b", "2")
	wantErr(t, "link", linkNew(p.at("a"), p.at("b")), fs.ErrExist)
	must(t, linkNew(p.at("a"), p.at("c")))
	if got := names(t, p, ""); got != "b c" {
		t.Errorf("names %q, want b c", got)
	}
}

// The file was recorded from Hadoop's globStatus of Spark 4.3.0.
func TestGlobsAreHadoops(t *testing.T) {
	var recorded struct {
		Files []string
		Cases []struct {
			Pattern string
			Glob    bool
			Error   bool
			Paths   []string
		}
	}
	readJSON(t, "hadoop_glob.json", &recorded)
	p := place{NewMemory(), "/g"}
	for _, name := range recorded.Files {
		must(t, p.MkdirAll(path.Dir(p.at(name))))
		put(t, p, name, "")
	}
	for _, c := range recorded.Cases {
		if got := HasGlob(c.Pattern); got != c.Glob {
			t.Errorf("%q is a pattern: %t, want %t", c.Pattern, got, c.Glob)
		}
		got, err := Glob(p, p.dir+"/"+c.Pattern)
		if (err != nil) != c.Error {
			t.Errorf("%q: %v, want an error: %t", c.Pattern, err, c.Error)
			continue
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "/g/")
		}
		if diff := cmp.Diff(c.Paths, got); diff != "" && len(c.Paths)+len(got) > 0 {
			t.Errorf("%q (-want +got):\n%s", c.Pattern, diff)
		}
	}
}

func TestGlobIsBounded(t *testing.T) {
	_, err := Glob(NewMemory(), "/"+strings.Repeat("{a/b,c/d}", 40))
	if !errors.As(err, new(*GlobError)) {
		t.Errorf("got %v", err)
	}
}

func TestGlobNeverPanics(t *testing.T) {
	p := place{NewMemory(), "/"}
	put(t, p, "a", "")
	rapid.Check(t, func(rt *rapid.T) {
		runes := rapid.SampledFrom([]rune(`{}[]*?\,!^-/a.é`))
		pattern := string(rapid.SliceOfN(runes, 0, 30).Draw(rt, "pattern"))
		_, err := Glob(p, pattern)
		if err != nil && !errors.As(err, new(*GlobError)) {
			rt.Fatalf("%q: %v", pattern, err)
		}
	})
}

func TestWalkSkipsWhatIsNoFile(t *testing.T) {
	base, local := disk(t)
	must(t, syscall.Mkfifo(base+"/root/fifo", 0o600))
	var seen []string
	skipped, err := Walk(local, base+"/root", func(name string, info Info) error {
		seen = append(seen, strings.TrimPrefix(name, base+"/root/"))
		return nil
	})
	must(t, err)
	if diff := cmp.Diff([]string{"abs", "in", "in/f", "in/up", "ok", "out", "out/secret"}, seen); diff != "" {
		t.Errorf("visited (-want +got):\n%s", diff)
	}
	if want := (Skipped{Special: 1, Loops: 1, Broken: 2}); skipped != want {
		t.Errorf("skipped %+v, want %+v", skipped, want)
	}
}

func TestWalkStopsWhereItIsTold(t *testing.T) {
	p := place{NewMemory(), "/"}
	for _, dir := range []string{"a", "b", "c"} {
		must(t, p.MkdirAll(p.at(dir)))
		put(t, p, dir+"/f", "")
	}
	var seen []string
	stop := errors.New("stop")
	_, err := Walk(p, "/", func(name string, info Info) error {
		seen = append(seen, name)
		switch name {
		case "/b":
			return fs.SkipDir
		case "/c":
			return stop
		}
		return nil
	})
	wantErr(t, "walk", err, stop)
	if got, want := strings.Join(seen, " "), "/a /a/f /b /c"; got != want {
		t.Errorf("visited %q, want %q", got, want)
	}
	must(t, p.MkdirAll(strings.Repeat("/d", 200)))
	if _, err := Walk(p, "/", func(string, Info) error { return nil }); err == nil {
		t.Error("200 levels passed")
	}
	_, err = Walk(p, "/none", nil)
	wantErr(t, "walk nothing", err, fs.ErrNotExist)
}

func TestSyncsAreBounded(t *testing.T) {
	local := NewLocal()
	p := place{local, t.TempDir()}
	for range maxSyncs {
		local.slots <- struct{}{}
	}
	done := make(chan error)
	go func() { done <- p.SyncDir(p.dir) }()
	select {
	case err := <-done:
		t.Fatalf("a 17th sync ran: %v", err)
	default:
	}
	<-local.slots
	must(t, <-done)
	if got := local.Syncs(); got != 1 {
		t.Errorf("counted %d syncs, want 1", got)
	}
}

func TestUnsyncedSyncsNothing(t *testing.T) {
	local := NewLocal()
	fsys, dir := Unsynced(local), t.TempDir()
	must(t, MkdirDurable(fsys, dir+"/a/b"))
	must(t, WriteNew(fsys, dir+"/a/b/c", []byte("x")))
	w, err := fsys.Append(dir + "/a/b/c")
	must(t, err)
	must(t, w.Sync())
	must(t, w.Close())
	if got := local.Syncs(); got != 0 {
		t.Errorf("counted %d syncs, want none", got)
	}
}

func BenchmarkWriteNew(b *testing.B) {
	local := NewLocal()
	dir := b.TempDir()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := WriteNew(local, TempName(dir+"/0"), make([]byte, 300)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(local.Syncs())/float64(b.N), "syncs/op")
}
