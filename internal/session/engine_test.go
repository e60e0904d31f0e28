package session

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestOpenNamesTheProcessThatHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	e, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir})
	want := fmt.Sprintf("data directory %s is in use by process %d", dir, os.Getpid())
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenClosesTheDirectoryToOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestOpenRefusesANewerDirectory(t *testing.T) {
	fsys := vfs.NewMemory()
	if err := fsys.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"2\n": "has version 2", "x": "no version number"} {
		if err := vfs.WriteReplace(fsys, "/data/version", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(testOptions(fsys)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestOpenRemovesWhatWasTemporary(t *testing.T) {
	fsys := vfs.NewMemory()
	if err := fsys.MkdirAll("/data/tmp/checkpoint-x/offsets"); err != nil {
		t.Fatal(err)
	}
	openEngine(t, fsys)
	if infos, err := fsys.List("/data/tmp"); err != nil || len(infos) != 0 {
		t.Errorf("got %v, %v", infos, err)
	}
}

func TestOpenRefusesSettingsOfTheWrongType(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	o.Confs[settings.PartitionsKey] = "many"
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), settings.PartitionsKey) {
		t.Errorf("got %v", err)
	}
}

func TestOpenTellsOfSettingsThatSparkDoesNotHave(t *testing.T) {
	for key, told := range map[string]string{
		"spark.sql.shuffle.partition": "nearest=spark.sql.shuffle.partitions",
		"spark.sql.shuffle.Partition": "nearest=spark.sql.shuffle.partitions",
		"spark.executor.memory":       "",
		"my.own":                      "",
	} {
		var log bytes.Buffer
		o := testOptions(vfs.NewMemory())
		o.Confs[key], o.Log = "1", slog.New(slog.NewTextHandler(&log, nil))
		e, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, told) || told == "" && strings.Contains(got, key) {
			t.Errorf("%s: the log has %q", key, got)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A table is whole or absent, wherever the power goes while it is made.
func TestCreateTableAsSurvivesEveryCrash(t *testing.T) {
	statement := "CREATE TABLE t USING parquet AS SELECT id FROM range(5)"
	count := func(fsys *vfs.Crashable) int {
		e, err := Open(testOptions(fsys))
		if err != nil {
			t.Fatal(err)
		}
		before := fsys.Ops()
		must(t, e.NewSession("u", "s"), statement)
		return fsys.Ops() - before
	}
	steps := count(vfs.NewCrashable())
	whole := 0
	for k := range steps + 1 {
		for _, lose := range []float64{0, 0.5, 1} {
			if crashedTable(t, statement, k, lose) {
				whole++
			}
		}
	}
	if whole == 0 {
		t.Error("the table was never there")
	}
}

// crashedTable runs a statement that loses power after k file operations and
// reports whether the table is there afterwards; a half one fails the test.
func crashedTable(t *testing.T, statement string, k int, lose float64) bool {
	t.Helper()
	fsys := vfs.NewCrashable()
	e, err := Open(testOptions(fsys))
	if err != nil {
		t.Fatal(err)
	}
	s := e.NewSession("u", "s")
	fsys.CrashAfter(fsys.Ops() + k)
	_, _, failed := run(t, s, statement)
	after := fsys.Crash(lose, uint64(k))
	e, err = Open(testOptions(after))
	if err != nil {
		t.Fatalf("after %d operations: %v", k, err)
	}
	defer e.Close(t.Context())
	s = e.NewSession("u", "s")
	there := len(must(t, s, "SHOW TABLES")) == 1
	switch {
	case there:
		if got := must(t, s, "SELECT count(*), sum(id) FROM t"); got[0] != "[5,10]" {
			t.Errorf("after %d operations, losing %v: got %v", k, lose, got)
		}
	case failed == nil:
		t.Errorf("after %d operations, losing %v: a table that was made is gone", k, lose)
	default:
		// The name can be used again.
		if got := must(t, s, statement, "SELECT count(*) FROM t"); got[0] != "[5]" {
			t.Errorf("after %d operations: made again, got %v", k, got)
		}
	}
	return there
}

func TestSaveAsTableReplacesAWholeTable(t *testing.T) {
	fsys := vfs.NewMemory()
	e := openEngine(t, fsys)
	s := e.NewSession("u", "s")
	must(t, s, "CREATE TABLE t USING parquet AS SELECT 1 AS a")
	for range 2 {
		if err := save(t, s, "SELECT 'x' AS b, 2 AS c", "overwrite"); err != nil {
			t.Fatal(err)
		}
	}
	if got := must(t, s, "SELECT * FROM t"); got[0] != `["x",2]` {
		t.Errorf("got %v", got)
	}
	infos, err := fsys.List("/data/warehouse/spark_catalog/default")
	if err != nil || len(infos) != 1 {
		t.Errorf("directories: %v, %v", infos, err)
	}
	// What a crash leaves of a replaced table goes when the directory is opened.
	if err := fsys.MkdirAll("/data/warehouse/spark_catalog/default/t" + versionMark + "old"); err != nil {
		t.Fatal(err)
	}
	if err := e.sweepTables(); err != nil {
		t.Fatal(err)
	}
	infos, err = fsys.List("/data/warehouse/spark_catalog/default")
	if err != nil || len(infos) != 1 || path.Base(infos[0].Name) == "t"+versionMark+"old" {
		t.Errorf("directories: %v, %v", infos, err)
	}
}
