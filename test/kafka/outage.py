"""A query whose broker dies and comes back. Says "ready", waits until its status says that it waits, says "waiting"."""
import os
import sys
import time

from pyspark.sql import SparkSession

from broker import Broker

address, work = sys.argv[1], sys.argv[2]
spark = SparkSession.builder.getOrCreate()
broker = Broker(address)
broker.create("outage", 2)
broker.seq("outage", 10)


def until(condition, seconds=90):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise TimeoutError(f"status: {query.status}, failure: {query.exception()}")
        time.sleep(0.05)


def values():
    return sorted(r.value for r in spark.sql("SELECT * FROM outage").collect())


query = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", "outage")
         .option("startingOffsets", "earliest").load().selectExpr("cast(value AS string) AS value").writeStream
         .format("memory").queryName("outage").option("checkpointLocation", os.path.join(work, "ck"))
         .trigger(processingTime="100 milliseconds").start())
until(lambda: len(values()) == 10)
print("ready", flush=True)
until(lambda: query.status["message"].startswith("Waiting for source KafkaV2[Subscribe[outage]]"))
print("waiting", flush=True)
sys.stdin.readline()        # the broker is back
broker = Broker(address)
broker.seq("outage", 10, partition=1)
until(lambda: len(values()) >= 20)
assert values() == sorted([f"v0-{i}" for i in range(10)] + [f"v1-{i}" for i in range(10)]), values()
assert query.isActive and query.exception() is None
query.stop()
print("done", flush=True)
