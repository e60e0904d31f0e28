"""Records what the variant functions and casts of Apache Spark 4.3.0 answer.

Run with pyspark==4.3.0 and Java 17 in this folder; writes variants.jsonl.gz: an expression, its name, type
and nullability, its value as text and, of a variant, its bytes; or the condition of the error with its
parameters.
"""
import gzip
import json

from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


TEXTS = ["null", "true", "false", "0", "1", "-1", "127", "128", "-128", "-129", "32767", "32768", "-32769",
         "2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
         "-9223372036854775808", "-9223372036854775809", "99999999999999999999999999999999999999",
         "100000000000000000000000000000000000000", "123456789012345678901234567890123456789012", "1.0", "1.50",
         "0.1", "-0.0", "-0", "0.0", "00", "01", "-01", "+1", ".5", "1.", "1e2", "1E+2", "1.5e-3", "1e400", "-1e400",
         "1e-400", "123456789.123456789", "999999999.9", "9999999999.9", "0.123456789", "0.1234567890",
         "12345678.1", "99999999999999999.9", "999999999999999999.9", "0.000000000000000000001",
         "0.00000000000000000000000000000000000001", "0.000000000000000000000000000000000000001",
         "12345678901234567890.123456789012345678", "12345678901234567890.1234567890123456789", "NaN", "Infinity",
         "-Infinity", "nul", "nulll", "tru", "True", '"a"', '""', '"' + "x" * 63 + '"', '"' + "x" * 64 + '"',
         '"\u00e9\u4e2d\U0001f600"', '"\\u0041\\n\\t\\"\\\\\\/\\b\\f\\r"', '"\\ud83d\\ude00"', '"\\x"', '"a', "'a'",
         '"a\tb"', '"a\nb"', "[]", "[ ]", "[1]", "[1,2,3]", "[1,]", "[,1]", "[1 2]", "[1,\"a\",null,true,[2,[3]],{\"k\":1}]",
         "[" + ",".join(["1"] * 255) + "]", "[" + ",".join(["1"] * 256) + "]",
         "[" + ",".join(["\"" + "y" * 60 + "\""] * 5) + "]",
         "{}", "{ }", '{"a":1}', '{"b":1,"a":2}', '{"b":{"c":1,"a":2},"a":3}', '{"a":1,"a":2}', '{"a":1,}', "{a:1}",
         "{'a':1}", '{"a" 1}', '{"a":}', '{"":1}', '{"\u00e9":1,"z":2,"A":3,"a":4}', '{"a":{"a":{"a":1}}}',
         '{"a\\u0062":1,"ab":2}', "{" + ",".join('"k%d":%d' % (i, i) for i in range(300)) + "}",
         "{" + ",".join('"k%03d":"%s"' % (i, "v" * 300) for i in range(3)) + "}", "", " ", "\n", " 1 ", "1 x", "1 2", "{} []",
         "[1] x", "[", "{", "]", "}", '{"a":1', "[[[[[[[[[[1]]]]]]]]]]", "// c\n1", "/* c */ 1", "\ufeff1", "x", "1x",
         "tru e", "-", "--1", "1.2.3", "0x10", "1_000"]
PARSED = ["parse_json(%s)" % quoted(t) for t in TEXTS] + ["try_parse_json(%s)" % quoted(t) for t in TEXTS[::3]] + [
    "parse_json(NULL)", "parse_json(1)", "parse_json(CAST(NULL AS STRING))", "parse_json()", "parse_json('1', '2')",
    "try_parse_json(NULL)", "parse_json(concat('[', '1', ']'))", "parse_json(X'31')", "parse_json(array(1))"]

DOC = ('{"i":12,"neg":-7,"big":9223372036854775807,"huge":12345678901234567890,"d":1.50,"f":1e2,"s":"text","n":null,"t":true,"num":"42",'
       '"day":"2021-03-04","ts":"2021-03-04 05:06:07","a":[1,2.5,"x",null,[7,8]],"o":{"k":1,"d e":"sp","k.l":5,"\'":6,"\\"":7},'
       '"os":[{"k":1},{"k":2}],"e":[],"eo":{},"ints":[1,2],"strs":["1","2"]}')
V = "parse_json(%s)" % quoted(DOC)
PATHS = ["$", "$.i", "$.a[0]", "$.a[4][1]", "$.a[9]", "$.a[-1]", "$.o.k", "$.o['d e']", '$.o["k.l"]', "$.o.k.l", "$['o']['k']", "$.missing",
         "$.n", "$.i.x", "$.a.x", "$.o[0]", "$.os[1].k", "$.e[0]", "", "i", "$i", "$.", "$[", "$[]", "$[a]", "$['a", "$.a[1", "$..k", "$.*", "$.a[*]",
         "$.I", " $.i", "$.i ", "$[0]", "$.o['k'", "$.o.d e", "$.a[01]", "$.a[99999999999]", "$.o['\"']", "$.o[\"'\"]", "$.t"]
FIELDS = ["i", "neg", "big", "huge", "d", "f", "s", "n", "t", "num", "day", "ts", "a", "o", "os", "e", "eo", "ints", "strs"]
TYPES = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(5,0)", "decimal(38,0)", "string", "binary", "boolean",
         "date", "timestamp", "timestamp_ntz", "array<int>", "array<string>", "array<variant>", "map<string,int>",
         "map<string,variant>", "struct<k:int,`d e`:string>", "struct<k:variant>", "array<struct<k:int>>", "variant", "array<array<int>>"]
GOT = ["variant_get(%s, %s)" % (V, quoted(p)) for p in PATHS]
GOT += ["try_variant_get(%s, %s)" % (V, quoted(p)) for p in PATHS[::4]]
GOT += ["%svariant_get(%s, '$.%s', '%s')" % (t, V, f, ty) for f in FIELDS for ty in TYPES for t in ("", "try_")]
GOT += ["variant_get(%s, '$.i', 'nosuch')" % V, "variant_get(%s, '$.i', 'map<int,int>')" % V, "variant_get(%s, '$.i', 'interval day')" % V,
        "variant_get(%s, '$.i', 'char(3)')" % V, "variant_get(%s, '$.i', 'time')" % V, "variant_get(%s, '$.i', NULL)" % V,
        "variant_get(%s, '$.i', concat('i', 'nt'))" % V, "variant_get(%s, NULL)" % V, "variant_get(%s, NULL, 'int')" % V, "variant_get(NULL, '$')",
        "variant_get(NULL, '$', 'int')", "variant_get('x', '$')", "variant_get(1, '$', 'int')", "variant_get(%s)" % V, "variant_get(%s, '$', 'int', 1)" % V,
        "variant_get(%s, 1)" % V, "variant_get(%s, '$.i', 1)" % V, "variant_get(%s, '$.i', '')" % V, "variant_get(%s, '$.a[1]', 'int')" % V,
        "variant_get(%s, '$.a[1]', 'string')" % V, "variant_get(CAST(NULL AS VARIANT), '$.a', 'int')",
        "%s:i" % V, "%s:a[0]" % V, "%s:o.k" % V, "%s:o['d e']::string" % V, "%s:os[1].k::int" % V, "%s:missing" % V, "%s:i::int + 1" % V,
        "%s:`i`" % V, "%s:['i']" % V, "%s:s::int" % V, "variant_get(%s, element_at(array('$.i'), 1), 'int')" % V]
LITERALS = ["1Y", "2S", "3", "4L", "-300", "70000", "5000000000L", "1.5F", "2.5D", "1.50BD", "CAST(1.5 AS DECIMAL(10,2))", "CAST(12345678901.5 AS DECIMAL(20,3))",
            "CAST(1234567890123456789012345.5 AS DECIMAL(38,2))", "CAST(0 AS DECIMAL(38,18))", "'abc'", "''", "'1'", "' 12 '", "'true'", "'2021-03-04'", "'2021-03-04 05:06:07'", "X'616263'", "X''", "true",
            "DATE '2021-03-04'", "TIMESTAMP '2021-03-04 05:06:07.891234'", "TIMESTAMP_NTZ '2021-03-04 05:06:07'", "TIMESTAMP '1900-01-01 00:00:00'",
            "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST('NaN' AS FLOAT)", "1e30D", "300.7D", "-0.0D", "128D", "CAST(NULL AS INT)", "NULL"]
CAST = ["CAST(%s AS VARIANT)" % v for v in LITERALS + [
    "array(1, NULL, 3)", "array()", "array(array('a'))", "array(parse_json('{\"a\":1}'), parse_json('2'), NULL)", "map('a', 1)", "named_struct('a', 1)", "INTERVAL '1' DAY",
    "array(named_struct('a', 1))", "TIME '01:02:03'"]]
CAST += ["schema_of_variant(CAST(%s AS VARIANT))" % v for v in LITERALS]
CAST += ["%s(CAST(%s AS VARIANT) AS %s)" % (c, v, t) for v in LITERALS[:-1] for t in TYPES[:15] for c in ("CAST", "TRY_CAST")]
OTHER = ["schema_of_variant(%s)" % v for v in [V, "parse_json('1')", "parse_json('[1,2.5]')", "parse_json('[1,\"a\"]')", "parse_json('[]')", "parse_json('{}')", "parse_json('null')", "parse_json('[null,1]')",
         "parse_json('[{\"a\":1},{\"b\":2}]')", "parse_json('[{\"a\":1},{\"a\":\"x\"}]')", "parse_json('{\"a b\":1,\"c\":[true]}')", "parse_json('[1.5,22.25,3]')", "parse_json('[1e2,3]')", "parse_json('[12345678901234567890,1.5]')",
         "parse_json('[[1],[\"a\"]]')", "parse_json('[[],[1]]')", "NULL", "CAST(NULL AS VARIANT)", "1", "'x'"]]
OTHER += ["is_variant_null(%s)" % v for v in ["parse_json('null')", "parse_json('1')", "CAST(NULL AS VARIANT)", "NULL", "1", "variant_get(parse_json('{\"a\":null}'), '$.a')", "variant_get(parse_json('{\"a\":null}'), '$.b')"]]
OTHER += ["to_variant_object(%s)" % v for v in ["named_struct('b', 1, 'a', 'x')", "map('b', 1, 'a', 2)", "array(named_struct('k', 1))", "named_struct('s', named_struct('x', NULL), 'm', map('k', array(1.5)))", "1", "'a'", "map(1, 2)", "NULL",
         "CAST(NULL AS STRUCT<a: INT>)", "array(1, 2)", "array()", "named_struct('v', parse_json('{\"z\":1,\"y\":2}'), 'a', 1)", "named_struct('a', 1, 'a', 2)", "named_struct('d', DATE '2021-03-04', 't', TIMESTAMP '2021-03-04 05:06:07', 'b', X'61')", "parse_json('1')", "map('a', INTERVAL '1' DAY)", "array(array(named_struct('a', map('x', 1L))))"]]
OTHER += ["to_json(%s)" % v for v in [V, "parse_json('1')", "parse_json('null')", "CAST(NULL AS VARIANT)", "named_struct('v', parse_json('{\"a\":null}'), 'n', CAST(NULL AS VARIANT))", "array(parse_json('1'), parse_json('\"x\"'))", "map('k', parse_json('[1]'))", "CAST(DATE '2021-03-04' AS VARIANT)", "CAST(X'616263' AS VARIANT)",
          "CAST(TIMESTAMP '2021-03-04 05:06:07.891234' AS VARIANT)", "CAST(CAST('NaN' AS DOUBLE) AS VARIANT)"]]
OTHER += ["from_json('{\"v\":{\"x\":[1,2.50]},\"w\":1}', 'v VARIANT, w INT')", "from_json('{\"v\":1}', 'VARIANT')", "from_json('[1,{\"a\":2}]', 'ARRAY<VARIANT>')", "from_json('{\"a\":1,\"b\":\"x\"}', 'MAP<STRING, VARIANT>')", "from_json('x', 'v VARIANT')",
          "from_json('{\"v\":null}', 'v VARIANT')", "from_json('{\"w\":1}', 'v VARIANT')", "from_json('x', 'VARIANT')"]
TOLD = ['{"v":{"x":[1,2.50]},"w":1}', '{"v":null,"w":2}', '{"w":3}', '{"v":"t"}', '{"v":1', "x", "", " ", '[{"v":7},{"v":8}]', '{"v":{"a":1,"a":2},"w":1}',
        '{"v":NaN}', '{"v":-Infinity}', '{"v":"a\u00e9"} ', '{"v":[1,{}],"v":2}', "5", '"s"', "null", "true", '{"v":1e400}', '{"v":[null,[true,1.0,12345678901234567890]]}',
        "{'v':{'a':1}}", '{"v":{"b":1,"a":2},"w":"x"}', "[1,null]", '[{"a":1,"a":2},1]', '{"x":{"x":1}}', '{"v":01}', '{"v":"a	b"}', "1 x", '{"v":1} x', '{"v":[1,}']
READ = ["from_json(%s, '%s')" % (quoted(t), s) for t in TOLD
        for s in ("v VARIANT, w INT", "VARIANT", "ARRAY<VARIANT>", "MAP<STRING, VARIANT>", "v STRUCT<x: VARIANT>", "v VARIANT, _corrupt_record STRING")]
READ += ["from_json(%s, 'VARIANT', map('mode', 'FAILFAST'))" % quoted(t) for t in ("x", "1")]
READ += ["from_json('{\"v\":/* x */[1]}', 'v VARIANT', map('allowComments', 'true'))", "from_json('{v:{a:1}}', 'v VARIANT', map('allowUnquotedFieldNames', 'true'))",
         "from_json('{\"v\":01}', 'v VARIANT', map('allowNumericLeadingZeros', 'true'))"]
P = "parse_json('1')"
OTHER += [e % ((P,) * e.count("%s")) for e in ["%s = %s", "%s < %s", "%s <=> %s", "%s IN (%s)", "greatest(%s, %s)", "coalesce(%s, %s)", "if(true, %s, %s)", "array(%s, %s)", "map('a', %s)", "map(%s, 1)", "array_sort(array(%s))", "sort_array(array(%s))", "array_distinct(array(%s))",
          "array_contains(array(%s), %s)", "hash(%s)", "xxhash64(%s)", "%s + 1", "length(%s)", "upper(%s)", "concat(%s, 'a')", "%s IS NULL", "%s IS NOT NULL", "typeof(%s)", "named_struct('a', %s)", "CASE WHEN true THEN %s ELSE NULL END", "%s || 'a'", "abs(%s)",
          "md5(%s)", "nvl(%s, 1)", "coalesce(%s, 1)", "array(%s, 1)", "%s::int", "%s = 1", "cast(%s as string)", "not %s", "size(%s)", "array(%s)[0]", "isnotnull(%s)", "to_csv(struct(%s))", "struct(%s) = struct(%s)", "max(%s)", "min(%s)", "count(%s)",
          "collect_list(%s)", "collect_set(%s)", "first(%s)", "count(distinct %s)", "sum(%s)", "any_value(%s)", "mode(%s)", "approx_count_distinct(%s)"]]


def told(x):
    """The condition and the parameters of an error, which Java may have told alone."""
    if hasattr(x, "getCondition"):
        return x.getCondition() or type(x).__name__, dict(x.getMessageParameters() or {})
    e = getattr(x, "java_exception", None)
    while e is not None:
        if hasattr(e, "getCondition") and "Spark" in e.getClass().getName():
            return e.getCondition() or e.getClass().getName(), dict(e.getMessageParameters())
        e = e.getCause()
    return type(x).__name__, {}


def main():
    with gzip.open("variants.jsonl.gz", "wt") as f:
        for e in dict.fromkeys(PARSED + GOT + CAST + OTHER + READ):
            out = {"expr": e}
            try:
                df = spark.sql("SELECT " + e + " AS c")
                out["type"], out["nullable"] = df.schema[0].dataType.simpleString(), df.schema[0].nullable
                try:
                    out["name"] = spark.sql("SELECT " + e).columns[0]
                except Exception:
                    pass
                out["value"] = df.selectExpr("CAST(c AS STRING)").collect()[0][0]
                if out["type"] == "variant" and out["value"] is not None:
                    v = df.collect()[0][0]
                    out["bytes"] = v.value.hex() + ":" + v.metadata.hex()
            except Exception as x:
                out.pop("value", None)
                out["error"], out["args"] = told(x)
            f.write(json.dumps(out, ensure_ascii=False) + "\n")


main()
