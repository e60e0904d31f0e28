"""Records how Apache Spark 4.3.0 (with spark-avro 4.2.0, the newest) reads and writes Avro files.

    python record_avro.py JARS

JARS is a folder with spark-avro_2.13-4.2.0.jar. Files made by Spark and by
fastavro go to avro/*.avro, observations to avro/cases.jsonl:

    read     files read with options and perhaps a schema: the schema and the rows, or the error
    write    the rows of one file written with options: the file that came out, or the error
    expr     an expression: its text, or the error
"""
import decimal
import glob
import io
import json
import os
import re
import shutil
import sys
import tempfile
import uuid

import fastavro
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "avro")
spark = (SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC")
         .config("spark.jars", ",".join(glob.glob(sys.argv[1] + "/*.jar")))
         .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
         .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
os.makedirs(HERE, exist_ok=True)
for old in glob.glob(HERE + "/*.avro"):
    os.remove(old)
out = open(HERE + "/cases.jsonl", "w")


def attempt(fn):
    try:
        return {"ok": fn()}
    except PySparkException as e:
        return {"condition": e.getCondition(), "state": e.getSqlState(), "args": e.getMessageParameters(),
                "text": str(e).split("\n")[0][:300]}
    except Exception as e:  # what Spark did not turn into an error of its own
        causes = re.findall(r"(?m)^(?:: |Caused by: )(\S+?)(?::|$)(.*(?:\n(?!\tat|Caused by|\t\.\.\.).+)*)", str(e))
        condition = re.match(r" \[([A-Z_.]+)\]", causes[0][1])
        return {"class": causes[0][0], "condition": condition and condition[1], "causes": [c[0] for c in causes[1:]],
                "text": causes[-1][1][:300]}


def say(what, name, **facts):
    text = json.dumps(dict(what=what, name=name, **facts), ensure_ascii=False, separators=(",", ":"))
    out.write(text.replace(HERE, "$ROOT") + "\n")


def keep(folder, name):
    """The one file that was written becomes NAME."""
    files = glob.glob(folder + "/*.avro")
    assert len(files) == 1, files
    shutil.copy(files[0], "%s/%s.avro" % (HERE, name))


def read(label, names, schema=None, select=None, **options):
    def go():
        r = spark.read.format("avro").options(**options)
        if schema:
            r = r.schema(schema)
        df = r.load([HERE + "/" + n for n in names])
        if select:
            df = df.select(*select)
        rows = [x[0] for x in df.select(F.struct("*").cast("string")).collect()]
        return {"schema": df.schema.json(), "count": len(rows), "rows": rows[:60]}
    say("read", label, files=names, schema=schema, select=select, options=options, **attempt(go))


def made(name, sql, **options):
    """A file of Spark."""
    folder = tempfile.mkdtemp() + "/x"
    spark.sql(sql).coalesce(1).write.format("avro").options(**options).save(folder)
    keep(folder, name)
    read(name, [name + ".avro"])


def foreign(name, schema, records, codec="null", **kw):
    """A file of fastavro."""
    with open("%s/%s.avro" % (HERE, name), "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), records, codec=codec, sync_marker=b"0123456789abcdef", **kw)
    read(name, [name + ".avro"])


def write(label, source, select=None, **options):
    folder = tempfile.mkdtemp() + "/x"
    name = "w_" + label.replace(" ", "_")

    def go():
        df = spark.read.format("avro").load(HERE + "/" + source)
        if select:
            df = df.selectExpr(*select)
        df.coalesce(1).write.format("avro").options(**options).save(folder)
        keep(folder, name)
        return name + ".avro"
    say("write", label, source=source, select=select, options=options, **attempt(go))


def expr(text):
    def go():
        df = spark.sql("SELECT " + text)
        name, df = df.columns[0], df.toDF("x")
        rows = df.collect()
        v = rows[0][0]
        shown = v if isinstance(v, (str, type(None))) else bytes(v).hex().upper() if isinstance(v, (bytes, bytearray)) else None
        if shown is None and v is not None:
            shown = df.select(F.col("x").cast("string")).collect()[0][0]
        return {"name": name, "type": df.schema[0].dataType.simpleString(), "nullable": df.schema[0].nullable, "value": shown}
    say("expr", text, **attempt(go))


def rec(*fields, **more):
    return dict({"type": "record", "name": "r", "fields": [
        {"name": n, "type": t, **(d or {})} for n, t, d in [(f + (None,))[:3] for f in fields]]}, **more)


ALL = ("SELECT * FROM VALUES (true, 1Y, 2S, 3, 4L, cast(1.5 as float), 2.5D, 'text', X'00ff', 12.34BD, "
       "cast(1234567890123456789.123 as decimal(30,3)), date'2024-02-29', timestamp'2024-02-29 10:11:12.123456', "
       "timestamp_ntz'2024-02-29 10:11:12.123456', interval '1-2' year to month, interval '1 02:03:04.5' day to second, "
       "array(1, null, 3), array('a', 'b'), map('k', 1, 'l', null), map('m', array(1.5D)), "
       "named_struct('a', 1, 'b', named_struct('c', 'x', 'd', array(named_struct('e', 1L))))), "
       "(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, "
       "null, null), "
       "(false, -128Y, -32768S, -2147483648, -9223372036854775808L, cast('-Infinity' as float), double('NaN'), "
       "'日本 \\'\"', X'', -99.99BD, cast(-999999999999999999999999999.999 as decimal(30,3)), date'0001-01-01', "
       "timestamp'0001-01-01 00:00:00', timestamp_ntz'9999-12-31 23:59:59.999999', interval '-1-2' year to month, "
       "interval '-1 02:03:04.5' day to second, array(), array(), map(), map(), named_struct('a', null, 'b', null)) "
       "AS t(bo, ti, sm, i, l, f, d, s, bi, dc, big, da, ts, ntz, ym, dt, ai, as, mi, ma, st)")
ONES = "SELECT id, concat('row ', id) s, if(id %% 3 = 0, null, id / 2) d FROM range(%d)"

made("all", ALL)
made("all_plain", ALL, compression="uncompressed")
for codec in ["uncompressed", "deflate", "snappy", "bzip2", "xz", "zstandard"]:
    made("codec_" + codec, ONES % 100, compression=codec)
made("many", "SELECT id, concat('a longer text of row ', id) s FROM range(20000)", compression="deflate")
made("empty", "SELECT * FROM (%s) WHERE id < 0" % (ONES % 3))
made("not_null", "SELECT id, 'x' AS s FROM range(2)")
made("void", "SELECT 1 a, null b")
made("named", ONES % 2, recordName="Thing", recordNamespace="a.b", compression="uncompressed")
made("nested_named", "SELECT named_struct('x', named_struct('y', id)) s, array(named_struct('z', id)) a, "
     "map('k', named_struct('z', id)) m FROM range(2)", recordNamespace="a.b", compression="uncompressed")
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.avro.datetimeRebaseModeInWrite", "LEGACY")
made("legacy", "SELECT date'1200-01-01' d, timestamp'1500-03-01 10:00:00.123456' t UNION ALL SELECT date'1582-10-15', "
     "timestamp'1582-10-15 00:00:00' UNION ALL SELECT date'2024-01-01', timestamp'2024-01-01 00:00:00' UNION ALL "
     "SELECT date'1582-10-04', timestamp'1582-10-04 23:59:59' UNION ALL SELECT date'0001-01-01', timestamp'0001-01-01 00:00:00'",
     compression="uncompressed")
spark.conf.unset("spark.sql.avro.datetimeRebaseModeInWrite")

foreign("primitives", rec(("n", "null"), ("b", "boolean"), ("i", "int"), ("l", "long"), ("f", "float"), ("d", "double"),
                          ("by", "bytes"), ("s", "string")),
        [{"n": None, "b": True, "i": -1, "l": 1 << 40, "f": 0.1, "d": 0.1, "by": b"\xff\x00", "s": "é"}])
lt = lambda t, l, **k: dict({"type": t, "logicalType": l}, **k)
foreign("logical", rec(
    ("da", lt("int", "date")),
    ("ms", lt("long", "timestamp-millis")), ("us", lt("long", "timestamp-micros")), ("lms", lt("long", "local-timestamp-millis")),
    ("lus", lt("long", "local-timestamp-micros")), ("dec", lt("bytes", "decimal", precision=9, scale=2)),
    ("fdec", lt({"type": "fixed", "name": "fd", "size": 5}["type"], "decimal", precision=9, scale=2, name="fd", size=5)),
    ("uu", lt("string", "uuid")), ("odd", lt("string", "what-is-it"))),
    [{"da": -1, "ms": -1, "us": -1, "lms": 1700000000123, "lus": 1700000000123456,
      "dec": decimal.Decimal("-1.23"), "fdec": decimal.Decimal("1234567.89"),
      "uu": "123e4567-e89b-12d3-a456-426614174000", "odd": "x"}])
foreign("times", rec(("tm", lt("int", "time-millis")), ("tu", lt("long", "time-micros"))), [{"tm": 1, "tu": 1}])
for schema in ["tm int", "tu long"]:
    read("times as " + schema, ["times.avro"], schema)
foreign("nanos", rec(("ns", lt("long", "timestamp-nanos")), ("lns", lt("long", "local-timestamp-nanos"))), [{"ns": 1234567, "lns": -1}])
foreign("duration", rec(("du", {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"})), [{"du": bytes(range(12))}])
foreign("uuid_fixed", rec(("u", {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"})), [{"u": bytes(range(16))}])
foreign("named_types", rec(
    ("e", {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]}),
    ("fx", {"type": "fixed", "name": "Four", "size": 4}), ("e2", "Suit"), ("ne", ["null", "Suit"]),
    ("inner", {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}]}), ("again", ["null", "In"]),
    namespace="x.y"),
    [{"e": "HEARTS", "fx": b"abcd", "e2": "SPADES", "ne": None, "inner": {"x": 1}, "again": {"x": 2}}])
foreign("unions", rec(
    ("nl", ["null", "long"]), ("ln", ["long", "null"]), ("il", ["int", "long"]), ("nil", ["null", "int", "long"]),
    ("fd", ["float", "double"]), ("idb", ["int", "double"]), ("is", ["int", "string"]), ("nis", ["null", "int", "string"]),
    ("one", ["string"]), ("on", ["null"]), ("ldb", ["long", "float"]),
    ("mix", ["null", "boolean", "bytes", {"type": "array", "items": "int"}, {"type": "map", "values": "string"},
             {"type": "record", "name": "Q", "fields": [{"name": "z", "type": ["null", "int"]}]},
             {"type": "enum", "name": "E", "symbols": ["A"]}, lt("long", "timestamp-millis")]),
    ("arr", {"type": "array", "items": ["null", "int", "string"]})),
    [{"nl": None, "ln": 5, "il": ("int", 7), "nil": ("long", 1 << 40), "fd": ("float", 0.5), "idb": ("int", 3), "is": 1,
      "nis": None, "one": "x", "on": None, "ldb": ("long", 3), "mix": None, "arr": [None, 1, "x"]},
     {"nl": 6, "ln": None, "il": ("long", 1 << 40), "nil": None, "fd": ("double", 0.25), "idb": ("double", 0.1), "is": "s",
      "nis": "t", "one": "y", "on": None, "ldb": ("float", 0.5), "mix": True, "arr": []},
     {"nl": 6, "ln": None, "il": ("long", 1), "nil": ("int", 4), "fd": ("double", 0.25), "idb": ("double", 0.1), "is": "s",
      "nis": 3, "one": "y", "on": None, "ldb": ("float", 0.5), "mix": b"x", "arr": []},
     ] + [{"nl": 6, "ln": None, "il": ("long", 1), "nil": ("int", 4), "fd": ("double", 0.25), "idb": ("double", 0.1), "is": "s",
      "nis": 3, "one": "y", "on": None, "ldb": ("float", 0.5), "mix": m, "arr": []} for m in
     ([1, 2], {"k": "v"}, ("Q", {"z": None}), ("A"), ("long", 1700000000123))])
read("stable identifiers", ["unions.avro"], enableStableIdentifiersForUnionType="true", select=["is", "nis", "mix", "arr"])
read("stable identifiers with a prefix", ["unions.avro"], enableStableIdentifiersForUnionType="true",
     stableIdentifierPrefixForUnionType="p_", select=["is", "nis"])
REC = rec(("v", "long"), ("next", ["null", "r"]))
foreign("recursive", REC, [{"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}}])
for depth in ["-1", "1", "2", "3", "15", "16"]:
    read("recursive to " + depth, ["recursive.avro"], recursiveFieldMaxDepth=depth)
foreign("recursive_list", rec(("v", "int"), ("kids", {"type": "array", "items": "r"}), ("m", {"type": "map", "values": "r"})),
        [{"v": 1, "kids": [{"v": 2, "kids": [], "m": {}}], "m": {}}])
for depth in ["1", "2"]:
    read("recursive lists to " + depth, ["recursive_list.avro"], recursiveFieldMaxDepth=depth)
foreign("no_record", {"type": "array", "items": "int"}, [[1, 2]])
foreign("no_fields", rec(), [{}, {}])
foreign("blocks", rec(("i", "int"), ("a", {"type": "array", "items": "int"}), ("m", {"type": "map", "values": "int"})),
        [{"i": i, "a": list(range(i % 5)), "m": {"k%d" % k: k for k in range(i % 3)}} for i in range(50)], sync_interval=20)
foreign("defaults", rec(("a", "int", {"default": 7}), ("b", ["null", "string"], {"default": None, "aliases": ["old"]})),
        [{"a": 1, "b": "x"}])
foreign("doubled_case", rec(("a", "int"), ("A", "int")), [{"a": 1, "A": 2}])
for codec in ["deflate", "snappy", "bzip2", "xz"]:
    foreign("foreign_" + codec, rec(("i", "int")), [{"i": i} for i in range(10)], codec=codec)
foreign("dates", rec(("d", lt("int", "date")), ("t", lt("long", "timestamp-micros")), ("m", lt("long", "timestamp-millis"))),
        [{"d": -1000000, "t": -70000000000000000, "m": -70000000000000}, {"d": 0, "t": 0, "m": 0}])
for mode in ["LEGACY", "CORRECTED", "EXCEPTION", "nope"]:
    read("rebase " + mode, ["dates.avro"], datetimeRebaseMode=mode)
    read("rebase by Spark " + mode, ["legacy.avro"], datetimeRebaseMode=mode)

P = "primitives.avro"
for schema in ["l long", "L long", "x int", "i long", "i double", "i float", "l int", "l double", "f double", "d float",
               "by string", "s binary", "i string", "b int", "s int", "i decimal(10,0)", "l timestamp", "l date", "i date",
               "i timestamp", "l timestamp_ntz", "n int", "n string", "i smallint", "i tinyint", "i boolean", "x int not null",
               "by decimal(5,0)", "l interval day to second", "i interval year", "s varchar(3)", "i struct<a:int>", "i array<int>",
               "s string, i int"]:
    read("primitives as " + schema, [P], schema)
for schema in ["da timestamp", "da int", "ms long", "us long", "us timestamp_ntz", "lus timestamp", "lms long", "dec decimal(12,4)",
               "dec decimal(5,1)", "dec binary", "dec string", "fdec decimal(9,2)", "fdec decimal(20,2)", "fdec decimal(9,4)",
               "fdec binary", "uu string", "ms date", "da string", "dec double"]:
    read("logical as " + schema, ["logical.avro"], schema)
for schema in ["e int", "fx string", "fx binary", "inner struct<X:long>", "inner struct<x:long,y:int>", "inner struct<y:int>",
               "ne string", "e binary", "inner map<string,int>"]:
    read("named types as " + schema, ["named_types.avro"], schema)
for schema in ["nl int", "il int", "nis struct<member0:int,member1:string>", "nis struct<member0:long,member1:string>",
               "nis string", "nis struct<a:int,b:string>", "fd float", "mix struct<member0:boolean>", "is string", "arr array<string>"]:
    read("unions as " + schema, ["unions.avro"], schema)
for schema in ["a array<long>", "a array<string>", "m map<string,long>", "m map<int,int>", "m map<string,string>"]:
    read("blocks as " + schema, ["blocks.avro"], schema)
read("two files, one schema", ["codec_snappy.avro", "all.avro"], "id long, i int, s string")
read("first file decides", ["not_null.avro", "codec_snappy.avro"])
read("a struct of a column", ["all.avro"], select=["st.b.d", "i"])
read("nothing of it", ["all.avro"], select=[])
for label, text in {
    "evolution": rec(("a", "long"), ("c", "string", {"default": "new"})),
    "evolution by alias": rec(("renamed", ["null", "string"], {"default": None, "aliases": ["b"]})),
    "evolution without default": rec(("a", "int"), ("c", "string")),
    "evolution to text": rec(("a", "string")),
    "evolution of a name": dict(rec(("a", "int")), name="other"),
    "evolution to null": rec(("a", ["null", "int"])),
    "evolution with many defaults": rec(
        ("x1", "int", {"default": 3}), ("x2", {"type": "array", "items": "int"}, {"default": [1, 2]}),
        ("x3", {"type": "map", "values": "string"}, {"default": {"k": "v"}}), ("x4", "bytes", {"default": "\u00ff"}),
        ("x5", {"type": "record", "name": "q", "fields": [{"name": "z", "type": "double", "default": 1.5}]}, {"default": {}}),
        ("x6", {"type": "enum", "name": "e", "symbols": ["A", "B"]}, {"default": "B"}),
        ("x7", ["null", "string"], {"default": None}), ("x8", ["string", "null"], {"default": "s"}),
        ("x9", lt("int", "date"), {"default": 1}), ("x10", "boolean", {"default": True})),
}.items():
    read(label, ["defaults.avro"], avroSchema=json.dumps(text))
    read(label + " and a schema", ["defaults.avro"], "a int, c string", avroSchema=json.dumps(text))
ENUM = {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "OTHER"], "default": "OTHER"}
read("evolution of an enum", ["named_types.avro"], avroSchema=json.dumps(rec(("e", ENUM), ("e2", "Suit"), namespace="x.y")))
read("evolution of an enum without default", ["named_types.avro"], avroSchema=json.dumps(
    rec(("e2", {k: v for k, v in ENUM.items() if k != "default"}), namespace="x.y")))
read("evolution of a fixed", ["named_types.avro"], avroSchema=json.dumps(
    rec(("fx", {"type": "fixed", "name": "Four", "size": 5}), namespace="x.y")))
read("evolution of unions", ["unions.avro"], avroSchema=json.dumps(
    rec(("nl", "long"), ("is", ["string", "int"]), ("il", "double"), ("one", ["null", "string"]))))
read("evolution of unions that fit", ["unions.avro"], avroSchema=json.dumps(
    rec(("is", ["string", "int"]), ("il", "double"), ("one", ["null", "string"]), ("fd", "double"))))
read("evolution of primitives", [P], avroSchema=json.dumps(
    rec(("i", "double"), ("l", "float"), ("f", "double"), ("by", "string"), ("s", "bytes"))))
read("bad avroSchema", [P], avroSchema="{")
read("bad avroSchema name", [P], avroSchema='{"type":"record","name":"a b","fields":[]}')
read("avroSchema of no record", [P], avroSchema='"int"')
read("positional", ["primitives.avro"], "a void, b boolean, c int, d bigint, e float, f double, g binary, h string",
     positionalFieldMatching="true")
read("positional fewer", ["primitives.avro"], "a void, b boolean", positionalFieldMatching="true")
read("positional more", ["defaults.avro"], "a int, b string, c int", positionalFieldMatching="true")
read("doubled case, one wanted", ["doubled_case.avro"], "a int")
shutil.copy(HERE + "/defaults.avro", HERE + "/defaults.data")
read("other extension", ["defaults.data"])
read("other extension, not ignored", ["defaults.data"], ignoreExtension="false")
read("other extension among others, not ignored", ["defaults.data", "defaults.avro"], ignoreExtension="false")
read("bad option", ["defaults.avro"], ignoreExtension="nope")
read("bad mode", ["defaults.avro"], mode="nope")
read("bad depth", ["defaults.avro"], recursiveFieldMaxDepth="x")

with open(HERE + "/all_plain.avro", "rb") as f:
    whole = f.read()


def broken(name, data, **options):
    with open("%s/%s.avro" % (HERE, name), "wb") as f:
        f.write(data)
    read(name, [name + ".avro"], **options)
    read(name + " with a schema", [name + ".avro"], "i int", **options)


broken("bad_magic", b"Obj\x02" + whole[4:])
broken("bad_short", whole[:3])
broken("bad_header", whole[:60])
broken("bad_cut", whole[:-30])
broken("bad_sync", whole[:-1] + b"!")
broken("bad_text", b"not avro at all, but long enough for a header of some kind")
read("bad files ignored", ["bad_cut.avro", "bad_sync.avro", "all_plain.avro"], "i int", ignoreCorruptFiles="true")
read("bad files ignored, schema too", ["bad_magic.avro", "defaults.avro"], ignoreCorruptFiles="true")

write("all plain", "all.avro", compression="uncompressed")
write("deflate", "codec_snappy.avro", compression="deflate")
write("zstandard", "codec_snappy.avro", compression="zstandard")
write("snappy", "codec_snappy.avro", compression="snappy")
write("bzip2", "codec_snappy.avro", compression="bzip2")
write("xz", "codec_snappy.avro", compression="xz")
write("bad codec", "codec_snappy.avro", compression="gzip")
write("upper codec", "codec_snappy.avro", compression="DEFLATE")
write("named", "codec_snappy.avro", recordName="Thing", recordNamespace="a.b", compression="uncompressed")
write("bad name", "codec_snappy.avro", recordName="a b")
write("logical", "logical.avro", compression="uncompressed")
write("unions", "unions.avro", compression="uncompressed")
write("nested", "nested_named.avro", compression="uncompressed")
write("blocks", "blocks.avro", compression="uncompressed")
write("void", "void.avro", compression="uncompressed")
write("odd column", "defaults.avro", select=["a as `a b`"])
write("dotted column", "defaults.avro", select=["a as `a.b`"])
write("umlaut column", "defaults.avro", select=["a as `ä`"], compression="uncompressed")
for label, source, select, schema in [
    ("schema null second", "defaults.avro", ["a"], rec(("a", ["int", "null"]))),
    ("schema not null", "defaults.avro", ["a"], rec(("a", "int"))),
    ("schema not null with a null", "codec_snappy.avro", ["d"], rec(("d", "double"))),
    ("schema wider", "defaults.avro", ["a"], rec(("a", "long"))),
    ("schema with more fields", "defaults.avro", ["a"], rec(("a", "int"), ("b", ["null", "int"], {"default": None}))),
    ("schema with more needed", "defaults.avro", ["a"], rec(("a", "int"), ("b", "int"))),
    ("schema with fewer", "defaults.avro", ["a", "b"], rec(("a", "int"))),
    ("schema of case", "defaults.avro", ["a as A"], rec(("a", "int"))),
    ("schema in other order", "defaults.avro", ["a", "b"], rec(("b", ["null", "string"]), ("a", ["null", "int"]))),
    ("schema of enum", "named_types.avro", ["e"], rec(("e", {"type": "enum", "name": "S", "symbols": ["HEARTS", "X"]}))),
    ("schema of other enum", "named_types.avro", ["e"], rec(("e", {"type": "enum", "name": "S", "symbols": ["X"]}))),
    ("schema of fixed", "named_types.avro", ["fx"], rec(("fx", {"type": "fixed", "name": "S", "size": 4}))),
    ("schema of other fixed", "named_types.avro", ["fx"], rec(("fx", {"type": "fixed", "name": "S", "size": 5}))),
    ("schema of millis", "logical.avro", ["us"], rec(("us", lt("long", "timestamp-millis")))),
    ("schema of plain long", "logical.avro", ["us"], rec(("us", "long"))),
    ("schema of decimal bytes", "logical.avro", ["dec"], rec(("dec", lt("bytes", "decimal", precision=9, scale=2)))),
    ("schema of wider decimal", "logical.avro", ["dec"], rec(("dec", lt("bytes", "decimal", precision=19, scale=2)))),
    ("schema of uuid", "logical.avro", ["uu"], rec(("uu", lt("string", "uuid")))),
    ("schema of date int", "logical.avro", ["da"], rec(("da", "int"))),
    ("schema of union", "unions.avro", ["nis"], rec(("nis", ["null", "int", "string"]))),
    ("schema of local millis", "logical.avro", ["lus"], rec(("lus", lt("long", "local-timestamp-millis")))),
    ("schema of bytes", "defaults.avro", ["b"], rec(("b", ["null", "bytes"]))),
    ("schema of namespace", "defaults.avro", ["a"], dict(rec(("a", "int")), namespace="n.s", doc="what", name="N")),
]:
    write(label, source, select, avroSchema=json.dumps(schema), compression="uncompressed")
write("positional", "defaults.avro", ["a as x", "b as y"], positionalFieldMatching="true", compression="uncompressed",
      avroSchema=json.dumps(rec(("a", ["null", "int"]), ("b", ["null", "string"]))))

R = '{"type":"record","name":"a","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","string"]}]}'
for text in [
    "to_avro(1)", "to_avro('x')", "to_avro(cast(null as int))", "to_avro(named_struct('a', 1, 'b', 'x'))",
    "to_avro(named_struct('x', 1, 'y', 'z'), '%s')" % R, "to_avro(1, '\"long\"')", "to_avro(1L, '\"long\"')", "to_avro(1, '{')",
    "to_avro(array(1, 2))", "to_avro(map('a', 1))", "to_avro(1.5BD)", "to_avro(timestamp'2024-01-01 00:00:00')",
    "to_avro(cast(null as int), '[\"null\",\"int\"]')", "to_avro(cast(null as int), '\"int\"')", "to_avro(5, '[\"null\",\"int\"]')",
    "to_avro('B', '{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}')", "to_avro(map(1, 2))", "to_avro(1, 2)", "to_avro(null)",
    "from_avro(X'02', '\"int\"')", "from_avro(X'', '\"int\"')", "from_avro(X'', '\"int\"', map('mode', 'PERMISSIVE'))",
    "from_avro(X'', '\"int\"', map('mode', 'DROPMALFORMED'))", "from_avro(X'', '\"int\"', map('mode', 'nope'))",
    "from_avro(X'0200027a', '%s')" % R, "from_avro(X'0202027a', '%s')" % R, "from_avro(X'02', '%s')" % R,
    "from_avro(X'02', '%s', map('mode', 'PERMISSIVE'))" % R, "from_avro(X'0202027a', '%s', map('avroSchema', '%s'))" % (
        R, R.replace('"name":"y"', '"name":"z","default":null')),
    "from_avro(cast(null as binary), '\"int\"')", "from_avro('x', '\"int\"')", "from_avro(1, '\"int\"')", "from_avro(X'02', '{')",
    "from_avro(X'02')", "from_avro(X'0404', '{\"type\":\"array\",\"items\":\"int\"}')", "from_avro(X'02020200', '{\"type\":\"array\",\"items\":\"int\"}')",
    "from_avro(X'02', '[\"null\",\"int\"]')", "from_avro(X'0206', '[\"int\",\"string\"]')", "from_avro(X'0006', '[\"int\",\"string\"]')",
    "from_avro(X'00', '\"string\"')", "from_avro(X'0202', '\"int\"')", "from_avro(X'02', cast(null as string))",
    "from_avro(X'02', '\"int\"', map('a', 1))", "from_avro(X'02', '\"int\"', 'x')",
    "schema_of_avro('%s')" % R, "schema_of_avro('\"int\"')", "schema_of_avro('{')", "schema_of_avro('[\"null\",\"int\",\"string\"]')",
    "schema_of_avro('[\"int\",\"string\"]', map('enableStableIdentifiersForUnionType', 'true'))", "schema_of_avro(1)",
    "schema_of_avro(cast(null as string))", "schema_of_avro(concat('\"in', 't\"'))",
]:
    expr(text)
for ty in ["make_interval(1, 1, 1)", "parse_json('1')", "map(1, 2)", "'a' COLLATE UTF8_LCASE", "array(make_interval(1, 1, 1))",
           "named_struct('a', map(1, 2))"]:
    folder = tempfile.mkdtemp() + "/x"
    say("refuse", ty, **attempt(lambda: spark.sql("SELECT %s AS c" % ty).write.format("avro").save(folder)))
out.close()
