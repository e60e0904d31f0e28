package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Expected values are those of Spark 4.2.0 with Delta 4.4.0 for Delta tables
// and of Spark 4.3.0 for the others.

const strictTable = "CREATE TABLE t (a INT NOT NULL COMMENT 'first', r VARCHAR(3), q CHAR(4), " +
	"s STRUCT<v: VARCHAR(3), n: INT NOT NULL>) USING delta COMMENT 'tab' TBLPROPERTIES ('x.y' = 'z')"

func TestDeltaTablesRefuseWhatTheirColumnsForbid(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main", strictTable)
	const good = "named_struct('v', 'a', 'n', 1)"
	const null, long = "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
	for _, c := range []struct{ values, condition, param string }{
		{"NULL, 'abc', 'abc', " + good, null, "a"},
		{"1, 'abcd', 'abc', " + good, long, "abcd"},
		{"1, 'abc', 'abcde', " + good, long, "abcde"},
		{"1, 'abc', 'abc', named_struct('v', 'abcd', 'n', 1)", long, "abcd"},
		{"1, 'abc', 'abc', named_struct('v', 'abc', 'n', CAST(NULL AS INT))", null, "s.n"},
		{"1, 'abc', 'abc', NULL", null, "s.n"},
	} {
		for _, verb := range []string{"INTO", "OVERWRITE"} {
			e := mistake(t, s, "INSERT "+verb+" t VALUES ("+c.values+")")
			if e.Condition != c.condition || e.Args["columnName"] != c.param && e.Args["value"] != c.param {
				t.Errorf("INSERT %s %s: got %v", verb, c.values, e)
			}
		}
		query := "SELECT col1 AS a, col2 AS r, col3 AS q, col4 AS s FROM VALUES (" + c.values + ")"
		for _, w := range []*plan.Write{
			{Table: []string{"t"}, Mode: plan.SaveAppend},
			{Table: []string{"t"}, V2: plan.V2Append},
			{Path: "/data/warehouse/main/default/t", Format: "delta", Mode: plan.SaveAppend},
		} {
			w.Input = parse(t, query)
			if _, err := s.Command(t.Context(), w); condition(err) != c.condition {
				t.Errorf("%s into %v%s: got %v, want %s", c.values, w.Table, w.Path, err, c.condition)
			}
		}
	}
	if e := mistake(t, s, "INSERT INTO t (r, q) VALUES ('a', 'b')"); e.Condition != "DELTA_INSERT_COLUMN_MISMATCH" ||
		e.State != "42802" || e.Args["columnName"] != "a" {
		t.Errorf("got %v", e)
	}
	if got := must(t, s, "SELECT * FROM t"); len(got) != 0 {
		t.Errorf("refused rows are in the table: %v", got)
	}
}

func TestDeltaTablesPadAndRememberTheirTexts(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main", strictTable, "INSERT INTO t VALUES (1, 'ab ', 'abc', named_struct('v', 'a', 'n', 1))")
	want := []string{`[1,"ab ","abc ",4]`}
	if diff := cmp.Diff(want, must(t, s, "SELECT a, r, q, length(q) FROM t")); diff != "" {
		t.Error(diff)
	}
	n, err := s.Analyze(t.Context(), parse(t, "SELECT r, q FROM t"))
	if err != nil {
		t.Fatal(err)
	}
	marks := `{"type":"struct","fields":[` +
		`{"name":"r","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"varchar(3)"}},` +
		`{"name":"q","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(4)"}}]}`
	if diff := cmp.Diff(marks, plan.SchemaOf(n.Output()).JSON()); diff != "" {
		t.Error(diff)
	}
	// A table made of it has the same lengths, and takes NULL.
	must(t, s, "CREATE TABLE c AS SELECT * FROM t", "INSERT INTO c VALUES (NULL, 'abc', 'x', NULL)")
	if got := mistake(t, s, "INSERT INTO c VALUES (1, 'abcd', 'x', NULL)").Condition; got !=
		"DELTA_EXCEED_CHAR_VARCHAR_LIMIT" {
		t.Errorf("got %s", got)
	}
	if got := must(t, s, "SELECT q FROM c WHERE a IS NULL"); got[0] != `["x   "]` {
		t.Errorf("got %v", got)
	}
	must(t, s, "CREATE OR REPLACE TABLE t (b INT NOT NULL)")
	if got := mistake(t, s, "INSERT INTO t VALUES (NULL)").Args["columnName"]; got != "b" {
		t.Errorf("got %s", got)
	}
}

// The log says what Delta's own says.
// The answers are Spark's: in a comparison the shorter CHAR is filled up.
func TestCharsCompareWithoutTheirBlanks(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "USE main", "CREATE TABLE t (q CHAR(4), r CHAR(6), n INT)",
		"INSERT INTO t VALUES ('abc', 'abc', 1), ('abcd', 'abcd', 2)")
	for where, want := range map[string]int{
		"q = 'abc'": 1, "q = 'abc '": 1, "q = 'abc   '": 1, "'abc' = q": 1, "q <=> 'abc'": 1, "q = r": 2,
		"q IN ('abc', 'x')": 1, "q < 'abc'": 0, "q >= 'abcd'": 1, "q != 'abc'": 1, "q LIKE 'abc'": 0,
	} {
		if got := must(t, s, "SELECT n FROM t WHERE "+where); len(got) != want {
			t.Errorf("%s: %d rows, want %d", where, len(got), want)
		}
	}
}

func TestDeltaTablesAreLoggedAsTheyWereDeclared(t *testing.T) {
	fsys := vfs.NewMemory()
	s := openEngine(t, fsys).NewSession("u", "a")
	must(t, s, "USE main", strictTable)
	data, err := vfs.ReadFile(fsys, "/data/warehouse/main/default/t/_delta_log/00000000000000000000.json")
	if err != nil {
		t.Fatal(err)
	}
	got := logged(t, data)
	want := map[string]string{
		"operation":   "CREATE TABLE",
		"properties":  `{"x.y":"z"}`,
		"isManaged":   "true",
		"description": "tab",
		"x.y":         "z",
		"schemaString": `{"type":"struct","fields":[` +
			`{"name":"a","type":"integer","nullable":false,"metadata":{"comment":"first"}},` +
			`{"name":"r","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"varchar(3)"}},` +
			`{"name":"q","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(4)"}},` +
			`{"name":"s","type":{"type":"struct","fields":[` +
			`{"name":"v","type":"string","nullable":true,"metadata":{}},` +
			`{"name":"n","type":"integer","nullable":false,"metadata":{}}]},"nullable":true,` +
			`"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"struct<v:varchar(3),n:int>"}}]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParquetTablesFitTextsInsideOfTheirColumns(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TABLE t (s STRUCT<v: VARCHAR(3), c: CHAR(3)>, l ARRAY<VARCHAR(2)>, m MAP<STRING, CHAR(2)>) "+
		"USING parquet")
	for _, values := range []string{
		"named_struct('v', 'abcd', 'c', 'a'), array('a'), map('k', 'v')",
		"named_struct('v', 'ab', 'c', 'abcd'), array('a'), map('k', 'v')",
		"named_struct('v', 'ab', 'c', 'a'), array('abc'), map('k', 'v')",
		"named_struct('v', 'ab', 'c', 'a'), array('ab'), map('k', 'vvv')",
	} {
		if got := mistake(t, s, "INSERT INTO t SELECT "+values).Condition; got != "EXCEED_LIMIT_LENGTH" {
			t.Errorf("%s: got %s", values, got)
		}
	}
	must(t, s, "INSERT INTO t SELECT named_struct('v', 'ab', 'c', 'a'), array('ab'), map('k', 'v')")
	want := []string{`[{"c":"a  ","v":"ab"},["ab"],[["k","v "]]]`}
	if diff := cmp.Diff(want, must(t, s, "SELECT * FROM t")); diff != "" {
		t.Error(diff)
	}
}

// Spark takes NOT NULL of a table of files as a remark.
func TestParquetTablesTakeNullAnywhere(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TABLE t (a INT NOT NULL, q CHAR(4)) USING parquet", "INSERT INTO t VALUES (NULL, 'abc')")
	if got := must(t, s, "SELECT * FROM t"); got[0] != `[null,"abc "]` {
		t.Errorf("got %v", got)
	}
}

// logged picks what a commit says of a table.
func logged(t *testing.T, commit []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range bytes.Lines(commit) {
		var action struct {
			CommitInfo struct {
				Operation  string            `json:"operation"`
				Parameters map[string]string `json:"operationParameters"`
			} `json:"commitInfo"`
			MetaData struct {
				Description   string            `json:"description"`
				SchemaString  string            `json:"schemaString"`
				Configuration map[string]string `json:"configuration"`
			} `json:"metaData"`
		}
		if err := json.Unmarshal(line, &action); err != nil {
			t.Fatal(err)
		}
		if info := action.CommitInfo; info.Operation != "" {
			out["operation"], out["isManaged"] = info.Operation, info.Parameters["isManaged"]
			out["properties"] = info.Parameters["properties"]
		}
		if m := action.MetaData; m.SchemaString != "" {
			out["schemaString"], out["description"] = m.SchemaString, m.Description
			maps.Copy(out, m.Configuration)
		}
	}
	return out
}

func TestStreamsIntoADeltaTableStopAtWhatItForbids(t *testing.T) {
	const null, long = "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
	for _, c := range []struct{ columns, condition string }{
		{"CAST(NULL AS INT) AS a, 'x' AS r, 'y' AS q", null},
		{"1 AS a, 'xxxxx' AS r, 'y' AS q", long},
		{"'x' AS r, 'y' AS q", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"},
		{"1 AS a, 'x' AS r, 'y' AS q", ""},
	} {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
		must(t, s, "USE main", "CREATE TABLE t (a INT NOT NULL, r VARCHAR(3), q CHAR(4))",
			"CREATE TABLE source USING parquet LOCATION '/src' AS SELECT 1 AS one")
		one := plan.Struct(plan.Col("one", plan.Int))
		input, err := s.SQL(t.Context(), "SELECT "+c.columns+" FROM x", nil, nil, map[string]plan.Node{
			"x": &plan.Read{Format: "parquet", Paths: []string{"/src"}, Streaming: true, Schema: &one},
		})
		if err != nil {
			t.Fatal(err)
		}
		q := start(t, s, &plan.StartStream{Input: input, Table: []string{"t"}, Trigger: plan.AvailableNow,
			Options: plan.Options{"checkpointLocation": "/cp"}})
		err = q.Await(t.Context())
		if c.condition == "" {
			if got := must(t, s, "SELECT * FROM t"); err != nil || got[0] != `[1,"x","y   "]` {
				t.Errorf("%s: got %v, %v", c.columns, got, err)
			}
			continue
		}
		var failed, cause *plan.Error
		if !errors.As(err, &failed) || !errors.As(failed.Cause, &cause) || failed.Condition != "STREAM_FAILED" ||
			cause.Condition != c.condition {
			t.Errorf("%s: got %v, want %s", c.columns, err, c.condition)
		}
	}
}

func TestPartitionsOfAnInsertAreAllNamed(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TABLE p (a INT, b STRING, c INT) USING parquet PARTITIONED BY (b, c)")
	for statement, condition := range map[string]string{
		"INSERT INTO p PARTITION (b = 'k') SELECT 1, 2":      "_LEGACY_ERROR_TEMP_1169",
		"INSERT OVERWRITE p PARTITION (b = 'k') SELECT 1, 2": "_LEGACY_ERROR_TEMP_1169",
		"INSERT INTO p PARTITION (b) SELECT 1, 'z', 2":       "_LEGACY_ERROR_TEMP_1169",
		"INSERT INTO p PARTITION (b, c = 3) SELECT 1, 'z'":   "_LEGACY_ERROR_TEMP_1147",
	} {
		if got := mistake(t, s, statement).Condition; got != condition {
			t.Errorf("%s: got %s, want %s", statement, got, condition)
		}
	}
	must(t, s, "INSERT INTO p PARTITION (b = 'k', c) SELECT 1, 2", "INSERT INTO p PARTITION (b, c) SELECT 1, 'z', 2")
	want := []string{`[1,"k",2]`, `[1,"z",2]`}
	if diff := cmp.Diff(want, must(t, s, "SELECT * FROM p ORDER BY b")); diff != "" {
		t.Error(diff)
	}
}

// Conditions and texts are Spark 4.3.0's.
func TestReadsAndFormatsThatSparkRefuses(t *testing.T) {
	fsys := vfs.NewMemory()
	s := openEngine(t, fsys).NewSession("u", "a")
	must(t, s, "CREATE TABLE wide USING parquet LOCATION '/wide' AS SELECT id FROM range(3)",
		"CREATE TABLE narrow (id INT) USING parquet LOCATION '/wide'")
	rows := []byte("{\"a\":1}\n{bad\n")
	if err := errors.Join(fsys.MkdirAll("/json"), vfs.WriteNew(fsys, "/json/a", rows)); err != nil {
		t.Fatal(err)
	}
	must(t, s, "CREATE TABLE j (a INT, _corrupt_record STRING) USING json LOCATION '/json'")
	for query, condition := range map[string]string{
		"SELECT * FROM narrow":          "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
		"SELECT _corrupt_record FROM j": "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN",
		"SELECT count(*) FROM j WHERE _corrupt_record IS NOT NULL": "UNSUPPORTED_FEATURE." +
			"QUERY_ONLY_CORRUPT_RECORD_COLUMN",
	} {
		if got := mistake(t, s, query).Condition; got != condition {
			t.Errorf("%s: got %s, want %s", query, got, condition)
		}
	}
	if got := must(t, s, "SELECT a, _corrupt_record FROM j"); len(got) != 2 || got[1] != `[null,"{bad"]` {
		t.Errorf("got %v", got)
	}
	for _, conversion := range []string{"%.2f", "%d", "%e", "%x"} {
		if got := mistake(t, s, "SELECT format_string('"+conversion+"', 1.5)"); got.Class != plan.ClassIllegal &&
			!strings.Contains(got.Error(), "IllegalFormatConversion") {
			t.Errorf("%s of a decimal: got %v", conversion, got)
		}
	}
	shown := must(t, s, "SELECT format_string('%.2f %s %s %s %s', 1.5D, 1.5, DATE '2020-01-01', "+
		"TIMESTAMP '2020-01-01 00:00:00', INTERVAL '1' DAY)")
	if shown[0] != `["1.50 1.5 18262 1577836800000000 86400000000"]` {
		t.Errorf("got %v", shown)
	}
}
