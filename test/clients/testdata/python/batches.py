"""foreachBatch and foreach: what their functions see, and what is seen of them.

Recorded on Apache Spark 4.3.0 with PYSPARK_PYTHON set, TZ=UTC and
SPARK_REMOTE="local[2]" into batches.txt.
"""
import os
import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

work = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
spark.conf.set("spark.sql.shuffle.partitions", "2")
source, log = work + "/in", work + "/log"
os.makedirs(log)
spark.range(4).selectExpr("id", "concat('r', id) as name").coalesce(1).write.json(source)
stream = spark.readStream.schema("id long, name string").json(source)
spark.createDataFrame([(1, "one"), (3, "three")], "id long, word string").createOrReplaceTempView("words")
offset = 100


def note(kind, *values):
    with open(f"{log}/{kind}", "a") as f:
        f.write(" ".join(map(str, values)) + "\n")


def show(*kinds):
    for kind in kinds:
        lines = open(f"{log}/{kind}").read().splitlines() if os.path.exists(f"{log}/{kind}") else []
        print(kind, sorted(lines))


def run(name, writer, mode="append"):
    q = writer.outputMode(mode).option("checkpointLocation", f"{work}/{name}").trigger(availableNow=True).start()
    try:
        q.awaitTermination()
        print(name, "ended", q.lastProgress["sink"]["numOutputRows"] if q.lastProgress else None)
    except Exception as e:
        print(name, type(e).__name__, e.getCondition(), "ValueError: " in str(e), "SECRET" in str(e))
    return q


def many_reads(df, batch):
    df.persist()
    note("reads", batch, df.isStreaming, df.columns, df.count(), [r.id for r in df.orderBy(F.desc("id")).collect()])
    df.createOrReplaceTempView("mine")
    s = df.sparkSession
    note("sql", s.sql("select sum(id) + %d as n from mine" % offset).collect()[0].n)
    note("join", sorted(r.word for r in s.table("words").join(df, "id").collect()))
    note("same", df.sparkSession.table("mine").count(), SparkSession.active().session_id == s.session_id)
    s.conf.set("spark.sql.shuffle.partitions", "7")
    df.write.mode("append").parquet(work + "/out")
    df.unpersist()


run("reads", stream.writeStream.foreachBatch(many_reads))
show("reads", "sql", "join", "same")
print("outside", spark.catalog.tableExists("mine"), spark.conf.get("spark.sql.shuffle.partitions"))
print("written", sorted(r.id for r in spark.read.parquet(work + "/out").collect()))


def ignored(df, batch):
    pass


run("ignored", stream.writeStream.foreachBatch(ignored))


def counted(df, batch):
    note("counted", batch, sorted((r.k, r.n) for r in df.collect()))


run("counted", stream.groupBy((F.col("id") % 2).alias("k")).agg(F.count("*").alias("n")).writeStream.foreachBatch(counted), "complete")
show("counted")


def fails(df, batch):
    raise ValueError("bad batch %d" % batch)


q = run("fails", stream.writeStream.foreachBatch(fails))
print("exception", "bad batch 0" in str(q.exception()), "in fails" in str(q.exception()))


def analysis(df, batch):
    df.select("nosuch").collect()


q = run("analysis", stream.writeStream.foreachBatch(analysis))
print("condition", "UNRESOLVED_COLUMN" in str(q.exception()))


def spark_of_client(df, batch):
    note("client", spark.range(3).count(), spark.table("words").count())


run("client", stream.writeStream.foreachBatch(spark_of_client))
show("client")


class Writer:
    def open(self, partition, epoch):
        note("open", partition, epoch)
        return partition == 0

    def process(self, row):
        note("process", row.id, row["name"], type(row).__name__)

    def close(self, error):
        note("close", repr(error))


run("writer", stream.writeStream.foreach(Writer()))
show("open", "process", "close")
run("function", stream.writeStream.foreach(lambda row: note("function", row)))
show("function")


class Broken(Writer):
    def process(self, row):
        raise ValueError("row %d" % row.id)


run("broken", stream.writeStream.foreach(Broken()))
show("close")
plus = F.udf(lambda x: x + 1, "long")
run("udf", stream.where(plus("id") > 2).select(plus(plus("id")).alias("r")).writeStream.foreachBatch(lambda df, b: note("udf", df.collect())))
show("udf")
run("map", stream.mapInPandas(lambda frames: (f.assign(id=f["id"] * 2) for f in frames), stream.schema).writeStream.foreachBatch(lambda df, b: note("map", df.collect())))
show("map")
spark.stop()
