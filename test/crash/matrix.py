"""Every source into every sink, for servers that are going to die: the programs, their
input where Python writes it, and what of it came out."""
import glob
import json
import os

import deltalake
import pyarrow
import pyarrow.parquet

import sinklog


def seed(inputs, first, rows, commits):
    """Appends ids from first on to the Delta table that is the source."""
    for n in range(commits):
        ids = range(first + n * rows, first + (n + 1) * rows)
        deltalake.write_deltalake(inputs, pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())}), mode="append")


def frame(spark, source, inputs, broker, rate):
    reader = spark.readStream
    if source == "rate":
        return reader.format("rate").option("rowsPerSecond", rate).load().selectExpr("value AS id")
    if source == "files":
        return reader.schema("id BIGINT").option("maxFilesPerTrigger", 1).json(inputs)
    if source == "delta":
        return reader.format("delta").option("maxFilesPerTrigger", 1).load(inputs)
    return (reader.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", inputs)
            .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 50).load()
            .selectExpr("CAST(CAST(value AS STRING) AS BIGINT) AS id"))


def write(spark, source, sink, inputs, out, broker, checkpoint, rate):
    rows = frame(spark, source, inputs, broker, rate)
    if sink in ("kafka", "transactions"):
        writer = (rows.selectExpr("CAST(id AS STRING) AS value").writeStream.format("kafka").option("topic", out)
                  .option("kafka.bootstrap.servers", broker)
                  .option("weir.kafka.transactional", str(sink == "transactions").lower()))
    elif sink == "function":
        writer = rows.writeStream.foreachBatch(noted(out))
    else:
        writer = rows.writeStream.format("delta" if sink == "delta" else "parquet").option("path", out)
    if source != "rate":  # which never ends, and has no part of a second
        writer = writer.trigger(availableNow=True)
    return writer.option("checkpointLocation", checkpoint).start()


def noted(out):
    """A function that notes each batch that it gets, whole or not at all."""

    def note(rows, batch):
        import json
        import os
        import uuid

        os.makedirs(out, exist_ok=True)
        name = os.path.join(out, uuid.uuid4().hex)
        with open(name, "w", encoding="utf-8") as f:
            json.dump([batch, sorted(r.id for r in rows.collect())], f)
        os.rename(name, name + ".json")

    return note


def written(sink, out):
    """The ids that came out. Those of a function's batches count once, however often it got them."""
    if sink == "delta":
        if not glob.glob(os.path.join(out, "_delta_log", "*.json")):
            return []
        return deltalake.DeltaTable(out).to_pyarrow_table()["id"].to_pylist()
    if sink == "files":
        log = os.path.join(out, "_spark_metadata")
        if not os.path.isdir(log):
            return []
        return [i for path in sinklog.files(log) for i in pyarrow.parquet.ParquetFile(path).read()["id"].to_pylist()]
    batches = {}
    for name in glob.glob(os.path.join(out, "*.json")):
        with open(name, encoding="utf-8") as f:
            batch, ids = json.load(f)
        if batches.setdefault(batch, ids) != ids:
            raise ValueError(f"batch {batch} came with other rows")
    return [i for ids in batches.values() for i in ids]
