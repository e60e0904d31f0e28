# Long operations across server-side stream cuts (run against a server whose senderMaxStreamDuration is short).
import os, tempfile, time
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

WORK = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()
print(len(spark.range(0, 40000, 1, 4).selectExpr("id", "repeat('x', 60) AS s").collect()))


class L(StreamingQueryListener):
    n = 0

    def onQueryStarted(self, e):
        print("started")

    def onQueryProgress(self, e):
        L.n += 1

    def onQueryIdle(self, e):
        pass

    def onQueryTerminated(self, e):
        print("terminated", e.exception)


lst = L()
spark.streams.addListener(lst)
q = (spark.readStream.format("rate").option("rowsPerSecond", 5).load().writeStream.format("noop")
     .option("checkpointLocation", WORK + "/cp").trigger(processingTime="1 second").start())
t = time.time()
print("await", q.awaitTermination(7), 6.5 < time.time() - t < 9)
q.stop()
time.sleep(3)  # removeListener() deadlocks in this client when an event is still on its way
spark.streams.removeListener(lst)
print("progress events", L.n >= 1)
spark.stop()
