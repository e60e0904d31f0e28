"""Records what the console sink of Apache Spark 4.3.0 prints, for sinks_test.go.

    python record_console.py > console.txt

A line with #### and the options comes before what each query prints.
"""
import datetime
import decimal
import json
import sys
import tempfile

from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC")
         .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate())
spark.sparkContext.setLogLevel("OFF")

schema = "id int, `a\tk` string, d decimal(5,2), ts timestamp, b binary, a array<int>, s struct<x:int,y:string>"
rows = [
    (1, "short", decimal.Decimal("1.50"), datetime.datetime(2024, 1, 1), b"\x01\xff", [1, None], (1, "a")),
    (None, None, None, None, None, None, None),
    (-300000, "a text of thirty characters 123", decimal.Decimal("-999.99"),
     datetime.datetime(2024, 2, 29, 12, 0, 0, 123000), b"", [], (None, None)),
    (4, "日本\n\U0001F600 é\x07", decimal.Decimal("0.00"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
     b"0123456789", [7] * 12, (2, "\\")),
]
folder = tempfile.mkdtemp()
spark.createDataFrame(rows[:4], schema).coalesce(1).write.parquet(folder + "/in")
for options in [{}, {"numRows": "1"}, {"truncate": "false", "numRows": "3"}, {"numRows": "0"}]:
    print("#### " + json.dumps(options))
    sys.stdout.flush()
    df = spark.readStream.schema(schema).parquet(folder + "/in")
    q = df.writeStream.format("console").options(**options).trigger(availableNow=True).start()
    q.awaitTermination()
