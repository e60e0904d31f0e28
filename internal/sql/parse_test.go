package sql

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// planError is err as a plan.Error; a nil error is nil.
func planError(t *testing.T, err error) *plan.Error {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *plan.Error
	if !errors.As(err, &e) {
		t.Fatalf("not a plan.Error: %v", err)
	}
	return e
}

// The places, tokens and hints below are Spark's.
func TestSyntaxErrorsNameTokenAndPlace(t *testing.T) {
	tests := []struct {
		text, near, hint string
		line, pos        int
	}{
		{"SELEC 1", "'SELEC'", "", 1, 0},
		{"SELECT 1 +", "end of input", "", 1, 10},
		{"SELECT (1", "end of input", "", 1, 9},
		{"SELECT 1)", "')'", ": extra input ')'", 1, 8},
		{"SELECT 'abc", "'''", "", 1, 7},
		{"SELECT 1 a b", "'b'", ": extra input 'b'", 1, 11},
		{"SELECT a b c FROM t", "'c'", "", 1, 11},
		{"SELECT CASE 1 END", "'END'", "", 1, 14},
		{"SELECT CAST(1 INT)", "'INT'", "", 1, 14},
		{"SELECT 1 == == 2", "'=='", "", 1, 12},
		{"SELECT INTERVAL 5", "end of input", "", 1, 17},
		{"SELECT $x", "'$'", "", 1, 7},
		{"CREATE", "end of input", "", 1, 6},
		{"CREATE TABLE t (a INT,)", "')'", "", 1, 22},
		{"DROP TABLE IF t", "'t'", ": extra input 't'", 1, 14},
		{"SHOW NOPE", "end of input", ": missing 'FUNCTIONS'", 1, 9},
		{"SELECT 1; SELECT 2", "'SELECT'", ": extra input 'SELECT'", 1, 10},
		{"SELECT * FROM (SELECT 1", "end of input", ": missing ')'", 1, 23},
		{"SELECT a FROM t WHERE a IN (1,", "end of input", "", 1, 30},
		{"DELETE t", "'t'", ": missing 'FROM'", 1, 7},
		{"SELECT a,\n  b\nFROM t x y z", "'y'", "", 3, 9},
		{"SELECT 'ü' -- ü\n, 'é' )", "')'", ": extra input ')'", 2, 6},
	}
	for _, tt := range tests {
		_, err := Parse(tt.text)
		e := planError(t, err)
		if e == nil || e.Condition != "PARSE_SYNTAX_ERROR" || e.Class != plan.ClassParse {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		got := []any{e.Args["error"], e.Args["hint"], e.Origin.Line, e.Origin.Pos}
		if want := []any{tt.near, tt.hint, tt.line, tt.pos}; !cmp.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, want)
		}
		if e.Origin.Start != e.Origin.Stop {
			t.Errorf("%q: a syntax error has a place, not a fragment: %q", tt.text, e.Origin.Text())
		}
	}
}

func TestErrorTextShowsThePlace(t *testing.T) {
	_, err := Parse("SELECT a\nFROM t x y z")
	want := "\n\n== SQL ==\nSELECT a\nFROM t x y z\n---------^^^\n"
	if !strings.HasSuffix(err.Error(), " SQLSTATE: 42601 (line 2, pos 9)"+want) {
		t.Errorf("got %q", err)
	}
}

func TestMistakesInWhatParsesWaitForTheRest(t *testing.T) {
	_, err := Parse("SELECT DATE 'x' +")
	if e := planError(t, err); e.Condition != "PARSE_SYNTAX_ERROR" {
		t.Errorf("the syntax error comes first: %v", e)
	}
	_, err = Parse("SELECT 300Y, DATE 'x' FROM t")
	e := planError(t, err)
	if e.Condition != "INVALID_NUMERIC_LITERAL_RANGE" || e.Origin.Text() != "300Y" {
		t.Errorf("the first mistake is reported: %v at %q", e, e.Origin.Text())
	}
}

func TestRefusalsNameWhatIsRefused(t *testing.T) {
	for text, what := range map[string]string{
		"SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1": "QUALIFY",
		"FROM t |> WHERE a > 1":                                 "The pipe operator |>",
		"SELECT * FROM t PIVOT (sum(a) FOR (b, c) IN ((1, 2)))": "PIVOT by several columns",
		"WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r":        "WITH RECURSIVE",
		"VACUUM t LITE":                                          "VACUUM LITE",
		"OPTIMIZE t FULL":                                        "OPTIMIZE FULL",
		"CONVERT TO DELTA parquet.`/x`":                          "CONVERT TO DELTA",
		"REORG TABLE t APPLY (PURGE)":                            "REORG TABLE",
		"GENERATE symlink_format_manifest FOR TABLE t":           "GENERATE",
		"BEGIN SELECT 1; END":                                    "BEGIN",
		"DECLARE x INT":                                          "DECLARE",
		"CREATE FUNCTION f AS 'x'":                               "CREATE FUNCTION",
		"CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS": "The clause CLUSTERED BY of a table",
		"CREATE TABLE t LIKE u":                                  "CREATE TABLE LIKE",
	} {
		_, err := Parse(text)
		e := planError(t, err)
		if e == nil || e.Class != plan.ClassJavaUnsupported || !strings.HasPrefix(e.Msg, what+" is not supported") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	const n = 10_000
	for name, text := range map[string]string{
		"parentheses": "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"open":        "SELECT " + strings.Repeat("(", n),
		"case":        "SELECT " + strings.Repeat("CASE WHEN ", n) + "1" + strings.Repeat(" THEN 1 END", n),
		"not":         "SELECT " + strings.Repeat("NOT ", n) + "a",
		"minus":       "SELECT " + strings.Repeat("- ", n) + "a",
		"calls":       "SELECT " + strings.Repeat("f(", n) + strings.Repeat(")", n),
		"lambdas":     "SELECT " + strings.Repeat("x -> ", n) + "1",
		"substrings":  "SELECT " + strings.Repeat("substring(", n) + "1" + strings.Repeat(" FROM 1)", n),
		"subscripts":  "SELECT " + strings.Repeat("a[", n) + "1" + strings.Repeat("]", n),
		"queries":     strings.Repeat("SELECT * FROM (", n) + "SELECT 1" + strings.Repeat(")", n),
		"relations":   "SELECT * FROM " + strings.Repeat("(", n) + "t" + strings.Repeat(")", n),
		"brackets":    strings.Repeat("(", n) + "SELECT 1" + strings.Repeat(")", n),
		"types":       "SELECT CAST(1 AS " + strings.Repeat("ARRAY<", n) + "INT" + strings.Repeat(">", n) + ")",
		"explain":     strings.Repeat("EXPLAIN ", n) + "SELECT 1",
	} {
		_, err := Parse(text)
		if e := planError(t, err); e == nil || e.Condition != "FAILED_TO_PARSE_TOO_COMPLEX" {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestLongChainsAreNoNesting(t *testing.T) {
	const n = 20_000
	for name, text := range map[string]string{
		"and":      "SELECT a" + strings.Repeat(" AND a", n),
		"plus":     "SELECT 1" + strings.Repeat(" + 1", n),
		"fields":   "SELECT f()" + strings.Repeat(".a", n),
		"union":    "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", n),
		"joins":    "SELECT * FROM t" + strings.Repeat(" JOIN t", n),
		"in":       "SELECT a IN (1" + strings.Repeat(", 1", n) + ")",
		"values":   "VALUES (1)" + strings.Repeat(", (1)", n),
		"comments": strings.Repeat("/* ", n) + strings.Repeat(" */", n) + "SELECT 1",
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestParameters(t *testing.T) {
	five, x := plan.Lit(int64(5), plan.Int), plan.Lit("x", plan.String)
	tests := []struct {
		text   string
		params Parameters
		want   string // tree, or condition of the error
	}{
		{"SELECT :a + 1", Parameters{Named: map[string]plan.Expr{"a": five}}, "Project [(5 + 1)]\n OneRowRelation"},
		{"SELECT ? + ?", Parameters{Positional: []plan.Expr{five, x}}, "Project [(5 + x)]\n OneRowRelation"},
		{"SELECT ':a', a:b", Parameters{}, "Project [:a, variant_get(a, $.b, variant) AS b]\n OneRowRelation"},
		{"SELECT * FROM IDENTIFIER(:a) LIMIT :b", Parameters{Named: map[string]plan.Expr{"a": x, "b": five}},
			"GlobalLimit 5\n LocalLimit 5\n  Project [*]\n   UnresolvedRelation [x], [], false"},
		{"SELECT IDENTIFIER('a.' || :a)", Parameters{Named: map[string]plan.Expr{"a": x}},
			"Project [a.x]\n OneRowRelation"},
		{"SELECT (SELECT :a)", Parameters{Named: map[string]plan.Expr{"a": x}},
			"Project [*plan.Subquery]\n OneRowRelation"},
		{"SELECT :a", Parameters{}, "UNBOUND_SQL_PARAMETER"},
		{"SELECT ?, ?", Parameters{Positional: []plan.Expr{five}}, "UNBOUND_SQL_PARAMETER"},
		{"INSERT INTO t SELECT :b", Parameters{Named: map[string]plan.Expr{"a": x}}, "UNBOUND_SQL_PARAMETER"},
		{"SELECT :a, ?", Parameters{Named: map[string]plan.Expr{"a": five}},
			"INVALID_QUERY_MIXED_QUERY_PARAMETERS"},
	}
	for _, tt := range tests {
		n, err := ParseBound(tt.text, tt.params)
		got := ""
		if e := planError(t, err); e != nil {
			got = e.Condition
		} else {
			got = sparkTree(n)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
	_, err := Parse("SELECT ?")
	if e := planError(t, err); e.Args["name"] != "_7" || e.Origin.Text() != "?" {
		t.Errorf("got %v at %q", e.Args, e.Origin.Text())
	}
}

func TestHostileNamesAreNames(t *testing.T) {
	b, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := append(strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), "", "\x00", "a\nb", "``")
	for _, name := range names {
		quoted := plan.Quote(name)
		n, err := Parse("SELECT t." + quoted + " AS " + quoted + " FROM a." + quoted + " AS t")
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		p := n.(*plan.Project)
		alias := p.Exprs[0].(*plan.Alias)
		got := []string{alias.Names[0], alias.Child.(*plan.UnresolvedAttribute).Parts[1],
			p.Input.(*plan.SubqueryAlias).Input.(*plan.NamedTable).Name[1]}
		if !cmp.Equal(got, []string{name, name, name}) {
			t.Errorf("%q: got %q", name, got)
		}
		if parts, err := ParseName("a." + quoted); err != nil || parts[1] != name {
			t.Errorf("%q: ParseName gives %q, %v", name, parts, err)
		}
	}
}

func TestParseName(t *testing.T) {
	for text, want := range map[string][]string{
		"a": {"a"}, "a.b.c": {"a", "b", "c"}, "`a.b`.c": {"a.b", "c"}, " a . `b``c` ": {"a", "b`c"},
		"select.from": {"select", "from"}, "1x": {"1x"},
	} {
		if got, err := ParseName(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, condition := range map[string]string{
		"": "PARSE_SYNTAX_ERROR", "a.": "PARSE_SYNTAX_ERROR", "a b": "PARSE_SYNTAX_ERROR",
		"a-b": "INVALID_IDENTIFIER", "é": "INVALID_IDENTIFIER",
	} {
		_, err := ParseName(text)
		if e := planError(t, err); e == nil || e.Condition != condition {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNodesSayWhereTheyStand(t *testing.T) {
	n, err := Parse("SELECT a.b + f(c, 1) AS x,\n  CAST(d AS INT), e[0] FROM t WHERE p IS NULL")
	if err != nil {
		t.Fatal(err)
	}
	p := n.(*plan.Project)
	sum := p.Exprs[0].(*plan.Alias).Child.(*plan.UnresolvedFunction)
	cast := p.Exprs[1].(*plan.Cast)
	where := p.Input.(*plan.Filter)
	for _, tt := range []struct {
		o    *plan.Origin
		want string
	}{
		{p.Origin, "SELECT a.b + f(c, 1) AS x,\n  CAST(d AS INT), e[0] FROM t WHERE p IS NULL"},
		{sum.Origin, "a.b + f(c, 1)"},
		{sum.Args[0].(*plan.UnresolvedAttribute).Origin, "a.b"},
		{sum.Args[1].(*plan.UnresolvedFunction).Origin, "f(c, 1)"},
		{cast.Origin, "CAST(d AS INT)"},
		{p.Exprs[2].(*plan.ExtractValue).Origin, "e[0]"},
		{where.Cond.(*plan.UnresolvedFunction).Origin, "p IS NULL"},
		{where.Input.(*plan.NamedTable).Origin, "t"},
	} {
		if got := tt.o.Text(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if o := cast.Origin; o.Line != 2 || o.Pos != 2 {
		t.Errorf("the cast stands at line %d, pos %d", o.Line, o.Pos)
	}
}

func TestEveryKeywordIsAName(t *testing.T) {
	for _, w := range Keywords() {
		for _, form := range []string{"SELECT %", "SELECT 1 AS %", "SELECT 1 %", "SELECT a.%", "SELECT %('a')",
			"SELECT % + 1", "SELECT * FROM %", "WITH % AS (SELECT 1) SELECT 2"} {
			text := strings.ReplaceAll(form, "%", w)
			if _, err := Parse(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		_, err := Parse("SELECT * FROM t " + w)
		if (err != nil) != joinWord(w) {
			t.Errorf("alias %s: %v", w, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"SELECT a.b[0], f(DISTINCT x, y => 1) FILTER (WHERE z) OVER w FROM t AS u(v) WINDOW w AS (ORDER BY a DESC)",
		"WITH a AS (SELECT 1) INSERT INTO t (x) SELECT * EXCEPT (b) FROM a LEFT JOIN b USING (c) GROUP BY ROLLUP (d)",
		"CREATE OR REPLACE TABLE t (a INT NOT NULL) USING delta PARTITIONED BY (a) TBLPROPERTIES ('k' = 'v')",
		"SELECT INTERVAL '1 02:03' DAY TO MINUTE, DATE '2024-01-01', X'FF', 1.5e3BD, 'a\\u0041', r'\\', `q`",
		"/*+ */ SELECT /*+ H(a) */ CASE a WHEN 1 THEN 2 END LIKE ANY ('x') -- c\n", "SET a.b = c", "\xff'\"`(", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{second(Parse(text)), second(ParseExpr(text)), second(ParseType(text)),
			second(ParseSchema(text)), second(ParseName(text)), second(ParseInterval(text)),
			second(ParseDelay(text))} {
			if e := planError(t, err); e != nil {
				_ = e.Error()
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
