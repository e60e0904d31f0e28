#!/usr/bin/env python3
"""Which chains of operators may stream in which output mode, and what is said of
those that may not.

    legality.py --remote sc://127.0.0.1:PORT --record legality.json   on Apache Spark
    legality.py --remote sc://127.0.0.1:PORT legality.json            compares

A chain is a source and one or two operators: S1 has a watermark, S0 has none, T is
static. All single operators are there, and some of the pairs.
"""
import argparse
import concurrent.futures
import itertools
import json
import logging
import os
import random
import sys
import tempfile

os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
logging.disable(logging.CRITICAL)

from pyspark.sql import SparkSession, functions as F  # noqa: E402

SCHEMA = "id bigint, k string, v bigint, ts timestamp"
PAIRS = 500
# What weir refuses by name although Spark takes it.
BEYOND = "is not supported by weir"


class Chains:
    """Builds frames from the names of operators. An operator that does not go with a
    frame's columns answers None."""

    def __init__(self, spark, root):
        self.spark, self.root = spark, root
        for name in "ab":
            os.makedirs(os.path.join(root, name), exist_ok=True)
        self.table = spark.createDataFrame([(1, "one")], "tid bigint, word string")
        self.operators = dict(self.aggregations(), **self.shapes(), **self.joins(), **self.sets())

    def source(self, watermark=True, folder="a"):
        frame = self.spark.readStream.schema(SCHEMA).json(os.path.join(self.root, folder))
        return frame.withWatermark("ts", "10 seconds") if watermark else frame

    def base(self, name):
        if name == "T":
            return self.spark.createDataFrame([(1, "a", 1, None)], SCHEMA)
        return self.source(name == "S1")

    @staticmethod
    def key(frame):
        return "k" if "k" in frame.columns else frame.columns[-1]

    def aggregations(self):
        def by(keys, *needs):
            def apply(f):
                if not set(needs) <= set(f.columns):
                    return None
                return f.groupBy(*keys(f)).agg(F.count("*").alias("n"), F.max(self.key(f)).alias("v"))
            return apply
        return {
            "window_id": by(lambda f: [F.window("ts", "10 seconds"), "id"], "ts", "id"),
            "sliding": by(lambda f: [F.window("ts", "10 seconds", "5 seconds")], "ts"),
            "window_of_window": by(lambda f: [F.window("window", "30 seconds")], "window"),
            "session": by(lambda f: [F.session_window("ts", "5 seconds")], "ts"),
            "session_key": by(lambda f: [F.session_window("ts", "5 seconds"), self.key(f)], "ts"),
            "key": by(lambda f: [self.key(f)]), "time": by(lambda f: ["ts"], "ts"), "total": by(lambda f: []),
            "count_distinct": lambda f: f.agg(F.count_distinct(self.key(f)).alias("n")),
            "rollup": lambda f: f.rollup("id").count() if "id" in f.columns else None,
            "pivot": lambda f: f.groupBy("id").pivot("k", ["a", "b"]).count() if {"id", "k"} <= set(f.columns) else None,
        }

    def shapes(self):
        def timed(f):
            for name in ("window", "session_window"):
                if name in f.columns:
                    return f.select(F.window_time(name).alias("ts"), *[c for c in f.columns if c != name])
            return None
        return {
            "distinct": lambda f: f.distinct(), "dedup": lambda f: f.dropDuplicates(),
            "dedup_key": lambda f: f.dropDuplicates([self.key(f)]),
            "dedup_time": lambda f: f.dropDuplicates(["ts"]) if "ts" in f.columns else None,
            "dedup_window": lambda f: f.dropDuplicates(["window"]) if "window" in f.columns else None,
            "within": lambda f: f.dropDuplicatesWithinWatermark([self.key(f)]),
            "limit": lambda f: f.limit(3), "offset": lambda f: f.offset(1), "sort": lambda f: f.orderBy(self.key(f)),
            "where": lambda f: f.where(F.col(self.key(f)).isNotNull()), "window_time": timed,
            "watermark": lambda f: f.withWatermark("ts", "1 minute") if "ts" in f.columns else None,
            "numbered": lambda f: f.withColumn("m", F.monotonically_increasing_id()),
            "repartition": lambda f: f.repartition(2, self.key(f)),
        }

    def joins(self):
        within = "rts BETWEEN ts AND ts + INTERVAL 5 seconds"

        def streams(how, condition, watermark=True):
            def apply(f):
                if not {"ts", "id"} <= set(f.columns):
                    return None
                other = self.source(watermark, "b").toDF("rid", "rk", "rv", "rts")
                return f.join(other, F.expr(condition), how)
            return apply

        def table(how, flip):
            def apply(f):
                if "id" not in f.columns:
                    return None
                left, right = (self.table, f) if flip else (f, self.table)
                return left.join(right, F.expr("id = tid"), how)
            return apply
        out = {}
        for how in ("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti"):
            out["table_" + how], out["of_table_" + how] = table(how, False), table(how, True)
            out["bound_" + how] = streams(how, "id = rid AND " + within)
            out["key_" + how] = streams(how, "id = rid")
            out["time_" + how] = streams(how, "ts = rts")
            out["unmarked_" + how] = streams(how, "id = rid AND " + within, False)
            out["range_" + how] = streams(how, within)
        return out

    def sets(self):
        def with_table(apply):
            return lambda f: apply(f.select("id"), self.table.select("tid")) if "id" in f.columns else None
        return {
            "union": lambda f: f.union(self.source(True, "b")) if len(f.columns) == 4 and "ts" in f.columns else None,
            "union_table": with_table(lambda a, b: a.union(b)), "except": with_table(lambda a, b: a.subtract(b)),
            "intersect": with_table(lambda a, b: a.intersect(b)), "table_except": with_table(lambda a, b: b.subtract(a)),
            "except_all": with_table(lambda a, b: a.exceptAll(b)),
        }

    def names(self):
        """All chains of one operator and a drawn sample of those of two."""
        single = ["+".join(c) for c in itertools.product(("S1", "S0", "T"), self.operators)]
        pairs = ["+".join(c) for c in itertools.product(("S1", "S0", "T"), self.operators, self.operators)
                 if c[1] != "numbered"]
        return single + random.Random(4).sample(pairs, PAIRS)

    def verdicts(self, chain):
        """What is said in each mode; None when the operators do not go together."""
        base, *operators = chain.split("+")
        frame = self.base(base)
        try:
            for name in operators:
                frame = self.operators[name](frame)
                if frame is None:
                    return None
            frame.columns
        except Exception as e:
            return {"frame": said(e)}
        return {mode: self.start(frame, mode) for mode in ("append", "update", "complete")}

    def start(self, frame, mode):
        writer = frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        try:
            query = writer.option("checkpointLocation", tempfile.mkdtemp(dir=self.root)).start()
        except Exception as e:
            return said(e)
        try:
            query.awaitTermination()
            return "starts"
        except Exception:
            return "fails"


def said(e):
    """The condition; where Spark has none of its own, also how the sentence begins."""
    condition = e.getCondition() if hasattr(e, "getCondition") else None
    message = str(e)
    if BEYOND in message:
        return BEYOND
    if condition and not condition.startswith("_LEGACY"):
        return condition
    return "%s: %s" % (condition, message.splitlines()[0].split(";")[0][:60].lower())


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--remote", required=True)
    ap.add_argument("--record", metavar="FILE")
    ap.add_argument("expected", nargs="?")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(3) as pool:
        chains = Chains(SparkSession.builder.remote(args.remote).getOrCreate(), root)
        if args.record:
            names = chains.names()
            got = {n: v for n, v in zip(names, pool.map(chains.verdicts, names)) if v}
            with open(args.record, "w") as f:
                f.write("{\n" + ",\n".join('"%s": %s' % (n, json.dumps(v)) for n, v in got.items()) + "\n}\n")
            print("%d chains recorded" % len(got))
            return 0
        with open(args.expected) as f:
            expected = json.load(f)
        wrong = refused = 0
        for name, got in zip(expected, pool.map(chains.verdicts, expected)):
            for mode, want in expected[name].items():
                answer = (got or {}).get(mode)
                refused += answer == BEYOND != want
                if answer not in (want, BEYOND):
                    wrong += 1
                    print("%s in %s mode: %s, Spark says %s" % (name, mode, answer, want))
        print("%d chains, %d answers not Spark's, %d beyond weir" % (len(expected), wrong, refused))
        return 1 if wrong else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
