package session

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
)

// save is df.write.mode(…).saveAsTable("t").
func save(t *testing.T, s *Session, query, mode string) error {
	t.Helper()
	n, err := sql.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]plan.SaveMode{
		"error": plan.SaveError, "append": plan.SaveAppend,
		"overwrite": plan.SaveOverwrite, "ignore": plan.SaveIgnore,
	}
	_, err = s.Command(t.Context(), &plan.Write{Input: n, Table: []string{"t"}, Mode: modes[mode]})
	return err
}

func condition(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition
	}
	return ""
}

func TestSaveModesOfATable(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	count := func(want string) {
		t.Helper()
		if got := must(t, s, "SELECT count(*) FROM t"); got[0] != want {
			t.Errorf("got %s, want %s", got[0], want)
		}
	}
	if err := save(t, s, "SELECT 1 AS a, 'x' AS b", "error"); err != nil {
		t.Fatal(err)
	}
	if got := condition(save(t, s, "SELECT 1 AS a, 'x' AS b", "error")); got != "TABLE_OR_VIEW_ALREADY_EXISTS" {
		t.Errorf("again: got %s", got)
	}
	if err := save(t, s, "SELECT 1 AS a, 'x' AS b", "ignore"); err != nil {
		t.Error(err)
	}
	count("[1]")
	if err := save(t, s, "SELECT 'y' AS b, 2 AS a", "append"); err != nil {
		t.Error(err)
	}
	count("[2]")
	if got := must(t, s, "SELECT b FROM t WHERE a = 2"); got[0] != `["y"]` {
		t.Errorf("columns are not matched by name: %v", got)
	}
	if err := save(t, s, "SELECT 7 AS z", "overwrite"); err != nil {
		t.Error(err)
	}
	count("[1]")
}

func TestSessionsShareTablesAndNothingElse(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	a, b := e.NewSession("u", "a"), e.NewSession("u", "b")
	must(t, a, "CREATE TABLE t USING parquet AS SELECT 1 AS x", "CREATE TEMP VIEW v AS SELECT 2 AS y",
		"CREATE GLOBAL TEMP VIEW g AS SELECT 3 AS z", "SET my.key = a", "CREATE SCHEMA other", "USE other")
	if got := must(t, b, "SELECT x FROM t"); got[0] != "[1]" {
		t.Errorf("got %v", got)
	}
	if got := must(t, b, "SELECT z FROM global_temp.g"); got[0] != "[3]" {
		t.Errorf("got %v", got)
	}
	if got := mistake(t, b, "SELECT * FROM v").Condition; got != "TABLE_OR_VIEW_NOT_FOUND" {
		t.Errorf("got %s", got)
	}
	if got := must(t, b, "SET my.key", "SHOW CURRENT NAMESPACE"); got[0] != `["spark_catalog","default"]` {
		t.Errorf("got %v", got)
	}
}

func TestCloneBeginsWithTheSameStateAndSharesNone(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TEMP VIEW v AS SELECT 1 AS a", "SET my.key = a", "USE main")
	if err := s.Artifacts().Add("pyfiles/m.py", strings.NewReader("x = 1")); err != nil {
		t.Fatal(err)
	}
	c := s.Clone("b")
	must(t, c, "CREATE OR REPLACE TEMP VIEW v AS SELECT 2 AS a", "SET my.key = b", "USE spark_catalog")
	if got := must(t, s, "SELECT a FROM v"); got[0] != "[1]" {
		t.Errorf("got %v", got)
	}
	if got := must(t, s, "SET my.key"); got[0] != `["my.key","a"]` {
		t.Errorf("got %v", got)
	}
	if !c.Artifacts().Has("pyfiles/m.py") {
		t.Error("the artifact was not taken over")
	}
	if err := s.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(c.engine.fs, c.Artifacts().Files()+"/m.py")
	if err != nil || string(data) != "x = 1" {
		t.Errorf("got %q, %v", data, err)
	}
}

// A view means what it meant when it was made.
func TestViewsKeepTheirMeaning(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE SCHEMA one", "CREATE SCHEMA two", "USE one",
		"CREATE TABLE t USING parquet AS SELECT 1 AS a", "CREATE TEMP VIEW v AS SELECT * FROM t",
		"CREATE VIEW w AS SELECT a + 1 AS b FROM t WHERE a IN (SELECT a FROM t)", "USE two")
	for query, want := range map[string]string{"SELECT * FROM v": "[1]", "SELECT * FROM one.w": "[2]"} {
		if got := must(t, s, query); got[0] != want {
			t.Errorf("%s: got %v", query, got)
		}
	}
	// A view may replace one that it reads.
	must(t, s, "CREATE TEMP VIEW x AS SELECT 1 AS a")
	again := "CREATE OR REPLACE TEMP VIEW x AS SELECT a + 1 AS a FROM x WHERE a IN (SELECT a FROM x)"
	if got := must(t, s, again, "SELECT a FROM x"); got[0] != "[2]" {
		t.Errorf("got %v", got)
	}
}

// As recorded from Spark: a view of a frame, and one made with USING, keeps to the
// files that it found; the text of a query, and tables, are read as they are.
func TestViewsOfFramesKeepTheirFiles(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	write := func(n string) {
		t.Helper()
		w := &plan.Write{Input: parse(t, "SELECT "+n+" AS a"), Format: "parquet", Path: "/p", Mode: plan.SaveAppend}
		if _, err := s.Command(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	must(t, s, "CREATE TABLE t (a INT) USING parquet", "INSERT INTO t VALUES (1)")
	frames := map[string]plan.Node{
		"frame": &plan.Read{Format: "parquet", Paths: []string{"/p"}},
		"tab":   &plan.NamedTable{Name: []string{"t"}},
	}
	for name, n := range frames {
		if err := s.CreateView(t.Context(), &plan.CreateView{
			Name: []string{name}, Query: n, Temporary: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s, "CREATE TEMP VIEW made USING parquet OPTIONS (path '/p')",
		"CREATE TEMP VIEW text AS SELECT * FROM parquet.`/p`")
	write("2")
	must(t, s, "INSERT INTO t VALUES (2)")
	for name, want := range map[string]string{"frame": "[1]", "made": "[1]", "text": "[2]", "tab": "[2]"} {
		if got := must(t, s, "SELECT count(*) FROM "+name); got[0] != want {
			t.Errorf("%s has %s rows, want %s", name, got[0], want)
		}
	}
}

func TestCachedFramesKeepTheirMeaning(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE TEMP VIEW v AS SELECT 1 AS a")
	id := s.PutCached(&plan.NamedTable{Name: []string{"v"}})
	must(t, s, "DROP VIEW v")
	_, chunks, err := execute(t, s, &plan.CachedRemote{ID: id})
	if err != nil || rendered(chunks)[0] != "[1]" {
		t.Errorf("got %v, %v", chunks, err)
	}
	s.DropCached(id)
	_, _, err = execute(t, s, &plan.CachedRemote{ID: id})
	if got := condition(err); got != "CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND" {
		t.Errorf("got %v", err)
	}
}

// The names and shapes of what pyspark.sql.Catalog was told by Spark 4.3.0.
func TestCatalogCalls(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	must(t, s, "CREATE SCHEMA weir", "USE weir",
		"CREATE TABLE t USING parquet AS SELECT CAST(1 AS BIGINT) AS id", "CREATE TEMP VIEW tv AS SELECT 1 AS a")
	tests := []struct {
		call plan.CatalogCall
		want []string
	}{
		{plan.CatalogCall{Method: plan.CatalogCurrentCatalog}, []string{`["spark_catalog"]`}},
		{plan.CatalogCall{Method: plan.CatalogCurrentDatabase}, []string{`["weir"]`}},
		{plan.CatalogCall{Method: plan.CatalogListDatabases}, []string{
			`["default","spark_catalog","default database","file:/data/warehouse/spark_catalog/default"]`,
			`["weir","spark_catalog","","file:/data/warehouse/spark_catalog/weir"]`}},
		{plan.CatalogCall{Method: plan.CatalogListTables}, []string{
			`["t","spark_catalog",["weir"],null,"MANAGED",false]`, `["tv",null,[],null,"TEMPORARY",true]`}},
		{plan.CatalogCall{Method: plan.CatalogListTables, Pattern: "T"}, []string{
			`["t","spark_catalog",["weir"],null,"MANAGED",false]`}},
		{plan.CatalogCall{Method: plan.CatalogGetTable, Name: "t"}, []string{
			`["t","spark_catalog",["weir"],null,"MANAGED",false]`}},
		{plan.CatalogCall{Method: plan.CatalogListColumns, Name: "t"}, []string{
			`["id",null,"bigint",true,false,false,false]`}},
		{plan.CatalogCall{Method: plan.CatalogTableExists, Name: "t"}, []string{"[true]"}},
		{plan.CatalogCall{Method: plan.CatalogTableExists, Name: "nope"}, []string{"[false]"}},
		{plan.CatalogCall{Method: plan.CatalogDatabaseExists, Database: "weir"}, []string{"[true]"}},
		{plan.CatalogCall{Method: plan.CatalogDatabaseExists, Database: "nope"}, []string{"[false]"}},
		{plan.CatalogCall{Method: plan.CatalogFunctionExists, Name: "count"}, []string{"[true]"}},
		{plan.CatalogCall{Method: plan.CatalogFunctionExists, Name: "nope"}, []string{"[false]"}},
		{plan.CatalogCall{Method: plan.CatalogIsCached, Name: "t"}, []string{"[false]"}},
		{plan.CatalogCall{Method: plan.CatalogDropTempView, Name: "tv"}, []string{"[true]"}},
		{plan.CatalogCall{Method: plan.CatalogDropTempView, Name: "tv"}, []string{"[false]"}},
		{plan.CatalogCall{Method: plan.CatalogSetCurrentDatabase, Database: "default"}, []string{}},
		{plan.CatalogCall{Method: plan.CatalogCurrentDatabase}, []string{`["default"]`}},
	}
	for _, test := range tests {
		_, chunks, err := execute(t, s, &test.call)
		if err != nil {
			t.Errorf("%+v: %v", test.call, err)
			continue
		}
		if diff := cmp.Diff(test.want, rendered(chunks)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.call, diff)
		}
	}
	for method, want := range map[plan.CatalogMethod]string{
		plan.CatalogGetTable: "TABLE_OR_VIEW_NOT_FOUND", plan.CatalogListColumns: "TABLE_OR_VIEW_NOT_FOUND",
		plan.CatalogGetDatabase: "SCHEMA_NOT_FOUND", plan.CatalogSetCurrentDatabase: "SCHEMA_NOT_FOUND",
		plan.CatalogSetCurrentCatalog: "CATALOG_NOT_FOUND",
	} {
		_, _, err := execute(t, s, &plan.CatalogCall{Method: method, Name: "nope", Database: databaseOf(method)})
		if got := condition(err); got != want {
			t.Errorf("%v: got %v, want %s", method, err, want)
		}
	}
}

func databaseOf(m plan.CatalogMethod) string {
	if m == plan.CatalogGetDatabase || m == plan.CatalogSetCurrentDatabase {
		return "nope"
	}
	return ""
}

func TestObservedMetricsAreThereAfterTheRows(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	count := &plan.Alias{Child: &plan.UnresolvedFunction{Name: []string{"count"},
		Args: []plan.Expr{plan.Lit(int64(1), plan.Int)}}, Names: []string{"n"}}
	n := plan.NewObserve(&plan.Range{End: 5, Step: 1}, "metrics", []plan.Expr{count})
	r, _, err := execute(t, s, n)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Observed()
	if len(got) != 1 || got[0].Name != "metrics" || got[0].Row[0] != int64(5) {
		t.Errorf("got %+v", got)
	}
}

// What Spark 4.3 answers to the same.
func TestAPivotFindsItsValues(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	named := func(name string) plan.Expr { return &plan.UnresolvedAttribute{Parts: []string{name}} }
	pivot := func(column, list string) (*Result, []string, error) {
		n, err := s.SQL(t.Context(), "SELECT * FROM VALUES (1, 'a', 2.0D), (1, 'b', 3.0D), (2, 'a', 4.0D), "+
			"(2, NULL, 5.0D), (3, 'c', NULL) AS t(id, k, v) "+list, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := &plan.UnresolvedFunction{Name: []string{"sum"}, Args: []plan.Expr{named("v")}}
		a := plan.NewAggregate(n, []plan.Expr{named("id")}, []plan.Expr{sum})
		a.Kind, a.Pivot = plan.GroupPivot, &plan.Pivot{Column: named(column)}
		r, chunks, err := execute(t, s, a)
		return r, rendered(chunks), err
	}
	r, rows, err := pivot("k", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Schema.Simple(); got != "struct<id:int,null:double,a:double,b:double,c:double>" {
		t.Error(got)
	}
	slices.Sort(rows)
	if diff := cmp.Diff([]string{`[1,null,"2.0","3.0",null]`, `[2,"5.0","4.0",null,null]`,
		"[3,null,null,null,null]"},
		rows); diff != "" {
		t.Error(diff)
	}
	if r, _, err := pivot("k", "WHERE id > 9"); err != nil || r.Schema.Simple() != "struct<id:int>" {
		t.Errorf("of no rows: %v, %v", r, err)
	}
	must(t, s, "SET spark.sql.pivotMaxValues=2")
	if _, _, err := pivot("k", ""); condition(err) != "_LEGACY_ERROR_TEMP_1324" {
		t.Errorf("more values than columns may be: %v", err)
	}
}

func TestFramesAsArgumentsOfSQL(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	views := map[string]plan.Node{"frame": &plan.Range{End: 4, Step: 1}}
	text := "SELECT count(*) FROM frame WHERE id IN (SELECT id FROM frame WHERE id > 1)"
	n, err := s.SQL(t.Context(), text, nil, nil, views)
	if err != nil {
		t.Fatal(err)
	}
	_, chunks, err := execute(t, s, n)
	if err != nil || rendered(chunks)[0] != "[2]" {
		t.Errorf("got %v, %v", chunks, err)
	}
}

func TestAnalyzeOfACommandRunsNothing(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	for text, want := range map[string]string{
		"CREATE SCHEMA x": "struct<>", "SHOW SCHEMAS": "struct<namespace:string>",
		"DESCRIBE QUERY SELECT 1": "struct<col_name:string,data_type:string,comment:string>",
	} {
		n, err := s.SQL(t.Context(), text, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Analyze(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.SchemaOf(resolved.Output()).Simple(); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if got := must(t, s, "SHOW SCHEMAS"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
