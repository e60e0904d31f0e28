package sql

import (
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

// What Spark 4.3.0 makes of the types and schemas below.
func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"int": "INT", "INTEGER": "INT", "byte": "TINYINT", "short": "SMALLINT", "long": "BIGINT", "real": "FLOAT",
		"void": "VOID", "variant": "VARIANT", "timestamp without time zone": "TIMESTAMP_NTZ",
		"timestamp_ltz": "TIMESTAMP", "time(3)": "TIME(3)", "time": "TIME(6)", "character(3)": "CHAR(3)",
		"varchar(0)": "VARCHAR(0)", "decimal": "DECIMAL(10,0)", "dec(3,2)": "DECIMAL(3,2)", "decimal(38,38)": "DECIMAL(38,38)",
		"interval": "INTERVAL", "interval year": "INTERVAL YEAR", "interval year to month": "INTERVAL YEAR TO MONTH",
		"interval minute to second": "INTERVAL MINUTE TO SECOND", "array<int>": "ARRAY<INT>",
		"map<int,string>": "MAP<INT, STRING>", "struct<>": "STRUCT<>", "struct<a:int,a:int>": "STRUCT<a: INT, a: INT>",
		"struct<`a b`:int>": "STRUCT<`a b`: INT>", "struct<a int, b: string not null>": "STRUCT<a: INT, b: STRING NOT NULL>",
		"array<array<array<int>>>": "ARRAY<ARRAY<ARRAY<INT>>>", "string collate UTF8_LCASE": "STRING COLLATE UTF8_LCASE",
	} {
		got, err := ParseType(text)
		if err != nil || got.SQL() != want {
			t.Errorf("%s: %s, %v", text, got.SQL(), err)
		}
	}
	for text, condition := range map[string]string{
		"null": "UNSUPPORTED_DATATYPE", "foo(1)": "UNSUPPORTED_DATATYPE", "string(3)": "UNSUPPORTED_DATATYPE",
		"decimal(1,2,3)": "UNSUPPORTED_DATATYPE", "time(10)": "UNSUPPORTED_TIME_PRECISION",
		"varchar": "DATATYPE_MISSING_SIZE", "map": "INCOMPLETE_TYPE_DEFINITION.MAP", "array": "INCOMPLETE_TYPE_DEFINITION.ARRAY",
		"struct": "INCOMPLETE_TYPE_DEFINITION.STRUCT", "decimal(39,1)": "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
		"decimal(3,5)": "DECIMAL_SCALE_EXCEEDS_PRECISION", "a int": "PARSE_SYNTAX_ERROR", "array(int)": "PARSE_SYNTAX_ERROR",
		"interval hour to day": "PARSE_SYNTAX_ERROR", "double precision": "PARSE_SYNTAX_ERROR", "array<>": "PARSE_SYNTAX_ERROR",
		"struct<a-b:int>": "INVALID_IDENTIFIER",
	} {
		_, err := ParseType(text)
		if e := planError(t, err); e == nil || e.Condition != condition {
			t.Errorf("%s: %v, want %s", text, err, condition)
		}
	}
}

func TestParseSchema(t *testing.T) {
	for text, want := range map[string]string{
		"a int, b string": `{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}},` +
			`{"name":"b","type":"string","nullable":true,"metadata":{}}]}`,
		"a int not null comment 'it''s'": `{"type":"struct","fields":[{"name":"a","type":"integer","nullable":false,` +
			`"metadata":{"comment":"it's"}}]}`,
		"a array<struct<x:int not null>>": `{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":` +
			`{"type":"struct","fields":[{"name":"x","type":"integer","nullable":false,"metadata":{}}]},"containsNull":true},` +
			`"nullable":true,"metadata":{}}]}`,
		"a char(3)":     `{"type":"struct","fields":[{"name":"a","type":"char(3)","nullable":true,"metadata":{}}]}`,
		"int":           `"integer"`,
		"a: int":        `{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}`,
		"struct<a:int>": `{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}`,
	} {
		got, err := ParseSchema(text)
		if err != nil || got.JSON() != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", text, got.JSON(), err, want)
		}
	}
	for text, near := range map[string]string{
		"a int,": "end of input", "a": "end of input", "a int b int": "'b'", "a int default 5": "'default'",
		"a int NOT NULL NOT NULL": "'NOT'",
	} {
		_, err := ParseSchema(text)
		if e := planError(t, err); e == nil || e.Args["error"] != near {
			t.Errorf("%s: %v, want %s", text, err, near)
		}
	}
}

func TestCastsToBoundedStringsAreCastsToStrings(t *testing.T) {
	e, err := ParseExpr("CAST(a AS ARRAY<STRUCT<x: CHAR(3), y: MAP<VARCHAR(2), INT>>>)")
	if err != nil {
		t.Fatal(err)
	}
	if got := e.(*plan.Cast).To.SQL(); got != "ARRAY<STRUCT<x: STRING, y: MAP<STRING, INT>>>" {
		t.Error(got)
	}
}
