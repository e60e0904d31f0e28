"""Aggregate functions in Python over windows and grouping sets."""
from typing import Iterator, Tuple

import pandas as pd
import pyarrow as pa

from pyspark.sql import Window, functions as F
from pyspark.sql.functions import arrow_udf, pandas_udf
from pyspark.sql.types import ArrayType, DoubleType, IntegerType, LongType, StringType

DOUBLE, STRING = DoubleType(), StringType()

ROWS = [(1, "a", 1, 1.5), (2, "a", None, 2.5), (3, "a", 3, None), (4, "a", 3, 4.5), (5, "b", 5, 5.5), (6, "b", 6, 6.5), (7, None, 7, 7.5)]


def frame(t):
    return t.spark.createDataFrame(ROWS, "id int, k string, n int, x double")


@pandas_udf(DOUBLE)
def mean(v: pd.Series) -> float:
    return v.mean()


@pandas_udf(STRING)
def show(v: pd.Series) -> str:
    return "%s %s" % (v.dtype, list(v))


@pandas_udf(STRING)
def both(v: pd.Series, w: pd.Series) -> str:
    return "%s %s" % (list(v), list(w))


@pandas_udf(ArrayType(IntegerType()))
def listed(v: pd.Series) -> list:
    return [int(i) for i in v.dropna()]


@arrow_udf(STRING)
def arrow_show(v: pa.Array) -> str:
    return "%s %s" % (v.type, v.to_pylist())


@arrow_udf(LongType())
def arrow_sum(v: pa.Array) -> int:
    return pa.compute.sum(v)


@pandas_udf(STRING)
def frames_of(it: Iterator[pd.Series]) -> str:
    return str([list(v) for v in it])


@arrow_udf(STRING)
def arrays_of(it: Iterator[pa.Array]) -> str:
    return str([v.to_pylist() for v in it])


def over(t, label, df, *columns, ordered=False):
    t.expect_error(label, lambda: t.rows(label, df.select("id", *columns)))


def pw_frames(t):
    """Frames."""
    df = frame(t)
    w = Window.partitionBy("k")
    o = w.orderBy("id")
    for name, win in {
        "whole": w, "ordered": o, "ties": w.orderBy("n"), "rows": o.rowsBetween(-1, 1), "before": o.rowsBetween(Window.unboundedPreceding, -1),
        "after": o.rowsBetween(1, Window.unboundedFollowing), "growing": o.rowsBetween(Window.unboundedPreceding, 0),
        "shrinking": o.rowsBetween(0, Window.unboundedFollowing), "range": o.rangeBetween(-1, 1), "range_up": o.rangeBetween(0, 2),
        "whole_rows": o.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing), "far": o.rowsBetween(3, 5),
        "none": Window.orderBy("id"), "nothing": Window.partitionBy(), "desc": w.orderBy(F.desc("id")),
    }.items():
        over(t, name, df, show("n").over(win).alias("v"))
        over(t, name + " arrow", df, arrow_show("n").over(win).alias("v"))


def pw_kinds(t):
    """Kinds of functions, types, several at once."""
    df = frame(t)
    w = Window.partitionBy("k").orderBy("id")
    near = w.rowsBetween(-1, 0)
    over(t, "mean", df, mean("x").over(w))
    over(t, "two", df, mean("x").over(w).alias("a"), show("n").over(near).alias("b"), show("id").over(Window.partitionBy("k")).alias("c"))
    over(t, "two arguments", df, both("n", "x").over(near))
    over(t, "keywords", df, both(w=df.n, v=df.id).over(near))
    over(t, "expressions", df, mean(F.col("x") * 2 + F.col("id")).over(w))
    over(t, "list", df, listed("n").over(near))
    over(t, "arrow sum", df, arrow_sum("n").over(near))
    over(t, "beside others", df, mean("x").over(w).alias("a"), F.sum("n").over(w).alias("s"))
    over(t, "beside others of another window", df, mean("x").over(w).alias("a"), F.row_number().over(Window.orderBy("id")).alias("s"))
    over(t, "inside", df, (mean("x").over(w) + 1).alias("a"))
    over(t, "strings", df, show("k").over(near))
    over(t, "nested", df, show(F.struct("id", "k")).over(near).alias("v"))
    t.expect_error("nested group", lambda: t.rows("nested group", df.groupBy("k").agg(show(F.struct("id", "k")).alias("v"))))
    over(t, "arrays", df, show(F.array("id", "n")).over(near).alias("v"))
    over(t, "decimals", df, show(F.col("id").cast("decimal(5,2)")).over(near).alias("v"))
    over(t, "times", df, show(F.lit("2024-01-01 00:00:00").cast("timestamp")).over(near).alias("v"))
    over(t, "empty", df.where("id > 100"), show("n").over(w))


def pw_wrong(t):
    """Mistakes."""
    df = frame(t)
    w = Window.partitionBy("k").orderBy("id")
    over(t, "raises", df, pandas_udf(fails, IntegerType())("n").over(w))
    over(t, "wrong type", df, pandas_udf(text, IntegerType())("n").over(w))
    over(t, "series", df, pandas_udf(series, IntegerType())("n").over(w))
    over(t, "scalar", df, F.udf(lambda x: x)("n").over(w))
    over(t, "scalar pandas", df, pandas_udf(same, IntegerType())("n").over(w))
    over(t, "in where", df.where(mean("x").over(w) > 1))
    over(t, "of an aggregate", df.groupBy("k").agg(F.sum("n").alias("id"), mean("x").over(w)))


def fails(v: pd.Series) -> int:
    return 1 // 0


def text(v: pd.Series) -> int:
    return "x"


def series(v: pd.Series) -> int:
    return v


def same(v: pd.Series) -> pd.Series:
    return v


def pw_sql(t):
    """Registered functions in SQL."""
    frame(t).createOrReplaceTempView("pw_rows")
    t.spark.udf.register("py_mean", mean)
    t.spark.udf.register("py_show", show)
    t.spark.udf.register("py_arrow", arrow_show)

    def go(label, sql):
        t.expect_error(label, lambda: t.rows(label, t.spark.sql(sql)))
    go("window", "select id, py_show(n) over (partition by k order by id) v from pw_rows")
    go("rows", "select id, py_show(n) over (partition by k order by id rows between 1 preceding and current row) v from pw_rows")
    go("named", "select id, py_mean(x) over w v, py_show(n) over w a from pw_rows window w as (partition by k)")
    go("filter", "select id, py_mean(x) filter (where n > 1) over (partition by k) v from pw_rows")
    go("distinct", "select id, py_mean(distinct x) over (partition by k) v from pw_rows")
    go("having", "select k, py_mean(x) from pw_rows group by k having py_mean(x) > 2")
    go("rollup", "select k, py_mean(x) v from pw_rows group by rollup(k)")
    go("cube", "select k, n, py_show(id) v, grouping_id() g from pw_rows group by cube(k, n)")
    go("sets", "select k, n, py_mean(x) v from pw_rows group by grouping sets ((k), (n), ())")
    go("keys twice", "select k, py_show(k) v from pw_rows group by rollup(k)")


def pw_sets(t):
    """rollup, cube and grouping sets of DataFrames."""
    df = frame(t)

    def go(label, frame):
        t.expect_error(label, lambda: t.rows(label, frame))
    go("rollup", df.rollup("k", "n").agg(mean("x")))
    go("cube", df.cube("k").agg(mean("x").alias("m"), show("n").alias("s")))
    go("key", df.rollup("k").agg(show("k").alias("s")))
    go("grouping", df.rollup("k").agg(mean("x").alias("m"), F.grouping("k").alias("g"), F.grouping_id().alias("i")))
    go("arrow", df.cube("k").agg(arrow_sum("n").alias("s")))
    go("iterator", df.rollup("k").agg(frames_of("n").alias("s")))
    go("expression", df.rollup((F.col("id") % 2).alias("m")).agg((mean("x") + 1).alias("s")))
    go("sets", df.groupingSets([("k",), ()], "k").agg(mean("x").alias("m")))
    go("empty", df.where("id > 100").rollup("k").agg(mean("x").alias("m")))
    go("empty cube", df.where("id > 100").cube("k").agg(mean("x").alias("m")))
