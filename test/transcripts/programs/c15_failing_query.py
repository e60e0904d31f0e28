# A query that fails: what exception(), awaitTermination, status and the listener report.
import os, re, tempfile, time
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.streaming import StreamingQueryListener

WORK = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()


class L(StreamingQueryListener):
    said = []

    def onQueryStarted(self, e): pass
    def onQueryIdle(self, e): pass
    def onQueryProgress(self, e): L.said.append(("progress", e.progress.batchId))
    def onQueryTerminated(self, e): L.said.append(("terminated", (e.exception or "")[:150].splitlines(), e.errorClassOnException))


lst = L()
spark.streams.addListener(lst)
src = WORK + "/in"
spark.createDataFrame([(1, 0)], "a int, b int").write.json(src)


def start(df, name):
    return df.writeStream.format("noop").queryName(name).option("checkpointLocation", f"{WORK}/{name}").start()


def report(q):
    for call in ("awaitTermination", "processAllAvailable"):
        try:
            getattr(q, call)()
            print(call, "returned")
        except Exception as e:
            print(call, type(e).__name__, str(e).splitlines()[0], e.getCondition() if hasattr(e, "getCondition") else "")
    x = q.exception()
    print("exception:", type(x).__name__, str(x).splitlines()[0])
    print("status", q.status, q.isActive)


stream = spark.readStream.schema("a int, b int").json(src)
report(start(stream.select(F.expr("a / b")), "div"))
report(start(stream.select(F.expr("raise_error('custom text: with colon')")), "raised"))
try:
    spark.streams.awaitAnyTermination(2)
except Exception as e:
    print("any", type(e).__name__, str(e).splitlines()[0])
time.sleep(1)
for event in L.said:
    print(*event)
spark.streams.removeListener(lst)
spark.stop()
