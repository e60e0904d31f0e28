package delta

import (
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/vfs"
)

// Vacuum takes what is the table's and of no use: no file that a version of the last
// days needs, none that is young, nothing behind a link, nothing that is hidden.
func TestLitterIsWhatNothingNeeds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	table := Table{vfs.NewLocal(), dir}
	s := open(t, table)
	for id := range int64(3) {
		must(t, appendRows(s, idSchema, nil, nil, idChunk(id)))
	}
	files := s.Files()
	now := testTime
	gone := func(f *Add, at time.Time) Change {
		return Change{Operation: "DELETE", Removes: []*Add{f}, Reads: &Reads{}, Now: at}
	}
	for i, at := range []time.Time{now.Add(-48 * time.Hour), now.Add(-time.Hour)} {
		if _, err := s.Commit(t.Context(), gone(files[i], at)); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(filepath.Dir(dir), "outside")
	old := []string{
		"stray.parquet", "k=1/stray.parquet", "_change_data/cdc.parquet", "_hidden/x.parquet", "_x.parquet", ".crc",
		"young.parquet",
	}
	for _, name := range append(old, "../outside/precious.parquet") {
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte("x"), 0o644))
	}
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Join(outside, "precious.parquet"), filepath.Join(dir, "link.parquet")))
	must(t, filepath.Walk(filepath.Dir(dir), func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && path.Base(name) != "young.parquet" {
			err = os.Chtimes(name, now.Add(-72*time.Hour), now.Add(-72*time.Hour))
		}
		return err
	}))

	kept := idsOf(t, s) // files come in the order of their random names
	found, err := s.Litter(t.Context(), now.Add(-24*time.Hour))
	must(t, err)
	want := []string{"_change_data/cdc.parquet", "k=1/stray.parquet", files[0].Path, "stray.parquet"}
	var got []string
	for _, name := range found.Files {
		rel, err := filepath.Rel(dir, name)
		must(t, err)
		got = append(got, rel)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found.Dirs != 3 {
		t.Errorf("%d directories, want 3", found.Dirs)
	}
	n, err := found.Remove(t.Context(), table.FS)
	if err != nil || n != int64(len(want)) {
		t.Errorf("removed %d, %v", n, err)
	}
	if diff := cmp.Diff(kept, idsOf(t, s)); diff != "" || len(kept) != 1 {
		t.Error(diff)
	}
	old2, err := table.LoadVersion(t.Context(), s.Version-1)
	must(t, err)
	if diff := cmp.Diff(2, len(idsOf(t, old2))); diff != "" {
		t.Error("the version of an hour ago:", diff)
	}
}

// A table whose log names its files by another spelling of its own directory keeps
// them.
func TestLitterKnowsFilesByTheirRealPlace(t *testing.T) {
	dir := t.TempDir()
	table := Table{vfs.NewLocal(), filepath.Join(dir, "t")}
	must(t, appendRows(open(t, table), idSchema, nil, nil, idChunk(1)))
	must(t, os.Symlink(table.Dir, filepath.Join(dir, "alias")))
	s := open(t, table)
	f := *s.Files()[0]
	c := Change{Operation: "X", Removes: []*Add{s.Files()[0]}, Reads: &Reads{}, Now: testTime}
	f.Path = "file:" + filepath.Join(dir, "alias", f.Path)
	c.Adds = []Add{f}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	found, err := s.Litter(t.Context(), time.Now().Add(time.Hour))
	if err != nil || len(found.Files) > 0 {
		t.Errorf("would remove %v, %v", found.Files, err)
	}
}

func TestBinsTakeSmallFilesOfAPartition(t *testing.T) {
	s := &Snapshot{Metadata: Metadata{PartitionColumns: []string{"k"}}}
	s.Schema = idSchema
	file := func(name, k string, size int64, deleted int64) *Add {
		f := &Add{Path: name, PartitionValues: map[string]*string{"k": &k}, Size: size, Stats: `{"numRecords":100}`}
		if deleted > 0 {
			f.DeletionVector = &DeletionVector{Cardinality: deleted}
		}
		return f
	}
	files := []*Add{
		file("a1", "a", 40, 0), file("a2", "a", 30, 0), file("a3", "a", 35, 0), file("a4", "a", 20, 0),
		file("big", "a", 100, 0), file("worn", "b", 500, 6), file("fine", "b", 600, 5), file("alone", "c", 1, 0),
	}
	var got [][]string
	for _, b := range s.Bins(files, 100, 90) {
		var names []string
		for _, f := range b.Files {
			names = append(names, f.Path)
		}
		got = append(got, names)
	}
	want := [][]string{{"a4", "a2", "a3"}, {"worn"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARestoredVersionNeedsItsFiles(t *testing.T) {
	table := twoParts(t)
	s := open(t, table)
	old, err := table.LoadVersion(t.Context(), 1)
	must(t, err)
	first := s.Files()[0]
	if _, err := s.Commit(t.Context(), removing(s, 0, "DELETE")); err != nil {
		t.Fatal(err)
	}
	c, r, err := s.Restoring(old, nil, testTime)
	must(t, err)
	if r.BroughtBack != 1 || r.Removed != 0 || len(c.Adds) != 1 || c.Adds[0].Path != first.Path {
		t.Errorf("%+v restores %v", r, c.Adds)
	}
	must(t, table.FS.Remove(path.Join(table.Dir, first.Path)))
	if _, _, err := s.Restoring(old, nil, testTime); err == nil {
		t.Error("a file that is gone was restored")
	}
}
