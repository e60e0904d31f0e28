# status, progress, explain, exception and awaitTermination of a healthy query.
import os, tempfile, time
from pyspark.sql import SparkSession, functions as F

WORK = os.environ.get("WORKDIR") or tempfile.mkdtemp()
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 2)
df = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
q = (df.groupBy((F.col("value") % 2).alias("k")).count().writeStream.format("memory").outputMode("complete").queryName("counts")
     .option("checkpointLocation", WORK + "/cp").trigger(processingTime="2 seconds").start())
print("start", q.isActive)
time.sleep(9)
print("await", q.awaitTermination(1))
p = q.lastProgress
print(type(p).__name__, list(p.keys()))
print(p.numInputRows > 0, p["sink"], [s["description"] for s in p["sources"]])
print(len(q.recentProgress) >= 2, q.recentProgress[0]["batchId"])
q.explain()
q.explain(True)
print("exception", q.exception())
print(q.id != q.runId, q.name)
print([r.k for r in spark.table("counts").orderBy("k").collect()])
q.stop()
print("stopped", q.status, q.isActive, q.awaitTermination(1), q.awaitTermination(), q.exception())
q.stop()
for bad in (0, -1, "x"):
    try:
        q.awaitTermination(bad)
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])
spark.stop()
