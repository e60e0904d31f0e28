"""Connects to each address of the arguments, LABEL@URL, and says what came of it."""
import json
import sys

from pyspark.sql.connect.session import SparkSession

for argument in sys.argv[1:]:
    label, url = argument.split("@", 1)
    said = {"label": label, "rows": None, "error": None}
    try:
        spark = SparkSession.builder.remote(url).create()
        spark.client.set_retry_policies([])
        said["rows"] = spark.range(3).count()
    except Exception as e:
        said["error"] = str(e)
    print(json.dumps(said), flush=True)
