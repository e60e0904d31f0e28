"""Records how Apache Spark 4.3.0 reads and writes JSON.

Run with pyspark==4.3.0 and Java 17; writes json_read.jsonl (schema, options,
hex bytes of the file, rows as CAST(struct(*) AS STRING) or the condition of
the error) and json_write.jsonl beside this file.
"""
import json, os, sys, tempfile
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp()
C = ", _corrupt_record STRING"

def lines(*x): return ("\n".join(x) + "\n").encode()

BROKEN = ['{"id":1,"k":"ok"}', '{"id":2,"k":', "not json", '{"id":"x","k":"bad int"}', '[{"id":3},{"id":4}]', '[]',
          '"text"', "5", "null", "", "   ", '{"id":5,"k":"ok"} trailing', "{}", '{"k":"no id"}', '[{"id":6},{"id":"x"}]', '[{"id":6},5]',
          '[{"id":6},null]', '[{"id":6}', '{"id":7,"k":"a","id":"x"}', '{"id":"x","k":"a","id":8}', '{"id":8,"id":9}', '{"id":1,"id":null}',
          '{"id":9,}', '{,"id":9}', '{"id" 9}', '{"id":9 "k":"x"}', '{"id":9}}', '{id:9}', "{'id':9,'k':'x'}", '{"id":9,"k":"tab\there"}',
          '{"id":9,"k":"\\q"}', '{"id":9,"k":"\\u00e9\\ud83d\\ude00\\ud800x\\udc00"}', '{"id":9,"k":"\\u12"}', '{"id":9,"k":tru}', '{"id":9,"k":true}',
          '{"id":9,"k":nulll}', '{"id":9,"zzz":[1,{"a":[}]}', '{"id":9,"zzz":{"a":{"b":[1,2,{"c":null}]}},"k":"z"}', '{"id":9,"zzz":tru,"k":"z"}',
          '\ufeff{"id":10}', '{"id":1}\r{"id":2}', '{"i\\u0064":11}', '// c', '/* c */{"id":12}', '{"id":13/* c */}', '{"ID":1,"K":"x"}',
          '{"id":+1}', '{"id":-}', '{"id":01}', '{"id":-01}', '{"id":1.}', '{"id":.5}', '{"id":1e}', '{"id":0x10}', '{"id":1,"k":"x"', '{"id":1', '{"id"', '{', '[', '{"id":1,"k":"unterminated',
          '{"id":1,"k":NaN}', '{"k":Infinity}', '{"k":-Infinity}', '{"k":+INF}', '{"k":INF}', '{"k":-INF}', '{"k":Infinit}', '{"k":nan}', '{"id":NaN}',
          '{"id":1}{"id":2}', '{"id":1},{"id":2}', '{"k":1.50}', '{"k":{"a": 1, "b":[1, 2]}}', '{"k":[ 1 ]}', '{"k":[}', '{"k":1e5}', '{"k":007}', '{"k":-0}', '{"k":""}']
NUM = ['{"i":2147483647}', '{"i":2147483648}', '{"i":-2147483648}', '{"i":1.0}', '{"i":1e2}', '{"i":"7"}', '{"i":true}', '{"i":[1]}', '{"i":{"a":1}}',
    '{"l":9223372036854775807}', '{"l":9223372036854775808}', '{"l":-9223372036854775808}', '{"l":-9223372036854775809}', '{"l":123456789012345678}', '{"l":1234567890123456789}', '{"l":-0}', '{"l":""}',
    '{"d":1}', '{"d":"NaN"}', '{"d":NaN}', '{"d":"Infinity"}', '{"d":"-INF"}', '{"d":"inf"}', '{"d":1e400}', '{"d":-1e400}', '{"d":"1.5"}', '{"d":""}', '{"d":true}', '{"d":0.1}', '{"d":123456789.123456789}', '{"d":1e-7}',
    '{"d":9007199254740993}', '{"d":0.30000000000000004}', '{"d":2.2250738585072014E-308}', '{"d":5e-324}', '{"d":-0}', '{"d":-0.0}', '{"d":12345678901234567890}', '{"d":1E+2}',
    '{"f":3.4e39}', '{"f":0.1}', '{"f":16777217}', '{"f":"NaN"}', '{"f":1.17549435E-38}', '{"f":1e-50}', '{"b":127}', '{"b":128}', '{"b":255}', '{"b":256}', '{"b":-128}', '{"b":-129}', '{"s":32767}', '{"s":32768}', '{"s":65535}',
    '{"x":1.234}', '{"x":1.235}', '{"x":-1.235}', '{"x":"1.23"}', '{"x":" 1.23"}', '{"x":123456.7}', '{"x":1e2}', '{"x":1e-10}', '{"x":""}', '{"x":NaN}', '{"x":true}', '{"x":"x"}', '{"x":9999.994}', '{"x":9999.995}',
    '{"t":true}', '{"t":false}', '{"t":"true"}', '{"t":1}', '{"t":"" }', '{"y":"AQI="}', '{"y":"AQI"}', '{"y":"zz!"}', '{"y":""}', '{"y":5}', '{"y":"A QI="}', '{"i":' + "1" * 1001 + '}', '{"d":' + "1" * 999 + '}']
TIME = ['{"d":"2024-01-02"}', '{"d":"2024-1-2"}', '{"d":"2024"}', '{"d":"2024-02-30"}', '{"d":"2024-01-02T10:00:00"}', '{"d":19723}', '{"d":"19"}', '{"d":"19723"}', '{"d":"x"}', '{"d":""}', '{"d":"2024-01-02GMT"}', '{"d":" 2024-01-02 "}',
    '{"t":"2024-01-02T03:04:05Z"}', '{"t":"2024-01-02 03:04:05.123456789"}', '{"t":"2024-01-02T03:04:05+01:00"}', '{"t":"2024-01-02T03:04:05 PST"}', '{"t":"2024-01-02T03:04:05GMT+01:00"}', '{"t":"2024-01-02"}', '{"t":1700000000}', '{"t":-1}', '{"t":1.5}', '{"t":99999999999999}',
    '{"t":"x"}', '{"t":""}', '{"t":"1700000000"}', '{"t":true}', '{"n":"2024-01-02T03:04:05"}', '{"n":"2024-01-02T03:04:05Z"}', '{"n":"2024-01-02"}', '{"n":5}', '{"n":""}', '{"n":"x"}']
NEST = ['{"a":[1,2,null]}', '{"a":[1,"x",3],"i":1}', '{"a":[],"i":1}', '{"a":5,"i":1}', '{"a":{"x":1},"i":1}', '{"a":[[1]],"i":1}', '{"a":[1,{"i":7}],"i":1}', '{"a":[1', '{"a":[1,]}',
    '{"s":{"x":1,"y":"k"}}', '{"s":{"x":"bad","y":"k"},"i":1}', '{"s":{},"i":1}', '{"s":null,"i":1}', '{"s":[1],"i":1}', '{"s":{"x":1,"x":2}}', '{"s":{"y":{"q":[1, 2]}}}', '{"s":{"X":1}}',
    '{"m":{"a":1,"b":null}}', '{"m":{"a":1,"a":2}}', '{"m":{},"i":1}', '{"m":{"a":"x","b":2},"i":1}', '{"m":{"b":2,"a":"x"},"i":1}', '{"m":[],"i":1}', '{"m":null}',
    '{"l":[{"x":1},{"x":"bad","y":"k"},null],"i":1}', '{"l":[{"x":1},5],"i":1}', '{"l":[{"x":1,"y":"a"}]}', '{"l":{"x":1},"i":1}', '{"q":[[1,2],[],null,[3]]}', '{"q":[[1,"x"],[2]],"i":1}', '{"q":[[1],2],"i":1}',
    '{"k":{"a":[1,2],"b":[3]}}', '{"k":{"a":[1,"x"],"b":[3]},"i":1}', '{"r":{"s":{"x":"bad","z":1},"i":5},"i":1}', '{"u":null,"i":1}', '{"u":5,"i":1}', '{"a":[1],"a":[2,3]}', '{"s":{"x":1},"s":{"y":"b"}}', '{"a":[1],"a":"x"}']
NUMS = "i INT, l BIGINT, d DOUBLE, f FLOAT, b TINYINT, s SMALLINT, x DECIMAL(6,2), t BOOLEAN, y BINARY"
NESTS = "i INT, a ARRAY<INT>, s STRUCT<x: INT, y: STRING>, m MAP<STRING, INT>, l ARRAY<STRUCT<x: INT, y: STRING>>, q ARRAY<ARRAY<INT>>, k MAP<STRING, ARRAY<INT>>, r STRUCT<s: STRUCT<x: INT, z: INT>, i: INT>, u VOID"
reads = []
for l in BROKEN:
    reads.append(("id INT, k STRING" + C, {}, lines(l)))
for mode in ["DROPMALFORMED", "FAILFAST", "LENIENT"]:
    for l in BROKEN[:20]:
        reads.append(("id INT, k STRING", {"mode": mode}, lines(l)))
for l in NUM: reads.append((NUMS + C, {}, lines(l)))
for l in TIME: reads.append(("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ" + C, {}, lines(l)))
for l in NEST: reads.append((NESTS + C, {}, lines(l)))
reads += [
    ("id INT, k STRING" + C, {"allowComments": "true"}, lines(*BROKEN[42:46])), ("id INT, k STRING" + C, {"allowUnquotedFieldNames": "true"}, lines("{id:9,k:'x'}", '{id :9}', "{1d:9}", "{i-d:1}", "{$_:1}")),
    ("id INT, k STRING" + C, {"allowSingleQuotes": "false"}, lines("{'id':9,'k':'x'}", '{"id":9,"k":"it\'s"}')), ("id INT, k STRING" + C, {"allowNumericLeadingZeros": "true"}, lines('{"id":007,"k":00}', '{"id":-00}')),
    ("d DOUBLE, k STRING" + C, {"allowNonNumericNumbers": "false"}, lines('{"d":NaN}', '{"d":"NaN"}', '{"d":-Infinity}')), ("id INT, k STRING" + C, {"allowBackslashEscapingAnyCharacter": "true"}, lines('{"k":"\\q\\\'\\d"}', '{"k":"\\u12"}')),
    ("id INT, k STRING" + C, {"allowUnquotedControlChars": "true"}, lines('{"k":"a\tb\x01c"}')), ("id INT", {"lineSep": ";"}, b'{"id":1};{"id":2}\n;;{"id":3}'), ("id INT", {"lineSep": "ab"}, b'{"id":1}ab{"id":2}aab{"id":3}ab'),
    ("id INT, k STRING" + C, {"multiLine": "true"}, b'[{"id":1},\n{"id":2,\n"k":"x"}]\n[{"id":3}]'), ("id INT" + C, {"multiLine": "true"}, b'{"id":1}\n{"id":2}'), ("id INT" + C, {"multiLine": "true"}, b'{"id":'), ("id INT" + C, {"multiLine": "true"}, b''),
    ("id INT" + C, {"multiLine": "true"}, '{"id":1}'.encode("utf-16")), ("id INT, k STRING" + C, {"multiLine": "true"}, '{"id":1,"k":"é"}'.encode("utf-16-le")), ("id INT, k STRING" + C, {"multiLine": "true"}, '{"id":1,"k":"é"}'.encode("utf-32-be")),
    ("id INT, k STRING" + C, {"encoding": "UTF-16LE", "lineSep": "\n"}, '{"id":1,"k":"é"}\n{"id":2,"k":1.50}\n'.encode("utf-16-le")), ("id INT, k STRING" + C, {"encoding": "ISO-8859-1"}, '{"id":1,"k":"é"}\n{"id":2,"k":1.50}\n'.encode("latin-1")),
    ("id INT, k STRING" + C, {"encoding": "UTF-8"}, b'{"id":1,"k":"\xff"}\n{"id":2,"k":1.50}\n{"k":{"a": [1, 2.50, "x", NaN]}}\n'), ("id INT, k STRING" + C, {}, b'{"id":1,"k":"\xff"}\n'), ("id INT, k STRING" + C, {}, b'{"id":1,"z":"\xff"}\n'), ("id INT, k STRING" + C, {}, b'{"id":1,"k":"\xe4\xb8"}\n'),
    ("id INT, k STRING" + C, {}, b'{"id":1,"k":"\xc3\xa9 \xf0\x9f\x98\x80"}\n'), ("id INT, k STRING" + C, {}, b'\xff{"id":1}\n'),
    ("t TIMESTAMP, d DATE, n TIMESTAMP_NTZ" + C, {"timestampFormat": "dd/MM/yyyy HH:mm", "dateFormat": "yyyyMMdd", "timestampNTZFormat": "yyyy-MM-dd HH:mm"}, lines('{"t":"31/12/2024 23:59","d":"20241231","n":"2024-01-01 10:00"}', '{"t":"2024-12-31 23:59:00"}', '{"t":"1/1/2024 0:00"}', '{"d":"2024-12-31"}', '{"n":"2024-01-01T10:00:00"}', '{"t":5}')),
    ("t TIMESTAMP, d DATE" + C, {"timestampFormat": "dd/MM/yyyy HH:mm", "dateFormat": "yyyyMMdd", "enableDateTimeParsingFallback": "true"}, lines('{"t":"2024-12-31 23:59:00"}', '{"d":"2024-12-31"}')),
    ("t TIMESTAMP" + C, {"timeZone": "America/Los_Angeles"}, lines('{"t":"2024-01-02 03:04:05"}')), ("bad STRING, id INT, k STRING", {"columnNameOfCorruptRecord": "bad"}, lines('{"id":1,"bad":"mine"}', '{"id":"x"}')),
    ("id INT, id2 INT" + C, {}, b''), ("id INT", {}, b'\n\n'), ("s STRING" + C, {}, lines('{"s":"' + "x" * 300 + '"}', '{"s":"' + "é" * 20 + '\\n"}')), ("s STRING" + C, {}, lines('{"s":' + "[" * 999 + "]" * 999 + '}', '{"s":' + "[" * 1000 + "]" * 1000 + '}')),
]
start = int(sys.argv[1]) if len(sys.argv) > 1 else 0  # goes on where a recording was cut off
with open(os.path.join(here, "json_read.jsonl"), "a" if start else "w") as f:
    for i, (schema, options, data) in enumerate(reads[start:]):
        path = os.path.join(tmp, f"{i}.json")
        open(path, "wb").write(data)
        o = {"schema": schema, "options": options, "file": data.hex()}
        try:
            df = spark.read.schema(schema).options(**options).json(path)
            o["type"] = df.schema.json()
            o["rows"] = [r[0] for r in df.selectExpr("CAST(struct(*) AS STRING)").collect()]
        except Exception as e:
            o["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
        f.write(json.dumps(o, ensure_ascii=False) + "\n")
        f.flush()

values = ["1 AS a, 'x' AS b, NULL AS c", "1.50 AS a, 1.0D AS b, 1e20D AS c, 1.5F AS d, CAST('NaN' AS DOUBLE) AS e, CAST('-Infinity' AS FLOAT) AS f", "DATE '2024-02-29' AS a, TIMESTAMP '2024-02-29 10:11:12.123456' AS b, TIMESTAMP_NTZ '2024-02-29 10:11:12.5' AS c, TIMESTAMP '2024-02-29 10:11:12' AS d",
    "DATE '+12345-02-28' AS a, TIMESTAMP '-0005-02-28 10:11:12' AS b", "array(1, NULL, 3) AS a, array() AS b, array(struct(1 AS x, NULL AS y)) AS c", "map('a', 1, 'b', NULL) AS a, map() AS b, map(1, 'x') AS c, map(DATE '2024-01-01', 2) AS d, map(TIMESTAMP '2024-01-01 00:00:00', 3, TIMESTAMP '2024-01-01 00:00:00.5', 4) AS e",
    "struct(1 AS x, NULL AS y) AS a, struct(NULL AS y) AS b", "X'616263' AS a, true AS b, 1Y AS c, 2S AS d, 3L AS e, CAST(1e-10 AS DECIMAL(20,12)) AS f, CAST(0 AS DECIMAL(10,8)) AS g", "INTERVAL '1' DAY AS a, INTERVAL '1-2' YEAR TO MONTH AS b, make_interval(1, 2, 3) AS c, INTERVAL '1 02:03:04.5' DAY TO SECOND AS d",
    "'q\"\\\\/\\n\\t\\b\\f\\ré😀<>&\\u2028\\u0001\\u007f' AS a", "NULL AS a", "map(struct(1,2), 1) AS a", "map(1.5D, 1) AS a, map(true, 2) AS b, map(CAST(1.50 AS DECIMAL(5,2)), 1) AS c, map(X'41', 1) AS d, map(INTERVAL '1' DAY, 1) AS e"]
with open(os.path.join(here, "json_write.jsonl"), "w") as f:
    for v in values:
        for zone in ["UTC", "America/Los_Angeles"]:
            spark.conf.set("spark.sql.session.timeZone", zone)
            for options in [{}, {"ignoreNullFields": "false"}, {"pretty": "true"}, {"timestampFormat": "yyyy/MM/dd HH:mm:ss.SSSSSS VV", "dateFormat": "dd.MM.yyyy", "timestampNTZFormat": "yyyy HH"}]:
                m = ", map(" + ", ".join(f"'{k}', '{x}'" for k, x in options.items()) + ")" if options else ""
                o = {"select": v, "zone": zone, "options": options}
                try:
                    df = spark.sql(f"SELECT struct({v}) AS c")
                    o["type"] = df.schema["c"].dataType.json()
                    o["text"] = spark.sql(f"SELECT to_json(struct({v}){m})").collect()[0][0]
                except Exception as e:
                    o["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
                f.write(json.dumps(o, ensure_ascii=False) + "\n")
