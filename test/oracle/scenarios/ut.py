"""Table functions in Python."""
from typing import Iterator

import pyarrow as pa

from pyspark.sql import Row, functions as F
from pyspark.sql.functions import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn, arrow_udtf, lit, udtf
from pyspark.sql.types import IntegerType, LongType, StringType, StructType
from pyspark.sql.udtf import SkipRestOfInputTableException


def schema(**fields):
    s = StructType()
    for n, t in fields.items():
        s = s.add(n, t)
    return s


INT, STR, LONG = IntegerType(), StringType(), LongType()


class Count:
    """Yields the numbers from one to another, and says how often it was called."""

    def __init__(self):
        self.calls = 0

    def eval(self, a, b=3):
        self.calls += 1
        for i in range(a, b + 1):
            yield i, str(i)

    def terminate(self):
        yield -1, "calls %d" % self.calls


class Plain:
    def eval(self, x):
        yield x, "%s %s" % (type(x).__name__, x)


class Silent:
    def eval(self, *args, **kwargs):
        pass


class Shows:
    def eval(self, *args, **kwargs):
        yield (" ".join(map(repr, args)) + " " + " ".join("%s=%r" % x for x in sorted(kwargs.items())),)


class Rows:
    """Of a table: counts and sums rows until the end of the partition."""

    def __init__(self):
        self.n, self.keys, self.seen = 0, set(), []

    def eval(self, row: Row):
        self.n += 1
        self.seen.append(tuple(row))
        self.keys = row.__fields__

    def terminate(self):
        yield self.n, "%s %s" % (self.keys, self.seen)


class Each:
    def eval(self, row: Row, more=None):
        yield row["n"], "%s %s" % (row.asDict(), more)


class Failing:
    def eval(self, x):
        if x == 2:
            raise ValueError("two")
        yield x,


class Wrong:
    def eval(self, x):
        if x == 1:
            return 5
        if x == 2:
            return [1, 2]
        if x == 3:
            return [(1, 2)]
        if x == 4:
            return [("a",)]
        if x == 5:
            return ["a"]
        if x == 6:
            return [None]
        return None


class Analyzed:
    @staticmethod
    def analyze(x: AnalyzeArgument, n: AnalyzeArgument) -> AnalyzeResult:
        s = StructType()
        for i in range(n.value):
            s = s.add("c%d" % i, x.dataType)
        return AnalyzeResult(s)

    def eval(self, x, n):
        yield tuple([x] * n)


class AnalyzedTable:
    def __init__(self):
        self.rows = []

    @staticmethod
    def analyze(t: AnalyzeArgument) -> AnalyzeResult:
        assert t.isTable
        return AnalyzeResult(StructType().add("k", StringType()).add("rows", StringType()), partitionBy=[PartitioningColumn("k")],
                             orderBy=[OrderingColumn("n", ascending=False)])

    def eval(self, row: Row):
        self.rows.append(tuple(row))

    def terminate(self):
        yield self.rows[0][0], str(self.rows)


OUT = schema(i=INT, s=STR)


def attempt(t, label, make, ordered=False):
    t.expect_error(label, lambda: t.rows(label, make(), ordered))


def frame(t):
    df = t.spark.createDataFrame([("a", 1), ("a", 2), ("b", 3), (None, None), ("b", 1)], "k string, n int")
    df.createOrReplaceTempView("ut_rows")
    return df


def ut_calls(t):
    """Calls with constants."""
    for arrow in (False, True):
        c, p = udtf(Count, returnType=OUT, useArrow=arrow), udtf(Plain, returnType=OUT, useArrow=arrow)
        name = "arrow " if arrow else ""
        attempt(t, name + "two", lambda: c(lit(1), lit(2)), True)
        attempt(t, name + "default", lambda: c(lit(2)), True)
        attempt(t, name + "keyword", lambda: c(b=lit(2), a=lit(2)), True)
        attempt(t, name + "none", lambda: c(lit(5), lit(2)))
        attempt(t, name + "select", lambda: c(lit(1)).select("s", (F.col("i") + 1).alias("j")).where("j > 2"))
        attempt(t, name + "joined", lambda: c(lit(1)).join(t.spark.range(3), F.col("i") == F.col("id")))
        for label, value in {"int": lit(1), "null": lit(None), "string": lit("x"), "array": F.array(lit(1), lit(2)), "decimal": lit("1.50").cast("decimal(5,2)"),
                             "struct": F.struct(lit(1).alias("a")), "date": lit("2024-01-01").cast("date"), "map": F.create_map(lit("a"), lit(1)),
                             "timestamp": lit("2024-01-01 00:00:00").cast("timestamp"), "binary": lit("a").cast("binary")}.items():
            s = udtf(Shows, returnType=schema(s=STR), useArrow=arrow)
            attempt(t, name + label, lambda: s(value))
        attempt(t, name + "nothing", lambda: udtf(Silent, returnType=OUT, useArrow=arrow)())
        attempt(t, name + "no arguments", lambda: udtf(Shows, returnType=schema(s=STR), useArrow=arrow)())


def ut_sql(t):
    """Registered, in SQL."""
    frame(t)
    for arrow in (False, True):
        n = "a_" if arrow else "p_"
        t.spark.udtf.register(n + "count", udtf(Count, returnType=OUT, useArrow=arrow))
        t.spark.udtf.register(n + "shows", udtf(Shows, returnType=schema(s=STR), useArrow=arrow))
        t.spark.udtf.register(n + "none", udtf(Silent, returnType=OUT, useArrow=arrow))
        t.spark.udtf.register(n + "each", udtf(Each, returnType=OUT, useArrow=arrow))
        t.spark.udtf.register(n + "rows", udtf(Rows, returnType=OUT, useArrow=arrow))

        def go(label, sql):
            attempt(t, n + label, lambda: t.spark.sql(sql.replace("$", n)))
        go("constants", "select * from $count(1, 2)")
        go("named", "select * from $count(b => 2, a => 1)")
        go("alias", "select x.i, y from $count(1 + 1) as x(i, y)")
        go("lateral", "select k, n, i, s from (select * from ut_rows where n is not null), lateral $count(n, 2)")
        go("lateral left", "select k, n, i, s from (select * from ut_rows where n > 1) left join lateral $none(n) on true")
        go("lateral inner", "select k, n, i, s from (select * from ut_rows where n > 1) join lateral $none(n) on true")
        go("lateral on", "select k, n, x.s from ut_rows join lateral $shows(n) x on k = 'a'")
        go("lateral view", "select k, n, i, s from ut_rows lateral view $count(n, 2) x as i, s")
        go("lateral twice", "select n, a.s, b.s from ut_rows, lateral $shows(n) a, lateral $shows(a.s) b where n > 2")
        go("lateral alias", "select r.n, x from ut_rows r, lateral $shows(r.n) as f(x) where r.n > 1")
        go("cross join lateral", "select * from ut_rows cross join lateral $shows(k, n)")
        go("subquery", "select (select max(i) from $count(1, 3)) m")
        go("with", "with q as (select * from $count(1, 3)) select a.i, b.i j from q a join q b on a.i = b.i + 1")
        go("table each", "select * from $each(table(ut_rows))")
        go("table query", "select * from $each(table(select n + 1 as n from ut_rows where k = 'a'), 5)")
        go("table named", "select * from $each(more => 'x', row => table(ut_rows))")
        go("table partition", "select * from $rows(table(ut_rows) partition by k order by n)")
        go("table partition desc", "select * from $rows(table(ut_rows) partition by k order by n desc)")
        go("table partitions", "select * from $rows(table(ut_rows) partition by (k, n))")
        go("table single", "select * from $rows(table(ut_rows) with single partition order by n)")
        go("table expression", "select * from $rows(table(ut_rows) partition by (n % 2) order by (k, n))")
        go("table name", "select * from $each(table ut_rows)")
        go("table without", "select * from $each(ut_rows)")
        go("missing argument", "select * from $count()")
        go("too many", "select * from $count(1, 2, 3)")
        go("unknown name", "select * from $count(1, z => 3)")
        go("twice", "select * from $count(1, a => 3)")
        go("scalar place", "select $count(1)")
        go("two tables", "select * from $shows(table(ut_rows), table(ut_rows))")
        go("outer reference without lateral", "select * from ut_rows, $count(ut_rows.n)")
    attempt(t, "unknown", lambda: t.spark.sql("select * from ut_nosuch(1)"))
    attempt(t, "range", lambda: t.spark.sql("select * from ut_rows, lateral explode(array(n, n + 1)) x(v)"))


def ut_frames(t):
    """DataFrames as arguments."""
    df = frame(t)
    for arrow in (False, True):
        n = "arrow " if arrow else ""
        rows, each = udtf(Rows, returnType=OUT, useArrow=arrow), udtf(Each, returnType=OUT, useArrow=arrow)
        attempt(t, n + "table", lambda: each(df.asTable()))
        attempt(t, n + "partition", lambda: rows(df.asTable().partitionBy("k").orderBy("n")))
        attempt(t, n + "single", lambda: rows(df.asTable().withSinglePartition().orderBy("n", "k")))
        attempt(t, n + "filtered", lambda: rows(df.where("n > 1").asTable().partitionBy(F.col("k"))))
        attempt(t, n + "empty", lambda: rows(df.where("n > 100").asTable().partitionBy("k")))
        attempt(t, n + "empty single", lambda: rows(df.where("n > 100").asTable().withSinglePartition()))
        attempt(t, n + "keyword", lambda: each(row=df.asTable(), more=lit(7)))
        attempt(t, n + "lateral", lambda: df.lateralJoin(udtf(Plain, returnType=OUT, useArrow=arrow)(F.col("n").outer())))


def ut_wrong(t):
    """Mistakes."""
    frame(t)
    for arrow in (False, True):
        n = "arrow " if arrow else ""
        f, w = udtf(Failing, returnType=schema(i=INT), useArrow=arrow), udtf(Wrong, returnType=schema(i=INT), useArrow=arrow)
        attempt(t, n + "fine", lambda: f(lit(1)))
        attempt(t, n + "fails", lambda: f(lit(2)))
        for i in range(1, 8):
            attempt(t, n + "wrong %d" % i, lambda: w(lit(i)))
    t.expect_error("no eval", lambda: udtf(type("X", (), {}), returnType=OUT))
    t.expect_error("no class", lambda: udtf(lambda x: x, returnType=OUT))
    t.expect_error("no struct", lambda: udtf(Plain, returnType=INT)(lit(1)).collect())
    t.expect_error("no type", lambda: udtf(Plain)(lit(1)).collect())


def ut_analyze(t):
    """Functions that say their own columns."""
    df = frame(t)
    for arrow in (False, True):
        n = "arrow " if arrow else ""
        a, b = udtf(Analyzed, useArrow=arrow), udtf(AnalyzedTable, useArrow=arrow)
        attempt(t, n + "three", lambda: a(lit("x"), lit(3)))
        attempt(t, n + "ints", lambda: a(lit(1), n=lit(2)))
        attempt(t, n + "not foldable", lambda: df.lateralJoin(a(F.col("k").outer(), F.col("n").outer())))
        attempt(t, n + "table", lambda: b(df.where("k is not null").asTable()))
        attempt(t, n + "no table", lambda: b(lit(1)))
        t.spark.udtf.register("ut_an", a)
        attempt(t, n + "sql", lambda: t.spark.sql("select * from ut_an(1.5, 2)"))
        attempt(t, n + "sql lateral", lambda: t.spark.sql("select * from ut_rows, lateral ut_an(k, 2)"))


class ArrowTwice:
    def eval(self, x: pa.Array) -> Iterator[pa.Table]:
        yield pa.table({"i": pa.array([v * 2 for v in x.to_pylist()], pa.int32()), "s": pa.array([str(x.type)] * len(x))})


class ArrowRows:
    def __init__(self):
        self.n = 0

    def eval(self, t: pa.RecordBatch) -> Iterator[pa.Table]:
        self.n += t.num_rows
        return iter(())

    def terminate(self) -> Iterator[pa.Table]:
        yield pa.table({"i": pa.array([self.n], pa.int32()), "s": pa.array(["rows"])})


def ut_arrow(t):
    """Functions of Arrow arrays and batches."""
    df = frame(t)
    one, rows = arrow_udtf(ArrowTwice, returnType=OUT), arrow_udtf(ArrowRows, returnType=OUT)
    attempt(t, "constant", lambda: one(lit(4)))
    attempt(t, "table", lambda: rows(df.asTable()).groupBy().sum("i"))
    attempt(t, "single", lambda: rows(df.asTable().withSinglePartition()))
    attempt(t, "partition", lambda: rows(df.asTable().partitionBy("k")))
    t.spark.udtf.register("ut_arrow_one", one)
    attempt(t, "sql", lambda: t.spark.sql("select * from ut_arrow_one(3)"))
    attempt(t, "lateral", lambda: t.spark.sql("select n, i from ut_rows, lateral ut_arrow_one(n) where n is not null"))


def ut_stream(t):
    """Beside a stream."""
    t.spark.udtf.register("ut_stream_count", udtf(Count, returnType=OUT))
    a = t.input()
    a.stream("k string, n int").createOrReplaceTempView("ut_stream_rows")

    def go():
        t.start("q", t.spark.sql("select k, n, i, s from ut_stream_rows, lateral ut_stream_count(n, 2)"))
        a.json({"k": "a", "n": 1}, {"k": "b", "n": 2})
        t.step("one", "q")
    t.expect_error("lateral", go)
    t.expect_error("table", lambda: t.start("r", udtf(Rows, returnType=OUT)(a.stream("k string, n int").asTable().partitionBy("k"))))


class Counts:
    def __init__(self):
        self.n = 0

    def eval(self, row, *more):
        self.n += 1

    def terminate(self):
        yield self.n,


class Wants:
    """Wants one partition, an order and other columns."""

    @staticmethod
    def analyze(t):
        return AnalyzeResult(StructType().add("x", STR), withSinglePartition=True, orderBy=[OrderingColumn("n", ascending=False)],
                             select=[SelectedColumn("n + 1", "m"), SelectedColumn("k")])

    def eval(self, row):
        yield str(row),

    def terminate(self):
        yield "end",


class Keys:
    @staticmethod
    def analyze(t, **more):
        return AnalyzeResult(StructType().add("x", INT), partitionBy=[PartitioningColumn("k")])

    def __init__(self, said):
        self.said = len(said.partitionBy)

    def eval(self, row, **more):
        yield self.said,


class Unknown:
    @staticmethod
    def analyze(t):
        return AnalyzeResult(StructType().add("x", INT), partitionBy=[PartitioningColumn("zz")])

    def eval(self, row):
        yield 1,


class Text:
    def eval(self, *values):
        yield str(values),

    def terminate(self):
        yield "end",


class Skips:
    def __init__(self):
        self.n = 0

    def eval(self, row):
        self.n += 1
        if row["n"] == 2:
            raise SkipRestOfInputTableException("enough")
        yield self.n,

    def terminate(self):
        yield -self.n,


def ut_clauses(t):
    """How the rows of a table come to a function, and what it may ask for."""
    frame(t)
    for f, cls, of in (("ut_c", Counts, "n int"), ("ut_t", Text, "a string"), ("ut_k", Keys, None), ("ut_w", Wants, None), ("ut_u", Unknown, None),
                       ("ut_s", Skips, "n int"), ("ut_g", Silent, "a int not null")):
        t.spark.udtf.register(f, udtf(cls, returnType=of))
    for sql in ("ut_c(table(ut_rows) partition by k, n)", "ut_c(table(ut_rows) partition by k order by n, k)",
                "ut_c(table(ut_rows) partition by k order by (n, k desc))", "ut_c(table(ut_rows) order by n)", "ut_c(table(ut_rows) distribute by k sort by n)",
                "ut_c(table(ut_rows) with single partition)", "ut_c(table(ut_rows) partition by z)", "ut_c(table(ut_nowhere))",
                "ut_c(table(select * from ut_rows where n > 1) t)", "ut_c(table(ut_rows), n)", "ut_c(table(ut_rows) with single partition, 1 + 1) g(x)",
                "ut_c(table(ut_rows)) g(x, y)", "ut_c(table(values (1), (2)) with single partition)", "ut_k(table(ut_rows))", "ut_k(table(ut_rows) partition by n)",
                "ut_k(table(ut_rows) with single partition)", "ut_w(table(ut_rows))", "ut_w(table(ut_rows) partition by n)", "ut_u(table(ut_rows))",
                "ut_s(table(ut_rows) partition by k order by n)", "ut_s(table(ut_rows) with single partition order by n)", "ut_g(1)",
                "range(3) left join lateral ut_t(id)", "range(3), lateral (select upper(a) u from ut_t(id, id + 1))",
                "ut_rows, lateral ut_c(table(select * from ut_rows r where r.n = ut_rows.n))", "ut_t((select max(n) from ut_rows))", "range(3) g(x, y)"):
        attempt(t, sql, lambda: t.spark.sql("select * from " + sql))
    frames = {"frames": udtf(Counts, returnType="n int")}
    for name, f in frames.items():
        attempt(t, name, lambda: f(t.spark.table("ut_rows").asTable().withSinglePartition(), lit(3)))


class Odd:
    """Nothing for even numbers, many rows for seven."""

    def eval(self, n):
        for i in range((3000 if n == 7 else 1) if n % 2 else 0):
            yield n * 10 + i,


def ut_batches(t):
    """Rows that come in many batches, and results that are more than one."""
    t.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
    t.spark.udtf.register("ut_c", udtf(Counts, returnType="n int"))
    for arrow in (False, True):
        n = "arrow " if arrow else ""
        t.spark.udtf.register("ut_odd", udtf(Odd, returnType="x bigint", useArrow=arrow))
        attempt(t, n + "inner", lambda: t.spark.sql("select id, count(*) n, min(x) a, max(x) b from range(0, 11, 1, 2), lateral ut_odd(id) group by id"))
        attempt(t, n + "left", lambda: t.spark.sql("select id, count(*) n, min(x) a, max(x) b from range(0, 11, 1, 2) left join lateral ut_odd(id) group by id"))
        attempt(t, n + "left on", lambda: t.spark.sql("select id, count(*) n, min(x) a from range(0, 11, 1, 2) left join lateral ut_odd(id) on true group by id"))
        attempt(t, n + "table", lambda: t.spark.sql("select n from ut_c(table(select id, id % 3 k from range(0, 11, 1, 2)) partition by k)"))
        attempt(t, n + "limit", lambda: t.spark.sql("select x from range(7, 8) join lateral ut_odd(id) limit 3"))
    t.spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
