package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// crashed runs steps on a fresh system and returns what survives losing all
// that was not synced.
func crashed(t *testing.T, lose float64, steps func(place)) place {
	t.Helper()
	disk := NewCrashable()
	steps(place{disk, "/"})
	return place{disk.Crash(lose, 1), "/"}
}

func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	write := func(p place, name, text string, sync bool) { writeTo(t, p, name, text, sync) }
	cases := []struct {
		name  string
		steps func(place)
		want  string // name=content of the surviving files
	}{
		{"nothing synced", func(p place) { write(p, "f", "abc", false) }, ""},
		{"bytes synced, name not", func(p place) { write(p, "f", "abc", true) }, ""},
		{"name synced, bytes not", func(p place) {
			write(p, "f", "abc", false)
			must(t, p.SyncDir("/"))
		}, "/f="},
		{"both synced", func(p place) {
			write(p, "f", "abc", true)
			must(t, p.SyncDir("/"))
		}, "/f=abc"},
		{"remove not synced", func(p place) {
			write(p, "f", "abc", true)
			must(t, p.SyncDir("/"))
			must(t, p.Remove("/f"))
		}, "/f=abc"},
		{"truncation not synced", func(p place) {
			write(p, "f", "abc", true)
			must(t, p.SyncDir("/"))
			write(p, "f", "", false)
		}, "/f=abc"},
		{"rename not synced", func(p place) {
			write(p, "a", "abc", true)
			must(t, p.SyncDir("/"))
			must(t, p.Rename("/a", "/b"))
		}, "/a=abc"},
		{"rename synced", func(p place) {
			write(p, "a", "abc", true)
			must(t, p.Rename("/a", "/b"))
			must(t, p.SyncDir("/"))
		}, "/b=abc"},
		{"rename between directories needs one sync", func(p place) {
			must(t, MkdirDurable(p, "/d"))
			write(p, "a", "abc", true)
			must(t, p.Rename("/a", "/d/a"))
			must(t, p.SyncDir("/d"))
		}, "/d/a=abc"},
		{"file in a directory that is lost", func(p place) {
			must(t, p.MkdirAll("/d"))
			write(p, "d/f", "abc", true)
			must(t, p.SyncDir("/d"))
		}, ""},
		{"file in a durable directory", func(p place) { // what every log relies on
			must(t, MkdirDurable(p, "/c/offsets"))
			must(t, WriteNew(p, "/c/offsets/0", []byte("v1")))
		}, "/c/offsets/0=v1"},
		{"replaced and synced", func(p place) {
			must(t, WriteNew(p, "/f", []byte("1")))
			must(t, WriteReplace(p, "/f", []byte("2")))
		}, "/f=2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := crashed(t, 1, c.steps)
			if got := files(t, p.FS, "/"); got != c.want {
				t.Errorf("survives %q, want %q", got, c.want)
			}
		})
	}
}

func writeTo(t *testing.T, p place, name, text string, sync bool) {
	t.Helper()
	w, err := p.Create(p.at(name))
	must(t, err)
	_, err = w.Write([]byte(text))
	must(t, err)
	if sync {
		must(t, w.Sync())
	}
}

// files prints every file below dir with its content.
func files(t *testing.T, fsys FS, dir string) string {
	t.Helper()
	infos, err := fsys.List(dir)
	must(t, err)
	var all []string
	for _, info := range infos {
		name := strings.TrimSuffix(dir, "/") + "/" + info.Name
		if info.IsDir() {
			if sub := files(t, fsys, name); sub != "" {
				all = append(all, sub)
			}
			continue
		}
		data, err := ReadFile(fsys, name)
		must(t, err)
		all = append(all, name+"="+string(data))
	}
	return strings.Join(all, " ")
}

func TestCrashKeepsAllWhenNothingIsLost(t *testing.T) {
	p := crashed(t, 0, func(p place) {
		must(t, p.MkdirAll("/d/e"))
		put(t, p, "d/e/f", "1")
		put(t, p, "g", "2")
		must(t, p.Rename("/g", "/d/g"))
		must(t, p.RemoveAll("/d/e"))
	})
	if got, want := files(t, p.FS, "/"), "/d/g=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCrashedMachineAnswersNothing(t *testing.T) {
	disk := NewCrashable()
	p := place{disk, "/"}
	put(t, p, "f", "1") // create, write, sync
	if got := disk.Ops(); got != 3 {
		t.Fatalf("operations %d, want 3", got)
	}
	disk.CrashAfter(4)
	must(t, p.MkdirAll("/d"))
	wantErr(t, "fifth operation", p.MkdirAll("/e"), ErrCrashed)
	_, err := p.Open("/f")
	wantErr(t, "read", err, ErrCrashed)
	if !disk.Crashed() {
		t.Error("not crashed")
	}
	after := disk.Crash(0, 1)
	if got, want := files(t, after, "/"), "/f=1"; got != want {
		t.Errorf("survives %q, want %q", got, want)
	}
	if _, err := after.Stat("/d"); err != nil {
		t.Errorf("fourth operation: %v", err)
	}
}

// V2 and V3 at every crash point, whatever is lost: a log of files is whole,
// without gaps, and no shorter than what was acknowledged.
func TestLogSurvivesEveryCrashPoint(t *testing.T) {
	const batches = 4
	run := func(disk *Crashable) (acknowledged int) {
		if MkdirDurable(disk, "/log") != nil {
			return 0
		}
		for i := range batches {
			err := WriteNew(disk, fmt.Sprintf("/log/%d", i), []byte(strings.Repeat("x", 100+i)))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return i
			}
		}
		return batches
	}
	rehearsal := NewCrashable()
	run(rehearsal)
	for k := range rehearsal.Ops() + 1 {
		for seed := range uint64(20) {
			disk := NewCrashable()
			disk.CrashAfter(k)
			acknowledged := run(disk)
			after := disk.Crash([]float64{0, 0.5, 1}[seed%3], seed)
			checkLog(t, after, acknowledged)
			if run(after) != batches {
				t.Fatalf("crash after %d: the second run failed", k)
			}
			if _, err := CleanTemps(after, "/log"); err != nil {
				t.Fatal(err)
			}
			if infos, _ := after.List("/log"); len(infos) != batches {
				t.Fatalf("crash after %d, outcome %d: %v", k, seed, infos)
			}
		}
	}
}

func checkLog(t *testing.T, disk *Crashable, acknowledged int) {
	t.Helper()
	found := 0
	infos, err := disk.List("/log")
	if acknowledged > 0 {
		must(t, err)
	}
	for _, info := range infos {
		if IsTemp(info.Name) {
			continue
		}
		if want := int64(100 + found); info.Name != fmt.Sprint(found) || info.Size != want {
			t.Fatalf("entry %d is %+v", found, info)
		}
		found++
	}
	if found < acknowledged {
		t.Fatalf("%d files, %d were acknowledged", found, acknowledged)
	}
}

// A survivor must hold each file's bytes from the past of that file, and one
// outcome must repeat for its seed.
func TestCrashOutcomesAreRepeatable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := NewCrashable()
		p := place{disk, "/"}
		must(t, p.MkdirAll("/d"))
		must(t, p.SyncDir("/"))
		name := rapid.SampledFrom([]string{"/a", "/b", "/d/a", "/d/b"})
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			a, b := name.Draw(rt, "a"), name.Draw(rt, "b")
			switch rapid.IntRange(0, 5).Draw(rt, "op") {
			case 0:
				put(t, p, a, "0123456789")
			case 1:
				_ = p.Rename(a, b)
			case 2:
				_ = p.Remove(a)
			case 3:
				_ = p.SyncDir("/")
			case 4:
				_ = p.SyncDir("/d")
			case 5:
				_ = p.RenameNew(a, b)
			}
		}
		lose, seed := rapid.Float64Range(0, 1).Draw(rt, "lose"), rapid.Uint64().Draw(rt, "seed")
		before := files(t, disk.mem, "/")
		one, two := disk.Crash(lose, seed), disk.Crash(lose, seed)
		if a, b := files(t, one, "/"), files(t, two, "/"); a != b {
			rt.Fatalf("two outcomes: %q, %q", a, b)
		}
		if all := files(t, disk.Crash(0, seed), "/"); all != before {
			rt.Fatalf("nothing lost, but %q became %q", before, all)
		}
		for f := range strings.FieldsSeq(files(t, one, "/")) {
			if _, text, _ := strings.Cut(f, "="); text != "0123456789" && text != "" {
				rt.Fatalf("%s was never written", f)
			}
		}
	})
}
