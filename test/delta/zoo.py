"""Reads the tables that Spark made, each version in every way there is to name one.

    python zoo.py sc://… DIR...    (DIR.json says what Spark reads)

Prints a line for each difference and at last how many tables were read.
"""
import json
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()


def lines(df):
    return sorted(r[0] for r in df.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) j").collect())


def ways(path, version):
    yield spark.read.format("delta").option("versionAsOf", version).load(path)
    yield spark.read.format("delta").load(f"{path}@v{version}")
    yield spark.sql(f"select * from delta.`{path}` version as of {version}")
    yield spark.sql(f"select * from delta.`{path}@V{version}`")


def differences(path, want):
    latest = spark.read.format("delta").load(path)
    if json.loads(latest.schema.json()) != want["schema"]:
        yield "schema " + latest.schema.json()
    if lines(latest) != sorted(want["latest"]):
        yield "the newest rows"
    if spark.sql(f"select count(*) from delta.`{path}`").collect()[0][0] != len(want["latest"]):
        yield "count(*)"
    for version, rows in want["versions"].items():
        if isinstance(rows, dict):  # Spark cannot read it either
            try:
                spark.read.format("delta").load(f"{path}@v{version}").collect()
                yield f"version {version} is read"
            except Exception as e:
                if e.getCondition() != "FAILED_READ_FILE.FILE_NOT_EXIST":
                    yield f"version {version}: {e}"
            continue
        rows = sorted(want["latest"] if rows == "latest" else rows)
        for n, df in enumerate(ways(path, version)):
            if lines(df) != rows:
                yield f"version {version}, named in way {n}"


read = 0
for folder in sys.argv[2:]:
    with open(folder + ".json") as f:
        tables = json.load(f)["tables"]
    for name, want in tables.items():
        for what in differences(f"{folder}/{name}", want):
            print(name, "differs:", what)
        read += 1
print(read, "tables read")
