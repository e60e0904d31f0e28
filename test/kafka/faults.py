"""A query from one topic to another whose brokers have their troubles: faults.py BROKER IN OUT CHECKPOINT

It says "ready", then takes a command from a line and says when it is done: "waiting" waits until the status says that
the query waits, "drained" until there is nothing left to do, "stopped" stops it.
"""
import sys
import time

from pyspark.sql import SparkSession

address, source, target, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
query = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", source)
         .option("startingOffsets", "earliest").load().selectExpr("key", "value").writeStream.format("kafka")
         .option("kafka.bootstrap.servers", address).option("topic", target).option("checkpointLocation", checkpoint)
         .trigger(processingTime="50 milliseconds").start())


def waiting():
    end = time.time() + 120
    while not query.status["message"].startswith("Waiting for source KafkaV2[Subscribe["):
        if time.time() > end:
            raise TimeoutError(f"status: {query.status}, failure: {query.exception()}")
        time.sleep(0.02)


print("ready", flush=True)
for line in sys.stdin:
    {"waiting": waiting, "drained": query.processAllAvailable, "stopped": query.stop}[line.strip()]()
    if query.exception():
        raise query.exception()
    print(line.strip(), flush=True)
