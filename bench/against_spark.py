#!/usr/bin/env python3
"""Rows per CPU-second of a Spark Connect server on the same JSON files.

    python bench/against_spark.py --pid PID --remote sc://localhost:PORT [--files DIR]

Runs stateless and stateful queries over JSON files into the noop sink, available
now, three times each; the first two warm up. Stateful ones take a file a batch. CPU
time is that of the server's process tree, read from /proc before and after.
against_spark.sh starts both servers and calls this.
"""
import argparse
import os
import shutil
import tempfile
import time

SCHEMA = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, at TIMESTAMP"


def make_files(folder, files, rows):
    """Deterministic events of about 200 bytes, a second of them a file, of a million
    bidders and a hundred thousand auctions; the same bytes every time."""
    os.makedirs(folder, exist_ok=True)
    for f in range(files):
        path = os.path.join(folder, f"part-{f:03d}.json")
        if os.path.exists(path):
            continue
        with open(path + ".tmp", "w") as out:
            for i in range(f * rows, (f + 1) * rows):
                out.write('{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d",'
                          '"url":"https://example.org/item/%d/abcdefghijklmnopqrstuvwxyz?channel_id=%d",'
                          '"at":"2026-01-01T00:%02d:%02d.%03dZ"}\n'
                          % (1000 + i * 7919 % 100003, 2000 + i * 104729 % 1000003, i * 31 % 1000000, i % 97,
                             i % 5003, i % 97, f // 60, f % 60, i * 1000 // rows % 1000))
        os.rename(path + ".tmp", path)


def cpu_seconds(pid):
    """User and system time of a process and all its descendants, waited-for ones included."""
    children, times = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry))
        times[int(entry)] = sum(int(x) for x in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    total, todo = 0.0, [pid]
    while todo:
        p = todo.pop()
        total += times.get(p, 0)
        todo += children.get(p, [])
    return total


def filtered(events):
    return events.where("auction % 123 = 0").selectExpr("auction", "price * 908 AS cents", "channel")


def counted(events):
    from pyspark.sql import functions as F
    return events.groupBy(F.window("at", "10 seconds"), "bidder").count()


def closed(events):
    from pyspark.sql import functions as F
    return (events.withWatermark("at", "1 second").groupBy(F.window("at", "5 seconds"), "auction")
            .agg(F.count("*").alias("n"), F.sum("price").alias("sum")))


def deduplicated(events):
    return events.select("bidder", "auction", "at").withWatermark("at", "1 second").dropDuplicates(["bidder", "at"])


# name: query, output mode, files a batch
WORKLOADS = {
    "filter, projection": (filtered, "append", None),
    "window count by bidder": (counted, "update", 1),
    "closed windows by auction": (closed, "append", 1),
    "duplicates of bidder and time": (deduplicated, "append", 1),
}


def run(spark, folder, rows, pid, workload):
    query_of, mode, limit = WORKLOADS[workload]
    checkpoint = tempfile.mkdtemp()
    reader = spark.readStream.schema(SCHEMA)
    if limit:
        reader = reader.option("maxFilesPerTrigger", limit)
    wanted = query_of(reader.json(folder))
    cpu, wall = cpu_seconds(pid), time.time()
    query = (wanted.writeStream.format("noop").option("checkpointLocation", checkpoint)
             .outputMode(mode).trigger(availableNow=True).start())
    query.awaitTermination()
    cpu, wall = cpu_seconds(pid) - cpu, time.time() - wall
    shutil.rmtree(checkpoint, ignore_errors=True)
    return rows / cpu, rows / wall


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--remote", required=True)
    ap.add_argument("--pid", type=int, required=True, help="the server's process id")
    ap.add_argument("--files", default=os.path.join(tempfile.gettempdir(), "weir-bench-events"))
    ap.add_argument("--count", type=int, default=20)
    ap.add_argument("--rows", type=int, default=100000, help="rows of one file")
    ap.add_argument("--only", default="", help="part of the names of the workloads to run")
    args = ap.parse_args()
    make_files(args.files, args.count, args.rows)
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.remote(args.remote).getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    for name in [w for w in WORKLOADS if args.only in w]:
        for attempt in range(3):
            cpu, wall = run(spark, args.files, args.count * args.rows, args.pid, name)
        print(f"{name:32}{cpu:12,.0f} rows per CPU-second {wall:12,.0f} rows per second", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
