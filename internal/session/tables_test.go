package session

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
)

func parse(t *testing.T, text string) plan.Node {
	t.Helper()
	n, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The catalog main keeps Delta tables unless a format is named.
func TestTablesOfMainAreDelta(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main", "CREATE TABLE t (id BIGINT, name STRING)",
		"INSERT INTO t VALUES (1, 'a'), (2, NULL)", "INSERT INTO t (name) VALUES ('b')")
	want := []string{`[null,"b"]`, `[1,"a"]`, `[2,null]`}
	if diff := cmp.Diff(want, must(t, s, "SELECT * FROM t ORDER BY id")); diff != "" {
		t.Error(diff)
	}
	// A table with a log may be overwritten with rows of its own.
	must(t, s, "INSERT OVERWRITE t SELECT id + 10, name FROM t WHERE id = 1")
	if diff := cmp.Diff([]string{`[11,"a"]`}, must(t, s, "SELECT * FROM t")); diff != "" {
		t.Error(diff)
	}
	must(t, s, "CREATE OR REPLACE TABLE t AS SELECT 'x' AS only")
	if diff := cmp.Diff([]string{`["x"]`}, must(t, s, "SELECT * FROM t")); diff != "" {
		t.Error(diff)
	}
	if got := must(t, s, "SHOW COLUMNS IN t"); got[0] != `["only"]` {
		t.Errorf("got %v", got)
	}
	if got := mistake(t, s, "CREATE TABLE t (a INT)").Condition; got != "TABLE_OR_VIEW_ALREADY_EXISTS" {
		t.Errorf("got %s", got)
	}
	must(t, s, "DROP TABLE t", "CREATE TABLE t AS SELECT 1 AS a")
	if got := must(t, s, "SELECT * FROM main.default.t"); got[0] != "[1]" {
		t.Errorf("got %v", got)
	}
}

func TestTablesElsewhereKeepTheirFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	s := openEngine(t, fsys).NewSession("u", "a")
	must(t, s, "CREATE TABLE t USING delta LOCATION '/elsewhere/t' AS SELECT 1 AS a", "DROP TABLE t")
	if got := must(t, s, "SELECT * FROM delta.`/elsewhere/t`"); got[0] != "[1]" {
		t.Errorf("got %v", got)
	}
	// A table over files that are there has their columns.
	if got := must(t, s, "CREATE TABLE again USING delta LOCATION '/elsewhere/t'", "DESCRIBE again"); got[0] !=
		`["a","int",null]` {
		t.Errorf("got %v", got)
	}
}

func TestVolumesAreDirectories(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE SCHEMA main.demo", "CREATE VOLUME main.demo.files",
		"CREATE VOLUME IF NOT EXISTS main.demo.files")
	if got := must(t, s, "SHOW VOLUMES IN main.demo"); got[0] != `["demo","files"]` {
		t.Errorf("got %v", got)
	}
	write := &plan.Write{
		Input: parse(t, "SELECT 1 AS a"), Format: "parquet", Path: "/Volumes/main/demo/files/p"}
	if _, err := s.Command(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if got := must(t, s, "SELECT * FROM parquet.`dbfs:/Volumes/main/demo/files/p`"); got[0] != "[1]" {
		t.Errorf("got %v", got)
	}
	if _, err := s.Command(t.Context(), write); condition(err) != "PATH_ALREADY_EXISTS" {
		t.Errorf("got %v", err)
	}
	must(t, s, "DROP VOLUME main.demo.files", "DROP VOLUME IF EXISTS main.demo.files")
	if got := mistake(t, s, "DROP VOLUME main.demo.files").Condition; got != "VOLUME_NOT_FOUND" {
		t.Errorf("got %s", got)
	}
}

func TestWriteTo(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main")
	to := func(verb plan.WriteV2, query string) error {
		_, err := s.Command(t.Context(), &plan.Write{
			Input: parse(t, query), Table: []string{"t"}, V2: verb, Condition: plan.Lit(true, plan.Boolean)})
		return err
	}
	steps := []struct {
		verb      plan.WriteV2
		query     string
		condition string
		rows      []string
	}{
		{plan.V2Append, "SELECT 1 AS a", "TABLE_OR_VIEW_NOT_FOUND", nil},
		{plan.V2Replace, "SELECT 1 AS a", "TABLE_OR_VIEW_NOT_FOUND", nil},
		{plan.V2Create, "SELECT 1 AS a", "", []string{"[1]"}},
		{plan.V2Create, "SELECT 1 AS a", "TABLE_OR_VIEW_ALREADY_EXISTS", []string{"[1]"}},
		{plan.V2Append, "SELECT 2 AS a", "", []string{"[1]", "[2]"}},
		{plan.V2Append, "SELECT 2 AS b", "DELTA_METADATA_MISMATCH", []string{"[1]", "[2]"}},
		{plan.V2Overwrite, "SELECT 3 AS a", "", []string{"[3]"}},
		{plan.V2Replace, "SELECT 'x' AS b", "", []string{`["x"]`}},
		{plan.V2CreateOrReplace, "SELECT 5 AS c", "", []string{"[5]"}},
	}
	for _, step := range steps {
		if err := to(step.verb, step.query); condition(err) != step.condition {
			t.Errorf("verb %d, %s: got %v, want %s", step.verb, step.query, err, step.condition)
		}
		if step.rows == nil {
			continue
		}
		if diff := cmp.Diff(step.rows, must(t, s, "SELECT * FROM t ORDER BY 1")); diff != "" {
			t.Errorf("verb %d, %s (-want +got):\n%s", step.verb, step.query, diff)
		}
	}
}

func TestPartitionedTables(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		must(t, s, "CREATE TABLE t (a INT, p STRING) USING "+format+" PARTITIONED BY (p)",
			"INSERT INTO t VALUES (1, 'x'), (2, 'y z')", "INSERT INTO t PARTITION (p = 'w') VALUES (3)")
		want := []string{`["p=w"]`, `["p=x"]`, `["p=y z"]`}
		if diff := cmp.Diff(want, must(t, s, "SHOW PARTITIONS t")); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		must(t, s, "SET spark.sql.sources.partitionOverwriteMode = dynamic",
			"INSERT OVERWRITE t VALUES (9, 'x')")
		want = []string{`[2,"y z"]`, `[3,"w"]`, `[9,"x"]`}
		if diff := cmp.Diff(want, must(t, s, "SELECT * FROM t ORDER BY a")); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		e := mistake(t, s, "INSERT INTO t PARTITION (a = 1) VALUES ('x')")
		if got := e.Condition; got != "NON_PARTITION_COLUMN" {
			t.Errorf("%s: got %s", format, got)
		}
	}
}

func TestStreamsMakeAndFillTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		for _, table := range []string{"main.default.ticks", "ticks"} {
			name, err := sql.ParseName(table)
			if err != nil {
				t.Fatal(err)
			}
			c := &plan.StartStream{
				Input: rate(), Table: name, Options: plan.Options{"checkpointLocation": "/ck/" + table}}
			q := start(t, s, c)
			time.Sleep(3500 * time.Millisecond)
			if err := q.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := q.Err(); err != nil {
				t.Fatal(err)
			}
			got := must(t, s, "SELECT count(*) > 9, count(DISTINCT value) = count(*) FROM "+table)
			if got[0] != "[true,true]" {
				t.Errorf("%s: got %v", table, got)
			}
			// A second start goes on where the first one ended.
			q = start(t, s, c)
			time.Sleep(2500 * time.Millisecond)
			if err := q.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := must(t, s, "SELECT max(value) + 1 = count(*) FROM "+table); got[0] != "[true]" {
				t.Errorf("%s: got %v", table, got)
			}
		}
	})
}

func TestStreamsReadTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		must(t, s, "CREATE TABLE src AS SELECT id FROM range(5)")
		q := start(t, s, &plan.StartStream{
			Input:  &plan.NamedTable{Name: []string{"src"}, Streaming: true},
			Format: "memory", QueryName: "seen",
		})
		if err := q.ProcessAllAvailable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := must(t, s, "SELECT count(*), sum(id) FROM seen"); got[0] != "[5,10]" {
			t.Errorf("got %v", got)
		}
	})
}

func TestAppendMayAddColumnsToDelta(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TABLE main.default.t AS SELECT 1 AS a")
	w := &plan.Write{
		Input: parse(t, "SELECT 2 AS a, 'x' AS b"), Table: []string{"main", "default", "t"}, Mode: plan.SaveAppend}
	if _, err := s.Command(t.Context(), w); condition(err) != "DELTA_METADATA_MISMATCH" {
		t.Errorf("got %v", err)
	}
	w.Options = plan.Options{"mergeSchema": "true"}
	if _, err := s.Command(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	want := []string{"[1,null]", `[2,"x"]`}
	if diff := cmp.Diff(want, must(t, s, "SELECT * FROM main.default.t ORDER BY a")); diff != "" {
		t.Error(diff)
	}
}

func TestOverwriteOfAPathThatIsRead(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	w := &plan.Write{Input: parse(t, "SELECT 1 AS a"), Format: "parquet", Path: "/p"}
	if _, err := s.Command(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	w = &plan.Write{
		Input:  parse(t, "SELECT a + 1 AS a FROM parquet.`/p`"),
		Format: "parquet", Path: "/p", Mode: plan.SaveOverwrite}
	if _, err := s.Command(t.Context(), w); condition(err) != "UNSUPPORTED_OVERWRITE.PATH" {
		t.Errorf("got %v", err)
	}
}

func TestWritersRefuseStreams(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	for _, w := range []*plan.Write{
		{Input: rate(), Format: "parquet", Path: "/p"}, {Input: rate(), Table: []string{"t"}},
		{Input: rate(), Table: []string{"t"}, V2: plan.V2Create},
	} {
		if _, err := s.Command(t.Context(), w); condition(err) != "CALL_ON_STREAMING_DATASET_UNSUPPORTED" {
			t.Errorf("got %v", err)
		}
	}
	if _, err := s.Query(t.Context(), rate()); condition(err) != "_LEGACY_ERROR_TEMP_3102" {
		t.Errorf("got %v", err)
	}
}

func TestSchemasElsewhereKeepTheirTablesThere(t *testing.T) {
	fsys := vfs.NewMemory()
	s := openEngine(t, fsys).NewSession("u", "a")
	must(t, s, "CREATE SCHEMA far LOCATION '/far'", "CREATE TABLE far.t USING parquet AS SELECT 1 AS a")
	if _, err := fsys.Stat("/far/t"); err != nil {
		t.Error(err)
	}
	if err := vfs.WriteReplace(fsys, "/far/t/more", nil); err != nil {
		t.Fatal(err)
	}
	must(t, s, "DROP TABLE far.t")
	if err := vfs.MkdirDurable(fsys, "/far/u"); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteReplace(fsys, "/far/u/mine", nil); err != nil {
		t.Fatal(err)
	}
	e := mistake(t, s, "CREATE TABLE far.u USING parquet AS SELECT 1 AS a")
	if e.Condition != "LOCATION_ALREADY_EXISTS" {
		t.Errorf("got %v", e)
	}
	if _, err := fsys.Stat("/far/u/mine"); err != nil {
		t.Errorf("a file of somebody else is gone: %v", err)
	}
}

func TestPathsThatLeadNowhereAreMistakes(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	for _, text := range []string{
		"CREATE TABLE t (a INT) USING parquet LOCATION 's3a://bucket/t'", "SELECT * FROM parquet.`hdfs://host/x`",
		"SELECT * FROM parquet.`/Volumes/a/b/c`", "CREATE TABLE t (a INT) USING parquet LOCATION '/Volumes/main'",
	} {
		mistake(t, s, text)
	}
	for format, path := range map[string]string{"parquet": "s3a://bucket/t", "cloudFiles": "/x"} {
		_, _, err := execute(t, s, &plan.Read{Format: format, Paths: []string{path}})
		var e *plan.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "Mount it") {
			t.Errorf("%s of %s: %v", format, path, err)
		}
	}
}

// Of many sessions that make one table at once, one does; all may append.
// inManySessions runs a statement in that many sessions at once and gives their errors.
func inManySessions(t *testing.T, e *Engine, sessions int, text string) (errs []error) {
	t.Helper()
	results := make(chan error, sessions)
	n := parse(t, text)
	for range sessions {
		s := e.NewSession("u", newID())
		go func() {
			_, err := s.Query(t.Context(), n)
			results <- err
		}()
	}
	for range sessions {
		if err := <-results; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func TestIfExistsHoldsAmongManySessions(t *testing.T) {
	const sessions, rounds = 8, 20
	e := openEngine(t, vfs.NewMemory())
	for range rounds {
		for _, text := range []string{
			"CREATE CATALOG IF NOT EXISTS c",
			"CREATE SCHEMA IF NOT EXISTS c.s",
			"CREATE VOLUME IF NOT EXISTS c.s.v",
			"CREATE TABLE IF NOT EXISTS c.s.t (a INT)",
			"CREATE VIEW IF NOT EXISTS c.s.w AS SELECT 1 AS a",
			"DROP VIEW IF EXISTS c.s.w",
			"DROP TABLE IF EXISTS c.s.t",
			"DROP VOLUME IF EXISTS c.s.v",
			"DROP SCHEMA IF EXISTS c.s",
			"DROP CATALOG IF EXISTS c",
		} {
			if errs := inManySessions(t, e, sessions, text); len(errs) > 0 {
				t.Fatalf("%s: %v", text, errs)
			}
		}
	}
}

func TestManySessionsWriteOneTable(t *testing.T) {
	const sessions = 8
	e := openEngine(t, vfs.NewMemory())
	errs := inManySessions(t, e, sessions, "CREATE TABLE main.default.t AS SELECT 1 AS a")
	for _, err := range errs {
		if condition(err) != "TABLE_OR_VIEW_ALREADY_EXISTS" {
			t.Error(err)
		}
	}
	if len(errs) != sessions-1 {
		t.Errorf("%d of %d sessions failed", len(errs), sessions)
	}
	if errs := inManySessions(t, e, sessions, "INSERT INTO main.default.t VALUES (2)"); len(errs) != 0 {
		t.Error(errs)
	}
	got := must(t, e.NewSession("u", "s"), "SELECT count(*), sum(a) FROM main.default.t")
	if got[0] != "[9,17]" {
		t.Errorf("got %v", got)
	}
}

func TestOlderVersionsOfATable(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	must(t, s, "USE main.default")
	must(t, s, "CREATE TABLE t (a INT)") // version 0
	must(t, s, "INSERT INTO t VALUES (1)")
	must(t, s, "INSERT INTO t VALUES (2)")
	must(t, s, "CREATE TABLE delta.`/elsewhere/p` (a INT)")
	must(t, s, "INSERT INTO delta.`/elsewhere/p` VALUES (5), (6)")
	must(t, s, "CREATE TABLE spark_catalog.default.p (a INT) USING parquet")
	must(t, s, "CREATE TEMP VIEW v AS SELECT 1 AS a")
	for query, want := range map[string]string{
		"SELECT count(*) FROM t":                                    "[2]",
		"SELECT count(*) FROM t VERSION AS OF 0":                    "[0]",
		"SELECT max(x.a) FROM t FOR VERSION AS OF 1 AS x":           "[1]",
		"SELECT count(*) FROM t VERSION AS OF '2'":                  "[2]",
		"SELECT count(*) FROM delta.`/elsewhere/p` VERSION AS OF 0": "[0]",
		"SELECT sum(a) FROM delta.`/elsewhere/p`":                   "[11]",
		"SELECT count(*) FROM delta.`/elsewhere/p@v0`":              "[0]",
		"SELECT sum(a) FROM delta.`/elsewhere/p@V1`":                "[11]",
		"SELECT n.a FROM t o JOIN t VERSION AS OF 1 n ON n.a = o.a": "[1]",
	} {
		if got := must(t, s, query); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"SELECT * FROM t VERSION AS OF 3":                       "DELTA_VERSION_NOT_FOUND",
		"SELECT * FROM t VERSION AS OF 'x'":                     "DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE",
		"SELECT * FROM delta.`/elsewhere/p@v7`":                 "DELTA_VERSION_NOT_FOUND",
		"SELECT * FROM delta.`/elsewhere/p@v`":                  "PATH_NOT_FOUND",
		"SELECT * FROM delta.`/elsewhere/p@20200101000000000`":  "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
		"SELECT * FROM delta.`/elsewhere/p@29990101000000000`":  "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
		"SELECT * FROM delta.`/elsewhere/p@v0` VERSION AS OF 0": "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
		"INSERT INTO delta.`/elsewhere/p@v0` VALUES (1)":        "DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
		"SELECT * FROM t TIMESTAMP AS OF '1990-01-01'":          "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
		"SELECT * FROM t TIMESTAMP AS OF '2999-01-01'":          "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
		"SELECT * FROM t TIMESTAMP AS OF 'soon'":                "DELTA_TIMESTAMP_INVALID",
		"SELECT * FROM spark_catalog.default.p VERSION AS OF 0": "UNSUPPORTED_FEATURE.TIME_TRAVEL",
		"SELECT * FROM v VERSION AS OF 0":                       "UNSUPPORTED_FEATURE.TIME_TRAVEL",
	} {
		_, _, err := run(t, s, query)
		if e, ok := err.(*plan.Error); !ok || e.Condition != want {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// A table keeps its files when it is renamed, and a new one of its old name gets others.
func TestRenamedTablesKeepTheirRows(t *testing.T) {
	for _, format := range []string{"delta", "parquet"} {
		t.Run(format, func(t *testing.T) {
			s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
			must(t, s, "CREATE TABLE a (id INT) USING "+format, "INSERT INTO a VALUES (1)", "ALTER TABLE a RENAME TO b",
				"CREATE TABLE a (id INT) USING "+format, "INSERT INTO a VALUES (2)", "ALTER TABLE b RENAME TO default.c")
			for name, want := range map[string]string{"a": "[2]", "c": "[1]"} {
				if got := must(t, s, "SELECT * FROM "+name); len(got) != 1 || got[0] != want {
					t.Errorf("%s has %v, want %s", name, got, want)
				}
			}
			if got := mistake(t, s, "SELECT * FROM b").Condition; got != "TABLE_OR_VIEW_NOT_FOUND" {
				t.Errorf("the old name gives %s", got)
			}
			must(t, s, "DROP TABLE a")
			must(t, s, "CREATE TABLE b AS SELECT 3 AS id", "DROP TABLE c")
			if got := must(t, s, "SELECT * FROM b"); got[0] != "[3]" {
				t.Errorf("b has %v", got)
			}
		})
	}
}
