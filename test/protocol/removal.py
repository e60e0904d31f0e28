"""Removes a listener 100 times, each right after a query stopped; says how many removals came back.

The client deadlocks on an event that reaches it after removeListener() began; so
none may be on its way by the time that stop() returns.
"""
import json
import os
import threading

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

TIMES, PATIENCE = 100, 20


class Terminations(StreamingQueryListener):
    seen = 0

    def onQueryStarted(self, event):
        pass

    onQueryProgress = onQueryIdle = onQueryStarted

    def onQueryTerminated(self, event):
        Terminations.seen += 1


spark = SparkSession.builder.getOrCreate()
stream = spark.readStream.format("rate").load()
returned = 0
for i in range(TIMES):
    listener = Terminations()
    spark.streams.addListener(listener)
    stream.writeStream.format("noop").start().stop()
    removal = threading.Thread(target=spark.streams.removeListener, args=(listener,), daemon=True)
    removal.start()
    removal.join(PATIENCE)
    if removal.is_alive():
        break
    returned += 1
print(json.dumps({"returned": returned, "seen": Terminations.seen}), flush=True)
os._exit(0)
