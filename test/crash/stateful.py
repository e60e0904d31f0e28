"""Stateful queries that are killed, and what each must have written in the end.

A program reads the folders left and right, one file of each to a batch; its answer
is computed from the files by plain Python, as a batch query would. Times are whole
seconds of one day. No row comes too late: every file begins where the one before
ended, and the delay is a file long.
"""
import collections
import datetime
import glob
import hashlib
import json
import os

import deltalake
import pyarrow.parquet
from pyspark.sql import functions as F

ORIGIN = datetime.datetime(2024, 1, 1)
DELAY, WIDTH, LONG = 10, 10, 20  # seconds; a long window is two short ones


class Program:
    """sink: files, delta, table, foreach. answer(left, right, until) with the rows of
    the folders as (second, key, value) and the last watermark as a second."""

    def __init__(self, frame, answer, sink, mode="append", sides=1, operators=1, variables=(None,)):
        self.frame, self.answer, self.sink, self.mode = frame, answer, sink, mode
        self.sides, self.operators, self.variables = sides, operators, variables


def stream(spark, inputs, side):
    folder = os.path.join(inputs, side)
    frame = spark.readStream.schema("ts TIMESTAMP, k STRING, v BIGINT").option("maxFilesPerTrigger", 1).json(folder)
    return frame.withWatermark("ts", f"{DELAY} seconds")


def windows(spark, inputs):
    counted = stream(spark, inputs, "left").groupBy(F.window("ts", f"{WIDTH} seconds"), "k").agg(
        F.count("*").alias("n"), F.sum("v").alias("total"))
    return counted.select(F.unix_seconds("window.start").alias("at"), "k", "n", "total")


def windows_answer(left, _, until):
    rows = count_windows(left)
    return [(at, k, n, total) for (at, k), (n, total) in rows.items() if at + WIDTH <= until]


def updates_answer(left, _, until):
    return [(at, k, n, total) for (at, k), (n, total) in count_windows(left).items()]


def count_windows(rows):
    out = {}
    for at, k, v in rows:
        n, total = out.get((at - at % WIDTH, k), (0, 0))
        out[(at - at % WIDTH, k)] = (n + 1, total + v)
    return out


def distinct(spark, inputs):
    seen = stream(spark, inputs, "left").dropDuplicates(["ts", "k"])
    return seen.select(F.unix_seconds("ts").alias("at"), "k")


def distinct_answer(left, _, until):
    return list({(at, k) for at, k, _ in left})


def pairs(spark, inputs):
    left = stream(spark, inputs, "left").select(F.col("ts").alias("lts"), F.col("k").alias("lk"), F.col("v").alias("lv"))
    right = stream(spark, inputs, "right").select(F.col("ts").alias("rts"), F.col("k").alias("rk"), F.col("v").alias("rv"))
    joined = left.join(right, F.expr("lk = rk AND rts BETWEEN lts AND lts + INTERVAL 10 SECONDS"), "leftOuter")
    return joined.select(F.unix_seconds("lts").alias("at"), "lk", "lv", F.unix_seconds("rts").alias("met"), "rv")


def pairs_answer(left, right, until):
    out = []
    by_key = collections.defaultdict(list)
    for at, k, v in right:
        by_key[k].append((at, v))
    for at, k, v in left:
        met = [(at, k, v, rat, rv) for rat, rv in by_key[k] if at <= rat <= at + 10]
        out += met or ([(at, k, v, None, None)] if at + 10 < until else [])
    return out


def chained(spark, inputs):
    inner = stream(spark, inputs, "left").groupBy(F.window("ts", f"{WIDTH} seconds"), "k").agg(F.count("*").alias("n"))
    outer = inner.groupBy(F.window(F.window_time("window"), f"{LONG} seconds")).agg(
        F.count("*").alias("windows"), F.sum("n").alias("n"))
    return outer.select(F.unix_seconds("window.start").alias("at"), "windows", "n")


def chained_answer(left, _, until):
    out = collections.defaultdict(lambda: [0, 0])
    for (at, _), (n, _) in count_windows(left).items():
        if at + WIDTH <= until:
            out[at - at % LONG][0] += 1
            out[at - at % LONG][1] += n
    return [(at, *sums) for at, sums in out.items() if at + LONG <= until]


def totals(spark, inputs):
    return stream(spark, inputs, "left").groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("total"))


def totals_answer(left, _, until):
    out = {}
    for _, k, v in left:
        n, total = out.get(k, (0, 0))
        out[k] = (n + 1, total + v)
    return [(k, *sums) for k, sums in out.items()]


def buckets(spark, inputs):
    second = F.unix_seconds("ts")
    return stream(spark, inputs, "left").withColumn("at", second - second % WIDTH).groupBy("at", "k")


def applied(spark, inputs):
    """windows, by a function that is called again when the time of a group is over."""
    def count(key, frames, state):
        import pandas

        n, total = state.getOption or (0, 0)
        if state.hasTimedOut:
            state.remove()
            yield pandas.DataFrame({"at": [key[0]], "k": [key[1]], "n": [n], "total": [total]})
            return
        for frame in frames:
            n, total = n + len(frame), total + int(frame["v"].sum())
        state.update((n, total))
        state.setTimeoutTimestamp((int(key[0]) + WIDTH) * 1000 - 1)

    return buckets(spark, inputs).applyInPandasWithState(
        count, "at long, k string, n long, total long", "n long, total long", "append", "EventTimeTimeout")


def processed(spark, inputs):
    """windows, by a stateful processor with variables of every kind and a timer for each group."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle):
            self.handle = handle
            self.total = handle.getValueState("total", "total long")
            self.rows = handle.getListState("rows", "v long")
            self.times = handle.getMapState("times", "v long", "n long")

        def handleInputRows(self, key, rows, timerValues):
            values = [row.v for row in rows]
            self.total.update(((self.total.get() or (0,))[0] + sum(values),))
            self.rows.appendList([(v,) for v in values])
            for v in values:
                self.times.updateValue((v,), ((self.times.getValue((v,)) or (0,))[0] + 1,))
            self.handle.registerTimer((key[0] + WIDTH) * 1000)
            return iter([])

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
            counted = sum(n for n, in self.times.values())
            assert counted == len(list(self.rows.get()))
            yield Row(at=key[0], k=key[1], n=counted, total=self.total.get()[0])
            for variable in (self.total, self.rows, self.times):
                variable.clear()

        def close(self):
            pass

    spark.conf.set("spark.sql.streaming.stateStore.providerClass",
                   "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    return buckets(spark, inputs).transformWithState(
        Count(), "at long, k string, n long, total long", "append", "EventTime")


PROGRAMS = {
    "applied": Program(applied, windows_answer, "delta"),
    "processed": Program(processed, windows_answer, "files", variables=("total", "rows", "times")),
    "windows": Program(windows, windows_answer, "files"),
    "distinct": Program(distinct, distinct_answer, "delta"),
    "pairs": Program(pairs, pairs_answer, "table", sides=2),
    "chained": Program(chained, chained_answer, "files", operators=2),
    "totals": Program(totals, totals_answer, "delta", mode="complete"),
    "updates": Program(windows, updates_answer, "foreach", mode="update"),
}


def write(spark, kind, inputs, out, checkpoint, die):
    """Starts a program; die is where its function of foreachBatch kills the server."""
    program = PROGRAMS[kind]
    frame = program.frame(spark, inputs)
    writer = frame.writeStream.queryName(kind).outputMode(program.mode).option("checkpointLocation", checkpoint)
    if program.sink == "files":
        return writer.format("parquet").start(out)
    if program.sink == "delta":
        return writer.format("delta").start(out)
    if program.sink == "table":
        spark.sql("CREATE SCHEMA IF NOT EXISTS main.crash")
        return writer.toTable(f"main.crash.{kind}")
    return writer.foreachBatch(twice(out, die)).start()


def twice(out, die):
    """A function that writes a batch to two places, and kills the server once, in batch 2:
    before, between or after the two writes."""

    def each(frame, batch):
        import json
        import os
        import signal

        def end(at):
            marker = os.path.join(out, "died")
            if at == die and batch == 2 and not os.path.exists(marker):
                open(marker, "w").close()
                os.kill(os.getppid(), signal.SIGKILL)
                signal.pause()

        os.makedirs(out, exist_ok=True)
        rows = sorted([r["at"], r["k"], r["n"], r["total"]] for r in frame.collect())
        end("before")
        for place in ("first", "second"):
            line = json.dumps([batch, rows]) + "\n"
            with open(os.path.join(out, place), "ab", buffering=0) as f:
                f.write(line.encode())  # at once: a kill leaves no half of a line
            end({"first": "between", "second": "after"}[place])

    return each


def read_inputs(inputs, side):
    rows = []
    for name in sorted(glob.glob(os.path.join(inputs, side, "*.json"))):
        with open(name, encoding="utf-8") as f:
            for row in map(json.loads, f):
                at = datetime.datetime.fromisoformat(row["ts"]) - ORIGIN
                rows.append((int(at.total_seconds()), row["k"], row["v"]))
    return rows


def seconds(row):
    """Takes the day off the first number of a row, and off a second time."""
    base = int((ORIGIN - datetime.datetime(1970, 1, 1)).total_seconds())
    return tuple(x - base if isinstance(x, int) and x >= base else x for x in row)


def expected(kind, inputs, rows=None):
    """The answer over the input, or over its first rows."""
    program = PROGRAMS[kind]
    left, right = read_inputs(inputs, "left")[:rows], read_inputs(inputs, "right")
    newest = [max((at for at, *_ in rows), default=0) for rows in (left, right)[: program.sides]]
    return collections.Counter(program.answer(left, right, min(newest) - DELAY))


def held(kind, out, warehouse, sink_log):
    """The rows that readers of the sink see."""
    program = PROGRAMS[kind]
    if program.sink == "files":
        if not os.path.exists(os.path.join(out, "_spark_metadata")):
            return collections.Counter()
        tables = [pyarrow.parquet.ParquetFile(p).read() for p in sink_log(os.path.join(out, "_spark_metadata"))]
    else:
        place = out if program.sink == "delta" else os.path.join(warehouse, "main", "crash", kind)
        if not glob.glob(os.path.join(place, "_delta_log", "*.json")):
            return collections.Counter()
        tables = [deltalake.DeltaTable(place).to_pyarrow_table()]
    return collections.Counter(seconds(row.values()) for t in tables for row in t.to_pylist())


def read_batches(out):
    """The attempts that the function of foreachBatch made: that each batch was the same
    whenever it came, that ids go up, and the last value of each key."""
    attempts = {}
    for place in ("first", "second"):
        attempts[place] = []
        try:
            with open(os.path.join(out, place), encoding="utf-8") as f:
                attempts[place] = [json.loads(line) for line in f]
        except FileNotFoundError:
            pass
    wrong, repeats, contents, rows = [], 0, {}, {}
    for place, made in attempts.items():
        seen = {}
        for batch, content in made:
            if seen.setdefault(batch, content) != content:
                wrong.append(f"batch {batch} of {place} came with other rows")
        order = [batch for batch, _ in made]
        if any(b not in (a, a + 1) for a, b in zip(order, order[1:])):
            wrong.append(f"batches of {place} came as {order}")
        repeats += len(order) - len(seen)
        contents.update(seen)
    for batch in sorted(contents):
        for at, k, n, total in contents[batch]:
            rows[seconds((at,))[0], k] = (n, total)
    return wrong, repeats, collections.Counter((at, k, *sums) for (at, k), sums in rows.items())


def answer(kind, inputs, out, warehouse, sink_log, end):
    """What was written against what it has to be: at the end the answer over all input,
    before a part of it, or, where rows are replaced, the answer over the first files."""
    program = PROGRAMS[kind]
    wrong, repeats = [], 0
    if program.sink == "foreach":
        wrong, repeats, got = read_batches(out)
    else:
        got = held(kind, out, warehouse, sink_log)
    rows = None
    if not end and program.mode != "append":
        rows = sum(row[-2] * times for row, times in got.items())
    want = expected(kind, inputs, rows)
    surplus, missing = got - want, want - got
    wrong += [f"has {row}" for row in list(surplus)[:3]]
    if end or program.mode != "append":
        wrong += [f"lacks {row}" for row in list(missing)[:3]]
    return {"rows": got.total(), "repeats": repeats, "wrong": wrong}


def state(spark, kind, checkpoint):
    """What the operators keep: the number of rows, a digest, how the first of them begin."""
    program = PROGRAMS[kind]
    lines = []
    for operator in range(program.operators):
        for side in ("left", "right") if program.sides == 2 else ("none",):
            for variable in program.variables:
                reader = spark.read.format("statestore").option("operatorId", operator).option("joinSide", side)
                if variable:
                    reader = reader.option("stateVarName", variable)
                lines += [f"{operator} {side} {variable} {row}" for row in reader.load(checkpoint).collect()]
    lines.sort()
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"rows": len(lines), "digest": digest, "first": "\n".join(x[:200] for x in lines[:20])}
