"""Records what the rate sources of Apache Spark 4.3.0 yield, for rate_test.go.

    python record_rate.py > rate.jsonl

One line for each query: its options, the source's log, and for each batch the
offsets and the rows of every partition, times in microseconds.
"""
import glob
import json
import sys
import tempfile
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
         .config("spark.ui.enabled", "false").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")


def record(fmt, batches, **options):
    batch_rows = {}

    def keep(df, batch_id):
        rows = df.select(F.spark_partition_id().alias("p"), F.unix_micros("timestamp").alias("t"), "value").collect()
        parts = {}
        for r in rows:
            parts.setdefault(str(r.p), []).append([r.t, r.value])
        batch_rows[batch_id] = parts

    folder = tempfile.mkdtemp()
    df = spark.readStream.format(fmt).options(**options).load()
    q = df.writeStream.foreachBatch(keep).option("checkpointLocation", folder).start()
    while not (q.lastProgress and q.lastProgress["batchId"] >= batches - 1):
        time.sleep(0.05)
    q.stop()
    out = {"format": fmt, "options": {k: str(v) for k, v in options.items()}, "batches": []}
    logs = glob.glob(folder + "/sources/0/0")
    out["log"] = open(logs[0]).read() if logs else None
    for p in q.recentProgress[:batches]:
        s = p["sources"][0]
        out["description"] = s["description"]
        end = open("%s/offsets/%d" % (folder, p["batchId"])).read().split("\n")[2]
        out["batches"].append({"end": end, "rows": batch_rows[p["batchId"]]})
    print(json.dumps(out, separators=(",", ":")))
    sys.stdout.flush()


record("rate", 4, rowsPerSecond=7, numPartitions=3)
record("rate", 7, rowsPerSecond=10, rampUpTime="4s", numPartitions=2)
record("rate", 3, rowsPerSecond=2500, numPartitions=2)
record("rate", 3)
record("rate-micro-batch", 3, rowsPerBatch=5, numPartitions=2, startTimestamp=1704067200000, advanceMillisPerBatch=500)
record("rate-micro-batch", 2, rowsPerBatch=1)
