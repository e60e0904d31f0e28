"""One stateless query over JSON files into Parquet, on weir or on Apache Spark.

    query.py ENGINE INPUTS OUT CHECKPOINT        runs it until its input is used up
    query.py ENGINE INPUTS OUT CHECKPOINT crawl  for ever, slowly enough to be killed
    query.py rows OUT                            prints the rows of the files that
                                                 _spark_metadata names, as JSON

ENGINE is the address of a Spark Connect server or "spark", which starts Apache
Spark 4.3 in this process.
"""
import json
import os
import sys

import pyarrow
import pyarrow.parquet
from pyspark.sql import SparkSession, functions as F


def session(engine):
    if engine != "spark":
        return SparkSession.builder.remote(engine).getOrCreate()
    spark = (
        SparkSession.builder.master("local[2]").appName("takeover")
        .config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(engine, inputs, out, checkpoint, pace=""):
    spark = session(engine)
    stream = (
        spark.readStream.schema("id BIGINT, word STRING, price DOUBLE, at TIMESTAMP, tags ARRAY<STRING>")
        .option("maxFilesPerTrigger", 1).json(inputs)
    )
    rows = (
        stream.where("id % 10 <> 3")
        .select("id", F.upper("word").alias("word"), (F.col("price") * 2).alias("double"), "at", "tags",
                (F.col("id") % 2).cast("int").alias("parity"))
    )
    if pace == "crawl":  # one file each 200 ms, for whoever kills this process
        write = rows.writeStream.trigger(processingTime="200 milliseconds")
    else:
        write = rows.writeStream.trigger(availableNow=True)
    query = (
        write.format("parquet").partitionBy("parity").queryName("takeover")
        .option("checkpointLocation", checkpoint).start(out)
    )
    query.awaitTermination()
    spark.stop()


def rows(out):
    """Each row as one JSON text, in order; parity is in the names of the directories."""
    found = []
    for path in named(os.path.join(out, "_spark_metadata")):
        table = pyarrow.parquet.ParquetFile(path).read()
        place = table.column_names.index("at")  # Spark writes INT96, which has no unit and no zone
        table = table.set_column(place, "at", table["at"].cast(pyarrow.timestamp("us")))
        parity = os.path.basename(os.path.dirname(path))
        found += [json.dumps({**row, "parity": parity}, default=str, sort_keys=True) for row in table.to_pylist()]
    print(json.dumps(sorted(found)))


def named(folder):
    """The files of the sink's log: its last compaction and the entries since."""
    batches = {int(n.split(".")[0]): n for n in os.listdir(folder) if n.split(".")[0].isdigit()}
    compact = max((b for b, n in batches.items() if n.endswith(".compact")), default=0)
    paths = []
    for batch in sorted(b for b in batches if b >= compact):
        with open(os.path.join(folder, batches[batch]), encoding="utf-8") as f:
            paths += [json.loads(e)["path"].removeprefix("file://") for e in f.read().splitlines()[1:]]
    return paths


if sys.argv[1] == "rows":
    rows(sys.argv[2])
else:
    run(*sys.argv[1:])
