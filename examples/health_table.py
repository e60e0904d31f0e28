"""Watch a streaming query from inside the program that runs it.

A rate source feeds a Delta table. A listener notes every batch, a background
thread appends the notes to a second table, and plain SQL shows at the end how
fast rows came in and went out.

    weir run examples/health_table.py            on weir
    SPARK_REMOTE=sc://host:port python …         on any other Spark Connect server
"""
import os
import queue
import threading
import time

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

CATALOG = os.environ.get("DEMO_CATALOG", "main")
SCHEMA = f"{CATALOG}.demo"
BATCHES = int(os.environ.get("DEMO_BATCHES", "5"))

NOTE = "batch BIGINT, rows BIGINT, rows_in_per_s DOUBLE, rows_out_per_s DOUBLE, late BOOLEAN"


class Notebook(StreamingQueryListener):
    """Turns progress events into rows; callbacks only put into a queue."""

    def __init__(self):
        self.notes = queue.SimpleQueue()

    def onQueryStarted(self, event):
        print("started   ", event.id, flush=True)

    def onQueryProgress(self, event):
        p = event.progress
        arriving, done = p.inputRowsPerSecond, p.processedRowsPerSecond
        self.notes.put((p.batchId, p.numInputRows, arriving, done, 0 < done < arriving))

    def onQueryIdle(self, event):
        pass

    def onQueryTerminated(self, event):
        print("terminated", event.id, flush=True)

    def take(self):
        rows = []
        while not self.notes.empty():
            rows.append(self.notes.get())
        return rows


def main():
    spark = SparkSession.builder.getOrCreate()
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    spark.sql(f"CREATE VOLUME {SCHEMA}.checkpoints")

    notebook = Notebook()
    spark.streams.addListener(notebook)
    finished = threading.Event()

    def append(rows):
        if rows:
            spark.createDataFrame(rows, NOTE).write.mode("append").saveAsTable(f"{SCHEMA}.health")

    def keep_appending():
        while not finished.wait(1):
            append(notebook.take())

    writer = threading.Thread(target=keep_appending, daemon=True)
    writer.start()

    query = (
        spark.readStream.format("rate").option("rowsPerSecond", 5).load()
        .writeStream.queryName("ticks").format("delta")
        .option("checkpointLocation", f"/Volumes/{CATALOG}/demo/checkpoints/ticks")
        .toTable(f"{SCHEMA}.ticks")
    )
    while (query.lastProgress or {"batchId": 0})["batchId"] < BATCHES:
        time.sleep(0.2)
        if query.exception():
            raise query.exception()

    query.stop()
    finished.set()
    writer.join()
    append(notebook.take())
    spark.streams.removeListener(notebook)

    spark.sql(f"""
        SELECT batch, rows, round(rows_in_per_s, 1) AS rows_in_per_s,
               round(rows_out_per_s, 1) AS rows_out_per_s, late
        FROM {SCHEMA}.health ORDER BY batch
    """).show(50)
    spark.stop()


if __name__ == "__main__":
    main()
