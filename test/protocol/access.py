"""Connects to each address of the arguments, LABEL@URL, and says what came of it."""
import json
import os
import sys

from pyspark.sql.connect.session import SparkSession

sessions = []  # never closed: the client may hang when it closes a connection that was refused
for argument in sys.argv[1:]:
    label, url = argument.split("@", 1)
    said = {"label": label, "rows": None, "error": None}
    try:
        spark = SparkSession.builder.remote(url).create()
        sessions.append(spark)
        spark.client.set_retry_policies([])
        said["rows"] = spark.range(3).count()
    except Exception as e:
        said["error"] = str(e)
    print(json.dumps(said), flush=True)
os._exit(0)
