"""An empty function of foreachBatch on a worker that is warm: how long its batches take, in milliseconds.

    foreach_batch.py CHECKPOINT        prints the median and the 99th percentile of addBatch over 90 batches
"""
import sys
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
query = (spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().writeStream
         .foreachBatch(lambda frame, batch: None).option("checkpointLocation", sys.argv[1]).start())
while not query.recentProgress or query.lastProgress["batchId"] < 120:
    if query.exception():
        raise query.exception()
    time.sleep(0.05)
times = sorted(p["durationMs"]["addBatch"] for p in query.recentProgress[-90:])
query.stop()
print(times[len(times) // 2], times[len(times) * 99 // 100])
