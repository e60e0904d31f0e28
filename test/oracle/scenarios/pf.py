"""Conditions far above a source: what reaches the watermark, the reader and its counts."""
from pyspark.sql import functions as F

EV = "k string, n int, ts timestamp"


def rows(first, last):
    return [{"k": "k%d" % (i % 7), "n": i, "ts": "2024-01-01 00:00:%02d" % i} for i in range(first, last)]


def each(t, shapes):
    for name, (mode, shape) in shapes.items():
        a = t.input(name)
        t.start(name, shape(a.stream(EV).withWatermark("ts", "1 second")), mode=mode)
        for part in (rows(0, 10), rows(10, 14)):
            a.json(*part)
            t.step(name, name)
        t.stop(name)


SMALL = "n < 4"                          # a reader knows it
HIDDEN = "substring(k, 2, 1) = '3'"      # it does not
TIME = "ts < timestamp'2024-01-01 00:00:05'"


def pf_watermark(t):
    """Straight above a watermark."""
    each(t, {"small": ("append", lambda df: df.where(SMALL)),
             "hidden": ("append", lambda df: df.where(HIDDEN)),
             "time": ("append", lambda df: df.where(TIME)),
             "both": ("append", lambda df: df.where(HIDDEN + " and " + TIME)),
             "computed": ("append", lambda df: df.select((F.col("n") * 2).alias("m"), "ts").where("m < 6")),
             "random": ("append", lambda df: df.where("spark_partition_id() < 100").where(HIDDEN))})


def pf_through(t):
    """Through other nodes."""
    each(t, {
        "repartition": ("append", lambda df: df.repartition(3).where(HIDDEN)),
        "repartition_small": ("append", lambda df: df.repartition("k").where(SMALL)),
        "coalesce": ("append", lambda df: df.coalesce(1).where(SMALL)),
        "explode": ("append", lambda df: df.select("k", "n", "ts", F.explode(F.array("n", F.lit(9))).alias("e")).where(SMALL)),
        "explode_own": ("append", lambda df: df.select("k", F.explode(F.array("n", F.lit(9))).alias("e")).where("e < 4")),
        "union": ("append", lambda df: df.union(df).where(HIDDEN)),
        "union_small": ("append", lambda df: df.select("n").union(df.select(F.col("n") + 1)).where(SMALL)),
        "agg": ("update", lambda df: df.groupBy("k", "n").count().where(SMALL)),
        "agg_hidden": ("update", lambda df: df.groupBy("k").count().where(HIDDEN)),
        "agg_value": ("update", lambda df: df.groupBy("k").count().where("count > 1 and k < 'k3'")),
        "agg_window": ("append", lambda df: df.groupBy(F.window("ts", "3 seconds").alias("w"), "k").count().where(
            "k < 'k3' and w.start < timestamp'2024-01-01 00:00:06'").select("k", "count")),
        "dedup": ("append", lambda df: df.dropDuplicates(["k"]).where(HIDDEN)),
        "dedup_small": ("append", lambda df: df.dropDuplicates(["n"]).where(SMALL)),
        "distinct": ("append", lambda df: df.select("n").distinct().where(SMALL)),
        "limit": ("append", lambda df: df.limit(6).where(SMALL)),
        "observe": ("append", lambda df: df.observe("o", F.count("*").alias("c")).where(SMALL)),
        "udf": ("append", lambda df: df.select("k", "n", F.udf(lambda x: x + 1, "int")("n").alias("m")).where(SMALL)),
        "map": ("append", lambda df: df.select("n").mapInPandas(lambda i: i, "n int").where(SMALL)),
    })


def pf_joins(t):
    """Through joins."""
    static = t.spark.createDataFrame([("k%d" % i, i) for i in range(7)], "k string, s int")
    each(t, {
        "static": ("append", lambda df: df.join(static, "k").where(SMALL)),
        "static_hidden": ("append", lambda df: df.join(static, "k").where(HIDDEN)),
        "static_left": ("append", lambda df: df.join(static, "k", "left").where(SMALL)),
        "static_key": ("append", lambda df: df.join(static, "k").where("s < 3")),
        "anti": ("append", lambda df: df.join(static.where("s < 3"), "k", "left_anti").where(SMALL)),
        "semi": ("append", lambda df: df.join(static.where("s < 3"), "k", "left_semi").where(SMALL)),
        "streams_left": ("append", lambda df: df.join(df.select(F.col("k").alias("rk"), F.col("n").alias("m"), F.col("ts").alias("rts")),
            F.expr("k = rk and ts >= rts and ts <= rts + interval 1 second"), "left").where(SMALL).select("k", "n", "m")),
        "streams_semi": ("append", lambda df: df.join(df.select(F.col("k").alias("rk"), F.col("n").alias("m"), F.col("ts").alias("rts")),
            F.expr("k = rk and ts >= rts and ts <= rts + interval 1 second"), "left_semi").where(SMALL).select("k", "n")),
    })


def pf_inferred(t):
    """What a join asks of a stream because the other side does."""
    static = t.out("static")
    t.spark.createDataFrame([("k%d" % i, i) for i in range(7)], "k string, s int").write.json(static)
    static = t.spark.read.schema("k string, s int").json(static)
    few = static.where("k < 'k3'")
    EVN = [dict(r, k=None if i % 3 == 0 else r["k"]) for i, r in enumerate(rows(0, 10))]
    for name, (mode, shape) in {
        "inner": ("append", lambda df: df.join(static, "k")),
        "few": ("append", lambda df: df.join(few, "k")),
        "few_left": ("append", lambda df: df.join(few, "k", "left")),
        "few_semi": ("append", lambda df: df.join(few, "k", "left_semi")),
        "few_anti": ("append", lambda df: df.join(few, "k", "left_anti")),
        "few_right": ("append", lambda df: few.join(df, "k", "right")),
        "where_static": ("append", lambda df: df.join(static.withColumnRenamed("k", "sk"), F.col("k") == F.col("sk")).where("sk = 'k2'")),
        "projected": ("append", lambda df: df.select("n", F.col("k").alias("kk"), "ts").join(
            few.withColumnRenamed("k", "sk"), F.col("kk") == F.col("sk"))),
        "aggregated": ("update", lambda df: df.join(static, "k").groupBy("s").count()),
    }.items():
        a = t.input(name)
        t.start(name, shape(a.stream(EV).withWatermark("ts", "1 second")), mode=mode)
        for part in (EVN, rows(10, 14)):
            a.json(*part)
            t.step(name, name)
        t.stop(name)


def pf_two_sources(t):
    """A stream joined with itself by columns of one name reads its source twice."""
    def right(df):
        return df.select("k", F.col("n").alias("m"), F.col("ts").alias("rts"))
    for name, shape in {
        "same": lambda df: df.join(right(df), "k").where("ts = rts and n < 4").select("k", "n", "m"),
        "one_filtered": lambda df: df.join(right(df).where("k > 'k1'"), "k").where("ts = rts").select("k", "n", "m"),
        "semi": lambda df: df.join(right(df), F.expr("ts = rts"), "left_semi"),
        "renamed": lambda df: df.join(right(df).withColumnRenamed("k", "rk"), F.expr("ts = rts")).select("k", "n", "m"),
    }.items():
        a = t.input(name)
        a.json(*rows(0, 10))
        t.start(name, shape(a.stream(EV).withWatermark("ts", "1 second")), sink="batches", trigger={"availableNow": True})
        t.step(name, name)
        a.json(*rows(10, 14))
        t.restart(name)
        t.step(name, name)


def pf_generate(t):
    """Lists that are empty or NULL, with a watermark below."""
    def lists(i):
        return [{"n": i, "l": None, "ts": "2024-01-01 00:00:0%d" % (i + 3)}, {"n": i, "l": [], "ts": "2024-01-01 00:00:0%d" % (i + 2)},
                {"n": i, "l": [1, 2], "ts": "2024-01-01 00:00:0%d" % (i + 1)}]
    for name, shape in {
        "explode": lambda df: df.select("n", F.explode("l")),
        "outer": lambda df: df.select("n", F.explode_outer("l")),
        "pos": lambda df: df.select("n", F.posexplode("l")),
        "computed": lambda df: df.select("n", F.explode(F.filter("l", lambda x: x > 1))),
    }.items():
        a = t.input(name)
        t.start(name, shape(a.stream("n int, l array<int>, ts timestamp").withWatermark("ts", "0 seconds")))
        for i in (1, 4):
            a.json(*lists(i))
            t.step(name, name)
        t.stop(name)


def pf_pruned(t):
    """Event time that nobody asks for above an operator with state: no row comes too late."""
    def other(df):
        return df.select(F.col("k").alias("rk"), F.col("n").alias("m"), F.col("ts").alias("rts"))
    late = [{"k": "k9", "n": 99, "ts": "2024-01-01 00:00:02"}]
    for name, shape in {
        "dedup": lambda df: df.dropDuplicates(["k"]).select("k"),
        "dedup_kept": lambda df: df.dropDuplicates(["k"]),
        "dedup_by_time": lambda df: df.dropDuplicates(["k", "ts"]).select("k"),
        "within": lambda df: df.dropDuplicatesWithinWatermark(["k"]).select("k"),
        "distinct": lambda df: df.select("k").distinct(),
        "join": lambda df: df.join(other(df), F.expr("k = rk")).select("k", "n", "m"),
        "join_left_time": lambda df: df.join(other(df), F.expr("k = rk")).select("k", "ts"),
        "join_right_time": lambda df: df.join(other(df), F.expr("k = rk")).select("k", "rts"),
        "join_by_time": lambda df: df.join(other(df), F.expr("k = rk and ts = rts")).select("k"),
        "limit": lambda df: df.limit(100).select("k"),
        "filtered": lambda df: df.dropDuplicates(["k"]).where("ts > timestamp'2020-01-01'").select("k"),
    }.items():
        a = t.input(name)
        t.start(name, shape(a.stream(EV).withWatermark("ts", "1 second")))
        for part in (rows(0, 10), late, rows(10, 12)):
            a.json(*part)
            t.step(name, name)
        t.stop(name)


def pf_python(t):
    """Functions in Python inside of operators with state."""
    plus = F.udf(lambda x: x + 1, "int")
    same = F.udf(lambda a, b: a == b, "boolean")

    def other(df):
        return df.select(F.col("k").alias("rk"), F.col("n").alias("m"), F.col("ts").alias("rts"))
    for name, shape in {
        "agg": lambda df: df.groupBy(F.window("ts", "3 seconds"), "k").agg(F.sum(plus("n")).alias("s")).select("window.start", "k", "s"),
        "key": lambda df: df.groupBy(F.window("ts", "3 seconds"), plus("n") % 2).count().select("window.start", "count"),
        "join": lambda df: df.join(other(df), (F.col("k") == F.col("rk")) & (F.col("ts") == F.col("rts")) & same("n", "m")).select("k", "n", "m"),
        "above": lambda df: df.dropDuplicates(["k", "ts"]).select("k", plus("n")),
    }.items():
        a = t.input(name)
        t.start(name, shape(a.stream(EV).withWatermark("ts", "1 second")))
        for part in (rows(0, 10), rows(10, 12)):
            a.json(*part)
            t.step(name, name)
        t.stop(name)
