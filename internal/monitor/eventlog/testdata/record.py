"""Records an event log of Apache Spark 4.3, or of 3.5 (spark35): record.py DIRECTORY CODEC ROLLING SECONDS.

Beside the log stands progress.json: what the queries' own progress said. Needs pyspark with its JVM.
"""
import sys, time, os, json
from pyspark.sql import SparkSession, functions as F
out, codec, rolling = sys.argv[1], sys.argv[2], sys.argv[3]
os.makedirs(out, exist_ok=True)
b = (SparkSession.builder.master("local[2]").appName("shop events")
  .config("spark.eventLog.enabled","true").config("spark.eventLog.dir","file://"+out)
  .config("spark.sql.shuffle.partitions","2").config("spark.ui.enabled","false")
  .config("spark.eventLog.rolling.enabled",rolling))
if codec=="none": b=b.config("spark.eventLog.compress","false")
else: b=b.config("spark.eventLog.compress","true").config("spark.eventLog.compression.codec",codec)
spark=b.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
import tempfile; w=tempfile.mkdtemp()
src=w+"/in"; os.makedirs(src)
for i in range(6): open(f"{src}/{i}.json","w").write("".join(json.dumps({"k":j%3,"t":f"2026-01-01 00:00:{j%60:02d}"})+"\n" for j in range(100)))
files=spark.readStream.schema("k int, t timestamp").option("maxFilesPerTrigger",1).json(src)
agg=files.withWatermark("t","10 seconds").groupBy(F.window("t","10 seconds"),"k").count()
q1=agg.writeStream.queryName("per_window").outputMode("update").format("memory").trigger(processingTime="1 second").start()
q2=spark.readStream.format("rate").option("rowsPerSecond",50).load().writeStream.format("noop").option("checkpointLocation",w+"/c2").start()
def boom(df,i):
    if i==1: raise ValueError("out of stock")
q3=files.writeStream.queryName("failing").foreachBatch(boom).option("checkpointLocation",w+"/c3").start()
time.sleep(float(sys.argv[4]))
progress={}
for q in (q1,q2,q3):
    progress[str(q.id)]=[json.loads(p.json) if hasattr(p,'json') else dict(p) for p in q.recentProgress]
q1.stop(); q2.stop()
json.dump(progress, open(out+"/progress.json","w"), default=str)
spark.stop()
