"""The socket source: its lines, its offsets, what it refuses.

Recorded on Apache Spark 4.3.0 with TZ=UTC and SPARK_REMOTE="local[2]" into socket.txt.
"""
import json
import os
import sys
import tempfile
import time

# The module of sockets has the name of this file.
sys.path.pop(0)
import socket  # noqa: E402

from pyspark.sql import SparkSession  # noqa: E402

work = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()
listener = socket.create_server(("localhost", 0))
port = listener.getsockname()[1]


def read(**options):
    reader = spark.readStream.format("socket")
    for key, value in options.items():
        reader = reader.option(key, value)
    return reader


def attempt(name, run):
    try:
        print(name, str(run()))
    except Exception as e:
        print(name, type(e).__name__, e.getCondition() if hasattr(e, "getCondition") else None)


attempt("no host", lambda: read().load().schema)
attempt("no port", lambda: read(host="localhost").load().schema)
attempt("port", lambda: read(host="localhost", port="x").load().schema)
attempt("includeTimestamp", lambda: read(host="localhost", port=port, includeTimestamp="maybe").load().schema)
attempt("schema", lambda: read(host="localhost", port=port).schema("value string").load().schema)
attempt("plain", lambda: read(host="localhost", port=port).load().schema.simpleString())
attempt("stamped", lambda: read(host="localhost", port=port, includeTimestamp=True).load().schema.simpleString())
attempt("batch", lambda: spark.read.format("socket").option("host", "localhost").option("port", port).load().schema)
attempt("sink", lambda: read(host="localhost", port=port).load().writeStream.format("socket").option("host", "h")
        .option("port", 9).option("checkpointLocation", work + "/none").start())


def wait(q, offset):
    for _ in range(600):
        progress = q.lastProgress
        if q.exception():
            return
        if progress and progress["sources"][0]["endOffset"] == str(offset):
            return
        time.sleep(0.05)
    print("no offset", offset, q.lastProgress)


def start(frame, name):
    return frame.writeStream.format("json").option("checkpointLocation", f"{work}/{name}").start(f"{work}/out")


lines = read(host="localhost", port=port, numPartitions=3).load()
q = start(lines, "ck")
server, _ = listener.accept()
server.sendall("a\nb\r\ncé".encode() + b"\xff\n\n x \rlast")
wait(q, 4)
server.sendall(b" more\n")
wait(q, 5)
server.sendall(b"tail")
server.close()
wait(q, 6)
print("active", q.isActive, q.exception())
print("first", json.dumps({k: v for k, v in q.recentProgress[0]["sources"][0].items() if "Offset" in k}))
print("description", q.lastProgress["sources"][0]["description"].replace(str(port), "PORT"))
q.stop()
print(sorted(r.value for r in spark.read.schema("value string").json(work + "/out").collect()))
print("offset 0", open(work + "/ck/offsets/0").read().split("\n")[2:])

# Going on: the lines are gone.
q = start(lines, "ck")
try:
    again, _ = listener.accept() if "local" in os.environ.get("SPARK_REMOTE", "")[:5] else (None, None)
    if again:
        wait(q, -1)
        again.sendall(b"d\n")
    q.awaitTermination(30)
except Exception as e:
    print("going on", type(e).__name__, "Offsets committed out of order" in str(e))
q.stop()

q = lines.writeStream.format("memory").queryName("bounded").trigger(availableNow=True).start()
q.awaitTermination(30)
print("availableNow", spark.table("bounded").count())

listener.close()
q = lines.writeStream.format("noop").option("checkpointLocation", work + "/refused").start()
try:
    q.awaitTermination(30)
except Exception as e:
    print("nobody listens", type(e).__name__, e.getCondition(), "Connection refused" in str(e))
sys.stdout.flush()
os._exit(0)
