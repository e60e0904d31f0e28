package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/vfs"
)

// What Spark 4.3.0 says to statements that compare variants.
func TestStatementsThatCompareVariantsAreRefusedAsInSpark(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	const v = "(SELECT parse_json('1') v)"
	const group, order = "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"
	const set = "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE"
	is := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	sorted := func(key string) map[string]string {
		return is("functionName", "`sortorder`", "dataType", `"VARIANT"`, "sqlExpr", `"`+key+` ASC NULLS FIRST"`)
	}
	for _, c := range []struct {
		sql, condition string
		args           map[string]string
	}{
		{"SELECT parse_json('1') v, count(*) n GROUP BY 1", group, is("sqlExpr", `"parse_json(1)"`, "dataType", `"VARIANT"`)},
		{"SELECT count(*) FROM " + v + " GROUP BY v", group, is("sqlExpr", `"v"`, "dataType", `"VARIANT"`)},
		{"SELECT array(v) a, count(*) FROM " + v + " GROUP BY ALL", group,
			is("sqlExpr", `"array(v)"`, "dataType", `"ARRAY<VARIANT>"`)},
		{"SELECT v, count(*) FROM (SELECT struct(parse_json('1')) v) GROUP BY v", group,
			is("sqlExpr", `"v"`, "dataType", `"STRUCT<col1: VARIANT NOT NULL>"`)},
		{"SELECT parse_json('1') v ORDER BY 1", order, sorted("v")},
		{"SELECT 1 FROM " + v + " ORDER BY v", order, sorted("v")},
		{"SELECT * FROM " + v + " SORT BY v", order, sorted("v")},
		{"SELECT * FROM (SELECT 1 x) ORDER BY parse_json('1')", order, sorted("parse_json(1)")},
		{"SELECT row_number() OVER (ORDER BY v) FROM " + v, order, sorted("v")},
		{"SELECT row_number() OVER (PARTITION BY v ORDER BY 1) FROM " + v, "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
			is("expr", `"v"`, "exprType", `"VARIANT"`)},
		{"SELECT * FROM " + v + " DISTRIBUTE BY v", "UNSUPPORTED_FEATURE.PARTITION_BY_VARIANT",
			is("expr", `"v"`, "dataType", `"VARIANT"`)},
		{"SELECT * FROM " + v + " CLUSTER BY v", "UNSUPPORTED_FEATURE.PARTITION_BY_VARIANT",
			is("expr", `"v"`, "dataType", `"VARIANT"`)},
		{"SELECT DISTINCT v FROM " + v, set, is("colName", "`v`", "dataType", `"VARIANT"`)},
		{"SELECT v FROM " + v + " INTERSECT SELECT parse_json('1')", set, is("colName", "`v`", "dataType", `"VARIANT"`)},
		{"SELECT * FROM " + v + " PIVOT (count(*) FOR v IN (1))", "INCOMPARABLE_PIVOT_COLUMN", is("columnName", "`v`")},
		{"SELECT * FROM " + v + " a JOIN (SELECT parse_json('1') w) b ON v = w", order,
			is("functionName", "`=`", "dataType", `"VARIANT"`, "sqlExpr", `"(v = w)"`)},
		{"SELECT v[0] FROM " + v, "INVALID_EXTRACT_BASE_FIELD_TYPE", is("base", `"v"`, "other", `"VARIANT"`)},
		{"SELECT v.a FROM " + v, "INVALID_EXTRACT_BASE_FIELD_TYPE", is("base", `"v"`, "other", `"VARIANT"`)},
	} {
		e := mistake(t, s, c.sql)
		if e.Condition != c.condition {
			t.Errorf("%s: %v, want %s", c.sql, e, c.condition)
		} else if diff := cmp.Diff(c.args, e.Args); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sql, diff)
		}
	}
}

func TestVariantsAreTakenApartInSQL(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	_, chunks, err := run(t, s, `SELECT v:a[1]::int, v:b['c d']::string, is_variant_null(v:b['c d']), v:missing IS NULL,
		to_json(v) FROM (SELECT parse_json('{"a":[1,2],"b":{"c d":null}}') v)`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`[2,null,true,true,"{\"a\":[1,2],\"b\":{\"c d\":null}}"]`}
	if diff := cmp.Diff(want, rendered(chunks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
