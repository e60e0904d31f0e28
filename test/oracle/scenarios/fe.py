"""foreach: which partitions are opened, and in which of them rows are."""
import json
import os

import pandas as pd

from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

EV = "k string, n int, ts timestamp"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Writer:
    """Notes what it is called with, a line for each partition."""

    def __init__(self, log):
        self.log = log

    def open(self, partition, epoch):
        self.at, self.rows = [epoch, partition], []
        return True

    def process(self, row):
        self.rows.append(" ".join(str(v) for v in row))

    def close(self, error):
        line = json.dumps(self.at + [sorted(self.rows)]) + "\n"
        f = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(f, line.encode())
        os.close(f)


def events(first, last, late=0):
    return [{"k": "k%d" % (i % 7), "n": i, "ts": "2024-01-01 00:00:%02d" % (i - late)} for i in range(first, last)]


def run(t, name, df, mode="append", *more):
    """Runs a query over one file more for each of more, and notes what foreach saw."""
    log = t.out(name + ".log")
    q = t.start(name, df, mode=mode, sink="foreach", fn=Writer(log))
    return log, q


def seen(t, name, log):
    lines = []
    if os.path.exists(log):
        with open(log) as f:
            lines = sorted(json.loads(x) for x in f)
    t.note(name, lines)
    if os.path.exists(log):
        os.remove(log)


def each(t, shapes, *files):
    """Every shape over the same files, one step for each."""
    for name, (mode, shape) in shapes.items():
        a = t.input(name)
        log = t.out(name + ".log")
        df = shape(a.stream(EV).withWatermark("ts", "2 seconds"))
        t.start(name, df, mode=mode, sink="foreach", fn=Writer(log))
        for i, rows in enumerate(files):
            a.json(*rows)
            t.step("%s %d" % (name, i), name)
            seen(t, "%s %d" % (name, i), log)
        t.stop(name)


def fe_stateless(t):
    """Queries without state."""
    each(t, {
        "project": ("append", lambda df: df.select("k", "n")),
        "filter": ("append", lambda df: df.where("n > 100").select("k")),
        "explode": ("append", lambda df: df.select("k", F.explode(F.array("n", F.lit(0))))),
        "union": ("append", lambda df: df.select("n").union(df.select(-F.col("n")))),
        "part": ("append", lambda df: df.select("n", F.spark_partition_id())),
    }, events(0, 10), events(10, 14))


def fe_repartition(t):
    """Repartitioning."""
    each(t, {
        "three_by": ("append", lambda df: df.select("n").repartition(3, "n")),
        "by": ("append", lambda df: df.select("n").repartition("n")),
        "by_filter": ("append", lambda df: df.select("n").repartition("n").where("n > 100")),
        "coalesce": ("append", lambda df: df.select("n").union(df.select(-F.col("n"))).union(df.select(F.col("n") + 100)).coalesce(2)),
        "one": ("append", lambda df: df.select("n").coalesce(1)),
        "range": ("append", lambda df: df.select("n").repartition(8, "n").select("n", F.spark_partition_id())),
    }, events(0, 10), events(10, 14))


def fe_files(t):
    """Several files in a batch, big and small."""
    for count in (1, 2, 3, 5):
        name = "files%d" % count
        a = t.input(name)
        for i in range(count):
            a.json(*[{"k": "x", "n": i * 10 + j} for j in range(2)])
        log = t.out(name + ".log")
        t.start(name, a.stream("k string, n int").select("n"), sink="foreach", fn=Writer(log),
                trigger={"availableNow": True})
        t.step(name, name)
        seen(t, name, log)
        t.stop(name)


def fe_rate(t):
    """The rate source by its partitions."""
    log = t.out("rate.log")
    df = t.spark.readStream.format("rate-micro-batch").options(rowsPerBatch=10, numPartitions=3).load()
    q = t.start("rate", df.select("value"), sink="foreach", fn=Writer(log), trigger={"once": True})
    t.step("rate", "rate")
    seen(t, "rate", log)
    few = t.spark.readStream.format("rate-micro-batch").options(rowsPerBatch=2, numPartitions=5).load()
    log = t.out("few.log")
    t.start("few", few.select("value"), sink="foreach", fn=Writer(log), trigger={"once": True})
    t.step("few", "few")
    seen(t, "few", log)
    log = t.out("none.log")
    t.start("none", few.select("value").where("value < 0"), sink="foreach", fn=Writer(log), trigger={"once": True})
    t.step("none", "none")
    seen(t, "none", log)


def fe_aggregate(t):
    """Aggregations."""
    each(t, {
        "update": ("update", lambda df: df.groupBy("k").count()),
        "complete": ("complete", lambda df: df.groupBy("k").count()),
        "global": ("complete", lambda df: df.groupBy().count()),
        "two_keys": ("update", lambda df: df.groupBy("k", "n").count()),
        "computed": ("update", lambda df: df.groupBy((F.col("n") % 3).alias("m")).agg(F.sum("n"))),
        "window": ("append", lambda df: df.groupBy(F.window("ts", "3 seconds")).count().select("window.start", "count")),
        "window_update": ("update", lambda df: df.groupBy(F.window("ts", "3 seconds"), "k").count().select(
            "window.start", "k", "count")),
        "having": ("update", lambda df: df.groupBy("k").count().where("count > 100")),
    }, events(0, 10), events(10, 14))


def fe_sorted(t):
    """A result in order."""
    each(t, {"sorted": ("complete", lambda df: df.groupBy("k").count().orderBy("k")),
             "descending": ("complete", lambda df: df.groupBy("n").count().orderBy(F.desc("count"), F.desc("n"))),
             "one": ("complete", lambda df: df.groupBy(F.lit(1).alias("x")).count().orderBy("x"))},
         events(0, 10), events(5, 14))


def fe_session(t):
    """Sessions."""
    each(t, {
        "session": ("append", lambda df: df.groupBy(F.session_window("ts", "2 seconds"), "k").count().select(
            "session_window.start", "k", "count")),
        "session_complete": ("complete", lambda df: df.groupBy(F.session_window("ts", "2 seconds"), "k").count().select(
            "session_window.start", "k", "count")),
    }, events(0, 10), events(20, 24), events(40, 42))


def fe_dedup(t):
    """Deduplication and limits."""
    each(t, {
        "key": ("append", lambda df: df.dropDuplicates(["k"])),
        "key_and_time": ("append", lambda df: df.dropDuplicates(["k", "ts"])),
        "all": ("append", lambda df: df.select("k").distinct()),
        "within": ("append", lambda df: df.dropDuplicatesWithinWatermark(["k"])),
        "limit": ("append", lambda df: df.select("n").limit(12)),
        "limit_complete": ("complete", lambda df: df.groupBy("k").count().orderBy("k").limit(3)),
    }, events(0, 10), events(10, 14))


def fe_join(t):
    """Joins of two streams, of a stream with a static frame, and what comes after them."""
    static = t.spark.createDataFrame([("k%d" % i, i) for i in range(7)], "k string, s int")

    def sides(df):
        left = df.alias("l")
        right = df.select(F.col("k").alias("rk"), F.col("n").alias("rn"), F.col("ts").alias("rts")).alias("r")
        return left, right, (F.col("k") == F.col("rk")) & (F.col("ts") >= F.col("rts")) & (
            F.col("ts") <= F.col("rts") + F.expr("interval 1 second"))

    def both(how):
        def shape(df):
            left, right, on = sides(df)
            joined = left.join(right, on, how)
            return joined.select("k", "n") if how == "left_semi" else joined.select("k", "n", "rk", "rn")
        return shape
    each(t, {
        "inner": ("append", both("inner")),
        "left": ("append", both("left")),
        "full": ("append", both("full")),
        "semi": ("append", both("left_semi")),
        "static_left": ("append", lambda df: df.join(static.where("s < 2"), "k", "left").select("k", "n", "s")),
        "static_anti": ("append", lambda df: df.join(static.where("s < 2"), "k", "left_anti").select("k", "n")),
        "aggregated": ("update", lambda df: df.join(static, "k").groupBy("s").count()),
    }, events(0, 10), events(10, 14), events(30, 31))


def fe_static_merge(t):
    """A join with a static frame that is not broadcast."""
    t.conf("spark.sql.autoBroadcastJoinThreshold", "-1")
    static = t.spark.createDataFrame([("k%d" % i, i) for i in range(7)], "k string, s int")
    each(t, {
        "static": ("append", lambda df: df.join(static, "k").select("k", "n", "s")),
        "static_left": ("append", lambda df: df.join(static.where("s < 2"), "k", "left").select("k", "n", "s")),
        "static_anti": ("append", lambda df: df.join(static.where("s < 2"), "k", "left_anti").select("k", "n")),
        "static_agg": ("update", lambda df: df.join(static, "k").groupBy("k").count()),
        "right": ("append", lambda df: static.where("s < 2").join(df, "k", "right").select("k", "n", "s")),
    }, events(0, 10), events(10, 14))


def fe_chained(t):
    """Operators with state one after another."""
    def windows(df, by):
        return df.groupBy(F.window("ts", "3 seconds"), *by).agg(F.count("*").alias("c"))
    each(t, {
        "agg_agg": ("append", lambda df: windows(df, ["k"]).groupBy("window").agg(F.avg("c")).select("window.start", "avg(c)")),
        "dedup_agg": ("append", lambda df: windows(df.dropDuplicates(["k", "ts"]), ["k"]).select("window.start", "k", "c")),
        "agg_union": ("append", lambda df: windows(df, ["k"]).select("k", "c").union(windows(df, ["k"]).select("k", "c"))),
        "agg_repartition": ("append", lambda df: windows(df, ["k"]).select("k", "c").repartition(2, "k")),
        "same_keys": ("update", lambda df: df.repartition("k").groupBy("k").count()),
        "narrower": ("append", lambda df: windows(df.dropDuplicates(["k", "ts"]), ["k"]).where("k <> 'k3'").select("k", "c")),
    }, events(0, 10), events(10, 14), events(30, 31))


def pandas_rows(f):
    return pd.DataFrame({"k": [f["k"].iloc[0]], "n": [len(f)]})


def arrow_rows(table):
    import pyarrow as pa
    return pa.table({"k": [table.column("k")[0].as_py()], "n": [table.num_rows]})


def with_state(key, frames, state):
    n = (state.get[0] if state.exists else 0) + sum(len(f) for f in frames)
    state.update((n,))
    yield pd.DataFrame({"k": [key[0]], "n": [n]})


class Count(StatefulProcessor):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key, rows, timers):
        n = (self.n.get() or (0,))[0] + sum(len(f) for f in rows)
        self.n.update((n,))
        yield pd.DataFrame({"k": [key[0]], "n": [n]})

    def close(self):
        pass


def batches_of(batches):
    for b in batches:
        yield b


def fe_python(t):
    """Functions in Python."""
    t.conf("spark.sql.streaming.stateStore.providerClass", ROCKS)
    out = "k string, n long"
    plus = F.udf(lambda n: n + 1, "int")

    @F.pandas_udf("long")
    def total(n: pd.Series) -> int:
        return int(n.sum())
    each(t, {
        "udf": ("append", lambda df: df.select(plus("n"))),
        "map": ("append", lambda df: df.select("k", F.col("n").cast("long").alias("n")).mapInPandas(batches_of, out)),
        "groups": ("append", lambda df: df.groupBy("k").applyInPandas(pandas_rows, out)),
        "groups_arrow": ("append", lambda df: df.groupBy("k").applyInArrow(arrow_rows, out)),
        "groups_by_number": ("append", lambda df: df.groupBy(F.col("n") % 5).applyInPandas(pandas_rows, out)),
        "state": ("update", lambda df: df.groupBy("k").applyInPandasWithState(
            with_state, out, "n long", "update", "NoTimeout").select("k", F.col("n") + 0)),
        "processor": ("update", lambda df: df.groupBy("k").transformWithStateInPandas(Count(), out, "update", "None")),
    }, events(0, 10), events(10, 14))


def fe_batch_is_empty(t):
    """Batches without rows: files without lines, and those that only a watermark asks for."""
    a = t.input()
    log = t.out("a.log")
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    t.start("q", df.groupBy(F.window("ts", "1 second"), "k").count().select("k", "count"), sink="foreach", fn=Writer(log))
    a.put("")
    t.step("empty file", "q")
    seen(t, "empty file", log)
    a.json(*events(0, 3))
    t.step("three", "q")
    seen(t, "three", log)
    t.stop("q")
    b = t.input("b")
    log = t.out("b.log")
    t.start("r", b.stream(EV).select("n"), sink="foreach", fn=Writer(log))
    b.put("")
    t.step("empty file", "r")
    seen(t, "plain", log)


def fe_file_counts(t):
    """How many files a batch becomes."""
    from glob import glob
    for name, (mode, shape) in {
        "project": ("append", lambda df: df.select("n")),
        "filter": ("append", lambda df: df.select("n").where("n > 100")),
        "window": ("append", lambda df: df.groupBy(F.window("ts", "1 seconds"), "k").count().select("k", "count")),
        "dedup": ("append", lambda df: df.dropDuplicates(["k"])),
        "groups": ("append", lambda df: df.groupBy("k").applyInPandas(pandas_rows, "k string, n long")),
    }.items():
        a = t.input(name)
        df = shape(a.stream(EV).withWatermark("ts", "2 seconds"))
        t.start(name, df, mode=mode, sink="json")
        for rows in (events(0, 10), events(10, 14)):
            a.json(*rows)
            t.step(name, name)
        t.stop(name)
        files = sorted(os.path.basename(f)[:10] for f in glob(t.out(name) + "/*.json"))
        t.note(name, files)
