"""Small conditions: decimals that overflow, options, schemas and patterns that are none.

Recorded on Apache Spark 4.3.0 with PYSPARK_PYTHON set, TZ=UTC and
SPARK_REMOTE="local[2]" into conditions.txt.
"""
import os
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

work = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")


def show(label, make):
    try:
        print(label, "=>", [tuple(r) for r in make().collect()][:3])
    except Exception as e:
        known = e.getCondition() if hasattr(e, "getCondition") else None
        args = sorted((k, v) for k, v in (e.getMessageParameters() or {}).items() if k != "hint") if known else ""
        print(label, "=>", type(e).__name__, known, args)


def query(text):
    show(text, lambda: spark.sql(text))


def folder(name, text):
    os.makedirs(f"{work}/{name}")
    with open(f"{work}/{name}/data", "w") as f:
        f.write(text)
    return f"{work}/{name}"


print("-- decimals that overflow")
TWO = "(SELECT cast(9e37BD AS decimal(38,0)) d, 1 k FROM range(0, %d, 1, %d))"
for ansi in "true", "false":
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for call in "sum(d)", "avg(d)", "try_sum(d)", "try_avg(d)", "sum(DISTINCT d + k)":
        query(f"SELECT {call} FROM {TWO % (2, 1)}")
        query(f"SELECT {call} FROM {TWO % (4, 2)}")
        query(f"SELECT {call} FROM {TWO % (2, 2)}")
        query(f"SELECT k, {call} FROM {TWO % (2, 1)} GROUP BY k")
    for over in "", "PARTITION BY k", "ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW":
        for call in "sum(d)", "avg(d)", "try_sum(d)":
            query(f"SELECT {call} OVER ({over}) AS s FROM {TWO % (2, 1)}")
    query("SELECT sum(d), count(DISTINCT d) FROM " + TWO % (2, 1))
    query("SELECT sum(v) FROM VALUES (9223372036854775807L), (1L) AS t(v)")
    query("SELECT sum(v) OVER () FROM VALUES (9223372036854775807L), (1L) AS t(v)")
spark.conf.set("spark.sql.ansi.enabled", "true")
SIGNS = "(SELECT cast(if(id = 2, -9e37BD, 9e37BD) AS decimal(38,0)) d, 1 k FROM range(0, 3, 1, 1))"
query(f"SELECT sum(d) FROM {SIGNS}")
query(f"SELECT sum(d) OVER () FROM {SIGNS}")
query(f"SELECT k, sum(d) FROM {SIGNS} GROUP BY k")
query("SELECT avg(d) FROM (SELECT cast(5e33BD AS decimal(38,0)) d FROM range(0, 50000, 1, 1))")
query("SELECT avg(d) FROM VALUES (9999999999999999999999999999.9999999999BD) AS t(d)")
query("SELECT 99999999999999999999999999999999999998BD / 0.3BD")
for p, s in (38, 10), (38, 0), (38, 38), (38, 34), (36, 4), (35, 10), (10, 2), (37, 6), (30, 30):
    query(f"SELECT typeof(avg(cast(NULL AS decimal({p},{s})))), typeof(sum(cast(NULL AS decimal({p},{s}))))")

print("-- options of CSV")
lines = folder("csv", "a,b\n1,'x'\n")
for options in (
    {"quote": "''"}, {"escape": "ab"}, {"escape": ""}, {"comment": "##"}, {"charToEscapeQuoteEscaping": "xy"}, {"sep": "\\x"},
    {"sep": "||"}, {"sep": ",1"}, {"sep": "\\t"}, {"sep": "\\\\"}, {"sep": "é"}, {"maxColumns": "x"}, {"header": "maybe"},
    {"multiLine": "maybe"}, {"quoteAll": "maybe"}, {"unescapedQuoteHandling": "odd"}, {"lineSep": ""}, {"encoding": "nope"},
    {"timeZone": "Nowhere"}, {"mode": "odd"},
):
    show(f"read {options}", lambda: spark.read.options(**options).csv(lines))
    show(f"from_csv {options}", lambda: spark.range(1).select(F.from_csv(F.lit("1,'x'"), "a string, b string", options)))
    show(f"to_csv {options}", lambda: spark.range(1).select(F.to_csv(F.struct(F.lit("a,'\"b"), F.lit("")), options)))
for make in (
    lambda: spark.read.csv(lines, sep=""), lambda: spark.range(1).select(F.from_csv(F.lit("1"), "a int", {"sep": ""})),
    lambda: spark.range(1).select(F.to_csv(F.struct(F.lit("1")), {"sep": ""})),
):
    show("an empty separator", make)

print("-- schemas")
SCHEMAS = [
    "", " ", "a", "a int,", "a int b int", "a nosuch", "a array<int>", "array<int>", "int", "map<string,int>", "a map<string,int>",
    "a struct<x:int>", "a void", "a time", "{bad", "struct<a:int>", "a char(3)", "a varchar(3)", "a decimal(50,1)", "a geometry",
    "a int not null", "int not", "a int,,b int", "map<int,int>", "a map<struct<x:int>,int>", '"integer"',
]
for name, text in ("from_csv", "1"), ("from_json", '{"a":1}'):
    for schema in SCHEMAS:
        show(f"{name} {schema!r}", lambda: spark.range(1).select(getattr(F, name)(F.lit(text), schema)))
    for schema in T.ArrayType(T.IntegerType()), T.IntegerType(), T.StructType([T.StructField("a", T.NullType())]):
        show(f"{name} {schema}", lambda: spark.range(1).select(getattr(F, name)(F.lit(text), schema)))
    for args in "NULL", "1", "'a int', 'y'", "'a int', map('mode', 1)", "'a int', map('mode', 'DROPMALFORMED')":
        query(f"SELECT {name}('x', {args})")

print("-- patterns of dates")
csv = folder("dates.csv", "2020-01-02,2020-01-02 03:04:05\n")
json = folder("dates.json", '{"a":"2020-01-02","b":"2020-01-02 03:04:05"}\n')
DATES = "a date, b timestamp"
both = F.struct(F.lit("2020-01-02").cast("date").alias("a"), F.lit("2020-01-02 03:04:05").cast("timestamp").alias("b"))
for option in "dateFormat", "timestampFormat", "timestampNTZFormat":
    for pattern in "YYYY-ww", "yyyyyyyyy", "bad'", "qqqqq", "AAA", "dd/MM/yyyy", "e", "E", "VVV", "{}", "[yyyy":
        given = {option: pattern}
        show(f"csv {given}", lambda: spark.read.schema(DATES).options(**given).csv(csv))
        show(f"json {given}", lambda: spark.read.schema(DATES).options(**given).json(json))
        show(f"text csv {given}", lambda: spark.read.schema("a string").options(**given).csv(csv))
        show(f"text json {given}", lambda: spark.read.schema("a string").options(**given).json(json))
        show(f"any csv {given}", lambda: spark.read.option("inferSchema", "true").options(**given).csv(csv))
        show(f"any json {given}", lambda: spark.read.options(**given).json(json))
        show(f"from_json {given}", lambda: spark.range(1).select(F.from_json(F.lit('{"a":"2020-01-02"}'), "a date", given)))
        if option != "dateFormat" or pattern not in ("bad'", "VVV"):
            show(f"to_csv {given}", lambda: spark.range(1).select(F.to_csv(both, given)))
            show(f"to_json {given}", lambda: spark.range(1).select(F.to_json(both, given)))
