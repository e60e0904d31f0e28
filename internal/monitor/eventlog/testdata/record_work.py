"""Records an event log whose batches have much to tell: record_work.py DIRECTORY.

One query has a partition that works far longer than the others and keeps state, one writes twice in foreachBatch,
and one fails in its second batch. Beside the log stands progress.json: what the queries' own progress said. Of the
log goes what tells of the machine: call sites, class paths, properties of its Java.
Needs pyspark 4.3 with its JVM, pyarrow and pandas, PYSPARK_PYTHON, and zstd.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import pyspark
from pyspark.sql import SparkSession, functions as F

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
spark = (SparkSession.builder.master("local[2]").appName("works")
         .config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", "file://" + out)
         .config("spark.sql.shuffle.partitions", "4").config("spark.ui.enabled", "false")
         .config("spark.eventLog.compress", "false").config("spark.eventLog.rolling.enabled", "false").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
work = tempfile.mkdtemp()
os.makedirs(work + "/in")
for i in range(4):
    with open(f"{work}/in/{i}.json", "w") as f:
        for j in range(100):  # key 0 has nine rows of ten
            f.write(json.dumps({"k": 0 if j % 10 else j, "t": f"2026-01-01 00:00:{j % 60:02d}"}) + "\n")
rows = (spark.readStream.schema("k int, t timestamp").option("maxFilesPerTrigger", 1).json(work + "/in"))


def slowly(batches):
    for b in batches:
        time.sleep(0.01 * len(b))
        yield b


def twice(df, batch):
    df.persist()
    df.groupBy("k").count().write.mode("append").parquet(work + "/counts")
    df.write.mode("append").parquet(work + "/rows")
    df.unpersist()


def fails(df, batch):
    if batch == 1:
        raise ValueError("out of stock")
    df.write.format("noop").mode("append").save()


skewed = (rows.repartition(4, "k").mapInPandas(slowly, rows.schema).groupBy("k").count()
          .writeStream.queryName("skewed").outputMode("update").format("noop")
          .option("checkpointLocation", work + "/skewed").start())
skewed.processAllAvailable()
both = (rows.writeStream.queryName("both").foreachBatch(twice)
        .option("checkpointLocation", work + "/both").start())
both.processAllAvailable()
failing = (rows.writeStream.queryName("failing").foreachBatch(fails)
           .option("checkpointLocation", work + "/failing").start())
try:
    failing.awaitTermination()
except Exception:
    pass
progress = {str(q.id): [json.loads(p.json) for p in q.recentProgress] for q in (skewed, both, failing)}
skewed.stop()
both.stop()
with open(out + "/progress.json", "w") as f:
    json.dump(progress, f, separators=(",", ":"))
spark.stop()

MACHINE = ("details", "Details", "Callsite", "System Properties", "Classpath Entries", "Hadoop Properties",
           "Metrics Properties", "Task Executor Metrics", "RDD Info")


def bare(value):
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k not in MACHINE}
    return [bare(v) for v in value] if isinstance(value, list) else value


log, = glob.glob(out + "/local-*")
with open(log) as f:
    lines = [json.dumps(bare(json.loads(line)), separators=(",", ":")) for line in f]
with open(log, "w") as f:
    for line in lines:
        for ours, theirs in ((work, "/data"), (sys.executable, "python3"), (os.path.abspath(__file__), "program.py"),
                             (os.path.dirname(os.path.dirname(pyspark.__file__)), "site-packages")):
            line = line.replace(ours, theirs)
        f.write(re.sub(r'"Host":"[^"]*"', '"Host":"worker"', line) + "\n")
subprocess.run(["zstd", "-19", "-q", "--rm", log, "-o", log + ".zstd"], check=True)
