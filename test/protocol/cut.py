"""Long and large results over streams that the server cuts; counts how often the client attaches again."""
import json
import time

from pyspark.sql import SparkSession
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator as Responses
from pyspark.sql.streaming.listener import StreamingQueryListener

attached = 0
request = Responses._create_reattach_execute_request


def counted(self):
    global attached
    attached += 1
    return request(self)


Responses._create_reattach_execute_request = counted


def attachments():
    global attached
    n, attached = attached, 0
    return n


class Events(StreamingQueryListener):
    def __init__(self):
        self.events = []

    def onQueryStarted(self, event):
        self.events.append("started")

    def onQueryProgress(self, event):
        self.events.append(event.progress.batchId)

    def onQueryIdle(self, event):
        pass

    def onQueryTerminated(self, event):
        self.events.append("terminated")


def say(what, **more):
    print(json.dumps({"what": what, "attached": attachments(), **more}), flush=True)


spark = SparkSession.builder.getOrCreate()
rows, took = 10_000_000, 0.0
while took < 2.5:  # long enough for two cuts on any machine
    began = time.monotonic()
    attachments()
    total = spark.range(rows).selectExpr("sum(id % 7)").collect()[0][0]
    took = time.monotonic() - began
    exact = total == sum((rows - r + 6) // 7 * r for r in range(7))
    done, rows = rows, rows * max(2, int(3 / took) if took < 2.5 else 1)
say("long", exact=exact, seconds=round(took, 1))

table = spark.range(0, 200_000, 1, 8).selectExpr("id", "repeat('x', 20) AS s").toArrow()
say("large", exact=sorted(table["id"].to_pylist()) == list(range(200_000)))

listener = Events()
spark.streams.addListener(listener)
query = spark.readStream.format("rate").load().writeStream.format("noop").start()
ended = query.awaitTermination(5)
query.stop()
spark.streams.removeListener(listener)
say("listener", ended=ended, events=listener.events)
spark.stop()
say("stopped")
