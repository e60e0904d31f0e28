"""Python functions in every place where a program may call them.

Recorded on Apache Spark 4.3.0 with PYSPARK_PYTHON set, TZ=UTC and
SPARK_REMOTE="local[2]" into functions.txt.
"""
import datetime
import decimal
import re
import sys
from typing import Iterator

import pandas as pd
import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
spark.conf.set("spark.sql.shuffle.partitions", "2")


def raised(error):
    """What went wrong: the class, and of an exception in a function its last line."""
    text = str(error).split("\n\nJVM stacktrace")[0]
    last = [line for line in text.splitlines() if re.match(r"[\w.]*(Error|Exit|Exception)\b", line)]
    inner = last[-1] if "Traceback" in text and last else ""
    condition = re.search(r"\[[A-Z_.]+\]", inner)
    return type(error).__name__, inner.split(":")[0].split(".")[-1], condition.group() if condition else ""


def show(name, make):
    try:
        rows = make()
        print(name, "=>", rows.collect() if hasattr(rows, "collect") else rows)
    except Exception as error:
        print(name, "=>", *raised(error))


df = spark.createDataFrame([(1, "a", 1.5), (2, None, None), (3, "c", -2.0)], "id long, k string, d double")
returns = [("long", 5), ("long", "5"), ("long", "x"), ("long", 2.7), ("long", True), ("long", None), ("int", 1 << 40), ("byte", 300), ("string", 5), ("string", 2.5),
           ("string", True), ("string", [1, 2]), ("string", {"a": 1}), ("double", 3), ("double", "2.5"), ("boolean", 1), ("boolean", "true"), ("boolean", False),
           ("date", datetime.date(2020, 1, 2)), ("date", datetime.datetime(2020, 1, 2, 3)), ("timestamp", datetime.datetime(2020, 1, 2, 3, 4, 5)), ("timestamp", datetime.date(2020, 1, 2)),
           ("decimal(5,2)", decimal.Decimal("1.005")), ("decimal(5,2)", decimal.Decimal("12345.6")), ("decimal(5,2)", 7), ("binary", b"xy"), ("binary", "xy"), ("binary", bytearray(b"q")),
           ("array<int>", [1, None]), ("array<int>", (1, 2)), ("array<int>", ["3"]), ("map<string,int>", {"a": 1}), ("struct<x:int,y:string>", (1, "b")), ("struct<x:int,y:string>", {"x": 1}),
           ("struct<x:int,y:string>", Row(x=1, y="z")), ("struct<x:int,y:string>", (1,)), ("float", 1.5), ("timestamp_ntz", datetime.datetime(2020, 1, 2)), ("interval day to second", datetime.timedelta(1))]
for arrow in (True, False):
    for t, v in returns:
        f = F.udf(lambda x, v=v: v, t, useArrow=arrow)
        show("%s %s %r" % ("101" if arrow else "100", t, v), lambda: df.limit(1).select(f("id").alias("r")))

src = spark.sql("""select 1Y b, 2S s, 3 i, 4L l, 1.5F f, 2.5D d, 1.25BD c, 'x' t, X'01' y, true o, date'2020-01-02' da, timestamp'2020-01-02 03:04:05.678' ts,
    timestamp_ntz'2020-01-02 03:04:05' tn, array(1,null) a, map('k',1) m, named_struct('p',1,'q','r') st, interval '1' day iv, cast(null as int) n""")
for arrow in (True, False):
    f = F.udf(lambda v: "%s %r" % (type(v).__name__, v), "string", useArrow=arrow)
    for c in src.columns:
        show("%s in %s" % ("101" if arrow else "100", c), lambda: src.select(f(c).alias("r")))
g = F.pandas_udf(lambda s: pd.Series(["%s %s %r" % (type(s).__name__, getattr(s, "dtype", ""), s.iloc[0])] * len(s)), "string")
for c in src.columns:
    if c != "st":
        show("200 in %s" % c, lambda: src.select(g(c).alias("r")))
h = F.pandas_udf(lambda s: s["p"] + 1, "long")
show("200 struct", lambda: src.select(h("st").alias("r")))
show("200 nulls", lambda: df.select(F.pandas_udf(lambda s: s.isna(), "boolean")("d").alias("r")))
show("200 frame", lambda: df.select(F.pandas_udf(lambda s: pd.DataFrame({"x": s, "y": s.astype(str)}), "x long, y string")("id").alias("r")))
show("200 short", lambda: df.select(F.pandas_udf(lambda s: s[:1], "long")("id").alias("r")))
show("200 str to long", lambda: df.select(F.pandas_udf(lambda s: s.astype(str), "long")("id").alias("r")))
show("200 float to int", lambda: df.select(F.pandas_udf(lambda s: s + 0.5, "long")("id").alias("r")))

plus = F.udf(lambda x: None if x is None else x + 1, "long")
odd = F.udf(lambda x: x % 2 == 1, "boolean")
text = F.udf(lambda *a: "/".join(map(str, a)), "string")
show("nested", lambda: df.select(plus(plus(plus("id"))).alias("r"), (plus(plus("id") * 10) + 1).alias("s"), plus("id").alias("t")))
show("where", lambda: df.where(odd("id") & (F.col("id") > 1)))
show("where and select", lambda: df.where(odd("id")).select(text("id", "k", "d").alias("r")))
show("case", lambda: df.select(F.when(odd("id"), plus("id")).otherwise(F.lit(-1)).alias("r")))
show("order", lambda: df.orderBy(F.udf(lambda x: -x, "long")("id")).select("id"))
show("group by", lambda: df.groupBy(odd("id").alias("o")).agg(F.count("*").alias("n")).orderBy("o"))
show("agg of", lambda: df.agg(F.sum(plus("id")).alias("r")))
show("of agg", lambda: df.groupBy().agg(plus(F.sum("id")).alias("r")))
show("group of agg", lambda: df.groupBy("k").agg(plus(F.sum("id")).alias("r")).orderBy("k"))
show("join", lambda: df.alias("a").join(df.alias("b"), odd(F.col("a.id") + F.col("b.id")) & (F.col("a.id") < F.col("b.id"))).select("a.id", "b.id"))
show("left join", lambda: df.alias("a").join(df.alias("b"), odd(F.col("a.id") + F.col("b.id")), "left").select("a.id", "b.id"))
show("explode", lambda: df.select("id", F.explode(F.udf(lambda x: list(range(x)), "array<int>")("id")).alias("e")))
show("no args", lambda: df.select(F.udf(lambda: 7, "int")().alias("r")))
show("literal", lambda: spark.range(2).select(text(F.lit("q"), "id").alias("r")))
show("kw", lambda: df.select(F.udf(lambda a, b=5: a * b, "long")("id", b=F.lit(3)).alias("r")))
show("limit", lambda: spark.range(5000).select(plus("id").alias("r")).limit(2))
show("count", lambda: [spark.range(25000).where(odd("id")).count()])
show("empty", lambda: df.where("id > 9").select(plus("id")))
show("union", lambda: df.select(plus("id").alias("r")).union(df.select(plus("id"))))
show("distinct", lambda: df.select(odd("id").alias("r")).distinct().orderBy("r"))
show("boom", lambda: df.select(F.udf(lambda x: 1 // (x - 2), "long")("id")))
show("exit", lambda: df.select(F.udf(lambda x: sys.exit(3), "long")("id")))
show("stop", lambda: df.select(F.udf(lambda x: next(iter([])), "long")("id")))
show("names", lambda: [df.select(plus("id"), text("id", F.lit(1)), F.udf(lambda x: x, "long")("id")).columns])
spark.udf.register("inc", lambda x: x + 1, "long")
spark.udf.register("plus2", plus)
show("sql", lambda: spark.sql("select inc(id) a, plus2(id) b, inc(inc(id)) c from range(3) where inc(id) > 1"))
show("sql unknown", lambda: spark.sql("select inc3(1)"))
show("sql count", lambda: spark.sql("select inc(id) % 2 k, count(*) n from range(10) group by inc(id) % 2 order by k"))


@F.pandas_udf("long")
def it(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for s in parts:
        yield s * 10


@F.pandas_udf("long")
def it2(parts: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
    for a, b in parts:
        yield a + b


@F.pandas_udf("long")
def itsizes(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for s in parts:
        yield pd.Series([len(s)] * len(s))


show("204", lambda: df.select(it("id").alias("r"), it(it("id")).alias("q"), it2("id", plus("id")).alias("s")))
show("204 sizes", lambda: spark.range(0, 25000, 1, 2).select(itsizes("id").alias("r")).distinct().orderBy("r"))
show("200 sizes", lambda: spark.range(0, 25000, 1, 2).select(F.pandas_udf(lambda s: pd.Series([len(s)] * len(s)), "long")("id").alias("r")).distinct().orderBy("r"))


def total(frames):
    yield pd.DataFrame({"n": [sum(len(f) for f in frames)]})


def sizes(frames):
    for f in frames:
        yield pd.DataFrame({"n": [len(f)], "c": [",".join(f.columns)]})


show("205", lambda: spark.range(0, 10, 1, 3).mapInPandas(total, "n long"))
show("205 sizes", lambda: spark.range(0, 25000, 1, 2).mapInPandas(sizes, "n long, c string"))
show("205 empty", lambda: spark.range(0, 0, 1, 2).mapInPandas(total, "n long"))
show("205 filtered", lambda: spark.range(0, 4, 1, 4).where("id = 2").mapInPandas(total, "n long"))
show("205 extra column", lambda: df.mapInPandas(lambda fs: (f.assign(z=1) for f in fs), "id long"))
show("205 missing", lambda: df.mapInPandas(lambda fs: (f[["id"]] for f in fs), "id long, zz long"))
show("205 order", lambda: df.mapInPandas(lambda fs: (f[["k", "id"]] for f in fs), "id long, k string"))
show("205 no frame", lambda: df.mapInPandas(lambda fs: (1 for f in fs), "id long"))
show("205 list", lambda: df.mapInPandas(lambda fs: [f[["id"]] for f in fs], "id long"))
show("205 nothing", lambda: df.mapInPandas(lambda fs: iter([]), "id long"))
show("205 types", lambda: df.mapInPandas(lambda fs: (pd.DataFrame({"t": [str(f.dtypes.to_dict())]}) for f in fs), "t string"))
show("205 limit", lambda: spark.range(0, 100000, 1, 1).mapInPandas(lambda fs: (f for f in fs), "id long").limit(3))
show("207", lambda: df.mapInArrow(lambda bs: (pa.RecordBatch.from_pydict({"n": [b.num_rows], "s": [str(b.schema.names)]}) for b in bs), "n long, s string"))
show("207 type", lambda: df.mapInArrow(lambda bs: (pa.RecordBatch.from_pydict({"n": ["x"]}) for b in bs), "n long"))


def norm(pdf):
    return pdf.assign(d=pdf["d"] - pdf["d"].mean())


def keyed(key, pdf):
    return pd.DataFrame({"k": [str(key)], "n": [len(pdf)], "c": [",".join(pdf.columns)]})


gd = spark.createDataFrame([(1, "a", 1.0), (1, "b", 3.0), (2, "c", 5.0), (None, "d", 7.0), (1, None, 8.0)], "g int, k string, d double")
show("201", lambda: gd.groupBy("g").applyInPandas(norm, "g int, k string, d double").orderBy("g", "d"))
show("201 key", lambda: gd.groupBy("g").applyInPandas(keyed, "k string, n long, c string"))
show("201 expr", lambda: gd.groupBy(F.col("g") % 2, "k").applyInPandas(keyed, "k string, n long, c string"))
show("201 all", lambda: gd.groupBy().applyInPandas(keyed, "k string, n long, c string"))
show("201 bad names", lambda: gd.groupBy("g").applyInPandas(lambda p: p[["g"]], "x int"))
show("201 position", lambda: gd.groupBy("g").applyInPandas(lambda p: pd.DataFrame([[1, "a"]]), "x int, y string"))
show("201 empty", lambda: gd.where("g > 5").groupBy("g").applyInPandas(norm, "g int, k string, d double"))
show("209", lambda: gd.groupBy("g").applyInArrow(lambda t: pa.table({"n": [t.num_rows]}), "n long"))
show("209 key", lambda: gd.groupBy("g").applyInArrow(lambda k, t: pa.table({"k": [str(k[0])], "n": [t.num_rows]}), "k string, n long"))
show("250", lambda: df.select(F.arrow_udf(lambda a: pa.compute.negate(a), "long")("id").alias("r")))
show("schema", lambda: [df.select(plus("id").alias("r")).schema.json(), df.mapInPandas(total, "n long").schema.json(), gd.groupBy("g").applyInPandas(norm, "g int, k string not null, d double").schema.json()])
show("partition id", lambda: spark.range(0, 4, 1, 2).select(F.udf(lambda x: __import__("pyspark").TaskContext.get().partitionId(), "int")("id").alias("r")))
spark.stop()
