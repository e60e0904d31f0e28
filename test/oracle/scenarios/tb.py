"""transformWithState without a stream: what batch queries make of states, timers and times to live."""
import pandas as pd

from pyspark.sql import Row, functions as F
from pyspark.sql.streaming import StatefulProcessor

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
OUT = "k string, what string"
ROWS = [("a", 1, "2024-01-01 00:00:05"), ("a", 2, "2024-01-01 00:00:01"), (None, 3, "2024-01-01 00:00:09"),
        ("b", 4, "2024-01-01 00:00:20"), ("c", None, None)]


def says(key, *parts):
    return pd.DataFrame({"k": [key[0]], "what": [" ".join(str(p) for p in parts)]})


def frame(t, rocks=True):
    if rocks:
        t.conf("spark.sql.streaming.stateStore.providerClass", ROCKS)
    return t.spark.createDataFrame(ROWS, "k string, v int, ts string").withColumn("ts", F.col("ts").cast("timestamp"))


def tws(df, processor, mode="update", time_mode="None", initial=None, out=OUT, **more):
    return df.groupBy("k").transformWithStateInPandas(processor, out, mode, time_mode, initial, **more)


def attempt(t, label, df, ordered=False):
    t.expect_error(label, lambda: t.rows(label, df, ordered))


class Base(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def close(self):
        pass


class Count(Base):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key, rows, timers):
        n = (self.n.get() or (0,))[0] + sum(len(f) for f in rows)
        self.n.update((n,))
        yield says(key, n)


class Timers(Base):
    """Timers in the past, now and in the future."""

    def __init__(self, *at):
        self.at = at

    def handleInputRows(self, key, rows, timers):
        list(rows)
        now, mark = timers.getCurrentProcessingTimeInMs(), timers.getCurrentWatermarkInMs()
        for at in self.at:
            self.handle.registerTimer(at)
        yield says(key, "rows", now > 1704067200000, mark, sorted(self.handle.listTimers()) if self.at else None)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield says(key, "timer", expiredTimerInfo.getExpiryTimeInMs(), timerValues.getCurrentWatermarkInMs(),
                   sorted(self.handle.listTimers()))


def tb_timers(t):
    """Timers of both clocks, in the past and in the future."""
    df = frame(t)
    attempt(t, "processing time", tws(df, Timers(5, 9999999999999), "update", "ProcessingTime"))
    attempt(t, "event time without watermark", tws(df, Timers(5, 9999999999999), "update", "EventTime"))
    marked = df.withWatermark("ts", "1 second")
    attempt(t, "event time", tws(marked, Timers(5, 9999999999999), "append", "EventTime"))
    attempt(t, "no time", tws(df, Timers(5), "append"))
    attempt(t, "no timers", tws(df, Timers(), "append"))


class Late(Base):
    def handleInputRows(self, key, rows, timers):
        yield says(key, sorted(str(v) for f in rows for v in f["v"]))


def tb_modes(t):
    """Output modes, other state stores, event time that goes on."""
    df = frame(t, rocks=False)
    attempt(t, "default store", tws(df, Count()))
    df = frame(t)
    for mode in ("append", "update", "complete"):
        t.expect_error(mode, lambda: t.rows(mode, tws(df, Count(), mode)))
    attempt(t, "late", tws(df.withWatermark("ts", "0 seconds"), Late(), "append", "EventTime"))
    out = "k string, what string, ts timestamp"

    class Times(Base):
        def handleInputRows(self, key, rows, timers):
            for f in rows:
                yield pd.DataFrame({"k": f["k"], "what": f["v"].astype(str), "ts": f["ts"]})
    named = tws(df.withWatermark("ts", "0 seconds"), Times(), "append", "EventTime", out=out, eventTimeColumnName="ts")
    attempt(t, "named event time", named)
    attempt(t, "named event time without watermark", tws(df, Times(), "append", "EventTime", out=out,
                                                         eventTimeColumnName="ts"))
    attempt(t, "unknown event time", tws(df.withWatermark("ts", "0 seconds"), Times(), "append", "EventTime", out=out,
                                         eventTimeColumnName="zz"))
    attempt(t, "windowed", named.groupBy(F.window("ts", "10 seconds")).count().select("window.start", "count"))


class Lives(Base):
    def init(self, handle):
        self.v = handle.getValueState("v", "n int", 1000000)
        self.l = handle.getListState("l", "n int", 1000000)
        self.m = handle.getMapState("m", "k int", "n int", 1000000)

    def handleInputRows(self, key, rows, timers):
        for f in rows:
            for v in f["v"].dropna():
                self.v.update((int(v),))
                self.l.appendValue((int(v),))
                self.m.updateValue((int(v),), (1,))
        yield says(key, self.v.get(), list(self.l.get()), sorted(self.m.iterator()))


def tb_ttl(t):
    """Times to live."""
    df = frame(t)
    attempt(t, "processing time", tws(df, Lives(), "update", "ProcessingTime"))
    attempt(t, "no time", tws(df, Lives(), "update", "None"))


class First(Base):
    def init(self, handle):
        self.handle = handle
        self.n = handle.getValueState("n", "n long")

    def handleInitialState(self, key, initial, timers):
        n = self.n.get()[0] if self.n.exists() else 0
        self.n.update((n + int(initial["start"].sum()),))
        if timers.getCurrentProcessingTimeInMs() > 0:
            self.handle.registerTimer(7)

    def handleInputRows(self, key, rows, timers):
        n = self.n.get()
        list(rows)
        self.n.update((-1,))
        yield says(key, n, self.n.get())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield says(key, "timer", expiredTimerInfo.getExpiryTimeInMs(), self.n.get())


class FirstRows(First):
    def handleInitialState(self, key, initial, timers):
        n = self.n.get()[0] if self.n.exists() else 0
        self.n.update((n + initial.start,))

    def handleInputRows(self, key, rows, timers):
        yield Row(k=key[0], what="%s %s" % (self.n.get(), sorted(str(r.v) for r in rows)))


def tb_initial(t):
    """States that begin from a relation."""
    df = frame(t)
    first = t.spark.createDataFrame([("a", 100), ("a", 10), ("x", 7), (None, 4)], "key string, start long")
    attempt(t, "pandas", tws(df, First(), initial=first.groupBy("key")))
    attempt(t, "with timers", tws(df, First(), "update", "ProcessingTime", initial=first.groupBy("key")))
    attempt(t, "rows", df.groupBy("k").transformWithState(FirstRows(), OUT, "update", "None", first.groupBy("key")))
    attempt(t, "other types that fit", tws(df, First(), initial=t.spark.range(2).selectExpr(
        "cast('a' as varchar(5)) id", "id start").groupBy("id")))
    attempt(t, "no rows", tws(df.where("v > 100"), First(), initial=first.groupBy("key")))


class Wrong(Base):
    def __init__(self, init=None, rows=None):
        self.on_init, self.on_rows = init, rows

    def init(self, handle):
        self.handle = handle
        if self.on_init:
            self.on_init(handle)

    def handleInputRows(self, key, rows, timers):
        list(rows)
        if self.on_rows:
            self.on_rows(self)
        yield says(key)


def tb_wrong(t):
    """Mistakes."""
    df = frame(t)
    attempt(t, "raises in init", tws(df, Wrong(lambda h: 1 // 0)))
    attempt(t, "raises", tws(df, Wrong(None, lambda p: 1 // 0)))
    attempt(t, "delete", tws(df, Wrong(lambda h: h.deleteIfExists("n"))))
    attempt(t, "bad schema", tws(df, Wrong(lambda h: h.getValueState("n", "n nonsense"))))
    attempt(t, "no keys", df.groupBy().transformWithStateInPandas(Count(), OUT, "update", "None", None))
    keyed = df.groupBy(F.upper("k").alias("u"))
    attempt(t, "expression key", keyed.transformWithStateInPandas(Count(), OUT, "update", "None", None))
    attempt(t, "another name", df.groupBy(F.col("k").alias("kk")).transformWithStateInPandas(
        Count(), OUT, "update", "None", None))


def tb_around(t):
    """Where the rows lie, and what stands above, below and beside."""
    df = frame(t)
    counts = tws(df, Count())
    attempt(t, "partitions", counts.select("*", F.spark_partition_id().alias("p")))
    many = t.spark.range(40).selectExpr("cast(id % 10 as string) k", "cast(id as int) v")
    attempt(t, "order", many.groupBy("k").transformWithStateInPandas(Count(), OUT, "update", "None", None).select(
        "*", F.spark_partition_id().alias("p")), True)
    attempt(t, "number of partitions", t.spark.createDataFrame(
        [(counts.selectExpr("spark_partition_id() p").groupBy("p").count().count(),)], "n int"))
    attempt(t, "twice", tws(counts.withColumn("v", F.lit(1)), Count()))
    attempt(t, "self join", counts.alias("x").join(counts.alias("y"), "k").select("k", "x.what", "y.what"))
    attempt(t, "aggregated", counts.groupBy().count())
    attempt(t, "limit", counts.orderBy("k").limit(1))
    df.createOrReplaceTempView("below")
    attempt(t, "in a subquery", t.spark.createDataFrame([("a",), ("z",)], "k string").join(
        counts, "k", "left_semi"))


class Whole(Base):
    def handleInputRows(self, key, rows, timers):
        yield says(key, sorted(v for f in rows for v in f["v"]))


def tb_in_stream(t):
    """Beside a stream, and in foreachBatch."""
    static = tws(frame(t), Count())
    a, b = t.input(), t.input("b")
    t.start("q", a.stream("k string, v int").join(static, "k"))
    a.json({"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "z", "v": 3})
    t.step("one")
    a.json({"k": "a", "v": 4})
    t.step("two")
    t.stop("q")
    got = t.out("got")

    def write(batch, batch_id):
        tws(batch, Count()).write.mode("append").json(got)
    t.start("r", b.stream("k string, v int"), sink="foreachBatch", fn=write)
    b.json({"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "b", "v": 2})
    t.step("three", "r")
    b.json({"k": "a", "v": 1})
    t.step("four", "r")
    t.rows("got", t.spark.read.schema(OUT).json(got))
