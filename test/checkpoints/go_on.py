"""Goes on from checkpoints that Spark wrote.

    python go_on.py sc://… WORK ZOO...

ZOO holds NAME.tar.gz and, where the checkpoint is to be continued, NAME.json.

A line for each checkpoint: its name, and "as Spark", what differs, or the error of the query.
"""
import glob
import json
import os
import re
import shutil
import sys
import tarfile

from pyspark.sql import SparkSession
from pyspark.sql.functions import count, expr, session_window, sum as sum_, window

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()


def stream(base, sub="in"):
    reader = spark.readStream.schema("k string, n int, ts timestamp")
    return reader.option("maxFilesPerTrigger", 1).json(f"{base}/{sub}")


def late(df):
    return df.withWatermark("ts", "10 seconds")


def joined(base):
    left = late(stream(base)).select("k", "n", "ts")
    right = late(stream(base, "in2")).selectExpr("k rk", "n rn", "ts rts")
    near = "rts >= ts - interval 10 seconds and rts <= ts + interval 10 seconds"
    return left.join(right, expr("k = rk and " + near))


# The queries that the checkpoints are of: output mode and frame.
QUERIES = {
    "stateless": ("append", lambda b: stream(b).where("n > 1")),
    "watermark_only": ("append", lambda b: late(stream(b)).select("k", "n")),
    "count_update":
        ("update", lambda b: stream(b).groupBy("k").agg(count("*").alias("c"), sum_("n").alias("s"))),
    "count_complete": ("complete", lambda b: stream(b).groupBy("k").count()),
    "window_append":
        ("append",
         lambda b: late(stream(b)).groupBy(window("ts", "10 seconds"), "k").agg(sum_("n").alias("s"))),
    "session_append":
        ("append", lambda b: late(stream(b)).groupBy(session_window("ts", "15 seconds"), "k").count()),
    "dedup": ("append", lambda b: stream(b).dropDuplicates(["k", "n"])),
    "dedup_ts": ("append", lambda b: late(stream(b)).dropDuplicates(["k", "ts"])),
    "join_inner": ("append", joined),
    "rocks_count": ("update", lambda b: stream(b).groupBy("k").count()),
    "pending_batch": ("update", lambda b: stream(b).groupBy("k").count()),
}


def unpack(archive, base):
    """The files where they are now: Spark's source log has their paths."""
    with tarfile.open(archive) as tar:
        # The first Pythons 3.11 know no filters.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        tar.extractall(base)
    name = os.path.basename(base)
    for log in glob.glob(base + "/checkpoint/sources/*/*"):
        with open(log, encoding="utf8") as f:
            text = f.read().replace(f"file:///tmp/weir-zoo/{name}/", f"file://{base}/")
        with open(log, "w", encoding="utf8") as f:
            f.write(text)
        checksum = os.path.join(os.path.dirname(log), f".{os.path.basename(log)}.crc")
        if os.path.exists(checksum):
            os.remove(checksum)


def add(base, files):
    for path, rows in files.items():
        target = os.path.join(base, path)
        with open(target + ".part", "w", encoding="utf8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        at = 1_709_251_200 + 60 * (ord(os.path.basename(path)[0]) - 97)
        os.utime(target + ".part", (at, at))
        os.rename(target + ".part", target)


def run(base, query):
    mode, frame = QUERIES[query]
    out = base + "/out"
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)

    def keep(df, batch):  # runs in a process of the server
        with open(f"{out}/{batch}", "w", encoding="utf8") as f:
            json.dump(sorted(r[0] for r in df.selectExpr("to_json(struct(*))").collect()), f)
    writer = frame(base).writeStream.outputMode(mode).foreachBatch(keep).trigger(availableNow=True)
    q = writer.option("checkpointLocation", base + "/checkpoint").start()
    q.awaitTermination(60)
    seen = {}
    for batch in os.listdir(out):
        with open(f"{out}/{batch}", encoding="utf8") as f:
            seen[batch] = [json.loads(x) for x in json.load(f)]
    return seen, q.recentProgress


def logs(base):
    """The logs of the checkpoint without what differs between runs: times, settings and roots."""
    out = {}
    for path in glob.glob(base + "/checkpoint/**/*", recursive=True):
        name = os.path.relpath(path, base + "/checkpoint")
        if os.path.isfile(path) and name.split("/")[0] in ("offsets", "commits", "sources", "metadata"):
            with open(path, encoding="utf8") as f:
                out[name] = plain(f.read().split("\n"))
    return out


def plain(lines):
    text = "\n".join(lines)
    text = re.sub(r'"batchTimestampMs":\d+,"conf":\{[^}]*\}', "", text)
    return re.sub(r'"file://[^"]*/(in2?/)', r'"\1', text)


def go_on(base, case):
    for step in case["continuation"]:
        add(base, step["add"])
        rows, progress = run(base, case["query"])
        if rows != step["batches"]:
            return f"differs: rows {rows}, not {step['batches']}"
        for got, want in zip(progress, step["progress"], strict=True):
            had = {"batchId": got.batchId, "numInputRows": got.numInputRows, "eventTime": dict(got.eventTime or {})}
            if had != {k: want[k] for k in had}:
                return f"differs: progress {got.json}, not {want}"
    want = {name: plain(lines) for name, lines in case["text_after"].items()}
    for name, text in logs(base).items():
        if want.pop(name, None) != text:
            return f"differs: {name} is {text!r}"
    return f"differs: there is no {sorted(want)}" if want else "as Spark"


for zoo in sys.argv[3:]:
    for archive in sorted(glob.glob(zoo + "/*.tar.gz")):
        query = os.path.basename(archive)[:-len(".tar.gz")]
        base = os.path.join(sys.argv[2], os.path.basename(zoo), query)
        os.makedirs(base)
        unpack(archive, base)
        try:
            if os.path.exists(f"{zoo}/{query}.json"):
                with open(f"{zoo}/{query}.json", encoding="utf8") as f:
                    said = go_on(base, json.load(f))
            else:
                run(base, query)
                said = "went on"
        except Exception as e:
            said = f"{e.getCondition()}: {e}".split("\n")[0]
        print(f"{os.path.basename(zoo)}/{query}: {said}", flush=True)
os._exit(0)
