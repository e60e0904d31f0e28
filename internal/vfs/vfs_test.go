package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// place is one implementation under the suite, with a directory of its own.
type place struct {
	FS
	dir string
}

func (p place) at(name string) string { return path.Join(p.dir, name) }

// implementations lists every file system; all of them pass one suite.
func implementations() map[string]func(t *testing.T) place {
	return map[string]func(t *testing.T) place{
		"local":     func(t *testing.T) place { return place{NewLocal(), t.TempDir()} },
		"memory":    func(*testing.T) place { return place{NewMemory(), "/"} },
		"crashable": func(*testing.T) place { return place{NewCrashable(), "/"} },
		"survivor":  func(*testing.T) place { return place{NewCrashable().Crash(1, 1), "/"} },
		"confined": func(t *testing.T) place {
			mem := NewMemory()
			must(t, mem.MkdirAll("/w/d"))
			fsys, err := Confine(mem, "/w")
			must(t, err)
			return place{fsys, "/w/d"}
		},
		"faulty": func(*testing.T) place {
			return place{NewFaulty(NewMemory(), func(Call) Fault { return Fault{} }), "/"}
		},
		"unsynced": func(t *testing.T) place { return place{Unsynced(NewLocal()), t.TempDir()} },
	}
}

func TestConformance(t *testing.T) {
	suite := []struct {
		name string
		run  func(*testing.T, place)
	}{
		{"what is written is read", testReadBack},
		{"readers honour the io contracts", testReaderContract},
		{"create empties", testCreateEmpties},
		{"create new refuses", testCreateNew},
		{"append continues", testAppend},
		{"open readers keep removed bytes", testOpenAfterRemove},
		{"rename", testRename},
		{"rename new never replaces", testRenameNew},
		{"rename of directories", testRenameDir},
		{"list is sorted and typed", testList},
		{"mkdir all", testMkdirAll},
		{"remove", testRemove},
		{"remove all", testRemoveAll},
		{"stat", testStat},
		{"locks exclude", testLock},
		{"bad paths are clean errors", testBadPaths},
		{"write new", testWriteNew},
		{"one of many writers wins", testWriteNewRace},
		{"write replace", testWriteReplace},
		{"temporaries are cleaned", testCleanTemps},
		{"mkdir durable", testMkdirDurable},
		{"closed files say so", testClosed},
	}
	for name, open := range implementations() {
		t.Run(name, func(t *testing.T) {
			for _, c := range suite {
				t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
			}
		})
	}
}

func put(t *testing.T, p place, name, text string) {
	t.Helper()
	w, err := p.Create(p.at(name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	must(t, w.Sync())
	must(t, w.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, p place, name, want string) {
	t.Helper()
	got, err := ReadFile(p, p.at(name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func names(t *testing.T, p place, dir string) string {
	t.Helper()
	infos, err := p.List(p.at(dir))
	must(t, err)
	var all []string
	for _, info := range infos {
		all = append(all, info.Name)
	}
	return strings.Join(all, " ")
}

func testReadBack(t *testing.T, p place) {
	for _, text := range []string{"", "x", strings.Repeat("0123456789", 30_000)} {
		put(t, p, "f", text)
		wantText(t, p, "f", text)
	}
}

func testReaderContract(t *testing.T, p place) {
	text := strings.Repeat("abc", 1000)
	put(t, p, "f", text)
	r, err := p.Open(p.at("f"))
	must(t, err)
	defer r.Close()
	must(t, iotest.TestReader(struct{ io.Reader }{r}, []byte(text)))
	buf := make([]byte, 10)
	if n, err := r.ReadAt(buf, 2995); n != 5 || err != io.EOF {
		t.Errorf("read at the end: %d, %v, want 5, EOF", n, err)
	}
	if n, err := r.ReadAt(buf, 5000); n != 0 || err != io.EOF {
		t.Errorf("read past the end: %d, %v, want 0, EOF", n, err)
	}
	if n, err := r.ReadAt(buf, -1); n != 0 || err == nil || err == io.EOF {
		t.Errorf("read at -1: %d, %v, want an error", n, err)
	}
	if n, err := r.ReadAt(buf, 3); n != 10 || err != nil || string(buf) != "abcabcabca" {
		t.Errorf("read at 3: %d, %v, %q", n, err, buf)
	}
}

func testCreateEmpties(t *testing.T, p place) {
	put(t, p, "f", "long text")
	put(t, p, "f", "x")
	wantText(t, p, "f", "x")
}

func testCreateNew(t *testing.T, p place) {
	w, err := p.CreateNew(p.at("f"))
	must(t, err)
	must(t, w.Close())
	must(t, p.MkdirAll(p.at("d")))
	for _, name := range []string{"f", "d"} {
		_, err = p.CreateNew(p.at(name))
		wantErr(t, "create new "+name, err, fs.ErrExist)
	}
	_, err = p.CreateNew(p.at("none/f"))
	wantErr(t, "create new without directory", err, fs.ErrNotExist)
}

func testAppend(t *testing.T, p place) {
	for range 2 {
		w, err := p.Append(p.at("f"))
		must(t, err)
		_, err = io.WriteString(w, "ab")
		must(t, err)
		must(t, w.Close())
	}
	wantText(t, p, "f", "abab")
}

func testOpenAfterRemove(t *testing.T, p place) {
	put(t, p, "f", "abc")
	r, err := p.Open(p.at("f"))
	must(t, err)
	defer r.Close()
	must(t, p.Remove(p.at("f")))
	put(t, p, "f", "other")
	if got, err := io.ReadAll(r); string(got) != "abc" || err != nil {
		t.Errorf("got %q, %v, want the removed bytes", got, err)
	}
}

func testRename(t *testing.T, p place) {
	put(t, p, "a", "1")
	put(t, p, "b", "2")
	must(t, p.Rename(p.at("a"), p.at("b")))
	wantText(t, p, "b", "1")
	if got := names(t, p, ""); got != "b" {
		t.Errorf("names %q, want b", got)
	}
	must(t, p.Rename(p.at("b"), p.at("b")))
	wantErr(t, "rename a missing file", p.Rename(p.at("a"), p.at("c")), fs.ErrNotExist)
	wantErr(t, "rename into a missing directory", p.Rename(p.at("b"), p.at("d/b")), fs.ErrNotExist)
	wantText(t, p, "b", "1")
}

func testRenameNew(t *testing.T, p place) {
	put(t, p, "a", "1")
	put(t, p, "b", "2")
	must(t, p.MkdirAll(p.at("d")))
	for _, to := range []string{"b", "d"} {
		wantErr(t, "rename new to "+to, p.RenameNew(p.at("a"), p.at(to)), fs.ErrExist)
	}
	wantText(t, p, "b", "2")
	must(t, p.RenameNew(p.at("a"), p.at("d/c")))
	wantText(t, p, "d/c", "1")
	wantErr(t, "rename new a missing file", p.RenameNew(p.at("a"), p.at("e")), fs.ErrNotExist)
}

func testRenameDir(t *testing.T, p place) {
	must(t, p.MkdirAll(p.at("a/b")))
	put(t, p, "a/b/f", "1")
	put(t, p, "file", "2")
	must(t, p.MkdirAll(p.at("full/x")))
	must(t, p.Rename(p.at("a"), p.at("z")))
	wantText(t, p, "z/b/f", "1")
	for _, c := range [][2]string{{"z", "z/b/inside"}, {"z", "full"}, {"file", "z"}, {"z", "file"}} {
		if err := p.Rename(p.at(c[0]), p.at(c[1])); err == nil {
			t.Errorf("rename %s to %s passed", c[0], c[1])
		}
	}
	wantText(t, p, "z/b/f", "1")
	wantText(t, p, "file", "2")
}

func testList(t *testing.T, p place) {
	for _, name := range []string{"b", "B", ".hidden", "é", "a b", "10", "9"} {
		put(t, p, name, "xy")
	}
	must(t, p.MkdirAll(p.at("a")))
	if got, want := names(t, p, ""), ".hidden 10 9 B a a b b é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	infos, err := p.List(p.at(""))
	must(t, err)
	for _, info := range infos {
		want := Info{Name: info.Name, Size: 2, ModTime: info.ModTime}
		if info.Name == "a" {
			want.Kind, want.Size = Dir, 0
		}
		if diff := cmp.Diff(want, info); diff != "" || info.ModTime.IsZero() {
			t.Errorf("entry %s (-want +got):\n%s", info.Name, diff)
		}
	}
	if _, err := p.List(p.at("b")); err == nil {
		t.Error("a file was listed")
	}
	_, err = p.List(p.at("none"))
	wantErr(t, "list nothing", err, fs.ErrNotExist)
	if infos, err := p.List(p.at("a")); err != nil || len(infos) != 0 {
		t.Errorf("empty directory: %v, %v", infos, err)
	}
}

func testMkdirAll(t *testing.T, p place) {
	must(t, p.MkdirAll(p.at("a/b/c")))
	must(t, p.MkdirAll(p.at("a/b/c")))
	put(t, p, "a/f", "1")
	for _, dir := range []string{"a/f", "a/f/g"} {
		if err := p.MkdirAll(p.at(dir)); err == nil {
			t.Errorf("a directory %s was made over a file", dir)
		}
	}
	if got := names(t, p, "a"); got != "b f" {
		t.Errorf("names %q, want b f", got)
	}
}

func testRemove(t *testing.T, p place) {
	must(t, p.MkdirAll(p.at("d")))
	put(t, p, "d/f", "1")
	if err := p.Remove(p.at("d")); err == nil {
		t.Error("a full directory was removed")
	}
	must(t, p.Remove(p.at("d/f")))
	must(t, p.Remove(p.at("d")))
	wantErr(t, "remove twice", p.Remove(p.at("d")), fs.ErrNotExist)
}

func testRemoveAll(t *testing.T, p place) {
	must(t, p.MkdirAll(p.at("d/e")))
	put(t, p, "d/e/f", "1")
	put(t, p, "f", "1")
	for _, name := range []string{"d", "d", "none/none", "f"} {
		must(t, p.RemoveAll(p.at(name)))
	}
	if got := names(t, p, ""); got != "" {
		t.Errorf("left %q", got)
	}
}

func testStat(t *testing.T, p place) {
	put(t, p, "f", "abc")
	at := time.Date(2024, 2, 29, 12, 0, 0, 123_000_000, time.UTC)
	must(t, p.SetModTime(p.at("f"), at))
	for _, stat := range []func(string) (Info, error){p.Stat, p.Lstat} {
		info, err := stat(p.at("f"))
		must(t, err)
		if info.Name != "f" || info.Size != 3 || !info.ModTime.Equal(at) || !info.IsRegular() {
			t.Errorf("got %+v", info)
		}
		_, err = stat(p.at("none"))
		wantErr(t, "stat nothing", err, fs.ErrNotExist)
	}
	r, err := p.Open(p.at("f"))
	must(t, err)
	defer r.Close()
	if info, err := r.Stat(); err != nil || info.Size != 3 || info.Name != "f" {
		t.Errorf("open file: %+v, %v", info, err)
	}
	wantErr(t, "time of nothing", p.SetModTime(p.at("none"), at), fs.ErrNotExist)
}

func testLock(t *testing.T, p place) {
	lock, err := p.Lock(p.at("lock"))
	must(t, err)
	var held *LockedError
	if _, err := p.Lock(p.at("lock")); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("second lock: %v, want the holder %d", err, os.Getpid())
	}
	must(t, lock.Close())
	if lock, err = p.Lock(p.at("lock")); err != nil {
		t.Fatalf("lock after release: %v", err)
	}
	must(t, lock.Close())
}

func testBadPaths(t *testing.T, p place) {
	put(t, p, "f", "1")
	bad := map[string]string{
		"NUL byte":      p.at("a\x00b"),
		"long name":     p.at(strings.Repeat("n", 256)),
		"long path":     p.at(strings.Repeat("n/", 3000)) + "/x",
		"below a file":  p.at("f/x"),
		"no parent":     p.at("none/x"),
		"the directory": p.dir,
	}
	for what, name := range bad {
		if _, err := p.Create(name); err == nil {
			t.Errorf("%s: created", what)
		}
		if _, err := p.Open(name); err == nil {
			t.Errorf("%s: opened", what)
		}
		if err := p.Rename(p.at("f"), name); err == nil {
			t.Errorf("%s: renamed", what)
		}
		if err := WriteNew(p, name, []byte("x")); err == nil {
			t.Errorf("%s: written", what)
		}
	}
	wantText(t, p, "f", "1")
	if got := names(t, p, ""); got != "f" {
		t.Errorf("left %q", got)
	}
	_, err := p.Open(p.dir)
	wantErr(t, "open a directory", err, ErrNotRegular)
}

func testWriteNew(t *testing.T, p place) {
	must(t, WriteNew(p, p.at("0"), []byte("v1")))
	wantErr(t, "write again", WriteNew(p, p.at("0"), []byte("other")), fs.ErrExist)
	wantText(t, p, "0", "v1")
	long := strings.Repeat("é", 127)
	must(t, WriteNew(p, p.at(long), nil))
	if got, want := names(t, p, ""), "0 "+long; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
}

func testWriteNewRace(t *testing.T, p place) {
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = WriteNew(p, p.at("0"), bytes.Repeat([]byte{byte('a' + i)}, 1000)) })
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		if err == nil && won < 0 {
			won = i
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("writer %d: %v, want an existing file", i, err)
		}
	}
	wantText(t, p, "0", strings.Repeat(string(rune('a'+won)), 1000))
	if got := names(t, p, ""); got != "0" {
		t.Errorf("left %q", got)
	}
}

func testWriteReplace(t *testing.T, p place) {
	put(t, p, ".f.crc", "old sum")
	for _, text := range []string{"1", "22"} {
		must(t, WriteReplace(p, p.at("f"), []byte(text)))
		wantText(t, p, "f", text)
	}
	if got := names(t, p, ""); got != "f" {
		t.Errorf("left %q", got)
	}
}

func testCleanTemps(t *testing.T, p place) {
	temp := path.Base(TempName("/x/7"))
	keep := []string{"7", ".7.crc", ".7.tmp", "a.tmp", "." + strings.Repeat("x", 40) + ".tmp"}
	for _, name := range append(keep, temp, "."+temp+".crc") {
		put(t, p, name, "1")
	}
	if n, err := CleanTemps(p, p.dir); n != 1 || err != nil {
		t.Errorf("cleaned %d, %v, want 1", n, err)
	}
	for _, name := range keep {
		wantText(t, p, name, "1")
	}
	if got := len(strings.Fields(names(t, p, ""))); got != len(keep) {
		t.Errorf("left %s", names(t, p, ""))
	}
	if n, err := CleanTemps(p, p.at("none")); n != 0 || err != nil {
		t.Errorf("missing directory: %d, %v", n, err)
	}
}

func testMkdirDurable(t *testing.T, p place) {
	for range 2 {
		must(t, MkdirDurable(p, p.at("a/b/c")))
	}
	put(t, p, "a/f", "")
	if err := MkdirDurable(p, p.at("a/f/g")); err == nil {
		t.Error("a directory below a file was made")
	}
}

func testClosed(t *testing.T, p place) {
	w, err := p.Create(p.at("f"))
	must(t, err)
	must(t, w.Close())
	_, err = w.Write([]byte("x"))
	wantErr(t, "write", err, fs.ErrClosed)
	wantErr(t, "sync", w.Sync(), fs.ErrClosed)
	wantErr(t, "close", w.Close(), fs.ErrClosed)
	r, err := p.Open(p.at("f"))
	must(t, err)
	must(t, r.Close())
	_, err = r.Read(make([]byte, 1))
	wantErr(t, "read", err, fs.ErrClosed)
}
