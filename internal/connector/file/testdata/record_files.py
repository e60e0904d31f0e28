"""Records how Apache Spark 4.3.0 reads and writes files, for the tests of the file formats.

    python record_files.py > files.jsonl

Every line is one observation: {"what": …, …}. Files get modification times of
2024-06-01 plus as many seconds as files were made before.
"""
import datetime
import glob
import json
import os
import re
import sys
import tempfile
import time

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
         .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
clock = [1717200000]


def put(path, text, mtime=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    clock[0] += 1
    os.utime(path, (mtime or clock[0],) * 2)


def say(root, what, **facts):
    text = json.dumps(dict(facts, what=what), ensure_ascii=False, separators=(",", ":"))
    text = re.sub(r"file:/+" + root.strip("/"), "file:$ROOT", text).replace(root, "$ROOT")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", text)
    print(text)
    sys.stdout.flush()


def attempt(fn):
    try:
        return {"ok": fn()}
    except PySparkException as e:
        return {"condition": e.getCondition(), "state": e.getSqlState(), "args": e.getMessageParameters(),
                "text": str(e).split("\n")[0][:300]}
    except Exception as e:  # the class of the JVM's exception
        return {"class": type(e).__name__, "text": str(e).split("\n")[0][:300]}


def logs(folder):
    out = {}
    for name in sorted(os.listdir(folder)):
        if name[0] != ".":
            out[name] = open(folder + "/" + name).read().split("\n")
    return out


def tree(folder):
    out = []
    for base, _, files in os.walk(folder):
        out += [os.path.relpath(os.path.join(base, f), folder) for f in files if not f.endswith(".crc")]
    return sorted(out)


def run(root, stream, ck, sink="noop", **sink_options):
    w = stream.writeStream.format(sink).options(**sink_options).option("checkpointLocation", ck)
    q = w.trigger(availableNow=True).start()
    q.awaitTermination()
    return q


def admission():
    for sizes, options in [
        ([40, 40, 40, 40, 40], {"maxBytesPerTrigger": "80"}), ([40, 40, 40, 40, 40], {"maxBytesPerTrigger": "79"}),
        ([200, 40, 40, 200, 40, 10], {"maxBytesPerTrigger": "80"}), ([40, 200, 10, 10], {"maxBytesPerTrigger": "70"}),
        ([40] * 5, {"maxFilesPerTrigger": "2"}), ([40] * 5, {"maxFilesPerTrigger": "2", "latestFirst": "true"}),
        ([30, 40, 50, 60], {"maxBytesPerTrigger": "100", "latestFirst": "true"}),
        ([40] * 4, {"maxFilesPerTrigger": "3", "discardCachedInputRatio": "0"}),
    ]:
        root = tempfile.mkdtemp()
        for i, size in enumerate(sizes):
            text = '{"id":%d' % i
            put("%s/in/f%d.json" % (root, i), text + " " * (size - len(text) - 2) + "}\n")
        df = spark.readStream.schema("id int").options(**options).json(root + "/in")
        run(root, df, root + "/ck")
        say(root, "admission", sizes=sizes, options=options, log=logs(root + "/ck/sources/0"))


def same_time():
    root = tempfile.mkdtemp()
    for name in ["b.json", "a.json", "k=1/c.json", "B.json", "c.json"]:
        put(root + "/in/" + name, '{"id":1}\n', 1717200000)
    df = spark.readStream.schema("id int").json(root + "/in")
    run(root, df, root + "/ck")
    say(root, "same time", log=logs(root + "/ck/sources/0"))
    root = tempfile.mkdtemp()
    for name in ["b.json", "a.json", "x/c.json", "x/a/d.json", "a/z.json", "a/_hidden/z.json", "a/.h/z.json"]:
        put(root + "/in/" + name, '{"id":1}\n', 1717200000)
    df = spark.readStream.schema("id int").option("recursiveFileLookup", "true").json(root + "/in")
    run(root, df, root + "/ck")
    say(root, "same time recursive", log=logs(root + "/ck/sources/0"))


def compaction():
    root = tempfile.mkdtemp()
    spark.conf.set("spark.sql.streaming.fileSource.log.compactInterval", "3")
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "3")
    spark.conf.set("spark.sql.streaming.fileSource.log.cleanupDelay", "0")
    spark.conf.set("spark.sql.streaming.fileSink.log.cleanupDelay", "0")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
    for i in range(11):
        put("%s/in/f%d.json" % (root, i), '{"id":%d}\n' % i)
        df = spark.readStream.schema("id int").json(root + "/in")
        run(root, df, root + "/ck", "json", path=root + "/out")
        source, sink = logs(root + "/ck/sources/0"), logs(root + "/out/_spark_metadata")
        say(root, "compaction", batch=i, source=source if i in (5, 8) else sorted(source),
            sink={n: len(v) - 1 for n, v in sink.items()})
    for key in ["fileSource.log.compactInterval", "fileSink.log.compactInterval", "fileSource.log.cleanupDelay",
                "fileSink.log.cleanupDelay", "minBatchesToRetain"]:
        spark.conf.unset("spark.sql.streaming." + key)


def partitions():
    for dirs in [
        ["a=1", "a=2"], ["a=1", "a=3000000000"], ["a=1", "a=x"], ["a=1.5", "a=1"], ["a=1.5", "a=3000000000"],
        ["a=12345678901234567890"], ["a=12345678901234567890", "a=1.5"], ["a=2024-01-01", "a=2024-02-30"],
        ["a=2024-01-01"], ["a=2024-1-1"], ["a=2024-01-01 10%3A00%3A00"], ["a=2024-01-01", "a=2024-01-01 10%3A00%3A00"],
        ["a=__HIVE_DEFAULT_PARTITION__"], ["a=__HIVE_DEFAULT_PARTITION__", "a=1"], ["a=01", "a=1"], ["a=1e3"], ["a=1E400"],
        ["a=NaN"], ["a=1d"], ["a=true"], ["a=x%2Fy%3Dz"], ["a=+5"], ["a= 5"], ["A=1", "A=2"], ["a=1/b=x", "a=2/b=y"],
        ["a=1", "b=2"], ["a=1/b=2", "a=2"], ["sub/a=1"], ["sub/a=1", "other/a=2"], ["a=1/x"], ["a=1/x/b=2"], ["a="],
        ["a=1", "."], ["a=9223372036854775808"], ["a=1.0"], ["_temporary/a=1", "a=2"], ["a=2024-01-01 10%3A00%3A00.123456"],
        ["a=0001-01-01"], ["a=2024-01-01T10%3A00%3A00"], ["%41=1"],
    ]:
        root = tempfile.mkdtemp()
        for i, d in enumerate(dirs):
            put("%s/in/%s/f.json" % (root, d), '{"id":%d}\n' % i)

        def read():
            df = spark.read.schema("id int").json(root + "/in")
            rows = df.select("id", *[F.col("`%s`" % c).cast("string") for c in df.columns[1:]]).collect()
            return {"schema": df.schema.simpleString(), "rows": sorted([list(r) for r in rows])}
        say(root, "partitions", dirs=dirs, **attempt(read))


def partition_types():
    for dirs, schema in [(["a=1"], "id int, a string"), (["a=x"], "id int, a int"), (["a=1"], "a int, id int"),
                         (["a=2024-01-01"], "id int, A date"), (["a=1.5"], "id int, a decimal(5,2)"),
                         (["a=1/b=2"], "id int, b string"), (["a=300"], "id int, a tinyint")]:
        root = tempfile.mkdtemp()
        for i, d in enumerate(dirs):
            put("%s/in/%s/f.json" % (root, d), '{"id":%d}\n' % i)

        def read(reader):
            df = reader.schema(schema).json(root + "/in")
            return {"schema": df.schema.simpleString()} if df.isStreaming else {
                "schema": df.schema.simpleString(), "rows": [[str(x) for x in r] for r in df.collect()]}
        say(root, "partition types", dirs=dirs, user=schema, batch=attempt(lambda: read(spark.read)),
            stream=attempt(lambda: read(spark.readStream)))


def escaping():
    values = ["plain", "a b", "x/y", "k=v", "50%", "", None, "é", "日本", "a:b", "q\"'", "br{a}[c]", "*?#\\", "tab\there",
              "dot.", "~", "^", "\x01", "\x7f", "a,b;c", "!@$&()+-", "<>|"]
    root = tempfile.mkdtemp()
    df = spark.createDataFrame([(i, v) for i, v in enumerate(values)], "id int, p string").coalesce(1)
    df.write.partitionBy("p").json(root + "/out")
    names = {}
    for d in os.listdir(root + "/out"):
        for f in glob.glob(glob.escape(root + "/out/" + d) + "/part*"):
            for line in open(f):
                names[json.loads(line)["id"]] = d
    back = spark.read.json(root + "/out").collect()
    say(root, "escaping", values=values, dirs=[names.get(i) for i in range(len(values))],
        back=sorted([r.id, r.p] for r in back))
    types = ("cast(1.5 as double) d, date'2024-02-29' day, timestamp'2024-01-01 10:00:00.5' ts, true b, "
             "cast(1 as decimal(5,2)) dec, X'0a' bin, timestamp_ntz'2024-01-01 10:00:00' ntz, 7Y y, cast(0.1 as float) f")
    spark.sql("select 1 id, " + types).write.partitionBy(
        "d", "day", "ts", "b", "dec", "ntz", "y", "f").json(root + "/types")
    say(root, "typed directories", files=[re.sub(r"part-.*", "part", f) for f in tree(root + "/types")])


def batch_writes():
    root = tempfile.mkdtemp()
    df = spark.range(0, 4, 1, 2)
    write = lambda d, mode, **o: d.write.mode(mode).options(**o).json(root + "/out")
    names = lambda: [re.sub(r"<uuid>|[0-9a-f-]{36}", "<uuid>", f) for f in tree(root + "/out")]
    for label, fn in [
        ("create", lambda: write(df, "errorifexists")), ("again", lambda: write(df, "errorifexists")),
        ("ignore", lambda: write(df, "ignore")), ("append", lambda: write(df, "append")),
        ("overwrite", lambda: write(df.where("id > 0"), "overwrite")),
        ("empty", lambda: write(df.where("id > 10"), "overwrite")),
        ("no partitions", lambda: write(spark.createDataFrame([], "id int"), "overwrite")),
        ("gzip", lambda: write(df.coalesce(1), "overwrite", compression="gzip")),
        ("bad codec", lambda: write(df.coalesce(1), "overwrite", compression="nope")),
        ("many records", lambda: write(df.coalesce(1), "overwrite", maxRecordsPerFile="3")),
    ]:
        say(root, "write " + label, **attempt(fn), files=names())
    two = spark.createDataFrame([(1, "a", 1), (2, "b", 2)], "id int, p string, q int").coalesce(1)
    for label, fn in [
        ("all partitions", lambda: two.write.partitionBy("id", "p", "q").json(root + "/p1")),
        ("missing", lambda: two.write.partitionBy("nope").json(root + "/p1")),
        ("case", lambda: two.write.partitionBy("P").json(root + "/p1")),
        ("array", lambda: two.withColumn("arr", F.array("id")).write.partitionBy("arr").json(root + "/p2")),
        ("duplicate", lambda: two.write.partitionBy("p", "p").json(root + "/p3")),
        ("dynamic", lambda: (two.write.partitionBy("p").json(root + "/p4"), two.where("id = 1").write.mode("overwrite")
                             .option("partitionOverwriteMode", "dynamic").partitionBy("p").json(root + "/p4"))[0]),
        ("text two columns", lambda: two.write.text(root + "/t1")),
        ("text int", lambda: two.select("id").write.text(root + "/t1")),
        ("text partitioned", lambda: two.select("p", "q").write.partitionBy("q").text(root + "/t2")),
        ("json void", lambda: two.select(F.lit(None)).write.json(root + "/t3")),
        ("parquet void", lambda: two.select(F.lit(None)).write.parquet(root + "/t4")),
        ("parquet duplicate", lambda: two.select("id", "id").write.parquet(root + "/t5")),
        ("parquet no columns", lambda: two.select().write.parquet(root + "/t6")),
        ("json interval", lambda: spark.sql("select make_interval(1)").write.json(root + "/t7")),
        ("parquet interval", lambda: spark.sql("select make_interval(1)").write.parquet(root + "/t8")),
        ("csv array", lambda: spark.sql("select array(1)").write.csv(root + "/t9")),
        ("orc", lambda: two.write.orc(root + "/t10")),
        ("parquet codecs", lambda: [two.write.option("compression", c).parquet(root + "/c/" + c)
                                    for c in ["none", "snappy", "gzip", "zstd", "lz4"]][0]),
        ("json codecs", lambda: [two.write.option("compression", c).json(root + "/d/" + c)
                                 for c in ["none", "gzip", "deflate", "bzip2", "zstd", "snappy", "lz4"]][0]),
    ]:
        say(root, "write " + label, **attempt(fn))
    say(root, "written", files=[re.sub(r"part-(\d+)-[0-9a-f-]{36}", r"part-\1-<uuid>", f) for f in tree(root)])


def batch_reads():
    root = tempfile.mkdtemp()
    put(root + "/in/a.json", '{"id":1}\n')
    put(root + "/in/b.txt", "x\n")
    put(root + "/in/empty.json", "")
    os.makedirs(root + "/void")
    put(root + "/bad/a.parquet", "no parquet")
    put(root + "/badgz/a.json.gz", "no gzip")
    for label, fn in [
        ("missing", lambda: spark.read.schema("id int").json(root + "/nope").schema.simpleString()),
        ("missing with scheme", lambda: spark.read.schema("id int").json("file://" + root + "/nope").schema.simpleString()),
        ("missing space", lambda: spark.read.schema("id int").json(root + "/no pe").schema.simpleString()),
        ("glob nothing", lambda: spark.read.schema("id int").json(root + "/nope*/x").schema.simpleString()),
        ("two paths one missing", lambda: spark.read.schema("id int").json([root + "/in", root + "/nope"]).schema.simpleString()),
        ("infer empty json", lambda: spark.read.json(root + "/void").schema.simpleString()),
        ("infer empty parquet", lambda: spark.read.parquet(root + "/void").schema.simpleString()),
        ("infer empty csv", lambda: spark.read.csv(root + "/void").schema.simpleString()),
        ("infer empty text", lambda: spark.read.text(root + "/void").schema.simpleString()),
        ("no path", lambda: spark.read.schema("id int").format("json").load().schema.simpleString()),
        ("empty with schema", lambda: spark.read.schema("id int").json(root + "/void").count()),
        ("text schema", lambda: spark.read.schema("v string").text(root + "/in").schema.simpleString()),
        ("text int schema", lambda: spark.read.schema("v int").text(root + "/in").schema.simpleString()),
        ("text two columns", lambda: spark.read.schema("v string, w string").text(root + "/in").schema.simpleString()),
        ("bad parquet", lambda: spark.read.schema("id int").parquet(root + "/bad").collect()),
        ("bad parquet infer", lambda: spark.read.parquet(root + "/bad").schema.simpleString()),
        ("bad gzip", lambda: spark.read.schema("id int").json(root + "/badgz").collect()),
        ("ignore corrupt", lambda: spark.read.schema("id int").option("ignoreCorruptFiles", "true").parquet(root + "/bad").count()),
        ("glob filter", lambda: sorted(x.value for x in spark.read.option("pathGlobFilter", "*.txt").text(root + "/in").collect())),
        ("file as path", lambda: spark.read.schema("id int").json(root + "/in/a.json").count()),
        ("modified after", lambda: spark.read.schema("id int").option("modifiedAfter", "2030-01-01T00:00:00").json(root + "/in").count()),
        ("interval column", lambda: spark.read.schema("id interval").json(root + "/in").schema.simpleString()),
        ("failfast", lambda: spark.read.schema("id int").option("mode", "FAILFAST").json(root + "/in/b.txt").collect()),
        ("duplicate column", lambda: spark.read.schema("id int, ID int").json(root + "/in").schema.simpleString()),
    ]:
        say(root, "read " + label, **attempt(fn))
    for label, options in [("bad files", {"maxFilesPerTrigger": "0"}), ("bad files text", {"maxFilesPerTrigger": "x"}),
                           ("bad bytes", {"maxBytesPerTrigger": "-1"}), ("bad latest", {"latestFirst": "maybe"}),
                           ("bad age", {"maxFileAge": "x"}), ("bad name only", {"fileNameOnly": "1"}),
                           ("bad clean", {"cleanSource": "burn"}), ("archive without dir", {"cleanSource": "archive"}),
                           ("bad cached", {"maxCachedFiles": "-1"}), ("bad ratio", {"discardCachedInputRatio": "2"})]:
        q = spark.readStream.schema("id int").options(**options).json(root + "/in").writeStream.format("noop").option(
            "checkpointLocation", root + "/ck-" + label).trigger(availableNow=True).start()
        say(root, "stream option " + label, options=options, **attempt(lambda: q.awaitTermination()),
            cause=str(q.exception()).split("\n")[0][-220:])
    for label, options in [("description", {}), ]:
        os.makedirs(root + "/with space")
        for path in [root + "/with space", root + "/in/*.json", "file:" + root + "/in", root + "/in/"]:
            q = spark.readStream.schema("id int").json(path).writeStream.format("noop").trigger(availableNow=True).start()
            q.awaitTermination()
            p = q.lastProgress
            say(root, "description", path=path, text=p["sources"][0]["description"] if p else None)


for part in (admission, same_time, compaction, partitions, partition_types, escaping, batch_writes, batch_reads):
    if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
        print(part.__name__, file=sys.stderr)
        part()
spark.stop()
