"""EXCEPT and INTERSECT where a stream is involved."""
from pyspark.sql import functions as F

EV = "k string, n int, ts timestamp"


def rows(*pairs):
    return [{"k": k, "n": n, "ts": "2024-01-01 00:00:%02d" % s} for k, n, s in pairs]


FILES = (rows(("a", 1, 1), ("a", 1, 1), ("b", 2, 2), ("c", 3, 3), (None, None, 4)), rows(("a", 1, 5), ("b", 2, 6), ("d", 4, 7), ("c", 3, 30)),
         rows(("d", 4, 8), ("e", 5, 40)))


def shapes(t):
    static = t.spark.createDataFrame([("b", 2), ("b", 2), ("x", 9), (None, None), ("a", 1)], "k string, n int")
    few = t.spark.createDataFrame([("b", 2)], "k string, n int")
    nulls = t.spark.createDataFrame([(None, None)], "k string, n int")
    return static, few, nulls


def each(t, frames, *modes):
    for name, shape in frames.items():
        for mode in modes:
            a = t.input(name + mode)
            q = name + "_" + mode

            def go():
                t.start(q, shape(a.stream(EV).withWatermark("ts", "1 second")), mode=mode)
                for rows in FILES if mode == "update" else FILES[:1]:
                    a.json(*rows)
                    t.step(q, q)
            t.expect_error(q, go)
            if q in t.queries:
                t.stop(q)


def two(df):
    return df.select("k", "n")


def so_except(t):
    """EXCEPT with a static right side."""
    static, few, nulls = shapes(t)
    each(t, {"few": lambda df: two(df).subtract(few),
             "static": lambda df: two(df).subtract(static),
             "nulls": lambda df: two(df).subtract(nulls)}, "append", "update", "complete")


def so_except_time(t):
    """EXCEPT over rows with event time; what stands above."""
    at = t.spark.sql("select 'a' k, 1 n, timestamp'2024-01-01 00:00:01' ts")
    each(t, {"time": lambda df: df.subtract(at),
             "window": lambda df: df.subtract(at).groupBy(F.window("ts", "10 seconds")).count().select("window.start", "count")},
         "append", "update")


def so_except_all(t):
    """EXCEPT ALL with a static right side."""
    static, few, nulls = shapes(t)
    each(t, {"few": lambda df: two(df).exceptAll(few), "static": lambda df: two(df).exceptAll(static)},
         "append", "update", "complete")


def so_refused(t):
    """Streams on the right, on both sides, and INTERSECT."""
    static, few, nulls = shapes(t)
    other = two(t.input("other").stream(EV))
    each(t, {"right": lambda df: few.subtract(two(df)),
             "both": lambda df: two(df).subtract(other),
             "right_all": lambda df: few.exceptAll(two(df)),
             "both_all": lambda df: two(df).exceptAll(other),
             "intersect": lambda df: two(df).intersect(few),
             "intersect_right": lambda df: few.intersect(two(df)),
             "intersect_both": lambda df: two(df).intersect(other),
             "intersect_all": lambda df: two(df).intersectAll(few),
             "intersect_all_both": lambda df: two(df).intersectAll(other)}, "append", "update", "complete")


def so_around(t):
    """What stands below and above EXCEPT, and in SQL."""
    static, few, nulls = shapes(t)
    few.createOrReplaceTempView("few")

    def sql(df):
        df.createOrReplaceTempView("stream_rows")
        return t.spark.sql("select k, n from stream_rows except select k, n from few")

    def minus(df):
        df.createOrReplaceTempView("stream_rows")
        return t.spark.sql("select k, n from stream_rows minus all select k, n from few")
    each(t, {"sql": sql, "minus": minus,
             "filter": lambda df: two(df).subtract(few).where("n < 4")}, "update", "append")


def so_around_more(t):
    """More of it."""
    static, few, nulls = shapes(t)
    each(t, {
             "types": lambda df: two(df).subtract(t.spark.createDataFrame([("b", 2)], "k string, n long")),
             "renamed": lambda df: two(df).subtract(few).select(F.col("n").alias("m")),
             "filter_all": lambda df: two(df).exceptAll(few).where("n < 4"),
             "dedup_below": lambda df: two(df.dropDuplicates(["k"])).subtract(few),
             "agg_above": lambda df: two(df).subtract(few).groupBy("k").count(),
             "distinct_above": lambda df: two(df).subtract(few).distinct()}, "update")
