"""Asks Apache Spark 4.3.0 again about the documents and paths of jsonpath.tsv
and writes what it answers in their place.

    python record_jsonpath.py jsonpath.tsv      # needs pyspark 4.3.0 and Java 17
"""
import json
import sys

from pyspark.sql import SparkSession

FUNCTIONS = ["get_json_object(d, p)", "json_array_length(d)", "json_object_keys(d)"]


def main(name):
    with open(name) as f:
        lines = [line.rstrip("\n") for line in f]
    cases = [[json.loads(v) for v in line.split("\t")[:2]] for line in lines if not line.startswith("#")]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.createDataFrame([(i, d, p) for i, (d, p) in enumerate(cases)], "i int, d string, p string")
    answers = rows.selectExpr("i", "d", "p", *FUNCTIONS).orderBy("i").collect()
    with open(name, "w") as f:
        f.writelines(line + "\n" for line in lines if line.startswith("#"))
        f.writelines("\t".join(json.dumps(v) for v in list(row)[1:]) + "\n" for row in answers)


main(sys.argv[1])
