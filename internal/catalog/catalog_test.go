package catalog

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const dir = "/data"

func open(t testing.TB, fsys vfs.FS) *Store {
	t.Helper()
	s, err := Open(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func id(schema, name string) plan.TableID {
	return plan.TableID{Catalog: MainCatalog, Schema: schema, Name: name}
}

// table creates a managed table as session does: rows first, then the name.
func table(s *Store, fsys vfs.FS, tid plan.TableID) error {
	loc, err := s.MakeTableDir(tid)
	if err != nil {
		return err
	}
	if err := vfs.WriteReplace(fsys, path.Join(loc, "part-0"), []byte("rows")); err != nil {
		return err
	}
	return s.CreateTable(Table{ID: tid, Format: "delta", SchemaJSON: plan.Struct().JSON(), Location: loc})
}

func condition(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition + " " + e.State
	}
	return fmt.Sprint(err)
}

func TestNewCatalogHasBothCatalogsWithADefaultSchema(t *testing.T) {
	s := open(t, vfs.NewMemory())
	if diff := cmp.Diff([]string{"main", "spark_catalog"}, s.Catalogs()); diff != "" {
		t.Error(diff)
	}
	for _, c := range s.Catalogs() {
		if _, err := s.Schema(c, "DEFAULT"); err != nil {
			t.Errorf("catalog %s: %v", c, err)
		}
	}
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	fsys := vfs.NewMemory()
	s := open(t, fsys)
	steps := []error{
		s.CreateSchema(Schema{Catalog: "main", Name: "Sales", Comment: "c"}),
		table(s, fsys, id("sales", "Orders")),
		s.CreateVolume(Volume{ID: id("sales", "checks")}),
		s.CreateCatalog("other", ""),
	}
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	s = open(t, fsys)
	tab, err := s.Table(id("SALES", "orders"))
	if err != nil || tab == nil || tab.Location != s.TableDir(id("sales", "orders")) {
		t.Errorf("table after reopening: %v %v", tab, err)
	}
	vol, err := s.Volume(id("sales", "CHECKS"))
	if err != nil || vol.Location != "/data/volumes/main/sales/checks" {
		t.Errorf("volume after reopening: %v %v", vol, err)
	}
	if !s.HasCatalog("other") {
		t.Error("catalog other is gone")
	}
}

// Otherwise a copy would write into the original, and a drop there would empty it.
func TestAMovedDirectoryHasItsOwnTablesAndVolumes(t *testing.T) {
	fsys := vfs.NewMemory()
	s := open(t, fsys)
	external := Table{ID: id("default", "others"), Format: "delta", SchemaJSON: plan.Struct().JSON(),
		External: true, Location: "/elsewhere/others"}
	for i, err := range []error{
		table(s, fsys, id("default", "orders")), s.CreateTable(external),
		s.CreateVolume(Volume{ID: id("default", "v")}), fsys.Rename("/data", "/moved"),
	} {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	s, err := Open(fsys, "/moved")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"orders": "/moved/warehouse/main/default/orders", "others": "/elsewhere/others",
	} {
		if tab, err := s.Table(id("default", name)); err != nil || tab.Location != want {
			t.Errorf("%s is at %v (%v), want %s", name, tab, err, want)
		}
	}
	if v, err := s.Volume(id("default", "v")); err != nil || v.Location != "/moved/volumes/main/default/v" {
		t.Errorf("the volume is at %v (%v)", v, err)
	}
}

func TestErrorsNameWhatIsMissingOrInTheWay(t *testing.T) {
	fsys := vfs.NewMemory()
	s := open(t, fsys)
	if err := table(s, fsys, id("default", "t")); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateVolume(Volume{ID: id("default", "v")}); err != nil {
		t.Fatal(err)
	}
	_, noSchema := s.Table(id("nope", "t"))
	_, noVolume := s.Volume(id("default", "nope"))
	_, noCatalog := s.Schemas("nope")
	for _, c := range []struct {
		name string
		got  error
		want string
	}{
		{"unknown schema", noSchema, "SCHEMA_NOT_FOUND 42704"},
		{"unknown catalog", noCatalog, "CATALOG_NOT_FOUND 42P08"},
		{"unknown volume", noVolume, "VOLUME_NOT_FOUND 42704"},
		{"schema twice", s.CreateSchema(Schema{Catalog: "main", Name: "Default"}), "SCHEMA_ALREADY_EXISTS 42P06"},
		{"table twice", s.CreateTable(Table{ID: id("default", "T")}), "TABLE_OR_VIEW_ALREADY_EXISTS 42P07"},
		{"volume twice", s.CreateVolume(Volume{ID: id("default", "V")}), "VOLUME_ALREADY_EXISTS 42710"},
		{"catalog twice", s.CreateCatalog("MAIN", ""), "CATALOG_ALREADY_EXISTS 42710"},
		{"default schema of main", s.DropSchema("main", "default", true),
			"UNSUPPORTED_FEATURE.DROP_DATABASE 0A000"},
		{"default schema", s.DropSchema("spark_catalog", "default", true),
			"UNSUPPORTED_FEATURE.DROP_DATABASE 0A000"},
	} {
		if got := condition(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDropsKeepExternalFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	s := open(t, fsys)
	for _, d := range []string{"/ext/t", "/ext/v"} {
		if err := fsys.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CreateSchema(Schema{Catalog: "main", Name: "ext"}); err != nil {
		t.Fatal(err)
	}
	ext := Table{ID: id("ext", "t"), Format: "parquet", Location: "/ext/t", External: true}
	if err := s.CreateTable(ext); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateVolume(Volume{ID: id("ext", "v"), Location: "/ext/v"}); err != nil {
		t.Fatal(err)
	}
	if err := s.DropSchema("main", "ext", true); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"/ext/t", "/ext/v"} {
		if _, err := fsys.Stat(d); err != nil {
			t.Errorf("%s went with the schema: %v", d, err)
		}
	}
}

func TestDroppedSchemasLeaveNoDirectories(t *testing.T) {
	fsys := vfs.NewMemory()
	s := open(t, fsys)
	if err := s.CreateSchema(Schema{Catalog: "main", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := table(s, fsys, id("a", "t")); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateVolume(Volume{ID: id("a", "v")}); err != nil {
		t.Fatal(err)
	}
	if err := s.DropSchema("main", "a", true); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"catalog", "warehouse", "volumes"} {
		if _, err := fsys.Stat("/data/" + kind + "/main/a"); !vfs.NotFound(err) {
			t.Errorf("%s: the directory of the schema is still there: %v", kind, err)
		}
	}
}

func TestHostileNamesStayInTheirDirectory(t *testing.T) {
	for _, name := range []string{"../../etc/passwd", "a/b", ".", "..", "a\x00b", "ünï", "tab\t", "%2e", "con",
		"select", "a`b", "🙂"} {
		fsys := vfs.NewMemory()
		s := open(t, fsys)
		if err := table(s, fsys, id("default", name)); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		s = open(t, fsys)
		got, err := s.Table(id("default", name))
		if err != nil || got == nil {
			t.Errorf("%q is gone after reopening: %v", name, err)
		} else if path.Dir(got.Location) != "/data/warehouse/main/default" {
			t.Errorf("%q lives at %s", name, got.Location)
		}
	}
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	s := open(t, vfs.NewMemory())
	if err := s.CreateTable(Table{ID: id("default", string(long))}); err == nil {
		t.Error("a name of 300 bytes was taken")
	}
}

func TestDamagedDocumentStopsOpeningAndIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	open(t, fsys)
	doc := "/data/catalog/main/default/schema.json"
	if err := vfs.WriteReplace(fsys, doc, []byte(`{"name":`)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fsys, dir); err == nil || !strings.Contains(err.Error(), doc) {
		t.Errorf("got %v, want an error that names %s", err, doc)
	}
}

// step is one change of the catalog; every one is idempotent in its effect on
// the listing, so a crash leaves either the listing before it or after it.
type step func(s *Store, fsys vfs.FS) error

func steps() []step {
	return []step{
		func(s *Store, _ vfs.FS) error { return s.CreateSchema(Schema{Catalog: "main", Name: "a"}) },
		func(s *Store, fsys vfs.FS) error { return table(s, fsys, id("a", "t")) },
		func(s *Store, _ vfs.FS) error { return s.CreateVolume(Volume{ID: id("a", "v")}) },
		func(s *Store, fsys vfs.FS) error { return table(s, fsys, id("a", "u")) },
		func(s *Store, _ vfs.FS) error { return s.RenameTable(id("a", "u"), "W") },
		func(s *Store, _ vfs.FS) error { _, err := s.DropTable(id("a", "t")); return err },
		func(s *Store, fsys vfs.FS) error { return table(s, fsys, id("a", "t")) },
		func(s *Store, _ vfs.FS) error { return s.DropVolume(id("a", "v")) },
		func(s *Store, _ vfs.FS) error { return s.CreateCatalog("c", "") },
		func(s *Store, _ vfs.FS) error { return s.DropSchema("main", "a", true) },
		func(s *Store, _ vfs.FS) error { return s.CreateSchema(Schema{Catalog: "main", Name: "a"}) },
	}
}

// listing is everything that the catalog holds, and whether each managed table
// still has its rows.
func listing(s *Store, fsys vfs.FS) []string {
	var out []string
	for _, c := range s.Catalogs() {
		schemas, _ := s.Schemas(c)
		out = append(out, "catalog "+c)
		for _, sc := range schemas {
			out = append(out, "schema "+c+"."+sc.Name)
			tables, _ := s.Tables(c, sc.Name)
			for _, t := range tables {
				_, err := fsys.Stat(path.Join(t.Location, "part-0"))
				out = append(out, fmt.Sprintf("table %s rows=%t", t.ID, err == nil))
			}
			volumes, _ := s.Volumes(c, sc.Name)
			for _, v := range volumes {
				_, err := fsys.Stat(v.Location)
				out = append(out, fmt.Sprintf("volume %s dir=%t", v.ID, err == nil))
			}
		}
	}
	return out
}

func TestCrashAtEveryFileOperationLeavesTheCatalogBeforeOrAfterAStep(t *testing.T) {
	run := func(fsys *vfs.Crashable) (states [][]string, done int) {
		s, err := Open(fsys, dir)
		if err != nil {
			return nil, -1
		}
		states = append(states, listing(s, fsys))
		for i, st := range steps() {
			if err := st(s, fsys); err != nil {
				return states, i
			}
			states = append(states, listing(s, fsys))
		}
		return states, len(steps())
	}
	whole := vfs.NewCrashable()
	want, done := run(whole)
	if done != len(steps()) {
		t.Fatalf("the undisturbed run stops at step %d", done)
	}
	for k := range whole.Ops() {
		for seed := range uint64(3) {
			fsys := vfs.NewCrashable()
			fsys.CrashAfter(k)
			_, done := run(fsys)
			left := fsys.Crash(float64(seed)/2, seed)
			s, err := Open(left, dir)
			if err != nil {
				t.Fatalf("crash after %d operations, seed %d: %v", k, seed, err)
			}
			got := listing(s, left)
			if done < 0 {
				continue // before the catalog was open; opening again is enough
			}
			after := want[min(done+1, len(want)-1)]
			if !cmp.Equal(got, want[done]) && !cmp.Equal(got, after) {
				t.Fatalf("crash after %d operations (step %d), seed %d:\n%s", k, done, seed,
					cmp.Diff(want[done], got))
			}
		}
	}
}

func TestRandomChangesAgreeWithAMapAndSurviveReopening(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fsys := vfs.NewMemory()
		s := open(t, fsys)
		model := map[string]bool{}
		names := rapid.SampledFrom([]string{"a", "B", "c.d", "é"})
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			name := names.Draw(rt, "name")
			switch rapid.IntRange(0, 2).Draw(rt, "op") {
			case 0:
				if err := table(s, fsys, id("default", name)); (err == nil) == model[fold(name)] {
					rt.Fatalf("create %q: %v, there before: %t", name, err, model[fold(name)])
				}
				model[fold(name)] = true
			case 1:
				had, err := s.DropTable(id("default", name))
				if err != nil || had != model[fold(name)] {
					rt.Fatalf("drop %q: %t %v", name, had, err)
				}
				delete(model, fold(name))
			default:
				s = open(t, fsys)
			}
		}
		tables, err := open(t, fsys).Tables("main", "default")
		if err != nil || len(tables) != len(model) {
			rt.Fatalf("got %d tables, want %d (%v)", len(tables), len(model), err)
		}
	})
}
