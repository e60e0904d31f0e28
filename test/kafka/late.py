"""A windowed count of a topic whose records bear their event times: late.py BROKER TOPIC CHECKPOINT

It says "ready", then does what a line orders, "drained" or "stopped", and says that it is done.
"""
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import window

address, topic, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
records = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
           .option("startingOffsets", "earliest").load())
query = (records.selectExpr("timestamp", "value").filter("value IS NOT NULL").withWatermark("timestamp", "10 minutes")
         .groupBy(window("timestamp", "1 minute")).count().writeStream.queryName("counts").format("noop")
         .outputMode("update").option("checkpointLocation", checkpoint).start())
print("ready", flush=True)
for line in sys.stdin:
    {"drained": query.processAllAvailable, "stopped": query.stop}[line.strip()]()
    if query.exception():
        raise query.exception()
    print(line.strip(), flush=True)
