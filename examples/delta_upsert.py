"""Keep a Delta table of the newest state of each sensor, by the DeltaTable of delta-spark.

Files of readings arrive in a folder; each batch is merged into a table with one row
for each sensor. Start it again and it goes on where it was: a reading that is there
already changes nothing.

    pip install --no-deps delta-spark
    weir run examples/delta_upsert.py            on weir
    SPARK_REMOTE=sc://host:port python …         on any other Spark Connect server
"""
import json
import os
import tempfile

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

FOLDER = os.environ.get("DEMO_FOLDER") or tempfile.mkdtemp(prefix="delta-upsert-")
READINGS, TABLE = os.path.join(FOLDER, "readings"), os.path.join(FOLDER, "sensors")


def readings():
    """Three files with some readings each, as a gateway would leave them."""
    os.makedirs(READINGS, exist_ok=True)
    for file in range(3):
        rows = [{"sensor": f"s{n % 4}", "at": f"2026-03-01T12:{file}{n}:00Z", "celsius": 20 + file + n / 10}
                for n in range(file, file + 5)]
        with open(os.path.join(READINGS, f"{file}.json"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)


def upsert(batch, batch_id):
    """The newest reading of each sensor in the batch, unless the table has a newer one."""
    newest = (batch.withColumn("n", F.row_number().over(Window.partitionBy("sensor").orderBy(F.desc("at"))))
              .where("n = 1").drop("n"))
    (DeltaTable.forPath(batch.sparkSession, TABLE).alias("t")
     .merge(newest.alias("s"), "t.sensor = s.sensor")
     .whenMatchedUpdateAll("s.at > t.at")
     .whenNotMatchedInsertAll()
     .execute())


def main():
    spark = SparkSession.builder.appName("delta-upsert").getOrCreate()
    readings()
    table = (DeltaTable.createIfNotExists(spark).location(TABLE)
             .addColumn("sensor", "STRING").addColumn("at", "TIMESTAMP").addColumn("celsius", "DOUBLE").execute())
    query = (spark.readStream.schema("sensor STRING, at TIMESTAMP, celsius DOUBLE")
             .option("maxFilesPerTrigger", 1).json(READINGS).writeStream
             .foreachBatch(upsert).option("checkpointLocation", os.path.join(FOLDER, "checkpoint"))
             .trigger(availableNow=True).start())
    query.awaitTermination()
    table.toDF().orderBy("sensor").show(truncate=False)
    table.history().select("version", "operation", "operationMetrics.numTargetRowsInserted",
                           "operationMetrics.numTargetRowsUpdated").orderBy("version").show()


if __name__ == "__main__":
    main()
