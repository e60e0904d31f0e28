"""Copies a topic to another one in batches of five, in transactions or not: exactly.py BROKER IN OUT true|false CHECKPOINT"""
import sys

from pyspark.sql import SparkSession

address, source, target, transactional, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
query = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", source)
         .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "5").load()
         .selectExpr("key", "value").writeStream.format("kafka").option("kafka.bootstrap.servers", address)
         .option("topic", target).option("weir.kafka.transactional", transactional)
         .option("checkpointLocation", checkpoint).trigger(availableNow=True).start())
query.awaitTermination()
