"""Writes internal/function/spark_functions.txt: the built-in functions of Spark 4.3.0.

    .venv/bin/python tools/sparkdata/functions.py > internal/function/spark_functions.txt

The output is committed. It is what SHOW SYSTEM FUNCTIONS answers, one name a line, sorted by bytes,
with the class that DESCRIBE FUNCTION names, if it does.
"""

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
for name in sorted(row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()):
    described = [row[0] for row in spark.sql(f"DESCRIBE FUNCTION `{name}`").collect()]
    print(name, *(line.removeprefix("Class: ") for line in described if line.startswith("Class: ")))
spark.stop()
