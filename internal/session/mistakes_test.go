package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// The conditions and parameters here are those of Spark 4.3.0.

func TestDropsSayWhatSparkSays(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	must(t, s, "CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT 1 AS a", "CREATE TEMP VIEW tv AS SELECT 1 AS a")
	for _, c := range []struct {
		text, condition string
		args            map[string]string
	}{
		{"DROP VIEW t", "WRONG_COMMAND_FOR_OBJECT_TYPE", map[string]string{
			"objectName": "spark_catalog.default.t", "alternative": "DROP TABLE", "operation": "DROP VIEW",
			"foundType": "MANAGED", "requiredType": "VIEW or METRIC_VIEW"}},
		{"DROP SCHEMA default", "UNSUPPORTED_FEATURE.DROP_DATABASE",
			map[string]string{"database": "`spark_catalog`.`default`"}},
	} {
		e := mistake(t, s, c.text)
		if e.Condition != c.condition {
			t.Errorf("%s: %v, want %s", c.text, e, c.condition)
		}
		if diff := cmp.Diff(c.args, e.Args); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
	// DROP TABLE drops views of both kinds.
	must(t, s, "DROP TABLE v", "DROP TABLE tv")
	for _, name := range []string{"v", "tv"} {
		if e := mistake(t, s, "SELECT * FROM "+name); e.Condition != "TABLE_OR_VIEW_NOT_FOUND" {
			t.Errorf("%s is still there: %v", name, e)
		}
	}
}

func TestTemporaryViewsHaveNoSchema(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	for _, text := range []string{
		"CREATE TEMP VIEW session.q AS SELECT 1", "CREATE OR REPLACE TEMP VIEW system.session.q AS SELECT 2 AS a",
		"CREATE GLOBAL TEMP VIEW session.q AS SELECT 3 AS a",
	} {
		must(t, s, text)
	}
	if got := strings.Join(must(t, s, "SELECT q.a, g.a FROM q, global_temp.q AS g"), " "); got != "[2,3]" {
		t.Errorf("got %s", got)
	}
	for name, qualifier := range map[string]string{"a.b.c": "`a`.`b`", "global_temp.c": "`global_temp`"} {
		e := mistake(t, s, "CREATE TEMP VIEW "+name+" AS SELECT 1")
		want := map[string]string{"objectType": "VIEW", "objectName": "`c`", "qualifier": qualifier}
		if diff := cmp.Diff(want, e.Args); e.Condition != "INVALID_TEMP_OBJ_QUALIFIER" || diff != "" {
			t.Errorf("%s: %v %s", name, e, diff)
		}
	}
}

func TestSaveAsTableAppendsTheSameColumns(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	must(t, s, "CREATE VIEW v AS SELECT 1 AS a")
	if err := save(t, s, "SELECT 1 AS a, 2 AS b", "error"); err != nil {
		t.Fatal(err)
	}
	const table = "spark_catalog.default.t"
	for _, c := range []struct {
		query, condition string
		args             map[string]string
	}{
		{"SELECT 1 AS a", "_LEGACY_ERROR_TEMP_1161", map[string]string{
			"tableName": table, "existingTableSchema": "struct<a:int,b:int>", "querySchema": "struct<a:int>"}},
		{"SELECT 1 AS a, 2 AS b, 3 AS c", "_LEGACY_ERROR_TEMP_1161", map[string]string{
			"tableName": table, "existingTableSchema": "struct<a:int,b:int>",
			"querySchema": "struct<a:int,b:int,c:int>"}},
		{"SELECT 1 AS x, 2 AS b", "_LEGACY_ERROR_TEMP_1162",
			map[string]string{"col": "a", "inputColumns": "x, b"}},
		{"SELECT 1 AS a, 2 AS A", "COLUMN_ALREADY_EXISTS", map[string]string{"columnName": "`a`"}},
	} {
		e, ok := save(t, s, c.query, "append").(*plan.Error)
		if !ok || e.Condition != c.condition {
			t.Errorf("%s: %v, want %s", c.query, e, c.condition)
			continue
		}
		if diff := cmp.Diff(c.args, e.Args); diff != "" {
			t.Errorf("%s: %s", c.query, diff)
		}
	}
	if err := save(t, s, "SELECT 4 AS B, 3 AS A", "append"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(must(t, s, "SELECT * FROM t ORDER BY a"), " "); got != "[1,2] [3,4]" {
		t.Errorf("got %s", got)
	}
}

// A name that several selected columns have means a column below them, if there
// is one.
func TestOrderByANameGivenTwice(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	const from = " FROM VALUES (1, 2, 5), (3, 0, 4) AS t (a, b, c) ORDER BY "
	for text, want := range map[string]string{
		"SELECT a AS b, b AS b" + from + "b":     "[3,0] [1,2]",
		"SELECT a AS a, b AS a" + from + "a":     "[1,2] [3,0]",
		"SELECT a AS c, b AS c" + from + "c + 1": "[3,0] [1,2]",
		"SELECT a AS c, a AS c" + from + "c":     "[3,3] [1,1]",
		"SELECT *, b AS a" + from + "a":          "[1,2,5,2] [3,0,4,0]",
	} {
		if got := strings.Join(must(t, s, text), " "); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestRandomNumbers(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	r, _, err := run(t, s, "SELECT rand(), random(), rand(5), rand(NULL)")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(fieldNames(r.Schema), " "); got != "rand() rand() rand(5) rand(NULL)" {
		t.Errorf("columns %s", got)
	}
	if got := must(t, s, "SELECT count(*) FROM range(100) WHERE rand() = rand()"); got[0] != "[0]" {
		t.Errorf("two calls gave the same number in %s rows of 100", got[0])
	}
	for _, c := range []struct{ text, condition string }{
		{"SELECT rand(id) FROM range(1)", "SEED_EXPRESSION_IS_UNFOLDABLE"},
		{"SELECT rand(1.5)", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
		{"SELECT rand(1, 2)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"},
	} {
		if e := mistake(t, s, c.text); e.Condition != c.condition {
			t.Errorf("%s: %v, want %s", c.text, e, c.condition)
		}
	}
}

// Functions that only Spark has are refused by name; names that it does not have
// either are mistakes.
func TestFunctionsOfSparkAreNotSupportedByName(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	for _, name := range []string{"XPATH", "java_method"} {
		e := mistake(t, s, "SELECT "+name+"(1, 2)")
		want := "the function `" + strings.ToLower(name) + "` is not supported by weir"
		if e.Class != plan.ClassJavaUnsupported || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: %s %v", name, e.Class, e)
		}
	}
	if e := mistake(t, s, "SELECT nofunc(1)"); e.Condition != "UNRESOLVED_ROUTINE" {
		t.Errorf("nofunc: %v", e)
	}
}

// What an overflow becomes is each call's own affair: a session without ANSI must
// not switch it off for the others.
func TestOverflowOfSumsIsOfEachSession(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	const text = "SELECT sum(x) FROM VALUES (9223372036854775807L), (1L) AS t(x)"
	loose := e.NewSession("u", "loose")
	if got := must(t, loose, "SET spark.sql.ansi.enabled = false", text); got[0] != "[-9223372036854775808]" {
		t.Errorf("without ANSI: %s", got)
	}
	if e := mistake(t, e.NewSession("u", "strict"), text); e.Condition != "ARITHMETIC_OVERFLOW" {
		t.Errorf("with ANSI: %v", e)
	}
}
