"""A foreachBatch that kills its server in the second batch, once."""
import json
import os
import signal
import sys

from pyspark.sql import SparkSession

work = os.environ["WORKDIR"]
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)


def each(df, batch):
    with open(work + "/seen", "a") as f:
        f.write(json.dumps([batch, sorted(r.id for r in df.collect())]) + "\n")
    if batch == 1 and not os.path.exists(work + "/worker"):
        with open(work + "/worker", "w") as f:
            f.write(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()


stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(work + "/in")
q = stream.writeStream.foreachBatch(each).option("checkpointLocation", work + "/checkpoint").trigger(availableNow=True).start()
q.awaitTermination()
