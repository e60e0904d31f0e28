"""Starts queries on servers that are going to die, and reads what they left behind.

Takes one JSON command to a line, {"id", "op", ...}, runs it in a thread of its own
and answers {"id", "answer"} or {"id", "error"}. The commands are the functions below
COMMANDS; start and finish speak Spark Connect, the others only read files.
"""
import collections
import glob
import json
import os
import sys
import threading
import time

import deltalake
import duckdb
import pyarrow.parquet
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession

import matrix
import sinklog
import stateful

queries = {}  # number of a start command -> its query


def connect(remote):
    """A session on a server that is up. Its port may have been that of a server that is
    gone, which gRPC would hold against it for minutes if connections were shared; later
    on a dead server stays dead."""
    builder = DefaultChannelBuilder(remote, [("grpc.use_local_subchannel_pool", 1)])
    spark = SparkSession.builder.channelBuilder(builder).create()
    spark.client.set_retry_policies([])
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return spark


def start(id, remote, kind, rate=0, inputs="", out="", checkpoint="", die=""):
    """Starts the query of a kind; answers the number to name it by."""
    spark = connect(remote)
    spark.conf.set("spark.sql.shuffle.partitions", 4)
    spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
    if kind in stateful.PROGRAMS:
        queries[id] = stateful.write(spark, kind, inputs, out, checkpoint, die)
    else:
        make = {"ticks": ticks, "lines": lines}[kind]
        queries[id] = make(spark, rate, inputs, out, checkpoint)
    return id


def ticks(spark, rate, *_):
    spark.sql("CREATE SCHEMA IF NOT EXISTS main.crash")
    spark.sql("CREATE VOLUME IF NOT EXISTS main.crash.checkpoints")
    stream = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    return (
        stream.writeStream.queryName("ticks")
        .option("checkpointLocation", "/Volumes/main/crash/checkpoints/ticks")
        .toTable("main.crash.ticks")
    )


def lines(spark, _, inputs, out, checkpoint):
    stream = spark.readStream.schema("id BIGINT, word STRING").option("maxFilesPerTrigger", 1).json(inputs)
    return (
        stream.writeStream.queryName("lines").format("parquet")
        .option("checkpointLocation", checkpoint).start(out)
    )


def finish(id, query, batches):
    """Waits until a query has done batches with rows, then stops it."""
    query = queries.pop(query)
    while sum(1 for p in query.recentProgress if p["numInputRows"]) < batches:
        if query.exception():
            raise query.exception()
        time.sleep(0.05)
    query.stop()
    return "stopped"


def drain(id, query):
    """Lets a query do all its input, then stops it."""
    queries[query].processAllAvailable()
    queries.pop(query).stop()
    return "stopped"


def process(id, query):
    """Lets a query do all its input."""
    queries[query].processAllAvailable()
    return "idle"


def read_state(id, remote, kind, checkpoint):
    """What the operators of a stateful query keep."""
    return stateful.state(connect(remote), kind, checkpoint)


def read_answer(id, kind, inputs, out, warehouse, end=False):
    """What a stateful query has written, against what its input asks for."""
    return stateful.answer(kind, inputs, out, warehouse, sinklog.files, end)


def read_table(id, table):
    """What deltalake finds in a Delta table, and DuckDB in the files it names."""
    if not glob.glob(os.path.join(table, "_delta_log", "*.json")):
        return {"rows": 0, "exact": True}  # the server died before its first commit
    snapshot = deltalake.DeltaTable(table)
    mine = sorted(snapshot.to_pyarrow_table()["value"].to_pylist())
    files = snapshot.file_uris()
    if not files:
        return {"rows": 0, "exact": not mine}
    rows, distinct, least, most = duckdb.connect().execute(
        "SELECT count(*), count(DISTINCT value), min(value), max(value) FROM read_parquet(?)", [files]
    ).fetchone()
    exact = mine == list(range(rows)) and distinct == rows and least in (0, None) and most in (rows - 1, None)
    return {"rows": rows, "exact": exact}


def read_files(id, inputs, out):
    """The rows of the files that _spark_metadata names, against those of the input."""
    want = collections.Counter()
    for name in glob.glob(os.path.join(inputs, "*.json")):
        with open(name, encoding="utf-8") as f:
            want.update((r["id"], r["word"]) for r in map(json.loads, f))
    got = collections.Counter()
    for path in sinklog.files(os.path.join(out, "_spark_metadata")):
        for row in pyarrow.parquet.ParquetFile(path).read().to_pylist():
            got[(row["id"], row["word"])] += 1
    return {
        "rows": got.total(), "missing": sum((want - got).values()),
        "surplus": sum((got - want).values()),
    }


def seed(id, inputs, first, rows, commits):
    """Appends to the Delta table that a pair reads."""
    matrix.seed(inputs, first, rows, commits)
    return "seeded"


def pair(id, remote, source, sink, inputs, out, broker, checkpoint, rate=0, batches=0):
    """Runs a source into a sink: to the end of the input, or for a number of batches."""
    spark = connect(remote)
    spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
    query = matrix.write(spark, source, sink, inputs, out, broker, checkpoint, rate)
    if source == "rate":
        queries[id] = query
        return finish(id, id, batches)
    query.awaitTermination()
    return "ended"


def read_pair(id, sink, out):
    """The ids that a pair has written."""
    return matrix.written(sink, out)


COMMANDS = {f.__name__: f for f in (
    start, finish, drain, process, read_table, read_files, read_state, read_answer, seed, pair,
    read_pair,
)}
writing = threading.Lock()


def run(id, op, arguments):
    try:
        reply = {"id": id, "answer": COMMANDS[op](id, **arguments)}
    except BaseException as e:
        reply = {"id": id, "error": f"{type(e).__name__}: {e}"[:2000]}
    with writing:
        print(json.dumps(reply), flush=True)


for line in sys.stdin:
    command = json.loads(line)
    threading.Thread(target=run, args=(command["id"], command["op"], command["arguments"]), daemon=True).start()
os._exit(0)  # no session is worth releasing: their servers are gone
